package queue

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirmq/weir/core/filter"
)

// liveTime is how long a program stays live for a topic after it was last subscribed or pulled with.
const liveTime = 2 * time.Minute

// liveMax bounds how many programs are live, of all topics together. Others judge at the pull only.
const liveMax = 4096

// live knows which programs are worth asking about the messages of a topic when they arrive: those that groups subscribe
// or pull with, and whose verdicts can be kept.
type live struct {
	count  atomic.Int64
	topics sync.Map // string -> *liveTopic, replaced and never changed

	mu sync.Mutex // held to write topics
}

// liveTopic is the programs that are live for a topic. Those that judge by columns share the columns: each property is
// located once in a message, and each number read once, however many programs compare it.
type liveTopic struct {
	programs []*liveProgram
	layout   *filter.Layout
	at       [][]int // of each program: its columns in the layout; nil when it doesn't judge by columns

	columns *filter.Columns // of the one that judges arrivals; made when it is needed
}

// liveProgram is a program that is live for a topic.
type liveProgram struct {
	prog    *program // counted in
	columns filter.ColumnMatcher
	seen    atomic.Int64
	totals  judgedTotals // of the messages that it has judged as they arrived

	// Of the one that judges arrivals:
	cost  float64   // ns for a message, smoothed; 0 when not known
	rest  time.Time // not asked before that
	pause time.Duration
}

func newLiveTopic(programs []*liveProgram) *liveTopic {
	t := &liveTopic{programs: programs, at: make([][]int, len(programs))}
	var all [][]filter.Column
	for _, lp := range programs {
		if lp.columns != nil {
			all = append(all, lp.columns.Columns())
		}
	}
	if len(all) == 0 {
		return t
	}
	t.layout = filter.NewLayout(filter.Union(all...))
	for i, lp := range programs {
		if lp.columns == nil {
			continue
		}
		if at, ok := t.layout.Bind(lp.columns.Columns()); ok && at != nil {
			t.at[i] = at
		}
	}
	return t
}

// of returns what is live for a topic; nil for nothing.
func (l *live) of(topic string) *liveTopic {
	v, ok := l.topics.Load(topic)
	if !ok {
		return nil
	}
	return v.(*liveTopic)
}

func (t *liveTopic) find(key filter.Key) *liveProgram {
	if t == nil {
		return nil
	}
	for _, lp := range t.programs {
		if lp.prog.key == key {
			return lp
		}
	}
	return nil
}

// touch makes prog, which the caller has counted in, live for a topic, or keeps it so. Programs of one key count as one.
func (l *live) touch(topic string, prog *program, now time.Time) {
	if !prog.keepable() || prog.stale() {
		return
	}
	if lp := l.of(topic).find(prog.key); lp != nil {
		lp.seen.Store(now.UnixNano())
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.of(topic)
	if t.find(prog.key) != nil || l.count.Load() >= liveMax || !prog.retain() {
		return
	}
	l.count.Add(1)
	lp := &liveProgram{prog: prog}
	lp.columns, _ = prog.Program.(filter.ColumnMatcher)
	lp.seen.Store(now.UnixNano())
	var programs []*liveProgram
	if t != nil {
		programs = append(programs, t.programs...)
	}
	l.topics.Store(topic, newLiveTopic(append(programs, lp)))
}

// sweep lets go of the programs that nobody has touched since a moment, of the stale ones, and of those whose verdicts may not be kept any
// more: it returns the keys of these.
func (l *live) sweep(before time.Time) (impure []filter.Key) {
	var dropped []*liveProgram
	l.mu.Lock()
	l.topics.Range(func(topic, v any) bool {
		var kept []*liveProgram
		list := v.(*liveTopic).programs
		for _, lp := range list {
			if !lp.prog.keepable() {
				impure = append(impure, lp.prog.key)
			} else if !lp.prog.stale() && lp.seen.Load() >= before.UnixNano() {
				kept = append(kept, lp)
				continue
			}
			dropped = append(dropped, lp)
		}
		switch {
		case len(kept) == 0:
			l.topics.Delete(topic)
		case len(kept) < len(list):
			l.topics.Store(topic, newLiveTopic(kept))
		}
		return true
	})
	l.count.Add(-int64(len(dropped)))
	l.mu.Unlock()
	for _, lp := range dropped {
		lp.prog.release()
	}
	return impure
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
