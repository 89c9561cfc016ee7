package main

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/weirmq/weir/sdk/brokertest"
)

// TestMessageCommands looks one message up in every way.
func TestMessageCommands(t *testing.T) {
	b := brokertest.Start(t)
	n := "--nameserver=" + b.NameServer()
	run := func(args ...string) result {
		t.Helper()
		return weir("", append(args, n)...)
	}
	if r := run("topic", "create", "orders", "--queues", "1"); r.code != 0 {
		t.Fatal(r)
	}
	var one sent
	r := run("send", "orders", "hello", "-k", "k1", "-o", "json")
	if err := json.Unmarshal([]byte(r.out), &one); err != nil {
		t.Fatal(err, r)
	}
	if r := run("send", "orders", "other", "-k", "k2"); r.code != 0 {
		t.Fatal(r)
	}
	if r := run("send", "RMQ_SYS_TRACE_TOPIC", "Pub\x011700000000000\x01r\x01pg\x01orders\x01"+one.ID+"\x01\x01k1\x01h:1\x015\x013\x010\x01O\x01true\x02", "-k", one.ID); r.code != 0 {
		t.Fatal(r)
	}
	for _, c := range []struct {
		args      string
		code      int
		want, not string
	}{
		{"message get " + one.ID + " --topic orders", 0, "hello", "other"},
		{"message get " + strings.Repeat("0", 32) + " --topic orders", exitNotFound, "no message with the id", "hello"},
		{"message get nonsense", exitUsage, "say --topic", "hello"},
		{"message get " + strings.Repeat("0", 32), exitNotFound, "no broker has the address", "hello"},
		{"message find orders --key k1", 0, "hello", "other"},
		{"message find orders --key k1 --to 1h", exitNotFound, "was found", "hello"},
		{"message find orders --key k3", exitNotFound, "was found", "hello"},
		{"message find orders --queue 0 --offset 1", 0, "other", "hello"},
		{"message find orders --from 1h --max 1", 0, "hello", "other"},
		{"message find orders --from 1m --to 2m", exitUsage, "is later than", "hello"},
		{"message find orders --offset 1", exitUsage, "--offset needs --queue", "hello"},
		{"message find nowhere --key k1", exitNotFound, "weir topic create nowhere", "hello"},
		{"message trace " + one.ID, 0, "produced", "consumed"},
		{"message trace nobody", exitNotFound, "enableMsgTrace", "produced"},
	} {
		r := run(strings.Fields(c.args)...)
		if r.code != c.code || !strings.Contains(r.out+r.err, c.want) || strings.Contains(r.out+r.err, c.not) {
			t.Errorf("weir %s: exit code %d, want %d and %q, not %q, in\n%s%s", c.args, r.code, c.code, c.want, c.not, r.out, r.err)
		}
	}
}

// TestParseTrace reads what RocketMQ's clients write, of one id only.
func TestParseTrace(t *testing.T) {
	body := "Pub\x0110\x01r\x01pg\x01T\x01A\x01tag\x01k\x01h:1\x015\x013\x010\x01O\x01true\x02" +
		"Pub\x0110\x01r\x01pg\x01T\x01B\x01tag\x01k\x01h:1\x015\x013\x010\x01O\x01true\x02" +
		"SubBefore\x0120\x01r\x01cg\x01R\x01A\x012\x01k\x02" +
		"SubAfter\x01R\x01A\x017\x01false\x01k\x011\x0130\x01cg\x02short\x01\x02"
	want := []traceEvent{
		{Event: "produced", Time: 10, Group: "pg", Topic: "T", Host: "h:1", Cost: 3, Result: "success"},
		{Event: "delivered", Time: 20, Group: "cg", Retry: 2, Result: "retry 2"},
		{Event: "consumed", Time: 30, Group: "cg", Cost: 7, Result: "failed"},
	}
	if got := parseTrace(body, "A"); !reflect.DeepEqual(got, want) {
		t.Errorf("trace: %+v", got)
	}
}
