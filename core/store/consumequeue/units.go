package consumequeue

import (
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/store/segment"
)

// Units shows v the units whose addresses are among codes; it passes over tags codes, and over units that are lost or
// broken.
func (q *Queue) Units(codes []int64, v message.ExtVisitor) {
	x := q.ext
	if x == nil {
		return
	}
	end := x.end.Load()
	var view segment.View
	for i, code := range codes {
		at, ok := message.ExtOffset(code)
		if !ok || at >= end {
			continue
		}
		if view.Segment() == nil || at < view.Pos() || at >= view.Segment().End() {
			view.Release()
			var err error
			if view, err = x.files.ViewUpTo(at, int(x.files.Size())); err != nil {
				view = segment.View{}
				continue
			}
		}
		if u, size, ok := message.DecodeExtUnit(view.Bytes()[at-view.Pos():]); ok && at+int64(size) <= end {
			v.Unit(i, u)
		}
	}
	view.Release()
}

// Extend gives the pending entry of an offset a unit in the extension file, if such are written. Without room for one the
// entry keeps its tags code. Entries are extended in their order, and before Commit.
func (q *Queue) Extend(at message.Offset, u message.ExtUnit) {
	i := int(at-q.next)*message.EntrySize + len(q.pending)
	if q.ext == nil || !q.writeExt || i < 0 || i >= len(q.pending) {
		return
	}
	if address, ok := q.ext.put(u); ok {
		q.setTagsCode(i, address)
		q.ext.last = at
	}
}

// recall gives the entry that was added last, e, the unit that it has in the files, or a new one if such are written.
func (q *Queue) recall(e message.Entry, stored int64) {
	if q.ext == nil {
		return
	}
	u := message.ExtUnit{TagsCode: e.TagsCode, StoreTimestamp: stored}
	old, ok, err := q.raw(q.next - 1)
	if err == nil && ok && old.Position == e.Position && old.Size == e.Size && q.ext.take(old.TagsCode, u) {
		q.setTagsCode(len(q.pending)-message.EntrySize, old.TagsCode)
		q.ext.last = q.next - 1
		return
	}
	q.Extend(q.next-1, u)
}

func (q *Queue) setTagsCode(i int, code int64) {
	e := message.DecodeEntry(q.pending[i:])
	e.TagsCode = code
	message.AppendEntry(q.pending[:i], e)
}

// extLook is how many entries are looked at for the last one with a unit.
const extLook = 64 << 10

// recoverExt finds the end of the extension file: behind the unit of the last entry that has one. Units behind are of
// entries that aren't trusted, and of no use until these are added again.
func (q *Queue) recoverExt(lo message.Offset) error {
	if q.ext == nil {
		return nil
	}
	for at := q.next - 1; at >= lo; at-- {
		q.ext.last = at
		if at < q.next-extLook {
			q.ext.walk()
			return nil
		}
		e, ok, err := q.raw(at)
		if err != nil {
			return err
		}
		if offset, is := message.ExtOffset(e.TagsCode); ok && is && e.TagsCode != message.MaxExtAddress {
			q.ext.follow(offset)
			return nil
		}
	}
	q.ext.begin(q.ext.files.Min())
	q.ext.last = lo - 1
	return nil
}

// expireExt removes the extension files before the unit of the first entry, and all but the last when no entry has one any
// more.
func (q *Queue) expireExt() error {
	if q.ext == nil {
		return nil
	}
	min, end := q.Bounds()
	if min == end {
		return nil
	}
	if min > q.ext.last {
		_, err := q.ext.files.RemoveBefore(q.ext.end.Load())
		return err
	}
	e, err := q.Entry(min)
	if err != nil {
		return err
	}
	at, ok := message.ExtOffset(e.TagsCode)
	if !ok || at >= q.ext.end.Load() {
		return nil
	}
	_, err = q.ext.files.RemoveBefore(at - 1) // as RocketMQ: a file that ends right at it stays
	return err
}
