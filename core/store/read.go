package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/store/consumequeue"
	"github.com/weirmq/weir/core/store/segment"
	"github.com/weirmq/weir/core/transport"
)

var (
	// ErrNoEntries says that a queue has no entries at an offset. The error is a *NoEntriesError when the queue exists.
	ErrNoEntries = consumequeue.ErrNoEntries
	// ErrRecordGone says that the log has no record at a position: it was deleted, or never was there.
	ErrRecordGone = errors.New("no record at this position")
	// ErrRecordDamaged says that what is at a position is not the record that an entry tells of.
	ErrRecordDamaged = errors.New("the record is damaged")
)

// NoEntriesError says where to go on. errors.Is(err, ErrNoEntries) holds.
type NoEntriesError struct {
	// NextFile is the first offset of the file behind the one that would hold the asked offset.
	NextFile message.Offset
}

// Error names the next file.
func (e *NoEntriesError) Error() string {
	return fmt.Sprintf("%v; the next file begins at %d", ErrNoEntries, e.NextFile)
}

// Next returns NextFile, for those who know the error by this method only.
func (e *NoEntriesError) Next() message.Offset { return e.NextFile }

// Is makes errors.Is(err, ErrNoEntries) true.
func (e *NoEntriesError) Is(target error) bool { return target == ErrNoEntries }

// hotBytes is how far behind the end of the log records are taken to be in memory without asking the system.
const hotBytes = 64 << 20

// Bounds returns the first offset of a queue that can be read and the one behind the last; they are equal when there is
// nothing. ok is false for a queue that isn't known.
func (s *Store) Bounds(key message.QueueKey) (min, max message.Offset, ok bool) {
	q := s.queues.find(key.Topic, key.ID)
	if q == nil || q.dropped.Load() {
		return 0, 0, false
	}
	min, max = q.Bounds()
	return min, max, true
}

// Entries lends up to n entries of a queue from offset from on, 20 bytes each, see message.DecodeEntry. They end with
// their file, so there may be fewer although more follow. The caller releases ref when it is done with raw.
func (s *Store) Entries(key message.QueueKey, from message.Offset, n int) (raw []byte, ref transport.Ref, err error) {
	q := s.queues.find(key.Topic, key.ID)
	if q == nil {
		return nil, nil, ErrNoEntries
	}
	raw, seg, err := q.View(from, n)
	if err != nil {
		if errors.Is(err, ErrNoEntries) {
			err = &NoEntriesError{NextFile: q.NextFile(from)}
		}
		return nil, nil, err
	}
	return raw, seg, nil
}

// Units shows v the units in the queue's extension file whose addresses are among codes, the tags codes of entries. What is
// no address, or whose unit is lost, is passed over. Units may be asked for as long as the entries are lent.
func (s *Store) Units(key message.QueueKey, codes []int64, v message.ExtVisitor) {
	if q := s.queues.find(key.Topic, key.ID); q != nil {
		q.Units(codes, v)
	}
}

