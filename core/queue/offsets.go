package queue

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/internal/loop"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
)

// OffsetSettings is what Offsets needs. All fields are set.
type OffsetSettings struct {
	Config Config
	Clock  clock.Clock
	Logger *slog.Logger
	FS     vfs.FS
	// Path is that of consumerOffset.json. Its directory is made when it is missing.
	Path string
	// Log answers for groups that have no offset.
	Log interface {
		Index
		Reader
	}
	// Recreated, if set, says that a topic was deleted once and has come back since, so that its offsets have begun anew.
	Recreated func(topic string) bool
}

// Offsets keeps, for each group and each queue that it consumes, the offset of the next message to consume. It is safe
// for concurrent use. A commit is visible to queries at once and on disk after the save interval.
type Offsets struct {
	set  OffsetSettings
	loop loop.Group
	file offsetFile

	seed   maphash.Seed
	count  atomic.Int64 // of cells
	shards [offsetShards]offsetShard
}

const offsetShards = 64

// Progresses are found by topic and group. It is a power of two many maps so that commits seldom meet.
type offsetShard struct {
	dirty    atomic.Bool // a cell has changed since the last save began
	mu       sync.RWMutex
	progress map[progressKey]*progress // guarded by mu
}

type progressKey struct{ topic, group string }

// String is the key as it stands in the file.
func (k progressKey) String() string { return k.topic + "@" + k.group }

// progress is how far one group is in one topic.
type progress struct {
	mu    sync.RWMutex
	cells map[message.QueueID]*atomic.Int64 // guarded by mu; the cells themselves aren't
}

// NewOffsets returns an empty table. Load fills it from the file, Start makes it save itself.
func NewOffsets(set OffsetSettings) *Offsets {
	o := &Offsets{set: set, seed: maphash.MakeSeed()}
	for i := range o.shards {
		o.shards[i].progress = map[progressKey]*progress{}
	}
	return o
}

func (o *Offsets) shard(k progressKey) *offsetShard {
	return &o.shards[maphash.Comparable(o.seed, k)%offsetShards]
}

// Commit sets a group's offset in a queue, whatever it was before. It fails when a name is illegal or the table is full.
func (o *Offsets) Commit(group string, q message.QueueKey, at message.Offset) error {
	k := progressKey{topic: q.Topic, group: group}
	s := o.shard(k)
	s.mu.RLock()
	p := s.progress[k]
	s.mu.RUnlock()
	if p != nil {
		p.mu.RLock()
		cell := p.cells[q.ID]
		p.mu.RUnlock()
		if cell != nil {
			s.set(cell, at)
			return nil
		}
	}
	cell, err := o.create(s, k, q.ID)
	if err != nil {
		return err
	}
	s.set(cell, at)
	return nil
}

func (s *offsetShard) set(cell *atomic.Int64, at message.Offset) {
	if cell.Swap(int64(at)) != int64(at) && !s.dirty.Load() {
		s.dirty.Store(true)
	}
}

// none is what a cell holds before its first commit.
const none = -1

func (o *Offsets) create(s *offsetShard, k progressKey, id message.QueueID) (*atomic.Int64, error) {
	if err := message.CheckKnownTopic(k.topic); err != nil {
		return nil, err
	}
	if strings.Contains(k.topic, "@") { // which stands between topic and group in the file
		return nil, refusal(message.SystemError, "commit offset refused: the topic name %q has an @", k.topic)
	}
	if err := message.CheckKnownGroup(k.group); err != nil {
		return nil, err
	}
	if limit := o.set.Config.OffsetsMax; o.count.Load() >= int64(limit) {
		return nil, &message.Error{Code: message.SystemBusy,
			Remark: fmt.Sprintf("commit offset refused: %d offsets are kept already, the most that queues.offsets_max allows", limit)}
	}
	return o.cell(s, k, id), nil
}

func (o *Offsets) cell(s *offsetShard, k progressKey, id message.QueueID) *atomic.Int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.progress[k]
	if !ok {
		p = &progress{cells: map[message.QueueID]*atomic.Int64{}}
		s.progress[k] = p
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	cell, ok := p.cells[id]
	if !ok {
		cell = new(atomic.Int64)
		cell.Store(none)
		p.cells[id] = cell
		o.count.Add(1)
	}
	return cell
}

// Committed returns the offset that a group has committed in a queue; ok is false when there is none.
func (o *Offsets) Committed(group string, q message.QueueKey) (at message.Offset, ok bool) {
	k := progressKey{topic: q.Topic, group: group}
	s := o.shard(k)
	s.mu.RLock()
	p := s.progress[k]
	s.mu.RUnlock()
	if p == nil {
		return 0, false
	}
	p.mu.RLock()
	cell := p.cells[q.ID]
	p.mu.RUnlock()
	if cell == nil {
		return 0, false
	}
	at = message.Offset(cell.Load())
	return at, at >= 0
}

