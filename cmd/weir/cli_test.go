package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/weirmq/weir/core/config"
	"github.com/weirmq/weir/sdk/brokertest"
)

// result is what one command line did.
type result struct {
	code     int
	out, err string
}

// weir runs a command line in this process.
func weir(stdin string, args ...string) result {
	var out, errs bytes.Buffer
	a := &app{stdin: strings.NewReader(stdin), stdout: &out, stderr: &errs, version: "test"}
	code := a.run(args)
	return result{code, out.String(), errs.String()}
}

// TestShippedConfig loads the broker.yaml in the root: it has every key, and each at its default.
func TestShippedConfig(t *testing.T) {
	load := func(file string) *config.Config {
		o, err := parts()
		if err != nil {
			t.Fatal(err)
		}
		o.File = file
		cfg, err := config.Load(o)
		if err != nil {
			t.Fatal(err)
		}
		if len(cfg.Warnings) > 0 {
			t.Errorf("warnings: %q", cfg.Warnings)
		}
		return cfg
	}
	shipped, defaults := load("../../broker.yaml"), load("")
	have := map[string]config.Value{}
	for _, v := range shipped.Values() {
		have[v.Path] = v
	}
	for _, want := range defaults.Values() {
		got, ok := have[want.Path]
		switch {
		case !ok || got.Origin == "default":
			t.Errorf("broker.yaml doesn't have %s", want.Path)
		case fmt.Sprint(got.Value) != fmt.Sprint(want.Value):
			t.Errorf("broker.yaml: %s is %v, the default is %v", want.Path, got.Value, want.Value)
		}
		if want.Doc == "" && want.Value != nil && !isMap(want.Value) && want.Path != "queues.subscriptions_max" {
			t.Errorf("%s has no description", want.Path)
		}
	}
}

func isMap(v any) bool { _, ok := v.(map[string]any); return ok }

