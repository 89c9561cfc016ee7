package remoting

import (
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
)

// SEND_MESSAGE (10), SEND_MESSAGE_V2 (310) and SEND_BATCH_MESSAGE (320). The last two have one-letter names for the same
// fields. Whether the body is a batch is said by a field, not by the code.
//
// The sends that are next to each other in the read buffer become one batch. All that belongs to a send lives in the
// batch's slices, so that a send costs no allocation.

// batch is a transport.SendBatch with what the transport keeps beside it.
type batch struct {
	transport.SendBatch
	c        *conn
	bytes    int // of the frames
	kept     kept
	answered atomic.Bool // by the broker, or by us when it panicked
	fields   wire.SendHeader
	reply    wire.SendReply
	answer   wire.Header
}

func newBatch() *batch {
	b := &batch{}
	b.Reply = b
	return b
}

// A send's token is its opaque, and above it the encoding of its header.
func sendToken(h *wire.Header) uint64 { return uint64(uint32(h.Opaque)) | uint64(h.Type)<<32 }

func tokenHeader(token uint64) (opaque int32, t wire.Type) {
	return int32(uint32(token)), wire.Type(token >> 32)
}

// collect adds a send to the batch that the next submit hands over. size is that of the frame.
func (c *conn) collect(h *wire.Header, body []byte, size int) {
	if c.batch == nil {
		c.batch = c.e.pools.batches.Get().(*batch)
		c.batch.c = c
		c.batch.Session = c
	}
	b := c.batch
	n := len(b.Sends)
	if n < cap(b.Sends) {
		b.Sends = b.Sends[:n+1]
	} else {
		b.Sends = append(b.Sends, transport.Send{})
	}
	s := &b.Sends[n]
	*s = transport.Send{Body: body, Version: h.Version, OneWay: h.IsOneway(), Token: sendToken(h)}
	if err := b.read(h, s); err != nil {
		b.Sends = b.Sends[:n]
		c.refuseSend(h, err)
		return
	}
	s.Credentials = b.kept.credentials(c, h, body)
	b.bytes += size
}

// read fills s from the ext fields.
func (b *batch) read(h *wire.Header, s *transport.Send) error {
	f := &b.fields
	if err := f.Decode(h); err != nil {
		return err
	}
	k := &b.kept
	s.ProducerGroup, s.Topic, s.DefaultTopic = k.keep(f.ProducerGroup), k.keep(f.Topic), k.keep(f.DefaultTopic)
	s.DefaultTopicQueueNums, s.QueueID = f.DefaultTopicQueueNums, message.QueueID(f.QueueID)
	s.SysFlag, s.BornTimestamp, s.Flag = f.SysFlag, f.BornTimestamp, f.Flag
	s.Properties, s.ReconsumeTimes = k.keep(f.Properties), f.ReconsumeTimes
	s.UnitMode, s.Batch = f.UnitMode, f.Batch
	s.MaxReconsumeTimes, s.HasMaxReconsumeTimes = f.MaxReconsumeTimes, f.HasMaxReconsumeTimes
	return nil
}

// submitSends hands the collected sends to the broker.
func (c *conn) submitSends() {
	b := c.batch
	if b == nil || len(b.Sends) == 0 {
		return
	}
	c.batch, c.called = nil, true
	c.out.expect(len(b.Sends), b.bytes)
	defer func() {
		if p := recover(); p != nil {
			c.logPanic(p, wire.CodeSendMessage)
			b.fail(fmt.Sprintf("storing the message failed inside the broker: %v", p))
		}
	}()
	c.e.h.Sender.Send(c.ctx, &b.SendBatch)
}

// SendsDone writes the answers and puts the batch back.
func (b *batch) SendsDone(*transport.SendBatch) {
	if b.answered.Swap(true) {
		return // the broker panicked before, and its callers were told
	}
	c := b.c
	out := &c.out
	if s := out.begin(); s != nil {
		for i := range b.Sends {
			if !b.Sends[i].OneWay {
				b.appendAnswer(s, &b.Sends[i])
			}
		}
	}
	out.sends -= len(b.Sends)
	out.sendBytes -= b.bytes
	out.end()
	b.rest(c.e)
}

