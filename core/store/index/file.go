package index

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/weirmq/weir/core/internal/vfs"
)

// Layout is how large files are. An existing store keeps the sizes that it was made with.
type Layout struct {
	Slots   int // RocketMQ's maxHashSlotNum, 5000000
	Entries int // RocketMQ's maxIndexNum, 20000000; one less is used
}

func (l Layout) size() int64 {
	return headerSize + slotSize*int64(l.Slots) + entrySize*int64(l.Entries)
}

func (l Layout) slotAt(n int32) int64 { return headerSize + slotSize*int64(n) }

func (l Layout) entryAt(n int32) int64 {
	return headerSize + slotSize*int64(l.Slots) + entrySize*int64(n)
}

// file is one file of the index. The newest one is written to: its slots and the entries that aren't on the disk yet are in memory.
type file struct {
	layout Layout
	path   string
	name   string
	f      vfs.File
	header header

	// Of the newest file:
	slots   *slotTable // nil in older ones
	tail    []byte     // entries from number written on
	written int32      // entries below are in the file
	synced  bool       // nothing was written since the last flush
}

func (f *file) full() bool { return f.header.count >= int32(f.layout.Entries) }

// openFile opens an existing file.
func openFile(fsys vfs.FS, dir, name string, l Layout) (*file, error) {
	f := &file{layout: l, path: filepath.Join(dir, name), name: name, synced: true}
	var err error
	if f.f, err = fsys.Open(f.path, vfs.ReadWrite); err != nil {
		return nil, fmt.Errorf("open key index: %w", err)
	}
	info, err := f.f.Stat()
	if err == nil && info.Size != l.size() {
		err = &SizeError{Path: f.path, Size: info.Size, Want: l.size()}
	}
	var b [headerSize]byte
	if err == nil {
		_, err = f.f.ReadAt(b[:], 0)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open key index: %w", err), f.f.Close())
	}
	f.header = parseHeader(b[:])
	f.header.count = min(max(f.header.count, 1), int32(l.Entries))
	f.written = f.header.count
	return f, nil
}

// SizeError says that a file has another size than the configuration makes of it.
type SizeError struct {
	Path       string
	Size, Want int64 // bytes
}

// Error says which settings have to be changed.
func (e *SizeError) Error() string {
	return fmt.Sprintf("%s has %d bytes, and store.index.slots and store.index.entries make %d: set them to what the store was made with (RocketMQ's maxHashSlotNum "+
		"and maxIndexNum), or remove the files of the directory to do without the keys in them", e.Path, e.Size, e.Want)
}

// createFile makes a file that goes on behind one with the header last.
func createFile(fsys vfs.FS, dir, name string, l Layout, last header) (*file, error) {
	f := &file{layout: l, path: filepath.Join(dir, name), name: name, slots: newSlotTable(l, true), written: 1}
	f.header = header{beginTime: last.endTime, endTime: last.endTime, beginPos: last.endPos, endPos: last.endPos, count: 1}
	var err error
	if f.f, err = vfs.CreateSized(fsys, f.path, l.size()); err != nil {
		return nil, fmt.Errorf("make key index file: %w", err)
	}
	return f, nil
}

// put adds an entry. The file isn't full.
func (f *file) put(hash int32, position, stored int64) error {
	h := &f.header
	slot, err := f.slots.at(f, hash)
	if err != nil {
		return err
	}
	e := entry{hash: hash, position: position, seconds: h.since(stored), previous: *slot}
	if h.count <= 1 {
		h.beginPos, h.beginTime = position, stored
	}
	if e.previous == 0 {
		h.used++
	}
	f.tail = e.append(f.tail)
	*slot = h.count
	h.count++
	h.endPos, h.endTime = position, stored
	return nil
}

// reader reads a file while it is written to. It holds the index's lock only for what is in memory: puts don't wait for a disk.
type reader struct {
	mu *sync.RWMutex
	f  *file
	h  header // as it was when the reader began
}

// entry reads an entry.
func (r reader) entry(n int32) (entry, error) {
	r.mu.RLock()
	if r.f.slots != nil && n >= r.f.written {
		defer r.mu.RUnlock()
		return parseEntry(r.f.tail[entrySize*(n-r.f.written):]), nil
	}
	r.mu.RUnlock()
	var b [entrySize]byte
	_, err := r.f.f.ReadAt(b[:], r.f.layout.entryAt(n))
	return parseEntry(b[:]), err
}

// slot returns the newest entry of a hash, 0 for none.
func (r reader) slot(hash int32) (int32, error) {
	n := hash % int32(r.f.layout.Slots)
	if v, ok := r.inMemory(n); ok {
		return v, nil
	}
	var b [slotSize]byte
	_, err := r.f.f.ReadAt(b[:], r.f.layout.slotAt(n))
	return int32(be.Uint32(b[:])), err
}

