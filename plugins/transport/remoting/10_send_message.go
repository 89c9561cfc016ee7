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
	bytes    int    // of the frames
	arena    []byte // copies of the fields: the header they were decoded into is used for the next request
	headers  []*signedSend
	signedN  int         // headers in use
	answered atomic.Bool // by the broker, or by us when it panicked
	answer   wire.Header
	msgID    []byte
}

// signedSend keeps the header of a signed send until the broker has looked at it.
type signedSend struct {
	h wire.Header
	signed
}

func newBatch() *batch {
	b := &batch{}
	b.Reply = b
	return b
}

// Names of the required fields, as their bits in fields.have.
var (
	sendFieldsV1 = [...]string{"producerGroup", "topic", "defaultTopic", "defaultTopicQueueNums", "queueId", "sysFlag", "bornTimestamp", "flag"}
	sendFieldsV2 = [...]string{"a", "b", "c", "d", "e", "f", "g", "h"}
)

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
	b.readCredentials(h, s)
	b.bytes += size
}

// read fills s from the ext fields.
func (b *batch) read(h *wire.Header, s *transport.Send) error {
	var f fields
	if h.Code == wire.CodeSendMessage {
		for i := range h.Ext {
			b.fieldV1(s, &f, h.Ext[i].Key, h.Ext[i].Value)
		}
		return f.err(sendFieldsV1[:])
	}
	for i := range h.Ext {
		if k := h.Ext[i].Key; len(k) == 1 {
			b.fieldV2(s, &f, k[0], h.Ext[i].Value)
		}
	}
	return f.err(sendFieldsV2[:])
}

// keep copies v into the batch. Growing the arena leaves earlier copies where they are.
func (b *batch) keep(v []byte) []byte {
	at := len(b.arena)
	b.arena = append(b.arena, v...)
	return b.arena[at:len(b.arena):len(b.arena)]
}

func (b *batch) fieldV2(s *transport.Send, f *fields, key byte, v []byte) {
	if v == nil {
		return
	}
	if key >= 'a' && key <= 'h' {
		f.have |= 1 << (key - 'a')
	}
	switch key {
	case 'a':
		s.ProducerGroup = b.keep(v)
	case 'b':
		s.Topic = b.keep(v)
	case 'c':
		s.DefaultTopic = b.keep(v)
	case 'd':
		s.DefaultTopicQueueNums = f.int32("d", v)
	case 'e':
		s.QueueID = message.QueueID(f.int32("e", v))
	case 'f':
		s.SysFlag = f.int32("f", v)
	case 'g':
		s.BornTimestamp = f.int64("g", v)
	case 'h':
		s.Flag = f.int32("h", v)
	case 'i':
		s.Properties = b.keep(v)
	case 'j':
		s.ReconsumeTimes = f.int32("j", v)
	case 'k':
		s.UnitMode = isTrue(v)
	case 'l':
		s.MaxReconsumeTimes, s.HasMaxReconsumeTimes = f.int32("l", v), true
	case 'm':
		s.Batch = isTrue(v)
	}
}

// keyV2 returns the one-letter name of a field of code 10; 0 for one that isn't used.
func keyV2(key []byte) byte {
	switch string(key) {
	case "producerGroup":
		return 'a'
	case "topic":
		return 'b'
	case "defaultTopic":
		return 'c'
	case "defaultTopicQueueNums":
		return 'd'
	case "queueId":
		return 'e'
	case "sysFlag":
		return 'f'
	case "bornTimestamp":
		return 'g'
	case "flag":
		return 'h'
	case "properties":
		return 'i'
	case "reconsumeTimes":
		return 'j'
	case "unitMode":
		return 'k'
	case "maxReconsumeTimes":
		return 'l'
	case "batch":
		return 'm'
	}
	return 0
}

func (b *batch) fieldV1(s *transport.Send, f *fields, key, v []byte) {
	had := f.bad
	b.fieldV2(s, f, keyV2(key), v)
	if had == "" && f.bad != "" {
		f.bad = string(key)
	}
}

// readCredentials fills in what the send shows. A signed one keeps its header until the broker has seen it.
func (b *batch) readCredentials(h *wire.Header, s *transport.Send) {
	var none signed
	cr := b.c.credentials(h, s.Body, &none)
	if cr.AccessKey != nil {
		cr.AccessKey = b.keep(cr.AccessKey)
	}
	if cr.Token != nil {
		cr.Token = b.keep(cr.Token)
	}
	if cr.Signed != nil {
		cr.Signature = b.keep(cr.Signature)
		if b.signedN == len(b.headers) {
			b.headers = append(b.headers, &signedSend{})
		}
		kept := b.headers[b.signedN]
		b.signedN++
		kept.h.Reset()
		for _, e := range h.Ext {
			kept.h.Ext = append(kept.h.Ext, wire.Field{Key: b.keep(e.Key), Value: b.keep(e.Value)})
		}
		kept.signed = signed{h: &kept.h, body: s.Body}
		cr.Signed = &kept.signed
	}
	s.Credentials = cr
}

// submit hands the collected sends to the broker.
func (c *conn) submit() {
	b := c.batch
	if b == nil || len(b.Sends) == 0 {
		return
	}
	c.batch, c.called = nil, true
	c.out.mu.Lock()
	c.out.sends += len(b.Sends)
	c.out.sendBytes += b.bytes
	c.out.mu.Unlock()
	c.e.metrics.requests.Add(int64(len(b.Sends)))
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
	for _, h := range b.headers[:b.signedN] {
		h.signed = signed{}
		h.h.Reset()
	}
	b.c, b.Session, b.Sends, b.signedN, b.bytes = nil, nil, b.Sends[:0], 0, 0
	b.arena, b.Positions = b.arena[:0], b.Positions[:0]
	if cap(b.arena) > spoolKeep {
		b.arena = nil
	}
	b.answered.Store(false)
	e.pools.batches.Put(b)
}

// appendAnswer appends the answer to s.
func (b *batch) appendAnswer(out *spool, s *transport.Send) {
	e := b.c.e
	opaque, t := tokenHeader(s.Token)
	stored := storedCode(s.Code)
	if stored {
		b.msgID = b.msgID[:0]
		for i, p := range s.Positions {
			if i > 0 {
				b.msgID = append(b.msgID, ',')
			}
			b.msgID = message.AppendOffsetID(b.msgID, b.StoreHost, p)
		}
	}
	if stored && t == wire.JSON && s.Remark == "" && len(b.msgID) < 8<<10 {
		out.b = e.sendAnswer.append(out.b, opaque, s, b.msgID)
		e.metrics.answered(int32(s.Code))
		return
	}
	h := &b.answer
	h.Reply(&wire.Header{Opaque: opaque, Type: t}, int32(s.Code))
	h.SetRemark(s.Remark)
	e.setRegion(h)
	if stored {
		h.SetBytes("msgId", b.msgID)
		h.SetInt("queueId", int64(s.AnsweredQueueID))
		h.SetInt("queueOffset", int64(s.QueueOffset))
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
	c.e.setRegion(&a)
	c.answer(&a, nil, nil)
}

// setRegion adds the two fields that every answer to a send has, refusals too: clients read from them whether and as
// what they shall trace.
func (e *endpoint) setRegion(h *wire.Header) {
	h.SetString("MSG_REGION", e.cfg.Region)
	h.SetBool("TRACE_ON", e.cfg.Trace)
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
