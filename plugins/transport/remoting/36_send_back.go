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
	f := r.fields()
	b := &sendBack{c: r.c, oneWay: r.h.IsOneway()}
	b.Position = message.Position(f.int64("offset"))
	b.Group = f.name("group")
	b.DelayLevel = f.int32("delayLevel")
	b.MaxReconsumeTimes = f.optInt32("maxReconsumeTimes", wire.NoInt32)
	if f.err != nil {
		return nil, f.err
	}
	if b.HasMaxReconsumeTimes = b.MaxReconsumeTimes != wire.NoInt32; !b.HasMaxReconsumeTimes {
		b.MaxReconsumeTimes = 0
	}
	b.OriginMessageID = r.h.OptText("originMsgId")
	b.OriginTopic = r.c.names.text(f.opt("originTopic"))
	b.UnitMode = r.h.Bool("unitMode")
	b.Caller, b.Reply, b.Token = r.caller, b, sendToken(&r.h)
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
	b.c.out.addSends(-1)
	if b.oneWay {
		return
	}
	opaque, t := tokenHeader(b.Token)
	var h wire.Header
	h.Reply(&wire.Header{Opaque: opaque, Type: t}, int32(b.Code))
	h.SetRemark(b.Remark)
	b.c.answer(&h, nil, nil)
}

// addSends counts requests that wait for the store. waitDrained sees it with the answer that follows.
func (o *output) addSends(n int) {
	o.mu.Lock()
	o.sends += n
	o.mu.Unlock()
}