// Query returns the offset from which a group is to go on. A group that has none begins at 0 as long as the queue's first
// message is there and young, whatever its consumers' starting point says: RocketMQ's rule. Otherwise, and always when
// strict is set, the error is QueryNotFound and the client decides.
func (o *Offsets) Query(group string, q message.QueueKey, strict bool) (message.Offset, error) {
	if at, ok := o.Committed(group, q); ok {
		return o.correct(group, q, at), nil
	}
	if !strict {
		young, err := o.young(q)
		if err != nil {
			return 0, err
		}
		if young {
			return 0, nil
		}
	}
	return 0, &message.Error{Code: message.QueryNotFound, Remark: "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first"}
}

// young says whether a queue still has its first message, and that in memory.
func (o *Offsets) young(q message.QueueKey) (bool, error) {
	low, high, ok := o.set.Log.Bounds(q)
	if !ok || high == 0 {
		return true, nil
	}
	if low > 0 {
		return false, nil
	}
	first, ok, err := entryAt(o.set.Log, q, 0)
	if err != nil || !ok {
		return true, err
	}
	return o.set.Log.InMemory(first.Position), nil
}

// Progress returns a group's offsets in a topic by queue, nil when it has none.
func (o *Offsets) Progress(group, topic string) map[message.QueueID]message.Offset {
	k := progressKey{topic: topic, group: group}
	s := o.shard(k)
	s.mu.RLock()
	p := s.progress[k]
	s.mu.RUnlock()
	if p == nil {
		return nil
	}
	return p.values()
}

func (p *progress) values() map[message.QueueID]message.Offset {
	p.mu.RLock()
	defer p.mu.RUnlock()
	all := make(map[message.QueueID]message.Offset, len(p.cells))
	for id, cell := range p.cells {
		if at := cell.Load(); at >= 0 {
			all[id] = message.Offset(at)
		}
	}
	return all
}

// each calls f for every topic and group, in no order, with no lock held.
func (o *Offsets) each(f func(k progressKey, p *progress)) {
	for i := range o.shards {
		s := &o.shards[i]
		s.mu.RLock()
		all := maps.Clone(s.progress)
		s.mu.RUnlock()
		for k, p := range all {
			f(k, p)
		}
	}
}

// Topics lists the topics in which a group has offsets, sorted.
func (o *Offsets) Topics(group string) []string {
	return o.names(func(k progressKey) (string, bool) { return k.topic, k.group == group })
}

// Groups lists the groups that have offsets in a topic, sorted.
func (o *Offsets) Groups(topic string) []string {
	return o.names(func(k progressKey) (string, bool) { return k.group, k.topic == topic })
}

func (o *Offsets) names(want func(progressKey) (string, bool)) []string {
	var names []string
	for i := range o.shards {
		s := &o.shards[i]
		s.mu.RLock()
		for k := range s.progress {
			if name, ok := want(k); ok {
				names = append(names, name)
			}
		}
		s.mu.RUnlock()
	}
	slices.Sort(names)
	return names
}

// All returns every offset: by topic@group, then by queue.
func (o *Offsets) All() map[string]map[message.QueueID]message.Offset {
	all := map[string]map[message.QueueID]message.Offset{}
	o.each(func(k progressKey, p *progress) { all[k.String()] = p.values() })
	return all
}

// Remove forgets all offsets of a group.
func (o *Offsets) Remove(group string) {
	o.remove(func(k progressKey) bool { return k.group == group })
}

// RemoveTopic forgets all groups' offsets in a topic, and returns of how many groups there were some.
func (o *Offsets) RemoveTopic(topic string) (groups int) {
	return o.remove(func(k progressKey) bool { return k.topic == topic })
}

func (o *Offsets) remove(which func(progressKey) bool) (n int) {
	for i := range o.shards {
		s := &o.shards[i]
		s.mu.Lock()
		for k, p := range s.progress {
			if !which(k) {
				continue
			}
			n++
			delete(s.progress, k)
			p.mu.RLock()
			o.count.Add(-int64(len(p.cells)))
			p.mu.RUnlock()
			s.dirty.Store(true)
		}
		s.mu.Unlock()
	}
	return n
}

// Clone copies a group's offsets to another group: in one topic or, when topic is empty, in all for which include is
// true. It stops when the table is full.
func (o *Offsets) Clone(from, to, topic string, include func(topic string) bool) error {
	topics := []string{topic}
	if topic == "" {
		topics = o.Topics(from)
	}
	for _, t := range topics {
		if !include(t) {
			continue
		}
		for _, v := range sortedOffsets(o.Progress(from, t)) {
			if err := o.Commit(to, message.QueueKey{Topic: t, ID: v.id}, v.at); err != nil {
				return fmt.Errorf("clone offsets of group %s to %s: %w", from, to, err)
			}
		}
	}
	return nil
}

type queueOffset struct {
	id message.QueueID
	at message.Offset
}

func sortedOffsets(m map[message.QueueID]message.Offset) []queueOffset {
	all := make([]queueOffset, 0, len(m))
	for id, at := range m {
		all = append(all, queueOffset{id, at})
	}
	slices.SortFunc(all, func(a, b queueOffset) int { return cmp.Compare(a.id, b.id) })
	return all
}
