package topic

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/weirmq/weir/core/transport"
)

// table is a set of named values: read without locks, changed by copying, saved before it is published.
//
// Changes are committed in groups: whoever finds no committer at work becomes it, runs all edits that wait against one
// draft, saves that once, publishes it, and answers them. New edits wait meanwhile for the next round. There are never
// more waiting edits than goroutines that called change.
type table[V any] struct {
	live atomic.Pointer[state[V]]
	// save makes a state durable. It runs in one goroutine at a time.
	save func(*state[V]) error
	// next returns the version that follows one.
	next func(transport.DataVersion) transport.DataVersion
	// changed is told what was published, before the edits are answered. Deleted values are not in the list.
	changed func([]V, transport.DataVersion)

	mu         sync.Mutex // guards the fields below
	waiting    []*change[V]
	committing bool
}

// state is one version of a table. Nothing in it changes once it is published.
type state[V any] struct {
	values  map[string]*V
	version transport.DataVersion
}

// change is one edit and how it ended.
type change[V any] struct {
	edit func(*draft[V]) error
	err  error
	done chan struct{}
}

// draft is the next state in the making.
type draft[V any] struct {
	values  map[string]*V
	changed map[string]bool // names put or deleted
}

func (d *draft[V]) put(name string, v *V) {
	d.values[name] = v
	d.changed[name] = true
}

func (d *draft[V]) delete(name string) {
	delete(d.values, name)
	d.changed[name] = true
}

// lookup finds a value. It doesn't allocate.
func (t *table[V]) lookup(name []byte) (*V, bool) {
	v, ok := t.live.Load().values[string(name)]
	return v, ok
}

func (t *table[V]) get(name string) (*V, bool) {
	v, ok := t.live.Load().values[name]
	return v, ok
}

// all returns copies of all values, sorted by name, and the version they belong to.
func (t *table[V]) all() ([]V, transport.DataVersion) {
	s := t.live.Load()
	list := make([]V, 0, len(s.values))
	for _, name := range sortedNames(s.values) {
		list = append(list, *s.values[name])
	}
	return list, s.version
}

func sortedNames[V any](values map[string]*V) []string {
	return slices.SortedFunc(maps.Keys(values), strings.Compare)
}

// change runs edit and returns when its result is saved and published, or with the reason why not. An edit that fails
// must leave the draft as it was.
func (t *table[V]) change(edit func(*draft[V]) error) error {
	c := &change[V]{edit: edit, done: make(chan struct{})}
	t.mu.Lock()
	t.waiting = append(t.waiting, c)
	if t.committing {
		t.mu.Unlock()
		<-c.done
		return c.err
	}
	t.committing = true
	for len(t.waiting) > 0 {
		group := t.waiting
		t.waiting = nil
		t.mu.Unlock()
		t.commit(group)
		t.mu.Lock()
	}
	t.committing = false
	t.mu.Unlock()
	return c.err
}

// commit runs a group of edits against one draft, saves and publishes it, and answers all.
func (t *table[V]) commit(group []*change[V]) {
	old := t.live.Load()
	d := &draft[V]{values: maps.Clone(old.values), changed: map[string]bool{}}
	for _, c := range group {
		c.err = c.edit(d)
	}
	if len(d.changed) > 0 {
		s := &state[V]{values: d.values, version: t.next(old.version)}
		if err := t.save(s); err != nil {
			refuse(group, err)
		} else {
			t.live.Store(s)
			t.tell(s, d)
		}
	}
	for _, c := range group {
		close(c.done)
	}
}

// tell runs the hook with what the draft changed.
func (t *table[V]) tell(s *state[V], d *draft[V]) {
	if t.changed == nil {
		return
	}
	var values []V
	for _, name := range slices.Sorted(maps.Keys(d.changed)) {
		if v, ok := s.values[name]; ok {
			values = append(values, *v)
		}
	}
	t.changed(values, s.version)
}

// refuse gives err to all edits that had none of their own: even one that changed nothing may have seen in the draft
// what now won't be.
func refuse[V any](group []*change[V], err error) {
	for _, c := range group {
		if c.err == nil {
			c.err = err
		}
	}
}
