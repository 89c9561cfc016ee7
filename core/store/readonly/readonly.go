// Package readonly reads a store's directory as it lies there, without opening the store: no lock, no recovery, nothing written. It is for tools. Behind a
// broker that runs, or that was killed, the newest messages may be missing.
package readonly

import (
	"fmt"
	"path/filepath"

	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/store/consumequeue"
	"github.com/weirmq/weir/core/transport"
)

// Dir is a store's directory. It has the reading methods of core/store. One goroutine uses it.
type Dir struct {
	fs   vfs.FS
	path string

	// SegmentSize and QueueFileSize are the sizes of the files in bytes; 0 where there are none.
	SegmentSize, QueueFileSize int64
	// Abort says that the file abort is there: a broker runs, or ended without closing the store.
	Abort bool
	// Strange are files that RocketMQ doesn't expect where they are. Its broker doesn't start with some of them.
	Strange []string

	begin  int64
	queues map[message.QueueKey]*queue
	files  map[string]vfs.File
}

// queue is the files of a queue.
type queue struct {
	dir       string
	low, high message.Offset
}

// Open looks at a directory. fs is nil for the real disk.
func Open(fs vfs.FS, path string) (*Dir, error) {
	if fs == nil {
		fs = vfs.OS{}
	}
	d := &Dir{fs: fs, path: path, queues: map[message.QueueKey]*queue{}, files: map[string]vfs.File{}}
	starts, size, err := d.list(filepath.Join(path, "commitlog"))
	if err != nil {
		return nil, fmt.Errorf("look at the store in %s: %w", path, err)
	}
	if d.SegmentSize = size; len(starts) > 0 {
		d.begin = starts[0]
	}
	if d.Abort, err = vfs.Exists(fs, filepath.Join(path, "abort")); err != nil {
		return nil, err
	}
	return d, nil
}

// Close closes the files.
func (d *Dir) Close() {
	for _, f := range d.files {
		_ = f.Close() // read only
	}
}

// list returns the starts of the files in a directory, and their size. A directory that isn't there has none.
func (d *Dir) list(dir string) (starts []int64, size int64, err error) {
	there, err := vfs.Exists(d.fs, dir)
	if err != nil || !there {
		return nil, 0, err
	}
	files, err := d.fs.ReadDir(dir)
	if err != nil {
		return nil, 0, err
	}
	for _, f := range files {
		var start int64
		if n, err := fmt.Sscanf(f.Name, "%d", &start); n != 1 || err != nil || len(f.Name) != 20 || f.IsDir {
			d.Strange = append(d.Strange, filepath.Join(dir, f.Name))
			continue
		}
		starts, size = append(starts, start), max(size, f.Size)
	}
	return starts, size, nil
}

// queue finds a queue's files.
func (d *Dir) queue(key message.QueueKey) (*queue, error) {
	if q, ok := d.queues[key]; ok {
		return q, nil
	}
	q := &queue{dir: consumequeue.Dir(d.path, key)}
	starts, size, err := d.list(q.dir)
	if err != nil {
		return nil, err
	}
	d.QueueFileSize = max(d.QueueFileSize, size)
	if len(starts) > 0 && size > 0 {
		if err := d.bounds(q, starts, size); err != nil {
			return nil, err
		}
	}
	d.queues[key] = q
	return q, nil
}

// bounds finds the first entry whose record is in the log, and the one behind the last.
func (d *Dir) bounds(q *queue, starts []int64, size int64) error {
	first := message.Offset(starts[0] / message.EntrySize)
	end := message.Offset((starts[len(starts)-1] + size) / message.EntrySize)
	high, err := d.search(q, size, first, end, func(e message.Entry) bool { return e.Size <= 0 })
	if err != nil {
		return err
	}
	low, err := d.search(q, size, first, high, func(e message.Entry) bool { return int64(e.Position) >= d.begin })
	q.low, q.high = low, high
	return err
}

// search returns the first entry of [from, to) of which is is true; it is true of all behind it.
func (d *Dir) search(q *queue, size int64, from, to message.Offset, is func(message.Entry) bool) (message.Offset, error) {
	for from < to {
		mid := from + (to-from)/2
		raw, err := d.read(q.dir, size, int64(mid)*message.EntrySize, message.EntrySize)
		if err != nil {
			return 0, err
		}
		if is(message.DecodeEntry(raw)) {
			to = mid
		} else {
			from = mid + 1
		}
	}
	return from, nil
}

// read reads n bytes at a place of the files in dir, at most up to the end of its file.
func (d *Dir) read(dir string, size, at int64, n int) ([]byte, error) {
	start := at - at%size
	path := filepath.Join(dir, fmt.Sprintf("%020d", start))
	f, ok := d.files[path]
	if !ok {
		var err error
		if f, err = d.fs.Open(path, vfs.ReadOnly); err != nil {
			return nil, err
		}
		d.files[path] = f
	}
	b := make([]byte, min(int64(n), start+size-at))
	_, err := f.ReadAt(b, at-start)
	return b, err
}

// Bounds returns the first offset of a queue that can be read and the one behind the last. ok is false for a queue that can't be read or isn't there.
func (d *Dir) Bounds(key message.QueueKey) (low, high message.Offset, ok bool) {
	q, err := d.queue(key)
	if err != nil {
		return 0, 0, false
	}
	return q.low, q.high, q.high > 0
}

// Entries returns up to n raw entries of a queue that lie in one file.
func (d *Dir) Entries(key message.QueueKey, from message.Offset, n int) ([]byte, transport.Ref, error) {
	q, err := d.queue(key)
	if err != nil {
		return nil, nil, err
	}
	n = min(n, int(q.high-from))
	raw, err := d.read(q.dir, d.QueueFileSize, int64(from)*message.EntrySize, n*message.EntrySize)
	return raw, nil, err
}

// Lend adds the records of entries to r, and says how many it added before the first that can't be read.
func (d *Dir) Lend(entries []message.Entry, r *transport.Records) (n int, err error) {
	dir := filepath.Join(d.path, "commitlog")
	for _, e := range entries {
		raw, err := d.read(dir, d.SegmentSize, int64(e.Position), int(e.Size))
		if err == nil {
			_, _, err = message.ViewRecord(raw)
		}
		if err != nil {
			return n, err
		}
		r.Add(raw, 1, nil)
		n++
	}
	return n, nil
}

// Begin returns the position of the oldest byte of the log.
func (d *Dir) Begin() message.Position { return message.Position(d.begin) }
