package queue

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
)

// decode reads the entries' tags codes and returns how many entries can be judged: all, unless the record that has to
// tell its own tag can't be had.
func (s *scan) decode(raw []byte) (usable int) {
	n := len(raw) / message.EntrySize
	if least := decodeTagsCodes(s.codes[:n], raw); least <= message.MaxExtAddress {
		clear(s.out[:(n+63)/64])
		s.units.read(s, s.codes[:n], s.out[:(n+63)/64])
		n = s.resolve(s.codes[:n], raw)
	}
	return n
}

// matchIndex clears in keep the bits of entries that can't match, and says whether those that are left do match. Their
// codes have been decoded.
func (s *scan) matchIndex(n int) (final bool) {
	codes, keep := s.codes[:n], s.keep[:(n+63)/64]
	fillBits(keep, n)
	if s.prog.index != nil {
		final = s.prog.index.MatchIndex(codes, keep)
	}
	if s.units.count > 0 {
		for i := range keep {
			keep[i] &^= s.out[i]
		}
	}
	return final
}

// decodeTagsCodes reads the tags code of each raw entry and returns the least.
func decodeTagsCodes(codes []int64, raw []byte) (least int64) {
	for i := range codes {
		code := int64(binary.BigEndian.Uint64(raw[12:message.EntrySize]))
		codes[i] = code
		least = min(least, code)
		raw = raw[message.EntrySize:]
	}
	return least
}

// fillBits sets the first n bits of words and clears the others.
func fillBits(words []uint64, n int) {
	for i := range words {
		words[i] = ^uint64(0)
	}
	if rest := n % 64; rest != 0 {
		words[n/64] = 1<<rest - 1
	}
}

// resolve replaces tags codes that are still addresses in an extension file, because the unit there is lost, by the hash of
// the record's own tag. It stops, with a fault, in front of a record that can't be had, and returns how many codes are good. An entry whose record is
// gone keeps its address: it is passed over when it is picked.
func (s *scan) resolve(codes []int64, raw []byte) (good int) {
	for i, code := range codes {
		if code > message.MaxExtAddress {
			continue
		}
		e := message.DecodeEntry(raw[i*message.EntrySize:])
		if !s.present(e) {
			continue
		}
		s.scratch.Release()
		if n, err := s.p.set.Log.Lend([]message.Entry{e}, &s.scratch); n == 1 {
			codes[i] = recordTagsCode(s.scratch.Chunks[0])
		} else if !s.hasGone(e) {
			s.fault = err
			return i
		}
	}
	return len(codes)
}

// recordTagsCode returns the hash of a record's tag, 0 when it has none or isn't a record.
func recordTagsCode(b []byte) int64 {
	rec, _, err := message.ViewRecord(b)
	if err != nil {
		return 0
	}
	tag, ok := rec.Properties().Get(message.PropTags)
	if !ok {
		return 0
	}
	return message.TagsCode(tag)
}

// errUndecided stops a pull at a message for which its filter has no verdict now. Passing it over would lose it for the
// group, and delivering it would be wrong for a group that filters, so the client comes again.
var errUndecided = errors.New("the filter couldn't judge the next message; try again")

// judgeKept lets the program judge the entries whose bit is left in keep, some at a time, and picks those that it
// accepts until the answer is full. It returns how many entries of the block it has dealt with.
func (s *scan) judgeKept(ctx context.Context, raw []byte) int {
	n := len(raw) / message.EntrySize
	s.judged, s.offsets = s.judged[:0], s.offsets[:0]
	for w := 0; w*64 < n; w++ {
		for word := s.keep[w]; word != 0; word &= word - 1 {
			i := w*64 + bits.TrailingZeros64(word)
			e := message.DecodeEntry(raw[i*message.EntrySize:])
			if !s.present(e) {
				continue
			}
			s.judged, s.offsets = append(s.judged, e), append(s.offsets, i)
			if len(s.judged) < judgeBlock {
				continue
			}
			if used, stop := s.judge(ctx); stop {
				return used
			}
		}
	}
	if used, stop := s.judge(ctx); stop {
		return used
	}
	return n
}

