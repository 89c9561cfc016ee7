package store

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/weirmq/weir/core/internal/vfs"
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
	suspects  map[*queue]numbered
	touched   []*queue // with pending entries
	records   int      // since the last commit
	written   int64    // entries made again
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
	r.s.rebuilding = true
	defer func() { r.s.rebuilding = false }()
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
		if err := r.settle(); err != nil {
			return err
		}
	}
	if err := r.syncDirs(); err != nil {
		return err
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

// syncDirs makes the names of the queues' directories durable, which a process that died may not have done.
func (r *rebuild) syncDirs() error {
	if !r.resync {
		return nil
	}
	for _, name := range []string{consumequeue.DirName, consumequeue.ExtDirName} {
		root := filepath.Join(r.s.dir, name)
		before := ""
		for _, q := range r.s.queues.all() {
			if topic := filepath.Join(root, q.key.Topic); topic != before {
				before = topic
				if err := r.s.fs.SyncDir(topic); err != nil && !errors.Is(err, vfs.ErrNotExist) {
					return fmt.Errorf("flush the consume queues' directories: %w", err)
				}
			}
		}
		if err := r.s.fs.SyncDir(root); err != nil && !errors.Is(err, vfs.ErrNotExist) {
			return fmt.Errorf("flush the consume queues' directories: %w", err)
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
		return &DamageError{Path: r.s.log.Find(end).Path(), Position: message.Position(end),
			What: fmt.Sprintf("is damaged (%v)", stopped)}
	}
	return r.commit()
}

// record adds the entry of one record.
func (r *rebuild) record(rec message.Record) error {
	if r.s.keys.Index != nil && !r.filling {
		if err := r.s.indexRecord(rec); err != nil {
			return err
		}
	}
	q, e, err := r.s.entryOf(rec)
	if q == nil || err != nil {
		return err
	}
	if _, gap := r.gaps[q]; gap != r.filling {
		return nil
	}
	at := rec.QueueOffset()
	if at < 0 || at > offsetMax {
		r.leaveOut(q, numbered{e, at, 0})
		return nil
	}
	outcome := consumequeue.Gap
	if begins := q.Empty() && at > 0 && at != q.Next(); !begins { // else, where are its first ones?
		outcome = q.Add(e, at, rec.StoreTimestamp())
	}
	switch outcome {
	case consumequeue.Known:
		return nil
	case consumequeue.Gap:
		if !r.filling {
			r.gaps[q] = int64(q.LogEnd()) // 0 without entries
			return nil
		}
		if added, err := r.bridge(q, numbered{e, at, rec.StoreTimestamp()}); err != nil || !added {
			return err
		}
	case consumequeue.Again:
		if err := r.again(q, numbered{e, at, rec.StoreTimestamp()}); err != nil {
			return err
		}
	}
	return r.added(q)
}

// added notes that q has pending entries, and writes those of all queues now and then.
func (r *rebuild) added(q *queue) error {
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

// numbered is an entry and the number that its record claims. The number has no checksum.
type numbered struct {
	message.Entry
	at     message.Offset
	stored int64 // ms
}

// bridge deals with an entry behind a gap that the log doesn't fill: records were deleted, or are damaged where no
// checksum sees it. It waits for a second entry and believes the numbers when they follow each other, or when the second
// leaves room for exactly the first. It says whether it has added something.
func (r *rebuild) bridge(q *queue, n numbered) (bool, error) {
	first, ok := r.suspects[q]
	delete(r.suspects, q)
	switch {
	case ok && n.at == first.at+1:
		if err := r.skip(q, first); err != nil {
			return false, err
		}
	case ok && n.at == q.Next()+1:
		r.s.logger.Error("a record has a wrong queue offset", slog.Any("queue", q.Key()), slog.Any("position", first.Position),
			slog.Any("offset", first.at), slog.Any("taken_as", q.Next()))
		q.Add(first.Entry, q.Next(), first.stored)
	default:
		if ok {
			r.leaveOut(q, first)
		}
		r.suspects[q] = n
		return false, nil
	}
	q.Add(n.Entry, n.at, n.stored)
	return true, nil
}

// skip goes on with n behind a gap.
func (r *rebuild) skip(q *queue, n numbered) error {
	r.s.logger.Warn("a queue lacks records in the commit log", slog.Any("queue", q.Key()), slog.Any("from", q.Next()),
		slog.Any("to", n.at))
	if q.Empty() || int64(q.LogEnd()) <= r.s.log.Min() || n.at-q.Next() > bridgeMax {
		return r.again(q, n)
	}
	q.Fill(n.at, n.Position)
	q.Add(n.Entry, n.at, n.stored)
	return nil
}

// offsetMax is the largest queue offset that is believed; its file name is far from overflowing.
const offsetMax = 1 << 55

// How many missing entries of a queue are made up for: when two numbers agree, and when there is only one.
const (
	bridgeMax = 64 << 10
	loneMax   = 1 << 10
)

func (r *rebuild) leaveOut(q *queue, n numbered) {
	r.s.logger.Error("a record has a wrong queue offset and is left out of its queue", slog.Any("queue", q.Key()),
		slog.Any("position", n.Position), slog.Any("offset", n.at))
}

// settle decides about entries behind a gap that no second one has followed.
func (r *rebuild) settle() error {
	for _, q := range r.s.queues.all() {
		n, ok := r.suspects[q]
		switch {
		case !ok || n.at < q.Next():
		case n.at-q.Next() > loneMax && !q.Empty():
			r.leaveOut(q, n)
		default:
			if err := r.skip(q, n); err != nil {
				return err
			}
			if err := r.added(q); err != nil {
				return err
			}
		}
	}
	return r.commit()
}

// again lets a queue begin anew with n.
func (r *rebuild) again(q *queue, n numbered) error {
	if err := q.Reset(); err != nil {
		return err
	}
	q.Add(n.Entry, n.at, n.stored)
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
