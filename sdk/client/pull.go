package client

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/sdk/wire"
)

// Subscription says which messages of a topic are wanted.
type Subscription struct {
	Topic string
	// Expression is in the language of Type; empty or * for everything.
	Expression string
	// Type is TAG, SQL92 and what else the broker knows; empty for TAG.
	Type string
}

func (s Subscription) expression() string {
	if s.Expression == "" {
		return message.SubscribeAll
	}
	return s.Expression
}

func (s Subscription) kind() string {
	if s.Type == "" {
		return message.ExpressionTag
	}
	return s.Type
}

// PullRequest asks for messages of one queue.
type PullRequest struct {
	Queue  Queue
	Group  string
	Offset int64
	Max    int // most messages; 32 when 0
	// Hold lets the broker wait for messages that long.
	Hold time.Duration
	// Subscription goes with the pull. nil takes the one from the group's heartbeats.
	Subscription *Subscription
	// Commit is committed for the group with the pull; negative for none.
	Commit  int64
	Version int64 // of the heartbeat's subscription
	// Records keeps each message as it is stored, besides: see Received.
	Records bool
}

// PullResult is the answer.
type PullResult struct {
	// Code is Success with messages, PullNotFound and PullRetryImmediately without, PullOffsetMoved when the offset is
	// outside the queue.
	Code              message.Code
	Messages          []*Received
	Next              int64 // where to go on
	Min, Max          int64
	SuggestedBrokerID int64
}

// Pull reads messages of one queue. Answers without messages are no errors.
func (c *Client) Pull(ctx context.Context, p PullRequest) (*PullResult, error) {
	conn, err := c.Conn(ctx, p.Queue.Addr)
	if err != nil {
		return nil, err
	}
	ph := wire.PullHeader{ConsumerGroup: []byte(p.Group), Topic: []byte(p.Queue.Topic), QueueID: p.Queue.ID, QueueOffset: p.Offset,
		MaxMsgNums: int32(p.Max), SubVersion: p.Version}
	if p.Max <= 0 {
		ph.MaxMsgNums = 32
	}
	if p.Hold > 0 {
		ph.SysFlag |= message.PullSuspend
		ph.SuspendTimeoutMillis = p.Hold.Milliseconds()
	}
	if p.Commit >= 0 {
		ph.SysFlag |= message.PullCommitOffset
		ph.CommitOffset = p.Commit
	}
	if s := p.Subscription; s != nil {
		ph.SysFlag |= message.PullSubscription
		ph.Subscription = []byte(s.expression())
		if k := s.kind(); k != message.ExpressionTag {
			ph.ExpressionType = []byte(k)
		}
	}
	var h wire.Header
	h.Request(wire.CodePullMessage, 0)
	ph.Encode(&h)
	w := &pullWaiter{done: make(chan struct{}), queue: p.Queue, records: p.Records}
	// A broker looks at held pulls every five seconds only, and RocketMQ's answers that much later than asked.
	if err := conn.Submit(&h, nil, w, 0, c.opts.Timeout+p.Hold+10*time.Second); err != nil {
		return nil, fmt.Errorf("pull from %s: %w", conn.Addr(), err)
	}
	select {
	case <-w.done:
	case <-ctx.Done():
		conn.cancel(w)
		return nil, ctx.Err()
	}
	if w.err != nil {
		return nil, fmt.Errorf("pull %s from %s: %w", p.Queue, conn.Addr(), w.err)
	}
	return w.result, nil
}

// pullWaiter is the handler of a pull.
type pullWaiter struct {
	done    chan struct{}
	queue   Queue
	records bool
	result  *PullResult
	err     error
}

func (w *pullWaiter) Reply(_ uint64, r *Reply) {
	w.result, w.err = w.read(r)
	close(w.done)
}

func (w *pullWaiter) read(r *Reply) (*PullResult, error) {
	if r.Err() != nil {
		return nil, r.Err()
	}
	out := &PullResult{Code: message.Code(r.Code())}
	switch out.Code {
	case message.Success, message.PullNotFound, message.PullRetryImmediately, message.PullOffsetMoved:
	default:
		return nil, r.Failure()
	}
	h, err := r.Header()
	if err != nil {
		return nil, err
	}
	var pr wire.PullReply
	if err := pr.Decode(h); err != nil {
		return nil, err
	}
	out.Next, out.Min, out.Max, out.SuggestedBrokerID = pr.NextBeginOffset, pr.MinOffset, pr.MaxOffset, pr.SuggestWhichBrokerID
	if out.Code != message.Success {
		return out, nil
	}
	for body := r.Body(); len(body) > 0; {
		rec, n, err := message.ParseRecord(body)
		if err != nil {
			return nil, fmt.Errorf("%d bytes before the end of the answer: %w", len(body), err)
		}
		m := receive(rec, w.queue)
		if w.records {
			m.Record = slices.Clone(rec)
		}
		out.Messages = append(out.Messages, m)
		body = body[n:]
	}
	return out, nil
}
