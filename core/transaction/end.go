package transaction

import (
	"fmt"
	"strconv"

	"github.com/weirmq/weir/core/message"
)

// Decision is what a producer says of a half message.
type Decision int32

// The decisions, by their numbers on the wire.
const (
	Unknown  Decision = 0
	Commit            = Decision(message.FlagCommit)
	Rollback          = Decision(message.FlagRollback)
)

// End is a producer's decision.
type End struct {
	Group []byte // of the producer
	// Topic is the topic that the half message belongs to, if the caller has its name already; "" if not.
	Topic    string
	Offset   message.Offset
	Decision Decision
}

// Ending is a decision that is being carried out. Messages are to be stored together, in their order; then Done has to be called. It may be used
// for one decision after the other, and must not be copied.
type Ending struct {
	Messages []message.Message
	k        *Keeper
	newest   message.Offset
	decision Decision
	half     [20]byte // room for the op message's body
}

// End works out what to store for a decision about the half message of rec, whose bytes x's messages borrow. ok is false when there is nothing to do: it is
// decided already. The error is an *message.Error when the decision isn't one about this message.
func (k *Keeper) End(rec message.Record, e End, x *Ending) (ok bool, err error) {
	x.Messages = x.Messages[:0]
	q, err := k.verify(rec, &e)
	if err != nil {
		k.Figures.Refused.Add(1)
		return false, err
	}
	host, ok := k.set.Host()
	if !ok {
		return false, &message.Error{Code: message.ServiceNotAvailable, Remark: "the broker is stopping"}
	}
	newest, needsOp, ok := k.table.beginEnd(e.Offset)
	if !ok {
		k.Figures.Repeated.Add(1)
		return false, nil
	}
	x.k, x.newest, x.decision = k, newest, e.Decision
	if e.Decision == Commit {
		x.Messages = append(x.Messages, committed(rec, q))
	}
	if needsOp {
		x.Messages = append(x.Messages, message.Message{
			Topic: message.TopicTransOp, BornTimestamp: k.set.Clock.Now().UnixMilli(), BornHost: host, StoreHost: host,
			Body: strconv.AppendInt(x.half[:0], int64(newest), 10), Properties: k.opProperties,
		})
	}
	return true, nil
}

// Done says whether the messages were stored.
func (x *Ending) Done(stored bool) {
	x.k.table.endEnd(x.newest, stored)
	switch {
	case !stored:
	case x.decision == Commit:
		x.k.Figures.Committed.Add(1)
	default:
		x.k.Figures.RolledBack.Add(1)
	}
}

// verify checks that a decision is about the half message of rec, and of its producer group.
func (k *Keeper) verify(rec message.Record, e *End) (q message.QueueKey, err error) {
	refuse := func(format string, args ...any) (message.QueueKey, error) {
		return q, &message.Error{Code: message.SystemError, Remark: fmt.Sprintf(format, args...)}
	}
	if e.Decision != Commit && e.Decision != Rollback {
		return refuse("commitOrRollback is %d: it is %d for a commit and %d for a rollback", e.Decision, Commit, Rollback)
	}
	if string(rec.Topic()) != message.TopicTransHalf {
		return refuse("the message at position %d is no half message", rec.Position())
	}
	if group, _ := rec.Properties().Get(message.PropProducerGroup); string(group) != string(e.Group) {
		return refuse("the half message at position %d is of producer group %s, not %s", rec.Position(), group, e.Group)
	}
	if rec.QueueOffset() != e.Offset {
		return refuse("the half message at position %d has offset %d, not %d", rec.Position(), rec.QueueOffset(), e.Offset)
	}
	q, ok := placeIn(rec, e.Topic)
	if !ok {
		return refuse("the half message at position %d has no REAL_TOPIC and REAL_QID", rec.Position())
	}
	return q, nil
}
