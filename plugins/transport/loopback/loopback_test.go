package loopback

import (
	"context"
	"errors"
	"testing"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/core/transport/transporttest"
)

func TestConformance(t *testing.T) {
	transporttest.Run(t, transporttest.Suite{Factory: Factory{}, Dial: dial})
}

// client makes a Session the suite's client.
type client struct{ s *Session }

func dial(t *testing.T, tr transport.Transport) transporttest.Client {
	t.Helper()
	s, err := tr.(*Transport).Connect(Client{})
	if err != nil {
		t.Fatal(err)
	}
	return client{s}
}

func (c client) Send(ctx context.Context, topic string, bodies ...string) ([]transporttest.Sent, error) {
	var list []Message
	for _, b := range bodies {
		list = append(list, Message{Topic: topic, Body: []byte(b)})
	}
	answers, err := c.s.Send(ctx, list...)
	var sent []transporttest.Sent
	for _, a := range answers {
		sent = append(sent, transporttest.Sent{Code: a.Code, Remark: a.Remark, Offset: a.QueueOffset})
	}
	return sent, err
}

func (c client) Pull(ctx context.Context, group, topic string, offset message.Offset) (transporttest.Pulled, error) {
	p, err := c.s.Pull(ctx, transport.Pull{Group: group, Topic: topic, Offset: offset, MaxNum: 32, Suspend: true})
	return transporttest.Pulled{Code: p.Code, Remark: p.Remark, Next: p.NextBeginOffset, Records: string(p.Records)}, err
}

func (c client) CommittedOffset(ctx context.Context, group, topic string) (message.Offset, error) {
	return c.s.CommittedOffset(ctx, group, message.QueueKey{Topic: topic})
}

func (c client) CommitOffset(ctx context.Context, group, topic string, o message.Offset) error {
	return c.s.CommitOffset(ctx, group, message.QueueKey{Topic: topic}, o)
}

func (c client) Close() { c.s.Close("the client closes it") }

func TestNoticesAndCallsReachTheClient(t *testing.T) {
	tr := New(transport.Handlers{})
	var notices []transport.Notice
	s, err := tr.Connect(Client{
		Notified: func(n transport.Notice) { notices = append(notices, n) },
		Called: func(_ context.Context, c transport.ClientCall) (transport.ClientReply, error) {
			return transport.ClientReply{Remark: c.(transport.RunningInfoCall).Group}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Notify(transport.ConsumersChanged{Group: "g"}); err != nil {
		t.Error(err)
	}
	if len(notices) != 1 || notices[0] != (transport.ConsumersChanged{Group: "g"}) {
		t.Errorf("notices %v", notices)
	}
	if r, err := s.Call(t.Context(), transport.RunningInfoCall{Group: "g"}); err != nil || r.Remark != "g" {
		t.Errorf("call: %+v, %v", r, err)
	}
}

func TestClientsDifferAndEndWithTheTransport(t *testing.T) {
	tr := New(transport.Handlers{})
	a, errA := tr.Connect(Client{})
	b, errB := tr.Connect(Client{})
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	if a.Remote() == b.Remote() {
		t.Errorf("two clients are both at %v", a.Remote())
	}
	if err := tr.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if a.Alive() || b.Alive() {
		t.Error("a session is alive after the transport's end")
	}
	if _, err := tr.Connect(Client{}); !errors.Is(err, ErrStopped) {
		t.Errorf("connect after the end: %v", err)
	}
}
