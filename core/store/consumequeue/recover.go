package consumequeue

import (
	"bytes"
	"errors"
	"fmt"
	"sort"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/store/segment"
)

// Probe says whether the entry numbered at is right, as far as the log can tell: whether its record is this queue's and
// has this number. It is true for entries whose record isn't in the log any more.
type Probe func(at message.Offset, e message.Entry) bool

// Recover finds the queue's entries whose records begin below cut, and puts the end behind them. It reads a handful of
// pages, and changes nothing on the disk. It is called once, after Open and before anything else.
//
// Entries below cut have to be complete on the disk; what is behind them may be anything. The last entry is shown
// to probe. When it is wrong the entries are walked one by one. When that doesn't help either, or good entries follow
// behind a bad one, the queue is left without entries and ok is false: it has to be made again from the log.
//
// What is behind the end stays in the files for Add to compare with: an entry that is there and right is not written
// again. Finish removes the rest.
func (q *Queue) Recover(cut message.Position, probe Probe) (ok bool, err error) {
	lo, hi := q.fileBounds()
	q.checks = true
	q.setEmpty(lo)
	n, err := q.search(lo, hi, cut)
	if err != nil {
		return false, err
	}
	found, err := q.adopt(lo, n, probe)
	if err != nil {
		return false, err
	}
	if !found {
		if n, err = q.walk(lo, hi, cut); err != nil {
			return false, err
		}
		if found, err = q.adopt(lo, n, probe); err != nil || !found {
			return false, err
		}
	}
	hole, err := q.hole(n, hi, cut)
	if hole || err != nil {
		q.setEmpty(lo)
		return false, err
	}
	return true, q.recoverExt(lo)
}

// near is how many entries behind the end are looked at one by one for a hole.
const near = 256

// hole says whether good entries below cut follow behind n, so that n is not the end but damaged. It looks at the entries
// near n and then at ever greater distances.
func (q *Queue) hole(n, hi message.Offset, cut message.Position) (bool, error) {
	before := message.Position(q.logEnd.Load())
	for step := message.Offset(1); n+step < hi; {
		e, ok, err := q.raw(n + step)
		if err != nil {
			return false, err
		}
		if ok && valid(e) && e.Position >= before && e.Position < cut {
			return true, nil
		}
		if step < near {
			step++
		} else {
			step *= 2
		}
	}
	return false, nil
}

// RecoverAll is Recover after a clean stop: every entry is taken.
func (q *Queue) RecoverAll(probe Probe) (ok bool, err error) { return q.Recover(maxPosition, probe) }

const maxPosition = message.Position(1<<63 - 1)

// fileBounds returns the offsets for which there are files.
func (q *Queue) fileBounds() (lo, hi message.Offset) {
	return message.Offset(q.files.Min() / message.EntrySize), message.Offset(q.files.End() / message.EntrySize)
}

func (q *Queue) setEmpty(at message.Offset) {
	q.min.Store(int64(at))
	q.end.Store(int64(at))
	q.flushed.Store(int64(at))
	q.next = at
	q.logEnd.Store(0)
}

// search returns the first offset in [lo, hi) that is not a good entry below cut, by bisection.
func (q *Queue) search(lo, hi message.Offset, cut message.Position) (message.Offset, error) {
	var failed error
	n := sort.Search(int(hi-lo), func(i int) bool {
		e, ok, err := q.raw(lo + message.Offset(i))
		if err != nil && failed == nil {
			failed = err
		}
		return !ok || !below(e, cut)
	})
	return lo + message.Offset(n), failed
}

func below(e message.Entry, cut message.Position) bool {
	return filler(e) || valid(e) && e.Position < cut
}

// walk is search from the first entry on, one by one, which also stops at entries out of order.
func (q *Queue) walk(lo, hi message.Offset, cut message.Position) (message.Offset, error) {
	var before message.Position = -1
	for at := lo; at < hi; at++ {
		e, ok, err := q.raw(at)
		if err != nil {
			return at, err
		}
		if !ok || !below(e, cut) || !filler(e) && e.Position <= before {
			return at, nil
		}
		if !filler(e) {
			before = e.Position
		}
	}
	return hi, nil
}

// adopt puts the end at n if the entry before it is right.
func (q *Queue) adopt(lo, n message.Offset, probe Probe) (bool, error) {
	if n == lo {
		return true, nil
	}
	last, ok, err := q.raw(n - 1)
	if err != nil || !ok {
		return false, err
	}
	if filler(last) { // and nothing behind it: empty, but not at 0
		q.setEmpty(n)
		return true, nil
	}
	if probe != nil && !probe(n-1, last) {
		return false, nil
	}
	q.next = n
	q.end.Store(int64(n))
	q.flushed.Store(int64(n))
	q.logEnd.Store(int64(last.Position) + int64(last.Size))
	return true, nil
}

