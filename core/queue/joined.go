package queue

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"math/bits"
	"slices"
	"sync"

	"github.com/weirmq/weir/core/filter"
)

// joined is a program that accepts what all of several programs accept.
//
// A message that one of them doesn't accept isn't shown to the next: those that judge by the index or without modules come first. One that one of them can't judge is undecided,
// unless another doesn't accept it. What becomes of those is the strictest of what the members say.
type joined struct {
	members []*program // counted in; cheap ones first
	key     filter.Key
	needs   filter.Needs
	scratch sync.Pool // of *joinedScratch
}

type joinedScratch struct {
	batch    filter.Batch
	verdicts filter.Verdicts
	places   []int
}

var (
	_ filter.Program       = (*joined)(nil)
	_ filter.IndexMatcher  = (*joined)(nil)
	_ filter.FailurePolicy = (*joined)(nil)
	_ filter.Renewable     = (*joined)(nil)
	_ filter.Modular       = (*joined)(nil)
	_ filter.Explainer     = (*joined)(nil)
)

// newJoined joins programs, each of which the caller has counted in for it.
func newJoined(members []*program) *joined {
	j := &joined{members: slices.Clone(members)}
	slices.SortStableFunc(j.members, func(a, b *program) int { return dearness(a) - dearness(b) })
	var keys [][]byte
	for _, m := range j.members {
		keys = append(keys, m.key[:])
		j.needs = unite(j.needs, m.needs, len(keys) == 1)
	}
	slices.SortFunc(keys, bytes.Compare)
	j.key = sha256.Sum256(append([]byte("joined/1 "), bytes.Join(slices.CompactFunc(keys, bytes.Equal), nil)...))
	return j
}

// dearness says in which order programs are asked.
func dearness(p *program) int {
	switch {
	case p.foreign:
		return 2
	case p.kept:
		return 1
	}
	return 0
}

func unite(a, b filter.Needs, first bool) filter.Needs {
	if first {
		return b
	}
	u := filter.Needs{Record: a.Record || b.Record, Body: a.Body || b.Body}
	if u.Body && (!a.Body || a.BodyMax > 0) && (!b.Body || b.BodyMax > 0) {
		u.BodyMax = max(a.BodyMax, b.BodyMax)
	}
	if (a.Properties != nil || !a.Record) && (b.Properties != nil || !b.Record) { // nil with a record means all
		u.Properties = slices.Concat(a.Properties, b.Properties)
		slices.Sort(u.Properties)
		u.Properties = slices.Compact(u.Properties)
	}
	return u
}

func (j *joined) Key() filter.Key     { return j.key }
func (j *joined) Needs() filter.Needs { return j.needs }

// Pure says that all members are.
func (j *joined) Pure() bool {
	return !slices.ContainsFunc(j.members, func(m *program) bool { return !m.Pure() })
}

// Warnings are the members' own, and were told when they were compiled.
func (j *joined) Warnings() []string { return nil }

// Close lets go of the members.
func (j *joined) Close() error {
	for _, m := range j.members {
		m.release()
	}
	return nil
}

// MatchIndex clears what one of the members rules out. It is final when it is for each.
func (j *joined) MatchIndex(codes []int64, keep []uint64) (final bool) {
	final = true
	for _, m := range j.members {
		final = m.index != nil && m.index.MatchIndex(codes, keep) && final
	}
	return final
}

// Match asks each member about the messages that those before it accept or can't judge.
func (j *joined) Match(ctx context.Context, b *filter.Batch, v *filter.Verdicts) error {
	n := b.Len()
	fillBits(v.True[:(n+63)/64], n)
	s, _ := j.scratch.Get().(*joinedScratch)
	if s == nil {
		s = &joinedScratch{}
	}
	defer func() {
		clear(s.batch.Records[:cap(s.batch.Records)])
		j.scratch.Put(s)
	}()
	for _, m := range j.members {
		if !s.load(b, v) {
			return nil
		}
		s.verdicts.Reset(len(s.places))
		if err := m.Match(ctx, &s.batch, &s.verdicts); err != nil {
			clear(v.True)
			return err
		}
		s.apply(v)
	}
	return nil
}

// load collects the messages that no member has decided against, and says whether there are any.
func (s *joinedScratch) load(b *filter.Batch, v *filter.Verdicts) bool {
	s.batch.Topic, s.batch.Queue = b.Topic, b.Queue
	s.batch.TagsCodes, s.batch.Records, s.places = s.batch.TagsCodes[:0], s.batch.Records[:0], s.places[:0]
	for w := range v.True {
		for word := v.True[w] | v.Undecided[w]; word != 0; word &= word - 1 {
			i := w*64 + bits.TrailingZeros64(word)
			s.places = append(s.places, i)
			s.batch.TagsCodes = append(s.batch.TagsCodes, b.TagsCodes[i])
			if len(b.Records) > 0 {
				s.batch.Records = append(s.batch.Records, b.Records[i])
			}
		}
	}
	return len(s.places) > 0
}

// apply joins a member's verdicts with those before.
func (s *joinedScratch) apply(v *filter.Verdicts) {
	for k, i := range s.places {
		switch {
		case filter.HasBit(s.verdicts.True, k):
			continue // as it was, true or undecided
		case filter.HasBit(s.verdicts.Undecided, k):
			filter.SetBit(v.Undecided, i)
			if filter.HasBit(s.verdicts.Poison, k) {
				filter.SetBit(v.Poison, i)
			}
			filter.ClearBit(v.True, i)
			continue
		case filter.HasBit(s.verdicts.Unknown, k):
			filter.SetBit(v.Unknown, i)
		case filter.HasBit(s.verdicts.Raise, k):
			filter.SetBit(v.Raise, i)
		}
		filter.ClearBit(v.True, i)
		filter.ClearBit(v.Undecided, i)
		filter.ClearBit(v.Poison, i)
	}
}

// OnPoison and OnFault are never Pass: what a mandatory filter can't judge isn't delivered. They are Drop when all members say so, else Hold.
func (j *joined) OnPoison() filter.FailureAction {
	return j.strictest(func(p filter.FailurePolicy) filter.FailureAction { return p.OnPoison() })
}

// OnFault see OnPoison.
func (j *joined) OnFault() filter.FailureAction {
	return j.strictest(func(p filter.FailurePolicy) filter.FailureAction { return p.OnFault() })
}

func (j *joined) strictest(of func(filter.FailurePolicy) filter.FailureAction) filter.FailureAction {
	for _, m := range j.members {
		if policy, ok := m.Program.(filter.FailurePolicy); ok && of(policy) == filter.Drop {
			continue
		}
		if m.needs.Record { // one that judges by the index alone never fails
			return filter.Hold
		}
	}
	return filter.Drop
}

// Stale says whether one of the members is.
func (j *joined) Stale() bool { return slices.ContainsFunc(j.members, (*program).stale) }

// ModuleRefs lists the members' modules.
func (j *joined) ModuleRefs() (refs []filter.ModuleRef) {
	for _, m := range j.members {
		refs = append(refs, m.modules()...)
	}
	return refs
}

// Fault joins the members' faults.
func (j *joined) Fault() error {
	var errs []error
	for _, m := range j.members {
		if e, ok := m.Program.(filter.Explainer); ok {
			errs = append(errs, e.Fault())
		}
	}
	return errors.Join(errs...)
}
