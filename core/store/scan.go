package store

import (
	"errors"
	"fmt"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/store/segment"
)

// walkAhead is how many bytes the system is asked to read ahead of a walk.
const walkAhead = 8 << 20

// walk calls fn with every record in [from, to) of the log, in order, and returns where it has stopped: at to, behind the
// last segment, or at the first place that is not a whole record in its own place; then stopped says why. With verify the
// body checksums are checked too. An error is one of fn or of reading. Records are borrowed until fn returns.
func walk(log *segment.Files, from, to int64, verify bool, fn func(message.Record) error) (end int64, stopped, err error) {
	parse := message.ViewRecord
	if verify {
		parse = message.ParseRecord
	}
	for pos := from; pos < to; {
		seg := log.Find(pos)
		if seg == nil {
			return pos, segment.ErrNotFound, nil
		}
		next, stopped, err := walkSegment(log, seg, pos, to, parse, fn)
		if stopped != nil || err != nil {
			return next, stopped, err
		}
		if next == seg.End() && log.Find(next) == nil && next < to {
			return pos, segment.ErrNotFound, nil
		}
		pos = next
	}
	return max(from, to), nil, nil
}

// walkSegment is walk within one segment; it stops behind a blank record at the segment's end.
func walkSegment(log *segment.Files, seg *segment.Segment, pos, to int64,
	parse func([]byte) (message.Record, int, error), fn func(message.Record) error) (end int64, stopped, err error) {
	v, err := log.View(pos, int(min(to, seg.End())-pos))
	if err != nil {
		return pos, nil, fmt.Errorf("read the commit log at %d: %w", pos, err)
	}
	defer v.Release()
	b := v.Bytes()
	for ahead := pos; len(b) > 0; {
		if pos >= ahead {
			prefetch(log, pos, min(walkAhead, int64(len(b))))
			ahead = pos + walkAhead/2
		}
		rec, size, bad := parse(b)
		if errors.Is(bad, message.ErrBlank) {
			if log.Find(seg.End()) == nil { // nothing can follow; it may be overwritten
				return pos, message.ErrBlank, nil
			}
			return seg.End(), nil, nil
		}
		if bad == nil && int64(rec.Position()) != pos {
			bad = errMisplaced
		}
		if bad != nil {
			return pos, bad, nil
		}
		if err := fn(rec); err != nil {
			return pos, nil, err
		}
		b, pos = b[size:], pos+int64(size)
	}
	return pos, nil, nil
}

func prefetch(log *segment.Files, pos, n int64) {
	if v, err := log.ViewUpTo(pos, int(n)); err == nil {
		v.Prefetch()
		v.Release()
	}
}

// lastData returns the position behind the last byte of the log at or behind pos that isn't zero; pos if all are.
func lastData(log *segment.Files, pos int64) (int64, error) {
	last := pos
	var b [64 << 10]byte
	for at := pos; at < log.End(); {
		seg := log.Find(at)
		n := min(seg.End()-at, int64(len(b)))
		if err := log.ReadAt(at, b[:n]); err != nil {
			return last, fmt.Errorf("read the commit log at %d: %w", at, err)
		}
		for i := n - 1; i >= 0; i-- {
			if b[i] != 0 {
				last = at + i + 1
				break
			}
		}
		at += n
	}
	return last, nil
}
