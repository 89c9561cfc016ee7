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
	c      *conn
	oneWay bool
}

func serveEndTransaction(ctx context.Context, r *request) ([]byte, error) {
	var x wire.EndTransactionHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	b := &endTransaction{c: r.c, oneWay: r.h.IsOneway(), EndTransaction: transport.EndTransaction{
		Caller: r.caller, ProducerGroup: x.ProducerGroup, Offset: message.Offset(x.TranStateTableOffset), Position: message.Position(x.CommitLogOffset),
		Decision: x.CommitOrRollback, FromCheck: x.FromTransactionCheck, MessageID: x.MsgID, Token: sendToken(&r.h),
	}}
	b.Reply = b
	r.c.out.addSends(1)
	returned := false
	defer func() {
		if !returned { // a panic
			r.c.out.addSends(-1)
		}
	}()
	r.c.e.h.Trans.EndTransaction(ctx, &b.EndTransaction)
	returned = true
	return nil, errParked
}

// EndDone writes the answer.
func (b *endTransaction) EndDone(*transport.EndTransaction) {
	if !b.oneWay {
		opaque, t := tokenHeader(b.Token)
		var h wire.Header
		h.Reply(&wire.Header{Opaque: opaque, Type: t}, int32(b.Code))
		h.SetRemark(b.Remark)
		b.c.answer(&h, nil, nil)
	}
	b.c.out.addSends(-1)
}

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
