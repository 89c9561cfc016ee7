// Package errorfs wraps a file system and makes chosen calls fail, for tests of what happens then.
//
//	fsys := errorfs.Wrap(vfs.NewMem(nil), errorfs.Nth(3, errorfs.OnKind(errorfs.Datasync, syscall.EIO)))
//
// Every call is counted by kind and shown to the Injector before it is done. An Injector may also block, to hold a call
// at a known place, or only record. Errors come back inside a *fs.PathError, as the real file system's do.
package errorfs

import (
	"errors"
	"io/fs"
	"strings"
	"sync/atomic"

	"github.com/weirmq/weir/core/internal/vfs"
)

// Kind names a call.
type Kind int

// The calls of vfs.FS and vfs.File. Open covers opening an existing file; Create an Open with vfs.Create.
const (
	Open Kind = iota
	Create
	Remove
	Rename
	MkdirAll
	ReadDir
	Stat
	SyncDir
	Lock
	DiskUsage
	Read
	Write
	Sync
	Datasync
	Truncate
	Allocate
	Map
	Close
	kinds // number of kinds
)

var kindNames = [kinds]string{"open", "create", "remove", "rename", "mkdirall", "readdir", "stat", "syncdir", "lock",
	"diskusage", "read", "write", "sync", "datasync", "truncate", "allocate", "map", "close"}

// String returns the kind's name in lower case.
func (k Kind) String() string {
	if k < 0 || k >= kinds {
		return "unknown"
	}
	return kindNames[k]
}

// Op is one call about to be done.
type Op struct {
	Kind   Kind
	Path   string // of a rename, the old path
	Offset int64  // of a read or write
	Length int    // of a read or write, in bytes
	N      int64  // counts the calls of this kind, from 1
}

// Injector decides about a call: nil lets it through, an error is returned instead of doing it. It is called from
// many goroutines at once.
type Injector func(Op) error

// OnKind fails every call of a kind.
func OnKind(k Kind, err error) Injector {
	return func(op Op) error {
		if op.Kind == k {
			return err
		}
		return nil
	}
}

// OnPath asks in only about calls whose path contains part.
func OnPath(part string, in Injector) Injector {
	return func(op Op) error {
		if !strings.Contains(op.Path, part) {
			return nil
		}
		return in(op)
	}
}

// Nth lets the n-th error of in through, counted from 1, and swallows all others.
func Nth(n int64, in Injector) Injector {
	var seen atomic.Int64
	return func(op Op) error {
		if err := in(op); err != nil && seen.Add(1) == n {
			return err
		}
		return nil
	}
}

// From swallows the first n-1 errors of in and lets all others through.
func From(n int64, in Injector) Injector {
	var seen atomic.Int64
	return func(op Op) error {
		if err := in(op); err != nil && seen.Add(1) >= n {
			return err
		}
		return nil
	}
}

// Any asks each injector in turn; the first error wins.
func Any(injectors ...Injector) Injector {
	return func(op Op) error {
		for _, in := range injectors {
			if err := in(op); err != nil {
				return err
			}
		}
		return nil
	}
}

// ShortWrite is an error for a write that is done in part: N bytes are written, then the call returns Err. A disk that
// fills up does that.
type ShortWrite struct {
	N   int
	Err error
}

// Error returns the text of Err.
func (s *ShortWrite) Error() string { return s.Err.Error() }

// Unwrap returns Err.
func (s *ShortWrite) Unwrap() error { return s.Err }

// FS is the wrapped file system.
type FS struct {
	inner  vfs.FS
	in     atomic.Pointer[Injector]
	counts [kinds]atomic.Int64
}

var (
	_ vfs.FS   = (*FS)(nil)
	_ vfs.File = (*file)(nil)
)

// Wrap returns inner with in deciding about each call; nil lets everything through.
func Wrap(inner vfs.FS, in Injector) *FS {
	f := &FS{inner: inner}
	f.Set(in)
	return f
}

// Set replaces the injector, also for files that are open; nil lets everything through.
func (f *FS) Set(in Injector) {
	if in == nil {
		in = func(Op) error { return nil }
	}
	f.in.Store(&in)
}

// Count returns how many calls of a kind were made, failed ones included.
func (f *FS) Count(k Kind) int64 { return f.counts[k].Load() }

// ask counts a call and asks the injector about it.
func (f *FS) ask(op Op) error {
	op.N = f.counts[op.Kind].Add(1)
	return (*f.in.Load())(op)
}

func (f *FS) before(k Kind, path string) error {
	if err := f.ask(Op{Kind: k, Path: path}); err != nil {
		return &fs.PathError{Op: k.String(), Path: path, Err: err}
	}
	return nil
}

