package queue

import (
	"context"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// sweepInterval is how often all held pulls are looked at. RocketMQ's: clients' time-outs leave room for it.
const sweepInterval = 5 * time.Second

// waiting is the held pulls, in one list for each queue, oldest first.
type waiting struct {
	max    int64
	seed   maphash.Seed
	count  atomic.Int64
	shards [waitShards]waitShard
	// sessions has every holder that is in a list once more.
	sessions sessionHolds

	// woken are pulls to be answered by the waker.
	mu     sync.Mutex // guards woken and ended
	woken  []*holder
	ended  bool // no pull is held any more
	signal chan struct{}

	foreign foreignPulls
}

const waitShards = 64

type waitShard struct {
	mu     sync.Mutex // guards queues and the lists in it
	queues map[message.QueueKey]*waitList
	judge  judgeScratch // guarded by mu too
}

type waitList struct{ holders []*holder }

// holder is one held pull. Whoever removes it from its list, under the shard's lock, owns it.
type holder struct {
	r        *transport.Pull
	session  transport.Session
	queue    message.QueueKey
	prog     *program // counted in
	deadline time.Time
	slot     int  // in its session's list, guarded by that
	later    bool // woken without knowing whether its messages match: its program has to judge them first
}

func (w *waiting) init(limit int) {
	w.max, w.seed, w.signal = int64(limit), maphash.MakeSeed(), make(chan struct{}, 1)
	w.sessions.init()
	w.foreign.init()
	for i := range w.shards {
		w.shards[i].queues = map[message.QueueKey]*waitList{}
	}
}

func (w *waiting) shard(q message.QueueKey) *waitShard {
	return &w.shards[maphash.Comparable(w.seed, q)%waitShards]
}

// hold keeps r until a message comes or its time is over. It returns false, and r is still the caller's, when too many
// are held already. It takes over prog.
func (p *Pulls) hold(r *transport.Pull, prog *program) bool {
	w := &p.wait
	if w.count.Add(1) > w.max {
		w.count.Add(-1)
		p.set.Counters.HoldRefused.Add(1)
		return false
	}
	timeout := min(max(r.SuspendTimeout, 0), p.set.Config.HoldMax)
	q, wanted := queueOf(r), r.Offset
	h := &holder{r: r, session: r.Caller.Session, queue: q, prog: prog, deadline: p.set.Clock.Now().Add(timeout)}
	w.sessions.add(h)
	s := w.shard(q)
	s.mu.Lock()
	if w.isEnded() {
		s.mu.Unlock()
		w.sessions.remove(h)
		w.count.Add(-1)
		return false
	}
	list := s.queues[q]
	if list == nil {
		list = &waitList{}
		s.queues[q] = list
	}
	list.holders = append(list.holders, h)
	s.mu.Unlock()

	// r is not ours any more. A message that arrived between the read and the registration woke nobody, and neither did a
	// program that became stale: look again.
	if _, high, _ := p.set.Log.Bounds(q); (high > wanted || prog.stale()) && w.take(s, q, h) {
		p.answerHeld(h)
	}
	return true
}

func (w *waiting) isEnded() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended
}

// take removes one holder from its list, and says whether it was still there.
func (w *waiting) take(s *waitShard, q message.QueueKey, h *holder) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.queues[q]
	if list == nil {
		return false
	}
	i := slices.Index(list.holders, h)
	if i < 0 {
		return false
	}
	list.holders = slices.Delete(list.holders, i, i+1)
	s.tidyLocked(q, list)
	w.count.Add(-1)
	return true
}

func (s *waitShard) tidyLocked(q message.QueueKey, list *waitList) {
	if len(list.holders) == 0 {
		delete(s.queues, q)
	}
}

