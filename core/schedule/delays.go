package schedule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/internal/loop"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// Log is the part of the store that this package reads. core/store has it.
type Log interface {
	// Bounds returns the first available offset of a queue and the one that its next message gets.
	Bounds(q message.QueueKey) (low, high message.Offset, ok bool)
	// Entries lends up to n raw entries that lie together, starting with that of offset from. The caller releases ref.
	Entries(q message.QueueKey, from message.Offset, n int) (raw []byte, ref transport.Ref, err error)
	// Units shows v what the queue's extension file holds of the entries whose tags codes are addresses in it. It passes over
	// units that are lost.
	Units(q message.QueueKey, codes []int64, v message.ExtVisitor)
	// Lend adds the records of entries to r, and says how many it added before the first that can't be had.
	Lend(entries []message.Entry, r *transport.Records) (n int, err error)
	// Begin returns the position of the oldest record.
	Begin() message.Position
	// Flush makes everything stored so far durable.
	Flush() error
}

// Appender stores messages again.
type Appender interface {
	// Put stores messages in their order and returns when the system has them, not waiting for a flush. It sets errs[i], which has
	// a place for each message, to why message i wasn't stored; a *message.Error with MessageIllegal will never be.
	Put(messages []message.Message, errs []error)
}

// Settings is what Delays needs. All fields are set.
type Settings struct {
	Config Config // valid
	Clock  clock.Clock
	Logger *slog.Logger
	FS     vfs.FS
	Log    Log
	Put    Appender
	Path   string // of delayOffset.json
}

const (
	// sleepMax bounds how long the clock of the machine, if it is set forward, isn't looked at.
	sleepMax = 500 * time.Millisecond
	// retryWait is how long a level pauses when a message can't be read or stored now.
	retryWait = 100 * time.Millisecond
	// complaintInterval bounds the log lines of a level that doesn't get on.
	complaintInterval = time.Minute
)

// Delays delivers the messages of the delay levels. It is safe for concurrent use.
type Delays struct {
	set    Settings
	levels Levels
	lanes  []*lane
	wake   chan struct{} // a lane that had nothing may have something; room for one
	loop   loop.Group
	file   offsetsFile
	work   delivery

	// Figures counts since the start.
	Figures Figures
}

// Figures count what became of delayed messages.
type Figures struct {
	Delivered atomic.Int64 // stored in their real topics
	Lost      atomic.Int64 // passed over: the log doesn't have them any more, or they can't be stored
	Failed    atomic.Int64 // attempts that are repeated
	// LatestMillis is how late the last delivered message was.
	LatestMillis atomic.Int64
}

// lane is one level.
type lane struct {
	level int
	queue message.QueueKey
	next  atomic.Int64 // offset of the message that is delivered next
	idle  atomic.Bool  // there was none
	at    int64        // ms: when to look again; used by the loop only
	quiet time.Time    // no complaint before

	stuck message.Offset // the message that couldn't be read last, and
	since time.Time      // when that was first
}

// unreadableWait is how long a level waits for a message that can't be read, before it goes on without it. What a disk refuses for a moment is
// read by then; what is damaged would keep back everything behind it for ever.
const unreadableWait = time.Minute

// givesUp says whether the next message has been unreadable for long enough.
func (l *lane) givesUp(now time.Time) bool {
	if next := message.Offset(l.next.Load()); l.since.IsZero() || l.stuck != next {
		l.stuck, l.since = next, now
	}
	return now.Sub(l.since) >= unreadableWait
}

// New returns a Delays that has read nothing yet.
func New(set Settings) (*Delays, error) {
	levels, err := ParseLevels(set.Config.Levels)
	if err != nil {
		return nil, err
	}
	d := &Delays{set: set, levels: levels, wake: make(chan struct{}, 1)}
	for i := range levels {
		d.lanes = append(d.lanes, &lane{level: i + 1, queue: Queue(i + 1)})
	}
	return d, nil
}

// Levels returns the table.
func (d *Delays) Levels() Levels { return d.levels }

