package queue

import (
	"cmp"
	"slices"
	"time"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
)

// bitmapFilters is the filters of a topic whose bits go into RocketMQ's Bloom bitmaps: all that a Java broker has as well,
// dead ones included. It is replaced when one of them changes.
type bitmapFilters struct {
	list []*registered
	of   []int // of each filter: its program among the programs; -1 when it has none
	// programs are the filters' programs, each once. None is counted in. All but prog belongs to the one that judges arrivals.
	programs *liveTopic
}

// with returns the filters with f in the place of the one of its group; without f when f has been removed.
func (t *bitmapFilters) with(f *registered, removed bool) *bitmapFilters {
	next := &bitmapFilters{}
	if t != nil {
		next.list = slices.Clone(t.list)
	}
	next.list = slices.DeleteFunc(next.list, func(x *registered) bool { return x.group == f.group })
	if !removed && f.portable() {
		next.list = append(next.list, f)
	}
	if len(next.list) == 0 {
		return nil
	}
	var programs []*liveProgram
	for _, f := range next.list {
		i := -1
		if f.fault == nil {
			if i = slices.IndexFunc(programs, func(lp *liveProgram) bool { return lp.prog.key == f.prog.key }); i < 0 {
				i = len(programs)
				programs = append(programs, t.program(f.prog))
			}
		}
		next.of = append(next.of, i)
	}
	next.programs = newLiveTopic(programs)
	return next
}

// program returns what is known of a program from before, or nothing yet.
func (t *bitmapFilters) program(p *program) *liveProgram {
	if t != nil {
		if lp := t.programs.find(p.key); lp != nil && lp.prog == p {
			return lp
		}
	}
	lp := &liveProgram{prog: p}
	lp.columns, _ = p.Program.(filter.ColumnMatcher)
	return lp
}

// forBitmaps returns the filters of a topic that are to judge messages stored up to a time in ms, their programs counted
// in; nil for none.
//
// A filter that is registered later gets a later time of birth, by which everybody knows that it has not judged them.
func (fs *Filters) forBitmaps(topic string, newest int64) *bitmapFilters {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.newest = max(fs.newest, newest)
	if !fs.complete {
		return nil
	}
	t := fs.topics[topic]
	if t == nil {
		return nil
	}
	for _, lp := range t.programs.programs {
		lp.prog.refs.Add(1) // the register's own count keeps it above 0
	}
	return t
}

func (t *bitmapFilters) release() {
	for _, lp := range t.programs.programs {
		lp.prog.release()
	}
}

// Bitmaps sets the Bloom bitmaps of messages that are about to become readable, as a Java broker with
// enableCalcFilterBitMap does: the bits of every filter of the topic that accepts the message. The store's dispatcher calls
// it before Arrived, with the same messages, which finds the verdicts then.
//
// A bit that isn't set is final. So where a filter can't tell, or the budget doesn't let it judge, its bits are set.
func (p *Pulls) Bitmaps(batch []message.Arrival) {
	d := &p.round
	d.mu.Lock()
	defer d.mu.Unlock()
	defer d.done()
	d.known.reset()
	size := p.set.Filters.bitmapSize()
	if size == 0 {
		return
	}
	d.bitmaps = slices.Grow(d.bitmaps[:0], size*len(batch))
	ordered := d.group(batch)
	for rest := ordered; len(rest) > 0; {
		n := nextRun(rest)
		d.bitmapRun(p, rest[:n], size)
		rest = rest[n:]
	}
	if len(d.groups) == 1 {
		return
	}
	for i := len(d.groups) - 1; i > 0; i-- { // at is behind each group's messages now
		d.groups[i].at = d.groups[i-1].at
	}
	d.groups[0].at = 0
	for i := range batch {
		g := &d.groups[d.of[i]]
		batch[i].Bitmap = ordered[g.at].Bitmap
		g.at++
	}
}

