package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/sdk/wire"
)

// SendResult says where a message was stored.
type SendResult struct {
	Queue    Queue
	Offset   int64
	ID       string // the producer's
	OffsetID string // the broker's; of a batch all of them, joined by commas
	// Code is 0, or one of the codes that say "stored, but": FlushDiskTimeout, SlaveNotAvailable, FlushSlaveTimeout.
	Code message.Code
	// RecallHandle is for Producer.Recall; empty for a message that doesn't wait.
	RecallHandle string
}

// Producer sends messages. It is safe for concurrent use.
type Producer struct {
	client *Client
	group  string
	ids    *ids
	turn   atomic.Uint32
	asyncs sync.Pool // of *asyncSend
}

// sendAttempts is how often a synchronous send is tried, each time on another queue.
const sendAttempts = 3

// Producer returns a producer of a group. Brokers know it from its first heartbeat on.
func (c *Client) Producer(group string) *Producer {
	c.mu.Lock()
	c.producers[group] = true
	c.mu.Unlock()
	c.startHeartbeats()
	return &Producer{client: c, group: group, ids: newIDs(outbound())}
}

// outbound guesses the host's address, for message ids only.
func outbound() netip.Addr {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return netip.Addr{}
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			addr, _ := netip.AddrFromSlice(n.IP.To4())
			return addr
		}
	}
	return netip.Addr{}
}

// retryable says whether another broker may take what one refused, as RocketMQ's producers see it.
func retryable(err error) bool {
	var said *message.Error
	if !errors.As(err, &said) {
		return true
	}
	switch said.Code {
	case message.TopicNotExist, message.ServiceNotAvailable, message.SystemError, message.NoPermission:
		return true
	}
	return false
}

// Send stores m and says where. A broker that fails or refuses is passed over for another one; a message may be stored
// twice when an answer was lost.
func (p *Producer) Send(ctx context.Context, m *Message) (*SendResult, error) {
	return p.send(ctx, m, func(h *wire.SendHeader, id []byte) (int32, []byte) {
		h.Properties = appendProperties(nil, m, id)
		return wire.CodeSendMessageV2, m.Body
	})
}

// SendBatch stores messages of one topic in one queue, all or none. Tags and keys are those of each message; the first
// one's QueueKey chooses the queue.
func (p *Producer) SendBatch(ctx context.Context, ms []*Message) (*SendResult, error) {
	if len(ms) == 0 {
		return nil, errors.New("send a batch: no messages")
	}
	var body message.Batch
	var joined []byte
	for _, m := range ms {
		if m.Topic != ms[0].Topic || m.DelayLevel != 0 || !m.DeliverAt.IsZero() {
			return nil, errors.New("send a batch: all messages have one topic and none is delayed")
		}
		id := p.ids.next(nil)
		if len(joined) > 0 {
			joined = append(joined, ',')
		}
		joined = append(joined, id...)
		var err error
		if body, err = message.AppendBatchItem(body, m.Flag, m.Body, appendProperties(nil, m, id)); err != nil {
			return nil, fmt.Errorf("send a batch: %w", err)
		}
	}
	r, err := p.send(ctx, ms[0], func(h *wire.SendHeader, _ []byte) (int32, []byte) {
		h.Batch = true
		h.Properties = message.AppendProperty(nil, message.PropWait, "true")
		return wire.CodeSendBatchMessage, body
	})
	if r != nil {
		r.ID = string(joined)
	}
	return r, err
}

// send tries a message on one queue after the other. fill completes the header and gives code and body.
func (p *Producer) send(ctx context.Context, m *Message, fill func(*wire.SendHeader, []byte) (int32, []byte)) (*SendResult, error) {
	id := p.ids.next(nil)
	var avoid string
	var err error
	for attempt := range sendAttempts {
		var q Queue
		if q, err = p.choose(ctx, m, avoid); err != nil {
			return nil, err
		}
		var r *SendResult
		if r, err = p.sendTo(ctx, q, m, id, fill); err == nil {
			return r, nil
		}
		if !retryable(err) || ctx.Err() != nil || attempt == sendAttempts-1 {
			break
		}
		avoid = q.Broker
		p.client.forget(m.Topic)
	}
	return nil, err
}

// choose picks the queue of a message, on another broker than avoid if there is one.
func (p *Producer) choose(ctx context.Context, m *Message, avoid string) (Queue, error) {
	r, err := p.client.RouteToSend(ctx, m.Topic)
	if err != nil {
		return Queue{}, err
	}
	if len(r.Write) == 0 {
		return Queue{}, &message.Error{Code: message.NoPermission, Remark: fmt.Sprintf("the topic %s has no queue that can be written to", m.Topic)}
	}
	if m.QueueKey != "" {
		return r.Write[hash(m.QueueKey)%uint32(len(r.Write))], nil
	}
	for range r.Write {
		q := r.Write[p.turn.Add(1)%uint32(len(r.Write))]
		if q.Broker != avoid || len(r.Brokers) == 1 {
			return q, nil
		}
	}
	return r.Write[0], nil
}

func (p *Producer) header(q Queue, m *Message) wire.SendHeader {
	return wire.SendHeader{ProducerGroup: []byte(p.group), Topic: []byte(m.Topic), DefaultTopic: []byte(message.TopicAutoCreate),
		DefaultTopicQueueNums: 4, QueueID: q.ID, BornTimestamp: time.Now().UnixMilli(), Flag: m.Flag, BrokerName: []byte(q.Broker)}
}

