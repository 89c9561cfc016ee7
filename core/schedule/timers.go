package schedule

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/internal/loop"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/schedule/pending"
)

// TimerSettings is what Timers needs. All fields are set.
type TimerSettings struct {
	Config Config // valid
	Clock  clock.Clock
	Logger *slog.Logger
	FS     vfs.FS
	Log    Log
	Put    Appender
	Dir    string // of what is derived from the queue, and of the progress
}

// Timers delivers messages that wait for times of their own. It is safe for concurrent use.
//
//	TimerQueue -> scan -> pending.Set -> deliver: those that are due, but for recalled ones, stored again in their real topics
//	                                  -> roll: those whose segment is about to be removed, stored again in TimerQueue
type Timers struct {
	set     TimerSettings
	pending *pending.Set
	wake    chan struct{} // the queue has more, or Keep wants something; room for one
	loop    loop.Group

	// Of the loop:
	passed   pending.Progress // that of the start: what is read again and was dealt with
	look     message.Offset   // where the queue is read on
	work     timerWork
	hold     time.Time // no attempt before
	settleAt time.Time // the same, for the disk
	quiet    time.Time // no complaint before
	stuck    map[message.Position]time.Time

	wanted atomic.Int64 // Keep was asked for the segments before it
	floor  atomic.Int64 // nothing before it is needed
	length atomic.Int64

	// Figures counts since the start.
	Figures TimerFigures
}

// TimerFigures count what became of timed messages.
type TimerFigures struct {
	Delivered atomic.Int64 // stored in their real topics
	Recalled  atomic.Int64 // taken back before their time
	Rolled    atomic.Int64 // stored again while they waited, because their segment was to be removed
	Lost      atomic.Int64 // passed over: the log doesn't have them any more, or they can't be stored
	Failed    atomic.Int64 // attempts that are repeated
	// LatestMillis is how late the last delivered message was.
	LatestMillis atomic.Int64
}

// NewTimers returns a Timers that has read nothing yet.
func NewTimers(set TimerSettings) *Timers {
	return &Timers{set: set, wake: make(chan struct{}, 1), stuck: map[message.Position]time.Time{}, work: timerWork{recalls: map[uint64][]pending.Entry{}}}
}

// Limit returns the longest time in ms for which a message may wait.
func (t *Timers) Limit() int64 { return t.set.Config.TimerMax.Milliseconds() }

// Start reads the progress and begins to deliver.
func (t *Timers) Start() error {
	set, p, from, err := pending.Open(pending.Settings{FS: t.set.FS, Dir: t.set.Dir, Logger: t.set.Logger, Flush: t.set.Log.Flush})
	if err != nil {
		return err
	}
	t.pending, t.passed, t.look = set, p, from
	t.checkProgress()
	set.Start()
	t.loop.Run(t.run)
	return nil
}

// checkProgress compares the progress with the queue. They differ when the log was cut, or another one was put in its place.
func (t *Timers) checkProgress() {
	low, high, _ := t.set.Log.Bounds(TimerQueue())
	looked := t.passed.Looked
	if looked == (pending.Place{}) && high > low {
		t.set.Logger.Warn("timed messages are in the store, and no progress says which were delivered: all whose time has come are delivered now",
			"messages", int64(high-low), "dir", t.set.Dir)
	}
	if looked.Offset <= high && (looked.Offset <= low || t.endOf(looked.Offset-1) == looked.Position) {
		return
	}
	t.set.Logger.Warn("the progress of timed messages isn't that of their queue, which is read again", "looked", int64(looked.Offset), "end", int64(high))
	t.passed.Looked.Offset = min(looked.Offset, high)
	if t.passed.Rolled.Offset > high {
		t.passed.Rolled = pending.Place{}
	}
	t.pending.Roll(t.passed.Rolled)
	t.pending.Reset()
	t.look = low
}

// endOf returns where the record of an offset ends in the log, -1 when nobody knows.
func (t *Timers) endOf(at message.Offset) message.Position {
	raw, ref, err := t.set.Log.Entries(TimerQueue(), at, 1)
	if ref != nil {
		defer ref.Release()
	}
	if err != nil || len(raw) < message.EntrySize {
		return -1
	}
	e := message.DecodeEntry(raw)
	return e.Position + message.Position(e.Size)
}

// Stop ends the deliveries and saves how far they are. It works without Start, and twice.
func (t *Timers) Stop(ctx context.Context) error {
	if err := t.loop.Stop(ctx); err != nil {
		return fmt.Errorf("store timed messages: %w", err)
	}
	if t.pending == nil {
		return nil
	}
	if err := t.pending.Stop(ctx); err != nil {
		return fmt.Errorf("save the progress of timed messages: %w", err)
	}
	return nil
}

