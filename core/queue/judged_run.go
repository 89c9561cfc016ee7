package queue

import (
	"context"
	"errors"
	"math/bits"
	"slices"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/queue/verdict"
)

// judgedBytesMax bounds the records in bytes that are borrowed together to be judged.
const judgedBytesMax = 1 << 20

// judgedRun is entries that are judged together to be kept in a cover.
//
// Entries are decided 64 at a time, so a run begins at the beginning of a word even where the pull is in the middle of it,
// unless the word isn't full yet. Runs grow during a pull: what is judged in vain for this pull is there for the next.
type judgedRun struct {
	log     Log // for the marks
	max     int // entries
	base    message.Offset
	skip    int // leading entries that the queue has lost
	entries []message.Entry
	times   []int64 // store times in ms, -1 where it isn't known
	codes   []int64
	keep    []uint64 // the program has to be asked
	out     []uint64 // ruled out by the prefilter
	yes     []uint64 // it accepts
	open    []uint64 // it can't tell
	wanted  []message.Entry
	places  []int // of the wanted
	stop    int   // the first entry from the pull's on that can't be passed, and
	fault   error // why
	judged  int   // all entries before have a verdict or are open
}

// judgeCovered lets the program judge the next entries, the first of which isn't decided, notes the verdicts and delivers
// what it accepts. It returns how many entries that were.
func (s *scan) judgeCovered(ctx context.Context) (n int, full bool) {
	r := &s.part
	r.log, r.base, r.skip = s.p.set.Log, s.next&^63, 0
	whole := r.base+64 <= s.high
	if !whole {
		r.base = s.next
	}
	at := int(s.next - r.base)
	n = at + s.cursor.Gap(s.next, int(min(int64(r.max), int64(s.high-r.base)))-at)
	if s.low > r.base {
		r.skip = int(s.low - r.base)
	}
	err := s.gather(n)
	if len(r.entries) > at {
		s.judgeRun(ctx, at)
	}
	if at > 0 && (len(r.entries) <= at || r.judged < at) { // what is in front of the pull can't be had: do without
		whole, r.base, r.skip, n, at = false, s.next, 0, n-at, 0
		err = s.gather(n)
		s.judgeRun(ctx, at)
	}
	if n = len(r.entries); n == 0 {
		s.fault = err
		return 0, false
	}
	if whole && s.prog.keepable() {
		s.cursor.Cover().Put(r.base, r.judged&^63, r.yes, r.open, r)
	}
	r.max = min(2*r.max, scanBlock)
	return n - at, s.pickRun(at)
}

// gather reads n entries, the first skip of them left out. It stops where one can't be read.
func (s *scan) gather(n int) error {
	r := &s.part
	r.entries, r.times, r.codes = r.entries[:0], r.times[:0], r.codes[:0]
	for range r.skip {
		r.add(message.Entry{})
	}
	for len(r.entries) < n {
		raw, ref, err := s.p.set.Log.Entries(s.queue, r.base+message.Offset(len(r.entries)), n-len(r.entries))
		if err == nil && len(raw) < message.EntrySize {
			err = errors.New("there is no index entry")
		}
		for err == nil && len(raw) >= message.EntrySize && len(r.entries) < n {
			r.add(message.DecodeEntry(raw))
			raw = raw[message.EntrySize:]
		}
		if ref != nil {
			ref.Release()
		}
		if err != nil {
			if len(r.entries) == r.skip {
				r.entries = r.entries[:0]
			}
			return err
		}
	}
	return nil
}

func (r *judgedRun) add(e message.Entry) {
	r.entries, r.times, r.codes = append(r.entries, e), append(r.times, -1), append(r.codes, e.TagsCode)
}

// judgeRun fills yes, open, and what stops the pull, whose first entry is number at.
func (s *scan) judgeRun(ctx context.Context, at int) {
	r := &s.part
	n := len(r.entries)
	words := (n + 63) / 64
	for _, set := range []*[]uint64{&r.keep, &r.yes, &r.open, &r.out} {
		*set = growBits(*set, words)
	}
	r.stop, r.fault, r.judged = n, nil, n
	fillBits(r.keep, n)
	final := false
	s.units.count = 0
	if slices.ContainsFunc(r.codes, func(c int64) bool { return c <= message.MaxExtAddress }) {
		s.units.read(s, r.codes, r.out)
	}
	if s.prog.index != nil {
		final = s.prog.index.MatchIndex(r.codes, r.keep)
	}
	for i, e := range r.entries {
		switch {
		case i < r.skip:
			filter.ClearBit(r.keep, i)
		case isFiller(e): // it may become a message, should the queue be made again from the log
			filter.ClearBit(r.keep, i)
			filter.SetBit(r.open, i)
		case filter.HasBit(r.out, i): // for this group; others with the same program may have no bits for it
			filter.ClearBit(r.keep, i)
			filter.SetBit(r.open, i)
		case r.codes[i] <= message.MaxExtAddress: // its unit is lost, its tag is in the record
			filter.SetBit(r.keep, i)
			final = false
		}
	}
	if final {
		copy(r.yes, r.keep)
		return
	}
	s.judgeWanted(ctx, at)
}

