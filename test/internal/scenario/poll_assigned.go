package scenario

import (
	"slices"
	"testing"

	"github.com/weirmq/weir/test/internal/agent"
	"github.com/weirmq/weir/test/internal/sut"
)

// pollAssigned has a polling consumer choose one queue of two, and go back and forth in it. A seek counts from the next pull on, and
// the Go client lets one that is held at the end of the queue run on, so each is followed by a message that ends the hold.
func pollAssigned(t *testing.T, w *world) {
	if w.kind == agent.Java5 && w.broker.Kind() == sut.Java {
		t.Skip("RocketMQ 4.9.7 does not serve the request with which 5.x clients poll; weir does")
	}
	const topic, chosen = "AssignTopic", 1
	w.topic(t, topic, 2)
	w.sender.Send(t, agent.Sync, topic, w.place(0), numbered("other", 0, 10)...)
	w.sender.Send(t, agent.Sync, topic, w.place(chosen), numbered("mine", 0, 10)...)
	o := w.consumer("assigned", topic)
	o.Broker, o.Queues = w.broker.Name(), []int{chosen}
	c := w.first.Poll(t, o)
	c.Bodies(t, bodies(numbered("mine", 0, 10))...)

	sent := 10
	wake := func() {
		w.sender.Send(t, agent.Sync, topic, w.place(chosen), numbered("mine", sent, 1)...)
		sent++
	}
	// again waits until all offsets from one on have come once more.
	again := func(from int, seek func()) {
		t.Helper()
		before := len(c.Messages())
		seek()
		wake()
		c.Await(t, "the messages behind the seek again", func(all []agent.Message) bool { return seenAgain(all[before:], from, sent) })
	}
	again(4, func() { c.Seek(t, o, chosen, 4) })
	again(0, func() { c.Seek(t, o, chosen, 0) })
	if w.kind.IsJava() {
		again(0, func() { c.SeekToBegin(t, o, chosen) })
	}
	for _, m := range c.Messages() {
		if m.Queue != chosen {
			t.Errorf("%s came of queue %d, which was not chosen", m.Body, m.Queue)
		}
	}
	c.Stop(t)
}

// seenAgain tells whether messages end with those of a queue from one offset up to another, in order.
func seenAgain(all []agent.Message, from, end int) bool {
	return len(all) >= end-from && slices.EqualFunc(all[len(all)-(end-from):], numbered("mine", from, end-from), func(m agent.Message, want agent.Outgoing) bool {
		return m.Body == want.Body
	})
}
