package transaction

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/internal/loop"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// Log is the part of the store that this package reads. core/store has it.
type Log interface {
	// Bounds returns the first available offset of a queue and the one that its next message gets.
	Bounds(q message.QueueKey) (low, high message.Offset, ok bool)
	// Entries lends up to n raw entries that lie together, starting with that of offset from. The caller releases ref.
	Entries(q message.QueueKey, from message.Offset, n int) (raw []byte, ref transport.Ref, err error)
	// Lend adds the records of entries to r, and says how many it added before the first that can't be had.
	Lend(entries []message.Entry, r *transport.Records) (n int, err error)
	// Begin returns the position of the oldest record.
	Begin() message.Position
}

// Stored is where a message was stored, or why it wasn't.
type Stored struct {
	Err      error
	Offset   message.Offset
	Position message.Position
	Time     int64 // ms
}

// Appender stores messages.
type Appender interface {
	// Put stores messages in their order and returns when they are as safe as the flush mode promises. Neighbours with the same number in units,
	// which has a place for each message, are stored or refused together.
	Put(messages []message.Message, units []int) []Stored
}

// Offsets keeps how far the queues of half and op messages are looked through, where RocketMQ does.
type Offsets interface {
	Committed(group string, q message.QueueKey) (message.Offset, bool)
	Commit(group string, q message.QueueKey, o message.Offset) error
}

// Settings is what a Keeper needs. All fields are set.
type Settings struct {
	Config  Config // valid
	Clock   clock.Clock
	Logger  *slog.Logger
	Log     Log
	Put     Appender
	Offsets Offsets
	// Producers returns the connected members of a producer group.
	Producers func(group string) []transport.Session
	// Host is the broker's address, which op messages bear.
	Host func() (netip.AddrPort, bool)
	// Reserved is how long messages are kept.
	Reserved time.Duration
	// EnsureParked makes TRANS_CHECK_MAX_TIME_TOPIC if it is missing.
	EnsureParked func() error
}

// Keeper ends transactions and asks about those that aren't ended. It is safe for concurrent use.
type Keeper struct {
	set          Settings
	opProperties message.Properties // of an op message about a decision
	table        table
	loop         loop.Group
	round        round

	// Figures counts since the start.
	Figures Figures
}

// Figures count what became of transactions.
type Figures struct {
	Committed, RolledBack atomic.Int64
	Repeated              atomic.Int64 // decisions about what was decided already
	Refused               atomic.Int64 // decisions about what isn't there, or isn't the producer's
	Checked               atomic.Int64 // checks sent
	Unasked               atomic.Int64 // undecided messages, by rounds, that no connected producer could be asked about
	Renewed               atomic.Int64 // half messages stored anew
	Parked                atomic.Int64 // put aside
	Lost                  atomic.Int64 // undecided messages that the log doesn't have any more
	Open                  atomic.Int64 // undecided at the last round
}

// New returns a Keeper that has read nothing yet.
func New(set Settings) *Keeper {
	return &Keeper{set: set, opProperties: message.Properties(opProperties)}
}

// Start reads which half messages are finished, and begins to ask about the others every check_interval.
func (k *Keeper) Start() error {
	if err := k.load(); err != nil {
		return fmt.Errorf("read op messages of transactions: %w", err)
	}
	k.loop.Every(k.set.Clock, k.set.Config.CheckInterval, k.check)
	return nil
}

// Stop ends the checks. It works without Start, and twice.
func (k *Keeper) Stop(ctx context.Context) error {
	if err := k.loop.Stop(ctx); err != nil {
		return fmt.Errorf("check transactions: %w", err)
	}
	return nil
}

// cursor returns the committed offset of a queue, within the queue.
func (k *Keeper) cursor(q message.QueueKey) (at, end message.Offset) {
	low, high, _ := k.set.Log.Bounds(q)
	at, ok := k.set.Offsets.Committed(Group, q)
	if !ok {
		at = low
	}
	return min(max(at, low), high), high
}

// load builds the table from the op messages that stand for half messages from the cursor on, and some before.
func (k *Keeper) load() error {
	from, _ := k.cursor(HalfQueue)
	k.table.init(max(0, from-window))
	k.round.cursor = from
	at, end := k.cursor(OpQueue)
	low, _, _ := k.set.Log.Bounds(OpQueue)
	at = max(low, at-window/4)
	err := k.each(OpQueue, at, end, func(_ message.Offset, rec message.Record) bool {
		half, moved, ok := readOp(rec)
		switch {
		case !ok:
			k.set.Logger.Warn("an op message of a transaction can't be read and is passed over", "position", int64(rec.Position()))
		case moved:
			k.table.putAside(half)
		default:
			k.table.finish(half)
		}
		return true
	})
	k.round.opEnd, k.round.halfEnd = at, from
	return errors.Join(err, k.loadCopies(from))
}

// loadCopies finds out which undecided half messages from the cursor on are copies of others, so that a decision about one of those is one about
// its copy.
func (k *Keeper) loadCopies(from message.Offset) error {
	_, high, _ := k.set.Log.Bounds(HalfQueue)
	for at := k.table.advance(from, high); at < high; {
		end := k.unfinished(at, high)
		err := k.each(HalfQueue, at, end, func(o message.Offset, rec message.Record) bool {
			if rec == nil {
				return true
			}
			for _, old := range copies(rec.Properties()) {
				if old < o {
					k.table.copied(old, o)
				}
			}
			return true
		})
		if err != nil {
			return err
		}
		at = k.table.advance(end, high)
	}
	return nil
}

// readBlock is how many entries are read together.
const readBlock = 256

// each calls f with the records of a queue from offset at to before end, until it returns false. Records that have gone, and entries without one,
// are nil.
func (k *Keeper) each(q message.QueueKey, at, end message.Offset, f func(at message.Offset, rec message.Record) bool) error {
	var records transport.Records
	defer records.Release()
	for at < end {
		raw, ref, err := k.set.Log.Entries(q, at, int(min(readBlock, end-at)))
		if err != nil || len(raw) < message.EntrySize {
			if ref != nil {
				ref.Release()
			}
			low, _, _ := k.set.Log.Bounds(q)
			if low > at { // its file has gone meanwhile
				at = low
				continue
			}
			return fmt.Errorf("read queue %v at %d: %w", q, at, err)
		}
		var entries []message.Entry
		for ; len(raw) >= message.EntrySize; raw = raw[message.EntrySize:] {
			entries = append(entries, message.DecodeEntry(raw))
		}
		ref.Release()
		for len(entries) > 0 {
			records.Release()
			n, err := k.set.Log.Lend(entries, &records)
			i := 0
			for _, chunk := range records.Chunks {
				for len(chunk) > 0 {
					size := entries[i].Size
					if !f(at, message.Record(chunk[:size:size])) {
						return nil
					}
					chunk, at, i = chunk[size:], at+1, i+1
				}
			}
			if n == len(entries) {
				break
			}
			if entries[n].Position >= k.set.Log.Begin() && entries[n].Size != fillerSize {
				return fmt.Errorf("read queue %v at %d: %w", q, at, err)
			}
			if !f(at, nil) {
				return nil
			}
			at, entries = at+1, entries[n+1:]
		}
	}
	return nil
}

// fillerSize marks an entry that stands for what was lost with the front of the queue's first file.
const fillerSize = 0x7FFFFFFF
