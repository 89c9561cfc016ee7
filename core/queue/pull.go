package queue

import (
	"context"
	"log/slog"
	"sync"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/internal/loop"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/queue/verdict"
	"github.com/weirmq/weir/core/transport"
)

// PullSettings is what Pulls needs. All fields are set.
type PullSettings struct {
	Config   Config
	Clock    clock.Clock
	Logger   *slog.Logger
	Log      Log
	Topics   TopicTable
	Groups   GroupTable
	Clients  *Clients
	Programs *Programs
	Filters  *Filters
	// Bindings are the mandatory filters; nil for none.
	Bindings *Bindings
	Offsets  *Offsets
	Counters *Counters
	// Verdicts keeps what programs have said of messages; nil: each pull asks them.
	Verdicts *verdict.Covers
	// Perm returns what the broker as a whole allows.
	Perm func() message.Perm
	// Cluster is the key of the whole broker's counters.
	Cluster string
	// Recreated, if set, says that a topic was deleted once and has come back since.
	Recreated func(topic string) bool
}

// Pulls answers pull requests, and holds those that may wait. It is safe for concurrent use.
type Pulls struct {
	set   PullSettings
	scans sync.Pool // of *scan
	wait  waiting
	loop  loop.Group
	live  live
	round round
	moved moved

	verdicts VerdictCounters
	figures  figureTable
}

// NewPulls returns a Pulls that answers at once. Start makes it look after held pulls.
func NewPulls(set PullSettings) *Pulls {
	p := &Pulls{set: set}
	p.scans.New = func() any { return newScan() }
	p.wait.init(set.Config.HeldPullsMax)
	p.figures.init(set.Config.CountersMax)
	p.round.budget.share = set.Config.Verdicts.DispatchShare
	p.round.hasty = filter.WithHaste(context.Background())
	return p
}

// What an answer to a pull says about the read, by RocketMQ's names, which are its remarks.
const (
	statusFound          = "FOUND"
	statusNoMatch        = "NO_MATCHED_MESSAGE"
	statusRemoving       = "MESSAGE_WAS_REMOVING"
	statusFoundNull      = "OFFSET_FOUND_NULL"
	statusOverflowBadly  = "OFFSET_OVERFLOW_BADLY"
	statusOverflowOne    = "OFFSET_OVERFLOW_ONE"
	statusTooSmall       = "OFFSET_TOO_SMALL"
	statusNoMessageThere = "NO_MESSAGE_IN_QUEUE"
)

// Pull answers r, at once or, when r allows it and there is nothing new, later. The caller has been authorised.
func (p *Pulls) Pull(ctx context.Context, r *transport.Pull) {
	c, refused := p.check(ctx, r)
	if refused != nil {
		p.refuse(r, refused)
		return
	}
	p.read(ctx, r, c)
	if r.Commit {
		p.commit(r)
	}
	if r.Code == message.PullNotFound && r.Suspend && p.hold(r, c.prog) {
		return
	}
	c.prog.release()
	p.done(r)
}

// again answers a pull that was held. It checks everything once more, and neither commits nor holds.
func (p *Pulls) again(ctx context.Context, r *transport.Pull) {
	c, refused := p.check(ctx, r)
	if refused != nil {
		p.refuse(r, refused)
		return
	}
	p.read(ctx, r, c)
	c.prog.release()
	p.done(r)
}

func (p *Pulls) refuse(r *transport.Pull, e *message.Error) {
	r.Code, r.Remark = e.Code, e.Remark
	r.Reply.PullDone(r)
}

func (p *Pulls) done(r *transport.Pull) {
	switch n := int64(r.Records.Count); r.Code {
	case message.Success:
		p.set.Counters.found(p.set.Cluster, r.Topic, r.Group, n, int64(r.Records.Size))
	case message.PullNotFound, message.PullRetryImmediately, message.PullOffsetMoved:
		p.set.Counters.GetMiss.Add(1)
	}
	r.Reply.PullDone(r)
}

// commit sets the offset that rides on the pull.
func (p *Pulls) commit(r *transport.Pull) {
	if err := p.set.Offsets.Commit(r.Group, queueOf(r), r.CommitOffset); err != nil {
		p.set.Logger.Debug("commit offset of a pull", "group", r.Group, "topic", r.Topic, "error", err)
	}
}

func queueOf(r *transport.Pull) message.QueueKey {
	return message.QueueKey{Topic: r.Topic, ID: r.QueueID}
}

// read looks for messages and sets r's answer.
func (p *Pulls) read(ctx context.Context, r *transport.Pull, c chooser) {
	r.SuggestBrokerID = 0
	low, high, _ := p.set.Log.Bounds(queueOf(r))
	r.MinOffset, r.MaxOffset = low, high
	switch {
	case r.MaxNum < 0:
		r.Code, r.Remark = message.SystemError, "maxMsgNums is negative: ask for at least one message"
	case high == 0:
		r.Code, r.Remark, r.NextBeginOffset = message.PullOffsetMoved, statusNoMessageThere, 0
		if r.Offset == 0 {
			r.Code = message.PullNotFound
		}
	case r.Offset < low:
		r.Code, r.Remark, r.NextBeginOffset = message.PullOffsetMoved, statusTooSmall, low
	case r.Offset == high:
		r.Code, r.Remark, r.NextBeginOffset = message.PullNotFound, statusOverflowOne, r.Offset
	case r.Offset > high:
		r.Code, r.Remark, r.NextBeginOffset = message.PullOffsetMoved, statusOverflowBadly, rightEnd(p.set.Recreated, r.Topic, low, high)
	default:
		s := p.scans.Get().(*scan)
		s.begin(p, r, c, low, high)
		s.run(ctx)
		s.end()
		p.scans.Put(s)
	}
	if r.Code == message.PullOffsetMoved {
		p.moved.tell(p.set.Logger, p.set.Clock, r.Group, queueOf(r), r.Offset, r.NextBeginOffset, low, high)
	}
}

// Moved returns how many pulls came for an offset that isn't there.
func (p *Pulls) Moved() int64 { return p.moved.count.Load() }
