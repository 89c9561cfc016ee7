package queue

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/queue/verdict"
)

// round judges the messages of one round of dispatch for the programs that are live, and notes the verdicts in the
// covers, before anybody can pull the messages by them.
type round struct {
	mu sync.Mutex // one round at a time; guards all below

	// The round's messages by queue.
	groups  []arrivalGroup
	index   map[message.QueueKey]int
	of      []int32 // group of each message
	ordered []message.Arrival

	budget   budget
	run      []message.Arrival // those being judged: neighbours in one queue
	codes    []int64
	progs    []*liveProgram
	batch    filter.Batch
	verdicts filter.Verdicts
	places   []int // of the batch's messages in the run
	keep     []uint64
	yes      []uint64
	open     []uint64
	known    []knownVerdicts
}

type arrivalGroup struct {
	queue message.QueueKey
	n, at int
}

// knownVerdicts is what a program has said of a run: which messages it accepts, or can't tell.
type knownVerdicts struct {
	key   filter.Key
	maybe []uint64
}

// group sorts a round's messages by queue; those of one queue stay in order. The slice is the caller's batch, when there is
// only one queue, or valid until the next call.
func (d *round) group(batch []message.Arrival) []message.Arrival {
	d.groups = d.groups[:0]
	if d.index == nil {
		d.index = map[message.QueueKey]int{}
	}
	clear(d.index)
	d.of = slices.Grow(d.of[:0], len(batch))
	last := -1
	for i := range batch {
		if last < 0 || d.groups[last].queue != batch[i].Queue {
			at, ok := d.index[batch[i].Queue]
			if !ok {
				at = len(d.groups)
				d.groups = append(d.groups, arrivalGroup{queue: batch[i].Queue})
				d.index[batch[i].Queue] = at
			}
			last = at
		}
		d.groups[last].n++
		d.of = append(d.of, int32(last))
	}
	if len(d.groups) == 1 {
		return batch
	}
	at := 0
	for i := range d.groups {
		d.groups[i].at = at
		at += d.groups[i].n
	}
	d.ordered = slices.Grow(d.ordered[:0], len(batch))[:len(batch)]
	for i := range batch {
		g := &d.groups[d.of[i]]
		d.ordered[g.at] = batch[i]
		g.at++
	}
	return d.ordered
}

// nextRun returns the messages at the front of batch that are neighbours in one queue, and judged together.
func nextRun(batch []message.Arrival) int {
	n := 1
	for n < len(batch) && n < filter.BatchMax && batch[n].Queue == batch[0].Queue && batch[n].Offset == batch[0].Offset+message.Offset(n) {
		n++
	}
	return n
}

// judgeRun asks the live programs about a run and returns what they have said.
func (d *round) judgeRun(p *Pulls, run []message.Arrival) []knownVerdicts {
	d.known = d.known[:0]
	progs := p.live.of(run[0].Queue.Topic)
	if len(progs) == 0 {
		return nil
	}
	d.run = run
	d.codes = d.codes[:0]
	for i := range run {
		code := run[i].TagsCode
		if code <= message.MaxExtAddress {
			code = recordTagsCode(run[i].Record)
		}
		d.codes = append(d.codes, code)
	}
	d.progs = append(d.progs[:0], progs...)
	slices.SortFunc(d.progs, func(a, b *liveProgram) int { return cmp.Compare(a.cost, b.cost) })
	now := p.set.Clock.Now()
	d.budget.refill(now)
	for _, lp := range d.progs {
		if !d.budget.allows(lp, len(run), now) {
			p.verdicts.Spared.Add(int64(len(run)))
			continue
		}
		cover := p.set.Verdicts.Cover(run[0].Queue, lp.prog.key)
		if cover == nil || !lp.prog.retain() {
			continue
		}
		d.judge(lp.prog)
		lp.prog.release()
		cover.Put(run[0].Offset, len(run), d.yes, d.open, d)
		d.note(lp.prog.key)
		p.verdicts.JudgedArriving.Add(int64(len(run)))
		after := p.set.Clock.Now()
		d.budget.spent(lp, len(run), after.Sub(now))
		now = after
	}
	return d.known
}

// Mark implements verdict.Marks for the run.
func (d *round) Mark(i int) (verdict.Mark, bool) {
	a := &d.run[i]
	return verdict.Mark{Offset: a.Offset, Position: a.Position, Time: a.StoreTimestamp}, true
}

// judge sets yes and open to what prog says of the run.
func (d *round) judge(prog *program) {
	n := len(d.run)
	words := (n + 63) / 64
	for _, s := range []*[]uint64{&d.keep, &d.yes, &d.open} {
		*s = slices.Grow((*s)[:0], words)[:words]
		clear(*s)
	}
	fillBits(d.keep, n)
	if prog.index != nil && prog.index.MatchIndex(d.codes, d.keep) {
		copy(d.yes, d.keep)
		return
	}
	b := &d.batch
	b.Topic, b.Queue = d.run[0].Queue.Topic, d.run[0].Queue.ID
	b.TagsCodes, b.Records, d.places = b.TagsCodes[:0], b.Records[:0], d.places[:0]
	for i := range n {
		if filter.HasBit(d.keep, i) {
			b.TagsCodes, b.Records, d.places = append(b.TagsCodes, d.codes[i]), append(b.Records, d.run[i].Record), append(d.places, i)
		}
	}
	if len(d.places) == 0 {
		return
	}
	d.verdicts.Reset(b.Len())
	if err := prog.Match(context.Background(), b, &d.verdicts); err != nil {
		copy(d.open, d.keep)
		return
	}
	if len(d.places) == n { // usual: places are the same
		copy(d.yes, d.verdicts.True)
		copy(d.open, d.verdicts.Undecided)
		return
	}
	for j, i := range d.places {
		if filter.HasBit(d.verdicts.True, j) {
			filter.SetBit(d.yes, i)
		}
		if filter.HasBit(d.verdicts.Undecided, j) {
			filter.SetBit(d.open, i)
		}
	}
}

// note remembers for the held pulls what the program has said.
func (d *round) note(key filter.Key) {
	if len(d.known) < cap(d.known) {
		d.known = d.known[:len(d.known)+1]
	} else {
		d.known = append(d.known, knownVerdicts{})
	}
	k := &d.known[len(d.known)-1]
	k.key, k.maybe = key, append(k.maybe[:0], d.yes...)
	for w := range k.maybe {
		k.maybe[w] |= d.open[w]
	}
}

// done lets go of the round's messages.
func (d *round) done() {
	clear(d.ordered)
	clear(d.batch.Records[:cap(d.batch.Records)])
	clear(d.progs)
	d.run = nil
}
