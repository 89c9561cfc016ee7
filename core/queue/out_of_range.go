package queue

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/message"
)

// A group's offset may lie outside its queue: messages have expired, a crash took the last ones, or the topic was deleted and made again, so
// that offsets begin at 0 anew. It then goes on from the nearest end that is right, and the log says so: RocketMQ sends a group behind the
// end of a new topic to its end as well, past messages that nobody has consumed.

// rightEnd returns where to go on who is beyond the end of a queue.
func rightEnd(recreated func(string) bool, topic string, low, high message.Offset) message.Offset {
	if recreated != nil && recreated(topic) {
		return low
	}
	return high
}

// correct returns the offset from which a group goes on that has committed at, which it changes when that is beyond the end of a topic that
// was made again. Elsewhere the group is told what it has committed, as in RocketMQ, and its pull moves it.
func (o *Offsets) correct(group string, q message.QueueKey, at message.Offset) message.Offset {
	if o.set.Recreated == nil || !o.set.Recreated(q.Topic) {
		return at
	}
	low, high, ok := o.set.Log.Bounds(q)
	if !ok || at <= high {
		return at
	}
	if err := o.Commit(group, q, low); err != nil {
		return at // the table is full of others: pulls will correct it
	}
	o.set.Logger.Warn("a group's offset is from before its topic was deleted and made again; it goes on from the begin",
		"group", group, "topic", q.Topic, "queue", q.ID, "offset", at, "from", low, "queue_end", high)
	return low
}

// movedEvery is how often the log tells of pulls out of range.
const movedEvery = time.Second

// moved counts pulls that were out of range, and tells of one in a while.
type moved struct {
	count atomic.Int64
	last  atomic.Int64 // when the log was told last, ms
	quiet atomic.Int64 // pulls that it wasn't told of since
}

// tell logs a pull that came for an offset that isn't there.
func (m *moved) tell(log *slog.Logger, c clock.Clock, group string, q message.QueueKey, asked, from, low, high message.Offset) {
	m.count.Add(1)
	now, last := clock.Millis(c.Now()), m.last.Load()
	if last != 0 && now-last < movedEvery.Milliseconds() || !m.last.CompareAndSwap(last, now) {
		m.quiet.Add(1)
		return
	}
	log.Warn("a consumer asked for an offset that isn't there; it is sent to the nearest offset that is right", "group", group, "topic", q.Topic,
		"queue", q.ID, "offset", asked, "from", from, "queue_begin", low, "queue_end", high, "others_since_last_told", m.quiet.Swap(0))
}