// takeLocked moves the holders for which wanted is true to the end of taken.
func (w *waiting) takeLocked(s *waitShard, q message.QueueKey, list *waitList, taken []*holder, wanted func(*holder) bool) []*holder {
	kept := list.holders[:0]
	for _, h := range list.holders {
		if wanted(h) {
			taken = append(taken, h)
			continue
		}
		kept = append(kept, h)
	}
	w.count.Add(int64(len(kept) - len(list.holders)))
	clear(list.holders[len(kept):])
	list.holders = kept
	s.tidyLocked(q, list)
	return taken
}

// answerHeld answers a pull that has been taken off its list, or drops it when its connection is gone. Pulls of foreign
// programs it hands over.
func (p *Pulls) answerHeld(h *holder) {
	if h.prog.isForeign() {
		p.wait.count.Add(1) // as long as it waits for its turn: the bound of held pulls is one for these, too
		if p.wait.foreign.put(h) {
			return
		}
		p.wait.count.Add(-1)
	}
	h.prog.release()
	p.wait.sessions.remove(h)
	if !h.session.Alive() {
		return
	}
	p.again(context.Background(), h.r)
}

// Start begins to sweep and to answer pulls that were woken in numbers.
func (p *Pulls) Start() {
	swept := p.set.Clock.Now() // when figures were
	p.loop.Every(p.set.Clock, sweepInterval, func() {
		p.Sweep()
		if now := p.set.Clock.Now(); now.Sub(swept) >= figuresInterval {
			swept = now
			p.SweepFigures()
		}
	})
	p.loop.Run(p.wake)
	p.startForeign()
	if p.set.Verdicts != nil {
		p.loop.Every(p.set.Clock, p.set.Config.Verdicts.SaveInterval, p.keepVerdicts)
	}
}

// Stop refuses the pulls that are held, and holds no more. It has to come before the connections end: the Go client and
// Java's of 4.9.7 wait 30 s for the answer to a pull whose connection was closed. Refused, they come back after three
// seconds or less; told that there was nothing they would pull at once, and be caught by the closing again.
func (p *Pulls) Stop(ctx context.Context) error {
	w := &p.wait
	left := w.foreign.end()
	w.count.Add(-int64(len(left)))
	err := p.loop.Stop(ctx)
	w.mu.Lock()
	left = append(left, w.woken...)
	w.woken, w.ended = nil, true
	w.mu.Unlock()
	for i := range w.shards {
		s := &w.shards[i]
		s.mu.Lock()
		for q, list := range s.queues {
			left = w.takeLocked(s, q, list, left, func(*holder) bool { return true })
		}
		s.mu.Unlock()
	}
	for _, h := range left {
		h.prog.release()
		w.sessions.remove(h)
		if h.session.Alive() {
			h.r.Code, h.r.Remark = message.ServiceNotAvailable, "the broker is stopping, pull again in a moment"
			h.r.Reply.PullDone(h.r)
		}
	}
	return err
}

// Held returns how many pulls are held.
func (p *Pulls) Held() int { return int(p.wait.count.Load()) }

// Sweep looks at all held pulls: it answers those whose queue has grown, whatever came, and those whose time is over,
// and drops those whose connection has ended. Start makes it run every 5 s.
func (p *Pulls) Sweep() {
	now := p.set.Clock.Now()
	var queues []message.QueueKey
	var taken []*holder
	for i := range p.wait.shards {
		s := &p.wait.shards[i]
		s.mu.Lock()
		queues = queues[:0]
		for q := range s.queues {
			queues = append(queues, q)
		}
		s.mu.Unlock()
		taken = taken[:0]
		for _, q := range queues {
			_, high, _ := p.set.Log.Bounds(q)
			s.mu.Lock()
			if list := s.queues[q]; list != nil {
				taken = p.wait.takeLocked(s, q, list, taken, func(h *holder) bool {
					return high > h.r.Offset || !now.Before(h.deadline) || !h.session.Alive()
				})
			}
			s.mu.Unlock()
		}
		for _, h := range taken {
			p.answerHeld(h)
		}
		clear(taken)
	}
}
