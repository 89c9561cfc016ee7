package queue

import (
	"hash/maphash"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirmq/weir/core/filter"
)

// judgings counts what a program said of messages. The zero value is ready; it isn't safe for concurrent use.
type judgings struct {
	judged, unknown, raised, undecided int64
	time                               time.Duration
}

// count adds the first passed of the verdicts.
func (j *judgings) count(v *filter.Verdicts, passed int) {
	j.judged += int64(passed)
	j.unknown += int64(onesBelow(v.Unknown, passed))
	j.raised += int64(onesBelow(v.Raise, passed))
	j.undecided += int64(onesBelow(v.Undecided, passed))
}

// word adds the outcomes of n messages.
func (j *judgings) word(w *filter.Word, n int) {
	j.judged += int64(n)
	j.unknown += int64(bits.OnesCount64(w.Unknown))
	j.raised += int64(bits.OnesCount64(w.Raise))
	j.undecided += int64(bits.OnesCount64(w.Undecided))
}

// onesBelow counts the set bits among the first n.
func onesBelow(words []uint64, n int) (ones int) {
	for _, w := range words[:n>>6] {
		ones += bits.OnesCount64(w)
	}
	if rest := n & 63; rest != 0 {
		ones += bits.OnesCount64(words[n>>6] & (1<<rest - 1))
	}
	return ones
}

// judgedTotals are judgings that are read while they grow.
type judgedTotals struct {
	judged, unknown, raised, undecided, time atomic.Int64
}

func (t *judgedTotals) add(j *judgings) {
	if j.judged == 0 {
		return
	}
	t.judged.Add(j.judged)
	t.time.Add(int64(j.time))
	if j.unknown|j.raised|j.undecided != 0 {
		t.unknown.Add(j.unknown)
		t.raised.Add(j.raised)
		t.undecided.Add(j.undecided)
	}
}

// tally is what a pull has come to.
type tally struct {
	judgings
	byIndex int64
	stopped bool // by the filter
}

// figures are a filter's, as far as pulls go.
type figures struct {
	scanned, matched, byIndex, byCover, errors atomic.Int64
	judged                                     judgedTotals
	seen                                       atomic.Int64 // by the sweeps, when it last was used: their number
}

func (f *figures) add(s *scan) {
	f.scanned.Add(int64(s.next - s.r.Offset))
	if n := s.r.Records.Count; n > 0 {
		f.matched.Add(int64(n))
	}
	if s.tally.byIndex > 0 {
		f.byIndex.Add(s.tally.byIndex)
	}
	if s.spared > 0 {
		f.byCover.Add(int64(s.spared))
	}
	if s.tally.stopped {
		f.errors.Add(1)
	}
	f.judged.add(&s.tally.judgings)
}

// figureTable has the figures of each group and topic that is pulled with a filter, up to a number. It is safe for
// concurrent use.
type figureTable struct {
	max     int64
	seed    maphash.Seed
	count   atomic.Int64
	sweeps  atomic.Int64
	dropped atomic.Int64 // pulls that weren't counted, because there were too many
	shards  [counterShards]figureShard
}

type figureShard struct {
	mu    sync.RWMutex
	items map[filterKey]*figures // guarded by mu
}

func (t *figureTable) init(most int) {
	t.max, t.seed = int64(most), maphash.MakeSeed()
	for i := range t.shards {
		t.shards[i].items = map[filterKey]*figures{}
	}
}

// add counts a pull.
func (t *figureTable) add(s *scan) {
	k := filterKey{s.queue.Topic, s.r.Group}
	f := t.find(k)
	if f == nil {
		if f = t.create(k); f == nil {
			t.dropped.Add(1)
			return
		}
	}
	if now := t.sweeps.Load(); f.seen.Load() != now {
		f.seen.Store(now)
	}
	f.add(s)
}

func (t *figureTable) shard(k filterKey) *figureShard {
	return &t.shards[maphash.Comparable(t.seed, k)%counterShards]
}

func (t *figureTable) find(k filterKey) *figures {
	s := t.shard(k)
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.items[k]
}

func (t *figureTable) create(k filterKey) *figures {
	s := t.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.items[k]; f != nil {
		return f
	}
	if t.count.Load() >= t.max {
		return nil
	}
	t.count.Add(1)
	f := &figures{}
	s.items[k] = f
	return f
}

// figuresInterval is how often figures of subscriptions that have gone are looked for.
const figuresInterval = time.Minute

// SweepFigures removes the figures of subscriptions that have gone. Start makes it run every minute.
func (p *Pulls) SweepFigures() { p.figures.sweep(p.subscribed) }

// idleSweeps is how many sweeps figures outlive their subscription's last pull.
const idleSweeps = 2

// sweep removes the figures that nobody has added to for a while and whose subscription has gone.
func (t *figureTable) sweep(subscribed func(filterKey) bool) {
	now := t.sweeps.Add(1)
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.Lock()
		for k, f := range s.items {
			if now-f.seen.Load() > idleSweeps && !subscribed(k) {
				delete(s.items, k)
				t.count.Add(-1)
			}
		}
		s.mu.Unlock()
	}
}

// each calls f for all figures, in no order.
func (t *figureTable) each(f func(filterKey, *figures)) {
	type item struct {
		key filterKey
		of  *figures
	}
	var all []item
	for i := range t.shards {
		s := &t.shards[i]
		all = all[:0]
		s.mu.RLock()
		for k, of := range s.items {
			all = append(all, item{k, of})
		}
		s.mu.RUnlock()
		for _, x := range all {
			f(x.key, x.of)
		}
	}
}
