package loopback

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// guard turns a panic of a role into the answer that a client gets.
func guard(call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &message.Error{Code: message.SystemError, Remark: fmt.Sprintf("failed inside the broker: %v", p)}
		}
	}()
	return call()
}

// Message is a message to send.
type Message struct {
	ProducerGroup string
	Topic         string
	QueueID       message.QueueID // negative: the broker chooses
	Flag          int32
	SysFlag       int32
	BornTimestamp int64 // ms
	Properties    []byte
	Body          []byte
	Batch         bool // Body is a batch body
	OneWay        bool
}

// Answer is what became of a message.
type Answer struct {
	Code        message.Code
	Remark      string
	QueueID     message.QueueID
	QueueOffset message.Offset
	Positions   []message.Position
	StoreHost   netip.AddrPort
}

// Send stores messages as one batch and returns their answers in order. An error means that there are none: the session
// ended or ctx was done first. The messages may be stored all the same.
func (s *Session) Send(ctx context.Context, list ...Message) ([]Answer, error) {
	if s.t.h.Sender == nil {
		return nil, unserved()
	}
	if len(list) == 0 {
		return nil, nil
	}
	if err := s.begin(); err != nil {
		return nil, err
	}
	w := sendWait{answers: make(chan []Answer, 1)}
	b := &transport.SendBatch{Session: s, Reply: w}
	for i := range list {
		b.Sends = append(b.Sends, s.encode(&list[i]))
	}
	err := guard(func() error { s.t.h.Sender.Send(s.ctx, b); return nil })
	s.done()
	if err != nil {
		return nil, err
	}
	select {
	case a := <-w.answers:
		return a, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.ctx.Done():
		return nil, transport.ErrSessionClosed
	}
}

func (s *Session) encode(m *Message) transport.Send {
	return transport.Send{
		Credentials: s.c.Credentials, Version: s.c.Version, OneWay: m.OneWay,
		ProducerGroup: []byte(m.ProducerGroup), Topic: []byte(m.Topic), DefaultTopic: []byte("TBW102"), DefaultTopicQueueNums: 4,
		QueueID: m.QueueID, SysFlag: m.SysFlag, BornTimestamp: m.BornTimestamp, Flag: m.Flag,
		Properties: m.Properties, Batch: m.Batch, Body: m.Body,
	}
}

// sendWait takes a batch's answers.
type sendWait struct{ answers chan []Answer }

// SendsDone copies the answers: the batch may be anybody's afterwards.
func (w sendWait) SendsDone(b *transport.SendBatch) {
	out := make([]Answer, len(b.Sends))
	for i := range b.Sends {
		d := &b.Sends[i]
		out[i] = Answer{Code: d.Code, Remark: d.Remark, QueueID: d.AnsweredQueueID, QueueOffset: d.QueueOffset,
			Positions: append([]message.Position(nil), d.Positions...), StoreHost: b.StoreHost}
	}
	w.answers <- out
}

// Pulled is the answer to a pull. Records holds the records, copied.
type Pulled struct {
	Code            message.Code
	Remark          string
	NextBeginOffset message.Offset
	MinOffset       message.Offset
	MaxOffset       message.Offset
	SuggestBrokerID int64
	Count           int
	Records         []byte
}

// Pull asks for messages and waits for the answer. Of p only the question is used.
func (s *Session) Pull(ctx context.Context, p transport.Pull) (Pulled, error) {
	if s.t.h.Puller == nil {
		return Pulled{}, unserved()
	}
	if err := s.begin(); err != nil {
		return Pulled{}, err
	}
	w := pullWait{answers: make(chan Pulled, 1)}
	p.Caller, p.Reply, p.Records = *s.Caller(), w, transport.Records{}
	err := guard(func() error { s.t.h.Puller.Pull(s.ctx, &p); return nil })
	s.done()
	if err != nil {
		return Pulled{}, err
	}
	select {
	case a := <-w.answers:
		return a, nil
	case <-ctx.Done():
		return Pulled{}, ctx.Err()
	case <-s.ctx.Done():
		return Pulled{}, transport.ErrSessionClosed
	}
}

// pullWait takes a pull's answer.
type pullWait struct{ answers chan Pulled }

// PullDone copies the records and gives them back.
func (w pullWait) PullDone(p *transport.Pull) {
	a := Pulled{Code: p.Code, Remark: p.Remark, NextBeginOffset: p.NextBeginOffset, MinOffset: p.MinOffset,
		MaxOffset: p.MaxOffset, SuggestBrokerID: p.SuggestBrokerID, Count: p.Records.Count}
	for _, c := range p.Records.Chunks {
		a.Records = append(a.Records, c...)
	}
	p.Records.Release()
	w.answers <- a
}

// Return gives a message back. Of r only the question is used.
func (s *Session) Return(ctx context.Context, r transport.Return) error {
	if s.t.h.Returner == nil {
		return unserved()
	}
	if err := s.begin(); err != nil {
		return err
	}
	w := returnWait{answers: make(chan error, 1)}
	r.Caller, r.Reply = *s.Caller(), w
	err := guard(func() error { s.t.h.Returner.Return(s.ctx, &r); return nil })
	s.done()
	if err != nil {
		return err
	}
	select {
	case err := <-w.answers:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-s.ctx.Done():
		return transport.ErrSessionClosed
	}
}

// returnWait takes the answer to a Return.
type returnWait struct{ answers chan error }

// ReturnDone makes an error of a refusal.
func (w returnWait) ReturnDone(r *transport.Return) {
	if r.Code == message.Success {
		w.answers <- nil
		return
	}
	w.answers <- &message.Error{Code: r.Code, Remark: r.Remark}
}

// Heartbeat makes the client a member of groups.
func (s *Session) Heartbeat(ctx context.Context, h *transport.Heartbeat) error {
	return s.do(ctx, s.t.h.Groups != nil, func(ctx context.Context, c *transport.Caller) error {
		return s.t.h.Groups.Heartbeat(ctx, c, h)
	})
}

// Consumers lists the members of a group.
func (s *Session) Consumers(ctx context.Context, group string) (ids []string, err error) {
	err = s.do(ctx, s.t.h.Groups != nil, func(ctx context.Context, c *transport.Caller) (err error) {
		ids, err = s.t.h.Groups.Consumers(ctx, c, group)
		return err
	})
	return ids, err
}

// CommittedOffset returns where a group goes on in a queue.
func (s *Session) CommittedOffset(ctx context.Context, group string, q message.QueueKey) (o message.Offset, err error) {
	err = s.do(ctx, s.t.h.Offsets != nil, func(ctx context.Context, c *transport.Caller) (err error) {
		o, err = s.t.h.Offsets.CommittedOffset(ctx, c, group, q, false)
		return err
	})
	return o, err
}

// CommitOffset says where a group goes on in a queue.
func (s *Session) CommitOffset(ctx context.Context, group string, q message.QueueKey, o message.Offset) error {
	return s.do(ctx, s.t.h.Offsets != nil, func(ctx context.Context, c *transport.Caller) error {
		return s.t.h.Offsets.CommitOffset(ctx, c, group, q, o)
	})
}

// Do calls any role. It returns the role's error, and counts as a call of this session.
func (s *Session) Do(ctx context.Context, call func(context.Context, *transport.Caller, transport.Handlers) error) error {
	return s.do(ctx, true, func(ctx context.Context, c *transport.Caller) error { return call(ctx, c, s.t.h) })
}
