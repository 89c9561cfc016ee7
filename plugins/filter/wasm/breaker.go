package wasm

import (
	"sync"
	"time"
)

// The breaker opens after so many failed batches within the window, and stays open for a while. Then one batch is tried.
const (
	breakerFailures = 5
	breakerWindow   = 30 * time.Second
	breakerOpen     = 30 * time.Second
)

// breaker keeps a module that fails from being called all the time. While it is open everything is undecided. The
// zero breaker is closed.
//
//	closed --5 failures in 30 s--> open --30 s--> trial --success--> closed
//	                                ^---------------failure--|
//
// Messages that the module judges with raise are no failures, however many.
type breaker struct {
	mu       sync.Mutex // guards all below
	failures [breakerFailures]time.Time
	next     int
	open     bool
	until    time.Time // when open
	trial    bool      // somebody is trying
}

// allow says whether the module may be called. When the time is over, one caller is let through: for a trial.
func (b *breaker) allow(now time.Time) (ok, trial bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.open {
		return true, false
	}
	if now.Before(b.until) || b.trial {
		return false, false
	}
	b.trial = true
	return true, true
}

// isOpen says whether the module isn't called.
func (b *breaker) isOpen() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open
}

// abandoned says that a caller who was let through didn't call after all. If that wasn't for a trial, somebody else may be
// trying by now.
func (b *breaker) abandoned(trial bool) {
	if !trial {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trial = false
}

// succeeded closes the breaker after a trial.
func (b *breaker) succeeded() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open {
		b.failures, b.next, b.open, b.trial = [breakerFailures]time.Time{}, 0, false, false
	}
}

// failed counts a failed batch and says whether the breaker is open now.
func (b *breaker) failed(now time.Time) (open bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures[b.next] = now
	b.next = (b.next + 1) % breakerFailures
	oldest := b.failures[b.next]
	if b.open || !oldest.IsZero() && now.Sub(oldest) <= breakerWindow {
		b.open, b.until, b.trial = true, now.Add(breakerOpen), false
	}
	return b.open
}
