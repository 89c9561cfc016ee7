package wasm

import (
	"context"
	"fmt"
	"sync"

	"github.com/weirmq/weir/core/filter"
)

// shadow is a program that judges beside the one that counts, so that operators see what a new version would change.
// Nothing that it says or does changes a verdict.
type shadow struct {
	*program
	verdicts sync.Pool // of *filter.Verdicts
}

// compare has the shadow judge b, and counts where it and the verdicts v of the current one differ. Messages that the
// current one hasn't judged say nothing.
func (s *shadow) compare(ctx context.Context, b *filter.Batch, v *filter.Verdicts) {
	w, _ := s.verdicts.Get().(*filter.Verdicts)
	if w == nil {
		w = &filter.Verdicts{}
	}
	defer s.verdicts.Put(w)
	w.Reset(b.Len())
	if err := s.Match(ctx, b, w); err != nil {
		return
	}
	f := &s.module.figures
	for i := range b.Len() {
		current, beside := filter.HasBit(v.True, i), filter.HasBit(w.True, i)
		switch {
		case filter.HasBit(v.Undecided, i):
			continue
		case filter.HasBit(w.Undecided, i):
			f.shadowFailed.Add(1)
			continue
		case current && !beside:
			f.onlyCurrent.Add(1)
		case beside && !current:
			f.onlyShadow.Add(1)
		}
		f.compared.Add(1)
		if current != beside {
			s.report.differs(s.module.number, b, i, beside)
		}
	}
}

// differs tells of a message that a shadow judges differently, once a second.
func (r *reporter) differs(number int, b *filter.Batch, i int, beside bool) {
	r.differences.Add(context.Background(), 1, r.attrs...)
	now := r.clock.Now()
	r.mu.Lock()
	ok, unsaid := r.unlike.take(now)
	r.mu.Unlock()
	if !ok {
		return
	}
	r.journal.add(now, "info", number, fmt.Sprintf("as a shadow it says %t, the current version %t: %s (%d more were not listed before)",
		beside, !beside, where(b, i), unsaid))
}