// Start reads how far each level was and begins to deliver.
func (d *Delays) Start() error {
	if err := d.load(); err != nil {
		return err
	}
	d.loop.Run(d.run)
	return nil
}

// Stop ends the deliveries and saves how far they are. It works without Start, and twice.
func (d *Delays) Stop(ctx context.Context) error {
	if err := d.loop.Stop(ctx); err != nil {
		return fmt.Errorf("store delayed messages: %w", err)
	}
	return d.Save()
}

// Arrived is told of a new message in a queue of the schedule topic. It doesn't block.
func (d *Delays) Arrived(id message.QueueID) {
	if int(id) < 0 || int(id) >= len(d.lanes) || !d.lanes[id].idle.Load() {
		return
	}
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// Each calls f with each level's progress: the offset that is next, and that of the message that will be stored next.
func (d *Delays) Each(f func(level int, next, end message.Offset)) {
	for _, l := range d.lanes {
		_, high, _ := d.set.Log.Bounds(l.queue)
		f(l.level, message.Offset(l.next.Load()), high)
	}
}

func (d *Delays) run(stopped <-chan struct{}) {
	save := d.set.Clock.Now().Add(d.set.Config.SaveInterval)
	timer := d.set.Clock.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-stopped:
			return
		case <-d.wake:
		case <-timer.C():
		}
		now := d.set.Clock.Now()
		if !now.Before(save) {
			save = now.Add(d.set.Config.SaveInterval)
			if err := d.Save(); err != nil {
				d.set.Logger.Error("the progress of delayed messages stays in memory until it can be saved", "error", err)
			}
		}
		next := d.advance()
		now = d.set.Clock.Now()
		timer.Reset(max(0, min(next.Sub(now), sleepMax, save.Sub(now))))
	}
}

// advance delivers everything that is due and returns when to come again.
func (d *Delays) advance() time.Time {
	for {
		now := d.set.Clock.Now()
		again, next := false, now.Add(sleepMax)
		for _, l := range d.lanes {
			if l.idle.Load() || clock.Millis(now) >= l.at {
				again = d.serve(l, clock.Millis(now)) || again
			}
			if at := time.UnixMilli(l.at); !l.idle.Load() && at.Before(next) {
				next = at
			}
			if d.loop.Stopped() {
				return now
			}
		}
		if !again {
			return next
		}
	}
}

// serve delivers a batch of a level, if one is due, and sets when to look at the level again. It says whether more may be due now.
func (d *Delays) serve(l *lane, now int64) (more bool) {
	low, high, ok := d.set.Log.Bounds(l.queue)
	next := message.Offset(l.next.Load())
	if ok && (next < low || next > high) {
		d.set.Logger.Warn("the progress of a delay level was outside of its queue and was corrected", "level", l.level,
			"offset", int64(next), "first", int64(low), "end", int64(high))
		next = min(max(next, low), high)
		l.next.Store(int64(next))
	}
	if !ok || next >= high {
		l.idle.Store(true)
		if _, high, _ = d.set.Log.Bounds(l.queue); next >= high { // none came while it was still said to be watched
			return false
		}
	}
	l.idle.Store(false)
	used, due, err := d.work.deliver(d, l, next, now)
	l.next.Store(int64(next) + int64(used))
	switch {
	case err != nil:
		l.at = now + retryWait.Milliseconds()
		d.complain(l, err)
		return false
	case due > now:
		l.at = due
		return false
	}
	l.at = now
	return true
}

// complain logs why a level doesn't get on, once a minute.
func (d *Delays) complain(l *lane, err error) {
	d.Figures.Failed.Add(1)
	now := d.set.Clock.Now()
	if now.Before(l.quiet) {
		return
	}
	l.quiet = now.Add(complaintInterval)
	d.set.Logger.Error("delayed messages wait for longer than they should", "level", l.level, "offset", l.next.Load(), "error", err)
}

// errNoRecord says that a delayed message can't be read now.
var errNoRecord = errors.New("the delayed message can't be read")
