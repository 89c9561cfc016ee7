//go:build unix

package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// held holds the lock files of this process by device and inode.
//
// A POSIX record lock belongs to the process, not to the descriptor: a second F_SETLK of ours on the same file succeeds,
// and closing any descriptor of the file gives the lock away. So a second Lock must be refused before the file is even
// opened, whatever OS value and path it comes through. That makes this the one variable of package scope here.
// Linux's descriptor locks (F_OFD_SETLK) have neither trouble, but hide the holder's process id.
var held = struct {
	mu    sync.Mutex
	files map[fileID]bool // guarded by mu
}{files: make(map[fileID]bool)}

// fileID names a file whatever path leads to it.
type fileID struct{ dev, ino uint64 }

// Lock implements FS with an exclusive POSIX record lock on byte 0, the lock a Java broker takes on the same file, and
// then writes and syncs the four bytes `lock` as it does. A failed Lock leaves the file as it was, at most created
// empty. Nothing else in the process may open and close the file while the lock is held: that would give it away.
func (OS) Lock(path string) (Lock, error) {
	held.mu.Lock()
	defer held.mu.Unlock()
	if info, err := os.Stat(path); err == nil && held.files[idOf(info)] {
		return nil, &LockedError{Path: path, PID: os.Getpid(), Self: true}
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	id, err := lockFile(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	held.files[id] = true
	return &osLock{f: f, id: id}, nil
}

// lockFile locks byte 0 of f and marks the file as RocketMQ does.
func lockFile(f *os.File) (fileID, error) {
	info, err := f.Stat()
	if err != nil {
		return fileID{}, err
	}
	if err := setLock(f, unix.F_WRLCK); err != nil {
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
			return fileID{}, &LockedError{Path: f.Name(), PID: lockHolder(f)}
		}
		return fileID{}, &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	if _, err := f.WriteAt([]byte(lockContent), 0); err != nil {
		return fileID{}, err
	}
	if err := f.Sync(); err != nil {
		return fileID{}, err
	}
	return idOf(info), nil
}

func setLock(f *os.File, kind int16) error {
	return unix.FcntlFlock(f.Fd(), unix.F_SETLK, firstByte(kind))
}

// lockHolder returns the process that holds the lock, 0 if that is not known (a lock held from another machine, or
// given back in the meantime).
func lockHolder(f *os.File) int {
	lk := firstByte(unix.F_WRLCK)
	if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, lk); err != nil || lk.Type == unix.F_UNLCK || lk.Pid < 0 {
		return 0
	}
	return int(lk.Pid)
}

func firstByte(kind int16) *unix.Flock_t {
	return &unix.Flock_t{Type: kind, Whence: io.SeekStart, Start: 0, Len: 1}
}

func idOf(info fs.FileInfo) fileID {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileID{}
	}
	return fileID{dev: uint64(st.Dev), ino: uint64(st.Ino)}
}

// osLock is a lock held through OS.
type osLock struct {
	once sync.Once
	f    *os.File
	id   fileID
}

// Close gives the lock back; a second call does nothing.
func (l *osLock) Close() (err error) {
	l.once.Do(func() {
		held.mu.Lock()
		defer held.mu.Unlock()
		err = l.f.Close() // closing gives the lock back
		delete(held.files, l.id)
	})
	return err
}
