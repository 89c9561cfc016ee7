package segment

import "github.com/weirmq/weir/core/internal/mmap"

// View is a range of bytes of one segment, read in place. It is a small value: copy it freely, but Release it once in
// all. The zero View is empty and needs no release.
type View struct {
	seg  *Segment
	pos  int64
	data []byte
}

// View returns bytes [pos, pos+n), which must lie within one segment, and holds them until Release. They are whatever
// is in the file: the caller knows up to where it was written. Errors are ErrNotFound, ErrCrossing, or, at the first
// use of a segment, one of opening or mapping the file.
func (f *Files) View(pos int64, n int) (View, error) {
	return f.view(pos, n, false)
}

// ViewUpTo is View of at most n bytes, fewer at the end of the segment.
func (f *Files) ViewUpTo(pos int64, n int) (View, error) {
	return f.view(pos, n, true)
}

func (f *Files) view(pos int64, n int, clip bool) (View, error) {
	s := f.Find(pos)
	if s == nil {
		return View{}, ErrNotFound
	}
	if n < 0 {
		return View{}, ErrCrossing
	}
	if int64(n) > s.end-pos {
		if !clip {
			return View{}, ErrCrossing
		}
		n = int(s.end - pos)
	}
	if !s.Retain() {
		return View{}, ErrNotFound
	}
	m, err := s.mapped()
	if err != nil {
		s.Release()
		return View{}, err
	}
	off := pos - s.start
	return View{seg: s, pos: pos, data: m.Bytes()[off : off+int64(n) : off+int64(n)]}, nil
}

// Bytes returns the bytes, valid until Release. They must not be modified.
func (v View) Bytes() []byte { return v.data }

// Pos is the position of the first byte.
func (v View) Pos() int64 { return v.pos }

// Segment is the segment that holds the bytes; nil for the zero View. Retain it to keep parts of the view longer.
func (v View) Segment() *Segment { return v.seg }

// Release gives the bytes back. It must be called exactly once for each View that was handed out.
func (v View) Release() {
	if v.seg != nil {
		v.seg.Release()
	}
}

// Resident says whether the bytes are in memory at this moment, so that touching them will not wait for the disk. It
// costs a system call for each MiB.
func (v View) Resident() bool {
	if v.seg == nil {
		return true
	}
	return v.seg.mapping.Load().Resident(v.pos-v.seg.start, int64(len(v.data)))
}

// Prefetch asks the kernel to read the bytes in the background and returns at once. It is a hint.
func (v View) Prefetch() {
	if v.seg != nil {
		_ = v.seg.mapping.Load().Advise(v.pos-v.seg.start, int64(len(v.data)), mmap.WillNeed)
	}
}
