// Package vfs is the seam beneath everything of ours that touches a disk.
//
// Code above it opens files through an FS and never imports os for data. Three implementations exist: OS is the real
// disk; Mem keeps everything in memory, remembers what was synced, and can hand out the state a power cut or a kill -9
// would have left (CrashClone, KillClone); errorfs wraps either and makes chosen calls fail.
//
// # What survives what
//
//	                           process killed     power cut
//	WriteAt returned           yes                not promised, may be torn
//	File.Sync or Datasync      yes                content and size yes; the name only if the directory is synced too
//	Create, Rename, Remove     yes                not promised until FS.SyncDir of the directory
//
// An operation that failed promises nothing. A failed Sync or Datasync is final for that file: the kernel may have
// thrown the unwritten pages away and marked them clean, so that a second call succeeds without having saved anything.
//
// Paths are used as given; directories are separated by the system's separator. All methods of FS and File are safe for
// concurrent use unless they say otherwise.
package vfs

import (
	"errors"
	"io/fs"
	"time"

	"github.com/weirmq/weir/core/internal/mmap"
)

// Errors that tell the caller what to do. They are found with errors.Is inside a *fs.PathError or *LockedError.
var (
	// ErrNotExist says that the file or directory is not there.
	ErrNotExist = fs.ErrNotExist
	// ErrExist says that the file is there already.
	ErrExist = fs.ErrExist
	// ErrClosed says that the file was closed before.
	ErrClosed = fs.ErrClosed
	// ErrLocked says that somebody else holds the lock; see LockedError.
	ErrLocked = errors.New("locked")
	// ErrUnsupported says that this file system cannot do it; the caller goes on without.
	ErrUnsupported = errors.ErrUnsupported
)

// FS is a file system.
type FS interface {
	// Open opens the file at path. See Flag; 0 opens an existing file for reading.
	Open(path string, flag Flag) (File, error)
	// Remove deletes a file or an empty directory. Open files and mappings of it stay usable.
	Remove(path string) error
	// Rename moves a file, replacing what is at newPath in one step.
	Rename(oldPath, newPath string) error
	// MkdirAll makes a directory and its missing parents. It does not sync them; MkdirAllSync does.
	MkdirAll(path string) error
	// ReadDir lists a directory in ascending order of names.
	ReadDir(path string) ([]FileInfo, error)
	// Stat describes the file or directory at path.
	Stat(path string) (FileInfo, error)
	// SyncDir makes the names in a directory durable: files created, renamed and removed in it.
	SyncDir(path string) error
	// Lock takes the process lock at path, creating the file when needed, and holds it until Close of the Lock or the
	// end of the process. When it is taken the error is a *LockedError.
	Lock(path string) (Lock, error)
	// DiskUsage measures the disk that holds path.
	DiskUsage(path string) (DiskUsage, error)
}

// File is an open file. Offsets and sizes are in bytes.
type File interface {
	// ReadAt reads len(p) bytes at off, as io.ReaderAt.
	ReadAt(p []byte, off int64) (int, error)
	// WriteAt writes p at off with pwrite. When it fails, any part of p may have been written.
	WriteAt(p []byte, off int64) (int, error)
	// Sync makes content and metadata durable.
	Sync() error
	// Datasync makes content and size durable but not, for example, the modification time.
	Datasync() error
	// Truncate sets the size. Growing leaves a hole that reads as zeros and takes no space. Never shrink a mapped file.
	Truncate(size int64) error
	// Allocate reserves disk space for [off, off+n) without changing content or size, so that later writes there do not
	// run out of space. ErrUnsupported where the file system cannot.
	Allocate(off, n int64) error
	// Stat describes the file.
	Stat() (FileInfo, error)
	// Map maps the first size bytes for reading; later writes to the file show up in it. The mapping outlives Close.
	Map(size int64) (Mapping, error)
	// Close closes the file. It does not sync.
	Close() error
}

// Flag says how to open a file. Combine with |.
type Flag int

const (
	// ReadOnly opens an existing file for reading.
	ReadOnly Flag = 0
	// ReadWrite opens for reading and writing.
	ReadWrite Flag = 1 << iota
	// Create makes the file if it is missing. It implies ReadWrite.
	Create
	// Exclusive, with Create, fails with ErrExist if the file is there.
	Exclusive
	// Truncate cuts an existing file to size 0. It implies ReadWrite.
	Truncate
)

// FileInfo describes a file or directory.
type FileInfo struct {
	Name    string // last element of the path
	Size    int64  // bytes
	ModTime time.Time
	IsDir   bool
}

// DiskUsage is the room on a disk in bytes.
type DiskUsage struct {
	Total     uint64
	Free      uint64 // unused, including what is kept for root
	Available uint64 // what we may still use
}

// UsedRatio is the used part of the disk, 0 to 1, as RocketMQ computes it: (total - free) / total; 0 for an empty disk.
func (u DiskUsage) UsedRatio() float64 {
	if u.Total == 0 || u.Free > u.Total {
		return 0
	}
	return float64(u.Total-u.Free) / float64(u.Total)
}

// Lock is a held process lock.
type Lock interface {
	// Close gives the lock back. The file stays.
	Close() error
}

// Mapping is a read-only view of a file's bytes. It does not count its users: the owner calls Close once, after the
// last of them. The zero Mapping is empty.
type Mapping struct {
	region *mmap.Region // nil for a file in memory
	data   []byte
}

// Bytes returns the mapped bytes, valid until Close. Writing to them is a fault.
func (m Mapping) Bytes() []byte { return m.data }

// Resident says whether [off, off+n) can be read without waiting for the disk; see mmap.Region.Resident.
func (m Mapping) Resident(off, n int64) bool {
	if m.region == nil {
		return off >= 0 && n >= 0 && off <= int64(len(m.data)) && n <= int64(len(m.data))-off
	}
	return m.region.Resident(off, n)
}

// Advise tells the kernel how [off, off+n) will be read. It is a hint.
func (m Mapping) Advise(off, n int64, advice mmap.Advice) error {
	if m.region == nil {
		return nil
	}
	return m.region.Advise(off, n, advice)
}

// Close unmaps. Every slice of Bytes is dead afterwards.
func (m Mapping) Close() error {
	if m.region == nil {
		return nil
	}
	return m.region.Close()
}
