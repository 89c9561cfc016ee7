package transporttest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/plugin/plugintest"
	"github.com/weirmq/weir/core/transport"
)

func checkAddress(t *testing.T, s Suite) {
	tr := s.make(t, transport.Handlers{})
	if a := tr.Addr(); a != nil {
		t.Errorf("address before start: %v", a)
	}
	plugintest.Start(t, tr)
	if tr.Addr() == nil {
		t.Error("no address after start")
	}
}

// codeOf returns the code of a refusal; Success for no error.
func codeOf(err error) message.Code {
	var e *message.Error
	switch {
	case err == nil:
		return message.Success
	case errors.As(err, &e):
		return e.Code
	}
	return -1
}

func checkAbsentRoles(t *testing.T, s Suite) {
	_, c := s.serve(t, transport.Handlers{})
	refusals(t, c, message.CodeNotSupported, "")
}

// checkRefusals plays a broker that lets nobody do anything: no transport may turn that into anything else.
func checkRefusals(t *testing.T, s Suite) {
	const code, remark = message.NoPermission, "nobody may do this"
	_, c := s.serve(t, transport.Handlers{
		Sender:  &sender{code: code, remark: remark},
		Puller:  &puller{code: code, remark: remark},
		Offsets: &offsets{err: fmt.Errorf("wrapped: %w", &message.Error{Code: code, Remark: remark})},
	})
	refusals(t, c, code, remark)
}

// refusals checks that every request is refused with code and remark.
func refusals(t *testing.T, c Client, code message.Code, remark string) {
	t.Helper()
	ctx := wait(t)
	sent, err := c.Send(ctx, "T", "a")
	switch {
	case err != nil && codeOf(err) != code:
		t.Errorf("send: %v, want code %v", err, code)
	case err == nil && (len(sent) != 1 || sent[0].Code != code || !strings.Contains(sent[0].Remark, remark)):
		t.Errorf("send: %+v, want code %v and %q", sent, code, remark)
	}
	pulled, err := c.Pull(ctx, "G", "T", 0)
	switch {
	case err != nil && codeOf(err) != code:
		t.Errorf("pull: %v, want code %v", err, code)
	case err == nil && (pulled.Code != code || !strings.Contains(pulled.Remark, remark)):
		t.Errorf("pull: %+v, want code %v and %q", pulled, code, remark)
	}
	if _, err := c.CommittedOffset(ctx, "G", "T"); codeOf(err) != code || !strings.Contains(err.Error(), remark) {
		t.Errorf("ask for an offset: %v, want code %v and %q", err, code, remark)
	}
	if err := c.CommitOffset(ctx, "G", "T", 1); codeOf(err) != code || !strings.Contains(err.Error(), remark) {
		t.Errorf("commit an offset: %v, want code %v and %q", err, code, remark)
	}
}

func checkSends(t *testing.T, s Suite) {
	const n = 100
	var bodies []string
	for i := range n {
		bodies = append(bodies, strings.Repeat(string(rune('a'+i%26)), 1+i*7))
	}
	bodies[50] = "" // an empty message is a message
	got := make(chan string, n)
	role := &sender{seen: func(b *transport.SendBatch) {
		for i := range b.Sends {
			if string(b.Sends[i].Topic) != "T" || b.Session == nil {
				t.Errorf("send %d: topic %q, session %v", i, b.Sends[i].Topic, b.Session)
			}
			got <- string(b.Sends[i].Body)
		}
	}}
	_, c := s.serve(t, transport.Handlers{Sender: role})
	sent, err := c.Send(wait(t), "T", bodies...)
	if err != nil || len(sent) != n {
		t.Fatalf("%d answers, %v", len(sent), err)
	}
	for i, a := range sent {
		if body := <-got; body != bodies[i] {
			t.Errorf("message %d arrived as %.20q, want %.20q", i, body, bodies[i])
		}
		if a.Code != message.Success || a.Offset != message.Offset(i) {
			t.Errorf("answer %d is %+v", i, a)
		}
	}
}

func checkLateSend(t *testing.T, s Suite) {
	role := &sender{later: make(chan *transport.SendBatch, 2)}
	_, c := s.serve(t, transport.Handlers{Sender: role, Offsets: &offsets{}})
	answers := make(chan []Sent, 1)
	go func() {
		sent, err := c.Send(wait(t), "T", "a")
		if err != nil {
			t.Errorf("send: %v", err)
		}
		answers <- sent
	}()
	b := receive(t, role.later, "batch")
	// The connection serves others meanwhile.
	if err := c.CommitOffset(wait(t), "G", "T", 1); err != nil {
		t.Errorf("commit while a send is under way: %v", err)
	}
	role.answer(b)
	if sent := receive(t, answers, "answer"); len(sent) != 1 || sent[0].Code != message.Success {
		t.Errorf("answers %+v", sent)
	}
}

