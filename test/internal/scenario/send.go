package scenario

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/weirmq/weir/test/internal/agent"
	"github.com/weirmq/weir/test/internal/raw"
	"github.com/weirmq/weir/test/internal/sut"
)

// send sends in all four ways and reads the queues past the client: every message is stored once, where its sender was
// told, with all it carried.
func send(t *testing.T, w *world) { sendAllWays(t, w, w.sender, "SendTopic") }

// sendWithBinaryHeaders is send from the second process.
func sendWithBinaryHeaders(t *testing.T, w *world) {
	p := w.second.Producer(t, agent.ProducerOptions{Name: "binary", Group: "binary-group", NameServer: w.broker.NameServer()})
	sendAllWays(t, w, p, "BinaryTopic")
	p.Stop(t)
}

func sendAllWays(t *testing.T, w *world, sender *agent.Producer, topic string) {
	const queues = 4
	w.topic(t, topic, queues)
	want := make(map[string]agent.Outgoing)
	message := func(kind string, i int) agent.Outgoing {
		m := agent.Outgoing{
			Body: fmt.Sprintf("%s-%d", kind, i), Tags: "Tag-" + kind, Keys: fmt.Sprintf("%s-key-%d second", kind, i),
			Properties: map[string]string{"größe": "小", "kind": kind},
		}
		if kind == "big" {
			m.Body += strings.Repeat(" abcdefgh", 2000) // long enough for clients to compress it
		}
		want[m.Body] = m
		return m
	}
	list := func(kind string, count int) []agent.Outgoing {
		all := make([]agent.Outgoing, count)
		for i := range all {
			all[i] = message(kind, i)
		}
		return all
	}
	told := make(map[string]agent.Result) // by body
	for _, mode := range []agent.Mode{agent.Sync, agent.Async} {
		messages := list(string(mode), 8)
		for i, r := range sender.Send(t, mode, topic, agent.Place{}, messages...) {
			told[messages[i].Body] = r
		}
	}
	big := list("big", 1)
	told[big[0].Body] = sender.Send(t, agent.Sync, topic, agent.Place{}, big...)[0]
	sender.Send(t, agent.OneWay, topic, agent.Place{}, list("oneway", 8)...)
	toQueue := list("toqueue", 3)
	for i, r := range sender.Send(t, agent.Sync, topic, w.place(2), toQueue...) {
		if r.Queue != 2 {
			t.Errorf("sent to queue 2, told %d", r.Queue)
		}
		told[toQueue[i].Body] = r
	}
	batch := list("batch", 10)
	told[batch[0].Body] = sender.Send(t, agent.Batch, topic, w.place(1), batch...)[0]

	records := w.awaitStored(t, topic, queues, len(want))
	if len(records) != len(want) {
		t.Errorf("%d messages stored, %d sent", len(records), len(want))
	}
	got := make(map[string]*raw.Record)
	for _, r := range records {
		body := string(r.Body)
		if r.SysFlag&1 != 0 {
			body = big[0].Body // compressed; only one is long enough
		}
		if got[body] != nil {
			t.Errorf("%.40q is stored twice", body)
		}
		got[body] = r
	}
	for body, m := range want {
		checkRecord(t, m, got[body])
		if r, ok := told[body]; ok {
			w.checkPlace(t, r, got[body])
		}
	}
	checkBatch(t, batch, got, told[batch[0].Body])
}

func checkRecord(t *testing.T, m agent.Outgoing, r *raw.Record) {
	t.Helper()
	if r == nil {
		t.Errorf("%.40q is not stored", m.Body)
		return
	}
	want := map[string]string{"TAGS": m.Tags, "KEYS": m.Keys, "größe": "小", "kind": m.Properties["kind"]}
	for name, value := range want {
		if r.Properties[name] != value {
			t.Errorf("%.40q: property %s is %q, want %q", m.Body, name, r.Properties[name], value)
		}
	}
}

func (w *world) checkPlace(t *testing.T, told agent.Result, r *raw.Record) {
	t.Helper()
	if r == nil {
		return
	}
	if told.Queue != r.Queue || told.Offset != r.QueueOffset {
		t.Errorf("%.40q is at %d/%d, its sender was told %d/%d", r.Body, r.Queue, r.QueueOffset, told.Queue, told.Offset)
	}
	// The ids of a batch are a list, the first message's id is first.
	id, _, batch := strings.Cut(told.MsgID, ",")
	if batch && w.kind == agent.Java5 {
		return // it tells the ids of the messages, but sends them with one id for all of the batch
	}
	if r.Properties["UNIQ_KEY"] != id {
		t.Errorf("%.40q has UNIQ_KEY %q, its sender was told %q", r.Body, r.Properties["UNIQ_KEY"], told.MsgID)
	}
}

