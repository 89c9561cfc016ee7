package queue

import (
	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
)

// prefilter is what RocketMQ's Bloom bitmaps say of a filter: a message whose bitmap lacks one of the filter's bits was
// judged by it when it arrived, and not accepted. That is final; a message that has the bits is judged like any other.
//
// It is asked only where there is no verdict of our own, and only for a filter that a Java broker has as well. A nil
// prefilter rules nothing out.
type prefilter struct {
	born   int64 // ms: messages stored up to then were not judged by the filter
	bytes  int   // of its bitmap
	probes []int32
}

// prefilter returns f's; nil when a Java broker doesn't have the filter.
func (f *registered) prefilter() *prefilter {
	if f.fault != nil || !f.portable() {
		return nil
	}
	return &prefilter{born: f.born, bytes: f.bits / 8, probes: f.probes}
}

// rulesOut says whether the unit of a message shows that the filter doesn't accept it. The conditions are Java's
// (ExpressionMessageFilter.isMatchedByConsumeQueue).
func (b *prefilter) rulesOut(u *message.ExtUnit) bool {
	if b == nil || u.StoreTimestamp <= b.born || len(u.Bitmap) != b.bytes || b.bytes == 0 {
		return false
	}
	for _, p := range b.probes {
		if u.Bitmap[p>>3]&(1<<(p&7)) == 0 {
			return true
		}
	}
	return false
}

// setBits sets the bits of a filter in a bitmap.
func setBits(bitmap []byte, probes []int32) {
	for _, p := range probes {
		bitmap[p>>3] |= 1 << (p & 7)
	}
}

// unitReader reads the units of some entries: it puts the tags codes that they have in the place of their addresses, and
// notes which of the entries the prefilter rules out.
type unitReader struct {
	by    *prefilter
	codes []int64
	out   []uint64 // ruled out
	count int      // of these
}

// Unit implements message.ExtVisitor.
func (r *unitReader) Unit(i int, u message.ExtUnit) {
	r.codes[i] = u.TagsCode
	if r.by.rulesOut(&u) {
		filter.SetBit(r.out, i)
		r.count++
	}
}

// read reads the units of codes that are addresses, and sets in out, all clear, the bits of those that are ruled out.
func (r *unitReader) read(s *scan, codes []int64, out []uint64) {
	r.by, r.codes, r.out, r.count = s.pre, codes, out, 0
	s.p.set.Log.Units(s.queue, codes, r)
	r.by, r.codes, r.out = nil, nil, nil
}

// countRuledOut counts entries from number first up to end that were passed over.
func (s *scan) countRuledOut(out []uint64, first, end int) {
	if s.units.count == 0 {
		return
	}
	n := 0
	for i := first; i < end; i++ {
		if filter.HasBit(out, i) {
			n++
		}
	}
	s.p.verdicts.RuledOut.Add(int64(n))
}
