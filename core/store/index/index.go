package index

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
)

// DirName is the directory below the store's root.
const DirName = "index"

// QueryMax is the most messages that a query finds, RocketMQ's maxMsgsNumBatch.
const QueryMax = 64

// Index is the row of files. It is safe for concurrent use.
type Index struct {
	fs     vfs.FS
	dir    string
	layout Layout
	clock  clock.Clock
	log    *slog.Logger

	mu    sync.RWMutex // guards all below; written to once for a batch of messages
	files []*file      // in the order of their names; the last one may be written to
	// Of the files that are full: why one couldn't be finished, and the time of the last message of the last that was.
	retireErr error
	finished  int64

	retiring sync.WaitGroup // Add happens in a put

	// Puts counts entries since the start.
	Puts atomic.Int64
}

// Settings is what an Index needs. All fields are set.
type Settings struct {
	FS     vfs.FS
	Dir    string // the store's root
	Layout Layout
	Clock  clock.Clock
	Logger *slog.Logger
}

// Open opens the files. Files whose names aren't those of index files are passed over. It changes nothing. The error is a *SizeError when a file has another size than
// the layout.
func Open(set Settings) (*Index, error) {
	x := &Index{fs: set.FS, dir: filepath.Join(set.Dir, DirName), layout: set.Layout, clock: set.Clock, log: set.Logger}
	list, err := x.fs.ReadDir(x.dir)
	if err != nil && !errors.Is(err, vfs.ErrNotExist) {
		return nil, fmt.Errorf("list key index: %w", err)
	}
	for _, info := range list {
		if info.IsDir || !validName(info.Name) {
			continue
		}
		f, err := openFile(x.fs, x.dir, info.Name, x.layout)
		if err != nil {
			return nil, errors.Join(err, x.Close())
		}
		x.files = append(x.files, f)
	}
	return x, nil
}

// End returns the position of the newest message in the index; ok is false when there is none.
func (x *Index) End() (at message.Position, ok bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for i := len(x.files) - 1; i >= 0; i-- {
		if h := &x.files[i].header; h.count > 1 {
			return message.Position(h.endPos), true
		}
	}
	return 0, false
}

// NewestBegin returns the position of the first message in the newest file; ok is false when there is none.
func (x *Index) NewestBegin() (at message.Position, ok bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if len(x.files) == 0 {
		return 0, false
	}
	return message.Position(x.files[len(x.files)-1].header.beginPos), true
}

// Updated returns store time in ms and position of the newest message in the index.
func (x *Index) Updated() (stored int64, at message.Position) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if len(x.files) == 0 {
		return 0, 0
	}
	h := &x.files[len(x.files)-1].header
	return h.endTime, message.Position(h.endPos)
}

// Recover cuts the index to the messages before a position of the log, whose entries are on the disk, and makes it ready for puts. storedAt returns the store time in ms of the
// message at a position.
//
// After a clean stop, in which the index was finished, nothing has to be read if all its messages are before.
func (x *Index) Recover(before message.Position, clean bool, storedAt func(message.Position) (int64, bool)) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if n := len(x.files); clean && n > 0 && x.files[n-1].header.endPos < int64(before) {
		x.files[n-1].reopen()
		return nil
	}
	for n := len(x.files); n > 0; n = len(x.files) {
		f := x.files[n-1]
		var last header
		if n > 1 {
			last = x.files[n-2].header
		}
		err := f.cut(int64(before), last, func(p int64) (int64, bool) { return storedAt(message.Position(p)) })
		if err != nil {
			return fmt.Errorf("recover key index %s: %w", f.path, err)
		}
		if f.header.count > 1 || n == 1 {
			return nil // the slots of one that is full are written when the next is made
		}
		if err := errors.Join(f.f.Close(), x.fs.Remove(f.path)); err != nil { // all of it is put again
			return fmt.Errorf("recover key index: %w", err)
		}
		x.files = x.files[:n-1]
	}
	return nil
}

// Begin locks the index for the puts of a batch. End must follow.
func (x *Index) Begin() { x.mu.Lock() }

// Done unlocks the index after the puts of a batch.
func (x *Index) Done() { x.mu.Unlock() }

// Put adds the keys of a record between Begin and Done: the unique key, and each word of KEYS. A rolled back transaction has none. The records come in the order of the log.
func (x *Index) Put(rec message.Record) error {
	unique, keys := keysOf(rec.Properties())
	if unique == nil && keys == nil || message.TransactionType(rec.SysFlag()) == message.FlagRollback {
		return nil
	}
	topic, at, stored := topicSum(rec.Topic()), int64(rec.Position()), rec.StoreTimestamp()
	if len(unique) > 0 {
		if err := x.put(hashKey(topic, unique), at, stored); err != nil {
			return err
		}
	}
	for len(keys) > 0 {
		word := keys
		if i := bytes.IndexByte(keys, ' '); i >= 0 {
			word, keys = keys[:i], keys[i+1:]
		} else {
			keys = nil
		}
		if len(word) == 0 {
			continue
		}
		if err := x.put(hashKey(topic, word), at, stored); err != nil {
			return err
		}
	}
	return nil
}

// keysOf finds both properties in one pass.
func keysOf(p message.Properties) (unique, keys []byte) {
	for len(p) > 0 {
		item := []byte(p)
		if i := bytes.IndexByte(p, message.PropertyItemEnd); i >= 0 {
			item, p = p[:i], p[i+1:]
		} else {
			p = nil
		}
		switch {
		case len(item) > len(message.PropUniqKey)+1 && item[0] == 'U' && item[len(message.PropUniqKey)] == message.PropertyNameEnd && string(item[:len(message.PropUniqKey)]) == message.PropUniqKey:
			unique = item[len(message.PropUniqKey)+1:]
		case len(item) > len(message.PropKeys)+1 && item[0] == 'K' && item[len(message.PropKeys)] == message.PropertyNameEnd && string(item[:len(message.PropKeys)]) == message.PropKeys:
			keys = item[len(message.PropKeys)+1:]
		}
	}
	return unique, keys
}