// fail answers every send of a batch that the broker couldn't finish. The batch isn't used again: the broker may still
// have it.
func (b *batch) fail(remark string) {
	if b.answered.Swap(true) {
		return
	}
	out := &b.c.out
	if s := out.begin(); s != nil {
		for i := range b.Sends {
			if b.Sends[i].OneWay {
				continue
			}
			opaque, t := tokenHeader(b.Sends[i].Token)
			var h wire.Header
			h.Reply(&wire.Header{Opaque: opaque, Type: t}, int32(message.SystemError))
			h.SetRemark(remark)
			h.SetTrace(b.c.e.cfg.Region, b.c.e.cfg.Trace)
			b.c.e.appendAnswer(s, &h, nil, nil)
		}
	}
	out.sends -= len(b.Sends)
	out.sendBytes -= b.bytes
	out.end()
}

// rest empties the batch, so that it holds on to nobody's bytes, and puts it back.
func (b *batch) rest(e *endpoint) {
	clear(b.Sends)
	b.c, b.Session, b.Sends, b.bytes = nil, nil, b.Sends[:0], 0
	b.Positions = b.Positions[:0]
	b.kept.drop()
	b.answered.Store(false)
	e.pools.batches.Put(b)
}

// appendAnswer appends the answer to s.
func (b *batch) appendAnswer(out *spool, s *transport.Send) {
	e := b.c.e
	opaque, t := tokenHeader(s.Token)
	stored := storedCode(s.Code)
	if stored {
		b.reply.MsgID = b.reply.MsgID[:0]
		for i, p := range s.Positions {
			if i > 0 {
				b.reply.MsgID = append(b.reply.MsgID, ',')
			}
			b.reply.MsgID = message.AppendOffsetID(b.reply.MsgID, b.StoreHost, p)
		}
	}
	if stored && t == wire.JSON && s.Remark == "" && s.RecallHandle == "" && len(b.reply.MsgID) < 8<<10 {
		out.b = e.sendAnswer.append(out.b, opaque, s, b.reply.MsgID)
		e.metrics.answered(int32(s.Code))
		return
	}
	h := &b.answer
	h.Reply(&wire.Header{Opaque: opaque, Type: t}, int32(s.Code))
	h.SetRemark(s.Remark)
	h.SetTrace(e.cfg.Region, e.cfg.Trace)
	if stored {
		b.reply.QueueID, b.reply.QueueOffset = int32(s.AnsweredQueueID), int64(s.QueueOffset)
		b.reply.RecallHandle = append(b.reply.RecallHandle[:0], s.RecallHandle...)
		b.reply.Encode(h)
	}
	e.appendAnswer(out, h, nil, nil)
}

// storedCode reports whether a send with this code was stored.
func storedCode(c message.Code) bool {
	switch c {
	case message.Success, message.FlushDiskTimeout, message.SlaveNotAvailable, message.FlushSlaveTimeout:
		return true
	}
	return false
}

// refuseSend answers a send that can't be understood.
func (c *conn) refuseSend(h *wire.Header, err error) {
	if h.IsOneway() {
		return
	}
	code, remark := errorAnswer(err)
	var a wire.Header
	a.Reply(h, int32(code))
	a.SetRemark(remark)
	a.SetTrace(c.e.cfg.Region, c.e.cfg.Trace)
	c.answer(&a, nil, nil)
}

// sendAnswer is the text of a JSON answer to a stored send, but for what differs between them. Encoding such an answer
// field by field takes three times as long, and there is one for each message.
type sendAnswer struct{ ext string }

func newSendAnswer(cfg *Config) sendAnswer {
	region, _ := jsonText(cfg.Region)
	return sendAnswer{ext: `,"extFields":{"MSG_REGION":` + region + `,"TRACE_ON":"` + strconv.FormatBool(cfg.Trace) + `","msgId":"`}
}

func (a *sendAnswer) append(b []byte, opaque int32, s *transport.Send, msgID []byte) []byte {
	start := len(b)
	b = append(b, `00000000{"code":`...)
	b = strconv.AppendInt(b, int64(s.Code), 10)
	b = append(b, a.ext...)
	b = append(b, msgID...)
	b = append(b, `","queueId":"`...)
	b = strconv.AppendInt(b, int64(s.AnsweredQueueID), 10)
	b = append(b, `","queueOffset":"`...)
	b = strconv.AppendInt(b, int64(s.QueueOffset), 10)
	b = append(b, `"},"flag":1,"language":"GO","opaque":`...)
	b = strconv.AppendInt(b, int64(opaque), 10)
	b = append(b, `,"serializeTypeCurrentRPC":"JSON","version":`...)
	b = strconv.AppendInt(b, wire.Version, 10)
	b = append(b, '}')
	return putPrefix(b, start, wire.JSON, 0)
}