func TestExitCodes(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.yaml")
	if err := os.WriteFile(bad, []byte("store:\n  flsh: sync\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	none := "127.0.0.1:1"
	for _, c := range []struct {
		args []string
		code int
		want string // in the output for people
	}{
		{[]string{"version"}, 0, "weir test (speaks RocketMQ 4.9.7"},
		{[]string{"tpoic"}, 2, `did you mean "topic"?`},
		{[]string{"topic", "lst"}, 2, `unknown command "lst"`},
		{[]string{"topic", "create"}, 2, "wants TOPIC"},
		{[]string{"topic", "create", "a", "b"}, 2, "one argument too many"},
		{[]string{"topic", "create", "../etc", "-n", none}, 2, "illegal character"},
		{[]string{"topic", "create", "a", "--perm", "x"}, 2, "want r, w or rw"},
		{[]string{"topic", "list", "--colour"}, 2, "unknown flag: --colour"},
		{[]string{"topic", "list", "-o", "xml"}, 2, "want table, json, yaml"},
		{[]string{"topic", "list", "-n", "::"}, 2, "want HOST:PORT"},
		{[]string{"topic", "list", "-n", none}, 3, "Is weir running?"},
		{[]string{"send", "a", "x", "-n", none}, 3, "no name server answers at 127.0.0.1:1"},
		{[]string{"send", "a", "x", "-p", "y"}, 2, "want NAME=VALUE"},
		{[]string{"send", "a", "x", "-p", "KEYS=1"}, 2, "RocketMQ's own"},
		{[]string{"tail", "a", "--from", "yesterday"}, 2, "want first, last, a time"},
		{[]string{"bench", "produce", "--size", "big"}, 2, "want bytes with a unit"},
		{[]string{"bench", "produce", "--tag-share", "200%"}, 2, "--tag-share"},
		{[]string{"config", "validate", bad}, 2, `unknown key "flsh" in store; did you mean "flush"?`},
		{[]string{"config", "validate", filepath.Join(dir, "no.yaml")}, 2, "no such file"},
		{[]string{"config", "validate", "../../broker.yaml"}, 0, "broker.yaml: ok"},
		{[]string{"serve", "--config", bad}, 2, "bad.yaml:2:3"},
		{[]string{"serve", "--log-level", "loud", "--data-dir", dir}, 2, "want debug, info, warn or error"},
		{[]string{"config", "schema"}, 0, "http://json-schema.org/draft-07/schema#"},
		{[]string{"config", "show", "--origin", "--data-dir", "/x"}, 0, "# flag --data-dir"},
		{[]string{"completion", "bash"}, 0, "bash completion"},
	} {
		r := weir("", c.args...)
		if r.code != c.code || !strings.Contains(r.out+r.err, c.want) {
			t.Errorf("weir %s: exit code %d, want %d and %q in\n%s%s", strings.Join(c.args, " "), r.code, c.code, c.want, r.out, r.err)
		}
	}
}

// TestClientCommands goes through a day with a broker.
func TestClientCommands(t *testing.T) {
	b := brokertest.Start(t)
	n := "--nameserver=" + b.NameServer()
	run := func(stdin string, args ...string) string {
		t.Helper()
		r := weir(stdin, append(args, n)...)
		if r.code != 0 {
			t.Fatalf("weir %s: exit code %d\n%s%s", strings.Join(args, " "), r.code, r.out, r.err)
		}
		return r.out
	}
	parse := func(out string, into any) {
		t.Helper()
		if err := json.Unmarshal([]byte(out), into); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
	}

	if out := run("", "topic", "create", "orders", "--queues", "2"); !strings.Contains(out, "topic orders: 2 queues on ") {
		t.Errorf("create: %s", out)
	}
	var one sent
	parse(run("", "send", "orders", "hello", "--tag", "paid", "-k", "k1", "-p", "colour=red", "-o", "json"), &one)
	if one.Topic != "orders" || one.Offset != 0 || one.Status != "SUCCESS" || len(one.ID) != 32 {
		t.Errorf("sent: %+v", one)
	}
	run("first\nsecond\n", "send", "orders", "--lines", "--queue-key", "q")

	var msgs []shown
	for line := range strings.Lines(run("", "tail", "orders", "--from", "first", "--count", "3", "-o", "json")) {
		var m shown
		parse(line, &m)
		msgs = append(msgs, m)
	}
	bodies := map[string]shown{}
	for _, m := range msgs {
		bodies[m.Body] = m
	}
	if m := bodies["hello"]; m.Tag != "paid" || m.Properties["colour"] != "red" || m.ID != one.ID || m.Queue != one.Queue {
		t.Errorf("tail: %+v", m)
	}
	if a, b := bodies["first"], bodies["second"]; a.Queue != b.Queue || b.Offset != a.Offset+1 {
		t.Errorf("messages with one queue key are at %d/%d and %d/%d", a.Queue, a.Offset, b.Queue, b.Offset)
	}
	if out := run("", "tail", "orders", "--from", "10m", "--filter", "paid", "--count", "1", "--properties"); !strings.Contains(out, "[paid]  hello\n") || !strings.Contains(out, "    colour=red\n") {
		t.Errorf("tail with a filter: %s", out)
	}

	var topics []topicRow
	parse(run("", "topic", "list", "-o", "json"), &topics)
	if len(topics) != 1 || topics[0] != (topicRow{"orders", 1, 2, "rw", 3}) {
		t.Errorf("topics: %+v", topics)
	}
	if out := weir("", "__complete", "topic", "describe", n, "").out; !strings.HasPrefix(out, "orders\n") {
		t.Errorf("completion of topics: %q", out)
	}
	if out := weir("", "__complete", "group", "describe", n, "").out; !strings.Contains(out, "TOOLS_CONSUMER\n") {
		t.Errorf("completion of groups: %q", out)
	}
	var detail topicDetail
	parse(run("", "topic", "describe", "orders", "-o", "json"), &detail)
	if len(detail.Queues) != 2 || detail.Queues[0].Messages+detail.Queues[1].Messages != 3 {
		t.Errorf("topic: %+v", detail)
	}
	if out := run("", "topic", "describe", "orders", "-o", "yaml"); !strings.HasPrefix(out, "topic: orders\n") {
		t.Errorf("topic as YAML: %s", out)
	}
	if out := run("", "group", "list", "--all"); !strings.Contains(out, "TOOLS_CONSUMER") {
		t.Errorf("groups: %s", out)
	}
	if out := run("", "group", "describe", "TOOLS_CONSUMER"); !strings.Contains(out, "state       offline") {
		t.Errorf("group: %s", out)
	}
	if out := run("", "group", "check"); out != "the members of each group subscribe the same\n" {
		t.Errorf("check of groups: %s", out)
	}
	if r := weir("", "group", "describe", "nobody", n); r.code != exitNotFound {
		t.Errorf("an unknown group: %+v", r)
	}
	if r := weir("", "topic", "describe", "odrers", n); r.code != exitNotFound || !strings.Contains(r.err, "weir topic create odrers") {
		t.Errorf("an unknown topic: %+v", r)
	}
	if r := weir("", "topic", "delete", "orders", n); r.code != exitUsage || !strings.Contains(r.err, "2 queues and 3 messages") {
		t.Errorf("delete without --yes: %+v", r)
	}
	run("", "topic", "delete", "orders", "--yes")
	if r := weir("", "topic", "describe", "orders", n); r.code != exitNotFound {
		t.Errorf("the deleted topic: %+v", r)
	}
}

// TestBrokerGone asks for a broker that its name server still knows.
func TestBrokerGone(t *testing.T) {
	const gone = "127.0.0.1:1" // a port that nobody is given, and nobody listens on
	b := brokertest.Start(t, brokertest.Set("broker.advertise", gone))
	r := weir("", "send", "x", "y", "-n", b.NameServer())
	if r.code != exitUnreachable || !strings.Contains(r.err, "the broker at "+gone+" can't be reached") || !strings.Contains(r.err, "broker.advertise") {
		t.Errorf("exit code %d: %s", r.code, r.err)
	}
}

// TestTailWaits begins to look at a topic before it is there.
func TestTailWaits(t *testing.T) {
	b := brokertest.Start(t)
	n := "--nameserver=" + b.NameServer()
	waiting := &signalled{want: "waiting for it", seen: make(chan struct{})}
	var out bytes.Buffer
	done := make(chan int)
	go func() {
		a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: waiting}
		done <- a.run([]string{"tail", "soon", "--count", "1", n})
	}()
	<-waiting.seen
	if r := weir("", "send", "soon", "here", n); r.code != 0 {
		t.Fatal(r)
	}
	if code := <-done; code != 0 || !strings.Contains(out.String(), "here") {
		t.Errorf("exit code %d, %q", code, out.String())
	}
}

// signalled is a writer that tells when a text has passed.
type signalled struct {
	mu   sync.Mutex
	all  bytes.Buffer
	want string
	seen chan struct{}
	done bool
}

func (s *signalled) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all.Write(b)
	if s.seen != nil && !s.done && strings.Contains(s.all.String(), s.want) {
		s.done = true
		close(s.seen)
	}
	return len(b), nil
}

