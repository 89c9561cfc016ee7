// Package clock is the seam under everything that waits: leases, expiries, long polls, flush intervals. Code takes a
// Clock instead of calling package time, so that tests move time by hand.
//
// The times it returns carry Go's monotonic reading where the real clock is used; compare and subtract them, and a
// clock set back by an operator changes nothing.
package clock

import (
	"sync"
	"time"
)

// Clock tells the time and wakes those who wait for it.
type Clock interface {
	// Now returns the current time with a monotonic reading, if the clock has one.
	Now() time.Time
	// NewTimer returns a timer that sends on its channel once after d.
	NewTimer(d time.Duration) Timer
}

// Timer is a single future event. Its channel has room for one time, so firing never blocks.
type Timer interface {
	C() <-chan time.Time
	// Stop prevents the timer from firing and says whether it did so in time. Nothing is received after it.
	Stop() bool
	// Reset makes the timer fire after d again, in whatever state it is. No earlier time is received after it.
	Reset(d time.Duration)
}

// Real returns the clock of this machine.
func Real() Clock { return realClock{} }

type realClock struct{}

func (realClock) Now() time.Time                 { return time.Now() }
func (realClock) NewTimer(d time.Duration) Timer { return realTimer{time.NewTimer(d)} }

type realTimer struct{ t *time.Timer }

func (t realTimer) C() <-chan time.Time   { return t.t.C }
func (t realTimer) Stop() bool            { return t.t.Stop() }
func (t realTimer) Reset(d time.Duration) { t.t.Reset(d) }

// Millis returns t as milliseconds since 1970, the unit of every time stamp in RocketMQ's formats.
func Millis(t time.Time) int64 { return t.UnixMilli() }

// Manual is a clock that stands still until a test advances it.
type Manual struct {
	mu      sync.Mutex // guards all below
	now     time.Time
	timers  map[*manualTimer]struct{}
	waiters []waiter
}

type waiter struct {
	n    int
	done chan struct{}
}

// NewManual returns a clock that shows start.
func NewManual(start time.Time) *Manual {
	return &Manual{now: start, timers: map[*manualTimer]struct{}{}}
}

// Now returns the time to which the clock was last advanced.
func (m *Manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// NewTimer returns a timer that fires when Advance passes d from now; at once if d is not positive.
func (m *Manual) NewTimer(d time.Duration) Timer {
	t := &manualTimer{clock: m, c: make(chan time.Time, 1)}
	t.Reset(d)
	return t
}

// Advance moves the clock by d and fires, in the order of their times, all timers that are then due.
func (m *Manual) Advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	end := m.now.Add(d)
	for {
		var next *manualTimer
		for t := range m.timers {
			if !t.when.After(end) && (next == nil || t.when.Before(next.when)) {
				next = t
			}
		}
		if next == nil {
			break
		}
		m.now = next.when
		delete(m.timers, next)
		next.fireLocked()
	}
	m.now = end
}

// BlockUntil waits until at least n timers are pending. A test calls it before Advance, so that the code under test has
// reached its wait.
func (m *Manual) BlockUntil(n int) {
	m.mu.Lock()
	if len(m.timers) >= n {
		m.mu.Unlock()
		return
	}
	w := waiter{n: n, done: make(chan struct{})}
	m.waiters = append(m.waiters, w)
	m.mu.Unlock()
	<-w.done
}

type manualTimer struct {
	clock *Manual
	c     chan time.Time
	when  time.Time
}

func (t *manualTimer) C() <-chan time.Time { return t.c }

func (t *manualTimer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	_, pending := t.clock.timers[t]
	delete(t.clock.timers, t)
	t.drain()
	return pending
}

func (t *manualTimer) Reset(d time.Duration) {
	m := t.clock
	m.mu.Lock()
	defer m.mu.Unlock()
	t.drain()
	t.when = m.now.Add(d)
	if d <= 0 {
		delete(m.timers, t)
		t.fireLocked()
		return
	}
	m.timers[t] = struct{}{}
	kept := m.waiters[:0]
	for _, w := range m.waiters {
		if len(m.timers) >= w.n {
			close(w.done)
			continue
		}
		kept = append(kept, w)
	}
	m.waiters = kept
}

func (t *manualTimer) drain() {
	select {
	case <-t.c:
	default:
	}
}

func (t *manualTimer) fireLocked() {
	select {
	case t.c <- t.when:
	default:
	}
}
