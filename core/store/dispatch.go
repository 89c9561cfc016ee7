package store

import (
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/store/consumequeue"
	"github.com/weirmq/weir/core/store/segment"
)

// dispatchChunk is how many bytes of log one round looks at.
const dispatchChunk = 1 << 20

// dispatcher makes entries of the visible part of the log, in order, and announces them. It reads the log through its
// mapping: what the committer has just written is in memory.
//
// Small pieces are dispatched by the appender that has written them, once it has answered: waking a goroutine for a few
// messages costs more than their dispatch. What is larger, or has to wait, is the dispatcher goroutine's.
type dispatcher struct {
	wake chan struct{} // there is more; has room for one

	mu       sync.Mutex        // one round, or the removal of a topic; guards all below
	next     int64             // where the round under way ends; 0 when there is none
	view     segment.View      // the log's bytes of that round
	touched  []*queue          // with pending entries
	arrivals []message.Arrival // of this round, in view
	queues   []*queue          // of the arrivals, when they get units in an extension file
	time     int64             // store time of the last dispatched record, ms
	blocked  bool              // messages are refused because entries could not be written
}

// notify tells the dispatcher goroutine that there may be more. It doesn't block.
func (d *dispatcher) notify() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// dispatchLoop follows the visible end of the log.
func (s *Store) dispatchLoop() {
	defer s.loops.Done()
	for {
		select {
		case <-s.dispatcher.wake:
		case <-s.stop:
			return
		}
		err := s.dispatchAll()
		if errors.Is(err, errStopped) {
			return
		}
		if err != nil {
			s.fail(err)
			return
		}
	}
}

// errStopped says that the store was closed while entries could not be written.
var errStopped = errors.New("stopped before all queue entries were written")

// dispatchAll dispatches until it has reached the visible end or the store stops.
func (s *Store) dispatchAll() error {
	d := &s.dispatcher
	for {
		d.mu.Lock()
		err := s.dispatchLocked(true)
		d.mu.Unlock()
		if err != nil || !s.behind() {
			return err
		}
	}
}

// behind says whether there is something to dispatch.
func (s *Store) behind() bool { return s.dispatched.Load() < s.visible() }

// Bounds of what an appender dispatches itself: bytes of the log, and pieces, should more come meanwhile.
const (
	inlineDispatchBytes  = 32 << 10
	inlineDispatchRounds = 4
)

// dispatchInline dispatches what the caller has just written, or sees to it that the goroutine does.
//
// When somebody else is at it, that one looks again once it is done: everybody who unlocks dispatcher.mu does.
func (s *Store) dispatchInline() {
	d := &s.dispatcher
	for range inlineDispatchRounds {
		n := s.visible() - s.dispatched.Load()
		if n == 0 {
			return
		}
		if n > inlineDispatchBytes {
			break
		}
		if !d.mu.TryLock() {
			return
		}
		err := s.dispatchLocked(false)
		d.mu.Unlock()
		if errors.Is(err, errEntriesWait) {
			break
		}
		if err != nil {
			s.fail(err)
			return
		}
	}
	d.notify()
}

// beginChange locks the dispatcher for a change of queues, between two rounds. endDispatch must follow when it worked.
func (s *Store) beginChange() error {
	d := &s.dispatcher
	d.mu.Lock()
	if d.next == 0 {
		return nil
	}
	err := s.dispatchLocked(true)
	if err != nil {
		d.mu.Unlock()
	}
	return err
}

// endDispatch unlocks the dispatcher after something else than a round.
func (s *Store) endDispatch() {
	s.dispatcher.mu.Unlock()
	if s.behind() {
		s.dispatcher.notify()
	}
}

