package scenario

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weirmq/weir/test/internal/agent"
)

// delays sends messages of several delay levels, each of which is a second in tests: they come when that has passed and not before,
// as of the topic and the queue to which they were sent.
func delays(t *testing.T, w *world) {
	const topic = "DelayTopic"
	w.topic(t, topic, 2)
	c := w.first.Push(t, w.consumer("delay", topic))
	levels := map[string]int{"at once": 0, "first": 1, "fifth": 5, "last": 18}
	var messages []agent.Outgoing
	for body, level := range levels {
		messages = append(messages, agent.Outgoing{Body: body, Tags: "TagD", Keys: "key-d", Delay: level, Properties: map[string]string{"mine": "yes"}})
	}
	before := time.Now().UnixMilli()
	w.sender.Send(t, agent.Sync, topic, w.place(1), messages...)
	for _, m := range c.Bodies(t, bodies(messages)...) {
		level := levels[m.Body]
		if m.Topic != topic || m.Queue != 1 || m.Tags != "TagD" || m.Keys != "key-d" || m.Properties["mine"] != "yes" || m.ReconsumeTimes != 0 {
			t.Errorf("%s came as %+v", m.Body, m)
		}
		if level == 0 {
			continue
		}
		if m.Properties["DELAY"] != fmt.Sprint(level) {
			t.Errorf("%s: DELAY is %q, want %d", m.Body, m.Properties["DELAY"], level)
		}
		if waited := m.StoredAt - before; waited < 1000 {
			t.Errorf("%s became visible %d ms after it was sent, want 1000 or more", m.Body, waited)
		}
	}
	if records := w.stored(t, topic, 2); len(records) != len(messages) {
		t.Errorf("the topic holds %d messages, want %d", len(records), len(messages))
	}
}

// timers sends messages that wait for times of their own: they come when that has passed and not before, and what a producer of Java 5 recalls doesn't come.
func timers(t *testing.T, w *world) {
	const topic = "TimerTopic"
	w.topic(t, topic, 2)
	c := w.first.Push(t, w.consumer("timers", topic))
	waits := map[string]int64{"later": 1500, "soon": 300, "far": 3_600_000, "recalled": 1600}
	var messages []agent.Outgoing
	for body, wait := range waits {
		messages = append(messages, agent.Outgoing{Body: body, Tags: "TagW", Keys: "key-w", DelayMillis: wait, Properties: map[string]string{"mine": "yes"}})
	}
	messages = append(messages, agent.Outgoing{Body: "last", DelayMillis: 2000})
	before := time.Now().UnixMilli()
	results := w.sender.Send(t, agent.Sync, topic, w.place(1), messages...)
	want := []string{"later", "soon", "last", "recalled"}
	if w.kind == agent.Java5 {
		want = want[:3]
		for i, m := range messages {
			if results[i].RecallHandle == "" {
				t.Errorf("%s has no recall handle", m.Body)
			}
			if m.Body != "recalled" && m.Body != "far" {
				continue
			}
			if id, err := w.sender.Recall(topic, results[i].RecallHandle); err != nil || id != results[i].MsgID {
				t.Errorf("recall %s: %q, %v; the message is %s", m.Body, id, err, results[i].MsgID)
			}
		}
	}
	for _, m := range c.Bodies(t, want...) {
		if m.Topic != topic || m.Queue != 1 || m.Body != "last" && (m.Tags != "TagW" || m.Keys != "key-w" || m.Properties["mine"] != "yes") {
			t.Errorf("%s came as %+v", m.Body, m)
		}
		if waited := m.StoredAt - before; m.Body != "last" && waited < waits[m.Body] {
			t.Errorf("%s became visible %d ms after it was sent, want %d or more", m.Body, waited, waits[m.Body])
		}
	}
	if records := w.stored(t, topic, 2); len(records) != len(want) {
		t.Errorf("the topic holds %d messages, want %d", len(records), len(want))
	}
	if w.kind == agent.Java5 {
		if _, err := w.sender.Recall(topic, "nonsense"); err == nil {
			t.Error("a handle that is none was taken")
		}
	}
}

