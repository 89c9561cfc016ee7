package vfs

import (
	"maps"
	"math/rand/v2"
)

// Crash says how much of what was not synced survives a power cut. The zero value is the hardest case: nothing does.
// What was synced always survives.
type Crash struct {
	// Rand makes the choices. It is required unless all probabilities are 0 or 1.
	Rand *rand.Rand
	// KeepWrite is the probability, 0 to 1, that an unsynced write or change of size is on the disk whole. Each is
	// decided by itself: a later one may be there when an earlier one is not.
	KeepWrite float64
	// TearWrite is the probability that a write which was not kept whole is there in part: some of its 512-byte
	// sectors, and one of them cut at any byte.
	TearWrite float64
	// KeepName is the probability that an unsynced creation, removal or rename is on the disk, each decided by itself.
	KeepName float64
}

// sectorSize is the unit in bytes in which a torn write is there or not.
const sectorSize = 512

// RandomCrash returns a Crash that mixes all outcomes, driven by seed. Print the seed when a test fails.
func RandomCrash(seed uint64) Crash {
	r := rand.New(rand.NewPCG(seed, 0x77656972))
	return Crash{Rand: r, KeepWrite: r.Float64(), TearWrite: r.Float64(), KeepName: r.Float64()}
}

// CrashClone returns the file system as the next process finds it after a power cut at this moment: what was synced,
// and of the rest what c lets through. In the clone everything is durable, and no lock is held. The original goes on
// unharmed; files opened from it do not write to the clone.
func (m *Mem) CrashClone(c Crash) *Mem {
	m.mu.RLock()
	defer m.mu.RUnlock()
	dirs := make(map[*memNode]map[string]*memNode) // directories with surviving changes
	for _, change := range m.changes {
		if !c.happens(c.KeepName) {
			continue
		}
		for _, b := range change {
			if dirs[b.dir] == nil {
				dirs[b.dir] = maps.Clone(b.dir.durable)
			}
			bind(dirs[b.dir], b.name, b.node)
		}
	}
	k := crashCopier{crash: c, dirs: dirs, done: make(map[*memNode]*memNode)}
	clone := NewMem(m.now)
	clone.usage = m.usage
	clone.root = k.copy(m.root)
	return clone
}

// happens tosses a coin with the given probability.
func (c Crash) happens(probability float64) bool {
	switch {
	case probability <= 0:
		return false
	case probability >= 1:
		return true
	default:
		return c.Rand.Float64() < probability
	}
}

// crashCopier copies the surviving part of a tree.
type crashCopier struct {
	crash Crash
	dirs  map[*memNode]map[string]*memNode
	done  map[*memNode]*memNode // a file may be seen under two names
}

func (k *crashCopier) copy(n *memNode) *memNode {
	if c, ok := k.done[n]; ok {
		return c
	}
	c := &memNode{modTime: n.modTime}
	k.done[n] = c
	if !n.isDir() {
		c.data = k.crash.survivor(n)
		return c
	}
	entries := n.durable
	if changed, ok := k.dirs[n]; ok {
		entries = changed
	}
	c.entries = make(map[string]*memNode, len(entries))
	for _, name := range sortedNames(entries) { // in order, so that a seed gives one result
		c.entries[name] = k.copy(entries[name])
	}
	c.durable = maps.Clone(c.entries)
	return c
}

// survivor returns the bytes of a file after the crash.
func (c Crash) survivor(n *memNode) []byte {
	data := append([]byte(nil), n.data...)
	for i := len(n.pending) - 1; i >= 0; i-- {
		data = undo(data, n.pending[i])
	}
	for _, w := range n.pending {
		switch {
		case c.happens(c.KeepWrite):
			data = reapply(data, w, w)
		case !w.truncate && c.happens(c.TearWrite):
			data = c.tear(data, w)
		}
	}
	return data
}

// reapply applies part, the whole of w or a piece of it, after the changes before it may have been lost. Only a write
// that made the file longer then does so now: the size is metadata of its own, and bytes behind it are not seen.
func reapply(data []byte, w, part memWrite) []byte {
	if room := int64(len(data)) - part.off; !w.truncate && w.newSize == w.oldSize && room < int64(len(part.data)) {
		part.data = part.data[:max(room, 0)]
		if len(part.data) == 0 {
			return data
		}
	}
	return redo(data, part)
}

// tear applies a random part of w: each sector is there or not, and one is there up to some byte.
func (c Crash) tear(data []byte, w memWrite) []byte {
	if c.Rand == nil {
		return data
	}
	end := w.off + int64(len(w.data))
	cut := w.off + c.Rand.Int64N(int64(len(w.data)))
	for at := w.off; at < end; {
		next := min(end, (at/sectorSize+1)*sectorSize)
		keep := c.Rand.IntN(2) == 0
		stop := next
		if at <= cut && cut < next {
			keep, stop = cut > at, cut
		}
		if keep {
			data = reapply(data, w, memWrite{off: at, data: w.data[at-w.off : stop-w.off]})
		}
		at = next
	}
	return data
}

// KillClone returns the file system as the next process finds it after this one was killed: every write that returned
// is there, but what was not synced is still not, so that a CrashClone of the clone may lose it. No lock is held.
func (m *Mem) KillClone() *Mem {
	m.mu.RLock()
	defer m.mu.RUnlock()
	done := make(map[*memNode]*memNode)
	clone := NewMem(m.now)
	clone.usage = m.usage
	clone.root = copyNode(m.root, done)
	for _, change := range m.changes {
		c := make(nameChange, 0, len(change))
		for _, b := range change {
			c = append(c, binding{copyNode(b.dir, done), b.name, copyNode(b.node, done)})
		}
		clone.changes = append(clone.changes, c)
	}
	return clone
}

// copyNode copies a tree with all it remembers. Unsynced writes are shared: they never change.
func copyNode(n *memNode, done map[*memNode]*memNode) *memNode {
	if n == nil {
		return nil
	}
	if c, ok := done[n]; ok {
		return c
	}
	c := &memNode{modTime: n.modTime}
	done[n] = c
	if !n.isDir() {
		c.data = append([]byte(nil), n.data...)
		c.pending = append([]memWrite(nil), n.pending...)
		return c
	}
	c.entries, c.durable = make(map[string]*memNode), make(map[string]*memNode)
	for name, child := range n.entries {
		c.entries[name] = copyNode(child, done)
	}
	for name, child := range n.durable {
		c.durable[name] = copyNode(child, done)
	}
	return c
}