// judge asks the program about the collected entries and empties the collection. It stops when the answer is full or
// the program fails, and then returns how many entries of the block have been dealt with.
func (s *scan) judge(ctx context.Context) (used int, stop bool) {
	entries, offsets := s.judged, s.offsets
	defer func() { s.judged, s.offsets = s.judged[:0], s.offsets[:0] }()
	for len(entries) > 0 {
		n, missing := s.fetch(entries, offsets)
		s.verdicts.Reset(n)
		if err := s.match(ctx); err != nil {
			s.fault = err
			return offsets[0], true
		}
		if used, stop = s.verdict(entries[:n], offsets[:n]); stop {
			s.tally.count(&s.verdicts, before(offsets[:n], used))
			return used, true
		}
		s.tally.count(&s.verdicts, n)
		if n == len(entries) {
			break
		}
		if !s.hasGone(entries[n]) {
			s.fault = missing
			return offsets[n], true
		}
		entries, offsets = entries[n+1:], offsets[n+1:]
	}
	return 0, false
}

// match asks the program about the batch.
func (s *scan) match(ctx context.Context) error {
	began := s.p.set.Clock.Now()
	err := s.prog.Match(ctx, &s.batch, &s.verdicts)
	s.tally.time += s.p.set.Clock.Now().Sub(began)
	s.tally.stopped = s.tally.stopped || err != nil
	return err
}

// before counts the offsets below end, which ascend.
func before(offsets []int, end int) int {
	n, _ := slices.BinarySearch(offsets, end)
	return n
}

func (s *scan) verdict(entries []message.Entry, offsets []int) (used int, stop bool) {
	for j, e := range entries {
		switch {
		case filter.HasBit(s.verdicts.True, j):
			if used, stop = s.pick(e, offsets[j]); stop {
				return used, true
			}
		case filter.HasBit(s.verdicts.Undecided, j):
			switch s.onFailure(j) {
			case filter.Pass:
				if used, stop = s.pick(e, offsets[j]); stop {
					return used, true
				}
			case filter.Hold:
				s.fault, s.tally.stopped = s.undecided(), true
				return offsets[j], true
			}
		}
	}
	return 0, false
}

// onFailure says what becomes of undecided message j of the batch.
func (s *scan) onFailure(j int) filter.FailureAction {
	policy, ok := s.prog.Program.(filter.FailurePolicy)
	switch {
	case !ok:
		return filter.Hold
	case filter.HasBit(s.verdicts.Poison, j):
		return policy.OnPoison()
	}
	return policy.OnFault()
}

// undecided says that there is no verdict now, and why, if the program knows.
func (s *scan) undecided() error {
	if e, ok := s.prog.Program.(filter.Explainer); ok {
		if cause := e.Fault(); cause != nil {
			return fmt.Errorf("%w: %w", errUndecided, cause)
		}
	}
	return errUndecided
}

// fetch fills the batch with the entries, up to the first whose record can't be had, and returns how many that are, and
// why not more.
func (s *scan) fetch(entries []message.Entry, offsets []int) (n int, missing error) {
	s.batch.Topic, s.batch.Queue = s.queue.Topic, s.queue.ID
	s.batch.TagsCodes, s.batch.Records = s.batch.TagsCodes[:0], s.batch.Records[:0]
	n = len(entries)
	if s.prog.needs.Record {
		s.scratch.Release()
		n, missing = s.p.set.Log.Lend(entries, &s.scratch)
		s.batch.Records = appendRecords(s.batch.Records, entries[:n], s.scratch.Chunks)
	}
	for _, i := range offsets[:n] {
		s.batch.TagsCodes = append(s.batch.TagsCodes, s.codes[i])
	}
	return n, missing
}

// appendRecords cuts chunks, which hold the records of entries one behind the other, into those records.
func appendRecords(dst [][]byte, entries []message.Entry, chunks [][]byte) [][]byte {
	for _, c := range chunks {
		for len(c) > 0 && len(entries) > 0 && int(entries[0].Size) <= len(c) {
			size := entries[0].Size
			dst = append(dst, c[:size:size])
			c, entries = c[size:], entries[1:]
		}
	}
	return dst
}
