package store

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weirmq/weir/core/message"
)

// appender gives messages their places and gets them written. See Append for the way of a batch.
type appender struct {
	mu       sync.Mutex
	open     bool               // Start was called and Close was not; guarded by mu, as all below
	closing  string             // why not open, once it was
	fill     *tail              // what is appended and not taken to be written
	spare    *tail              // the other buffer, nil while it is being written
	writing  bool               // somebody is writing, or has been told to
	room     chan struct{}      // closed when fill is taken; nil when nobody waits
	idle     chan struct{}      // closed when nobody writes any more; nil when nobody waits
	lastTime int64              // the last store time given, ms
	failed   *failure           // why writing doesn't work now, nil when it does
	stale    message.Position   // up to here the log may hold parts of refused records; see commit.go
	fatal    error              // first sync error, final
	blocks   [blockCount]string // reasons to refuse that others have set, see Store.block

	wake chan struct{} // tells the writer goroutine to write; has room for one
}

// failure is a write that failed. Until the retry time messages are refused without trying.
type failure struct {
	remark string
	retry  time.Time
}

// scratch is room for the records of a batch while they are encoded.
type scratch struct{ buf []byte }

// scratchKeep is the largest room in bytes that is kept for the next batch.
const scratchKeep = 1 << 20

// Append stores the messages of b, answers each in its place, and calls b.Done.Appended once, maybe before it returns.
// It may wait for room in the write buffer, at most Config.WriteWait. b.Messages' byte slices are not used after
// Append has returned.
//
// Way of a batch: check and encode, with checksums, in room of its own; under the lock take offsets, positions and time
// and copy the records behind those of others; then either somebody writes already and will take them along, or the
// caller writes what there is. After that round the writer goroutine takes over, so that nobody serves others for long.
// With sync flush it does so at once when the caller can use the time of the flush: when its batch has several units.
func (s *Store) Append(b *Batch) {
	b.start = s.clock.Now()
	sc := s.scratch.Get().(*scratch)
	sc.buf = s.encode(sc.buf[:0], b)
	if len(sc.buf) > 0 {
		s.enqueue(b, sc.buf)
	} else {
		s.complete(b)
	}
	if cap(sc.buf) <= scratchKeep {
		s.scratch.Put(sc)
	}
}

// encode checks the messages and appends the records of the good ones to dst.
func (s *Store) encode(dst []byte, b *Batch) []byte {
	b.units = 0
	for i := 0; i < len(b.Messages); {
		b.units++
		j := i + max(1, min(int(b.Messages[i].Unit), len(b.Messages)-i))
		at := len(dst)
		var refusal error
		for k := i; k < j; k++ {
			m := &b.Messages[k]
			m.Code, m.Remark, m.size = message.Success, "", 0
			if refusal == nil {
				dst, refusal = s.encodeOne(dst, m)
			}
		}
		if refusal == nil && len(dst)-at > s.unitMax {
			refusal = &message.Error{Code: message.MessageIllegal, Remark: fmt.Sprintf(
				"the message takes %d bytes in the store, at most %d are allowed", len(dst)-at, s.unitMax)}
		}
		if refusal != nil {
			dst = dst[:at]
			code, remark := answer(refusal)
			b.refuse(i, j, code, remark)
		}
		i = j
	}
	return dst
}

// encodeOne appends m's record to dst, still without a place.
func (s *Store) encodeOne(dst []byte, m *Message) ([]byte, error) {
	mm := message.Message{
		Topic: m.Topic, QueueID: m.Queue, Flag: m.Flag, SysFlag: m.SysFlag, BornTimestamp: m.BornTimestamp,
		BornHost: m.BornHost, StoreHost: m.StoreHost, ReconsumeTimes: m.ReconsumeTimes,
		Prepared: message.Position(m.PreparedTransactionOffset), Body: m.Body,
		Properties: m.Properties, ExtraProperties: m.MoreProperties,
	}
	if err := mm.Check(s.bodyMax); err != nil {
		return dst, err
	}
	q := s.queues.find(m.Topic, m.Queue)
	if q == nil {
		var err error
		if q, err = s.openQueue(message.QueueKey{Topic: m.Topic, ID: m.Queue}); err != nil {
			return dst, err
		}
	}
	m.queue = q
	at := len(dst)
	dst, err := message.AppendRecord(dst, &mm)
	m.size = int32(len(dst) - at)
	return dst, err
}

// answer turns an error into what a producer is told.
func answer(err error) (message.Code, string) {
	var refusal *message.Error
	if errors.As(err, &refusal) {
		return refusal.Code, refusal.Remark
	}
	return message.SystemError, err.Error()
}