func (p *Producer) sendTo(ctx context.Context, q Queue, m *Message, id []byte, fill func(*wire.SendHeader, []byte) (int32, []byte)) (*SendResult, error) {
	sh := p.header(q, m)
	code, body := fill(&sh, id)
	var h wire.Header
	h.Request(code, 0)
	sh.Encode(&h)
	conn, err := p.client.Conn(ctx, q.Addr)
	if err != nil {
		return nil, err
	}
	w := &sendWaiter{done: make(chan struct{})}
	if err := conn.Submit(&h, body, w, 0, p.client.opts.Timeout); err != nil {
		return nil, fmt.Errorf("send to %s: %w", q.Addr, err)
	}
	select {
	case <-w.done:
	case <-ctx.Done():
		conn.cancel(w)
		return nil, ctx.Err()
	}
	if w.err != nil {
		return nil, fmt.Errorf("send to %s: %w", q.Addr, w.err)
	}
	w.result.Queue.Topic, w.result.Queue.Broker, w.result.Queue.Addr = m.Topic, q.Broker, q.Addr
	w.result.ID = string(id)
	return &w.result, nil
}

// sendWaiter is the handler of a synchronous send.
type sendWaiter struct {
	done   chan struct{}
	result SendResult
	err    error
}

func (w *sendWaiter) Reply(_ uint64, r *Reply) {
	w.result, w.err = sendResult(r)
	close(w.done)
}

// sendResult reads the answer to a send.
func sendResult(r *Reply) (SendResult, error) {
	if r.Err() != nil {
		return SendResult{}, r.Err()
	}
	switch message.Code(r.Code()) {
	case message.Success, message.FlushDiskTimeout, message.SlaveNotAvailable, message.FlushSlaveTimeout:
	default:
		return SendResult{}, r.Failure()
	}
	h, err := r.Header()
	if err != nil {
		return SendResult{}, err
	}
	var sr wire.SendReply
	if err := sr.Decode(h); err != nil {
		return SendResult{}, err
	}
	return SendResult{Queue: Queue{ID: sr.QueueID}, Offset: sr.QueueOffset, OffsetID: string(bytes.Clone(sr.MsgID)),
		Code: message.Code(h.Code), RecallHandle: string(sr.RecallHandle)}, nil
}

// SendOneWay writes m to a broker without waiting for anything. It may be lost.
func (p *Producer) SendOneWay(ctx context.Context, m *Message) error {
	q, err := p.choose(ctx, m, "")
	if err != nil {
		return err
	}
	sh := p.header(q, m)
	sh.Properties = appendProperties(nil, m, p.ids.next(nil))
	var h wire.Header
	h.Request(wire.CodeSendMessageV2, 0)
	sh.Encode(&h)
	conn, err := p.client.Conn(ctx, q.Addr)
	if err != nil {
		return err
	}
	return conn.OneWay(&h, m.Body)
}

// SendHandler takes the results of asynchronous sends.
type SendHandler interface {
	// Sent is called once for each send, on a connection's reading goroutine: it must not block.
	Sent(token uint64, r SendResult, err error)
}

// SendAsync stores m and calls hd. It waits only for a route, a connection, and a place in the connection's window. An
// error means that hd will not be called. Unlike Send it doesn't try other brokers. m is not used after it has returned.
func (p *Producer) SendAsync(ctx context.Context, m *Message, hd SendHandler, token uint64) error {
	q, err := p.choose(ctx, m, "")
	if err != nil {
		return err
	}
	conn, err := p.client.Conn(ctx, q.Addr)
	if err != nil {
		return err
	}
	s := p.async()
	sh := p.header(q, m)
	s.id = p.ids.next(s.id[:0])
	s.props = appendProperties(s.props[:0], m, s.id)
	sh.Properties = s.props
	s.header.Request(wire.CodeSendMessageV2, 0)
	sh.Encode(&s.header)
	s.queue, s.handler, s.token = q, hd, token
	for {
		err := conn.Submit(&s.header, m.Body, s, 0, p.client.opts.Timeout)
		if !errors.Is(err, ErrWindowFull) {
			if err != nil {
				p.asyncs.Put(s)
			}
			return err
		}
		if err := conn.waitForSlot(ctx); err != nil {
			p.asyncs.Put(s)
			return err
		}
	}
}

func (p *Producer) async() *asyncSend {
	if s, ok := p.asyncs.Get().(*asyncSend); ok {
		return s
	}
	return &asyncSend{producer: p}
}

// asyncSend is what an asynchronous send keeps until its answer. They are pooled.
type asyncSend struct {
	producer *Producer
	header   wire.Header
	props    message.Properties
	id       []byte
	queue    Queue
	handler  SendHandler
	token    uint64
}

// Reply hands the answer on.
func (s *asyncSend) Reply(_ uint64, r *Reply) {
	result, err := sendResult(r)
	id := result.Queue.ID
	result.Queue, result.ID = s.queue, string(s.id)
	result.Queue.ID = id
	hd, token := s.handler, s.token
	s.handler = nil
	s.producer.asyncs.Put(s)
	hd.Sent(token, result, err)
}