// dispatchLocked dispatches one chunk, or goes on with one whose entries could not be written. With wait it tries until
// they are; else it leaves the round as it is and returns errEntriesWait.
func (s *Store) dispatchLocked(wait bool) error {
	d := &s.dispatcher
	if d.next == 0 {
		pos, to := s.dispatched.Load(), s.visible()
		if pos >= to {
			return nil
		}
		if s.keys.Index != nil {
			s.keys.Begin()
		}
		err := s.addEntriesLocked(pos, min(to-pos, dispatchChunk), to)
		if s.keys.Index != nil {
			s.keys.Done()
		}
		if err != nil {
			s.endRoundLocked()
			return err
		}
		s.extendLocked()
	}
	if err := s.commitEntriesLocked(wait); err != nil {
		if !errors.Is(err, errEntriesWait) {
			s.endRoundLocked()
		}
		return err
	}
	if s.onArrival != nil && len(d.arrivals) > 0 {
		s.onArrival(d.arrivals)
	}
	next := d.next
	s.endRoundLocked()
	s.dispatched.Store(next)
	s.dispatchedTime.Store(d.time)
	return nil
}

// endRoundLocked lets go of the log's bytes.
func (s *Store) endRoundLocked() {
	d := &s.dispatcher
	clear(d.arrivals)
	clear(d.queues)
	d.arrivals, d.queues = d.arrivals[:0], d.queues[:0]
	d.view.Release()
	d.view, d.next = segment.View{}, 0
}

// addEntriesLocked begins a round: it adds entries of the records in n bytes from pos on, and of at least one. They are
// pending then.
func (s *Store) addEntriesLocked(pos, n, to int64) error {
	d := &s.dispatcher
	v, err := s.log.ViewUpTo(pos, int(n))
	if err != nil {
		return fmt.Errorf("dispatch from position %d: %w", pos, err)
	}
	d.view = v
	b, next := v.Bytes(), pos
	for len(b) > 0 {
		rec, size, err := message.ViewRecord(b)
		if errors.Is(err, message.ErrBlank) {
			next = v.Segment().End()
			break
		}
		if errors.Is(err, message.ErrShort) {
			if next == pos && int64(size) > n && pos+int64(size) <= to {
				s.endRoundLocked()
				return s.addEntriesLocked(pos, int64(size), to) // longer than a chunk
			}
			if next > pos {
				break
			}
		}
		if err == nil && int64(rec.Position()) != next {
			err = errMisplaced
		}
		if err != nil {
			return fmt.Errorf("dispatch: the commit log is damaged at position %d: %w", next, err)
		}
		if err := s.dispatchRecordLocked(rec); err != nil {
			return err
		}
		b, next = b[size:], next+int64(size)
	}
	d.next = next
	return nil
}

var errMisplaced = errors.New("the record names another position")

// dispatchRecordLocked adds the entry of one record.
func (s *Store) dispatchRecordLocked(rec message.Record) error {
	d := &s.dispatcher
	d.time = rec.StoreTimestamp()
	s.putKeysLocked(rec)
	q, e, err := s.entryOf(rec)
	if q == nil || err != nil {
		return err
	}
	at := rec.QueueOffset()
	switch q.Add(e, at, d.time) {
	case consumequeue.Known:
		return nil
	case consumequeue.Gap: // recovery leaves none, so this is a bug of ours; go on without harm
		s.logger.Error("store: queue entries are missing and were filled", slog.Any("queue", q.key),
			slog.Int64("from", int64(q.Next())), slog.Int64("to", int64(at)))
		q.Fill(at, e.Position)
		q.Add(e, at, d.time)
	case consumequeue.Again:
		s.logger.Error("store: a queue begins anew", slog.Any("queue", q.key), slog.Any("position", e.Position))
		if err := q.Reset(); err != nil {
			return err
		}
		q.Add(e, at, d.time)
	}
	if !q.touched {
		q.touched = true
		d.touched = append(d.touched, q)
	}
	if s.onArrival != nil || s.cfg.ConsumeQueueExt {
		d.arrivals = append(d.arrivals, message.Arrival{
			Queue: q.key, Offset: at, Entry: e, StoreTimestamp: d.time, Record: rec,
		})
	}
	if s.cfg.ConsumeQueueExt {
		d.queues = append(d.queues, q)
	}
	return nil
}

