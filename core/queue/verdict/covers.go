package verdict

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// Index is what covers are compared with. core/store has it.
type Index interface {
	// Bounds returns the first available offset of a queue and the one that its next message gets; ok is false when there
	// is no such queue.
	Bounds(q message.QueueKey) (low, high message.Offset, ok bool)
	// Entries lends up to n raw index entries from offset from on. The caller releases ref.
	Entries(q message.QueueKey, from message.Offset, n int) (raw []byte, ref transport.Ref, err error)
	// StoreTime returns when the record of e was stored, in ms.
	StoreTime(e message.Entry) (int64, error)
}

// Settings is what Covers needs. All fields are set.
type Settings struct {
	FS     vfs.FS
	Dir    string // <data_dir>/weir/verdicts
	Index  Index
	Logger *slog.Logger
	// CacheSize bounds the blocks in memory, in bytes; one is always kept.
	CacheSize int64
	// DiskSize bounds the files, in bytes.
	DiskSize int64
}

// coversMax bounds how many covers there are. Programs and queues beyond are judged at each pull.
const coversMax = 1 << 16

// Covers is all covers of a broker. It is safe for concurrent use.
type Covers struct {
	fs        vfs.FS
	dir       string
	index     Index
	log       *slog.Logger
	filesMax  int64
	coversMax int
	cache     cache
	buffers   sync.Pool    // of *[]byte, for a file each
	tick      atomic.Int64 // calls of Maintain
	paused    atomic.Int64 // no file is written before this tick
	closed    atomic.Bool
	files     atomic.Int64
	stats     counters

	maintain sync.Mutex // one Maintain or Close at a time

	mu     sync.RWMutex // guards all below
	covers map[coverID]*Cover
	shut   map[string]int // topics that are being removed, by how many calls
}

type counters struct{ loaded, refused, written, failed, full atomic.Int64 }

// Stats are figures of the covers.
type Stats struct {
	Covers, Blocks, Files int64 // there are now; blocks are those in memory
	Loaded, Refused       int64 // files read, and files that didn't count
	Written, Failed       int64 // files written, and those that couldn't be
	Full                  int64 // files that weren't written because there were too many
}

// Open cuts what is in the directory to the queues and returns the covers. It has to come before anything can be stored in
// the queues. Its error says that what doesn't count any more can't be removed: go on without, and the directory must
// be removed before it is used again.
func Open(set Settings) (*Covers, error) {
	cs := &Covers{
		fs: set.FS, dir: set.Dir, index: set.Index, log: set.Logger, filesMax: set.DiskSize / blockSize, coversMax: coversMax,
		cache:  cache{max: max(1, int(set.CacheSize/blockMemory))},
		covers: map[coverID]*Cover{}, shut: map[string]int{},
	}
	cs.buffers.New = func() any { b := make([]byte, 0, blockSize); return &b }
	if err := cs.recover(); err != nil {
		return nil, fmt.Errorf("cut the verdicts in %s to their queues; remove that directory, nothing is lost by it: %w", cs.dir, err)
	}
	return cs, nil
}

// Cover returns a program's cover of a queue; nil when it can't have one now.
func (cs *Covers) Cover(q message.QueueKey, key filter.Key) *Cover {
	id := coverID{q, key}
	cs.mu.RLock()
	c, shut := cs.covers[id], cs.shut[q.Topic] > 0
	cs.mu.RUnlock()
	if c == nil && !shut {
		c = cs.create(id)
	}
	if c == nil || shut {
		return nil
	}
	if tick := cs.tick.Load(); c.used.Load() != tick {
		c.used.Store(tick)
	}
	return c
}

func (cs *Covers) create(id coverID) *Cover {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if c := cs.covers[id]; c != nil {
		return c
	}
	if len(cs.covers) >= cs.coversMax || cs.shut[id.queue.Topic] > 0 || cs.closed.Load() {
		return nil
	}
	c := newCover(cs, id)
	c.used.Store(cs.tick.Load())
	cs.covers[id] = c
	return c
}

// all returns the covers for which want is true.
func (cs *Covers) all(want func(*Cover) bool) []*Cover {
	cs.mu.RLock()
	defer cs.mu.RUnlock()
	var list []*Cover
	for _, c := range cs.covers {
		if want(c) {
			list = append(list, c)
		}
	}
	return list
}

// Forget ends the covers of a topic and removes their files durably. Until Allow, the topic has none. It is called before
// the topic's queues are removed.
func (cs *Covers) Forget(topic string) error {
	cs.mu.Lock()
	cs.shut[topic]++
	cs.mu.Unlock()
	for _, c := range cs.all(func(c *Cover) bool { return c.id.queue.Topic == topic }) {
		cs.drop(c)
	}
	return cs.removeTopic(topic)
}

