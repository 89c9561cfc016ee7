package store

import (
	"errors"
	"fmt"
	"log/slog"
	"syscall"
	"time"

	"github.com/weirmq/weir/core/message"
)

// failRetry is how long messages are refused without trying after a write has failed.
const failRetry = 200 * time.Millisecond

// failLogEvery is how often failed writes are logged.
const failLogEvery = 10 * time.Second

// writeLoop is the goroutine that goes on writing where an appender has stopped after its round.
func (s *Store) writeLoop() {
	defer s.loops.Done()
	for {
		select {
		case <-s.app.wake:
			for s.writeRound() {
				s.dispatcher.notify()
			}
			s.dispatchInline()
		case <-s.stopWriter:
			return
		}
	}
}

// writeRound writes what is in the tail buffer, flushes it with sync flush, and answers those who wait. It says whether
// there is more; then the caller still is the one who writes, else nobody is. Only one goroutine is in it. Dispatching
// what it has made visible is the caller's.
func (s *Store) writeRound() (more bool) {
	a := &s.app
	a.mu.Lock()
	t := a.fill
	a.fill, a.spare = a.spare, nil
	a.fill.reset(t.end, s.bufferMax)
	if a.room != nil {
		close(a.room)
		a.room = nil
	}
	stale := a.stale
	a.mu.Unlock()

	if err := s.write(t, stale); err != nil {
		return s.writeFailed(t, err)
	}
	s.written(t)

	a.mu.Lock()
	defer a.mu.Unlock()
	t.reset(0, s.bufferMax)
	a.spare = t
	a.failed, a.stale = nil, 0
	return s.moreLocked()
}

// moreLocked says whether there is something to write, and otherwise ends the time of the one who writes.
func (s *Store) moreLocked() bool {
	a := &s.app
	if !a.fill.empty() {
		return true
	}
	a.writing = false
	if a.idle != nil {
		close(a.idle)
		a.idle = nil
	}
	return false
}

// write puts the bytes of t into the log, making segments where needed. Where a failed round has left parts of refused
// records they are zeroed first: a record that was refused must not look like a stored one behind ours.
func (s *Store) write(t *tail, stale message.Position) error {
	if stale > t.start {
		if err := s.zeroLog(t.start, stale); err != nil {
			return err
		}
	}
	for _, r := range t.runs {
		if err := s.writeRun(int64(r.pos), t.bytes[r.from:r.to]); err != nil {
			return err
		}
	}
	return nil
}

// pageSize is the least that the system writes as a whole when a kill interrupts it, in bytes.
const pageSize = 4096

// writeRun puts records at pos so that a kill leaves all of them or none. A write that it interrupts ends at the end of some
// page, and then the last record might have its body, and the checksum of it, but not all its properties. So size and magic
// of the first record, without which the log ends there, come last, when a page ends among the records.
func (s *Store) writeRun(pos int64, records []byte) error {
	seg, err := s.log.Ensure(pos)
	if err != nil {
		return err
	}
	const head = message.BlankHeaderSize
	if n := int64(len(records)); n > pageSize-(pos-seg.Start())%pageSize && n > head {
		if err := s.log.WriteAt(pos+head, records[head:]); err != nil {
			return err
		}
		records = records[:head]
	}
	return s.log.WriteAt(pos, records)
}

// written makes the bytes of t count, and answers its batches.
func (s *Store) written(t *tail) {
	s.stats.stored(t)
	s.committed.Store(int64(t.end))
	s.committedTime.Store(t.time)
	s.prepareNext(t.end)
	if !s.sync {
		s.completeList(t.first)
		return
	}
	waiting := s.completeUnwaiting(t.first)
	if err := s.flushLog(); err != nil {
		for b := waiting; b != nil; b = b.next {
			b.refuse(0, len(b.Messages), message.ServiceNotAvailable, fatalRemark)
		}
	}
	s.completeList(waiting)
}