// transactions are committed and rolled back by the producer, at once or when the broker asks for those that it left open.
func transactions(t *testing.T, w *world) {
	const topic = "TransactionTopic"
	w.topic(t, topic, 2)
	c := w.first.Push(t, w.consumer("transaction", topic))
	p := w.first.Transactions(t, agent.ProducerOptions{Name: "transactions", Group: "transaction-producers", NameServer: w.broker.NameServer()})
	message := func(body, local, checks string) agent.Outgoing {
		return agent.Outgoing{Body: body, Tags: "TagT", Keys: "key-t", Properties: map[string]string{"local": local, "checks": checks}}
	}
	p.Send(t, topic,
		message("committed", "commit", "rollback"), message("rolled back", "rollback", "commit"),
		message("committed when asked", "unknown", "commit"), message("rolled back when asked", "unknown", "rollback"),
		message("committed when asked again", "unknown", "unknown commit"))
	want := []string{"committed", "committed when asked", "committed when asked again"}
	all := c.Bodies(t, want...)
	p.Checks.Bodies(t, "rolled back when asked")
	if got := receivedBodies(all); !slices.Equal(got, want) {
		t.Errorf("received %q, want %q", got, want)
	}
	for _, m := range all {
		if m.Topic != topic || m.Tags != "TagT" || m.Keys != "key-t" {
			t.Errorf("%s came as %+v", m.Body, m)
		}
	}
	checks := p.Checks.Messages()
	for _, body := range []string{"committed", "rolled back"} {
		if n := countBody(checks, body); n != 0 {
			t.Errorf("the broker asked %d times about %q, which was decided", n, body)
		}
	}
	if n := countBody(checks, "committed when asked again"); n < 2 {
		t.Errorf("the broker asked %d times about what it was not told the first time", n)
	}
	for _, m := range checks {
		if m.Topic != topic || m.Tags != "TagT" {
			t.Errorf("the broker asked about %+v", m)
		}
	}
	// What was rolled back is nowhere: a last message is stored behind all that could still come.
	p.Send(t, topic, message("last", "commit", "commit"))
	c.Bodies(t, "last")
	if records := w.stored(t, topic, 2); len(records) != len(want)+1 {
		t.Errorf("the topic holds %d messages, want %d", len(records), len(want)+1)
	}
	p.Stop(t)
}

// orderlyDeadLetter has a message fail that holds up its queue, until the deliveries that the consumer allows are used up: then it
// is in the dead letter queue, and those behind it go on.
func orderlyDeadLetter(t *testing.T, w *world) {
	const topic, allowed = "OrderlyDeadTopic", 2
	w.topic(t, topic, 1)
	o := w.consumer("orderly-dead", topic)
	o.Orderly, o.MaxReconsume = true, allowed
	c := w.first.Push(t, o)
	w.sender.Send(t, agent.Sync, topic, agent.Place{}, agent.Outgoing{Body: "before"},
		agent.Outgoing{Body: "dead", Tags: "TagA", Keys: "key-dead", Properties: map[string]string{"fail": "100", "mine": "yes"}},
		agent.Outgoing{Body: "after"})
	c.Bodies(t, "after")
	dead := w.awaitStored(t, "%DLQ%"+o.Group, 1, 1)
	if len(dead) != 1 || string(dead[0].Body) != "dead" {
		t.Fatalf("dead letter queue holds %d messages, first %+v", len(dead), dead[0])
	}
	for name, value := range map[string]string{"RETRY_TOPIC": topic, "KEYS": "key-dead", "TAGS": "TagA", "mine": "yes"} {
		if dead[0].Properties[name] != value {
			t.Errorf("dead letter: property %s is %q, want %q", name, dead[0].Properties[name], value)
		}
	}
	all := c.Messages()
	checkOrder(t, all)
	want := allowed + 1
	if w.kind == agent.Go {
		want++ // it gives up when the count is exceeded, Java's when it is reached
	}
	if n := countBody(all, "dead"); n != want {
		t.Errorf("the message that fails was delivered %d times, want %d", n, want)
	}
	if n := countBody(all, "before") + countBody(all, "after"); n != 2 {
		t.Errorf("those around it were delivered %d times, want 2", n)
	}
}