func (s *signalled) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.String()
}

// TestBench runs each mode shortly and looks at what it reports.
func TestBench(t *testing.T) {
	b := brokertest.Start(t)
	n := "--nameserver=" + b.NameServer()
	run := func(into any, args ...string) {
		t.Helper()
		r := weir("", append(append([]string{"bench"}, args...), n, "-o", "json")...)
		if r.code != 0 {
			t.Fatalf("bench %v: exit code %d\n%s%s", args, r.code, r.out, r.err)
		}
		if err := json.Unmarshal([]byte(r.out), into); err != nil {
			t.Fatalf("%v in %s", err, r.out)
		}
	}
	type measured struct {
		Mode     string
		Messages int64
		Stored   int64
		Entries  int64
		Failed   int64
		EndToEnd *struct {
			P50 float64 `json:"p50_us"`
		} `json:"end_to_end"`
		Broker *struct{ PID int }
	}
	var m measured
	run(&m, "produce", "--topic", "t1", "--queues", "3", "--count", "3000", "--tag", "hot", "--tag-share", "10%", "--broker-pid", fmt.Sprint(os.Getpid()))
	if m.Messages != 3000 || m.Stored != 3000 || m.Failed != 0 || m.Broker == nil || m.Broker.PID != os.Getpid() {
		t.Errorf("produce: %+v", m)
	}
	m = measured{}
	run(&m, "consume", "--topic", "t1", "--rounds", "2")
	if m.Messages != 6000 || m.Entries != 6000 {
		t.Errorf("consume: %+v, want everything twice", m)
	}
	m = measured{}
	run(&m, "consume", "--topic", "t1", "--filter", "hot")
	if m.Messages != 300 || m.Entries != 3000 {
		t.Errorf("consume one tag: %+v, want 300 of 3000", m)
	}
	m = measured{}
	run(&m, "produce", "--topic", "t2", "--count", "3200", "--batch", "16", "--tag", "hot", "--tag-share", "0.25", "--binary", "--connections", "2")
	if m.Messages != 3200 || m.Stored != 3200 {
		t.Errorf("batches: %+v", m)
	}
	m = measured{}
	run(&m, "consume", "--topic", "t2", "--filter", "hot", "--connections", "2", "--binary")
	if m.Messages < 700 || m.Messages > 900 {
		t.Errorf("consume one tag of batches: %+v, want about 800 of 3200", m)
	}
	m = measured{}
	run(&m, "produce", "--topic", "t3", "--duration", "300ms", "--warmup", "50ms", "--rate", "2000")
	if m.Messages < 1 || m.Messages > 700 { // a busy machine sends fewer; nothing may send more
		t.Errorf("open loop: %d messages in 300 ms at 2000/s", m.Messages)
	}
	m = measured{}
	run(&m, "produce", "--topic", "t4", "--count", "2000", "--one-way")
	if m.Messages != 2000 || m.Stored != 2000 {
		t.Errorf("one-way: %+v", m)
	}
	m = measured{}
	run(&m, "query", "--topic", "t1", "--count", "500", "--in-flight", "4")
	if m.Messages != 500 || m.Failed != 0 {
		t.Errorf("query: %+v", m)
	}
	var both []measured
	run(&both, "both", "--topic", "t5", "--count", "1000", "--sync")
	if len(both) != 2 || both[0].Messages != 1000 || both[1].Messages != 1000 || both[1].EndToEnd == nil || both[1].EndToEnd.P50 <= 0 {
		t.Errorf("both: %+v", both)
	}
}

