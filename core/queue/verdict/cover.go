package verdict

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
)

// Cover is what one program has said of the messages of one queue. It is safe for concurrent use.
type Cover struct {
	covers *Covers
	id     coverID
	dead   atomic.Bool  // it tells nothing and takes nothing any more
	used   atomic.Int64 // the Covers' tick of its last use

	files sync.Mutex // held while files are read, written or removed, and to change which there are

	mu     sync.Mutex // guards all below; the map's keys are numbers of blocks
	blocks map[int64]*block
	onDisk map[int64]int32 // how many of the block's words are decided, 0 when not known; changed under files too
	tail   tail
}

// coverID names a cover.
type coverID struct {
	queue message.QueueKey
	key   filter.Key
}

// tail is verdicts of entries that don't make up a whole word yet: bit o%64 of bits is entry o.
type tail struct {
	start, end message.Offset // in one word; equal when there is none
	bits       uint64
	first      Mark // of start
}

func newCover(cs *Covers, id coverID) *Cover {
	return &Cover{covers: cs, id: id, blocks: map[int64]*block{}, onDisk: map[int64]int32{}}
}

// Alive says whether the cover still counts. It ends, for good, before the queue that it is about is removed: entries
// that were read while it was alive are those that it knows.
func (c *Cover) Alive() bool { return !c.dead.Load() }

// Marks names the entries of a run.
type Marks interface {
	// Mark describes entry i of the run; ok is false when that can't be known.
	Mark(i int) (m Mark, ok bool)
}

// Put notes the verdicts of n entries from offset from on: bit i of yes says that the program accepts entry from+i, bit i
// of open that it has no verdict of it. A nil open is all zero. Words that are not whole, and words with an open entry, stay
// undecided; of the newest word the part that has been put in order is remembered.
//
// The entries are in the queue's index already, and their verdicts final.
func (c *Cover) Put(from message.Offset, n int, yes, open []uint64, marks Marks) {
	if c.dead.Load() {
		return
	}
	for i := 0; i < n; {
		o := from + message.Offset(i)
		k := min(64-int(o&63), n-i)
		v, ok := extract(yes, i, k), extract(open, i, k) == 0
		var err error
		switch {
		case k < 64:
			err = c.fragment(o, i, k, v, ok, marks)
		case ok:
			err = c.word(o, i, i+63, v, marks)
		}
		if err != nil {
			c.covers.stale(c, err)
			return
		}
		i += k
	}
}

// extract returns bits i to i+k of words, k of at most 64. No words are all zero.
func extract(words []uint64, i, k int) uint64 {
	if len(words) == 0 {
		return 0
	}
	v := words[i>>6] >> (i & 63)
	if rest := 64 - i&63; rest < k && i>>6+1 < len(words) {
		v |= words[i>>6+1] << rest
	}
	if k < 64 {
		v &= 1<<k - 1
	}
	return v
}

// word decides the word that begins at o, whose entries are first to last of the run.
func (c *Cover) word(o message.Offset, first, last int, v uint64, marks Marks) error {
	f, okFirst := marks.Mark(first)
	l, okLast := marks.Mark(last)
	if !okLast {
		return nil
	}
	if !okFirst {
		f = l
	}
	return c.decide(o, v, f, l)
}

func (c *Cover) decide(o message.Offset, v uint64, first, last Mark) error {
	b := c.block(int64(o/BlockEntries), true)
	if b == nil {
		return nil
	}
	return b.decide(int(o%BlockEntries)>>6, v, first, last)
}

// fragment adds k entries from o on, which don't make up a word, to the tail.
func (c *Cover) fragment(o message.Offset, i, k int, v uint64, ok bool, marks Marks) error {
	c.mu.Lock()
	t := &c.tail
	switch {
	case !ok:
		*t = tail{}
	case t.end == o && t.end > t.start && o&63 != 0:
		t.bits |= v << (o & 63)
		t.end += message.Offset(k)
	default:
		first, known := marks.Mark(i)
		if !known {
			first = Mark{Offset: -1}
		}
		*t = tail{start: o, end: o + message.Offset(k), bits: v << (o & 63), first: first}
	}
	done := *t
	c.mu.Unlock()
	if done.end == done.start || done.end&63 != 0 || done.start&63 != 0 {
		return nil
	}
	last, known := marks.Mark(i + k - 1)
	if !known || done.first.Offset < 0 {
		return nil
	}
	return c.decide(done.start, done.bits, done.first, last)
}

