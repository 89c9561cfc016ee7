package remoting

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/weirmq/weir/sdk/wire/sealed"
)

// errPlain and errTLS say that a connection is of a kind that isn't taken.
var (
	errPlain = errors.New("the connection is plain, and only those with TLS are taken (tls.mode: enforcing)")
	errTLS   = errors.New("the connection begins with TLS, and that is switched off (tls.mode: disabled)")
)

// accept makes a TLS connection of one from which first was read.
func (s *tlsServer) accept(ctx context.Context, nc net.Conn, first []byte) (*sealed.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	h := &handshake{Conn: nc, first: append([]byte(nil), first...), turns: s.turns, timeout: ctx.Done()}
	if err := h.take(); err != nil {
		return nil, err
	}
	defer h.end()
	cfg, err := s.config()
	if err != nil {
		return nil, err
	}
	t, err := sealed.Server(ctx, h, cfg)
	if err != nil {
		return nil, fmt.Errorf("TLS handshake: %w", err)
	}
	return t, nil
}

// handshake is a connection from which something was read already. Until it ends, its turn is given back while it waits for the client, so that those who say nothing keep
// nobody out. What a handshake writes is less than a socket buffers.
type handshake struct {
	net.Conn
	first   []byte
	turns   chan struct{}
	timeout <-chan struct{}
	held    bool // it has its turn
	ended   bool
}

func (h *handshake) take() error {
	select {
	case h.turns <- struct{}{}:
		h.held = true
		return nil
	case <-h.timeout:
		return errors.New("too many TLS handshakes are under way")
	}
}

func (h *handshake) give() {
	if h.held {
		h.held = false
		<-h.turns
	}
}

func (h *handshake) end() {
	h.give()
	h.ended = true
}

func (h *handshake) Read(p []byte) (int, error) {
	if len(h.first) > 0 {
		n := copy(p, h.first)
		h.first = h.first[n:]
		return n, nil
	}
	if h.ended {
		return h.Conn.Read(p)
	}
	h.give()
	n, err := h.Conn.Read(p)
	if err == nil {
		err = h.take()
	}
	return n, err
}

// sniff looks at the first byte that was read and makes the connection one with TLS if that says so.
func (c *conn) sniff() error {
	first := c.in.buf[c.in.r:c.in.w]
	c.sniffed = true
	if first[0] != tlsRecord {
		if c.e.cfg.TLS.Mode == tlsEnforcing {
			return &badPeerError{errPlain}
		}
		return nil
	}
	if c.e.cfg.TLS.Mode == tlsDisabled {
		return &badPeerError{errTLS}
	}
	t, err := c.e.tls.accept(c.ctx, c.nc, first)
	switch {
	case err == nil:
	case c.e.stopping.Load():
		return errStopping
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed):
		return err
	default:
		return &badPeerError{err}
	}
	c.in.r, c.in.w = 0, 0
	c.rw = t
	c.out.seal(t)
	return nil
}