// growBits returns words words, all zero, in the memory of set if it is large enough.
func growBits(set []uint64, words int) []uint64 {
	if cap(set) < words {
		return make([]uint64, words, scanBlock/64)
	}
	set = set[:words]
	clear(set)
	return set
}

// judgeWanted asks the program about the entries whose bit is left in keep, as many at a time as may be borrowed.
func (s *scan) judgeWanted(ctx context.Context, at int) {
	r := &s.part
	r.wanted, r.places = r.wanted[:0], r.places[:0]
	size := 0
	for w := range r.keep {
		for word := r.keep[w]; word != 0; word &= word - 1 {
			i := w*64 + bits.TrailingZeros64(word)
			e := r.entries[i]
			if !s.present(e) {
				continue
			}
			if size += int(e.Size); size > judgedBytesMax && len(r.wanted) > 0 {
				if !s.judgePart(ctx, at) {
					return
				}
				size = int(e.Size)
			}
			r.wanted, r.places = append(r.wanted, e), append(r.places, i)
		}
	}
	s.judgePart(ctx, at)
}

// judgePart asks the program about the wanted entries and empties that list. It says whether to go on: false when
// a record can't be had or the program fails.
func (s *scan) judgePart(ctx context.Context, at int) bool {
	r := &s.part
	wanted, places := r.wanted, r.places
	defer func() { r.wanted, r.places = r.wanted[:0], r.places[:0] }()
	for len(wanted) > 0 {
		s.scratch.Release()
		n, missing := s.p.set.Log.Lend(wanted, &s.scratch)
		b := &s.batch
		b.Topic, b.Queue = s.queue.Topic, s.queue.ID
		b.Records = appendRecords(b.Records[:0], wanted[:n], s.scratch.Chunks)
		b.TagsCodes = b.TagsCodes[:0]
		for j, i := range places[:n] {
			if r.codes[i] <= message.MaxExtAddress {
				r.codes[i] = recordTagsCode(b.Records[j])
			}
			r.times[i] = message.Record(b.Records[j]).StoreTimestamp()
			b.TagsCodes = append(b.TagsCodes, r.codes[i])
		}
		s.verdicts.Reset(n)
		if n > 0 {
			if err := s.match(ctx); err != nil {
				s.halt(places[0], at, err)
				r.judged = places[0]
				return false
			}
		}
		s.p.verdicts.JudgedPulling.Add(int64(n))
		s.tally.count(&s.verdicts, n)
		for j, i := range places[:n] {
			switch {
			case filter.HasBit(s.verdicts.True, j):
				filter.SetBit(r.yes, i)
			case filter.HasBit(s.verdicts.Undecided, j):
				filter.SetBit(r.open, i)
				switch s.onFailure(j) {
				case filter.Pass:
					filter.SetBit(r.yes, i) // for this pull: a word with an open message isn't kept
				case filter.Hold:
					s.halt(i, at, s.undecided())
				}
			}
		}
		if n == len(wanted) {
			return true
		}
		if !s.hasGone(wanted[n]) {
			s.halt(places[n], at, missing)
			r.judged = places[n]
			return false
		}
		wanted, places = wanted[n+1:], places[n+1:]
	}
	return true
}

// halt notes that the pull, which is at entry at of the run, can't pass entry i, unless something else stops it before.
func (s *scan) halt(i, at int, why error) {
	if r := &s.part; i >= at && i < r.stop {
		r.stop, r.fault = i, why
	}
}

// pickRun delivers what the program accepts of the run from entry at on. It says whether the answer is full.
func (s *scan) pickRun(at int) (full bool) {
	r := &s.part
	s.picked, s.places = s.picked[:0], s.places[:0]
	end := max(at, min(r.stop, r.judged))
	used := end - at
	for i := at; i < end && !full; i++ {
		if filter.HasBit(r.yes, i) {
			var n int
			if n, full = s.pick(r.entries[i], i-at); full {
				used = n
			}
		}
	}
	if place, ok := s.lend(); !ok {
		used = place
	} else if !full {
		s.fault = r.fault
		s.tally.stopped = s.tally.stopped || errors.Is(r.fault, errUndecided)
	}
	s.tally.byIndex += int64(used - onesBelow(r.keep, at+used) + onesBelow(r.keep, at))
	s.countRuledOut(r.out, at, at+used)
	s.next += message.Offset(used)
	return full
}

// Mark implements verdict.Marks. It reads the store time of an entry that wasn't judged from its record.
func (r *judgedRun) Mark(i int) (verdict.Mark, bool) {
	e := r.entries[i]
	if i < r.skip || isFiller(e) {
		return verdict.Mark{}, false
	}
	if r.times[i] < 0 {
		t, err := r.log.StoreTime(e)
		if err != nil {
			return verdict.Mark{}, false
		}
		r.times[i] = t
	}
	return verdict.Mark{Offset: r.base + message.Offset(i), Position: e.Position, Time: r.times[i]}, true
}