// checkBatch: a batch is stored as messages of their own, one behind the other.
func checkBatch(t *testing.T, batch []agent.Outgoing, got map[string]*raw.Record, told agent.Result) {
	t.Helper()
	for i, m := range batch {
		r := got[m.Body]
		if r != nil && (r.Queue != 1 || r.QueueOffset != told.Offset+int64(i)) {
			t.Errorf("batch message %d is at %d/%d, the batch began at %d/%d", i, r.Queue, r.QueueOffset, told.Queue, told.Offset)
		}
	}
	if ids := strings.Split(told.OffsetMsgID, ","); len(ids) != len(batch) {
		t.Errorf("a batch of %d got the ids %q", len(batch), told.OffsetMsgID)
	}
}

// sendToNewTopic lets the first send create the topic, with the four queues that clients ask for.
func sendToNewTopic(t *testing.T, w *world) {
	const topic = "NewTopic"
	w.sender.Send(t, agent.Sync, topic, agent.Place{}, numbered("new", 0, 8)...)
	if records := w.awaitStored(t, topic, 4, 8); len(records) != 8 {
		t.Errorf("%d of 8 messages in the first four queues", len(records))
	}
	w.raw(t, func(ctx context.Context, _ *raw.Conn) error {
		names, err := raw.Dial(ctx, w.broker.NameServer())
		if err != nil {
			return err
		}
		defer names.Close()
		route, err := names.Route(ctx, topic)
		if err != nil {
			return err
		}
		for _, text := range []string{`"readQueueNums":4`, `"writeQueueNums":4`, w.broker.Addr(), w.broker.Name()} {
			if !strings.Contains(route, text) {
				t.Errorf("route %s lacks %s", route, text)
			}
		}
		return nil
	})
}

// sendThroughFastPort uses the port two below, as clients older than 4.5.1 do by default.
func sendThroughFastPort(t *testing.T, w *world) {
	const topic = "FastTopic"
	w.topic(t, topic, 1)
	p := w.first.Producer(t, agent.ProducerOptions{Name: "fast", Group: "fast-group", NameServer: w.broker.NameServer(), VIP: true})
	messages := numbered("fast", 0, 5)
	p.Send(t, agent.Sync, topic, agent.Place{}, messages...)
	c := w.first.Push(t, w.consumer("fast-consumer", topic))
	c.Bodies(t, bodies(messages)...)
	p.Stop(t)
}

// newTopicThroughFastPort lets a client of 4.3.0 do what it does without being told: create the topic with its first send, through the
// port two below. Its log says where it connected to.
func newTopicThroughFastPort(t *testing.T, w *world) {
	if w.broker.Kind() == sut.Java {
		t.Skip("RocketMQ 4.9.7 does not know the topic after which clients of 4.3.0 want new ones to be made; weir does")
	}
	const topic = "OldTopic"
	messages := numbered("old", 0, 20)
	for i, r := range w.sender.Send(t, agent.Sync, topic, agent.Place{}, messages...) {
		if r.Queue < 0 || r.Queue > 3 || r.OffsetMsgID == "" {
			t.Errorf("message %d: %+v", i, r)
		}
	}
	if !w.first.Logged(t, w.broker.FastAddr()) {
		t.Errorf("the client never connected to %s", w.broker.FastAddr())
	}
	c := w.first.Push(t, w.consumer("old", topic))
	all := c.Bodies(t, bodies(messages)...)
	if len(all) != len(messages) || len(queuesOf(all)) != 4 {
		t.Errorf("%d messages came of queues %v, want %d of four", len(all), queuesOf(all), len(messages))
	}
	c.Stop(t)
}

// refusals are what the broker has to refuse, with RocketMQ's code and a remark that a person can read.
func refusals(t *testing.T, w *world) {
	const topic = "RefusalTopic"
	w.topic(t, topic, 1)
	cases := []struct {
		name    string
		message agent.Outgoing
		code    int
		remark  string
	}{
		{"body over 4 MiB", agent.Outgoing{Size: 4<<20 + 1}, raw.MessageIllegal, ""},
		{"properties over 32767 bytes", agent.Outgoing{Body: "x", Properties: map[string]string{"long": strings.Repeat("x", 33_000)}}, raw.MessageIllegal, ""},
	}
	for _, c := range cases {
		results, err := w.sender.TrySend(agent.Sync, topic, agent.Place{}, c.message)
		if err != nil {
			t.Fatal(err)
		}
		if r := results[0]; r.OK() || r.Code != c.code || r.Remark == "" {
			t.Errorf("%s: %+v, want code %d with a remark", c.name, r, c.code)
		}
	}
	// A little below the limits it is taken; the client's attempt to compress makes such a body longer.
	w.sender.Send(t, agent.Sync, topic, agent.Place{}, agent.Outgoing{Size: 4<<20 - 64<<10},
		agent.Outgoing{Body: "x", Properties: map[string]string{"long": strings.Repeat("x", 32_000)}})
	if records := w.awaitStored(t, topic, 1, 2); len(records) != 2 {
		t.Errorf("%d messages stored, want the 2 within the limits", len(records))
	}
}