func (r reader) inMemory(n int32) (v int32, ok bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	t := r.f.slots
	if t == nil {
		return 0, false
	}
	if page := t.pages[n/slotPage]; page != nil {
		return page[n%slotPage], true
	}
	return 0, t.blank
}

// overlaps says whether the file may have messages that were stored between two times.
func (h *header) overlaps(begin, end int64) bool {
	return begin < h.beginTime && end > h.endTime || begin >= h.beginTime && begin <= h.endTime || end >= h.beginTime && end <= h.endTime
}

// find appends to found the positions of messages with a hash that were stored between two times, the newest first, until there are most.
func (r reader) find(found []int64, hash int32, most int, begin, end int64) ([]int64, error) {
	n, err := r.slot(hash)
	for err == nil && n > 0 && len(found) < most {
		var e entry
		if e, err = r.entry(n); err != nil || e.seconds < 0 {
			break
		}
		stored := r.h.beginTime + 1000*int64(e.seconds)
		if e.hash == hash && stored >= begin && stored <= end {
			found = append(found, e.position)
		}
		if e.previous >= n || stored < begin {
			break
		}
		n = e.previous
	}
	return found, err
}

// write brings the entries in memory into the file.
func (f *file) write() error {
	if len(f.tail) == 0 {
		return nil
	}
	if _, err := f.f.WriteAt(f.tail, f.layout.entryAt(f.written)); err != nil {
		return err
	}
	f.written += int32(len(f.tail) / entrySize)
	f.tail, f.synced = f.tail[:0], false
	return nil
}

// finish writes slots and header, too, after which the file is one that RocketMQ reads.
func (f *file) finish() error {
	if f.slots == nil {
		return nil
	}
	if err := f.write(); err != nil {
		return err
	}
	if err := f.slots.write(f); err != nil {
		return err
	}
	f.synced = false
	return nil
}

// sync makes what was written, and the header, durable.
func (f *file) sync() error {
	if f.synced {
		return nil
	}
	if err := f.store(f.header); err != nil {
		return err
	}
	f.synced = true
	return nil
}

// store makes what was written durable, with a header for it.
func (f *file) store(h header) error {
	if _, err := f.f.WriteAt(h.append(nil), 0); err != nil {
		return err
	}
	return f.f.Datasync()
}

// reopen makes the file the newest one as it is.
func (f *file) reopen() { f.slots, f.synced = newSlotTable(f.layout, false), true }

// cut makes the file the newest one, with the entries of messages before a position: chains and slots are made anew from the entries, which were on the disk.
// storedAt returns the store time of the message at a position; last is the header of the file before.
func (f *file) cut(before int64, last header, storedAt func(position int64) (int64, bool)) error {
	count, err := f.countBefore(before)
	if err != nil {
		return err
	}
	f.slots, f.tail, f.written, f.synced = newSlotTable(f.layout, true), nil, count, false
	f.slots.stale = true
	h := &f.header
	h.count, h.used = count, 0
	const chunk = 4096
	b := make([]byte, chunk*entrySize)
	for first := int32(1); first < count; first += chunk {
		n := min(chunk, count-first)
		part := b[:n*entrySize]
		if _, err := f.f.ReadAt(part, f.layout.entryAt(first)); err != nil {
			return err
		}
		dirty := false
		for i := range n {
			at := part[i*entrySize : (i+1)*entrySize]
			e := parseEntry(at)
			slot, err := f.slots.at(f, e.hash)
			if err != nil {
				return err
			}
			if *slot == 0 {
				h.used++
			}
			if e.previous != *slot {
				e.previous, dirty = *slot, true
				e.append(at[:0])
			}
			*slot = first + i
			h.endPos = e.position
			h.endTime = h.beginTime + 1000*int64(e.seconds)
		}
		if dirty {
			if _, err := f.f.WriteAt(part, f.layout.entryAt(first)); err != nil {
				return err
			}
		}
	}
	if count <= 1 {
		*h = header{beginTime: last.endTime, endTime: last.endTime, beginPos: last.endPos, endPos: last.endPos, count: 1}
		return nil
	}
	if t, ok := storedAt(h.endPos); ok {
		h.endTime = t
	}
	return nil
}

// countBefore returns the number of the first entry of a message at or behind a position. Entries are in the order of their positions; one that isn't has never
// been on the disk.
func (f *file) countBefore(before int64) (int32, error) {
	last := int64(0)
	const chunk = 4096
	b := make([]byte, chunk*entrySize)
	for first := int32(1); first < f.header.count; first += chunk {
		n := min(chunk, f.header.count-first)
		part := b[:n*entrySize]
		if _, err := f.f.ReadAt(part, f.layout.entryAt(first)); err != nil {
			return 0, err
		}
		for i := range n {
			e := parseEntry(part[i*entrySize:])
			if e.position >= before || e.position < last || e.hash < 0 || e.seconds < 0 {
				return first + i, nil
			}
			last = e.position
		}
	}
	return f.header.count, nil
}
