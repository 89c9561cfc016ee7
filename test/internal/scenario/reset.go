package scenario

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/weirmq/weir/test/internal/agent"
	"github.com/weirmq/weir/test/internal/raw"
)

// resets are two groups that are sent back to a time while they consume a stream, one of them in order, as mqadmin's
// resetOffsetByTime does: everything from there on comes again, nothing before it, and nothing of what flows meanwhile is lost. Clients
// go back 10 s after they were told; they do it during the first part.
type resets struct {
	topic string
	flow  *stream
	both  []*rewound
	from  map[int]int64 // the first offset to come again of each queue
}

const (
	resetQueues = 2
	resetTo     = 10 // the offset of queue 0 to whose time the groups are sent back
)

// startResets starts the groups.
func startResets(t *testing.T, w *world) *resets {
	const topic = "ResetTopic"
	w.topic(t, topic, resetQueues)
	plain, ordered := w.consumer("reset", topic), w.consumer("reset-orderly", topic)
	ordered.Orderly = true
	s := &resets{topic: topic, flow: w.stream(topic, resetQueues), both: []*rewound{{o: plain}, {o: ordered}}, from: make(map[int]int64)}
	for _, r := range s.both {
		r.c = w.first.Push(t, r.o)
	}
	return s
}

// sendBack sends the groups back.
func (s *resets) sendBack(t *testing.T, w *world) {
	for _, r := range s.both {
		r.c.Await(t, "messages behind the time of the reset", func(all []agent.Message) bool {
			last := lastOffsets(all)
			return last[0] > 2*resetTo && last[1] > 2*resetTo
		})
		// A group that has no offset yet can't be sent back.
		for queue := range resetQueues {
			w.awaitOffset(t, r.o.Group, s.topic, queue)
		}
	}
	at := w.stored(t, s.topic, 1)[resetTo].StoredAt
	w.raw(t, func(ctx context.Context, c *raw.Conn) (err error) {
		for queue := range resetQueues {
			if s.from[queue], err = c.SearchOffset(ctx, s.topic, queue, at); err != nil {
				return err
			}
		}
		for _, r := range s.both {
			r.before = r.c.Messages()
			if err := c.ResetOffsets(ctx, r.o.Group, s.topic, at); err != nil {
				return err
			}
		}
		return nil
	})
}

// end waits until the groups have gone back and have caught up with the stream.
func (s *resets) end(t *testing.T, w *world) {
	for _, r := range s.both {
		r.c.AwaitWithin(t, 2*time.Minute, "the messages of the reset again", func(all []agent.Message) bool {
			count := placesOf(all)
			return count[place{0, s.from[0]}] > 1 && count[place{1, s.from[1]}] > 1
		})
	}
	markers := s.flow.stop(t, w)
	for _, r := range s.both {
		r.c.Bodies(t, markers...)
		r.check(t, s.from)
		r.c.Stop(t)
	}
}

// awaitOffset waits until a group has committed something of a queue. Clients begin with that 10 s after their start.
func (w *world) awaitOffset(t *testing.T, group, topic string, queue int) {
	t.Helper()
	limit := time.Now().Add(time.Minute)
	for {
		var offset int64
		w.raw(t, func(ctx context.Context, c *raw.Conn) (err error) {
			var refused *raw.Error
			if offset, err = c.QueryOffset(ctx, group, topic, queue); errors.As(err, &refused) && refused.Code == raw.QueryNotFound {
				return nil
			}
			return err
		})
		if offset > 0 {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("group %s has committed nothing of queue %d of %s after a minute", group, queue, topic)
		}
		<-time.After(50 * time.Millisecond)
	}
}

// rewound is a consumer whose group is sent back.
type rewound struct {
	o      agent.ConsumerOptions
	c      *agent.Consumer
	before []agent.Message // that had come when the group was sent back
}

// check looks at how often the message of each offset came, with the first ones that came again.
func (r *rewound) check(t *testing.T, from map[int]int64) {
	t.Helper()
	all := r.c.Messages()
	count, seen, last := placesOf(all), lastOffsets(r.before), lastOffsets(all)
	for queue, first := range from {
		for offset := range last[queue] + 1 {
			n := count[place{queue, offset}]
			switch {
			case n == 0:
				t.Errorf("%s: queue %d: offset %d never came", r.o.Group, queue, offset)
			case n > 1 && offset < first:
				t.Errorf("%s: queue %d: offset %d came %d times, the group was sent back to %d", r.o.Group, queue, offset, n, first)
			case n == 1 && offset >= first && offset <= seen[queue]:
				t.Errorf("%s: queue %d: offset %d did not come again, the group was at %d and was sent back to %d", r.o.Group, queue, offset, seen[queue], first)
			}
		}
	}
}

// lastOffsets are the highest offsets that came of each queue.
func lastOffsets(all []agent.Message) map[int]int64 {
	last := make(map[int]int64)
	for _, m := range all {
		last[m.Queue] = max(last[m.Queue], m.Offset)
	}
	return last
}
