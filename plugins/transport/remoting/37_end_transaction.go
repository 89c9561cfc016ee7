package remoting

import (
	"context"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
)

// END_TRANSACTION (37): a producer commits or rolls back. Like a send it is answered when that is stored; most clients ask for no answer.
// RESUME_CHECK_HALF_MESSAGE (323): a tool has an undecided transaction checked anew.

// endTransaction is a transport.EndTransaction that knows its connection.
type endTransaction struct {
	transport.EndTransaction
	parked
}

func serveEndTransaction(ctx context.Context, r *request) ([]byte, error) {
	var x wire.EndTransactionHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	b := &endTransaction{parked: parkedFor(r), EndTransaction: transport.EndTransaction{
		Caller: r.caller, ProducerGroup: x.ProducerGroup, Offset: message.Offset(x.TranStateTableOffset), Position: message.Position(x.CommitLogOffset),
		Decision: x.CommitOrRollback, FromCheck: x.FromTransactionCheck, MessageID: x.MsgID, Token: sendToken(&r.h),
	}}
	b.Reply = b
	return b.park(func() { r.c.e.h.Trans.EndTransaction(ctx, &b.EndTransaction) })
}

// EndDone writes the answer.
func (b *endTransaction) EndDone(*transport.EndTransaction) { b.done(b.Token, b.Code, b.Remark) }

func serveResumeCheck(ctx context.Context, r *request) ([]byte, error) {
	var x wire.HalfMessageHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	_, at, err := message.ParseOffsetID(x.MsgID)
	if err != nil {
		return nil, err
	}
	return nil, r.c.e.h.Trans.ResumeCheck(ctx, &r.caller, at)
}
