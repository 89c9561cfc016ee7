package segment

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirmq/weir/core/internal/invariants"
	"github.com/weirmq/weir/core/internal/vfs"
)

// gone is added to a segment's count when it leaves the list. It makes the count negative whatever the number of
// holders, so that Retain sees with one addition that it came too late.
const gone = math.MinInt64 / 2

// Segment is one file of a run.
//
// Life of its count: 1 for the list, plus 1 for each holder, while it is listed; gone plus the holders once it was
// removed. Whoever brings it to exactly gone unmaps and closes the file.
//
//	listed (1+holders) --remove--> gone+holders --last release--> gone: unmapped and closed
//	        Retain: true                 Retain: false                       Retain: false
type Segment struct {
	files      *Files
	start, end int64
	path       string

	refs   atomic.Int64
	closed atomic.Bool // unmapped and closed; set once
	dirty  atomic.Bool // written since the last Datasync began

	syncMu sync.Mutex // one Datasync at a time
	openMu sync.Mutex // guards the step from nil to open or mapped

	file    atomic.Pointer[vfs.File]    // nil until first used
	mapping atomic.Pointer[vfs.Mapping] // nil until first viewed
}

func (f *Files) newSegment(start int64) *Segment {
	s := &Segment{files: f, start: start, end: start + f.size, path: filepath.Join(f.dir, FileName(start))}
	s.refs.Store(1)
	return s
}

// Start is the position of the first byte.
func (s *Segment) Start() int64 { return s.start }

// End is the position behind the last byte.
func (s *Segment) End() int64 { return s.end }

// Path is the file's path.
func (s *Segment) Path() string { return s.path }

// Retain takes a reference, so that slices of Bytes stay valid until Release. It is false, and nothing was taken, when
// the segment was removed.
func (s *Segment) Retain() bool {
	if s.refs.Add(1) > 0 {
		return true
	}
	s.Release()
	return false
}

// Release gives back one reference. The last one of a removed segment unmaps and closes the file.
func (s *Segment) Release() {
	switch n := s.refs.Add(-1); {
	case n == gone:
		s.finish()
	case n == 0, n < gone:
		invariants.Failf("segment %s: released more often than retained", s.path)
	}
}

// drop takes the segment out of use after it left the list.
func (s *Segment) drop() {
	s.files.held.Add(1)
	if s.refs.Add(gone-1) == gone {
		s.finish()
	}
}

// finish unmaps and closes the file. A Retain that came too late may bring the count to gone a second time.
func (s *Segment) finish() {
	if s.closed.Swap(true) {
		return
	}
	s.openMu.Lock() // nobody else can be here: opening needs a reference. It orders us after the last opener.
	defer s.openMu.Unlock()
	// Errors change nothing for anyone: durability comes from Datasync alone, and nobody can read here any more.
	if m := s.mapping.Load(); m != nil {
		_ = m.Close()
		s.files.mapped.Add(-1)
	}
	if file := s.file.Load(); file != nil {
		_ = (*file).Close()
	}
	s.files.held.Add(-1)
}

// opened returns the file, opening it at first use. The caller holds a reference.
func (s *Segment) opened() (vfs.File, error) {
	if file := s.file.Load(); file != nil {
		return *file, nil
	}
	s.openMu.Lock()
	defer s.openMu.Unlock()
	return s.openLocked()
}

func (s *Segment) openLocked() (vfs.File, error) {
	if file := s.file.Load(); file != nil {
		return *file, nil
	}
	flag := vfs.ReadWrite
	if s.files.opts.ReadOnly {
		flag = vfs.ReadOnly
	}
	file, err := s.files.fs.Open(s.path, flag)
	if errors.Is(err, vfs.ErrNotExist) && s.refs.Load() < 0 {
		return nil, ErrNotFound // removed between our Retain and now
	}
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && info.Size != s.files.size {
		err = fmt.Errorf("segment %s has %d bytes now; it was changed while the store uses it", s.path, info.Size)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	s.file.Store(&file)
	return file, nil
}

// Bytes returns the whole segment's bytes in place. The caller holds a reference and uses them until its Release. Bytes
// that are being written by someone else are not to be touched.
func (s *Segment) Bytes() ([]byte, error) {
	m, err := s.mapped()
	if err != nil {
		return nil, err
	}
	return m.Bytes(), nil
}

// mapped returns the mapping, mapping the file at first use. The caller holds a reference.
func (s *Segment) mapped() (*vfs.Mapping, error) {
	if m := s.mapping.Load(); m != nil {
		return m, nil
	}
	s.openMu.Lock()
	defer s.openMu.Unlock()
	if m := s.mapping.Load(); m != nil {
		return m, nil
	}
	file, err := s.openLocked()
	if err != nil {
		return nil, err
	}
	m, err := file.Map(s.files.size)
	if err != nil {
		return nil, err
	}
	s.mapping.Store(&m)
	s.files.mapped.Add(1)
	return &m, nil
}

// ModTime is the file's modification time, by which RocketMQ expires segments and looks up by time.
func (s *Segment) ModTime() (time.Time, error) {
	info, err := s.files.fs.Stat(s.path)
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime, nil
}

// datasync makes what was written durable. Concurrent calls wait for each other, so that a call which finds nothing to
// do returns only when the data is safe.
func (s *Segment) datasync() error {
	s.syncMu.Lock()
	defer s.syncMu.Unlock()
	if !s.dirty.Swap(false) {
		return nil
	}
	file, err := s.opened()
	if err == nil {
		err = file.Datasync()
	}
	if err != nil {
		s.dirty.Store(true)
	}
	return err
}
