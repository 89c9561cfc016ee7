package remoting

import (
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/sdk/wire"
)

// parked is a request that the broker answers when the store has taken what it asks for. Until then it counts as a send of its connection.
type parked struct {
	c      *conn
	oneWay bool
}

func parkedFor(r *request) parked { return parked{c: r.c, oneWay: r.h.IsOneway()} }

// park hands the request over. If that panics, the answer is the panic's.
func (p parked) park(handOver func()) ([]byte, error) {
	p.c.out.addSends(1)
	returned := false
	defer func() {
		if !returned { // a panic
			p.c.out.addSends(-1)
		}
	}()
	handOver()
	returned = true
	return nil, errParked
}

// done writes the answer to the request with the token.
func (p parked) done(token uint64, code message.Code, remark string) {
	if !p.oneWay {
		opaque, t := tokenHeader(token)
		var h wire.Header
		h.Reply(&wire.Header{Opaque: opaque, Type: t}, int32(code))
		h.SetRemark(remark)
		p.c.answer(&h, nil, nil)
	}
	p.c.out.addSends(-1)
}

// expect counts requests of a batch that is handed over, and the bytes of their frames.
func (o *output) expect(n, bytes int) {
	o.mu.Lock()
	o.sends += n
	o.sendBytes += bytes
	o.mu.Unlock()
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
