package remoting

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// conn is one client's connection. It is the transport.Session that the broker knows.
type conn struct {
	e      *endpoint
	nc     net.Conn // as it was accepted
	remote netip.AddrPort
	ctx    context.Context
	cancel context.CancelFunc
	out    output
	calls  calls // requests of ours that the client hasn't answered

	// Watched by the sweep.
	reading    atomic.Bool  // the reader waits for the peer
	large      atomic.Bool  // the read buffer could shrink
	active     atomic.Int64 // ms; last read or write
	frameBegun atomic.Int64 // ms; when the unfinished frame began, 0 for none

	// The reader's own.
	rw      net.Conn // what is read: nc, or TLS over it
	sniffed bool     // the first byte was looked at
	in      *input
	names   interner
	req     request // the one that is being served
	batch   *batch  // sends that are being collected
	ends    *ends   // decisions about transactions that are being collected
	called  bool    // a role has seen this session

	slow   chan struct{} // a place for each slow request under way
	slowWG sync.WaitGroup

	mu     sync.Mutex // guards all below
	ended  bool
	reason error
}

func newConn(e *endpoint, nc net.Conn) *conn {
	c := &conn{e: e, nc: nc, rw: nc, slow: make(chan struct{}, e.cfg.SlowRequests)}
	if a, ok := nc.RemoteAddr().(*net.TCPAddr); ok {
		c.remote = message.Unmap(a.AddrPort())
	}
	c.ctx, c.cancel = context.WithCancel(e.ctx)
	c.out.init(nc, e.cfg.WriteTimeout, int(e.cfg.WriteQueue), c.shut)
	c.out.active, c.out.now = &c.active, &e.now
	c.in = newInput(int(e.cfg.MaxFrame), e.pools.chunks)
	c.active.Store(e.now.Load())
	return c
}

// run serves the connection until it ends, and then tells the broker.
func (c *conn) run() {
	defer c.e.served.Done()
	defer c.e.forget(c)
	writer := make(chan struct{})
	go func() {
		defer close(writer)
		c.out.run(c.ctx.Done())
	}()
	err := c.read()
	if errors.Is(err, errStopping) {
		c.slowWG.Wait()
		c.out.waitDrained()
	}
	c.shut(err)
	c.slowWG.Wait()
	<-writer
	c.in.drop()
	c.out.abandon()
	if c.called && c.e.h.Sessions != nil {
		c.e.h.Sessions.SessionClosed(c)
	}
}

var errStopping = errors.New("the broker is stopping")

// read serves requests until the connection ends, and says why.
func (c *conn) read() error {
	for {
		open, waited := c.out.waitRoom(c.e.cfg.MaxInflight, int(c.e.cfg.MaxInflightBytes))
		if !open {
			return net.ErrClosed
		}
		if waited && c.frameBegun.Load() > 0 {
			c.frameBegun.Store(c.e.now.Load())
		}
		c.large.Store(len(c.in.buf) > inputSmall)
		c.reading.Store(true)
		err := c.in.fill(c.rw)
		c.reading.Store(false)
		if err != nil {
			if c.e.stopping.Load() {
				return errStopping
			}
			if errors.Is(err, os.ErrDeadlineExceeded) { // wakeReader
				c.in.shrink()
				if err := c.nc.SetReadDeadline(time.Time{}); err != nil {
					return err
				}
				if c.e.stopping.Load() { // its deadline may be the one that was just taken back
					return errStopping
				}
				continue
			}
			return err
		}
		c.active.Store(c.e.now.Load())
		if !c.sniffed {
			if err := c.sniff(); err != nil {
				return err
			}
		}
		if err := c.serve(); err != nil {
			return err
		}
	}
}

// serve serves every whole frame that has been read.
func (c *conn) serve() error {
	served := false
	corked := false
	for {
		frame, err := c.in.next()
		if err != nil {
			c.submit()
			c.flushCork(corked)
			return &badPeerError{err}
		}
		if frame == nil {
			break
		}
		served = true
		more := c.in.whole()
		if more && !corked {
			c.out.cork()
			corked = true
		}
		if !more && corked {
			c.out.uncork()
		}
		if err := c.serveFrame(frame, more); err != nil {
			c.submit()
			c.flushCork(corked)
			return err
		}
	}
	c.submit()
	c.flushCork(corked)
	switch {
	case !c.in.partial():
		c.frameBegun.Store(0)
	case served || c.frameBegun.Load() == 0:
		c.frameBegun.Store(c.e.now.Load())
	}
	return nil
}

// flushCork ends a cork and writes what it held back.
func (c *conn) flushCork(corked bool) {
	if corked {
		c.out.uncork()
		c.out.flush()
	}
}

// badPeerError is a violation of the protocol, after which the stream can't be followed.
type badPeerError struct{ err error }

func (e *badPeerError) Error() string { return e.err.Error() }

// stopReading makes the reader return soon. Answers may still go out.
func (c *conn) stopReading() { _ = c.nc.SetReadDeadline(time.Unix(1, 0)) }

// wakeReader makes the reader look after itself.
func (c *conn) wakeReader() { _ = c.nc.SetReadDeadline(time.Unix(1, 0)) }

// shut ends the connection, once. The first reason is logged.
func (c *conn) shut(reason error) {
	c.mu.Lock()
	if c.ended {
		c.mu.Unlock()
		return
	}
	c.ended, c.reason = true, reason
	c.mu.Unlock()
	c.cancel()
	_ = c.nc.Close()
	c.out.close()
	c.calls.fail()
	c.logEnd(reason)
}

// logEnd writes the line that an operator needs when it was not the peer who ended the connection in good order.
func (c *conn) logEnd(reason error) {
	var bad *badPeerError
	switch {
	case errors.As(reason, &bad):
		c.e.metrics.malformedFrames.Add(1)
		c.e.report.peer(slog.LevelWarn, "connection closed: the peer doesn't speak the protocol", "remote", c.remote.String(), "reason", bad.Error())
	case errors.Is(reason, errSlow), errors.Is(reason, os.ErrDeadlineExceeded):
		c.e.report.peer(slog.LevelWarn, "connection closed: the peer is too slow", "remote", c.remote.String(), "reason", reason.Error())
	case errors.Is(reason, io.EOF), errors.Is(reason, net.ErrClosed), errors.Is(reason, errStopping):
	default:
		c.e.set.Logger.Debug("connection closed", "remote", c.remote.String(), "reason", fmt.Sprint(reason))
	}
}

// Remote returns the peer's address, unmapped.
func (c *conn) Remote() netip.AddrPort { return c.remote }

// Alive reports whether the connection is still open.
func (c *conn) Alive() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.ended
}

// Close ends the connection; the reason goes to the log.
func (c *conn) Close(reason string) { c.shut(errors.New(reason)) }

var _ transport.Session = (*conn)(nil)
