package store

import (
	"errors"
	"math"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// OffsetByTime returns the offset of the message that was stored at ts, in ms; without one, of a neighbour:
//
//	Nearest   the nearer one, the earlier of two equally near; before all the first, later than all the last. That is
//	          RocketMQ 4.9.7's answer, but among equal times it is the first, and modification times of files don't matter.
//	Lower     the first message at or after ts; later than all, the end of the queue
//	Upper     the last message at or before ts; earlier than all, the first
//
// It is 0 for a queue that isn't known, the minimum for an empty one, and never below the minimum.
func (s *Store) OffsetByTime(key message.QueueKey, ts int64, b transport.Boundary) (message.Offset, error) {
	q := s.queues.find(key.Topic, key.ID)
	if q == nil {
		return 0, nil
	}
	first, end := q.Bounds()
	if first == end {
		return first, nil
	}
	if b == transport.Upper {
		if ts == math.MaxInt64 {
			return end - 1, nil
		}
		at, _, err := s.firstSince(q, first, end, ts+1)
		return max(first, at-1), err
	}
	at, t, err := s.firstSince(q, first, end, ts)
	if err != nil || b == transport.Lower || at == first {
		return at, err
	}
	if at == end {
		return end - 1, nil
	}
	before, err := s.timeAt(q, at-1)
	if err != nil {
		return at, err
	}
	if t != ts && ts-before <= t-ts {
		return at - 1, nil
	}
	return at, nil
}

// firstSince returns the first offset in [first, end) whose message was stored at ts or later, with its time; end if
// there is none.
func (s *Store) firstSince(q *queue, first, end message.Offset, ts int64) (message.Offset, int64, error) {
	var found int64
	lo, hi := first, end
	for lo < hi {
		mid := lo + (hi-lo)/2
		t, err := s.timeAt(q, mid)
		if err != nil {
			return lo, 0, err
		}
		if t >= ts {
			hi, found = mid, t
		} else {
			lo = mid + 1
		}
	}
	return lo, found, nil
}

// timeAt returns the store time of one message. What was deleted meanwhile counts as older than everything.
func (s *Store) timeAt(q *queue, at message.Offset) (int64, error) {
	e, err := q.Entry(at)
	if errors.Is(err, ErrNoEntries) {
		return math.MinInt64, nil
	}
	if err != nil {
		return 0, err
	}
	t, err := s.StoreTime(e)
	if errors.Is(err, ErrRecordGone) {
		return math.MinInt64, nil
	}
	return t, err
}

// EarliestStoreTime returns the store time in ms of the first message of a queue that can be read, -1 without one.
func (s *Store) EarliestStoreTime(key message.QueueKey) int64 {
	q := s.queues.find(key.Topic, key.ID)
	if q == nil {
		return -1
	}
	first, end := q.Bounds()
	if first == end {
		return -1
	}
	e, err := q.Entry(first)
	if err != nil {
		return -1
	}
	t, err := s.StoreTime(e)
	if err != nil {
		return -1
	}
	return t
}