// enqueue places b's records, encoded in data, and sees to it that they get written.
func (s *Store) enqueue(b *Batch, data []byte) {
	// Who sends several messages at once has more to say while these wait for the disk. Who sends one waits for it.
	apart := s.sync && b.Wait && b.units > 1
	a := &s.app
	a.mu.Lock()
	if code, remark := s.admitLocked(b, len(data)); code != message.Success {
		a.mu.Unlock()
		b.refuse(0, len(b.Messages), code, remark)
		s.complete(b)
		return
	}
	s.placeLocked(b, data)
	lead := !a.writing
	a.writing = true
	a.mu.Unlock()
	if !lead {
		return
	}
	if apart {
		a.wake <- struct{}{}
		return
	}
	if s.writeRound() {
		a.wake <- struct{}{}
		s.dispatcher.notify()
		return
	}
	s.dispatchInline()
}

// admitLocked waits for room and says why b can't be stored now, or Success.
func (s *Store) admitLocked(b *Batch, n int) (message.Code, string) {
	a := &s.app
	var timer <-chan time.Time
	for {
		if code, remark := s.refusalLocked(b.start); code != message.Success {
			return code, remark
		}
		if a.fill.empty() || len(a.fill.bytes)+n <= s.bufferMax {
			return message.Success, ""
		}
		if timer == nil {
			t := s.clock.NewTimer(s.cfg.WriteWait)
			defer t.Stop()
			timer = t.C()
		}
		if a.room == nil {
			a.room = make(chan struct{})
		}
		room := a.room
		a.mu.Unlock()
		expired := false
		select {
		case <-room:
		case <-timer:
			expired = true
		}
		a.mu.Lock()
		if expired {
			s.stats.busy.Add(1)
			return message.SystemBusy, s.busyRemark
		}
		b.start = s.clock.Now()
	}
}

// refusalLocked says why nothing can be stored at the moment.
func (s *Store) refusalLocked(now time.Time) (message.Code, string) {
	a := &s.app
	switch {
	case a.fatal != nil:
		return message.ServiceNotAvailable, fatalRemark
	case !a.open:
		return message.ServiceNotAvailable, a.closing
	case a.failed != nil && now.Before(a.failed.retry):
		return message.ServiceNotAvailable, a.failed.remark
	}
	for _, reason := range a.blocks {
		if reason != "" {
			return message.ServiceNotAvailable, reason
		}
	}
	return message.Success, ""
}

// placeLocked gives every record in data its place and copies it into the tail buffer.
func (s *Store) placeLocked(b *Batch, data []byte) {
	a := &s.app
	a.lastTime = max(a.lastTime, b.start.UnixMilli())
	for i := 0; i < len(b.Messages); {
		j := i + max(1, min(int(b.Messages[i].Unit), len(b.Messages)-i))
		size := 0
		for k := i; k < j; k++ {
			size += int(b.Messages[k].size)
		}
		if size > 0 {
			a.fill.roll(size)
		}
		for k := i; k < j && size > 0; k++ {
			m := &b.Messages[k]
			s.placeOneLocked(m, data[:m.size])
			data = data[m.size:]
		}
		i = j
	}
	a.fill.push(b)
	a.fill.time = a.lastTime
}

func (s *Store) placeOneLocked(m *Message, record []byte) {
	a := &s.app
	q := m.queue
	if q.dropped.Load() {
		q.dropped.Store(false) // the topic was deleted before and is back
	}
	m.Position, m.StoreTimestamp, m.QueueOffset = a.fill.end, a.lastTime, 0
	if counted(m.SysFlag) {
		m.QueueOffset = q.next
		q.next++
	}
	a.fill.add(record).Place(m.QueueOffset, m.Position, m.StoreTimestamp)
}

// counted says whether a message has a place in its queue: prepared and rolled back transaction records have none.
func counted(sysFlag int32) bool {
	t := message.TransactionType(sysFlag)
	return t == 0 || t == message.FlagCommit
}

// causeOf says why a message was refused. That the store can't is the fault of the disk but where it says something else.
func causeOf(c message.Code, remark string) message.Cause {
	switch {
	case remark == fatalRemark:
		return message.CauseFlush
	case remark == notStartedRemark, remark == closingRemark:
		return message.CauseStopping
	case c == message.ServiceNotAvailable:
		return message.CauseDisk
	}
	e := message.Error{Code: c}
	return e.Why()
}

// The remarks while nothing is stored because the store isn't open.
const (
	notStartedRemark = "the store is not started yet"
	closingRemark    = "the broker is shutting down"
)

// complete hands b back.
func (s *Store) complete(b *Batch) {
	for i := range b.Messages {
		if b.Messages[i].Code != message.Success {
			s.stats.refused.Add(1)
			b.Messages[i].Cause = causeOf(b.Messages[i].Code, b.Messages[i].Remark)
		}
		b.Messages[i].queue = nil
	}
	b.Done.Appended(b)
}
