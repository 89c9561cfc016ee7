package scenario

import (
	"context"
	"fmt"
	"testing"

	"github.com/weirmq/weir/test/internal/agent"
	"github.com/weirmq/weir/test/internal/raw"
)

// changeWhileConsuming gives a running consumer another filter while orders flow. The broker changes over when a heartbeat
// brings the new text with a higher version. A queue is pulled by one request after the other, so there is one offset before
// which the old filter has judged all messages, and from which on the new one: behind what has come before the change,
// and not behind what was stored after it.
func changeWhileConsuming(t *testing.T, w *world) {
	const topic = "LiveFilterTopic"
	w.topic(t, topic, 1)
	before, after := regions("region IN ('eu', 'us')", "eu", "us"), regions("region = 'us' OR region = 'ap'", "us", "ap")
	o := w.consumer("live", topic)
	o.SQL, o.Expression = true, before.text
	c := w.first.Push(t, o)
	s := w.stream(topic, 1)
	old := c.Await(t, "twenty orders", func(all []agent.Message) bool { return len(all) >= 20 })
	var first, last int64 // where the new filter may begin
	for _, m := range old {
		first = max(first, m.Offset+1)
	}

	c.Subscribe(t, topic, after.text)
	w.awaitSubscription(t, o.Group, topic, after.text)
	w.raw(t, func(ctx context.Context, c *raw.Conn) (err error) {
		last, err = c.MaxOffset(ctx, topic, 0)
		return err
	})
	s.await(t, 60)
	c.Bodies(t, s.stop(t, w)...)

	// What a client's threads report may be out of order, so the last message need not be the last.
	stored := w.stored(t, topic, 1)
	from := first
	all := c.Await(t, fmt.Sprintf("messages, judged by %q in front of an offset from %d to %d, and by %q from it on", before.text, first, last, after.text),
		func(all []agent.Message) bool {
			got := placesOf(all)
			for from = first; from < last && !judged(stored, got, from, before, after); {
				from++
			}
			return judged(stored, got, from, before, after)
		})
	for at, n := range placesOf(all) {
		if n > 1 {
			t.Errorf("the message at %d came %d times", at.offset, n)
		}
	}
	t.Logf("%d orders, the new filter judges from %d on, which is within %d to %d; %d came", len(stored), from, first, last, len(all))
}

// judged says whether what has come is what one filter accepts of the messages before an offset, and the other from there on.
func judged(stored []*raw.Record, got map[place]int, from int64, before, after regional) bool {
	for _, r := range stored {
		f := before
		if r.QueueOffset >= from {
			f = after
		}
		if f.wants(r) != (got[place{0, r.QueueOffset}] > 0) {
			return false
		}
	}
	return true
}

func (f regional) wants(r *raw.Record) bool {
	return f.accepts(r.Properties["region"]) || r.Properties["marker"] == "yes"
}

// awayAndBack takes the topic from a running consumer and gives it back with another filter: it goes on where it was, by the
// new filter.
func awayAndBack(t *testing.T, w *world) {
	const topic = "AwayTopic"
	w.topic(t, topic, 1)
	o := w.consumer("away", topic)
	o.SQL, o.Expression = true, "region = 'eu' OR marker = 'yes'"
	c := w.second.Push(t, o)
	messages, want := orders(0, 30, func(_ int, region string) bool { return region == "eu" })
	w.sender.Send(t, agent.Sync, topic, w.place(0), messages...)
	w.sender.Send(t, agent.Sync, topic, w.place(0), marker("first marker"))
	expectExactly(t, c, []string{"first marker"}, want)
	if n := w.awaitCommitted(t, o.Group, topic, 1, 31); n != 31 {
		t.Fatalf("%d of 31 committed", n)
	}

	c.Unsubscribe(t, topic)
	w.awaitSubscription(t, o.Group, topic, "")
	messages, more := orders(30, 30, func(amount int, region string) bool { return region == "ap" || region == "eu" && amount > 50 })
	w.sender.Send(t, agent.Sync, topic, w.place(0), messages...)
	w.sender.Send(t, agent.Sync, topic, w.place(0), marker("second marker"))
	c.Subscribe(t, topic, "region = 'ap' OR region = 'eu' AND amount > 50 OR marker = 'yes'")
	expectExactly(t, c, []string{"first marker", "second marker"}, append(want, more...))
	for at, n := range placesOf(c.Messages()) {
		if n > 1 {
			t.Errorf("the message at %d came %d times", at.offset, n)
		}
	}
}