// Allow ends what Forget has begun.
func (cs *Covers) Allow(topic string) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.shut[topic]--; cs.shut[topic] <= 0 {
		delete(cs.shut, topic)
	}
}

// Discard ends the covers of a program that can't be trusted any more, and removes their files.
func (cs *Covers) Discard(key filter.Key) {
	for _, c := range cs.all(func(c *Cover) bool { return c.id.key == key }) {
		cs.drop(c)
	}
}

// drop ends a cover and removes its files.
func (cs *Covers) drop(c *Cover) {
	c.end()
	c.files.Lock()
	c.removeFiles(func(int64) bool { return true })
	c.files.Unlock()
	cs.mu.Lock()
	if cs.covers[c.id] == c {
		delete(cs.covers, c.id)
	}
	cs.mu.Unlock()
}

// stale drops a cover that turned out to be of an earlier life of its queue.
func (cs *Covers) stale(c *Cover, why error) {
	if c.dead.Swap(true) {
		return
	}
	cs.stats.refused.Add(1)
	cs.log.Info("verdicts don't count any more and are removed", slog.String("queue", c.id.queue.String()), slog.Any("why", why))
	cs.drop(c)
}

// entry reads one index entry.
func (cs *Covers) entry(q message.QueueKey, o message.Offset) (message.Entry, error) {
	raw, ref, err := cs.index.Entries(q, o, 1)
	if ref != nil {
		defer ref.Release()
	}
	if err != nil {
		return message.Entry{}, err
	}
	if len(raw) < message.EntrySize {
		return message.Entry{}, errors.New("there is no such entry")
	}
	return message.DecodeEntry(raw), nil
}

// same checks that the entry that m marks is the one in the queue.
func (cs *Covers) same(q message.QueueKey, m Mark) error {
	e, err := cs.entry(q, m.Offset)
	if err != nil {
		return fmt.Errorf("read entry %d: %w", m.Offset, err)
	}
	if e.Position != m.Position {
		return fmt.Errorf("entry %d is at position %d, was at %d", m.Offset, e.Position, m.Position)
	}
	t, err := cs.index.StoreTime(e)
	if err != nil {
		return fmt.Errorf("read the store time of entry %d: %w", m.Offset, err)
	}
	if t != m.Time {
		return fmt.Errorf("entry %d was stored at %d, not at %d", m.Offset, t, m.Time)
	}
	return nil
}

// idleTicks is for how many calls of Maintain an unused cover without files stays in memory.
const idleTicks = 20

// Maintain writes what has changed, removes what the queues have lost, and keeps the bounds. It is called every few
// seconds.
func (cs *Covers) Maintain() {
	cs.maintain.Lock()
	defer cs.maintain.Unlock()
	tick := cs.tick.Add(1)
	cs.save()
	for _, c := range cs.all(func(*Cover) bool { return true }) {
		low, _, ok := cs.index.Bounds(c.id.queue)
		if !ok || c.idle() && tick-c.used.Load() > idleTicks {
			cs.drop(c)
			continue
		}
		c.expire(low)
	}
	if cs.files.Load() >= cs.filesMax-cs.filesMax/10 || cs.count() >= cs.coversMax-cs.coversMax/10 {
		cs.shrink(cs.filesMax-cs.filesMax/4, cs.coversMax-cs.coversMax/4)
	}
	cs.cache.sweep()
}

// save writes all blocks that have changed.
func (cs *Covers) save() {
	for _, b := range cs.cache.all() {
		b.cover.files.Lock()
		b.cover.write(b)
		b.cover.files.Unlock()
	}
}

// shrink drops the covers that were used least recently until there are no more files and covers than that.
func (cs *Covers) shrink(files int64, covers int) {
	list := cs.all(func(*Cover) bool { return true })
	slices.SortFunc(list, func(a, b *Cover) int { return cmp.Compare(a.used.Load(), b.used.Load()) })
	for _, c := range list {
		if cs.files.Load() <= files && cs.count() <= covers {
			return
		}
		cs.drop(c)
	}
}

func (cs *Covers) count() int {
	cs.mu.RLock()
	defer cs.mu.RUnlock()
	return len(cs.covers)
}

// Close writes what has changed. Nothing is written afterwards.
func (cs *Covers) Close() {
	cs.maintain.Lock()
	defer cs.maintain.Unlock()
	if cs.closed.Load() {
		return
	}
	cs.save()
	cs.closed.Store(true)
}

// Stats returns the figures.
func (cs *Covers) Stats() Stats {
	return Stats{
		Covers: int64(cs.count()), Blocks: int64(cs.cache.len()), Files: cs.files.Load(),
		Loaded: cs.stats.loaded.Load(), Refused: cs.stats.refused.Load(),
		Written: cs.stats.written.Load(), Failed: cs.stats.failed.Load(), Full: cs.stats.full.Load(),
	}
}
