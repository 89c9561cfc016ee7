package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/weirmq/weir/sdk/wire/sealed"
)

// TLSError means that a peer was reached and that TLS with it failed: it doesn't speak TLS, its certificate isn't good enough for us, or ours not for it.
type TLSError struct {
	Addr string
	Err  error
}

func (e *TLSError) Error() string { return "TLS with " + e.Addr + ": " + e.Err.Error() }

// Unwrap returns the cause: an error of crypto/x509 for a certificate that isn't good enough.
func (e *TLSError) Unwrap() error { return e.Err }

// NoAnswerError means that a peer took a connection and ended it before it had said anything. One that takes TLS only does that to a plain connection, and one that wants a
// certificate may do it to a connection without.
type NoAnswerError struct {
	Addr string
	Err  error
}

func (e *NoAnswerError) Error() string {
	return e.Addr + " ended the connection without a word: " + e.Err.Error()
}

// Unwrap returns what the system said.
func (e *NoAnswerError) Unwrap() error { return e.Err }

// secure makes a TLS connection of one that was just made, and closes it if that fails.
func secure(ctx context.Context, nc net.Conn, addr string, given *tls.Config, timeout time.Duration) (net.Conn, error) {
	cfg := given.Clone()
	if cfg.ServerName == "" {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			host = addr
		}
		cfg.ServerName = host
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	t, err := sealed.Client(ctx, nc, cfg)
	if err != nil {
		_ = nc.Close()
		return nil, &TLSError{Addr: addr, Err: err}
	}
	return t, nil
}

// lost says why reading or writing failed. A refused certificate of ours is only told after the handshake, as an alert.
func (c *Conn) lost(what string, err error) error {
	var op *net.OpError
	switch {
	case errors.As(err, &op) && op.Op == "remote error": // crypto/tls calls alerts so
		return &TLSError{Addr: c.addr, Err: err}
	case c.readBytes.Load() == 0 && hungUp(err):
		return &NoAnswerError{Addr: c.addr, Err: err}
	}
	return fmt.Errorf("%s %s: %w", what, c.addr, err)
}

// hungUp says that the peer has ended the connection.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