// Empty says whether the queue has no entry, not even a pending one.
func (q *Queue) Empty() bool { return q.logEnd.Load() == 0 && len(q.pending) == 0 }

// CorrectMin sets the minimum to the first entry whose record is at or behind the beginning of the log; the end, if
// there is none.
func (q *Queue) CorrectMin(logMin message.Position) error {
	lo, _ := q.fileBounds()
	end := message.Offset(q.end.Load())
	var failed error
	n := sort.Search(int(max(0, end-lo)), func(i int) bool {
		e, ok, err := q.raw(lo + message.Offset(i))
		if err != nil && failed == nil {
			failed = err
		}
		return ok && !filler(e) && e.Position >= logMin
	})
	if failed != nil {
		return fmt.Errorf("find the first entry of queue %s: %w", q.key, failed)
	}
	q.min.Store(int64(lo + message.Offset(n)))
	return nil
}

// Expire removes the files whose entries are all below the minimum, and returns how many. The last file stays.
func (q *Queue) Expire() (int, error) {
	n, err := q.files.RemoveBefore(q.min.Load() * message.EntrySize)
	return n, errors.Join(err, q.expireExt())
}

// zeroRun is how many bytes of zeros behind the end convince Finish that nothing follows.
const zeroRun = 64 << 10

// Finish ends recovery: files behind the end are removed and stale entries behind it in the last file are zeroed, so
// that neither we nor RocketMQ take them for entries at the next recovery. Pending entries must have been committed. With
// resync all entries that Add has taken since Recover are made durable, also those that were there already: who wrote
// them may have died before its flush.
func (q *Queue) Finish(resync bool) error {
	q.checks = false
	end := int64(q.next) * message.EntrySize
	drop := q.files.DropFrom
	if q.Empty() {
		drop = q.files.TruncateTo // an empty file that stands alone keeps the queue's place
	}
	if err := drop(end); err != nil {
		return fmt.Errorf("cut queue %s: %w", q.key, err)
	}
	if err := zeroFrom(q.files, end); err != nil {
		return fmt.Errorf("cut queue %s: %w", q.key, err)
	}
	q.flushMu.Lock()
	defer q.flushMu.Unlock()
	if q.ext != nil {
		if err := q.ext.finish(resync); err != nil {
			return fmt.Errorf("cut the extension of queue %s: %w", q.key, err)
		}
	}
	trusted := q.flushed.Swap(q.end.Load())
	if !resync || trusted >= q.end.Load() {
		return nil
	}
	if err := q.files.Resync(trusted*message.EntrySize, end); err != nil {
		return fmt.Errorf("flush queue %s: %w", q.key, err)
	}
	return nil
}

var zeros [4096]byte

// zeroFrom zeroes what is behind pos, until zeros follow.
func zeroFrom(files *segment.Files, pos int64) error {
	var b [4096]byte
	for clean := 0; clean < zeroRun && pos < files.End(); {
		n := min(int64(len(b)), files.End()-pos)
		if seg := files.Find(pos); seg != nil {
			n = min(n, seg.End()-pos)
		}
		if err := files.ReadAt(pos, b[:n]); err != nil {
			return err
		}
		if bytes.Equal(b[:n], zeros[:n]) {
			clean += int(n)
		} else {
			clean = 0
			if err := files.WriteAt(pos, zeros[:n]); err != nil {
				return err
			}
		}
		pos += n
	}
	return nil
}

// Reset removes all entries, for a queue that is made again from the log.
func (q *Queue) Reset() error {
	q.flushMu.Lock()
	defer q.flushMu.Unlock()
	q.pending = q.pending[:0]
	q.setEmpty(0)
	if err := q.files.DropFrom(0); err != nil {
		return fmt.Errorf("remove queue %s: %w", q.key, err)
	}
	if q.ext != nil { // last: no entry names a unit any more
		if err := q.ext.reset(); err != nil {
			return fmt.Errorf("remove the extension of queue %s: %w", q.key, err)
		}
	}
	return nil
}

// same says whether the files have exactly b at pos already.
func (q *Queue) same(pos int64, b []byte) bool {
	v, err := q.files.View(pos, len(b))
	if err != nil {
		return false
	}
	defer v.Release()
	return bytes.Equal(v.Bytes(), b)
}

// Remove unlinks all files and makes the queue empty. Lent entries stay readable until they are given back.
func (q *Queue) Remove() error { return errors.Join(q.Reset(), q.Close()) }
