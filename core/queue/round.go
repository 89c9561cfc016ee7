package queue

import (
	"context"
	"math/bits"
	"slices"
	"sync"
	"time"

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
	records  [][]byte
	order    []int // of the topic's programs, cheapest first
	judged   []runVerdicts
	spared   []filter.Key // programs that the budget doesn't let judge the run
	batch    filter.Batch
	verdicts filter.Verdicts
	places   []int // of the batch's messages in the run
	keep     []uint64

	known   knownVerdicts
	bitmaps []byte // of the messages of the round, lent to the store
	hasty   context.Context
}

type arrivalGroup struct {
	queue message.QueueKey
	n, at int
}

// runVerdicts is what a program says of a run.
type runVerdicts struct {
	lp    *liveProgram
	at    []int // its columns among the topic's; nil when it doesn't judge by columns
	cover *verdict.Cover
	yes   []uint64 // it accepts
	open  []uint64 // it can't tell
	known bool     // it has been asked

	said  judgings
	timed int // messages for which said has the time
}

// maybe says whether the program accepts message i of the run or one behind it, or can't tell.
func (v *runVerdicts) maybe(i int) bool { return anyBitFrom(v.yes, i) || anyBitFrom(v.open, i) }

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

// judgeRun asks the live programs about a run, cheapest first and as far as the budget goes, and puts what they say into
// the covers.
func (d *round) judgeRun(p *Pulls, run []message.Arrival) {
	d.judged, d.spared = d.judged[:0], d.spared[:0]
	topic := p.live.of(run[0].Queue.Topic)
	if topic == nil {
		return
	}
	now := p.set.Clock.Now()
	d.budget.refill(now)
	d.load(run)
	reserved := d.admit(p, topic, now)
	if len(d.judged) == 0 {
		return
	}
	d.judgeAll(p, topic)
	asked := 0
	for i := range d.judged {
		v := &d.judged[i]
		if v.lp.prog.keepable() { // still: it may have been caught just now
			v.cover.Put(run[0].Offset, len(run), v.yes, v.open, d)
		}
		if !v.known {
			asked++
		}
		v.lp.prog.release()
	}
	p.verdicts.JudgedArriving.Add(int64(len(run) * asked))
	d.budget.spent(reserved, p.set.Clock.Now().Sub(now))
}

// judgeAll lets those in judged judge the run that haven't yet.
func (d *round) judgeAll(p *Pulls, topic *liveTopic) {
	start := p.set.Clock.Now()
	d.judgeColumns(p, topic)
	for i := range d.judged {
		if v := &d.judged[i]; v.at == nil && !v.known {
			began, n := p.set.Clock.Now(), len(d.run)
			if v.lp.prog.foreign {
				n = d.judgeForeign(p, v, start)
			} else {
				d.judge(v)
			}
			v.measured(n, p.set.Clock.Now().Sub(began))
			v.timed = len(d.run)
		}
	}
	t := p.live.of(d.run[0].Queue.Topic)
	for i := range d.judged {
		v := &d.judged[i]
		if lp := t.find(v.lp.prog.key); lp != nil && !v.known && v.timed > 0 {
			v.said.time = v.said.time * time.Duration(len(d.run)) / time.Duration(v.timed)
			lp.totals.add(&v.said)
		}
	}
}

// measured notes what the program took for n messages.
func (v *runVerdicts) measured(n int, took time.Duration) {
	v.lp.measured(n, took)
	v.timed += n
	v.said.time += took
}

// knows says what is known for a program of the messages of the run from number first on: judged, and whether it may
// accept one of them; or spared, when somebody who has more time is to judge them. d may be nil.
func (d *round) knows(prog *program, first int) (judged, maybe, spared bool) {
	if d == nil || !prog.keepable() {
		return false, false, false
	}
	for i := range d.judged {
		if v := &d.judged[i]; v.lp.prog.key == prog.key {
			return true, v.maybe(first), false
		}
	}
	return false, false, slices.Contains(d.spared, prog.key)
}

// load takes over a run.
func (d *round) load(run []message.Arrival) {
	d.run, d.codes, d.records = run, d.codes[:0], d.records[:0]
	for i := range run {
		code := run[i].TagsCode
		if code <= message.MaxExtAddress {
			code = recordTagsCode(run[i].Record)
		}
		d.codes, d.records = append(d.codes, code), append(d.records, run[i].Record)
	}
}

// admit lists in judged the programs that are to judge the run, counted in, and returns what is reserved for them.
func (d *round) admit(p *Pulls, topic *liveTopic, now time.Time) (reserved float64) {
	n := len(d.run)
	known := d.known.of(d.run)
	for _, i := range d.cheapestFirst(topic) {
		lp := topic.programs[i]
		at := slices.IndexFunc(known, func(k knownProgram) bool { return k.key == lp.prog.key })
		if at >= 0 && known[at].spared {
			d.spared = append(d.spared, lp.prog.key)
			continue
		}
		ns, ok := 0.0, true
		if at < 0 {
			ns, ok = d.budget.reserve(lp, n, now)
		}
		if !ok {
			p.verdicts.Spared.Add(int64(n))
			d.spared = append(d.spared, lp.prog.key)
			continue
		}
		reserved += ns
		cover := p.set.Verdicts.Cover(d.run[0].Queue, lp.prog.key)
		if cover == nil || !lp.prog.retain() {
			continue
		}
		v := d.ask(lp, topic.at[i], n)
		v.cover = cover
		if at >= 0 {
			d.known.take(&known[at], v)
		}
	}
	return reserved
}

