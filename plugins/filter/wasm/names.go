package wasm

import "sync"

// names are those of the modules that broker.yaml declares. No pushed module is served under one of them.
type names struct {
	mu   sync.Mutex     // guards uses
	uses map[string]int // by how many running compilers
}

func newNames() *names { return &names{uses: map[string]int{}} }

func (n *names) reserve(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.uses[name]++
}

func (n *names) free(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.uses[name]--; n.uses[name] == 0 {
		delete(n.uses, name)
	}
}

func (n *names) reserved(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.uses[name] > 0
}
