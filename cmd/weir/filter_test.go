package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirmq/weir/sdk/brokertest"
	"github.com/weirmq/weir/sdk/client"
	"github.com/weirmq/weir/sdk/wire"
)

// TestFilterExplain reads what is said of expressions of several languages.
func TestFilterExplain(t *testing.T) {
	tests := []struct {
		args []string
		want []string
	}{
		{[]string{"amount > 100 AND TAGS IN ('A','B') AND NOT region = 'eu'"}, []string{
			"language   SQL92, dialect rocketmq\n", "means      all of\n           ├─ amount > 100 (int32)\n           ├─ TAGS in 'A', 'B'\n           └─ if there is region",
			"reads      amount as int32, TAGS as text, region as text\n", "stages     1 index: the tag's code has to be one of 65, 66; other entries are never read\n           2 verdicts: ",
			"           3 conditions: on properties: amount > 100 (int32); TAGS in 'A', 'B'; if there is region then ", "RocketMQ   compiles it to the same\n",
			" ns a message, engine wasm\n", " ns a message, engine closure\n",
			"warning: at character 40: NOT belongs to region alone here", "  amount > 100 AND TAGS IN ('A','B') AND NOT region = 'eu'\n                                         ^\n", "hint: at character 10: amount fails"}},
		{[]string{"--dialect", "strict", "a LIKE 'x%'"}, []string{"dialect strict\n", "doesn't understand it, or differently"}},
		{[]string{"--type", "TAG", "A || B"}, []string{"stages     1 index: the tag's code in the queue's index decides; no message is read\n", "engine tag codes\n"}},
		{[]string{"-t", "TAG", "A"}, []string{"means      any of\n           └─ tag \"A\", code 65\n"}},
		{[]string{"-c", "testdata/filters.yaml", "-t", "EXPR", `json("vip") == true and num("total") > 99.5 and tags == "A"`}, []string{
			"language   EXPR\nmeans      all of\n           ├─ json(\"vip\") == true\n", "reads      json(\"vip\"), num(\"total\"), tags\n           the body\n",
			"stages     1 index: the tag's code has to be 65; other entries are never read\n           2 verdicts: ",
			"           3 conditions: on properties: num(\"total\") > 99.5; tags == \"A\"\n           4 body: only for what is left, the body is decompressed and searched: json(\"vip\") == true\n",
			" went on to the body; 'weir filter test' measures with yours\n"}},
		{[]string{"-c", "testdata/filters.yaml", "wasm.filter('threshold') AND amount > 100 AND wasm.places.within(lat, lon, 'berlin')"}, []string{
			"means      all of\n           ├─ wasm.filter('threshold')\n           ├─ amount > 100 (int32)\n", "runs       module threshold, SHA-256 ",
			"1 conditions: on properties: amount > 100 (int32)\n           2 calls: only for what is left, functions are called: wasm.filter('threshold'); wasm.places.within(lat, lon, 'berlin')\n",
			" went on to the calls; 'weir filter test' measures with yours\n"}},
		{[]string{"-c", "testdata/filters.yaml", "-t", "WASM", "threshold"}, []string{
			"language   WASM\nmeans      module threshold, version 1.0.0, SHA-256 ", "           ├─ property \"amount\", its default\n           └─ limit is set\nreads      amount as double\n",
			"stages     1 module: threshold judges up to 256 messages a call, with at most ", "kept       no: ", "engine module\n",
			"hint: the module says that it is pure; with dispatch: true its verdicts are kept, and each message is judged once\n"}},
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
		stages := func(want string, args ...string) {
			t.Helper()
			r := weir("", append(append([]string{"filter", "test", "-c", "testdata/filters.yaml"}, args...), from...)...)
			_, table, ok := strings.Cut(r.out, "STAGE")
			table, _, _ = strings.Cut(table, "\n\n")
			_, table, _ = strings.Cut(table, "\n")
			var lines []string
			for line := range strings.Lines(table) {
				f := strings.Fields(line)
				lines = append(lines, strings.Join(f[:min(4, len(f))], " "))
			}
			if got := strings.Join(lines, ", "); !ok || got != want {
				t.Errorf("%q: %s\nwant %s in\n%s%s", args, got, want, r.out, r.err)
			}
		}
		stages("1 index 40 10, 2 conditions 10 5", "TAGS = 'T1' AND amount >= 20")
		stages("1 index 40 20, 2 conditions 20 8, 3 calls 8 4", "wasm.filter('threshold', '{\"limit\": \"30\"}') AND TAGS IN ('T1', 'T2') AND amount >= 24")
		stages("1 conditions 40 20, 2 calls 20 15", "wasm.filter('threshold') AND odd = TRUE")
		stages("1 index 40 20, 2 conditions 20 8, 3 body 8 5", "-t", "EXPR", `body != "body 33" and body != "body 37" and body != "body 38" and tags in ["T1", "T2"] and num("amount") >= 24`)
		stages("1 module 40 29", "-t", "WASM", "threshold")
		stages("1 index 40 20", "-t", "TAG", "T1 || T2")
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

// TestFilterList consumes with filters and reads what is said of them.
func TestFilterList(t *testing.T) {
	b := brokertest.Start(t, brokertest.Set("topics.default_queues", "1"))
	on := []string{"-n", b.NameServer()}
	if r := weir("", append([]string{"filter", "list"}, on...)...); r.code != 0 || r.out != "" || r.err != "no group filters what it consumes, or none has connected yet\n" {
		t.Errorf("%d %s%s", r.code, r.out, r.err)
	}
	c := client.New(client.Options{NameServers: []string{b.NameServer()}})
	defer c.Close()
	for i := range 40 {
		if _, err := c.Producer("p").Send(t.Context(), &client.Message{Topic: "Try", Body: []byte("x"), Properties: map[string]string{"amount": fmt.Sprint(i)}}); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan struct{}, 40)
	k, err := c.Consume(t.Context(), client.ConsumerOptions{Group: "billing", From: wire.FromFirstOffset,
		Subscriptions: []client.Subscription{{Topic: "Try", Type: "SQL92", Expression: "amount >= 30\n  AND amount <> 39"}},
		Handle: func(_ context.Context, ms []*client.Received) error {
			for range ms {
				done <- struct{}{}
			}
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	for range 9 {
		<-done
	}
	r := weir("", append([]string{"filter", "list"}, on...)...)
	for _, want := range []string{"GROUP    TOPIC  TYPE   SCANNED  MATCHED    SHARE", "billing  Try    SQL92       40        9  22.50 %", "  amount >= 30 AND amount <> 39\n"} {
		if r.code != 0 || !strings.Contains(r.out, want) {
			t.Errorf("says\n%s%swithout %q", r.out, r.err, want)
		}
	}
	r = weir("", append([]string{"filter", "list", "billing"}, on...)...)
	for _, want := range []string{"topic        Try on broker-a\n", "expression   SQL92  amount >= 30 AND amount <> 39\n", ", engine vector\n", "matched      9, 22.50 %\n",
		"judged       ", "outcomes     unknown 0, raised 0, undecided 0\n", " of 40 entries, "} {
		if r.code != 0 || !strings.Contains(r.out, want) {
			t.Errorf("says\n%s%swithout %q", r.out, r.err, want)
		}
	}
	var rows []filterRow
	r = weir("", append([]string{"filter", "list", "-o", "json"}, on...)...)
	if err := json.Unmarshal([]byte(r.out), &rows); err != nil || len(rows) != 1 || rows[0].Broker != "broker-a" || rows[0].Matched != 9 || rows[0].Entries != 40 || len(rows[0].Key) != 16 {
		t.Errorf("%v %+v", err, rows)
	}
	if r := weir("", append([]string{"filter", "list", "nobody"}, on...)...); r.code != 0 || !strings.Contains(r.err, "group nobody has no filter on any broker") {
		t.Errorf("%d %s", r.code, r.err)
	}
	r = weir("", append([]string{"filter", "test", "amount >= 30\n  AND amount <> 39", "--topic", "Try"}, on...)...)
	if !strings.Contains(r.out, "The verdicts of this expression are kept for ") || !strings.Contains(r.out, " of the topic's messages (group billing): pulls don't judge those again.\n") {
		t.Errorf("says\n%s", r.out)
	}
}
