package vfs

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
)

// CreateSized makes a new file of exactly size bytes, all a hole, and makes its size and its name durable. It fails with
// ErrExist if the path is taken. When it fails later it removes the file again; if even that fails, or the power goes, a
// file of size 0 may be left.
func CreateSized(fsys FS, path string, size int64) (File, error) {
	f, err := fsys.Open(path, Create|Exclusive)
	if err != nil {
		return nil, err
	}
	err = f.Truncate(size)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = fsys.SyncDir(filepath.Dir(path))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create %s with %d bytes: %w", path, size, err), f.Close(), fsys.Remove(path))
	}
	return f, nil
}

// MkdirAllSync makes a directory and its missing parents and makes the new names durable.
func MkdirAllSync(fsys FS, path string) error {
	parents, err := MkdirAll(fsys, path)
	if err != nil {
		return err
	}
	for _, dir := range parents {
		if err := fsys.SyncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// MkdirAll makes a directory and its missing parents, and returns the directories that SyncDir must be called on, in
// this order, to make the new names durable. That is none when the directory is there already.
func MkdirAll(fsys FS, path string) (unsynced []string, err error) {
	for dir := filepath.Clean(path); ; dir = filepath.Dir(dir) {
		there, err := Exists(fsys, dir)
		if err != nil {
			return nil, err
		}
		if there || dir == filepath.Dir(dir) {
			break
		}
		unsynced = append(unsynced, filepath.Dir(dir))
	}
	slices.Reverse(unsynced)
	return unsynced, fsys.MkdirAll(path)
}

// ReadFile returns the content of the file at path. Files above max bytes are refused, so that a damaged or foreign
// file cannot take all memory.
func ReadFile(fsys FS, path string, max int64) ([]byte, error) {
	f, err := fsys.Open(path, ReadOnly)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size > max {
		return nil, fmt.Errorf("read %s: %d bytes are more than the %d allowed", path, info.Size, max)
	}
	data := make([]byte, info.Size)
	n, err := f.ReadAt(data, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return data[:n], nil
}

// Exists says whether there is something at path.
func Exists(fsys FS, path string) (bool, error) {
	_, err := fsys.Stat(path)
	if errors.Is(err, ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