// completeList answers b and all behind it.
func (s *Store) completeList(b *Batch) {
	now := s.clock.Now()
	for b != nil {
		next := b.next // b is its owner's again after complete
		s.stats.took(now.Sub(b.start))
		s.complete(b)
		b = next
	}
}

// completeUnwaiting answers those batches of a list that don't wait for the disk and returns the list of the others.
func (s *Store) completeUnwaiting(b *Batch) *Batch {
	var waiting, done tail
	for b != nil {
		next := b.next
		if b.Wait {
			waiting.push(b)
		} else {
			done.push(b)
		}
		b = next
	}
	s.completeList(done.first)
	return waiting.first
}

// writeFailed takes back everything that is not in the log: the round's messages and those that were appended behind
// them meanwhile, since their places depend on it. Positions and queue offsets go back to where the round began.
func (s *Store) writeFailed(t *tail, cause error) bool {
	f := &failure{remark: "the message could not be written: " + plain(cause), retry: s.clock.Now().Add(failRetry)}
	if s.log.Find(int64(t.start)) != nil { // break the chain at once, should we be killed before the next write
		_ = s.log.WriteAt(int64(t.start), zeroChunk[:message.BlankHeaderSize])
	}
	a := &s.app
	a.mu.Lock()
	behind := a.fill
	takeBack(t)
	takeBack(behind)
	lists := [2]*Batch{t.first, behind.first}
	a.failed = f
	a.stale = max(a.stale, t.end)
	start := t.start
	s.deleted.takeBack(start)
	t.reset(0, s.bufferMax)
	behind.reset(start, s.bufferMax)
	a.spare = t
	if a.room != nil {
		close(a.room)
		a.room = nil
	}
	more := s.moreLocked()
	a.mu.Unlock()

	s.logWriteFailure(cause)
	for _, b := range lists {
		for b != nil {
			next := b.next
			b.refuse(0, len(b.Messages), message.ServiceNotAvailable, f.remark)
			s.complete(b)
			b = next
		}
	}
	return more
}

// takeBack returns the queue offsets that the messages of t were given. The caller holds appender.mu.
func takeBack(t *tail) {
	for b := t.first; b != nil; b = b.next {
		for i := range b.Messages {
			m := &b.Messages[i]
			if m.size > 0 && counted(m.SysFlag) && m.QueueOffset < m.queue.next {
				m.queue.next = m.QueueOffset
			}
		}
	}
}

// plain is the part of a write error that helps a producer's operator.
func plain(err error) string {
	if errors.Is(err, syscall.ENOSPC) {
		return "no space left on device; make room on the broker's disk"
	}
	return err.Error()
}

func (s *Store) logWriteFailure(cause error) {
	now := s.clock.Now()
	if last := s.lastFailLog.Load(); last != nil && now.Sub(*last) < failLogEvery {
		return
	}
	s.lastFailLog.Store(&now)
	s.logger.Error("messages are refused: the commit log cannot be written", slog.Any("error", cause),
		slog.Int64("position", s.committed.Load()))
}

var zeroChunk [64 << 10]byte

// zeroLog writes zeros over [from, to) of the log, as far as there are segments.
func (s *Store) zeroLog(from, to message.Position) error {
	for pos := int64(from); pos < int64(to); {
		seg := s.log.Find(pos)
		if seg == nil {
			return nil
		}
		n := min(int64(to), seg.End()) - pos
		n = min(n, int64(len(zeroChunk)))
		if err := s.log.WriteAt(pos, zeroChunk[:n]); err != nil {
			return fmt.Errorf("clear what a failed write left: %w", err)
		}
		pos += n
	}
	return nil
}

// fail ends the store's life as a writer after an error that can't be lived with: nothing is acknowledged any more.
func (s *Store) fail(err error) {
	a := &s.app
	a.mu.Lock()
	first := a.fatal == nil
	if first {
		a.fatal = err
	}
	a.mu.Unlock()
	if !first {
		return
	}
	s.logger.Error("store stops: "+fatalRemark, slog.Any("error", err))
	if s.onFatal != nil {
		go s.onFatal(err)
	}
}
