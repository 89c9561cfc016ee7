package segment

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirmq/weir/core/internal/vfs"
)

// Files is the ascending list of the segments in one directory.
type Files struct {
	fs   vfs.FS
	dir  string
	size int64
	opts Options

	list    atomic.Pointer[[]*Segment] // never modified after it is published
	syncErr atomic.Pointer[error]      // first failed sync; final
	mapped  atomic.Int64               // mapped segments, removed ones included
	held    atomic.Int64               // removed segments that still have holders
	unsaved atomic.Bool                // names holds something to sync; changed under mu

	mu      sync.Mutex
	closed  bool     // guarded by mu
	names   []string // directories to sync to make the last segment durable, see Options.DeferNames; guarded by mu
	removed bool     // a removal is not durable yet; guarded by mu
}

// publish makes segments the list; it is not modified afterwards.
func (f *Files) publish(segments []*Segment) { f.list.Store(&segments) }

// List returns the segments at this moment, ascending. The slice is shared: do not modify it. To use a segment's bytes,
// Retain it first.
func (f *Files) List() []*Segment { return *f.list.Load() }

// Dir is the directory.
func (f *Files) Dir() string { return f.dir }

// Size is the size of each segment in bytes.
func (f *Files) Size() int64 { return f.size }

// First returns the oldest segment, nil if there is none.
func (f *Files) First() *Segment {
	if l := f.List(); len(l) > 0 {
		return l[0]
	}
	return nil
}

// Last returns the newest segment, nil if there is none.
func (f *Files) Last() *Segment {
	if l := f.List(); len(l) > 0 {
		return l[len(l)-1]
	}
	return nil
}

// Min is the position of the first byte there is a file for; 0 if there is none.
func (f *Files) Min() int64 {
	if s := f.First(); s != nil {
		return s.start
	}
	return 0
}

// End is the position behind the last byte there is a file for, written or not; 0 if there is none.
func (f *Files) End() int64 {
	if s := f.Last(); s != nil {
		return s.end
	}
	return 0
}

// Find returns the segment that holds position pos, nil if there is none.
func (f *Files) Find(pos int64) *Segment {
	l := f.List()
	if i := f.index(l, pos); i >= 0 {
		return l[i]
	}
	return nil
}

// index returns where in l the segment of pos is, -1 if it is not there.
func (f *Files) index(l []*Segment, pos int64) int {
	if len(l) == 0 || pos < l[0].start || pos >= l[len(l)-1].end {
		return -1
	}
	return int((pos - l[0].start) / f.size)
}

// ModifiedSince returns the first segment that was modified at t or later, else the last one; nil if there is none. It
// asks the disk about each, as RocketMQ does to look up by time.
func (f *Files) ModifiedSince(t time.Time) (*Segment, error) {
	for _, s := range f.List() {
		mod, err := s.ModTime()
		if err != nil {
			return nil, fmt.Errorf("find a segment by time: %w", err)
		}
		if !mod.Before(t) {
			return s, nil
		}
	}
	return f.Last(), nil
}

// Stats is a picture for metrics.
type Stats struct {
	Segments int   // in the list
	Bytes    int64 // their size together; the space they take may be less
	Mapped   int   // mapped segments, removed ones that are still read included
	Held     int   // removed segments that are still read
}

// Stats returns counts at this moment.
func (f *Files) Stats() Stats {
	n := len(f.List())
	return Stats{
		Segments: n,
		Bytes:    int64(n) * f.size,
		Mapped:   int(f.mapped.Load()),
		Held:     int(f.held.Load()),
	}
}

// Close lets go of all segments; those that are still read go at their last Release. It syncs nothing. Afterwards the
// list is empty and changes return ErrClosed. A second Close does nothing.
func (f *Files) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	l := f.List()
	f.publish(nil)
	for _, s := range l {
		s.drop()
	}
	return nil
}