func (x *Index) put(hash int32, at, stored int64) error {
	f, err := x.writable()
	if err != nil {
		return err
	}
	if err := f.put(hash, at, stored); err != nil {
		return err
	}
	x.Puts.Add(1)
	if len(f.tail) >= tailMax {
		return f.write()
	}
	return nil
}

// tailMax is how many bytes of entries wait in memory for the next flush.
const tailMax = 1 << 20

// writable returns the newest file, or a new one.
func (x *Index) writable() (*file, error) {
	n := len(x.files)
	if n > 0 && x.files[n-1].slots != nil && !x.files[n-1].full() {
		return x.files[n-1], nil
	}
	var last header
	name := fileName(x.clock.Now().Local())
	if n > 0 {
		f := x.files[n-1]
		if f.slots != nil {
			if err := f.write(); err != nil {
				return nil, fmt.Errorf("write key index file %s: %w", f.path, err)
			}
			x.retire(f)
		}
		last, name = f.header, after(x.clock.Now().Local(), f.name)
	}
	if err := vfs.MkdirAllSync(x.fs, x.dir); err != nil {
		return nil, fmt.Errorf("make key index: %w", err)
	}
	f, err := createFile(x.fs, x.dir, name, x.layout, last)
	if err != nil {
		return nil, err
	}
	if err := x.fs.SyncDir(x.dir); err != nil {
		return nil, errors.Join(fmt.Errorf("make key index file: %w", err), f.f.Close())
	}
	x.files = append(x.files, f)
	return f, nil
}

// retire has the slots of a full file written, beside the puts into the next: they are 20 MB.
func (x *Index) retire(f *file) {
	x.retiring.Go(func() {
		err := f.slots.write(f)
		if err == nil {
			err = f.store(f.header)
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		if err != nil {
			x.retireErr = fmt.Errorf("finish key index file %s: %w", f.path, err)
			return
		}
		f.slots, f.synced = nil, true
		x.finished = f.header.endTime
	})
}

// Finished returns the store time in ms of the last message in a file that is full and on the disk as RocketMQ reads it; 0 when there is none since the start.
func (x *Index) Finished() int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.finished
}

// Flush makes durable what was put. The newest file isn't one that RocketMQ reads before Finish.
func (x *Index) Flush() error {
	x.retiring.Wait()
	x.mu.Lock()
	if len(x.files) == 0 || x.retireErr != nil {
		defer x.mu.Unlock()
		return x.retireErr
	}
	f := x.files[len(x.files)-1]
	err := f.write()
	h, done := f.header, f.synced
	x.mu.Unlock()
	if err == nil && !done { // not under the lock, for which dispatching waits
		err = f.store(h)
	}
	if err != nil {
		return fmt.Errorf("flush key index %s: %w", f.path, err)
	}
	x.mu.Lock()
	f.synced = f.header == h
	x.mu.Unlock()
	return nil
}

// Finish flushes everything as RocketMQ reads it.
func (x *Index) Finish() error {
	x.retiring.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.retireErr != nil {
		return x.retireErr
	}
	if len(x.files) == 0 {
		return nil
	}
	f := x.files[len(x.files)-1]
	if err := errors.Join(f.finish(), f.sync()); err != nil {
		return fmt.Errorf("flush key index %s: %w", f.path, err)
	}
	return nil
}

// Close closes the files. It doesn't flush.
func (x *Index) Close() error {
	x.retiring.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	var errs []error
	for _, f := range x.files {
		errs = append(errs, f.f.Close())
	}
	x.files = nil
	return errors.Join(errs...)
}

// DeleteBefore removes the files all of whose messages are before a position of the log, but never the newest.
func (x *Index) DeleteBefore(p message.Position) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	for len(x.files) > 1 && x.files[0].header.endPos < int64(p) {
		f := x.files[0]
		if err := errors.Join(f.f.Close(), x.fs.Remove(f.path)); err != nil {
			return fmt.Errorf("delete key index file: %w", err)
		}
		x.files = x.files[1:]
	}
	return nil
}

// Query returns the positions of up to most messages, at most QueryMax, that have a key, or one with the same hash, and were stored between two times in ms; those of the latest, in the order in
// which they were found: from the newest on. A time counts in whole seconds since the beginning of its file, rounded down, as in RocketMQ.
func (x *Index) Query(topic, key string, most int, begin, end int64) ([]int64, error) {
	hash := hashKey(topicSum([]byte(topic)), []byte(key))
	most = min(most, QueryMax)
	var found []int64
	for _, r := range x.readers() {
		if len(found) >= most {
			break
		}
		if r.h.overlaps(begin, end) {
			var err error
			found, err = r.find(found, hash, most, begin, end)
			if errors.Is(err, vfs.ErrClosed) { // it was deleted meanwhile, with its messages
				continue
			}
			if err != nil {
				return found, fmt.Errorf("read key index %s: %w", r.f.path, err)
			}
		}
		if r.h.beginTime < begin {
			break
		}
	}
	return found, nil
}

// readers returns a reader for each file, the newest first.
func (x *Index) readers() (list []reader) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for i := len(x.files) - 1; i >= 0; i-- {
		list = append(list, reader{&x.mu, x.files[i], x.files[i].header})
	}
	return list
}
