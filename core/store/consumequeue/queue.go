package consumequeue

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/store/segment"
)

// DirName is the directory below the store's root that holds all queues. It is RocketMQ's and must not change.
const DirName = "consumequeue"

// SizeKey is the configuration key of the number of entries in a file.
const SizeKey = "store.consume_queue_entries"

// fillerSize is the size field of a filler entry. It is RocketMQ's and must not change.
const fillerSize = 0x7fffffff

// ErrNoEntries says that a queue has no entries at an offset, below its end.
var ErrNoEntries = errors.New("no entries at this offset")

// Queue is the entries of one queue.
type Queue struct {
	key      message.QueueKey
	files    *segment.Files
	per      message.Offset // entries in a file
	ext      *ext           // nil when there are no units, and none are written
	extErr   error          // why ext is nil all the same
	writeExt bool

	min     atomic.Int64 // first offset that may be read
	end     atomic.Int64 // behind the last offset that may be read
	flushed atomic.Int64 // all entries below are on the disk
	logEnd  atomic.Int64 // position behind the record of the last added entry, 0 when there is none

	flushMu sync.Mutex // a flush, or a change of the end that isn't an addition

	// Of the goroutine that adds:
	next    message.Offset // end, with what is pending
	pending []byte         // entries [next-len/20, next), not written yet
	checks  bool           // entries at and behind next may be in the files: compare before writing
}

// Dir returns the directory of a queue below the store's root.
func Dir(root string, key message.QueueKey) string {
	return filepath.Join(root, DirName, key.Topic, strconv.Itoa(int(key.ID)))
}

// Layout says how the files of a store's queues are.
type Layout struct {
	PerFile  int   // entries in a file
	ExtSize  int64 // of an extension file, in bytes; see FindExtSize
	WriteExt bool  // new entries get units in the extension file
	Unclean  bool  // what recovery finds behind the trusted entries may be torn, by a power cut
	ReadOnly bool  // nothing can be changed, and the extension file isn't looked at
}

// Open opens the queue's files; a missing directory is an empty queue. The queue has no entries until Recover has found
// them. Extension files that can't be opened are as good as lost, see ExtError.
func Open(fsys vfs.FS, root string, key message.QueueKey, l Layout) (*Queue, error) {
	opts := segment.Options{SizeKey: SizeKey, ReadOnly: l.ReadOnly, DeferNames: true}
	files, err := segment.OpenDir(fsys, Dir(root, key), int64(l.PerFile)*message.EntrySize, opts)
	if err != nil {
		return nil, err
	}
	q := &Queue{key: key, files: files, per: message.Offset(l.PerFile), writeExt: l.WriteExt}
	if l.ReadOnly {
		return q, nil
	}
	q.ext, q.extErr = openExt(fsys, root, key, l)
	if q.ext != nil && files.Last() == nil { // what is left of a queue that is gone
		if err := q.ext.files.DropFrom(0); err != nil {
			return nil, errors.Join(fmt.Errorf("open queue %s: %w", key, err), q.Close())
		}
	}
	return q, nil
}

// ExtError says why the queue's extension files can't be used. Its units count as lost then, and none are written.
func (q *Queue) ExtError() error { return q.extErr }

// Key names the queue.
func (q *Queue) Key() message.QueueKey { return q.key }

// Bounds returns the first offset that may be read and the one behind the last. They are equal in an empty queue.
func (q *Queue) Bounds() (min, end message.Offset) {
	end = message.Offset(q.end.Load())
	min = message.Offset(q.min.Load())
	if min > end {
		min = end
	}
	return min, end
}

// LogEnd returns the position behind the record of the last entry, 0 when there is none.
func (q *Queue) LogEnd() message.Position { return message.Position(q.logEnd.Load()) }

// Next returns the offset of the entry to be added next. It belongs to the goroutine that adds.
func (q *Queue) Next() message.Offset { return q.next }

// View lends up to n entries from offset from on, as raw bytes of one file. The caller releases the segment. It fails
// with ErrNoEntries when there are none in [minimum, end).
func (q *Queue) View(from message.Offset, n int) ([]byte, *segment.Segment, error) {
	min, end := q.Bounds()
	if from < min || from >= end || n <= 0 {
		return nil, nil, ErrNoEntries
	}
	if message.Offset(n) > end-from {
		n = int(end - from)
	}
	if room := q.per - from%q.per; message.Offset(n) > room {
		n = int(room)
	}
	v, err := q.files.View(int64(from)*message.EntrySize, n*message.EntrySize)
	if errors.Is(err, segment.ErrNotFound) {
		return nil, nil, ErrNoEntries
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read entries of queue %s from %d: %w", q.key, from, err)
	}
	return v.Bytes(), v.Segment(), nil
}

// NextFile returns the first offset in the file behind the one that holds from.
func (q *Queue) NextFile(from message.Offset) message.Offset { return from - from%q.per + q.per }

// Entry returns one entry in [minimum, end).
func (q *Queue) Entry(at message.Offset) (message.Entry, error) {
	b, seg, err := q.View(at, 1)
	if err != nil {
		return message.Entry{}, err
	}
	e := message.DecodeEntry(b)
	seg.Release()
	return e, nil
}

// raw returns the entry at an offset whatever it is; ok is false when no file holds it.
func (q *Queue) raw(at message.Offset) (e message.Entry, ok bool, err error) {
	v, err := q.files.View(int64(at)*message.EntrySize, message.EntrySize)
	if errors.Is(err, segment.ErrNotFound) {
		return e, false, nil
	}
	if err != nil {
		return e, false, fmt.Errorf("read entry %d of queue %s: %w", at, q.key, err)
	}
	e = message.DecodeEntry(v.Bytes())
	v.Release()
	return e, true, nil
}

// valid says whether an entry names a record; filler and unwritten space don't.
func valid(e message.Entry) bool { return e.Position >= 0 && e.Size > 0 && !filler(e) }

func filler(e message.Entry) bool { return e.Position == 0 && e.Size == fillerSize }

// Unflushed returns how many published entries are not known to be on the disk.
func (q *Queue) Unflushed() int64 { return q.end.Load() - q.flushed.Load() }

// Flush makes all entries below the end at the time of the call durable.
func (q *Queue) Flush() error {
	q.flushMu.Lock()
	defer q.flushMu.Unlock()
	from, to := q.flushed.Load(), q.end.Load()
	if to <= from {
		return nil
	}
	if q.ext != nil { // first: an entry that is on the disk has its unit there
		if err := q.ext.flush(); err != nil {
			return fmt.Errorf("flush the extension of queue %s: %w", q.key, err)
		}
	}
	if err := q.files.Datasync(from*message.EntrySize, to*message.EntrySize); err != nil {
		return fmt.Errorf("flush queue %s: %w", q.key, err)
	}
	q.flushed.Store(to)
	return nil
}

// Close lets go of the files. It syncs nothing.
func (q *Queue) Close() error {
	if q.ext == nil {
		return q.files.Close()
	}
	return errors.Join(q.ext.files.Close(), q.files.Close())
}

// SyncErr returns the first error of a flush, after which nothing more can be written; nil while there was none.
func (q *Queue) SyncErr() error {
	if q.ext != nil {
		if err := q.ext.files.SyncErr(); err != nil {
			return err
		}
	}
	return q.files.SyncErr()
}
