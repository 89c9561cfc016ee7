package store

import (
	"fmt"
	"log/slog"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/store/consumequeue"
)

// rebuild brings the queues in line with the log at Open. Entries of records before `from` are trusted, as they were
// flushed; all others are made again from the log and compared with what is there. When that shows that a queue lacks
// entries of records before `from`, the log is read again from that queue's last good entry on, for those queues
// alone: each queue is complete afterwards, however far the others were.
type rebuild struct {
	s         *Store
	from, end int64
	resync    bool             // what an unclean stop left may not be on the disk
	gaps      map[*queue]int64 // queues that lack entries, and behind which record these begin
	filling   bool             // the second walk, for the gaps
	touched   []*queue         // with pending entries
	records   int              // since the last commit
	written   int64            // entries made again
}

// commitEvery is how many records are dispatched between two writes of the entries.
const commitEvery = 16 << 10

// open opens the queues and cuts them to the entries that are trusted.
func (r *rebuild) open(keys []message.QueueKey) error {
	for _, key := range keys {
		q, err := r.s.openQueue(key)
		if err != nil {
			return err
		}
		ok, err := q.Recover(message.Position(r.from), prober(r.s.log, key))
		if err != nil {
			return err
		}
		if !ok {
			r.s.logger.Warn("a consume queue is damaged and is made again from the commit log", slog.Any("queue", key))
			if err := q.Reset(); err != nil {
				return err
			}
			r.gaps[q] = r.s.log.Min()
		}
	}
	return nil
}

// run dispatches the log and leaves the queues finished.
func (r *rebuild) run() error {
	if err := r.walk(r.from); err != nil {
		return err
	}
	if len(r.gaps) > 0 {
		r.filling = true
		from := r.end
		for _, at := range r.gaps {
			from = min(from, at)
		}
		if err := r.walk(max(from, r.s.log.Min())); err != nil {
			return err
		}
	}
	for _, q := range r.s.queues.all() {
		if err := q.Finish(r.resync); err != nil {
			return err
		}
		if err := q.CorrectMin(message.Position(r.s.log.Min())); err != nil {
			return err
		}
	}
	return nil
}

func (r *rebuild) walk(from int64) error {
	end, stopped, err := walk(r.s.log, from, r.end, false, r.record)
	if err != nil {
		return err
	}
	if end < r.end {
		return fmt.Errorf("rebuild consume queues: the commit log is damaged at position %d: %w", end, stopped)
	}
	return r.commit()
}

// record adds the entry of one record.
func (r *rebuild) record(rec message.Record) error {
	q, e, err := r.s.entryOf(rec)
	if q == nil || err != nil {
		return err
	}
	if _, gap := r.gaps[q]; gap != r.filling {
		return nil
	}
	at := rec.QueueOffset()
	if !r.filling && q.Empty() && at > 0 && r.from > r.s.log.Min() {
		r.gaps[q] = r.s.log.Min() // where are its first ones?
		return nil
	}
	switch q.Add(e, at) {
	case consumequeue.Known:
		return nil
	case consumequeue.Gap:
		if !r.filling {
			r.gaps[q] = int64(q.LogEnd())
			return nil
		}
		r.s.logger.Warn("records of a queue are missing in the commit log; the queue begins behind them",
			slog.Any("queue", q.Key()), slog.Any("from", q.Next()), slog.Any("to", at))
		err = r.again(q, e, at)
	case consumequeue.Again:
		err = r.again(q, e, at)
	}
	if err != nil {
		return err
	}
	if !q.touched {
		q.touched = true
		r.touched = append(r.touched, q)
	}
	r.written++
	if r.records++; r.records >= commitEvery {
		return r.commit()
	}
	return nil
}

// again lets a queue begin anew with e.
func (r *rebuild) again(q *queue, e message.Entry, at message.Offset) error {
	if err := q.Reset(); err != nil {
		return err
	}
	q.Add(e, at)
	return nil
}

func (r *rebuild) commit() error {
	for _, q := range r.touched {
		if err := q.Commit(); err != nil {
			return err
		}
		q.touched = false
	}
	r.touched, r.records = r.touched[:0], 0
	return nil
}
