package vfs

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"sync/atomic"
	"syscall"
)

// memWrite is one change of a file since its last sync: bytes written at off, or a new size. It holds both directions,
// so that a crash can take all changes back and let some of them happen again.
type memWrite struct {
	off      int64
	data     []byte // written at off; nil for a change of size
	old      []byte // what was there before, up to the old size; for a shrinking, the bytes cut off at newSize
	oldSize  int64
	newSize  int64
	truncate bool
}

// memFile is an open file of Mem.
type memFile struct {
	fs       *Mem
	node     *memNode
	path     string
	writable bool
	closed   atomic.Bool
}

func (f *memFile) check(op string, off int64) error {
	switch {
	case f.closed.Load():
		return pathError(op, f.path, ErrClosed)
	case off < 0:
		return pathError(op, f.path, fs.ErrInvalid)
	}
	return nil
}

func (f *memFile) checkWrite(op string, off int64) error {
	if err := f.check(op, off); err != nil {
		return err
	}
	if !f.writable {
		return pathError(op, f.path, syscall.EBADF)
	}
	return nil
}

// ReadAt implements File.
func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.check("read", off); err != nil {
		return 0, err
	}
	f.fs.mu.RLock()
	defer f.fs.mu.RUnlock()
	if off >= int64(len(f.node.data)) {
		if len(p) == 0 {
			return 0, nil
		}
		return 0, io.EOF
	}
	n := copy(p, f.node.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// WriteAt implements File.
func (f *memFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.checkWrite("write", off); err != nil {
		return 0, err
	}
	if len(p) == 0 {
		return 0, nil
	}
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	n := f.node
	w := memWrite{off: off, data: bytes.Clone(p), oldSize: int64(len(n.data))}
	if off < w.oldSize {
		w.old = bytes.Clone(n.data[off:min(off+int64(len(p)), w.oldSize)])
	}
	w.newSize = max(w.oldSize, off+int64(len(p)))
	n.pending = append(n.pending, w)
	n.data = redo(n.data, w)
	n.modTime = f.fs.now()
	return len(p), nil
}

// Truncate implements File.
func (f *memFile) Truncate(size int64) error {
	if err := f.checkWrite("truncate", size); err != nil {
		return err
	}
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	f.truncateLocked(size)
	return nil
}

func (f *memFile) truncateLocked(size int64) {
	n := f.node
	w := memWrite{truncate: true, oldSize: int64(len(n.data)), newSize: size}
	if size < w.oldSize {
		w.old = bytes.Clone(n.data[size:])
	}
	n.pending = append(n.pending, w)
	n.data = redo(n.data, w)
	n.modTime = f.fs.now()
}

// redo applies w to a file's bytes.
func redo(data []byte, w memWrite) []byte {
	if w.truncate {
		return resize(data, w.newSize)
	}
	data = resize(data, max(int64(len(data)), w.off+int64(len(w.data))))
	copy(data[w.off:], w.data)
	return data
}

// undo takes w back from a file's bytes.
func undo(data []byte, w memWrite) []byte {
	data = resize(data, w.oldSize)
	if w.truncate && w.newSize < w.oldSize {
		copy(data[w.newSize:], w.old)
		return data
	}
	copy(data[min(w.off, w.oldSize):], w.old)
	return data
}

// resize returns data with the given length; what is new is zero. A buffer that keeps its length stays the same one,
// because mappings show it.
func resize(data []byte, size int64) []byte {
	if size == int64(len(data)) {
		return data
	}
	if size < int64(len(data)) {
		return data[:size:size]
	}
	if size <= int64(cap(data)) {
		old := len(data)
		data = data[:size]
		clear(data[old:])
		return data
	}
	capacity := size
	if len(data) > 0 { // an appended file: grow by halves
		capacity = max(size, int64(len(data))*3/2)
	}
	grown := make([]byte, size, capacity)
	copy(grown, data)
	return grown
}

// Sync implements File.
func (f *memFile) Sync() error { return f.sync("sync") }

// Datasync implements File.
func (f *memFile) Datasync() error { return f.sync("fdatasync") }

func (f *memFile) sync(op string) error {
	if err := f.check(op, 0); err != nil {
		return err
	}
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	f.node.pending = nil
	return nil
}

// Allocate implements File. Memory needs no reservation.
func (f *memFile) Allocate(off, n int64) error { return f.checkWrite("fallocate", min(off, n)) }

// Stat implements File.
func (f *memFile) Stat() (FileInfo, error) {
	if err := f.check("stat", 0); err != nil {
		return FileInfo{}, err
	}
	f.fs.mu.RLock()
	defer f.fs.mu.RUnlock()
	name := splitPath(f.path)
	return f.node.info(name[len(name)-1]), nil
}

// Map implements File with the file's own buffer.
func (f *memFile) Map(size int64) (Mapping, error) {
	if err := f.check("map", size); err != nil {
		return Mapping{}, err
	}
	f.fs.mu.RLock()
	defer f.fs.mu.RUnlock()
	if size == 0 || size > int64(len(f.node.data)) {
		return Mapping{}, fmt.Errorf("map %s: %d bytes asked for, the file has %d", f.path, size, len(f.node.data))
	}
	return Mapping{data: f.node.data[:size:size]}, nil
}

// Close implements File.
func (f *memFile) Close() error {
	if f.closed.Swap(true) {
		return pathError("close", f.path, ErrClosed)
	}
	return nil
}
