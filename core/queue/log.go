package queue

import (
	"errors"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// Log is the part of the store that this package reads. core/store has it.
type Log interface {
	Index
	Reader
	Clocked
}

// Index reads the queues' index entries.
type Index interface {
	// Bounds returns the first available offset of a queue and the one that its next message gets; ok is false when the
	// queue has never existed.
	Bounds(q message.QueueKey) (low, high message.Offset, ok bool)
	// Entries lends up to n raw entries (message.EntrySize bytes each) that lie together, starting with that of offset
	// from. The run ends where an index file ends. The caller releases ref. Where the queue has no entry, or lost the
	// file, the error is a NoEntries.
	Entries(q message.QueueKey, from message.Offset, n int) (raw []byte, ref transport.Ref, err error)
	// Units shows v what the queue's extension file holds of the entries whose tags codes are addresses in it, as long as
	// the entries are lent. It passes over other codes, and over units that are lost.
	Units(q message.QueueKey, codes []int64, v message.ExtVisitor)
}

// NoEntries is the error of an Index that has no entry at an offset.
type NoEntries interface {
	error
	// Next returns the first offset in the next index file.
	Next() message.Offset
}

// Reader reads records.
type Reader interface {
	// Lend adds the records of entries to r, neighbours in the log as one chunk, and says how many it added. It stops with
	// an error at the first that can't be had: one that isn't in the log any more, or isn't readable yet, or can't be read.
	// What it has added stays.
	Lend(entries []message.Entry, r *transport.Records) (n int, err error)
	// Record adds the record at p to r.
	Record(p message.Position, r *transport.Records) error
	// InMemory says whether the record at p is so young that reading it won't wait for the disk.
	InMemory(p message.Position) bool
	// Begin returns the position of the oldest record.
	Begin() message.Position
	// End returns the position that the next record gets.
	End() message.Position
}

// Clocked finds messages by the time at which they were stored. All times are in ms.
type Clocked interface {
	// StoreTime returns when the record of e was stored.
	StoreTime(e message.Entry) (int64, error)
	// OffsetByTime returns the offset that belongs to a time.
	OffsetByTime(q message.QueueKey, ts int64, b transport.Boundary) (message.Offset, error)
	// EarliestStoreTime returns when the queue's first available message was stored, -1 when there is none.
	EarliestStoreTime(q message.QueueKey) int64
}

// entryAt reads one index entry; ok is false when there is none or it is filler.
func entryAt(x Index, q message.QueueKey, o message.Offset) (e message.Entry, ok bool, err error) {
	raw, ref, err := x.Entries(q, o, 1)
	if ref != nil {
		defer ref.Release()
	}
	if _, missing := errors.AsType[NoEntries](err); missing {
		return message.Entry{}, false, nil
	}
	if err != nil || len(raw) < message.EntrySize {
		return message.Entry{}, false, err
	}
	e = message.DecodeEntry(raw)
	return e, !isFiller(e), nil
}

// Filler entries stand before the first message of a queue whose first index file doesn't begin with it.
const fillerSize = 0x7FFFFFFF

func isFiller(e message.Entry) bool { return e.Position == 0 && e.Size == fillerSize }
