package wasm

import "sync"

// pool keeps idle instances of a program, at most as many as may be in use at a time, which is what the permits bound.
type pool struct {
	mu     sync.Mutex // guards all below
	idle   []*instance
	most   int
	closed bool
}

// get returns an idle instance, the one used last, or nil.
func (p *pool) get() *instance {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	in := p.idle[len(p.idle)-1]
	p.idle[len(p.idle)-1] = nil
	p.idle = p.idle[:len(p.idle)-1]
	return in
}

// put keeps an instance, or returns false when it must be closed.
func (p *pool) put(in *instance) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle) >= p.most {
		return false
	}
	p.idle = append(p.idle, in)
	return true
}

func (p *pool) close() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	for _, in := range idle {
		in.close()
	}
}