func checkPanic(t *testing.T, s Suite) {
	_, c := s.serve(t, transport.Handlers{Sender: &sender{panics: 1}})
	sent, err := c.Send(wait(t), "T", "a")
	switch {
	case err != nil && codeOf(err) != message.SystemError:
		t.Errorf("send into a panic: %v, want code %v", err, message.SystemError)
	case err == nil && (len(sent) != 1 || sent[0].Code != message.SystemError):
		t.Errorf("send into a panic: %+v, want code %v", sent, message.SystemError)
	}
	if sent, err := c.Send(wait(t), "T", "a"); err != nil || sent[0].Code != message.Success {
		t.Errorf("the send after it: %+v, %v", sent, err)
	}
}

func checkHeldPull(t *testing.T, s Suite) {
	role := &puller{held: make(chan *transport.Pull, 1), records: [][]byte{[]byte("one"), []byte("two")}}
	_, c := s.serve(t, transport.Handlers{Puller: role, Offsets: &offsets{}})
	answers := make(chan Pulled, 1)
	go func() {
		p, err := c.Pull(wait(t), "G", "T", 5)
		if err != nil {
			t.Errorf("pull: %v", err)
		}
		answers <- p
	}()
	held := receive(t, role.held, "pull")
	if held.Group != "G" || held.Topic != "T" || held.QueueID != 0 || held.Offset != 5 || !held.Suspend {
		t.Errorf("pull arrived as %+v", held)
	}
	if err := c.CommitOffset(wait(t), "G", "T", 1); err != nil {
		t.Errorf("commit while a pull is held: %v", err)
	}
	role.answer(held)
	if p := receive(t, answers, "answer"); p.Code != message.Success || p.Next != 7 || p.Records != "onetwo" {
		t.Errorf("answer %+v", p)
	}
}

func checkRecords(t *testing.T, s Suite) {
	role := &puller{records: [][]byte{[]byte("small"), []byte(strings.Repeat("L", 100<<10)), []byte("small")}}
	tr, c := s.serve(t, transport.Handlers{Puller: role})
	const pulls = 20
	for range pulls {
		p, err := c.Pull(wait(t), "G", "T", 0)
		if err != nil || len(p.Records) != 100<<10+10 {
			t.Fatalf("pull: %d bytes, %v", len(p.Records), err)
		}
	}
	if err := tr.Stop(wait(t)); err != nil {
		t.Errorf("stop: %v", err)
	}
	if n := role.count(); n != pulls*3 {
		t.Errorf("%d references came back, want %d", n, pulls*3)
	}
}

func checkOffsets(t *testing.T, s Suite) {
	_, c := s.serve(t, transport.Handlers{Offsets: &offsets{}})
	ctx := wait(t)
	for _, o := range []message.Offset{7, 1 << 40, 0} {
		if err := c.CommitOffset(ctx, "G", "T", o); err != nil {
			t.Errorf("commit %v: %v", o, err)
		}
		if got, err := c.CommittedOffset(ctx, "G", "T"); err != nil || got != o {
			t.Errorf("committed %v, %v; want %v", got, err, o)
		}
	}
}

func checkSession(t *testing.T, s Suite) {
	seen := make(chan transport.Session, 2)
	_, c := s.serve(t, transport.Handlers{Sender: &sender{told: func(s transport.Session) { seen <- s }}})
	for range 2 {
		if _, err := c.Send(wait(t), "T", "a"); err != nil {
			t.Fatal(err)
		}
	}
	first, second := receive(t, seen, "session"), receive(t, seen, "session")
	if first != second {
		t.Error("two calls of one connection have different sessions")
	}
	if !first.Remote().IsValid() || first.Remote().Addr().Is4In6() {
		t.Errorf("remote address %v", first.Remote())
	}
	if !first.Alive() {
		t.Error("the session isn't alive")
	}
	if err := first.Notify(transport.ConsumersChanged{Group: "G"}); err != nil {
		t.Errorf("notify: %v", err)
	}
	first.Close("the suite ends it")
	first.Close("twice")
	if first.Alive() {
		t.Error("the session is alive after its end")
	}
	if err := first.Notify(transport.ConsumersChanged{Group: "G"}); !errors.Is(err, transport.ErrSessionClosed) {
		t.Errorf("notify after the end: %v", err)
	}
	if _, err := first.Call(wait(t), transport.RunningInfoCall{Group: "G"}); !errors.Is(err, transport.ErrSessionClosed) {
		t.Errorf("call after the end: %v", err)
	}
	if _, err := c.Send(wait(t), "T", "a"); err == nil {
		t.Error("the client can send after its session was closed")
	}
}