// ask adds a program to judged that is to judge the run's n messages.
func (d *round) ask(lp *liveProgram, at []int, n int) *runVerdicts {
	if len(d.judged) < cap(d.judged) {
		d.judged = d.judged[:len(d.judged)+1]
	} else {
		d.judged = append(d.judged, runVerdicts{})
	}
	v := &d.judged[len(d.judged)-1]
	v.lp, v.at, v.cover, v.known = lp, at, nil, false
	v.said, v.timed = judgings{}, 0
	v.yes, v.open = growBits(v.yes, (n+63)/64), growBits(v.open, (n+63)/64)
	return v
}

// measureEvery says in which words of a run the time of each program is taken.
const measureEvery = 8

// judgeColumns lets the programs that judge by columns judge the run, 64 messages at a time.
func (d *round) judgeColumns(p *Pulls, topic *liveTopic) {
	if !slices.ContainsFunc(d.judged, func(v runVerdicts) bool { return v.at != nil && !v.known }) {
		return
	}
	if topic.columns == nil {
		topic.columns = filter.NewColumns(topic.layout)
	}
	defer topic.columns.Clear()
	for w := 0; w*64 < len(d.run); w++ {
		n := min(filter.ColumnsMax, len(d.run)-w*64)
		topic.columns.Load(d.records[w*64 : w*64+n])
		measure := w%measureEvery == 0
		now := time.Time{}
		if measure {
			now = p.set.Clock.Now()
		}
		for i := range d.judged {
			v := &d.judged[i]
			if v.at == nil || v.known {
				continue
			}
			want := d.wanted(v.lp.prog, w, n)
			word := v.lp.columns.MatchColumns(topic.columns, v.at, want)
			v.yes[w], v.open[w] = word.True, word.Undecided
			v.said.word(&word, bits.OnesCount64(want))
			if measure {
				after := p.set.Clock.Now()
				v.measured(n, after.Sub(now))
				now = after
			}
		}
	}
}

// wanted returns which of the n messages of a word the program has to be asked about: those that the index doesn't rule out.
func (d *round) wanted(prog *program, word, n int) uint64 {
	all := [1]uint64{^uint64(0) >> (64 - n)}
	if prog.index != nil {
		prog.index.MatchIndex(d.codes[word*64:word*64+n], all[:])
	}
	return all[0]
}

// Mark implements verdict.Marks for the run.
func (d *round) Mark(i int) (verdict.Mark, bool) {
	a := &d.run[i]
	return verdict.Mark{Offset: a.Offset, Position: a.Position, Time: a.StoreTimestamp}, true
}

// judge sets v to what its program says of the run.
func (d *round) judge(v *runVerdicts) {
	prog, n := v.lp.prog, len(d.run)
	d.keep = growBits(d.keep, (n+63)/64)
	fillBits(d.keep, n)
	if prog.index != nil && prog.index.MatchIndex(d.codes, d.keep) {
		copy(v.yes, d.keep)
		return
	}
	b := &d.batch
	b.Topic, b.Queue = d.run[0].Queue.Topic, d.run[0].Queue.ID
	b.TagsCodes, b.Records, d.places = b.TagsCodes[:0], b.Records[:0], d.places[:0]
	for i := range n {
		if filter.HasBit(d.keep, i) {
			b.TagsCodes, b.Records, d.places = append(b.TagsCodes, d.codes[i]), append(b.Records, d.records[i]), append(d.places, i)
		}
	}
	if len(d.places) == 0 {
		return
	}
	d.verdicts.Reset(b.Len())
	if err := prog.Match(context.Background(), b, &d.verdicts); err != nil {
		copy(v.open, d.keep)
		v.said.judged, v.said.undecided = int64(len(d.places)), int64(len(d.places))
		return
	}
	v.said.count(&d.verdicts, len(d.places))
	if len(d.places) == n { // usual: places are the same
		copy(v.yes, d.verdicts.True)
		copy(v.open, d.verdicts.Undecided)
		return
	}
	for j, i := range d.places {
		if filter.HasBit(d.verdicts.True, j) {
			filter.SetBit(v.yes, i)
		}
		if filter.HasBit(d.verdicts.Undecided, j) {
			filter.SetBit(v.open, i)
		}
	}
}

// done lets go of the round's messages.
func (d *round) done() {
	clear(d.ordered)
	clear(d.records[:cap(d.records)])
	clear(d.batch.Records[:cap(d.batch.Records)])
	for i := range d.judged[:cap(d.judged)] {
		v := &d.judged[:cap(d.judged)][i]
		v.lp, v.cover, v.at = nil, nil, nil
	}
	d.run = nil
}
