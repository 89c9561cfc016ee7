//go:build unix && !linux

package vfs

import "golang.org/x/sys/unix"

// fdatasync is fsync where the system has no cheaper call that we trust.
func fdatasync(fd int) error { return unix.Fsync(fd) }

func fallocate(fd int, off, n int64) error { return ErrUnsupported }
