package vfs

import "golang.org/x/sys/unix"

func fdatasync(fd int) error { return unix.Fdatasync(fd) }

// fallocate reserves [off, off+n) and keeps the file's size.
func fallocate(fd int, off, n int64) error {
	err := unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, off, n)
	if err == unix.EOPNOTSUPP || err == unix.ENOSYS {
		return ErrUnsupported
	}
	return err
}