func checkSessionClosed(t *testing.T, s Suite) {
	seen := make(chan transport.Session, 1)
	keeper := newSessions()
	enter, leave := make(chan struct{}), make(chan struct{})
	role := &sender{told: func(s transport.Session) { seen <- s }, seen: func(*transport.SendBatch) { close(enter); <-leave }}
	_, c := s.serve(t, transport.Handlers{Sender: role, Sessions: keeper})
	go func() { _, _ = c.Send(wait(t), "T", "a") }()
	<-enter
	session := receive(t, seen, "session")
	session.Close("the suite ends it")
	select {
	case <-keeper.closed:
		t.Error("the end was told while a call was under way")
	default:
	}
	close(leave)
	if got := receive(t, keeper.closed, "SessionClosed"); got != session {
		t.Error("another session was told of")
	}
	c.Close()
	select {
	case <-keeper.closed:
		t.Error("the end was told twice")
	default:
	}
}

func checkSilentSession(t *testing.T, s Suite) {
	keeper := newSessions()
	tr, c := s.serve(t, transport.Handlers{Sessions: keeper})
	c.Close()
	if err := tr.Stop(wait(t)); err != nil {
		t.Errorf("stop: %v", err)
	}
	if len(keeper.closed) > 0 {
		t.Error("the broker was told of a session that it doesn't know")
	}
}

func checkAnswerAfterClose(t *testing.T, s Suite) {
	send := &sender{later: make(chan *transport.SendBatch, 1)}
	pull := &puller{held: make(chan *transport.Pull, 1), records: [][]byte{[]byte("r"), make([]byte, 64<<10)}}
	keeper := newSessions()
	_, c := s.serve(t, transport.Handlers{Sender: send, Puller: pull, Sessions: keeper})
	ctx, cancel := context.WithCancel(wait(t))
	defer cancel()
	go func() { _, _ = c.Send(ctx, "T", "a") }()
	go func() { _, _ = c.Pull(ctx, "G", "T", 0) }()
	b, p := receive(t, send.later, "batch"), receive(t, pull.held, "pull")
	p.Caller.Session.Close("the suite ends it")
	receive(t, keeper.closed, "SessionClosed")
	send.answer(b)
	pull.answer(p)
	if n := pull.count(); n != 2 {
		t.Errorf("%d references came back, want 2", n)
	}
}

// checkStopWithSend stops while a send is under way: the client is answered or loses its connection, and Stop returns.
func checkStopWithSend(t *testing.T, s Suite) {
	role := &sender{later: make(chan *transport.SendBatch, 1)}
	tr, c := s.serve(t, transport.Handlers{Sender: role})
	answers := make(chan error, 1)
	go func() {
		sent, err := c.Send(wait(t), "T", "a")
		if err == nil && sent[0].Code != message.Success {
			t.Errorf("answer %+v", sent[0])
		}
		answers <- err
	}()
	b := receive(t, role.later, "batch")
	stopped := make(chan error, 1)
	go func() { stopped <- tr.Stop(wait(t)) }()
	role.answer(b)
	if err := receive(t, stopped, "end of stop"); err != nil {
		t.Errorf("stop: %v", err)
	}
	if err := receive(t, answers, "answer"); errors.Is(err, context.DeadlineExceeded) {
		t.Error("the client was left waiting")
	}
}

func checkStopWithHeldPull(t *testing.T, s Suite) {
	role := &puller{held: make(chan *transport.Pull, 1)}
	tr, c := s.serve(t, transport.Handlers{Puller: role})
	done := make(chan error, 1)
	go func() {
		_, err := c.Pull(wait(t), "G", "T", 0)
		done <- err
	}()
	receive(t, role.held, "pull")
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := tr.Stop(ctx); err != nil {
		t.Errorf("stop with a held pull: %v", err)
	}
	if err := receive(t, done, "end of the pull"); err == nil {
		t.Error("a held pull was answered by stopping")
	}
}
