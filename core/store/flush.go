package store

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/weirmq/weir/core/message"
)

// How often derived data reaches the disk. RocketMQ's intervals, but for the bytes.
const (
	queueFlushInterval   = time.Second      // queues with at least two pages to write
	queueFlushEntries    = 2 * 4096 / 20    // two pages
	thoroughInterval     = 60 * time.Second // all queues, and the checkpoint
	thoroughBytes        = 256 << 20        // the same, after so much log was dispatched
	noteInterval         = time.Second      // the note of the flushed position
	retentionInterval    = 10 * time.Second // expired segments, full disk
	dispatchRetry        = time.Second      // entries that could not be written
	fatalRemark          = "the broker's disk failed to flush; nothing more is acknowledged, the broker is stopping"
	prepareAheadFraction = 2 // the next segment is made when 1/2 of the last is used
)

// flushLog makes everything committed durable. The first error is final: the kernel may have dropped what it could not
// write and would report success the next time.
func (s *Store) flushLog() error {
	s.flushMu.Lock()
	defer s.flushMu.Unlock()
	at := s.committedTime.Load() // before the position, so that it isn't newer
	from, to := s.durable.Load(), s.committed.Load()
	if to <= from {
		return s.log.SyncErr()
	}
	if err := s.log.Datasync(from, to); err != nil {
		err = fmt.Errorf("flush commit log from %d to %d: %w", from, to, err)
		s.fail(err)
		return err
	}
	s.durable.Store(to)
	s.durableTime.Store(at)
	return nil
}

// Flush makes everything stored so far durable, whatever store.flush says. An error is final, and stops the broker.
func (s *Store) Flush() error { return s.flushLog() }

// flushLoop flushes the log by interval, with async flush.
func (s *Store) flushLoop() {
	defer s.loops.Done()
	timer := s.clock.NewTimer(s.cfg.FlushInterval)
	defer timer.Stop()
	for {
		select {
		case <-timer.C():
		case <-s.stop:
			return
		}
		if s.flushLog() != nil {
			return // fail has told everyone
		}
		timer.Reset(s.cfg.FlushInterval)
	}
}

// maintainLoop flushes queues, writes checkpoint and note, and deletes what has expired.
func (s *Store) maintainLoop() {
	defer s.loops.Done()
	timer := s.clock.NewTimer(queueFlushInterval)
	defer timer.Stop()
	now := s.clock.Now()
	thorough, retention := now, now
	for {
		select {
		case <-timer.C():
		case <-s.stop:
			return
		}
		now = s.clock.Now()
		s.residency.tick()
		if now.Sub(thorough) >= thoroughInterval || s.dispatched.Load()-s.queuesFlushed.Load() >= thoroughBytes {
			thorough = now
			s.report("flush consume queues", s.flushQueues(0))
		} else {
			s.report("flush consume queues", s.flushQueues(queueFlushEntries))
			s.report("write the note of the flushed position", s.writeNote(false))
		}
		if now.Sub(retention) >= retentionInterval {
			retention = now
			s.report("delete expired segments", s.retain(now))
		}
		timer.Reset(queueFlushInterval)
	}
}

// report logs an error of a background task that will be tried again.
func (s *Store) report(task string, err error) {
	if err != nil {
		s.logger.Warn("store: could not "+task+", will try again", slog.Any("error", err))
	}
}

// flushQueues makes the entries of all queues durable that have at least so many unflushed. With 0, that is all,
// checkpoint and note are written too. A failed flush ends the store, like one of the log.
func (s *Store) flushQueues(atLeast int64) error {
	dispatched, at := s.dispatchedAt()
	for _, q := range s.queues.all() {
		if n := q.Unflushed(); n == 0 || n < atLeast {
			continue
		}
		if err := q.Flush(); err != nil {
			s.fail(err)
			return nil
		}
	}
	if atLeast > 0 {
		return nil
	}
	if err := s.flushKeys(); err != nil {
		return err
	}
	s.queuesFlushed.Store(dispatched)
	s.queuesTime.Store(at)
	if err := s.writeCheckpoint(); err != nil {
		return err
	}
	return s.writeNote(false)
}

// prepareNext has the next segment made when the last one is half used, so that rolling over waits for nothing.
func (s *Store) prepareNext(end message.Position) {
	if last := s.log.Last(); last == nil || int64(end) < last.End()-s.log.Size()/prepareAheadFraction {
		return
	}
	select {
	case s.prepare <- struct{}{}:
	default:
	}
}

// prepareLoop makes the segments that prepareNext asks for. If it can't, the writer will try and report it.
func (s *Store) prepareLoop() {
	defer s.loops.Done()
	for {
		select {
		case <-s.prepare:
		case <-s.stop:
			return
		}
		if last := s.log.Last(); last != nil && s.committed.Load() >= last.End()-s.log.Size()/prepareAheadFraction {
			_, _ = s.log.Ensure(last.End())
		}
	}
}

// dispatchedAt returns how far the log is dispatched, and a store time that isn't later than that.
func (s *Store) dispatchedAt() (pos, time int64) {
	time = s.dispatchedTime.Load() // first, so that it isn't newer than the position
	return s.dispatched.Load(), time
}
