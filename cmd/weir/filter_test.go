package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirmq/weir/sdk/brokertest"
)

// TestFilterExplain reads what is said of expressions of several languages.
func TestFilterExplain(t *testing.T) {
	tests := []struct {
		args []string
		want []string
	}{
		{[]string{"amount > 100 AND TAGS IN ('A','B') AND NOT region = 'eu'"}, []string{
			"language   SQL92, dialect rocketmq\n", "means      all of\n           ├─ amount > 100 (int32)\n           ├─ TAGS in 'A', 'B'\n           └─ if there is region",
			"reads      amount as int32, TAGS as text, region as text\n", "stages     1 index: the tag has to have the codes 65, 66; others are never read\n           2 verdicts: ",
			"           3 messages: properties of those that are left are read and judged, engine vector\n", "RocketMQ   compiles it to the same\n",
			" ns a message, engine wasm\n", " ns a message, engine closure\n",
			"warning: at character 40: NOT belongs to region alone here", "  amount > 100 AND TAGS IN ('A','B') AND NOT region = 'eu'\n                                         ^\n", "hint: at character 10: amount fails"}},
		{[]string{"--dialect", "strict", "a LIKE 'x%'"}, []string{"dialect strict\n", "doesn't understand it, or differently"}},
		{[]string{"--type", "TAG", "A || B"}, []string{"stages     1 index: the tag's code in the queue's index decides; no message is read\n", "engine tag\n"}},
		{[]string{"TRUE"}, []string{"means      always true\n", "1 index: nothing of a message is looked at\n"}},
	}
	for _, tt := range tests {
		r := weir("", append([]string{"filter", "explain"}, tt.args...)...)
		if r.code != 0 || r.err != "" {
			t.Errorf("%q: exit code %d: %s", tt.args, r.code, r.err)
		}
		for _, want := range tt.want {
			if !strings.Contains(r.out, want) {
				t.Errorf("%q says\n%swithout %q", tt.args, r.out, want)
			}
		}
	}
	var e explained
	r := weir("", "filter", "explain", "-o", "json", "a = 'x' OR b > 2.5")
	if err := json.Unmarshal([]byte(r.out), &e); err != nil || e.Engine != "vector" || len(e.Costs) != 4 || len(e.Key) != 64 || !e.Pure || e.RocketMQ == nil || !*e.RocketMQ || len(e.Tree) != 3 {
		t.Errorf("%v: %+v", err, e)
	}
}

// TestFilterRefusals wants the place of a mistake marked, and exit code 2.
func TestFilterRefusals(t *testing.T) {
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"explain", "a = 1 AND\nb = "}, "weir: parse SQL92 expression: at character 15: expected a property, a number, a text in quotes or (, found the end\n  b = \n      ^\n"},
		{[]string{"explain", strings.Repeat("a = 1 AND ", 20) + "b ! 2 AND " + strings.Repeat("a = 1 AND ", 20)}, "  …= 1 AND a = 1 AND a = 1 AND a = 1 AND a = 1 AND a = 1 AND b ! 2 AND a"},
		{[]string{"explain", "--type", "EXPR", "true"}, "weir: no running filter compiles EXPR; enable one under filters and service in broker.yaml\n"},
		{[]string{"explain", "--dialect", "sql", "a = 1"}, `--dialect "sql": want rocketmq, rocketmq5 or strict`},
		{[]string{"explain"}, "EXPRESSION"},
		{[]string{"test", "a = 1"}, "say what to try the expression on: --topic or --file"},
		{[]string{"test", "a = ", "--file", "-"}, "at character 5: "},
		{[]string{"test", "a = 1", "--file", "nowhere"}, "no such file"},
	}
	for _, tt := range tests {
		r := weir("", append([]string{"filter"}, tt.args...)...)
		if r.code != exitUsage || !strings.Contains(r.err, tt.want) {
			t.Errorf("%q: exit code %d\n%swithout %q", tt.args, r.code, r.err, tt.want)
		}
	}
	if r := weir("{\"properties\":{\"a\":\"\"}}\n", "filter", "test", "a = 1", "--file", "-"); r.code != exitUsage || !strings.Contains(r.err, "-, line 1: no message can have the property \"a\"") {
		t.Errorf("%d %s", r.code, r.err)
	}
}

// TestFilterTest tries expressions on a topic and on what tail has written of it.
func TestFilterTest(t *testing.T) {
	b := brokertest.Start(t)
	for i := range 40 {
		r := weir("", "send", "Try", fmt.Sprint("body ", i), "-n", b.NameServer(), "--tag", fmt.Sprint("T", i%4), "--property", fmt.Sprint("amount=", i), "--property", fmt.Sprint("odd=", i%2 == 1))
		if r.code != 0 {
			t.Fatal(r.err)
		}
	}
	file := filepath.Join(t.TempDir(), "messages.jsonl")
	r := weir("", "tail", "Try", "--from", "first", "-c", "40", "-o", "json", "-n", b.NameServer())
	if err := os.WriteFile(file, []byte(r.out), 0o600); err != nil || r.code != 0 {
		t.Fatalf("%v %s", err, r.err)
	}
	for _, from := range [][]string{{"--topic", "Try", "-n", b.NameServer()}, {"--file", file}} {
		try := func(want replayed, args ...string) {
			t.Helper()
			r := weir("", append(append([]string{"filter", "test", "-o", "json"}, args...), from...)...)
			var got replayed
			if err := json.Unmarshal([]byte(r.out), &got); err != nil || r.code != 0 {
				t.Fatalf("%v, exit code %d: %s%s", err, r.code, r.out, r.err)
			}
			if got.Messages != want.Messages || got.RuledOut != want.RuledOut || got.Judged != want.Judged || got.Matched != want.Matched ||
				got.Rejected != want.Rejected || got.Unknown != want.Unknown || got.Raised != want.Raised || len(got.Shown) != len(want.Shown) {
				t.Errorf("%q: %+v\nwant %+v", args, got, want)
			}
		}
		try(replayed{Messages: 40, RuledOut: 30, Judged: 10, Matched: 5, Rejected: 35, Shown: make([]shown, 2)}, "TAGS = 'T1' AND amount >= 20", "--show", "2")
		try(replayed{Messages: 40, Judged: 40, Matched: 20, Rejected: 20}, "odd = TRUE")
		try(replayed{Messages: 40, Judged: 40, Unknown: 40}, "nothing > 1")
		try(replayed{Messages: 40, Judged: 40, Raised: 40}, "odd > 1")
		try(replayed{Messages: 40, RuledOut: 20, Judged: 40, Matched: 20, Rejected: 20}, "T1 || T2", "--type", "TAG")
	}
	r = weir("", "filter", "test", "amount > 29", "--topic", "Try", "-n", b.NameServer(), "--from", "first", "--show", "1")
	for _, want := range []string{"WHAT      MESSAGES    SHARE\n", "matched         10  25.00 %\n", " ns for each message that was judged\n", "    amount=3"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("says\n%swithout %q", r.out, want)
		}
	}
	if r := weir("", "filter", "test", "a = 1", "--topic", "Nowhere", "-n", b.NameServer()); r.code != exitNotFound || !strings.Contains(r.err, `there is no topic "Nowhere"`) {
		t.Errorf("%d %s", r.code, r.err)
	}
}
