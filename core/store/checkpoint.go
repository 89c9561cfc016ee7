package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/weirmq/weir/core/internal/vfs"
)

// checkpointSize is the size of the checkpoint file in bytes. It is RocketMQ's and must not change.
const checkpointSize = 4096

// checkpoint is RocketMQ's file that bounds recovery after an unclean stop. All times are store times in ms.
//
//	0          8         16        24               4096
//	| log i64  | queues  | index   | zeros           |     big-endian
type checkpoint struct {
	log    int64 // messages stored up to then are flushed in the log
	queues int64 // their queue entries too
	index  int64 // files of the key index that end before are whole
}

// boundMargin is subtracted from the earlier of the times, as in RocketMQ: store times aren't quite in order there.
const boundMargin = 3000

// bound is the store time up to which everything is flushed.
func (c checkpoint) bound() int64 { return max(0, min(c.log, c.queues)-boundMargin) }

func (s *Store) checkpointPath() string { return filepath.Join(s.dir, "checkpoint") }

// readCheckpoint reads the file; a missing or short one counts as zero.
func (s *Store) readCheckpoint() (checkpoint, error) {
	data, err := vfs.ReadFile(s.fs, s.checkpointPath(), 1<<20)
	if errors.Is(err, vfs.ErrNotExist) {
		return checkpoint{}, nil
	}
	if err != nil {
		return checkpoint{}, fmt.Errorf("read the checkpoint: %w", err)
	}
	if len(data) < 24 {
		return checkpoint{}, nil
	}
	be := binary.BigEndian
	return checkpoint{int64(be.Uint64(data)), int64(be.Uint64(data[8:])), int64(be.Uint64(data[16:]))}, nil
}

// writeCheckpoint makes the present times durable. The 24 bytes lie in one sector, so they change together.
func (s *Store) writeCheckpoint() error {
	var b [24]byte
	be := binary.BigEndian
	be.PutUint64(b[:], uint64(s.durableTime.Load()))
	be.PutUint64(b[8:], uint64(s.queuesTime.Load()))
	be.PutUint64(b[16:], uint64(s.indexTime.Load()))
	if err := writeInPlace(s.fs, s.checkpointPath(), checkpointSize, b[:], 0, true); err != nil {
		return fmt.Errorf("write the checkpoint: %w", err)
	}
	return nil
}

// writeInPlace writes b at off into a file of a fixed size, which it makes when it is missing.
func writeInPlace(fsys vfs.FS, path string, size int64, b []byte, off int64, sync bool) (err error) {
	f, err := fsys.Open(path, vfs.ReadWrite)
	if errors.Is(err, vfs.ErrNotExist) {
		if err := vfs.MkdirAllSync(fsys, filepath.Dir(path)); err != nil {
			return err
		}
		f, err = vfs.CreateSized(fsys, path, size)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err == nil && info.Size < size {
		err = f.Truncate(size)
	}
	if err == nil {
		_, err = f.WriteAt(b, off)
	}
	if err == nil && sync {
		err = f.Datasync()
	}
	return err
}
