package queue

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirmq/weir/core/transport"
)

// Meter counts, and knows its rate over the last 10, 60 and 600 seconds. The zero Meter is ready for use.
type Meter struct {
	total atomic.Int64

	mu      sync.Mutex  // guards all below
	samples [601]sample // one a second, in a ring
	next    int         // where the next sample goes
	filled  int         // how many there are
}

type sample struct {
	at           time.Time
	value, times int64
}

// Add counts n more.
func (m *Meter) Add(n int64) { m.total.Add(n) }

// Total returns the count since the start.
func (m *Meter) Total() int64 { return m.total.Load() }

func (m *Meter) sample(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.samples[m.next] = sample{at: now, value: m.total.Load()}
	m.next = (m.next + 1) % len(m.samples)
	m.filled = min(m.filled+1, len(m.samples))
}

// Rates returns the counts a second over the last 10, 60 and 600 seconds, or since the start when that is less.
func (m *Meter) Rates() [3]float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	var rates [3]float64
	if m.filled == 0 {
		return rates
	}
	last := m.samples[(m.next+len(m.samples)-1)%len(m.samples)]
	for i, seconds := range [3]int{10, 60, 600} {
		back := min(seconds, m.filled-1)
		first := m.samples[(m.next+2*len(m.samples)-1-back)%len(m.samples)]
		if d := last.at.Sub(first.at).Seconds(); d > 0 {
			rates[i] = float64(last.value-first.value) / d
		}
	}
	return rates
}

// item is one counter with RocketMQ's three windows: the last minute, hour and day, moved on every ten seconds, ten
// minutes and hour.
type item struct {
	value, times atomic.Int64

	mu                sync.Mutex // guards all below
	minute, hour, day window
}

// window is the last few samples, oldest first. Its size bounds it.
type window struct {
	samples []sample
	size    int
}

func (w *window) add(s sample) {
	if len(w.samples) == w.size {
		copy(w.samples, w.samples[1:])
		w.samples = w.samples[:w.size-1]
	}
	w.samples = append(w.samples, s)
}

func newItem(now time.Time) *item {
	it := &item{minute: window{size: 7}, hour: window{size: 7}, day: window{size: 25}}
	for _, w := range []*window{&it.minute, &it.hour, &it.day} {
		w.add(sample{at: now})
	}
	return it
}

// sample moves the windows on and says whether nothing was counted for a day. ticks are seconds, a multiple of 10.
func (it *item) sample(now time.Time, ticks int) (idle bool) {
	it.mu.Lock()
	defer it.mu.Unlock()
	s := sample{at: now, value: it.value.Load(), times: it.times.Load()}
	it.minute.add(s)
	if ticks%600 == 0 {
		it.hour.add(s)
	}
	if ticks%3600 == 0 {
		it.day.add(s)
		return len(it.day.samples) == it.day.size && it.day.samples[0].times == s.times
	}
	return false
}

func (it *item) rates(now time.Time) transport.StatsItems {
	it.mu.Lock()
	defer it.mu.Unlock()
	s := sample{at: now, value: it.value.Load(), times: it.times.Load()}
	return transport.StatsItems{Minute: it.minute.since(s), Hour: it.hour.since(s), Day: it.day.since(s)}
}

// since returns what was counted between the oldest sample and now.
func (w *window) since(now sample) transport.StatsItem {
	first := w.samples[0]
	stat := transport.StatsItem{Sum: now.value - first.value}
	// Less than a second says little about a rate.
	if d := now.at.Sub(first.at).Seconds(); d > 0 {
		stat.TPS = float64(stat.Sum) / max(d, 1)
	}
	if times := now.times - first.times; times > 0 {
		stat.AvgPt = float64(stat.Sum) / float64(times)
	}
	return stat
}