// TestServe runs the server command to its first line and stops it by a signal.
func TestServe(t *testing.T) {
	dir := t.TempDir()
	var banner []string
	for i := range 2 {
		ready := &signalled{want: "ready in ", seen: make(chan struct{})}
		var errs signalled
		done := make(chan int)
		go func() {
			a := &app{stdin: strings.NewReader(""), stdout: ready, stderr: &errs, version: "test", env: []string{
				"WEIR_TRANSPORTS__REMOTING__LISTEN=127.0.0.1:0", "WEIR_NAMESERVER__LISTEN=127.0.0.1:0", "WEIR_CONFIG=" + os.DevNull}}
			done <- a.run([]string{"--data-dir", filepath.Join(dir, "data")})
		}()
		select {
		case <-ready.seen:
		case code := <-done:
			t.Fatalf("ended with %d: %s", code, errs.String())
		}
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		select {
		case code := <-done:
			if code != 0 {
				t.Errorf("run %d: exit code %d after SIGTERM: %s", i, code, errs.String())
			}
		case <-time.After(time.Minute):
			t.Fatal("didn't stop")
		}
		banner = append(banner, ready.String())
	}
	for _, want := range []string{"weir test\n", "data         " + dir, "are told 127.0.0.1:", "broker.advertise", "give this to clients", "weir tail demo -n 127.0.0.1:", "weir send demo hello"} {
		if !strings.Contains(banner[0], want) {
			t.Errorf("first start says\n%swithout %q", banner[0], want)
		}
	}
	if strings.Contains(banner[1], "weir send demo") {
		t.Errorf("second start says\n%swhich is for first ones", banner[1])
	}
}

// TestServePortInUse names who has the port and the key that changes it.
func TestServePortInUse(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	var out, errs signalled
	a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, env: []string{"WEIR_NAMESERVER__LISTEN=127.0.0.1:0",
		"WEIR_TRANSPORTS__REMOTING__LISTEN=" + ln.Addr().String(), "WEIR_CONFIG=" + os.DevNull}}
	if code := a.run([]string{"serve", "--data-dir", t.TempDir()}); code != exitFailure || !strings.Contains(errs.String(), "transports.remoting.listen") {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
}

func TestExitCodeOfErrors(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, exitOK},
		{errors.New("x"), exitFailure},
		{usage(errors.New("x")), exitUsage},
		{config.Errors{{Text: "x"}}, exitUsage},
		{fmt.Errorf("call: %w", context.DeadlineExceeded), exitUnreachable},
		{&net.OpError{Op: "listen", Err: errors.New("in use")}, exitFailure},
		{&net.OpError{Op: "dial", Err: errors.New("refused")}, exitUnreachable},
		{&reason{code: exitNotFound}, exitNotFound},
		{&silent{exitUsage}, exitUsage},
	} {
		if got := exitCode(c.err); got != c.want {
			t.Errorf("%v: exit code %d, want %d", c.err, got, c.want)
		}
	}
}
