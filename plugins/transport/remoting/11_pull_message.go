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

// Bits of the field sysFlag.
const (
	pullCommit       = 1
	pullSuspend      = 2
	pullSubscription = 4
	pullClassFilter  = 8
)

// pull is a transport.Pull with what the transport keeps beside it.
type pull struct {
	transport.Pull
	c      *conn
	answer wire.Header
}

var pullFields = [...]string{"consumerGroup", "topic", "queueId", "queueOffset", "maxMsgNums", "sysFlag", "commitOffset",
	"suspendTimeoutMillis", "subVersion"}

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
	p.c, p.Reply = c, p
	p.Caller = r.caller
	p.Token = sendToken(&r.h)
	c.e.h.Puller.Pull(ctx, &p.Pull)
	returned = true
	return nil, errParked
}

// read fills p from the ext fields.
func (p *pull) read(r *request) error {
	var f fields
	var sysFlag int32
	for i := range r.h.Ext {
		v := r.h.Ext[i].Value
		if v == nil {
			continue
		}
		switch string(r.h.Ext[i].Key) {
		case "consumerGroup":
			p.Group = r.c.names.text(v)
			f.have |= 1 << 0
		case "topic":
			p.Topic = r.c.names.text(v)
			f.have |= 1 << 1
		case "queueId":
			p.QueueID = message.QueueID(f.int32("queueId", v))
			f.have |= 1 << 2
		case "queueOffset":
			p.Offset = message.Offset(f.int64("queueOffset", v))
			f.have |= 1 << 3
		case "maxMsgNums":
			p.MaxNum = f.int32("maxMsgNums", v)
			f.have |= 1 << 4
		case "sysFlag":
			sysFlag = f.int32("sysFlag", v)
			f.have |= 1 << 5
		case "commitOffset":
			p.CommitOffset = message.Offset(f.int64("commitOffset", v))
			f.have |= 1 << 6
		case "suspendTimeoutMillis":
			p.SuspendTimeout = millis(f.int64("suspendTimeoutMillis", v))
			f.have |= 1 << 7
		case "subVersion":
			p.SubVersion = f.int64("subVersion", v)
			f.have |= 1 << 8
		case "subscription":
			p.Expression.Text = r.c.names.text(v)
		case "expressionType":
			p.Expression.Type = r.c.names.text(v)
		case "maxMsgBytes":
			p.MaxBytes = max(f.int32("maxMsgBytes", v), 0)
		}
	}
	if err := f.err(pullFields[:]); err != nil {
		return err
	}
	if p.Expression.Type == "" {
		p.Expression.Type = filter.TypeTag
	}
	p.Commit = sysFlag&pullCommit != 0
	p.Suspend = sysFlag&pullSuspend != 0
	p.HasSubscription = sysFlag&pullSubscription != 0
	p.ClassFilter = sysFlag&pullClassFilter != 0
	return nil
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
	if s == nil {
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
		h.SetInt("maxOffset", int64(p.MaxOffset))
		h.SetInt("minOffset", int64(p.MinOffset))
		h.SetInt("nextBeginOffset", int64(p.NextBeginOffset))
		h.SetInt("suggestWhichBrokerId", p.SuggestBrokerID)
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
	p.c = nil
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
