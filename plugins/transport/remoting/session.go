package remoting

import (
	"context"
	"fmt"
	"sync"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
)

// callsMax bounds the requests to one client that wait for an answer. Replies of request-reply are such requests, so there may be many.
const callsMax = 4096

// calls are requests of ours that a client hasn't answered. Our opaques are a sequence of the connection's own; a
// client's may be equal, which the response flag tells apart.
type calls struct {
	mu      sync.Mutex // guards all below
	closed  bool
	opaque  int32
	waiting map[int32]chan transport.ClientReply
}

// next takes the opaque of a notice.
func (t *calls) next() int32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.opaque++
	return t.opaque
}

// begin makes room for a reply, which comes on the channel; it is closed when the connection ends first.
func (t *calls) begin() (int32, chan transport.ClientReply, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return 0, nil, transport.ErrSessionClosed
	case len(t.waiting) >= callsMax:
		return 0, nil, transport.ErrSessionBusy
	}
	if t.waiting == nil {
		t.waiting = map[int32]chan transport.ClientReply{}
	}
	t.opaque++
	c := make(chan transport.ClientReply, 1)
	t.waiting[t.opaque] = c
	return t.opaque, c, nil
}

func (t *calls) end(opaque int32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.waiting, opaque)
}

// take returns the channel that waits for opaque's answer, nil for an answer that nobody waits for.
func (t *calls) take(opaque int32) chan transport.ClientReply {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.waiting[opaque]
	delete(t.waiting, opaque)
	return c
}

// fail ends all calls.
func (t *calls) fail() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	for _, c := range t.waiting {
		close(c)
	}
	t.waiting = nil
}

// replied hands a client's answer to the call that waits for it. Late and unknown ones are dropped.
func (c *conn) replied(h *wire.Header, body []byte) {
	waiting := c.calls.take(h.Opaque)
	if waiting == nil {
		return
	}
	waiting <- transport.ClientReply{
		Code:   message.Code(h.Code),
		Remark: string(h.Remark),
		Body:   append([]byte(nil), body...),
	}
}

// Call sends the client a request and waits for the answer, at most until ctx is done.
func (c *conn) Call(ctx context.Context, call transport.ClientCall) (transport.ClientReply, error) {
	var none transport.ClientReply
	opaque, reply, err := c.calls.begin()
	if err != nil {
		return none, err
	}
	defer c.calls.end(opaque)
	h, body, err := encodeCall(call)
	if err != nil {
		return none, err
	}
	h.Opaque = opaque
	if err := c.post(h, body); err != nil {
		return none, err
	}
	select {
	case r, ok := <-reply:
		if !ok {
			return none, transport.ErrSessionClosed
		}
		return r, nil
	case <-ctx.Done():
		return none, fmt.Errorf("wait for the client's answer: %w", ctx.Err())
	}
}

// Notify queues a notice that isn't answered.
func (c *conn) Notify(n transport.Notice) error {
	h, body, err := encodeNotice(n)
	if err != nil {
		return err
	}
	h.Opaque = c.calls.next()
	return c.post(h, body)
}

// post queues a request of ours.
func (c *conn) post(h *wire.Header, body []byte) error {
	s := c.out.begin()
	defer c.out.end()
	switch {
	case s == nil:
		return transport.ErrSessionClosed
	case c.out.fullLocked():
		return transport.ErrSessionBusy
	}
	b, err := wire.AppendFrame(s.b, h, body)
	if err != nil {
		return fmt.Errorf("send request %d to the client: %w", h.Code, err)
	}
	s.b = b
	return nil
}

// encodeCall turns a call into one of the requests 221, 307, 309 and 326.
func encodeCall(call transport.ClientCall) (*wire.Header, []byte, error) {
	h := new(wire.Header)
	switch call := call.(type) {
	case transport.RunningInfoCall:
		h.Request(wire.CodeGetConsumerRunningInfo, 0)
		h.Write(&wire.RunningInfoHeader{ConsumerGroup: call.Group, ClientID: call.ClientID, JstackEnable: call.Stacks})
		return h, nil, nil
	case transport.ConsumeDirectlyCall:
		h.Request(wire.CodeConsumeMessageDirectly, 0)
		h.Write(&wire.ConsumeDirectlyHeader{ConsumerGroup: call.Group, ClientID: call.ClientID, MsgID: call.MessageID, BrokerName: call.Broker})
		return h, call.Record, nil
	case transport.PushReplyCall:
		h, body := encodePushReply(call)
		return h, body, nil
	case transport.ConsumerStatusCall:
		h.Request(wire.CodeGetConsumerStatusFromClient, 0)
		h.SetString("group", call.Group)
		h.SetString("topic", call.Topic)
		return h, nil, nil
	}
	return nil, nil, fmt.Errorf("call client: there is no request for a %T", call)
}

// encodeNotice turns a notice into one of the one-way requests 40 and 220.
func encodeNotice(n transport.Notice) (*wire.Header, []byte, error) {
	h := new(wire.Header)
	switch n := n.(type) {
	case transport.ConsumersChanged:
		h.Request(wire.CodeNotifyConsumerIDsChanged, 0)
		h.Flag = wire.FlagOneway
		h.Write(&wire.GroupHeader{ConsumerGroup: n.Group})
		return h, nil, nil
	case transport.ResetOffsets:
		h.Request(wire.CodeResetConsumerClientOffset, 0)
		h.Flag = wire.FlagOneway
		h.Write(&wire.ResetOffsetHeader{Topic: n.Topic, Group: n.Group, Timestamp: n.Timestamp, IsForce: n.Force})
		body, err := encodeOffsets(n)
		return h, body, err
	case transport.CheckTransaction:
		h.Request(wire.CodeCheckTransactionState, 0)
		h.Flag = wire.FlagOneway
		h.Write(&wire.CheckTransactionHeader{TranStateTableOffset: int64(n.Offset), CommitLogOffset: int64(n.Position), MsgID: n.UniqueKey,
			TransactionID: n.UniqueKey, OffsetMsgID: n.OffsetMessageID})
		return h, n.Record, nil
	}
	return nil, nil, fmt.Errorf("notify client: there is no request for a %T", n)
}

func encodeOffsets(n transport.ResetOffsets) ([]byte, error) {
	if n.ListForm {
		l := wireOffsetList(n.Offsets)
		return wire.AppendBody(nil, &l)
	}
	t := wireOffsets(n.Offsets)
	return wire.AppendBody(nil, &t)
}
