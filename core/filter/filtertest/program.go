package filtertest

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/weirmq/weir/core/filter"
)

// checkProgram checks one compiled case in all ways that its messages allow.
func checkProgram(t *testing.T, c filter.Compiler, p filter.Program, x Case) {
	want := make([]Outcome, len(x.Messages))
	for i, m := range x.Messages {
		want[i] = m.Want
	}
	compare := func(what string, got []Outcome) {
		t.Helper()
		for i := range got {
			if w := want[i%len(want)]; got[i] != w {
				t.Errorf("%s: message %d (%+v) is %s, want %s", what, i, x.Messages[i%len(want)], got[i], w)
				return
			}
		}
	}
	if len(want) > 0 {
		compare("one batch", judge(t, p, x.Messages, whole))
		compare("only what is needed", judge(t, p, x.Messages, onlyNeeded))
		for _, n := range []int{1, 63, 64, 65, 200, filter.BatchMax} {
			compare("repeated", judge(t, p, repeat(x.Messages, n), whole))
		}
		checkIndex(t, p, x, want)
		checkConcurrent(t, p, x, compare)
	}
	checkEmpty(t, p)
	again := compile(t, c, x)
	if again.Key() != p.Key() {
		t.Error("compiled twice, the expression has two keys")
	}
	if err := again.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if len(want) > 0 {
		compare("after the close of its twin", judge(t, p, x.Messages, whole))
	}
}

func repeat(list []Message, n int) []Message {
	out := make([]Message, n)
	for i := range out {
		out[i] = list[i%len(list)]
	}
	return out
}

// judge runs one batch and returns the outcomes. It checks that Match leaves the batch alone, sets no bit behind the end
// and no two bits for one message; and it wipes the batch afterwards, so that a program that kept a part of it will show.
func judge(t *testing.T, p filter.Program, messages []Message, how shape) []Outcome {
	t.Helper()
	b := batch(messages, p.Needs(), how)
	copied := batch(messages, p.Needs(), how)
	var v filter.Verdicts
	v.Reset(b.Len())
	if err := p.Match(context.Background(), b, &v); err != nil {
		t.Errorf("match: %v", err)
	}
	if !slices.Equal(b.TagsCodes, copied.TagsCodes) || !slices.EqualFunc(b.Records, copied.Records, bytes.Equal) {
		t.Error("match has changed the batch")
	}
	for _, r := range b.Records {
		for i := range r {
			r[i] = 0xAA
		}
	}
	clear(b.TagsCodes)
	return outcomes(t, &v, len(messages))
}

// outcomes reads the verdicts of n messages.
func outcomes(t *testing.T, v *filter.Verdicts, n int) []Outcome {
	t.Helper()
	sets := []struct {
		bits    []uint64
		outcome Outcome
	}{{v.True, True}, {v.Unknown, Unknown}, {v.Raise, Raise}, {v.Undecided, Undecided}}
	list := make([]Outcome, n)
	for _, s := range sets {
		if len(s.bits) != (n+63)/64 {
			t.Fatalf("the set of %s has %d words for %d messages", s.outcome, len(s.bits), n)
		}
		for i := range 64 * len(s.bits) {
			if !filter.HasBit(s.bits, i) {
				continue
			}
			if i >= n {
				t.Errorf("bit %d behind the end is %s", i, s.outcome)
				continue
			}
			if list[i] != False {
				list[i] = several
				continue
			}
			list[i] = s.outcome
		}
	}
	return list
}

// checkIndex wants MatchIndex to keep everything that may match and, where it says final, nothing else.
func checkIndex(t *testing.T, p filter.Program, x Case, want []Outcome) {
	m, ok := p.(filter.IndexMatcher)
	if !ok {
		return
	}
	for _, n := range []int{len(want), 63, 64, 65, filter.BatchMax} {
		messages := repeat(x.Messages, n)
		codes := batch(messages, p.Needs(), whole).TagsCodes
		keep := make([]uint64, n/64+2)
		for i := range keep {
			keep[i] = ^uint64(0)
		}
		filter.ClearBit(keep, 0)
		final := m.MatchIndex(codes, keep)
		if filter.HasBit(keep, 0) {
			t.Error("match index has set a bit that was clear")
		}
		for i := 1; i < n; i++ {
			kept, w := filter.HasBit(keep, i), want[i%len(want)]
			if !kept && w == True {
				t.Errorf("match index rules message %d out, which is %s", i, w)
			}
			if final && kept && w != True {
				t.Errorf("match index keeps message %d for certain, which is %s", i, w)
			}
		}
		for i := n; i < 64*len(keep); i++ {
			if !filter.HasBit(keep, i) {
				t.Errorf("match index has cleared bit %d behind the end", i)
			}
		}
	}
}

// checkConcurrent judges on several goroutines at once; the race detector watches.
func checkConcurrent(t *testing.T, p filter.Program, x Case, compare func(string, []Outcome)) {
	t.Helper()
	var wg sync.WaitGroup
	results := make([][]Outcome, 4)
	for g := range results {
		wg.Go(func() {
			for range 8 {
				results[g] = judge(t, p, repeat(x.Messages, 130), whole)
			}
		})
	}
	wg.Wait()
	for _, r := range results {
		compare("concurrently", r)
	}
}

// checkEmpty judges a batch of nothing.
func checkEmpty(t *testing.T, p filter.Program) {
	judge(t, p, nil, whole)
	if m, ok := p.(filter.IndexMatcher); ok {
		m.MatchIndex(nil, nil)
	}
}