// Arrived is told that the queue has more. It doesn't block.
func (t *Timers) Arrived() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// Pending returns about how many messages wait. Those that were recalled are among them until their time.
func (t *Timers) Pending() int64 { return t.length.Load() }

// Keep is asked before the segments of the log before a position are removed, and returns up to where nothing is needed any more. What is needed is stored
// again soon, so that a later call returns more. It doesn't block.
func (t *Timers) Keep(to message.Position) message.Position {
	floor := message.Position(t.floor.Load())
	if floor < to && t.wanted.Load() < int64(to) {
		t.wanted.Store(int64(to))
		t.Arrived()
	}
	return min(floor, to)
}

func (t *Timers) run(stopped <-chan struct{}) {
	save := t.set.Clock.Now().Add(t.set.Config.SaveInterval)
	timer := t.set.Clock.NewTimer(0)
	defer timer.Stop()
	for {
		var result func() error
		select {
		case <-stopped:
			return
		case <-t.wake:
		case <-timer.C():
		case result = <-t.pending.Results():
		}
		now := t.set.Clock.Now()
		if !now.Before(save) {
			save = now.Add(t.set.Config.SaveInterval)
			t.pending.Save()
		}
		next := t.step(now, result)
		now = t.set.Clock.Now()
		timer.Reset(max(0, min(next.Sub(now), sleepMax, save.Sub(now))))
	}
}

// step does some of all that can be done, and returns when to come again.
func (t *Timers) step(now time.Time, result func() error) (next time.Time) {
	more, err := t.scan()
	if err != nil {
		t.complain("read the queue of timed messages", err)
		more, next = false, now.Add(retryWait)
	}
	if !now.Before(t.hold) {
		again, err := t.deliver()
		if err != nil {
			t.complain("deliver timed messages", err)
			t.hold = now.Add(retryWait)
		}
		more = more || again
	}
	again, err := t.roll()
	if err != nil {
		t.complain("store timed messages again that wait in segments about to be removed", err)
		t.wanted.Store(0) // until it is asked again
	}
	t.settle(now, result)
	t.note()
	switch {
	case more || again:
		return now
	case !next.IsZero():
		return next
	}
	return t.nextDue(now)
}

// settle lets the disk's work go on, after an error not before a pause.
func (t *Timers) settle(now time.Time, result func() error) {
	if result == nil && now.Before(t.settleAt) {
		return
	}
	if err := t.pending.Settle(result); err != nil {
		t.complain("write what is derived from the queue of timed messages", err)
		t.settleAt = now.Add(retryWait)
	}
}

func (t *Timers) nextDue(now time.Time) time.Time {
	e, ok, err := t.pending.Peek()
	switch {
	case err != nil:
		return now
	case !ok:
		return now.Add(sleepMax)
	}
	due := time.UnixMilli(min(e.Due, now.Add(sleepMax).UnixMilli()))
	if due.Before(t.hold) {
		return t.hold
	}
	return due
}

// note tells other goroutines how things stand.
func (t *Timers) note() {
	t.length.Store(t.pending.Len())
	_, high, _ := t.set.Log.Bounds(TimerQueue())
	if t.pending.Len() <= 0 && t.look >= high {
		t.floor.Store(math.MaxInt64)
		return
	}
	t.floor.Store(int64(t.pending.SavedRolled().Position))
}

// complain logs what can't be done now, once a minute.
func (t *Timers) complain(what string, err error) {
	t.Figures.Failed.Add(1)
	now := t.set.Clock.Now()
	if now.Before(t.quiet) {
		return
	}
	t.quiet = now.Add(complaintInterval)
	t.set.Logger.Error("timed messages wait for longer than they should", "what", what, "error", err)
}

// lose notes that a message is passed over for good.
func (t *Timers) lose(at message.Position, why string) {
	t.Figures.Lost.Add(1)
	t.set.Logger.Error("a timed message can't be delivered and is passed over", "position", int64(at), "why", why)
}

// stuckMax bounds the unreadable records that are known at a time.
const stuckMax = 1 << 12

// givesUp says whether a record has been unreadable for long enough.
func (t *Timers) givesUp(at message.Position) bool {
	now := t.set.Clock.Now()
	since, ok := t.stuck[at]
	if !ok {
		if len(t.stuck) >= stuckMax {
			clear(t.stuck) // they wait for another minute
		}
		t.stuck[at], since = now, now
	}
	if now.Sub(since) < unreadableWait {
		return false
	}
	delete(t.stuck, at)
	return true
}