// bitmapRun sets the bitmaps of a run.
func (d *round) bitmapRun(p *Pulls, run []message.Arrival, size int) {
	newest := int64(0)
	for i := range run {
		newest = max(newest, run[i].StoreTimestamp)
	}
	t := p.set.Filters.forBitmaps(run[0].Queue.Topic, newest)
	if t == nil {
		return
	}
	defer t.release()
	now := p.set.Clock.Now()
	d.budget.refill(now)
	d.load(run)
	d.judged, d.spared = d.judged[:0], d.spared[:0]
	reserved := d.admitBitmaps(p, t.programs, now)
	d.judgeAll(p, t.programs)
	d.budget.spent(reserved, p.set.Clock.Now().Sub(now))
	d.known.note(run, d)
	for i := range run {
		from := len(d.bitmaps)
		d.bitmaps = d.bitmaps[:from+size]
		clear(d.bitmaps[from:])
		run[i].Bitmap = d.bitmaps[from : from+size : from+size]
	}
	for i, f := range t.list {
		v := d.verdictsOf(t, t.of[i])
		for j := range run {
			if v == nil || filter.HasBit(v.yes, j) || filter.HasBit(v.open, j) {
				setBits(run[j].Bitmap, f.probes)
			}
		}
	}
}

// verdictsOf returns what a topic's program has said of the run; nil when it wasn't asked.
func (d *round) verdictsOf(t *bitmapFilters, program int) *runVerdicts {
	if program < 0 {
		return nil
	}
	lp := t.programs.programs[program]
	for i := range d.judged {
		if d.judged[i].lp == lp {
			return &d.judged[i]
		}
	}
	return nil
}

// admitBitmaps lists in judged the programs that are to judge the run, and returns what is reserved for them.
func (d *round) admitBitmaps(p *Pulls, topic *liveTopic, now time.Time) (reserved float64) {
	n := len(d.run)
	for _, i := range d.cheapestFirst(topic) {
		lp := topic.programs[i]
		ns, ok := d.budget.reserve(lp, n, now)
		if !ok {
			p.verdicts.Spared.Add(int64(n))
			d.spared = append(d.spared, lp.prog.key)
			continue
		}
		reserved += ns
		d.ask(lp, topic.at[i], n)
	}
	p.verdicts.JudgedArriving.Add(int64(n * len(d.judged)))
	return reserved
}

// cheapestFirst returns the numbers of a topic's programs in the order in which they are let in.
func (d *round) cheapestFirst(topic *liveTopic) []int {
	d.order = d.order[:0]
	for i := range topic.programs {
		d.order = append(d.order, i)
	}
	slices.SortFunc(d.order, func(a, b int) int { return cmp.Compare(topic.programs[a].cost, topic.programs[b].cost) })
	return d.order
}

// knownVerdicts is what Bitmaps has found out about a round's messages, for Arrived.
type knownVerdicts struct {
	runs     []knownRun
	programs []knownProgram
	words    []uint64 // of each program that judged a run: accepted, then undecided
}

type knownRun struct {
	queue    message.QueueKey
	first    message.Offset
	n        int
	from, to int // programs
}

type knownProgram struct {
	key    filter.Key
	at     int // words
	spared bool
}

func (k *knownVerdicts) reset() {
	clear(k.runs)
	k.runs, k.programs, k.words = k.runs[:0], k.programs[:0], k.words[:0]
}

// note takes over what d's programs have said of a run.
func (k *knownVerdicts) note(run []message.Arrival, d *round) {
	from := len(k.programs)
	for i := range d.judged {
		v := &d.judged[i]
		k.programs = append(k.programs, knownProgram{key: v.lp.prog.key, at: len(k.words)})
		k.words = append(append(k.words, v.yes...), v.open...)
	}
	for _, key := range d.spared {
		k.programs = append(k.programs, knownProgram{key: key, spared: true})
	}
	k.runs = append(k.runs, knownRun{run[0].Queue, run[0].Offset, len(run), from, len(k.programs)})
}

// of returns the programs that were asked about a run.
func (k *knownVerdicts) of(run []message.Arrival) []knownProgram {
	for i := range k.runs {
		if r := &k.runs[i]; r.first == run[0].Offset && r.n == len(run) && r.queue == run[0].Queue {
			return k.programs[r.from:r.to]
		}
	}
	return nil
}

// take sets v to what its program has said, and says whether that is known.
func (k *knownVerdicts) take(p *knownProgram, v *runVerdicts) {
	n := len(v.yes)
	copy(v.yes, k.words[p.at:p.at+n])
	copy(v.open, k.words[p.at+n:p.at+2*n])
	v.known = true
}
