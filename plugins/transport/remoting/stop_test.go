package remoting

import (
	"context"
	"testing"
	"time"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
)

// TestStopLetsAnswersOut stops while a send waits for the store: it is answered, and only then the connection ends.
func TestStopLetsAnswersOut(t *testing.T) {
	sender := newFakeSender()
	batches := make(chan *transport.SendBatch, 1)
	sender.hook = func(b *transport.SendBatch) bool { batches <- b; return true }
	e := start(t, transport.Handlers{Sender: sender}, nil)
	p := dial(t, e)
	p.write(frame(t, wire.JSON, wire.CodeSendMessageV2, 1, 0, sendExt("T"), nil))
	b := <-batches
	stopped := make(chan error, 1)
	go func() { stopped <- e.Stop(context.Background()) }()
	waitFor(t, e.stopping.Load)
	select {
	case err := <-stopped:
		t.Fatalf("stopped before the answer: %v", err)
	default:
	}
	b.Reply.SendsDone(b)
	if a := p.read(); a.Code != 0 || a.Opaque != 1 {
		t.Errorf("answer %+v", a.Header)
	}
	p.closed()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// TestStopGivesUpOnStuckRoles stops while a role doesn't return.
func TestStopGivesUpOnStuckRoles(t *testing.T) {
	manual := clock.NewManual(time.Unix(1000, 0))
	entered, leave := make(chan struct{}), make(chan struct{})
	sender := newFakeSender()
	sender.hook = func(*transport.SendBatch) bool { close(entered); <-leave; return false }
	set := settings(t, manual, nil)
	cfg := defaultConfig()
	cfg.Listen = "127.0.0.1:0"
	e, err := newEndpoint(set, cfg, transport.Handlers{Sender: sender}, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context(), noHost{}); err != nil {
		t.Fatal(err)
	}
	p := dial(t, e)
	p.write(frame(t, wire.JSON, wire.CodeSendMessageV2, 1, 0, sendExt("T"), nil))
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- e.Stop(ctx) }()
	manual.BlockUntil(2) // the sweep and the drain
	cancel()
	waitFor(t, func() bool {
		manual.Advance(time.Second) // past the grace, whenever that begins
		select {
		case err := <-stopped:
			if err == nil {
				t.Error("Stop doesn't say that a request is still being served")
			}
			return true
		default:
			return false
		}
	})
	close(leave)
	if err := e.Stop(t.Context()); err != nil {
		t.Errorf("the second stop: %v", err)
	}
}

// TestAnswersDoNotWaitForSlowRequests: what was asked before a slow request is answered while that is being served.
func TestAnswersDoNotWaitForSlowRequests(t *testing.T) {
	roles := &slowTopics{entered: make(chan struct{}, 2), leave: make(chan struct{})}
	e := start(t, transport.Handlers{Sender: newFakeSender(), Topics: roles}, func(c *Config) { c.SlowRequests = 1 })
	p := dial(t, e)
	send := func(o int32) []byte { return frame(t, wire.JSON, wire.CodeSendMessageV2, o, 0, sendExt("T"), nil) }
	slow := func(o int32) []byte { return frame(t, wire.JSON, wire.CodeGetAllTopicConfig, o, 0, nil, nil) }
	var all []byte
	for _, f := range [][]byte{send(1), slow(2), send(3), slow(4), send(5)} {
		all = append(all, f...)
	}
	p.write(all)
	<-roles.entered
	for _, want := range []int32{1, 3} {
		if a := p.read(); a.Opaque != want {
			t.Errorf("answer to %d, want %d", a.Opaque, want)
		}
	}
	close(roles.leave)
	seen := map[int32]bool{}
	for range 3 {
		a := p.read()
		seen[a.Opaque] = a.Code == int32(message.Success)
	}
	if !seen[2] || !seen[4] || !seen[5] {
		t.Errorf("answers %v", seen)
	}
}

type slowTopics struct {
	allRoles
	entered, leave chan struct{}
}

func (s *slowTopics) Topics(context.Context, *transport.Caller) ([]transport.TopicConfig, transport.DataVersion, error) {
	s.entered <- struct{}{}
	<-s.leave
	return nil, transport.DataVersion{}, nil
}
