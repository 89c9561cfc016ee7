// Package transporttest is the conformance suite of transport plugins: what core/transport promises to the broker and
// to its clients, checked for any implementation. An implementation's test says how to dial it and calls Run.
//
// The suite plays the broker. Its roles note what they are asked and answer what a check wants, at once or later, and
// its clients speak the protocol under test through the small Client interface.
package transporttest

import (
	"context"
	"testing"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/plugin/plugintest"
	"github.com/weirmq/weir/core/transport"
)

// Suite is what Run needs to know of an implementation.
type Suite struct {
	Factory transport.Factory
	// Config returns a configuration that listens where nobody else does; nil for the default.
	Config func() any
	// Dial connects a client to a started transport.
	Dial func(t *testing.T, tr transport.Transport) Client
}

// Client is a client of the protocol under test. A call waits for its answer. Calls of several goroutines may be under
// way at a time.
type Client interface {
	// Send stores messages, handing them over together if the protocol can, and returns their answers in order.
	Send(ctx context.Context, topic string, bodies ...string) ([]Sent, error)
	// Pull asks for messages of queue 0 of a topic, from an offset on, and is ready to wait for one.
	Pull(ctx context.Context, group, topic string, offset message.Offset) (Pulled, error)
	// CommittedOffset and CommitOffset ask for, and set, the offset of a group in queue 0 of a topic.
	CommittedOffset(ctx context.Context, group, topic string) (message.Offset, error)
	CommitOffset(ctx context.Context, group, topic string, o message.Offset) error
	// Close ends the connection.
	Close()
}

// Sent is the answer to a message.
type Sent struct {
	Code   message.Code
	Remark string
	Offset message.Offset // in the queue
}

// Pulled is the answer to a pull. A refusal is an answer, too.
type Pulled struct {
	Code    message.Code
	Remark  string
	Next    message.Offset
	Records string
}

// Run checks s. The errors of Client's offset methods must be, or wrap, a *message.Error when the broker refused.
func Run(t *testing.T, s Suite) {
	t.Run("factory", func(t *testing.T) { plugintest.Factory(t, s.Factory) })
	t.Run("life cycle", func(t *testing.T) {
		newTransport := func(t *testing.T) transport.Transport { return s.make(t, transport.Handlers{Sender: &sender{}}) }
		plugintest.Lifecycle(t, newTransport, func(t *testing.T, tr transport.Transport) {
			c := s.Dial(t, tr)
			defer c.Close()
			if _, err := c.Send(wait(t), "T", "hello"); err != nil {
				t.Errorf("send: %v", err)
			}
		})
	})
	for _, c := range []struct {
		name  string
		check func(*testing.T, Suite)
	}{
		{"address only once started", checkAddress},
		{"roles that are absent are refused", checkAbsentRoles},
		{"refusals of every role reach the client", checkRefusals},
		{"sends arrive whole and are answered in their places", checkSends},
		{"a send is answered later from elsewhere", checkLateSend},
		{"a panic is answered and survived", checkPanic},
		{"a pull is held and answered later", checkHeldPull},
		{"records come back to the store", checkRecords},
		{"offsets", checkOffsets},
		{"the session is one, comparable and ends", checkSession},
		{"the end of a session is told once, after its calls", checkSessionClosed},
		{"a session that asked nothing isn't told of", checkSilentSession},
		{"answers after the end are dropped", checkAnswerAfterClose},
		{"stop while a send is under way", checkStopWithSend},
		{"stop ends held pulls", checkStopWithHeldPull},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t, s) })
	}
}

// make returns a transport that isn't started.
func (s Suite) make(t *testing.T, h transport.Handlers) transport.Transport {
	t.Helper()
	cfg := s.Factory.DefaultConfig()
	if s.Config != nil {
		cfg = s.Config()
	}
	tr, err := s.Factory.NewTransport(plugintest.Settings(t, s.Factory.Type()), cfg, h)
	if err != nil {
		t.Fatalf("make transport: %v", err)
	}
	return tr
}

// serve returns a started transport and a client of it.
func (s Suite) serve(t *testing.T, h transport.Handlers) (transport.Transport, Client) {
	t.Helper()
	tr := s.make(t, h)
	plugintest.Start(t, tr)
	c := s.Dial(t, tr)
	t.Cleanup(c.Close)
	return tr, c
}

// wait returns a context that bounds one step.
func wait(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), plugintest.Timeout)
	t.Cleanup(cancel)
	return ctx
}

// receive returns what comes on c.
func receive[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-wait(t).Done():
		t.Fatalf("no %s in time", what)
		panic("unreachable")
	}
}
