package segment

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/weirmq/weir/core/internal/vfs"
)

// Ensure returns the segment that holds position pos, and creates it if pos is in the next one (or in any, when there
// is none yet). A creation takes syncs: an owner that must not wait calls it in the background for the next segment,
// some time before it needs it; a second caller waits for the first.
func (f *Files) Ensure(pos int64) (*Segment, error) {
	if s := f.Find(pos); s != nil {
		return s, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.Find(pos); s != nil {
		return s, nil
	}
	if pos < 0 {
		return nil, fmt.Errorf("create a segment for position %d: %w", pos, ErrNotFound)
	}
	return f.createLocked(pos - pos%f.size)
}

// Create makes the next segment, and with none the one that begins at start. start must be the End of the last segment,
// or a multiple of the size.
func (f *Files) Create(start int64) (*Segment, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.createLocked(start)
}

func (f *Files) createLocked(start int64) (*Segment, error) {
	if err := f.writableLocked(); err != nil {
		return nil, fmt.Errorf("create segment %d: %w", start, err)
	}
	last := f.Last()
	switch {
	case start < 0 || start > math.MaxInt64-f.size || start%f.size != 0:
		return nil, fmt.Errorf("create segment %d: not a multiple of the segment size %d", start, f.size)
	case last != nil && start != last.end:
		return nil, fmt.Errorf("create segment %d: the next one begins at %d, a gap is not allowed", start, last.end)
	}
	if err := f.makeDirLocked(); err != nil {
		return nil, fmt.Errorf("create segment %d: %w", start, err)
	}
	s := f.newSegment(start)
	if err := f.createFileLocked(s); err != nil {
		return nil, fmt.Errorf("create segment %d: %w", start, err)
	}
	f.publish(append(slices.Clip(f.List()), s))
	return s, nil
}

func (f *Files) writableLocked() error {
	switch {
	case f.closed:
		return ErrClosed
	case f.opts.ReadOnly:
		return ErrReadOnly
	}
	return nil
}

// makeDirLocked makes the directory before its first segment. With deferred names it also makes durable what an earlier
// creation left, so that only the last segment is ever at risk and a crash leaves no gap.
func (f *Files) makeDirLocked() error {
	if err := f.saveNamesLocked(); err != nil {
		return err
	}
	if f.Last() != nil {
		return nil
	}
	if !f.opts.DeferNames {
		return vfs.MkdirAllSync(f.fs, f.dir)
	}
	parents, err := vfs.MkdirAll(f.fs, f.dir)
	f.names = append(f.names, parents...)
	f.unsaved.Store(len(f.names) > 0)
	return err
}

// createFileLocked makes the file of s, all zeros. A file that is there already is what a failed creation left, as it is
// not in the list: it is cut to nothing first.
func (f *Files) createFileLocked(s *Segment) error {
	file, err := f.fs.Open(s.path, vfs.Create|vfs.Truncate)
	if err != nil {
		return err
	}
	err = file.Truncate(f.size)
	if err == nil && f.opts.Allocate {
		if err = file.Allocate(0, f.size); errors.Is(err, vfs.ErrUnsupported) {
			err = nil
		}
	}
	if err == nil && !f.opts.DeferNames {
		if err = file.Sync(); err == nil {
			err = f.fs.SyncDir(f.dir)
		}
	}
	if err != nil {
		return errors.Join(err, file.Close(), f.fs.Remove(s.path))
	}
	if f.opts.DeferNames {
		s.dirty.Store(true) // its size
		f.names = append(f.names, f.dir)
		f.unsaved.Store(true)
	}
	s.file.Store(&file)
	return nil
}

// saveNamesLocked makes the last segment and its directory durable after a creation with deferred names.
func (f *Files) saveNamesLocked() error {
	if len(f.names) == 0 {
		return f.SyncErr()
	}
	if s := f.Last(); s != nil {
		if err := s.datasync(); err != nil {
			return f.failSync(fmt.Errorf("sync segment %s: %w", s.path, err))
		}
	}
	for _, dir := range f.names {
		if err := f.fs.SyncDir(dir); err != nil && !errors.Is(err, vfs.ErrNotExist) { // removed since, by the owner
			return f.failSync(err)
		}
	}
	f.names = nil
	f.unsaved.Store(false)
	return f.SyncErr()
}

// TruncateTo cuts the run at position pos: segments that begin behind it are removed, newest first and durably, so that a
// crash on the way leaves no gap. The segment that holds pos, or begins at it, stays with its bytes and its modification
// time; what is behind pos in it is not zeroed. Bytes of removed segments stay readable for those who hold them.
func (f *Files) TruncateTo(pos int64) error {
	if pos == math.MaxInt64 {
		return nil
	}
	return f.dropFrom(pos + 1)
}

// DropFrom removes, like TruncateTo, every segment that begins at pos or behind it; for prepared segments that were not
// needed, at a clean stop.
func (f *Files) DropFrom(pos int64) error { return f.dropFrom(pos) }

func (f *Files) dropFrom(pos int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.writableLocked(); err != nil {
		return fmt.Errorf("cut segments at %d: %w", pos, err)
	}
	for {
		l := f.List()
		if len(l) == 0 || l[len(l)-1].start < pos {
			return nil
		}
		if err := f.removeLocked(l, len(l)-1); err != nil {
			return fmt.Errorf("cut segments at %d: %w", pos, err)
		}
	}
}

// RemoveBefore removes the segments that end at pos or before, oldest first and durably, and returns how many. The last
// segment always stays, so that the run keeps its place. Their bytes stay readable for those who hold them.
func (f *Files) RemoveBefore(pos int64) (removed int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.writableLocked(); err != nil {
		return 0, fmt.Errorf("remove segments before %d: %w", pos, err)
	}
	for {
		l := f.List()
		if len(l) < 2 || l[0].end > pos {
			return removed, nil
		}
		// What stays must be there after a power cut: the name of the last segment may not have reached the disk yet.
		if err := f.saveNamesLocked(); err != nil {
			return removed, fmt.Errorf("remove segments before %d: %w", pos, err)
		}
		if err := f.removeLocked(l, 0); err != nil {
			return removed, fmt.Errorf("remove segments before %d: %w", pos, err)
		}
		removed++
	}
}

// removeLocked takes l[i], the first or the last of the list l, out of the list and then removes its file: this way
// round nobody finds a segment without a file. If the file cannot be removed the segment is listed again.
//
// The removal is durable before the next one starts; otherwise a power cut could leave a gap.
func (f *Files) removeLocked(l []*Segment, i int) error {
	if f.removed {
		if err := f.fs.SyncDir(f.dir); err != nil {
			return err
		}
		f.removed = false
	}
	s := l[i]
	f.publish(slices.Delete(slices.Clone(l), i, i+1))
	s.drop()
	if err := f.fs.Remove(s.path); err != nil && !errors.Is(err, vfs.ErrNotExist) {
		again := f.newSegment(s.start)
		again.dirty.Store(s.dirty.Load())
		f.publish(slices.Replace(slices.Clone(l), i, i+1, again))
		return err
	}
	f.removed = true
	if err := f.fs.SyncDir(f.dir); err != nil {
		return err
	}
	f.removed = false
	return nil
}

// unlink removes a file durably.
func (f *Files) unlink(path string) error {
	if err := f.fs.Remove(path); err != nil {
		return err
	}
	return f.fs.SyncDir(f.dir)
}
