package wasm

import (
	"context"
	"runtime"
)

// permits bound what modules may do at a time. All compilers of a factory share them.
//
// Reading the messages of a batch and laying them out takes several times as long as most guests take to judge them. So there
// are two bounds: one for whoever works with an instance, which is also the bound of instances in use, and a smaller one for
// the guests' own code, held for one call. Who waits for the second holds the first, and never the other way round.
type permits struct {
	work chan struct{} // as many as cores
	call chan struct{} // see callsFor
}

// callsFor returns how much code of modules may run at a time: all cores but one, at least one. Garbage collection waits for
// a call to end, and so would everything else if calls took all cores.
func callsFor(cores int) int { return max(1, cores-1) }

func newPermits() *permits {
	cores := runtime.GOMAXPROCS(0)
	return &permits{work: make(chan struct{}, cores), call: make(chan struct{}, callsFor(cores))}
}

// acquire waits for the right to work with an instance.
func (p *permits) acquire(ctx context.Context) error {
	select {
	case p.work <- struct{}{}:
		return nil
	default:
	}
	select {
	case p.work <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// tryAcquire is acquire for who can't wait: not for the right, and not for the calls that are under way either.
func (p *permits) tryAcquire() bool {
	if len(p.call) == cap(p.call) {
		return false
	}
	select {
	case p.work <- struct{}{}:
		return true
	default:
		return false
	}
}

func (p *permits) release() { <-p.work }
