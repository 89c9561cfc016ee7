package queue

import (
	"context"
	"sync"
	"time"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
)

// Programs that run modules are foreign: the code isn't ours, and may take milliseconds for each message, or wait for its
// turn. Whatever others wait for, the dispatcher first of all, doesn't wait for them:
//
//   - Held pulls of theirs are woken by any message, and answered by goroutines of their own. One that nothing matches is
//     held again.
//   - When messages arrive they judge as much as is done in no time; the rest is left to the pull.

// foreignWakers is how many goroutines answer held pulls of foreign programs. There are more than calls of modules may
// run at a time, so that pulls that need none needn't wait for those that do.
const foreignWakers = 4

// foreignPulls is the pulls that were woken for foreign programs, oldest first.
type foreignPulls struct {
	mu      sync.Mutex // guards all below
	list    []*holder
	next    sync.Cond // on mu: there is one, or it has ended
	running bool
}

func (f *foreignPulls) init() { f.next.L = &f.mu }

// put takes over a holder; false means that the goroutines don't run.
func (f *foreignPulls) put(h *holder) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.running {
		return false
	}
	f.list = append(f.list, h)
	f.next.Signal()
	return true
}

// take waits for a holder; nil means the end.
func (f *foreignPulls) take() *holder {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.list) == 0 && f.running {
		f.next.Wait()
	}
	if !f.running {
		return nil
	}
	h := f.list[0]
	f.list[0] = nil
	f.list = f.list[1:]
	return h
}

// end ends the goroutines and returns what is left.
func (f *foreignPulls) end() []*holder {
	f.mu.Lock()
	defer f.mu.Unlock()
	left := f.list
	f.list, f.running = nil, false
	f.next.Broadcast()
	return left
}

func (p *program) isForeign() bool { return p != nil && p.foreign }

// startForeign starts the goroutines.
func (p *Pulls) startForeign() {
	f := &p.wait.foreign
	f.mu.Lock()
	f.running = true
	f.mu.Unlock()
	for range foreignWakers {
		p.loop.Run(func(<-chan struct{}) {
			for h := f.take(); h != nil; h = f.take() {
				p.wait.count.Add(-1)
				p.answerForeign(h)
			}
		})
	}
}

// answerForeign answers a held pull of a foreign program or, if nothing matches and there is time left, holds it again
// from where it has come to.
func (p *Pulls) answerForeign(h *holder) {
	h.prog.release()
	p.wait.sessions.remove(h)
	if !h.session.Alive() {
		return
	}
	ctx, r := context.Background(), h.r
	c, refused := p.check(ctx, r)
	if refused != nil {
		p.refuse(r, refused)
		return
	}
	p.read(ctx, r, c)
	left := h.deadline.Sub(p.set.Clock.Now())
	if r.Code == message.PullRetryImmediately && r.Remark == statusNoMatch && r.NextBeginOffset > r.Offset && left > 0 {
		r.Offset, r.SuspendTimeout = r.NextBeginOffset, left
		if p.hold(r, c.prog) {
			return
		}
	}
	c.prog.release()
	p.done(r)
}

// What a foreign program may take of one run of arrivals: so many messages in one call, and no further call after so long.
const (
	foreignRun  = 128
	foreignTime = 3 * time.Millisecond
)

// judgeForeign is judge for a foreign program: what isn't judged in time is open. began is when the run began.
func (d *round) judgeForeign(p *Pulls, v *runVerdicts, began time.Time) (judged int) {
	n := len(d.run)
	b := &d.batch
	b.Topic, b.Queue = d.run[0].Queue.Topic, d.run[0].Queue.ID
	for at := 0; at < n; at += foreignRun {
		to := min(at+foreignRun, n)
		if p.set.Clock.Now().Sub(began) >= foreignTime {
			for i := at; i < n; i++ {
				filter.SetBit(v.open, i)
			}
			n = at
			break
		}
		d.wantedOf(v.lp.prog, at, to)
		if b.Len() == 0 {
			continue
		}
		d.verdicts.Reset(b.Len())
		err := v.lp.prog.Match(d.hasty, b, &d.verdicts)
		if err != nil { // whatever it has said before
			d.verdicts.Reset(b.Len())
			fillBits(d.verdicts.Undecided, b.Len())
		}
		v.said.count(&d.verdicts, b.Len())
		for j, i := range d.places {
			if filter.HasBit(d.verdicts.True, j) {
				filter.SetBit(v.yes, i)
			}
			if filter.HasBit(d.verdicts.Undecided, j) {
				filter.SetBit(v.open, i)
			}
		}
	}
	v.said.judged -= v.said.undecided // they are left to the pull, which knows whether they can be judged
	v.said.undecided = 0
	return n
}

// wantedOf fills the batch with those of the run's messages at to to-1 that the index doesn't rule out.
func (d *round) wantedOf(prog *program, at, to int) {
	b := &d.batch
	b.TagsCodes, b.Records, d.places = b.TagsCodes[:0], b.Records[:0], d.places[:0]
	d.keep = growBits(d.keep, (to-at+63)/64)
	fillBits(d.keep, to-at)
	if prog.index != nil {
		prog.index.MatchIndex(d.codes[at:to], d.keep)
	}
	for i := at; i < to; i++ {
		if filter.HasBit(d.keep, i-at) {
			b.TagsCodes, b.Records, d.places = append(b.TagsCodes, d.codes[i]), append(b.Records, d.records[i]), append(d.places, i)
		}
	}
}
