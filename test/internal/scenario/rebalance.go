package scenario

import (
	"fmt"
	"testing"
	"time"

	"github.com/weirmq/weir/test/internal/agent"
)

// queuesOf are the queues that messages came from.
func queuesOf(all []agent.Message) map[int]bool {
	queues := make(map[int]bool)
	for _, m := range all {
		queues[m.Queue] = true
	}
	return queues
}

// probe sends a message to every queue of a topic, a few times a second, until the condition is met.
func probe(t *testing.T, w *world, topic string, queues int, prefix string, limit time.Duration, met func() bool) {
	t.Helper()
	end := time.Now().Add(limit)
	for round := 0; ; round++ {
		if met() {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("probing %s: not met within %v", topic, limit)
		}
		for queue := range queues {
			w.sender.Send(t, agent.Sync, topic, w.place(queue), agent.Outgoing{Body: fmt.Sprintf("%s-%d-%d", prefix, round, queue)})
		}
		<-time.After(250 * time.Millisecond)
	}
}

// pair is a group of two push consumers in two processes.
type pair struct {
	one, two *agent.Consumer
	sent     int // probes of the kind "share", numbered on
}

const (
	pairTopic  = "PairTopic"
	pairQueues = 4
)

// startPair starts the first of the two.
func startPair(t *testing.T, w *world) *pair {
	w.topic(t, pairTopic, pairQueues)
	return &pair{one: w.first.Push(t, w.consumer("pair", pairTopic))}
}

// shares sends a round of probes to all queues and waits until each has come to somebody. It returns who got which.
func (p *pair) shares(t *testing.T, w *world) (one, two map[int]bool) {
	t.Helper()
	p.sent++
	var want []string
	for queue := range pairQueues {
		body := fmt.Sprintf("share-%d-%d", p.sent, queue)
		want = append(want, body)
		w.sender.Send(t, agent.Sync, pairTopic, w.place(queue), agent.Outgoing{Body: body})
	}
	awaitUnion(t, want, p.consumers()...)
	of := func(c *agent.Consumer) map[int]bool {
		var round []agent.Message
		if c != nil {
			for _, m := range c.Messages() {
				if len(agent.Lacking([]agent.Message{m}, want)) < len(want) {
					round = append(round, m)
				}
			}
		}
		return queuesOf(round)
	}
	return of(p.one), of(p.two)
}

func (p *pair) consumers() []*agent.Consumer {
	if p.two == nil {
		return []*agent.Consumer{p.one}
	}
	return []*agent.Consumer{p.one, p.two}
}

// awaitShares probes until the two hold so many queues, none of them shared.
func (p *pair) awaitShares(t *testing.T, w *world, wantOne, wantTwo int) {
	t.Helper()
	end := time.Now().Add(75 * time.Second)
	for {
		one, two := p.shares(t, w)
		if len(one) == wantOne && len(two) == wantTwo {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("after 75 s one consumer gets queues %v, the other %v; want %d and %d", one, two, wantOne, wantTwo)
		}
		<-time.After(250 * time.Millisecond)
	}
}

// split: the first alone has all four queues, then a second process joins and both have two.
func (p *pair) split(t *testing.T, w *world) {
	p.awaitShares(t, w, pairQueues, 0)
	o := w.consumer("pair", pairTopic)
	o.Name = "pair-two"
	p.two = w.second.Push(t, o)
	p.awaitShares(t, w, 2, 2)
}

// kill: the second process dies without a word, and the first gets its queues back, with what came meanwhile.
func (p *pair) kill(t *testing.T, w *world) {
	if p.two == nil {
		t.Skip("there were not two")
	}
	w.second.Kill()
	p.two = nil
	messages := numbered("orphan", 0, 8)
	for i, m := range messages {
		w.sender.Send(t, agent.Sync, pairTopic, w.place(i%pairQueues), m)
	}
	p.one.Bodies(t, bodies(messages)...)
	p.awaitShares(t, w, pairQueues, 0)
}
