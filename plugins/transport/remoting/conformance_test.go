package remoting

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"testing"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/core/transport/transporttest"
	"github.com/weirmq/weir/sdk/wire"
)

func TestConformance(t *testing.T) { conform(t, func(nc net.Conn) net.Conn { return nc }) }

func TestConformanceWithTLS(t *testing.T) {
	conform(t, func(nc net.Conn) net.Conn { return tls.Client(nc, &tls.Config{InsecureSkipVerify: true}) }) //nolint:gosec // nobody has signed it
}

func conform(t *testing.T, over func(net.Conn) net.Conn) {
	transporttest.Run(t, transporttest.Suite{
		Factory: Factory{},
		Config: func() any {
			c := defaultConfig()
			c.Listen = "127.0.0.1:0"
			return c
		},
		Dial: func(t *testing.T, tr transport.Transport) transporttest.Client {
			nc, err := net.Dial("tcp", tr.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			m := &muxClient{t: t, peer: peer{tb: t, nc: over(nc)}, waiting: map[int32]chan *answer{}}
			go m.run()
			return m
		},
	})
}

// muxClient is a client with many requests under way.
type muxClient struct {
	t    *testing.T
	peer peer

	mu      sync.Mutex // guards all below
	opaque  int32
	waiting map[int32]chan *answer
	closed  bool
}

var errHungUp = errors.New("the connection is closed")

func (m *muxClient) run() {
	for {
		a, err := m.peer.tryRead()
		m.mu.Lock()
		if err != nil {
			m.closed = true
			for _, c := range m.waiting {
				close(c)
			}
			m.waiting = nil
			m.mu.Unlock()
			return
		}
		c := m.waiting[a.Opaque]
		delete(m.waiting, a.Opaque)
		m.mu.Unlock()
		if c != nil && a.IsResponse() {
			c <- a
		}
	}
}

// ask sends requests in one write and waits for their answers.
func (m *muxClient) ask(ctx context.Context, code int32, ext map[string]string, bodies ...string) ([]*answer, error) {
	var all []byte
	var waits []chan *answer
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return nil, errHungUp
	}
	for _, b := range bodies {
		m.opaque++
		all = append(all, frame(m.t, wire.JSON, code, m.opaque, 0, ext, []byte(b))...)
		c := make(chan *answer, 1)
		m.waiting[m.opaque] = c
		waits = append(waits, c)
	}
	m.mu.Unlock()
	if _, err := m.peer.nc.Write(all); err != nil {
		return nil, err
	}
	var answers []*answer
	for _, c := range waits {
		select {
		case a, ok := <-c:
			if !ok {
				return nil, errHungUp
			}
			answers = append(answers, a)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return answers, nil
}

func (m *muxClient) Send(ctx context.Context, topic string, bodies ...string) ([]transporttest.Sent, error) {
	answers, err := m.ask(ctx, wire.CodeSendMessageV2, sendExt(topic), bodies...)
	var sent []transporttest.Sent
	for _, a := range answers {
		o, _ := a.Int64("queueOffset")
		sent = append(sent, transporttest.Sent{Code: message.Code(a.Code), Remark: string(a.Remark), Offset: message.Offset(o)})
	}
	return sent, err
}

func (m *muxClient) Pull(ctx context.Context, group, topic string, offset message.Offset) (transporttest.Pulled, error) {
	ext := pullExt(topic)
	ext["consumerGroup"], ext["queueId"], ext["queueOffset"] = group, "0", offset.String()
	answers, err := m.ask(ctx, wire.CodePullMessage, ext, "")
	if err != nil {
		return transporttest.Pulled{}, err
	}
	a := answers[0]
	next, _ := a.Int64("nextBeginOffset")
	return transporttest.Pulled{Code: message.Code(a.Code), Remark: string(a.Remark), Next: message.Offset(next), Records: string(a.body)}, nil
}

func (m *muxClient) offset(ctx context.Context, code int32, group, topic, commit string) (message.Offset, error) {
	answers, err := m.ask(ctx, code, map[string]string{"consumerGroup": group, "topic": topic, "queueId": "0", "commitOffset": commit}, "")
	if err != nil {
		return 0, err
	}
	if a := answers[0]; a.Code != 0 {
		return 0, &message.Error{Code: message.Code(a.Code), Remark: string(a.Remark)}
	}
	o, _ := answers[0].Int64("offset")
	return message.Offset(o), nil
}

func (m *muxClient) CommittedOffset(ctx context.Context, group, topic string) (message.Offset, error) {
	return m.offset(ctx, wire.CodeQueryConsumerOffset, group, topic, "0")
}

func (m *muxClient) CommitOffset(ctx context.Context, group, topic string, o message.Offset) error {
	_, err := m.offset(ctx, wire.CodeUpdateConsumerOffset, group, topic, o.String())
	return err
}

func (m *muxClient) Close() { _ = m.peer.nc.Close() }