// fromTail looks into the tail: ok is false when it doesn't know entry o.
func (c *Cover) fromTail(o message.Offset) (t tail, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tail, o >= c.tail.start && o < c.tail.end
}

// block returns a block of the cover, from memory or from its file. Where there is none it makes one, or returns nil.
func (c *Cover) block(number int64, create bool) *block {
	c.mu.Lock()
	b := c.blocks[number]
	_, stored := c.onDisk[number]
	c.mu.Unlock()
	if b != nil {
		b.used.Store(true)
		return b
	}
	if c.dead.Load() || !stored && !create {
		return nil
	}
	b, fresh := c.fetch(number, create)
	if fresh {
		if victim := c.covers.cache.add(b); victim != nil {
			victim.cover.evict(victim)
		}
	}
	return b
}

// fetch is block for one that isn't in memory. fresh says that the cache doesn't have it yet.
func (c *Cover) fetch(number int64, create bool) (b *block, fresh bool) {
	c.files.Lock()
	defer c.files.Unlock()
	c.mu.Lock()
	b = c.blocks[number]
	_, stored := c.onDisk[number]
	c.mu.Unlock()
	if b != nil || c.dead.Load() {
		return b, false
	}
	if stored {
		if b = c.load(number); b == nil {
			c.removeFile(number)
		}
	}
	if b == nil {
		if !create {
			return nil, false
		}
		b = &block{cover: c, number: number}
	}
	c.mu.Lock()
	c.blocks[number] = b
	c.mu.Unlock()
	return b, true
}

// load reads a block's file and checks it against the queue. It returns nil for one that doesn't count.
func (c *Cover) load(number int64) *block {
	b := &block{cover: c, number: number}
	err := c.read(b)
	if err == nil {
		err = c.check(b)
	}
	if err != nil {
		c.covers.stats.refused.Add(1)
		c.covers.log.Info("stored verdicts don't count and are removed", slog.String("file", c.path(number)), slog.Any("why", err))
		return nil
	}
	c.covers.stats.loaded.Add(1)
	return b
}

// check compares a block's marks with the queue.
func (c *Cover) check(b *block) error {
	low, high, ok := c.covers.index.Bounds(c.id.queue)
	if !ok {
		return errors.New("there is no such queue")
	}
	first, last, _ := b.marks()
	if last.Offset >= high || last.Offset < low {
		return fmt.Errorf("its last entry is %d, the queue has %d to %d", last.Offset, low, high)
	}
	if err := c.covers.same(c.id.queue, last); err != nil {
		return err
	}
	if first.Offset < low {
		return nil
	}
	return c.covers.same(c.id.queue, first)
}

// current says whether a block in memory is still about the entries that are in the queue now.
func (c *Cover) current(b *block) bool {
	_, last, any := b.marks()
	if !any {
		return true
	}
	e, err := c.covers.entry(c.id.queue, last.Offset)
	if err == nil && e.Position == last.Position {
		return true
	}
	if low, _, ok := c.covers.index.Bounds(c.id.queue); ok && last.Offset < low {
		return true // it was there, and whoever asks for what is in front of it will find nothing
	}
	return false
}

// evict takes b out of memory, and writes it if need be.
func (c *Cover) evict(b *block) {
	c.files.Lock()
	defer c.files.Unlock()
	b.gone.Store(true)
	c.write(b)
	c.mu.Lock()
	if c.blocks[b.number] == b {
		delete(c.blocks, b.number)
	}
	c.mu.Unlock()
}

// end makes the cover dead and forgets what it has in memory. Its files stay.
func (c *Cover) end() {
	c.dead.Store(true)
	c.mu.Lock()
	c.blocks, c.tail = map[int64]*block{}, tail{}
	c.mu.Unlock()
}
