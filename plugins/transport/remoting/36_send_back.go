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
	c      *conn
	oneWay bool
}

func serveSendBack(ctx context.Context, r *request) ([]byte, error) {
	var x wire.SendBackHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	b := &sendBack{c: r.c, oneWay: r.h.IsOneway(), Return: transport.Return{
		Caller: r.caller, Position: message.Position(x.Offset), Group: x.Group, DelayLevel: x.DelayLevel,
		OriginMessageID: x.OriginMsgID, OriginTopic: x.OriginTopic, UnitMode: x.UnitMode,
		HasMaxReconsumeTimes: x.HasMaxReconsumeTimes, MaxReconsumeTimes: x.MaxReconsumeTimes, Token: sendToken(&r.h),
	}}
	b.Reply = b
	r.c.out.addSends(1)
	returned := false
	defer func() {
		if !returned { // a panic
			r.c.out.addSends(-1)
		}
	}()
	r.c.e.h.Returner.Return(ctx, &b.Return)
	returned = true
	return nil, errParked
}

// ReturnDone writes the answer.
func (b *sendBack) ReturnDone(*transport.Return) {
	if !b.oneWay {
		opaque, t := tokenHeader(b.Token)
		var h wire.Header
		h.Reply(&wire.Header{Opaque: opaque, Type: t}, int32(b.Code))
		h.SetRemark(b.Remark)
		b.c.answer(&h, nil, nil)
	}
	b.c.out.addSends(-1)
}

// addSends counts requests that wait for the store.
func (o *output) addSends(n int) {
	o.mu.Lock()
	o.sends += n
	if o.waiting {
		o.room.Broadcast()
	}
	o.mu.Unlock()
}
