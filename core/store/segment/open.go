package segment

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"

	"github.com/weirmq/weir/core/internal/vfs"
)

// Options says how a directory is used. The zero value opens it for writing with every creation made durable at once.
type Options struct {
	// SizeKey is the configuration key that sets the segment size, named when a file has another size. May be empty.
	SizeKey string
	// SizeUnit is how many bytes 1 in SizeKey's value stands for; 0 means 1. A key that counts entries has their size.
	SizeUnit int64
	// ReadOnly changes nothing on the disk: writing methods return ErrReadOnly, an empty last file is passed over.
	ReadOnly bool
	// DeferNames leaves it to the next Datasync to make a new file and its directory durable, instead of syncing at
	// creation; for derived data in many directories. At most one segment, the last, is not durable at any time.
	DeferNames bool
	// Allocate reserves the disk space of a new segment, so that a full disk shows at its creation and not at a write.
	// Ignored where the file system cannot do it.
	Allocate bool
}

// OpenDir reads which segments are in dir. A missing directory is an empty run; it is made with the first segment.
//
// Every entry must be a file with a segment's name, exactly size bytes long, at a multiple of size, and each must begin
// where the one before ends; otherwise the error is a *LayoutError and nothing was changed. An exception is an empty
// last file, which a crash during creation leaves: it is removed.
func OpenDir(fsys vfs.FS, dir string, size int64, opts Options) (*Files, error) {
	if size <= 0 || size > math.MaxInt32 {
		return nil, fmt.Errorf("open segments in %s: segment size %d is not between 1 and %d bytes", dir, size, math.MaxInt32)
	}
	f := &Files{fs: fsys, dir: filepath.Clean(dir), size: size, opts: opts}
	entries, err := fsys.ReadDir(f.dir)
	if err != nil && !errors.Is(err, vfs.ErrNotExist) {
		return nil, fmt.Errorf("open segments in %s: %w", f.dir, err)
	}
	empty := len(entries) > 0 && isEmptySegment(entries[len(entries)-1])
	whole := entries
	if empty {
		whole = entries[:len(entries)-1]
	}
	segments, err := f.check(whole)
	if err != nil {
		return nil, err
	}
	if empty && !opts.ReadOnly {
		if err := f.unlink(filepath.Join(f.dir, entries[len(entries)-1].Name)); err != nil {
			return nil, fmt.Errorf("open segments in %s: remove an empty last file: %w", f.dir, err)
		}
	}
	f.publish(segments)
	return f, nil
}

func isEmptySegment(e vfs.FileInfo) bool {
	_, ok := parseName(e.Name)
	return ok && !e.IsDir && e.Size == 0
}

// check turns directory entries, ascending by name, into segments.
func (f *Files) check(entries []vfs.FileInfo) ([]*Segment, error) {
	segments := make([]*Segment, 0, len(entries))
	for i, e := range entries {
		start, ok := parseName(e.Name)
		switch {
		case !ok || e.IsDir:
			return nil, f.refuse(e, "is not a segment (a file named by 20 digits); neither we nor RocketMQ start with it here: move it away")
		case e.Size != f.size:
			return nil, f.refuse(e, f.wrongSize(e, entries))
		case start%f.size != 0 || start > math.MaxInt64-f.size:
			return nil, f.refuse(e, fmt.Sprintf("does not begin at a multiple of the segment size %d%s", f.size, f.keyHint()))
		case i > 0 && start != segments[i-1].end:
			return nil, f.refuse(e, fmt.Sprintf("does not follow %s: bytes %d to %d are missing; bring the missing files back, "+
				"or move away those on one side of the gap", entries[i-1].Name, segments[i-1].end, start))
		}
		segments = append(segments, f.newSegment(start))
	}
	return segments, nil
}

func (f *Files) refuse(e vfs.FileInfo, reason string) error {
	return &LayoutError{Dir: f.dir, Name: e.Name, Reason: reason}
}

// wrongSize explains a file of another size: the whole directory has it, or this file is odd.
func (f *Files) wrongSize(e vfs.FileInfo, entries []vfs.FileInfo) string {
	reason := fmt.Sprintf("has %d bytes, a segment must have exactly %d", e.Size, f.size)
	for _, other := range entries {
		if other.Size != e.Size {
			return reason + "; move the file away if it does not belong here" + f.keyHint()
		}
	}
	reason += "; if the store was written with that segment size, "
	unit := max(f.opts.SizeUnit, 1)
	if f.opts.SizeKey == "" || e.Size == 0 || e.Size%unit != 0 {
		return reason + "open it with that size"
	}
	return fmt.Sprintf("%sset %s to %d", reason, f.opts.SizeKey, e.Size/unit)
}

func (f *Files) keyHint() string {
	if f.opts.SizeKey == "" {
		return ""
	}
	return fmt.Sprintf(" (the size is set by %s)", f.opts.SizeKey)
}
