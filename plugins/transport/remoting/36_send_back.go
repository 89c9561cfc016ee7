package remoting

import (
	"context"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
)

// CONSUMER_SEND_MSG_BACK (36): a consumer gives a message back. Like a send it is answered when it is stored.

// sendBack is a transport.Return that knows its connection. They are rare, so they aren't pooled.
type sendBack struct {
	transport.Return
	parked
}

func serveSendBack(ctx context.Context, r *request) ([]byte, error) {
	var x wire.SendBackHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	b := &sendBack{parked: parkedFor(r), Return: transport.Return{
		Caller: r.caller, Position: message.Position(x.Offset), Group: x.Group, DelayLevel: x.DelayLevel,
		OriginMessageID: x.OriginMsgID, OriginTopic: x.OriginTopic, UnitMode: x.UnitMode,
		HasMaxReconsumeTimes: x.HasMaxReconsumeTimes, MaxReconsumeTimes: x.MaxReconsumeTimes, Token: sendToken(&r.h),
	}}
	b.Reply = b
	return b.park(func() { r.c.e.h.Returner.Return(ctx, &b.Return) })
}

// ReturnDone writes the answer.
func (b *sendBack) ReturnDone(*transport.Return) { b.done(b.Token, b.Code, b.Remark) }
