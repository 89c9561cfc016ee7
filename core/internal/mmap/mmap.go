//go:build unix

// Package mmap maps files into memory for reading, and asks the kernel about the pages behind a mapping.
//
// A Region is a read-only, shared view of a file: what is written to the file with pwrite, by us or by another process,
// shows up in it, and a store through it is a fault. Three things about mappings shape the code that uses them:
//
//   - Touching a page past the end of the file kills the process (SIGBUS), and so does a read error of the disk. Never
//     map more than the file's size and never shrink a file that is mapped.
//   - Touching a page that is not resident blocks the whole thread in the kernel. The Go scheduler does not see it as a
//     system call, so a processor stands still meanwhile. Ask Resident first and read cold ranges with pread.
//   - Unmapping while someone holds a slice of the region is a fault for them. Region does not count its users; the
//     owner (store/segment) does, and calls Close once, at the end.
//
// Nothing here allocates after Map. Writing through a mapping is deliberately absent: a full disk under a shared
// writable mapping is SIGBUS where pwrite returns ENOSPC.
package mmap

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// ErrClosed says that the region was unmapped already.
var ErrClosed = errors.New("mmap: region is closed")

// Advice tells the kernel how a range will be read.
type Advice int

const (
	// Normal is the kernel's default read-ahead.
	Normal Advice = iota
	// Random turns read-ahead off: point reads by offset.
	Random
	// Sequential asks for aggressive read-ahead and lets pages behind go early.
	Sequential
	// WillNeed starts reading the range in the background and returns at once.
	WillNeed
	// DontNeed drops the pages from this mapping; they stay in the page cache.
	DontNeed
)

// Region is one read-only mapping. Its methods are safe for concurrent use, except Close, which must come last.
type Region struct {
	data []byte
}

// Map maps the first size bytes of f, which must be at least that long. f may be closed afterwards: the mapping stays.
func Map(f *os.File, size int64) (*Region, error) {
	if size <= 0 || size != int64(int(size)) {
		return nil, fmt.Errorf("map %s: size %d is out of range", f.Name(), size)
	}
	data, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %s, %d bytes: %w", f.Name(), size, err)
	}
	return &Region{data: data}, nil
}

// Bytes returns the mapped bytes, valid until Close. Writing to them is a fault.
func (r *Region) Bytes() []byte { return r.data }

// Close unmaps the region. Every slice taken from Bytes is dead afterwards: touching one is a fault. A second Close
// returns ErrClosed.
func (r *Region) Close() error {
	if r.data == nil {
		return ErrClosed
	}
	data := r.data
	r.data = nil
	if err := unix.Munmap(data); err != nil {
		return fmt.Errorf("unmap %d bytes: %w", len(data), err)
	}
	return nil
}

// Advise passes advice for bytes [off, off+n) to the kernel, widened to whole pages. It is a hint: errors say only that
// the range is outside the region or that the kernel does not know the advice.
func (r *Region) Advise(off, n int64, advice Advice) error {
	pages, err := r.pages(off, n)
	if err != nil || len(pages) == 0 {
		return err
	}
	if err := unix.Madvise(pages, advice.native()); err != nil {
		return fmt.Errorf("advise %d bytes at %d: %w", n, off, err)
	}
	return nil
}

// pages returns the whole pages that cover [off, off+n); the last one may end early, at the end of the region.
func (r *Region) pages(off, n int64) ([]byte, error) {
	if r.data == nil {
		return nil, ErrClosed
	}
	if off < 0 || n < 0 || off > int64(len(r.data)) || n > int64(len(r.data))-off {
		return nil, fmt.Errorf("mmap: range [%d, +%d) is outside the %d mapped bytes", off, n, len(r.data))
	}
	start := off &^ (pageSize - 1)
	return r.data[start : off+n], nil
}

func (a Advice) native() int {
	switch a {
	case Random:
		return unix.MADV_RANDOM
	case Sequential:
		return unix.MADV_SEQUENTIAL
	case WillNeed:
		return unix.MADV_WILLNEED
	case DontNeed:
		return unix.MADV_DONTNEED
	default:
		return unix.MADV_NORMAL
	}
}

// pageSize is the size of a page in bytes, a power of two.
var pageSize = int64(os.Getpagesize())
