package queue

import (
	"context"
	"sync"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
)

// inlineWakes is how many woken pulls Arrived answers itself. It spares the one consumer that waits for the one message
// a hand-over to another goroutine; more than these go to the waker, so that dispatching isn't held up.
const inlineWakes = 8

// arrivalLists pools Arrived's lists.
var arrivalLists = sync.Pool{New: func() any { return new([]*holder) }}

// Arrived wakes the held pulls for which one of the messages is. The store's dispatcher calls it when the messages can be
// pulled, with all that became so together, in the order of their offsets. It wakes each pull once. Records are not used
// after it has returned.
//
// Before it wakes anybody it lets the programs that are live for the topics judge the messages, within their budget, so
// that the pulls find the verdicts.
func (p *Pulls) Arrived(batch []message.Arrival) {
	covering := p.set.Verdicts != nil && p.live.count.Load() > 0
	if !covering && p.wait.count.Load() == 0 {
		return
	}
	pooled := arrivalLists.Get().(*[]*holder)
	taken := (*pooled)[:0]
	if covering {
		taken = p.judgeArrived(batch, taken)
	} else {
		for len(batch) > 0 && p.wait.count.Load() > 0 {
			n := nextRun(batch)
			taken = p.wait.arrived(batch[:n], nil, taken)
			batch = batch[n:]
		}
	}
	p.answerTaken(taken)
	clear(taken)
	*pooled = taken[:0]
	arrivalLists.Put(pooled)
}

// answerTaken answers pulls that have been taken off their lists: a few at once, the others, and those that may take long,
// by the waker.
func (p *Pulls) answerTaken(taken []*holder) {
	n := 0 // to be answered here, in front
	for i, h := range taken {
		if !h.later {
			taken[i], taken[n] = taken[n], h
			n++
		}
	}
	if n = min(n, inlineWakes); n < len(taken) && !p.wait.handOver(taken[n:]) {
		n = len(taken)
	}
	for _, h := range taken[:n] {
		p.answerHeld(h)
	}
}

// judgeArrived is Arrived when programs are live: it judges the messages and takes the holders off their lists that wait
// for one of them.
func (p *Pulls) judgeArrived(batch []message.Arrival, taken []*holder) []*holder {
	d := &p.round
	d.mu.Lock()
	defer d.mu.Unlock()
	defer d.done()
	defer d.known.reset()
	for batch = d.group(batch); len(batch) > 0; {
		n := nextRun(batch)
		d.judgeRun(p, batch[:n])
		if p.wait.count.Load() > 0 {
			taken = p.wait.arrived(batch[:n], d, taken)
		}
		batch = batch[n:]
	}
	return taken
}

// arrived takes the holders off their list that wait for one of run, which is of one queue. What the round d, if there
// is one, knows of it already need not be found out again.
func (w *waiting) arrived(run []message.Arrival, d *round, taken []*holder) []*holder {
	q := run[0].Queue
	s := w.shard(q)
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.queues[q]
	if list == nil {
		return taken
	}
	s.judge.load(run, d)
	defer s.judge.unload()
	return w.takeLocked(s, q, list, taken, s.judge.accepts)
}

// handOver gives pulls to the waker; false means that it has ended.
func (w *waiting) handOver(hs []*holder) bool {
	w.mu.Lock()
	if w.ended {
		w.mu.Unlock()
		return false
	}
	w.woken = append(w.woken, hs...)
	w.mu.Unlock()
	select {
	case w.signal <- struct{}{}:
	default:
	}
	return true
}

// wake is the waker: it answers what is handed over.
func (p *Pulls) wake(stopped <-chan struct{}) {
	w := &p.wait
	for {
		select {
		case <-stopped:
			return
		case <-w.signal:
		}
		w.mu.Lock()
		hs := w.woken
		w.woken = nil
		w.mu.Unlock()
		for _, h := range hs {
			p.answerHeld(h)
		}
	}
}

// judgeScratch judges a run of arrivals of one queue for one holder after the other.
type judgeScratch struct {
	run      []message.Arrival
	round    *round // nil when no program is live
	codes    []int64
	keep     []uint64
	batch    filter.Batch
	verdicts filter.Verdicts
}

func (j *judgeScratch) load(run []message.Arrival, d *round) {
	j.run, j.round, j.codes = run, d, j.codes[:0]
	for i := range run {
		code := run[i].TagsCode
		if code <= message.MaxExtAddress {
			code = recordTagsCode(run[i].Record)
		}
		j.codes = append(j.codes, code)
	}
}

func (j *judgeScratch) unload() {
	j.run, j.round = nil, nil
	clear(j.batch.Records[:cap(j.batch.Records)])
}

// accepts says whether h waits for one of the run. When a program can't say, or not soon, it says yes: the pull itself finds out.
func (j *judgeScratch) accepts(h *holder) bool {
	first := 0
	for first < len(j.run) && j.run[first].Offset < h.r.Offset {
		first++
	}
	n := len(j.run) - first
	if n == 0 {
		return false
	}
	if h.prog == nil {
		return true
	}
	if judged, maybe, spared := j.round.knows(h.prog, first); judged || spared {
		h.later = spared && !h.prog.foreign
		return maybe || spared
	}
	words := (n + 63) / 64
	if cap(j.keep) < words {
		j.keep = make([]uint64, words, filter.BatchMax/64)
	}
	j.keep = j.keep[:words]
	fillBits(j.keep, n)
	final := false
	if h.prog.index != nil {
		final = h.prog.index.MatchIndex(j.codes[first:], j.keep)
	}
	if !anyBit(j.keep) {
		return false
	}
	return final || h.prog.foreign || j.match(h.prog, first)
}

func (j *judgeScratch) match(prog *program, first int) bool {
	b := &j.batch
	b.Topic, b.Queue = j.run[0].Queue.Topic, j.run[0].Queue.ID
	b.TagsCodes, b.Records = b.TagsCodes[:0], b.Records[:0]
	for i := first; i < len(j.run); i++ {
		if !filter.HasBit(j.keep, i-first) {
			continue
		}
		b.TagsCodes = append(b.TagsCodes, j.codes[i])
		if prog.needs.Record {
			b.Records = append(b.Records, j.run[i].Record)
		}
	}
	j.verdicts.Reset(b.Len())
	err := prog.Match(context.Background(), b, &j.verdicts)
	return err != nil || anyBit(j.verdicts.True) || anyBit(j.verdicts.Undecided)
}

// anyBitFrom says whether bit i or one behind it is set.
func anyBitFrom(words []uint64, i int) bool {
	return words[i>>6]>>(i&63) != 0 || anyBit(words[i>>6+1:])
}

func anyBit(words []uint64) bool {
	for _, w := range words {
		if w != 0 {
			return true
		}
	}
	return false
}