// extendLocked gives the round's entries their units in the queues' extension files, if such are written.
func (s *Store) extendLocked() {
	d := &s.dispatcher
	if len(d.queues) == 0 {
		return
	}
	if s.bitmaps != nil {
		s.bitmaps(d.arrivals)
	}
	for i := range d.arrivals {
		a := &d.arrivals[i]
		d.queues[i].Extend(a.Offset, message.ExtUnit{TagsCode: a.TagsCode, StoreTimestamp: a.StoreTimestamp, Bitmap: a.Bitmap})
		a.Bitmap = nil
	}
}

// entryOf returns the queue and the entry of a record; no queue when the record has no place in one.
func (s *Store) entryOf(rec message.Record) (*queue, message.Entry, error) {
	if !counted(rec.SysFlag()) {
		return nil, message.Entry{}, nil
	}
	topic := rec.Topic()
	if s.deleted.covers(topic, rec.Position()) {
		return nil, message.Entry{}, nil
	}
	q := s.queues.findBytes(topic, rec.QueueID())
	if q == nil {
		var err error
		q, err = s.openQueue(message.QueueKey{Topic: string(topic), ID: rec.QueueID()})
		var illegal *message.Error
		if errors.As(err, &illegal) { // topics have no checksum, and this one can't be a directory
			s.logger.Error("store: a record has no legal topic and is left out of the queues",
				slog.Any("position", rec.Position()), slog.Any("error", err))
			return nil, message.Entry{}, nil
		}
		if err != nil {
			return nil, message.Entry{}, err
		}
	}
	return q, message.Entry{Position: rec.Position(), Size: int32(rec.Size()), TagsCode: s.tagsCode(rec, topic)}, nil
}

// tagsCode is the hash of a record's tag; in the schedule topic, the time at which it is to be delivered.
func (s *Store) tagsCode(rec message.Record, topic []byte) int64 {
	props := rec.Properties()
	if string(topic) == message.TopicSchedule {
		if text, ok := props.Get(message.PropDelay); ok {
			if level, err := strconv.ParseInt(string(text), 10, 32); err == nil && level > 0 {
				return s.deliverTime(level, rec.StoreTimestamp())
			}
		}
	}
	tag, ok := props.Get(message.PropTags)
	if !ok {
		return 0
	}
	return message.TagsCode(tag)
}

// deliverTime is when a message of a delay level that was stored at a time is due, in ms.
func (s *Store) deliverTime(level, stored int64) int64 {
	level = min(level, int64(len(s.delayLevels)))
	if level < 1 {
		return stored + 1000
	}
	return stored + s.delayLevels[level-1].Milliseconds()
}

// errEntriesWait says that entries can't be written now and the dispatcher goroutine has to try again.
var errEntriesWait = errors.New("queue entries could not be written")

// commitEntriesLocked writes the entries of all touched queues. While that fails, for want of disk space as a rule,
// messages are refused. With wait it tries again until it works or the store stops.
func (s *Store) commitEntriesLocked(wait bool) error {
	d := &s.dispatcher
	for i := 0; i < len(d.touched); {
		err := d.touched[i].Commit()
		if err == nil {
			d.touched[i].touched = false
			i++
			continue
		}
		if d.touched[i].SyncErr() != nil { // it will never work again
			return err
		}
		d.blocked = true
		s.block(blockQueue, "queue entries could not be written: "+plain(err))
		if !wait {
			return errEntriesWait
		}
		s.report("write queue entries", err)
		if !s.sleep(dispatchRetry) {
			return fmt.Errorf("%w: %w", errStopped, err)
		}
	}
	if d.blocked {
		d.blocked = false
		s.block(blockQueue, "")
	}
	clear(d.touched)
	d.touched = d.touched[:0]
	return nil
}
