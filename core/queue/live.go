package queue

import (
	"sync"
	"sync/atomic"
	"time"
)

// liveTime is how long a program stays live for a topic after it was last subscribed or pulled with.
const liveTime = 2 * time.Minute

// liveMax bounds how many programs are live, of all topics together. Others judge at the pull only.
const liveMax = 4096

// live knows which programs are worth asking about the messages of a topic when they arrive: those that groups subscribe
// or pull with, and whose verdicts can be kept.
type live struct {
	count  atomic.Int64
	topics sync.Map // string -> []*liveProgram, replaced and never changed

	mu sync.Mutex // held to write topics
}

// liveProgram is a program that is live for a topic.
type liveProgram struct {
	prog *program // counted in
	seen atomic.Int64

	// Of the one that judges arrivals:
	cost  float64   // ns for a message, smoothed; 0 when not known
	rest  time.Time // not asked before that
	pause time.Duration
}

// of returns the programs that are live for a topic.
func (l *live) of(topic string) []*liveProgram {
	v, ok := l.topics.Load(topic)
	if !ok {
		return nil
	}
	return v.([]*liveProgram)
}

// touch makes prog, which the caller has counted in, live for a topic, or keeps it so. Programs of one key count as one.
func (l *live) touch(topic string, prog *program, now time.Time) {
	if !prog.keepable() {
		return
	}
	for _, lp := range l.of(topic) {
		if lp.prog.key == prog.key {
			lp.seen.Store(now.UnixNano())
			return
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.of(topic)
	for _, lp := range list {
		if lp.prog.key == prog.key {
			return
		}
	}
	if l.count.Load() >= liveMax || !prog.retain() {
		return
	}
	l.count.Add(1)
	lp := &liveProgram{prog: prog}
	lp.seen.Store(now.UnixNano())
	l.topics.Store(topic, append(list[:len(list):len(list)], lp))
}

// sweep lets go of the programs that nobody has touched since a moment.
func (l *live) sweep(before time.Time) {
	var dropped []*liveProgram
	l.mu.Lock()
	l.topics.Range(func(topic, v any) bool {
		var kept []*liveProgram
		list := v.([]*liveProgram)
		for _, lp := range list {
			if lp.seen.Load() >= before.UnixNano() {
				kept = append(kept, lp)
				continue
			}
			dropped = append(dropped, lp)
		}
		switch {
		case len(kept) == 0:
			l.topics.Delete(topic)
		case len(kept) < len(list):
			l.topics.Store(topic, kept)
		}
		return true
	})
	l.count.Add(-int64(len(dropped)))
	l.mu.Unlock()
	for _, lp := range dropped {
		lp.prog.release()
	}
}

// eachProgram calls f with the programs of the filters that are registered and not dead.
func (fs *Filters) eachProgram(f func(topic string, p *program)) {
	fs.find.Range(func(_, v any) bool {
		r := v.(*registered)
		if !r.dead() && r.fault == nil && r.prog.retain() {
			f(r.topic, r.prog)
			r.prog.release()
		}
		return true
	})
}
