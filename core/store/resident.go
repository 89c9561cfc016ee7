package store

import (
	"sync/atomic"

	"github.com/weirmq/weir/core/store/segment"
)

// residentWindow is how many bytes of the log are asked about, and remembered, together. A pull of small messages takes
// a fraction of that, and asking costs a system call.
const residentWindow = 256 << 10

// residentSlots bounds what is remembered: 1 GiB of log that is being read.
const residentSlots = 4096

// residency remembers for up to a second which parts of the log were found in memory. That one is thrown out meanwhile
// costs whoever touches it a page fault.
type residency struct {
	epoch atomic.Uint32                // moved on every second
	slots [residentSlots]atomic.Uint64 // number of a window plus one, and below it the epoch in which it was in memory
}

// tick lets the answers of the last epoch expire.
func (r *residency) tick() { r.epoch.Add(1) }

func (r *residency) mark(window int64) uint64 {
	return uint64(window+1)<<16 | uint64(r.epoch.Load()&0xffff)
}

// known says whether all windows of [pos, pos+n) were found in memory lately.
func (r *residency) known(pos, n int64) bool {
	for w := pos / residentWindow; w*residentWindow < pos+n; w++ {
		if r.slots[w%residentSlots].Load() != r.mark(w) {
			return false
		}
	}
	return true
}

// note remembers that all windows of [pos, pos+n) are in memory.
func (r *residency) note(pos, n int64) {
	for w := pos / residentWindow; w*residentWindow < pos+n; w++ {
		r.slots[w%residentSlots].Store(r.mark(w))
	}
}

// resident says whether the bytes of v are in memory. end is the end of what can be read.
func (s *Store) resident(v segment.View, end int64) bool {
	pos, n := v.Pos(), int64(len(v.Bytes()))
	if s.residency.known(pos, n) {
		return true
	}
	if !v.Resident() {
		return false
	}
	from := max(pos-pos%residentWindow, v.Segment().Start())
	to := min((pos+n+residentWindow-1)/residentWindow*residentWindow, v.Segment().End(), end)
	if wide, err := s.log.View(from, int(to-from)); err == nil {
		if wide.Resident() {
			s.residency.note(pos, n)
		}
		wide.Release()
	}
	return true
}
