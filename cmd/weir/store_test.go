package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirmq/weir/sdk/brokertest"
)

// TestStoreCheck looks at a running broker's directory, at what is left when it has stopped, and at what isn't a store or is damaged.
func TestStoreCheck(t *testing.T) {
	dir := t.TempDir()
	b := brokertest.Start(t, brokertest.DataDir(dir), brokertest.Set("store.segment_size", "1MiB"), brokertest.Set("store.consume_queue_entries", "1000"))
	n := "--nameserver=" + b.NameServer()
	send := func(args ...string) (one sent) {
		t.Helper()
		r := weir("", append([]string{"send", "-o", "json", n}, args...)...)
		if err := json.Unmarshal([]byte(r.out), &one); err != nil {
			t.Fatal(err, r)
		}
		return one
	}
	check := func(code int, want ...string) {
		t.Helper()
		r := weir("", "store", "check", "--for-java", dir)
		for _, w := range want {
			if !strings.Contains(r.out+r.err, w) {
				t.Errorf("%q is missing in\n%s%s", w, r.out, r.err)
			}
		}
		if r.code != code {
			t.Errorf("exit code %d, want %d", r.code, code)
		}
	}
	send("orders", "now")
	check(exitOK, "no message waits", "it knows all filters", "mappedFileSizeCommitLog=1048576", "note: a broker runs")
	send("orders", "later", "--after", "3h")
	send("payments", "later", "--after", "36h")
	gone := send("orders", "never", "--after", "3h")
	if gone.Recall == "" {
		t.Fatal("no handle")
	}
	if r := weir("", "message", "recall", gone.Recall, n); r.code != 0 || !strings.Contains(r.out, gone.ID) {
		t.Fatal(r)
	}
	if r := weir("", "message", "recall", "nonsense", n); r.code != exitFailure || !strings.Contains(r.err, "recall handle is invalid") {
		t.Error(r)
	}
	check(exitFailure, "2 messages wait", "orders                   1", "payments                 1", "weir delivers what is left")
	b.Stop()
	check(exitFailure, "2 messages wait", "mappedFileSizeConsumeQueue=20000")

	strange := filepath.Join(dir, "commitlog", "notes.txt")
	if err := os.WriteFile(strange, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "weir", "filters.json"),
		[]byte(`{"version":1,"filters":[{"group":"billing","topic":"orders","type":"EXPR","expression":"num(\"a\") > 1"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	check(exitFailure, "problem: "+strange, "1 filters are none that it knows", `group billing of orders: EXPR num("a") > 1`)
	if err := os.WriteFile(filepath.Join(dir, "weir", "timers", "state.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "weir", "timers", "state.json.bak")); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	check(exitFailure, "load the progress of timed messages")
	dir = t.TempDir()
	check(exitNotFound, "is no store")
	if r := weir("", "store", "check", dir); r.code != exitUsage || !strings.Contains(r.err, "--for-java") {
		t.Error(r)
	}
	for _, bad := range [][]string{{"--at", "tomorrow"}, {"--after", "-1s"}, {"--at", "2001-01-01T00:00:00Z"}, {"--after", "1s", "--delay-level", "1"}} {
		if r := weir("", append([]string{"send", "orders", "x", n}, bad...)...); r.code != exitUsage {
			t.Errorf("%v: %v", bad, r)
		}
	}
}
