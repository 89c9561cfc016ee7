package scenario

import (
	"context"
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

	c.Subscribe(t, topic, after.text)
	w.awaitSubscription(t, o.Group, topic, after.text)
	var end int64
	w.raw(t, func(ctx context.Context, c *raw.Conn) (err error) {
		end, err = c.MaxOffset(ctx, topic, 0)
		return err
	})
	s.await(t, 60)
	got := placesOf(c.Bodies(t, s.stop(t, w)...))

	stored := w.stored(t, topic, 1)
	var from int64
	for _, m := range old {
		from = max(from, m.Offset+1)
	}
	cut := from
	for cut <= end && judgedApart(stored, got, cut, before, after) >= 0 {
		cut++
	}
	if cut > end {
		t.Errorf("no offset from %d to %d divides what the old filter has judged and what the new one has; by the first the message at %d is wrong, by the last that at %d",
			from, end, judgedApart(stored, got, from, before, after), judgedApart(stored, got, end, before, after))
	}
	t.Logf("%d orders, the new filter judges from %d on, which is within %d to %d; %d came", len(stored), cut, from, end, len(got))
	for at, n := range got {
		if n > 1 {
			t.Errorf("the message at %d came %d times", at.offset, n)
		}
	}
}

// judgedApart returns the offset of the first message that came and shouldn't have, or didn't and should, when one filter judges
// all before an offset and the other all from there on; -1 for none.
func judgedApart(stored []*raw.Record, got map[place]int, cut int64, before, after regional) int64 {
	for _, r := range stored {
		f := before
		if r.QueueOffset >= cut {
			f = after
		}
		if f.wants(r) != (got[place{0, r.QueueOffset}] > 0) {
			return r.QueueOffset
		}
	}
	return -1
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
