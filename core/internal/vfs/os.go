//go:build unix

package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/weirmq/weir/core/internal/mmap"
)

// OS is the real file system. Directories are made with mode 0755, files with 0644, as RocketMQ does.
type OS struct{}

var (
	_ FS   = OS{}
	_ File = (*osFile)(nil)
)

// Open implements FS.
func (OS) Open(path string, flag Flag) (File, error) {
	f, err := os.OpenFile(path, flag.native(), 0o644)
	if err != nil {
		return nil, err
	}
	return &osFile{f: f}, nil
}

func (f Flag) native() int {
	mode := os.O_RDONLY
	if f&(ReadWrite|Create|Truncate) != 0 {
		mode = os.O_RDWR
	}
	if f&Create != 0 {
		mode |= os.O_CREATE
	}
	if f&Exclusive != 0 {
		mode |= os.O_EXCL
	}
	if f&Truncate != 0 {
		mode |= os.O_TRUNC
	}
	return mode
}

// Remove implements FS.
func (OS) Remove(path string) error { return os.Remove(path) }

// Rename implements FS.
func (OS) Rename(oldPath, newPath string) error { return os.Rename(oldPath, newPath) }

// MkdirAll implements FS.
func (OS) MkdirAll(path string) error { return os.MkdirAll(path, 0o755) }

// ReadDir implements FS.
func (OS) ReadDir(path string) ([]FileInfo, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	infos := make([]FileInfo, 0, len(entries))
	for _, e := range entries {
		info, err := e.Info()
		if os.IsNotExist(err) {
			continue // removed since the directory was read
		}
		if err != nil {
			return nil, err
		}
		infos = append(infos, fileInfo(info))
	}
	return infos, nil
}

// Stat implements FS.
func (OS) Stat(path string) (FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return FileInfo{}, err
	}
	return fileInfo(info), nil
}

// SyncDir implements FS.
func (OS) SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	err = d.Sync()
	if closeErr := d.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("sync directory %s: %w", path, err)
	}
	return nil
}

// DiskUsage implements FS.
func (OS) DiskUsage(path string) (DiskUsage, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return DiskUsage{}, &fs.PathError{Op: "statfs", Path: path, Err: err}
	}
	block := uint64(st.Bsize)
	return DiskUsage{
		Total:     uint64(st.Blocks) * block,
		Free:      uint64(st.Bfree) * block,
		Available: uint64(st.Bavail) * block,
	}, nil
}

func fileInfo(i fs.FileInfo) FileInfo {
	return FileInfo{Name: i.Name(), Size: i.Size(), ModTime: i.ModTime(), IsDir: i.IsDir()}
}

// osFile is a file of OS.
type osFile struct{ f *os.File }

func (o *osFile) ReadAt(p []byte, off int64) (int, error)  { return o.f.ReadAt(p, off) }
func (o *osFile) WriteAt(p []byte, off int64) (int, error) { return o.f.WriteAt(p, off) }
func (o *osFile) Sync() error                              { return o.f.Sync() }
func (o *osFile) Truncate(size int64) error                { return o.f.Truncate(size) }
func (o *osFile) Close() error                             { return o.f.Close() }

func (o *osFile) Stat() (FileInfo, error) {
	info, err := o.f.Stat()
	if err != nil {
		return FileInfo{}, err
	}
	return fileInfo(info), nil
}

func (o *osFile) Datasync() error {
	return o.control("fdatasync", fdatasync)
}

func (o *osFile) Allocate(off, n int64) error {
	return o.control("fallocate", func(fd int) error { return fallocate(fd, off, n) })
}

func (o *osFile) Map(size int64) (Mapping, error) {
	info, err := o.f.Stat()
	if err != nil {
		return Mapping{}, err
	}
	if info.Size() < size {
		return Mapping{}, fmt.Errorf("map %s: %d bytes asked for, the file has %d", o.f.Name(), size, info.Size())
	}
	r, err := mmap.Map(o.f, size)
	if err != nil {
		return Mapping{}, err
	}
	return Mapping{region: r, data: r.Bytes()}, nil
}

// control runs call on the descriptor, keeping it open meanwhile and retrying when a signal interrupts.
func (o *osFile) control(op string, call func(fd int) error) error {
	conn, err := o.f.SyscallConn()
	if err != nil {
		return err
	}
	var callErr error
	err = conn.Control(func(fd uintptr) {
		for {
			if callErr = call(int(fd)); !errors.Is(callErr, unix.EINTR) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	if callErr != nil {
		return &fs.PathError{Op: op, Path: o.f.Name(), Err: callErr}
	}
	return nil
}
