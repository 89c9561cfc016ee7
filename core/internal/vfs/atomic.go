package vfs

import (
	"errors"
	"fmt"
	"path/filepath"
)

// AtomicSizeMax is the size in bytes up to which ReadFileOrBak reads a file, and WriteFileAtomic writes one.
const AtomicSizeMax = 1 << 30

// WriteFileAtomic replaces the file at path so that, whatever happens, it holds either the old or the new content whole,
// and keeps the old content in path + ".bak" as RocketMQ does.
//
// Order: write path.tmp and sync it; rename it over path; sync the directory; write the old content to path.bak and
// sync it. There is never a moment without a whole file at path, unlike in RocketMQ, which deletes before it renames;
// and the backup is touched only when a newer whole file is durable, so a damaged file never pushes out the good backup
// that it was loaded from. An error may come after the file itself is replaced; calling again is always right.
// Calls for one path must not run at the same time. The cost is three syncs.
func WriteFileAtomic(fsys FS, path string, data []byte) error {
	if len(data) > AtomicSizeMax {
		return fmt.Errorf("write %s: %d bytes are more than the %d allowed", path, len(data), AtomicSizeMax)
	}
	tmp, dir := path+".tmp", filepath.Dir(path)
	if err := writeSynced(fsys, tmp, data); err != nil {
		return err
	}
	old, err := ReadFile(fsys, path, AtomicSizeMax)
	if err != nil && !errors.Is(err, ErrNotExist) {
		return err
	}
	if err := fsys.Rename(tmp, path); err != nil {
		return err
	}
	if err := fsys.SyncDir(dir); err != nil {
		return err
	}
	if len(old) == 0 { // an empty file is not worth losing the last good backup for
		return nil
	}
	return writeBackup(fsys, path+".bak", old)
}

// writeBackup writes the backup file, and makes its name durable the first time.
func writeBackup(fsys FS, path string, data []byte) error {
	known, err := Exists(fsys, path)
	if err != nil {
		return err
	}
	if err := writeSynced(fsys, path, data); err != nil {
		return err
	}
	if known {
		return nil
	}
	return fsys.SyncDir(filepath.Dir(path))
}

// writeSynced writes a whole file and syncs its content.
func writeSynced(fsys FS, path string, data []byte) error {
	f, err := fsys.Open(path, Create|Truncate)
	if err != nil {
		return err
	}
	if _, err = f.WriteAt(data, 0); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// Source says where ReadFileOrBak found the content.
type Source int

const (
	// SourceNone: neither file has content. The caller goes on with its defaults.
	SourceNone Source = iota
	// SourceFile: the file itself.
	SourceFile
	// SourceBackup: the ".bak" file, because the file itself was missing, empty or not decodable.
	SourceBackup
)

// ReadFileOrBak hands the content of the file at path to decode; when the file is missing, empty, unreadable or refused
// by decode, that of path + ".bak". decode must leave no trace of a text that it refuses.
//
// Both missing or empty is SourceNone without an error, as in RocketMQ. Unlike there, a damaged file without a usable
// backup is an error: going on with defaults would overwrite it at the next save.
func ReadFileOrBak(fsys FS, path string, decode func(data []byte) error) (Source, error) {
	found, err := readInto(fsys, path, decode)
	if found && err == nil {
		return SourceFile, nil
	}
	foundBak, errBak := readInto(fsys, path+".bak", decode)
	switch {
	case foundBak && errBak == nil:
		return SourceBackup, nil
	case err == nil && errBak == nil:
		return SourceNone, nil
	case err == nil:
		return SourceNone, fmt.Errorf("%s has no content and its backup cannot be used: %w", path, errBak)
	case errBak == nil:
		return SourceNone, fmt.Errorf("%w; there is no backup: repair the file, or remove it to start with defaults", err)
	default:
		return SourceNone, fmt.Errorf("neither the file nor its backup can be used: %w", errors.Join(err, errBak))
	}
}

// readInto decodes the file at path; found is false when it is missing or empty.
func readInto(fsys FS, path string, decode func([]byte) error) (found bool, err error) {
	data, err := ReadFile(fsys, path, AtomicSizeMax)
	if errors.Is(err, ErrNotExist) || (err == nil && len(data) == 0) {
		return false, nil
	}
	if err != nil {
		return true, err
	}
	if err := decode(data); err != nil {
		return true, fmt.Errorf("decode %s: %w", path, err)
	}
	return true, nil
}
