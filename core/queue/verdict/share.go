package verdict

import (
	"math/bits"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
)

// Reads is how many files may still be read to count what is in them.
type Reads int

// Decided returns how many of the entries low to high of a queue a program's verdicts are kept of. Files that nobody has read
// since the start are read for it once, as many as reads allows, and count nothing as long as they haven't been.
func (cs *Covers) Decided(q message.QueueKey, key filter.Key, low, high message.Offset, reads *Reads) (n int64) {
	cs.mu.RLock()
	c := cs.covers[coverID{q, key}]
	cs.mu.RUnlock()
	if c == nil || c.dead.Load() || high <= low {
		return 0
	}
	for number := int64(low / BlockEntries); number <= int64((high-1)/BlockEntries); number++ {
		first := message.Offset(number) * BlockEntries
		from, to := max(low, first), min(high, first+BlockEntries)
		n += min(64*int64(c.decidedIn(number, reads)), int64(to-from))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.tail; t.end > t.start && t.end&63 != 0 {
		n += int64(t.end - t.start)
	}
	return min(n, int64(high-low))
}

// decidedIn returns how many words of a block are decided.
func (c *Cover) decidedIn(number int64, reads *Reads) int {
	c.mu.Lock()
	b := c.blocks[number]
	words, stored := c.onDisk[number]
	c.mu.Unlock()
	switch {
	case b != nil:
		return b.decidedCount()
	case !stored:
		return 0
	case words > 0 || *reads <= 0:
		return int(words)
	}
	*reads--
	c.files.Lock()
	defer c.files.Unlock()
	b = &block{cover: c, number: number}
	if c.read(b) != nil {
		return 0 // whoever uses it finds out
	}
	n := b.decidedCount()
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, stored := c.onDisk[number]; stored {
		c.onDisk[number] = int32(n)
	}
	return n
}

func (b *block) decidedCount() (n int) {
	for i := range b.decided {
		n += bits.OnesCount64(b.decided[i].Load())
	}
	return n
}
