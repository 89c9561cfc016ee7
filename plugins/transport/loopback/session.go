package loopback

import (
	"context"
	"errors"
	"net/netip"
	"sync"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// Session is a client's connection. Its methods are the client's side; those of transport.Session are the broker's.
type Session struct {
	t      *Transport
	c      Client
	ctx    context.Context // ends with the session
	cancel context.CancelCauseFunc
	gone   chan struct{} // closed when the broker has been told

	mu     sync.Mutex // guards all below
	calls  int        // calls to the broker that haven't returned
	called bool
	closed bool
}

var _ transport.Session = (*Session)(nil)

// Caller returns who this session is, for calls to roles.
func (s *Session) Caller() *transport.Caller {
	return &transport.Caller{Session: s, Language: s.c.Language, Version: s.c.Version, Credentials: s.c.Credentials}
}

// Remote returns the client's address.
func (s *Session) Remote() netip.AddrPort { return s.c.Remote }

// Alive reports whether the session is open.
func (s *Session) Alive() bool { return s.ctx.Err() == nil }

// Notify hands the client a notice.
func (s *Session) Notify(n transport.Notice) error {
	if !s.Alive() {
		return transport.ErrSessionClosed
	}
	if s.c.Notified != nil {
		s.c.Notified(n)
	}
	return nil
}

// Call asks the client.
func (s *Session) Call(ctx context.Context, c transport.ClientCall) (transport.ClientReply, error) {
	if !s.Alive() {
		return transport.ClientReply{}, transport.ErrSessionClosed
	}
	if s.c.Called != nil {
		return s.c.Called(ctx, c)
	}
	select {
	case <-ctx.Done():
		return transport.ClientReply{}, ctx.Err()
	case <-s.ctx.Done():
		return transport.ClientReply{}, transport.ErrSessionClosed
	}
}

// Close ends the session. Calls that are under way get ErrSessionClosed or a cancelled context; when the last has
// returned, the broker hears of it.
func (s *Session) Close(reason string) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	idle := s.calls == 0
	s.mu.Unlock()
	s.cancel(errors.New(reason))
	if idle {
		s.end()
	}
}

// begin counts a call to the broker; done must follow when it succeeds.
func (s *Session) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return transport.ErrSessionClosed
	}
	s.calls++
	s.called = true
	return nil
}

func (s *Session) done() {
	s.mu.Lock()
	s.calls--
	last := s.closed && s.calls == 0
	s.mu.Unlock()
	if last {
		s.end()
	}
}

// end tells the broker. It runs once: nothing begins after closed is set.
func (s *Session) end() {
	if s.called && s.t.h.Sessions != nil {
		s.t.h.Sessions.SessionClosed(s)
	}
	s.t.forget(s)
	close(s.gone)
}

// do calls a role with the session's caller. served says whether the role is there.
func (s *Session) do(ctx context.Context, served bool, call func(context.Context, *transport.Caller) error) error {
	if !served {
		return unserved()
	}
	if err := s.begin(); err != nil {
		return err
	}
	defer s.done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	return guard(func() error { return call(ctx, s.Caller()) })
}

func unserved() error {
	return &message.Error{Code: message.CodeNotSupported, Remark: "not served here"}
}
