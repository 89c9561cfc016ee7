package segment

import (
	"errors"
	"fmt"
)

// acquire returns the segment that holds all of [pos, pos+n), with a reference taken.
func (f *Files) acquire(pos int64, n int) (*Segment, error) {
	s := f.Find(pos)
	if s == nil {
		return nil, ErrNotFound
	}
	if int64(n) > s.end-pos {
		return nil, ErrCrossing
	}
	if !s.Retain() {
		return nil, ErrNotFound
	}
	return s, nil
}

// WriteAt writes p at position pos with one pwrite. The range must lie within one existing segment. When it fails, any
// part of the range may have been written and nothing else; on a full disk errors.Is(err, syscall.ENOSPC) holds, and
// the same write may be tried again later.
func (f *Files) WriteAt(pos int64, p []byte) error {
	if f.opts.ReadOnly {
		return ErrReadOnly
	}
	s, err := f.acquire(pos, len(p))
	if err != nil {
		return fmt.Errorf("write %d bytes at %d: %w", len(p), pos, err)
	}
	defer s.Release()
	file, err := s.opened()
	if err == nil {
		_, err = file.WriteAt(p, pos-s.start)
		s.dirty.Store(true) // after the write: a Datasync that has begun meanwhile may not have covered it
	}
	if err != nil {
		return fmt.Errorf("write %d bytes at %d: %w", len(p), pos, err)
	}
	return nil
}

// ReadAt reads len(p) bytes at position pos with pread; for ranges that are not in memory. The range must lie within
// one segment.
func (f *Files) ReadAt(pos int64, p []byte) error {
	s, err := f.acquire(pos, len(p))
	if err != nil {
		return err
	}
	defer s.Release()
	file, err := s.opened()
	if err == nil {
		_, err = file.ReadAt(p, pos-s.start)
	}
	if err != nil {
		return fmt.Errorf("read %d bytes at %d: %w", len(p), pos, err)
	}
	return nil
}

// Datasync makes all bytes of [from, to) durable whose WriteAt returned before the call. It syncs each segment that
// overlaps the range and was written since its last sync; one call covers all writers that wait for it. Segments that
// are removed meanwhile are passed over.
//
// The first error is final: it is returned by every later call too, whatever the range.
func (f *Files) Datasync(from, to int64) error {
	if err := f.SyncErr(); err != nil {
		return err
	}
	l := f.List()
	first := 0
	if i := f.index(l, from); i > 0 {
		first = i
	}
	for _, s := range l[first:] {
		if s.start >= to {
			break
		}
		if s.end <= from || !s.Retain() {
			continue
		}
		err := s.datasync()
		s.Release()
		if err != nil && !errors.Is(err, ErrNotFound) {
			return f.failSync(fmt.Errorf("sync segment %s: %w", s.path, err))
		}
	}
	if f.unsaved.Load() {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.saveNamesLocked()
	}
	return f.SyncErr()
}

// SyncErr returns the first error of Datasync, nil while there was none.
func (f *Files) SyncErr() error {
	if err := f.syncErr.Load(); err != nil {
		return *err
	}
	return nil
}

// failSync remembers the first sync error and returns it.
func (f *Files) failSync(err error) error {
	f.syncErr.CompareAndSwap(nil, &err)
	return f.SyncErr()
}
