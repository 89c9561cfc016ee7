package store

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/store/index"
	"github.com/weirmq/weir/core/transport"
)

// keyIndex is the store's use of the key index. It is derived data, made of the log by dispatching, in the order of the log.
type keyIndex struct {
	*index.Index // nil when none is kept
	// lost says that a put has failed: what comes behind isn't in the index before the next start.
	lost atomic.Bool
}

// ErrNoIndex says that the store keeps no key index.
var ErrNoIndex = errors.New("this broker keeps no key index (store.index.enabled)")

// catchUpMax is how many bytes of log are indexed at most at a start because the index doesn't have them: a store of which it was switched on, or that another broker has
// written without. It takes a second or two.
const catchUpMax = 2 << 30

// openIndex opens the index, and changes nothing.
func (s *Store) openIndex() (err error) {
	if !s.cfg.Index.Enabled {
		return nil
	}
	s.keys.Index, err = index.Open(index.Settings{
		FS: s.fs, Dir: s.dir, Layout: index.Layout{Slots: s.cfg.Index.Slots, Entries: s.cfg.Index.Entries}, Clock: s.clock, Logger: s.logger,
	})
	return err
}

// recoverIndex cuts the index to what can be trusted, and puts the keys of messages up to f.from that it lacks. Those behind come with their queue entries.
//
// What the note says to be flushed can be trusted, and after a clean stop everything. RocketMQ doesn't flush its newest file, so of what it has left after an
// unclean stop that is made anew.
func (s *Store) recoverIndex(f *findings) error {
	if s.keys.Index == nil {
		return nil
	}
	end, has := s.keys.End()
	from := s.log.Min() // the first message that may not be in the index
	if f.noted && f.note.indexed {
		from = max(from, f.note.queued)
	}
	cut, clean := f.end, !f.unclean
	switch {
	case clean && has:
		from = max(from, int64(end))
	case !clean && !(f.noted && f.note.indexed):
		if at, ok := s.keys.NewestBegin(); ok {
			from = max(from, int64(at))
		}
		cut = from
	case !clean:
		cut = min(f.note.queued, f.end)
	}
	if err := s.keys.Recover(message.Position(cut), clean && int64(end) < f.end, s.storedAt); err != nil {
		return err
	}
	to := min(f.from, f.end)
	if to-from > catchUpMax {
		s.logger.Warn("messages of before can't be found by their keys: the index doesn't have them, and they are too many to be put into it now",
			slog.Int64("position", to-catchUpMax), slog.Int64("not_indexed_bytes", to-catchUpMax-from))
		from = s.boundary(to - catchUpMax)
	}
	if from >= to {
		return nil
	}
	_, _, err := walk(s.log, s.boundary(from), to, false, s.indexRecord)
	return err
}

// boundary returns the beginning of the segment of a position: walks begin between two records.
func (s *Store) boundary(pos int64) int64 {
	if seg := s.log.Find(pos); seg != nil {
		return max(seg.Start(), s.log.Min())
	}
	return pos
}

// storedAt returns the store time of the message at a position.
func (s *Store) storedAt(p message.Position) (int64, bool) {
	var r transport.Records
	defer r.Release()
	if err := s.Record(p, &r); err != nil {
		return 0, false
	}
	return message.Record(r.Chunks[0]).StoreTimestamp(), true
}

// indexRecord puts the keys of one record that the index doesn't have yet.
func (s *Store) indexRecord(rec message.Record) error {
	if end, ok := s.keys.End(); ok && rec.Position() <= end {
		return nil
	}
	s.keys.Begin()
	defer s.keys.Done()
	return s.keys.Put(rec)
}

// putKeysLocked puts the keys of a record of this round. The index has been locked. dispatcher.mu is held.
func (s *Store) putKeysLocked(rec message.Record) {
	if s.keys.Index == nil || s.keys.lost.Load() {
		return
	}
	if err := s.keys.Put(rec); err != nil {
		s.keys.lost.Store(true)
		s.logger.Error("store: messages can't be found by their keys from here on; the next start puts them into the index", slog.Any("position", rec.Position()),
			slog.Any("error", err))
	}
}

// flushKeys makes durable what was put before.
func (s *Store) flushKeys() error {
	if s.keys.Index == nil {
		return nil
	}
	if err := s.keys.Flush(); err != nil {
		return err
	}
	if t := s.keys.Finished(); t > s.indexTime.Load() {
		s.indexTime.Store(t)
	}
	return nil
}

// finishKeys makes the index one that RocketMQ reads.
func (s *Store) finishKeys() error {
	if s.keys.Index == nil {
		return nil
	}
	if err := s.keys.Finish(); err != nil {
		return err
	}
	t, _ := s.keys.Updated()
	s.indexTime.Store(max(s.indexTime.Load(), t))
	return s.writeCheckpoint()
}

// queryRounds is how often a query goes on with older messages when the log has none of those that it found, as in RocketMQ.
const queryRounds = 3

// Query lends the records of messages of a topic that have a key, or one with the same hash, and were stored between two times in ms: of more than most the latest, in the
// order of the log. most is at most index.QueryMax. The caller releases r. ErrNoIndex without an index.
func (s *Store) Query(topic, key string, most int, begin, end int64, r *transport.Records) error {
	if s.keys.Index == nil {
		return ErrNoIndex
	}
	for range queryRounds {
		found, err := s.keys.Query(topic, key, most, begin, end)
		if err != nil {
			return fmt.Errorf("query by key: %w", err)
		}
		if len(found) == 0 {
			return nil
		}
		slices.Sort(found)
		oldest := int64(0)
		for _, p := range found {
			err := s.Record(message.Position(p), r)
			if err != nil && !errors.Is(err, ErrRecordGone) {
				return fmt.Errorf("query by key: %w", err)
			}
			if err == nil && oldest == 0 {
				oldest = message.Record(r.Chunks[len(r.Chunks)-1]).StoreTimestamp()
			}
		}
		if r.Count > 0 || oldest < begin {
			return nil
		}
		end = oldest
	}
	return nil
}

// IndexUpdated returns store time in ms and position of the newest message in the key index.
func (s *Store) IndexUpdated() (stored int64, at message.Position) {
	if s.keys.Index == nil {
		return 0, 0
	}
	return s.keys.Updated()
}
