package scenario

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirmq/weir/test/internal/agent"
	"github.com/weirmq/weir/test/internal/raw"
)

// regional is a filter of orders in SQL92, and what it means. Every one accepts markers.
type regional struct {
	text    string
	accepts func(region string) bool
}

func regions(text string, names ...string) regional {
	return regional{text + " OR marker = 'yes'", func(region string) bool { return slices.Contains(names, region) }}
}

// stream sends messages one after the other, the first with number 0, until it is stopped. One that fails is not sent again;
// it may have been stored all the same.
type stream struct {
	topic  string
	queues int
	number func(int) agent.Outgoing // makes the messages
	stored atomic.Int64             // acknowledged
	next   atomic.Int64             // number of the next order
	halt   chan struct{}
	done   chan struct{}
}

// stream sends orders.
func (w *world) stream(topic string, queues int) *stream { return w.streamOf(topic, queues, order) }

func (w *world) streamOf(topic string, queues int, number func(int) agent.Outgoing) *stream {
	s := &stream{topic: topic, queues: queues, number: number, halt: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		for {
			n := int(s.next.Load())
			results, err := w.sender.TrySend(agent.Sync, topic, w.place(n%queues), s.number(n))
			if err == nil && results[0].OK() {
				s.stored.Add(1)
			}
			s.next.Add(1)
			select {
			case <-s.halt:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	return s
}

// await waits until so many more orders have been acknowledged.
func (s *stream) await(t *testing.T, more int64) {
	t.Helper()
	want, limit := s.stored.Load()+more, time.Now().Add(75*time.Second)
	for s.stored.Load() < want {
		if time.Now().After(limit) {
			t.Fatalf("%d more orders are not stored within 75 s", more)
		}
		<-time.After(10 * time.Millisecond)
	}
}

// stop ends the stream, and sends a marker to each queue.
func (s *stream) stop(t *testing.T, w *world) (markers []string) {
	t.Helper()
	close(s.halt)
	<-s.done
	for queue := range s.queues {
		m := marker(s.topic + " marker " + string(rune('0'+queue)))
		w.sender.Send(t, agent.Sync, s.topic, w.place(queue), m)
		markers = append(markers, m.Body)
	}
	return markers
}

// awaitSubscription waits until the broker says by which expression it filters a topic for a group.
func (w *world) awaitSubscription(t *testing.T, group, topic, expression string) {
	t.Helper()
	limit := time.Now().Add(75 * time.Second)
	for {
		var now string
		w.raw(t, func(ctx context.Context, c *raw.Conn) (err error) {
			now, err = c.Subscription(ctx, group, topic)
			return err
		})
		if now == expression {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("group %s filters %s by %q after 75 s, want %q", group, topic, now, expression)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// place is where a message is.
type place struct {
	queue  int
	offset int64
}

// placesOf counts how often the message of each place came.
func placesOf(all []agent.Message) map[place]int {
	count := make(map[place]int)
	for _, m := range all {
		count[place{m.Queue, m.Offset}]++
	}
	return count
}
