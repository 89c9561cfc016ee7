package remoting

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
)

// END_TRANSACTION (37): a producer commits or rolls back. Like a send it is answered when that is stored; most clients ask for no answer.
// RESUME_CHECK_HALF_MESSAGE (323): a tool has an undecided transaction checked anew.

// The decisions that are next to each other in the read buffer become one batch, like sends, and sends between them don't part them: nobody may rely on
// the order of what is answered apart.

// ends is a transport.EndBatch with what the transport keeps beside it.
type ends struct {
	transport.EndBatch
	c        *conn
	bytes    int // of the frames
	kept     kept
	fields   wire.EndTransactionHeader
	answer   wire.Header
	answered atomic.Bool // by the broker, or by us when it panicked
}

func newEnds() *ends {
	b := &ends{}
	b.Reply = b
	return b
}

// collectEnd adds a decision to the batch that the next submit hands over. size is that of the frame.
func (c *conn) collectEnd(h *wire.Header, body []byte, size int) {
	if c.ends == nil {
		c.ends = c.e.pools.ends.Get().(*ends)
		c.ends.c = c
	}
	b := c.ends
	x := &b.fields
	if err := x.Decode(h); err != nil {
		c.refuse(h, err)
		return
	}
	b.Ends = append(b.Ends, transport.EndTransaction{
		Credentials: b.kept.credentials(c, h, body), ProducerGroup: b.kept.keep(x.ProducerGroup), Offset: message.Offset(x.TranStateTableOffset),
		Position: message.Position(x.CommitLogOffset), Decision: x.CommitOrRollback, FromCheck: x.FromTransactionCheck, OneWay: h.IsOneway(), Token: sendToken(h),
	})
	b.bytes += size
}

// refuse answers a request that can't be understood, if an answer is wanted.
func (c *conn) refuse(h *wire.Header, err error) {
	if h.IsOneway() {
		return
	}
	code, remark := errorAnswer(err)
	var a wire.Header
	a.Reply(h, int32(code))
	a.SetRemark(remark)
	c.answer(&a, nil, nil)
}

// submitEnds hands the collected decisions to the broker.
func (c *conn) submitEnds() {
	b := c.ends
	if b == nil || len(b.Ends) == 0 {
		return
	}
	c.ends, c.called = nil, true
	c.out.expect(len(b.Ends), b.bytes)
	defer func() {
		if p := recover(); p != nil {
			c.logPanic(p, wire.CodeEndTransaction)
			b.fail(fmt.Sprintf("ending the transaction failed inside the broker: %v", p))
		}
	}()
	c.e.h.Trans.EndTransactions(c.ctx, &b.EndBatch)
}

// EndsDone writes the answers and puts the batch back.
func (b *ends) EndsDone(*transport.EndBatch) {
	if b.answered.Swap(true) {
		return // the broker panicked before, and its callers were told
	}
	b.write(&b.answer, func(e *transport.EndTransaction) (message.Code, string) { return e.Code, e.Remark })
	b.rest()
}

// fail answers every decision of a batch that the broker couldn't finish. The batch isn't used again: the broker may still have it.
func (b *ends) fail(remark string) {
	if b.answered.Swap(true) {
		return
	}
	b.write(&wire.Header{}, func(*transport.EndTransaction) (message.Code, string) { return message.SystemError, remark })
}

// write writes an answer to each decision that wants one. h is room for it.
func (b *ends) write(h *wire.Header, answer func(*transport.EndTransaction) (message.Code, string)) {
	out := &b.c.out
	if s := out.begin(); s != nil {
		for i := range b.Ends {
			e := &b.Ends[i]
			if e.OneWay {
				continue
			}
			opaque, t := tokenHeader(e.Token)
			code, remark := answer(e)
			h.Reply(&wire.Header{Opaque: opaque, Type: t}, int32(code))
			h.SetRemark(remark)
			b.c.e.appendAnswer(s, h, nil, nil)
		}
	}
	out.sends -= len(b.Ends)
	out.sendBytes -= b.bytes
	out.end()
}

// rest empties the batch, so that it holds on to nobody's bytes, and puts it back.
func (b *ends) rest() {
	e := b.c.e
	clear(b.Ends)
	b.c, b.Ends, b.bytes, b.fields = nil, b.Ends[:0], 0, wire.EndTransactionHeader{}
	b.kept.drop()
	b.answered.Store(false)
	e.pools.ends.Put(b)
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
