package remoting

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
)

// PULL_MESSAGE (11), and LITE_PULL_MESSAGE (361) of 5.x clients, which is the same by another number.

// pull is a transport.Pull with what the transport keeps beside it.
type pull struct {
	transport.Pull
	c      *conn
	oneway bool // nobody wants the answer
	fields wire.PullHeader
	reply  wire.PullReply
	answer wire.Header
}

// servePull hands a pull to the broker. The answer may come at once or much later.
func servePull(ctx context.Context, r *request) ([]byte, error) {
	c := r.c
	p := c.e.pools.pulls.Get().(*pull)
	if err := p.read(r); err != nil {
		p.rest(c.e)
		return nil, err
	}
	if !c.out.beginPull(c.e.cfg.MaxPulls) {
		p.rest(c.e)
		return nil, refuse(message.SystemBusy, "this connection has too many pulls under way (max_pulls)")
	}
	returned := false
	defer func() {
		if !returned { // a panic
			c.out.endPull()
		}
	}()
	p.c, p.oneway, p.Reply = c, r.h.IsOneway(), p
	p.Caller = r.caller
	p.Token = sendToken(&r.h)
	c.e.h.Puller.Pull(ctx, &p.Pull)
	returned = true
	return nil, errParked
}

// read fills p from the ext fields.
func (p *pull) read(r *request) error {
	f := &p.fields
	if err := f.Decode(&r.h); err != nil {
		return err
	}
	names := &r.c.names
	p.Group, p.Topic = names.text(f.ConsumerGroup), names.text(f.Topic)
	p.QueueID, p.Offset = message.QueueID(f.QueueID), message.Offset(f.QueueOffset)
	p.MaxNum, p.CommitOffset = f.MaxMsgNums, message.Offset(f.CommitOffset)
	p.SuspendTimeout, p.SubVersion = millis(f.SuspendTimeoutMillis), f.SubVersion
	p.Expression = filter.Expression{Type: names.text(f.ExpressionType), Text: names.text(f.Subscription)}
	if p.Expression.Type == "" {
		p.Expression.Type = filter.TypeTag
	}
	p.Commit = f.SysFlag&message.PullCommitOffset != 0
	p.Suspend = f.SysFlag&message.PullSuspend != 0
	p.HasSubscription = f.SysFlag&message.PullSubscription != 0
	most, err := r.h.OptInt32("maxMsgBytes", 0) // of 5.x
	p.MaxBytes = max(most, 0)
	return err
}

// millis is a time that a client asks for, which is never negative and at most a day.
func millis(n int64) time.Duration {
	return time.Duration(min(max(n, 0), 24*60*60*1000)) * time.Millisecond
}

// PullDone writes the answer.
func (p *pull) PullDone(*transport.Pull) {
	c := p.c
	s := c.out.begin()
	c.out.pulls--
	if s == nil || p.oneway {
		c.out.end()
		p.Records.Release()
		p.rest(c.e)
		return
	}
	if p.Records.Size > 0 && c.out.fullLocked() {
		p.Records.Release()
		p.Code, p.Remark = message.SystemBusy, "this connection isn't reading its answers (write_queue)"
	}
	held := p.appendAnswer(s)
	c.out.end()
	if !held {
		p.rest(c.e)
	}
}

// appendAnswer appends the answer to s. It returns true when s now holds p, to be released when it has been written.
func (p *pull) appendAnswer(s *spool) (held bool) {
	e := p.c.e
	opaque, t := tokenHeader(p.Token)
	h := &p.answer
	h.Reset()
	h.Type, h.Opaque, h.Code, h.Flag = t, opaque, int32(p.Code), wire.FlagResponse
	h.Language, h.Version = wire.LanguageGo, wire.Version
	h.SetRemark(p.Remark)
	switch p.Code {
	case message.Success, message.PullNotFound, message.PullRetryImmediately, message.PullOffsetMoved:
		p.reply = wire.PullReply{SuggestWhichBrokerID: p.SuggestBrokerID, NextBeginOffset: int64(p.NextBeginOffset),
			MinOffset: int64(p.MinOffset), MaxOffset: int64(p.MaxOffset)}
		p.reply.Encode(h)
	}
	b, err := wire.AppendHead(s.b, h, p.Records.Size)
	if err != nil {
		p.Records.Release()
		e.appendAnswer(s, h, nil, nil)
		return false
	}
	s.b = b
	e.metrics.answered(h.Code)
	if s.take(&p.Records) {
		s.hold(p)
		return true
	}
	return false
}

// release gives the records back when they have been written.
func (p *pull) release() {
	p.Records.Release()
	p.rest(p.c.e)
}

// rest empties p and puts it back.
func (p *pull) rest(e *endpoint) {
	records := p.Records
	p.Pull = transport.Pull{Records: records}
	p.c, p.oneway, p.fields = nil, false, wire.PullHeader{}
	e.pools.pulls.Put(p)
}

// beginPull counts a pull, unless there are too many.
func (o *output) beginPull(most int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.pulls >= most {
		return false
	}
	o.pulls++
	return true
}

func (o *output) endPull() {
	o.mu.Lock()
	o.pulls--
	o.mu.Unlock()
}

// putPrefix fills in the length and the header length of the frame that begins at start.
func putPrefix(b []byte, start int, t wire.Type, body int) []byte {
	head := len(b) - start - 8
	binary.BigEndian.PutUint32(b[start:], uint32(4+head+body))
	binary.BigEndian.PutUint32(b[start+4:], uint32(t)<<24|uint32(head))
	return b
}