// Lend adds the records of entries to r, in order, and returns how many it added. Records that follow each other in the
// log become one chunk. It stops at the first that can't be had: with ErrRecordGone when it isn't in the log any more,
// with ErrRecordDamaged when something else is there. What was added before stays in r.
func (s *Store) Lend(entries []message.Entry, r *transport.Records) (n int, err error) {
	end := s.visible()
	for n < len(entries) {
		first := entries[n]
		seg := s.log.Find(int64(first.Position))
		size, count := int64(0), 0
		for _, e := range entries[n:] { // neighbours in one segment
			at := int64(first.Position) + size
			if seg == nil || int64(e.Position) != at || e.Size < message.MinRecordSize ||
				at+int64(e.Size) > min(seg.End(), end) {
				break
			}
			size, count = size+int64(e.Size), count+1
		}
		if count == 0 {
			return n, ErrRecordGone
		}
		good, err := s.lendRun(entries[n:n+count], int(size), seg, end, r)
		n += good
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// lendRun adds records that are neighbours in seg, size bytes in all, and returns how many it added.
func (s *Store) lendRun(run []message.Entry, size int, seg *segment.Segment, end int64, r *transport.Records) (int, error) {
	b, ref, err := s.bytes(run[0].Position, size, seg, end)
	if err != nil {
		return 0, err
	}
	good, used := 0, 0
	for _, e := range run {
		if !begins(b[used:], e.Size) {
			err = ErrRecordDamaged
			break
		}
		good, used = good+1, used+int(e.Size)
	}
	switch {
	case good == 0:
		ref.Release()
	case follows(r, b):
		r.Extend(used, good)
		ref.Release() // the chunk's own keeps the mapping
	default:
		r.Add(b[:used], good, ref)
	}
	return good, err
}

// begins says whether a record of a size begins at b.
func begins(b []byte, size int32) bool {
	return int32(binary.BigEndian.Uint32(b)) == size && int32(binary.BigEndian.Uint32(b[4:])) == message.Magic
}

// follows says whether b directly follows the last chunk of r in a mapping. Chunks from a mapping have its rest as
// capacity, those that were read have none.
func follows(r *transport.Records, b []byte) bool {
	if len(r.Chunks) == 0 {
		return false
	}
	c := r.Chunks[len(r.Chunks)-1]
	return cap(c) > len(c) && &c[:len(c)+1][len(c)] == &b[0]
}

// bytes lends n bytes of seg: in place when they are in memory, else read into a buffer, so that no thread stands still
// in a page fault.
func (s *Store) bytes(pos message.Position, n int, seg *segment.Segment, end int64) ([]byte, transport.Ref, error) {
	v, err := s.log.View(int64(pos), n)
	if errors.Is(err, segment.ErrNotFound) {
		return nil, nil, ErrRecordGone
	}
	if err != nil {
		return nil, nil, err
	}
	if end-int64(pos) <= hotBytes || s.resident(v, end) {
		all, err := v.Segment().Bytes()
		if err != nil {
			v.Release()
			return nil, nil, err
		}
		off := int(int64(pos) - v.Segment().Start())
		return all[off : off+n], v.Segment(), nil
	}
	v.Release()
	cold := s.cold.Get().(*coldBytes)
	cold.pool = &s.cold
	if cap(cold.b) < n {
		cold.b = make([]byte, n)
	}
	cold.b = cold.b[:n]
	if err := s.log.ReadAt(int64(pos), cold.b); err != nil {
		cold.Release()
		if errors.Is(err, segment.ErrNotFound) {
			return nil, nil, ErrRecordGone
		}
		return nil, nil, err
	}
	return cold.b[:n:n], cold, nil
}

// coldKeep is the largest buffer in bytes that is kept for the next cold read.
const coldKeep = 256 << 10

// coldBytes is a buffer for records that were not in memory.
type coldBytes struct {
	b    []byte
	pool *sync.Pool
}

// Release implements transport.Ref.
func (c *coldBytes) Release() {
	if cap(c.b) <= coldKeep {
		c.pool.Put(c)
	}
}

// Record adds the record at position p to r. It believes nothing: p may come from a client. ErrRecordGone when there is
// no record.
func (s *Store) Record(p message.Position, r *transport.Records) error {
	end := s.visible()
	seg := s.log.Find(int64(p))
	if p < 0 || seg == nil {
		return ErrRecordGone
	}
	most := min(seg.End(), end) - int64(p)
	if most < message.MinRecordSize {
		return ErrRecordGone
	}
	head, ref, err := s.bytes(p, message.BlankHeaderSize, seg, end)
	if err != nil {
		return err
	}
	size := int64(int32(binary.BigEndian.Uint32(head)))
	magic := int32(binary.BigEndian.Uint32(head[4:]))
	ref.Release()
	if magic != message.Magic || size < message.MinRecordSize || size > most {
		return ErrRecordGone
	}
	b, ref, err := s.bytes(p, int(size), seg, end)
	if err != nil {
		return err
	}
	rec, _, err := message.ViewRecord(b)
	if err != nil || rec.Position() != p {
		ref.Release()
		return ErrRecordGone
	}
	r.Add(b[:size:size], 1, ref)
	return nil
}

// StoreTime returns when the message of an entry was stored, in ms. ErrRecordGone when the log doesn't have it any more.
func (s *Store) StoreTime(e message.Entry) (int64, error) {
	end := s.visible()
	seg := s.log.Find(int64(e.Position))
	if seg == nil || e.Size < message.MinRecordSize || int64(e.Position)+int64(e.Size) > min(seg.End(), end) {
		return 0, ErrRecordGone
	}
	b, ref, err := s.bytes(e.Position, message.MinRecordSize, seg, end)
	if err != nil {
		return 0, err
	}
	defer ref.Release()
	if !begins(b, e.Size) {
		return 0, ErrRecordDamaged
	}
	return message.Record(b).StoreTimestamp(), nil
}

// Begin returns the position of the oldest byte of the log that is kept.
func (s *Store) Begin() message.Position { return message.Position(s.log.Min()) }

// End returns the position behind the newest record.
func (s *Store) End() message.Position { return message.Position(s.committed.Load()) }

// LastStoreTime returns when the newest message was stored, in ms; 0 when there is none.
func (s *Store) LastStoreTime() int64 { return s.committedTime.Load() }

// Unclean says whether Open found that the store had not been closed.
func (s *Store) Unclean() bool { return s.unclean }

// visible is where readers and dispatch stop.
func (s *Store) visible() int64 {
	if s.sync {
		return s.durable.Load()
	}
	return s.committed.Load()
}

// inMemoryRatio is the part of the machine's memory in which the newest part of the log is taken to be. RocketMQ's.
const inMemoryRatio = 0.40

// InMemory says whether a position is so near the end of the log that it can be expected to be in memory.
func (s *Store) InMemory(p message.Position) bool { return s.committed.Load()-int64(p) <= s.inMemory }

// Queues returns all queues, by topic and id.
func (s *Store) Queues() []message.QueueKey { return keys(s.queues.all()) }

// QueuesOf returns the queues of a topic, by id.
func (s *Store) QueuesOf(topic string) []message.QueueKey { return keys(s.queues.of(topic)) }
