// Package loopback is a transport without a network: clients live in the same process and call the broker through typed
// methods. It keeps every promise of core/transport that a network protocol keeps, and nothing of any protocol: a
// contract that it can fulfil isn't shaped after one of them.
//
// Its nouns are the Transport, which a broker starts and stops like any other, and the Session, which is a client's
// connection. Sessions are safe for concurrent use. It is meant for tests and for authors of plugins; it costs a copy of what is
// pulled, and no attention was paid to speed.
package loopback

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"

	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/plugin"
	"github.com/weirmq/weir/core/transport"
)

// ErrStopped is returned to a client that connects to a transport that has been stopped.
var ErrStopped = errors.New("loopback transport is stopped")

// Transport connects clients of this process with a broker.
type Transport struct {
	h transport.Handlers

	mu       sync.Mutex // guards all below
	started  bool
	stopped  bool
	port     uint16
	sessions map[*Session]struct{}
}

var _ transport.Transport = (*Transport)(nil)

// New returns a transport that serves the given roles. Clients may connect before it is started.
func New(h transport.Handlers) *Transport {
	return &Transport{h: h, sessions: map[*Session]struct{}{}}
}

// Start begins nothing: there is nobody to listen to.
func (t *Transport) Start(context.Context, plugin.Host) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.started || t.stopped {
		return errors.New("start loopback: a transport is started once")
	}
	t.started = true
	return nil
}

// Stop closes all sessions and waits for their calls, at most until ctx is done.
func (t *Transport) Stop(ctx context.Context) error {
	t.mu.Lock()
	t.stopped = true
	open := make([]*Session, 0, len(t.sessions))
	for s := range t.sessions {
		open = append(open, s)
	}
	t.mu.Unlock()
	for _, s := range open {
		s.Close("the transport is stopping")
	}
	for _, s := range open {
		select {
		case <-s.gone:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Addr returns a name instead of an address once started; nil before.
func (t *Transport) Addr() net.Addr {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.started {
		return nil
	}
	return address{}
}

type address struct{}

func (address) Network() string { return "loopback" }
func (address) String() string  { return "loopback" }

// Handlers returns the roles, for calls that Session has no method for. Pass them Session.Caller.
func (t *Transport) Handlers() transport.Handlers { return t.h }

// Client says who connects and what it does with what the broker sends it.
type Client struct {
	// Remote is the address that the broker sees. The zero value means one of 127.0.0.1, different for each client.
	Remote netip.AddrPort
	// Language and Version are what the client says it is; JAVA and 407 if they are zero.
	Language string
	Version  int32
	// Credentials are shown with each call. Remote is filled in.
	Credentials auth.Credentials
	// Notified takes the broker's notices; nil ignores them. It is called on the goroutine that notifies.
	Notified func(transport.Notice)
	// Called answers the broker's calls; nil leaves them unanswered until they time out.
	Called func(context.Context, transport.ClientCall) (transport.ClientReply, error)
}

// Connect opens a session.
func (t *Transport) Connect(c Client) (*Session, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return nil, ErrStopped
	}
	if !c.Remote.IsValid() {
		t.port++
		c.Remote = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), t.port)
	}
	if c.Language == "" {
		c.Language = "JAVA"
	}
	if c.Version == 0 {
		c.Version = 407
	}
	c.Remote = message.Unmap(c.Remote)
	c.Credentials.Remote = c.Remote
	s := &Session{t: t, c: c, gone: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	t.sessions[s] = struct{}{}
	return s, nil
}

func (t *Transport) forget(s *Session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.sessions, s)
}
