package queue

import (
	"context"
	"math/bits"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/queue/verdict"
)

// coverBlocks is how many blocks of a cover a pull walks over before it begins to look at the time.
const coverBlocks = 64

// covered looks at what comes next in a queue of whose messages the program's verdicts are kept: it passes over what the
// program doesn't accept, and then delivers what it accepts, or lets it judge what it has not judged yet. It returns how
// many entries it has looked at, 0 for none, and whether the answer is full.
func (s *scan) covered(ctx context.Context) (n int, full bool) {
	from := s.next
	at, found := s.cursor.Find(from, s.high, coverBlocks)
	s.blocks += int(at/verdict.BlockEntries-from/verdict.BlockEntries) + 1
	s.jumped += int(at - from)
	s.spared += int(at - from)
	s.p.verdicts.Jumped.Add(int64(at - from))
	s.next = at
	switch found {
	case verdict.Match:
		n, full = s.lendCovered()
	case verdict.Undecided:
		n, full = s.judgeCovered(ctx)
	}
	return n + int(at-from), full
}

// lendCovered delivers what the program has accepted of the next entries, the first of which is one.
func (s *scan) lendCovered() (n int, full bool) {
	n = s.cursor.Load(s.next, int(min(scanBlock, int64(s.high-s.next))), s.keep[:])
	if n = s.upToLast(n, s.countMax-s.count); n == 0 { // it has changed meanwhile: look again
		return 1, false
	}
	raw, ref, err := s.p.set.Log.Entries(s.queue, s.next, n)
	if ref != nil {
		defer ref.Release()
	}
	if err != nil {
		s.fault = err
		return 0, false
	}
	if !s.cursor.Open() { // the queue has been removed meanwhile: the entries may be of its next life
		return n, false
	}
	if n = min(n, len(raw)/message.EntrySize); n%64 != 0 {
		s.keep[n/64] &= 1<<(n%64) - 1
	}
	s.picked, s.places = s.picked[:0], s.places[:0]
	used := s.pickKept(raw[:n*message.EntrySize])
	full = used < n || s.count >= s.countMax
	if place, ok := s.lend(); !ok {
		used = place
	}
	s.next += message.Offset(used)
	s.jumped += used
	s.spared += used - before(s.places, used)
	return n, full
}

// upToLast returns how many of the n entries there are up to the last whose bit is set in keep, bits behind bit number
// most not counted.
func (s *scan) upToLast(n, most int) int {
	last := 0
	for w := range s.keep[:(n+63)/64] {
		word := s.keep[w]
		if set := bits.OnesCount64(word); set < most {
			if most -= set; set > 0 {
				last = w*64 + 64 - bits.LeadingZeros64(word)
			}
			continue
		}
		for ; most > 1; most-- {
			word &= word - 1
		}
		return w*64 + bits.TrailingZeros64(word) + 1
	}
	return last
}
