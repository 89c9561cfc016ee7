package consumequeue

import (
	"fmt"

	"github.com/weirmq/weir/core/message"
)

// Outcome says what became of an entry that was to be added.
type Outcome int

const (
	// Added: it is pending until Commit.
	Added Outcome = iota
	// Known: it, or a later one, is there already. Nothing was changed.
	Known
	// Gap: entries in front of it are missing. Nothing was changed; the log has to be read again from LogEnd on, or Fill.
	Gap
	// Again: the queue was removed and begins anew at this record, which is number 0. Nothing was changed; see Reset.
	Again
)

// Add adds entry e as number at, of a message stored at a time in ms. A queue without entries begins at any number. The
// rules are RocketMQ's (ConsumeQueue.putMessagePositionInfo), but for Gap and Again: there it writes the entry at a wrong
// place. The entry gets a unit in the extension file by Extend; during recovery it keeps the one it has, or gets one
// without a bitmap.
func (q *Queue) Add(e message.Entry, at message.Offset, stored int64) Outcome {
	if q.logEnd.Load() > 0 && int64(e.Position)+int64(e.Size) <= q.logEnd.Load() {
		return Known
	}
	if at != q.next && q.checks && q.stands(e) {
		at = q.next // its number has no checksum, and was another one when the entry was made
	}
	switch {
	case at == q.next:
	case q.logEnd.Load() == 0 && len(q.pending) == 0:
		q.next = at
	case at == 0:
		return Again
	case at < q.next:
		return Known
	default:
		return Gap
	}
	q.pending = message.AppendEntry(q.pending, e)
	q.next++
	q.logEnd.Store(int64(e.Position) + int64(e.Size))
	if q.checks {
		q.recall(e, stored)
	}
	return Added
}

// stands says whether the files hold e as the next entry. Fillers' place is never e's.
func (q *Queue) stands(e message.Entry) bool {
	is, ok, err := q.raw(q.next)
	return err == nil && ok && is.Position == e.Position && is.Size == e.Size
}

// Fill adds entries up to number at, whose records can't be found in the log by walking it: those that the files hold if
// their records would be in front of position before, else filler, which readers skip.
func (q *Queue) Fill(at message.Offset, before message.Position) {
	for ; q.next < at; q.next++ {
		e, ok, err := q.raw(q.next)
		behind := e.Position + message.Position(e.Size)
		if err != nil || !ok || !valid(e) || int64(e.Position) < q.logEnd.Load() || behind > before {
			q.pending = message.AppendEntry(q.pending, message.Entry{Size: fillerSize})
			continue
		}
		if e.TagsCode <= message.MaxExtAddress { // whose unit it is can't be told: it has none any more
			e.TagsCode = message.MaxExtAddress
		}
		q.pending = message.AppendEntry(q.pending, e)
		q.logEnd.Store(int64(behind))
	}
}

// Commit writes what is pending, with one pwrite for each file it touches, and lets readers see it. After an error
// everything is still pending and Commit may be called again.
func (q *Queue) Commit() error {
	if len(q.pending) == 0 {
		return nil
	}
	from := q.next - message.Offset(len(q.pending)/message.EntrySize)
	if q.ext != nil { // first: an entry that can be read has its unit
		if err := q.ext.commit(q.checks); err != nil {
			return fmt.Errorf("write the extension of queue %s from offset %d: %w", q.key, from, err)
		}
	}
	if err := q.begin(from); err != nil {
		return fmt.Errorf("write queue %s from offset %d: %w", q.key, from, err)
	}
	rest := q.pending
	for at := from; len(rest) > 0; {
		n := min(len(rest), int(q.per-at%q.per)*message.EntrySize)
		if err := q.write(at, rest[:n]); err != nil {
			return fmt.Errorf("write queue %s from offset %d: %w", q.key, at, err)
		}
		at, rest = at+message.Offset(n/message.EntrySize), rest[n:]
	}
	if cap(q.pending) > pendingKeep {
		q.pending = nil
	}
	q.pending = q.pending[:0]
	q.end.Store(int64(q.next))
	return nil
}

// pendingKeep is how many bytes of room a queue keeps for its next entries; most queues get few at a time.
const pendingKeep = 4096

// begin prepares the first file of an empty queue that doesn't begin at a file's first entry: with fillers in front.
func (q *Queue) begin(from message.Offset) error {
	if q.end.Load() != q.min.Load() || from == message.Offset(q.end.Load()) && q.files.Last() != nil {
		return nil
	}
	if last := q.files.Last(); last != nil && int64(from)*message.EntrySize != q.end.Load()*message.EntrySize {
		if err := q.files.DropFrom(0); err != nil {
			return err
		}
	}
	first := from - from%q.per
	var b []byte
	for range from - first {
		b = message.AppendEntry(b, message.Entry{Size: fillerSize})
	}
	if len(b) > 0 {
		if err := q.write(first, b); err != nil {
			return err
		}
	}
	q.flushMu.Lock()
	defer q.flushMu.Unlock()
	q.flushed.Store(int64(first))
	q.min.Store(int64(from))
	q.end.Store(int64(from))
	return nil
}

func (q *Queue) write(at message.Offset, b []byte) error {
	pos := int64(at) * message.EntrySize
	if _, err := q.files.Ensure(pos); err != nil {
		return err
	}
	if q.checks && q.same(pos, b) {
		return nil
	}
	return q.files.WriteAt(pos, b)
}