// Open implements vfs.FS.
func (f *FS) Open(path string, flag vfs.Flag) (vfs.File, error) {
	kind := Open
	if flag&vfs.Create != 0 {
		kind = Create
	}
	if err := f.before(kind, path); err != nil {
		return nil, err
	}
	inner, err := f.inner.Open(path, flag)
	if err != nil {
		return nil, err
	}
	return &file{fs: f, inner: inner, path: path}, nil
}

// Remove implements vfs.FS.
func (f *FS) Remove(path string) error {
	if err := f.before(Remove, path); err != nil {
		return err
	}
	return f.inner.Remove(path)
}

// Rename implements vfs.FS.
func (f *FS) Rename(oldPath, newPath string) error {
	if err := f.before(Rename, oldPath); err != nil {
		return err
	}
	return f.inner.Rename(oldPath, newPath)
}

// MkdirAll implements vfs.FS.
func (f *FS) MkdirAll(path string) error {
	if err := f.before(MkdirAll, path); err != nil {
		return err
	}
	return f.inner.MkdirAll(path)
}

// ReadDir implements vfs.FS.
func (f *FS) ReadDir(path string) ([]vfs.FileInfo, error) {
	if err := f.before(ReadDir, path); err != nil {
		return nil, err
	}
	return f.inner.ReadDir(path)
}

// Stat implements vfs.FS.
func (f *FS) Stat(path string) (vfs.FileInfo, error) {
	if err := f.before(Stat, path); err != nil {
		return vfs.FileInfo{}, err
	}
	return f.inner.Stat(path)
}

// SyncDir implements vfs.FS.
func (f *FS) SyncDir(path string) error {
	if err := f.before(SyncDir, path); err != nil {
		return err
	}
	return f.inner.SyncDir(path)
}

// Lock implements vfs.FS.
func (f *FS) Lock(path string) (vfs.Lock, error) {
	if err := f.before(Lock, path); err != nil {
		return nil, err
	}
	return f.inner.Lock(path)
}

// DiskUsage implements vfs.FS.
func (f *FS) DiskUsage(path string) (vfs.DiskUsage, error) {
	if err := f.before(DiskUsage, path); err != nil {
		return vfs.DiskUsage{}, err
	}
	return f.inner.DiskUsage(path)
}

// file is an open file of FS.
type file struct {
	fs    *FS
	inner vfs.File
	path  string
}

func (f *file) ReadAt(p []byte, off int64) (int, error) {
	if err := f.fs.ask(Op{Kind: Read, Path: f.path, Offset: off, Length: len(p)}); err != nil {
		return 0, &fs.PathError{Op: "read", Path: f.path, Err: err}
	}
	return f.inner.ReadAt(p, off)
}

func (f *file) WriteAt(p []byte, off int64) (int, error) {
	err := f.fs.ask(Op{Kind: Write, Path: f.path, Offset: off, Length: len(p)})
	if err == nil {
		return f.inner.WriteAt(p, off)
	}
	n := 0
	var short *ShortWrite
	if errors.As(err, &short) {
		var innerErr error
		if n, innerErr = f.inner.WriteAt(p[:min(short.N, len(p))], off); innerErr != nil {
			return n, innerErr
		}
	}
	return n, &fs.PathError{Op: "write", Path: f.path, Err: err}
}

func (f *file) Sync() error {
	if err := f.fs.before(Sync, f.path); err != nil {
		return err
	}
	return f.inner.Sync()
}

func (f *file) Datasync() error {
	if err := f.fs.before(Datasync, f.path); err != nil {
		return err
	}
	return f.inner.Datasync()
}

func (f *file) Truncate(size int64) error {
	if err := f.fs.before(Truncate, f.path); err != nil {
		return err
	}
	return f.inner.Truncate(size)
}

func (f *file) Allocate(off, n int64) error {
	if err := f.fs.before(Allocate, f.path); err != nil {
		return err
	}
	return f.inner.Allocate(off, n)
}

// Stat is not counted as a call of kind Stat, which is about paths.
func (f *file) Stat() (vfs.FileInfo, error) { return f.inner.Stat() }

func (f *file) Map(size int64) (vfs.Mapping, error) {
	if err := f.fs.before(Map, f.path); err != nil {
		return vfs.Mapping{}, err
	}
	return f.inner.Map(size)
}

// Close closes the file even when it returns an injected error, as the real call does.
func (f *file) Close() error {
	err := f.fs.before(Close, f.path)
	return errors.Join(err, f.inner.Close())
}
