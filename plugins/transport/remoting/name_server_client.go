package remoting

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/sdk/wire"
)

// Time-outs of calls to other name servers, which are RocketMQ's own.
const (
	nameServerDial = 3 * time.Second
	nameServerCall = 6 * time.Second
)

var errRegistrarClosed = errors.New("the client is closed")

// caller asks one server, one request at a time. It connects when it must, and again after a failure.
type caller struct {
	addr string
	tls  *TLSClientConfig // nil for plain connections

	mu     sync.Mutex // guards all below; held during a call
	nc     net.Conn
	opaque int32
	buf    []byte
	h      wire.Header

	closing sync.Mutex // guards all below
	closed  bool
	live    net.Conn // nc, for Close to end a call that is under way
}

// call sends a request, whose header fill completes, and hands the answer to read, which mustn't keep it. Without read
// the request is one-way.
func (c *caller) call(ctx context.Context, code int32, fill func(*wire.Header), body []byte, read func(*wire.Header, []byte) error) error {
	ctx, cancel := context.WithTimeout(ctx, nameServerCall)
	defer cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	answer, err := c.exchange(ctx, code, fill, body, read != nil)
	if err != nil {
		return fmt.Errorf("send %s to name server %s: %w", wire.CodeName(code), c.addr, err)
	}
	if read == nil {
		return nil
	}
	if c.h.Code != int32(message.Success) {
		return fmt.Errorf("name server %s refused %s: %w", c.addr, wire.CodeName(code),
			&message.Error{Code: message.Code(c.h.Code), Remark: string(c.h.Remark)})
	}
	return read(&c.h, answer)
}

// exchange sends a request and waits for its answer. A connection that rested may have died unnoticed, so a failure
// on one is tried again on a new one, once; the requests of a broker may be repeated.
func (c *caller) exchange(ctx context.Context, code int32, fill func(*wire.Header), body []byte, answered bool) ([]byte, error) {
	for {
		rested := c.nc != nil
		if err := c.connect(ctx); err != nil {
			return nil, err
		}
		c.opaque++
		c.h.Request(code, c.opaque)
		if !answered {
			c.h.Flag = wire.FlagOneway
		}
		fill(&c.h)
		nc := c.nc
		end := context.AfterFunc(ctx, func() { _ = nc.SetDeadline(time.Unix(1, 0)) })
		answer, err := c.roundTrip(body, answered)
		ended := !end() // then the deadline is set, or will be
		if err != nil || ended {
			c.hangUp()
		}
		switch {
		case err == nil:
			return answer, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !rested && c.tls == nil && hungUp(err):
			return nil, fmt.Errorf("%w; if it takes only connections with TLS, set transports.remoting.tls.client.enabled", err)
		case !rested:
			return nil, err
		}
	}
}

func (c *caller) connect(ctx context.Context) error {
	if c.nc != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, nameServerDial)
	defer cancel()
	nc, err := (&net.Dialer{}).DialContext(ctx, "tcp", c.addr)
	if err != nil {
		return err
	}
	if c.tls != nil {
		if nc, err = c.tls.secure(ctx, nc, c.addr); err != nil {
			return err
		}
	}
	c.closing.Lock()
	defer c.closing.Unlock()
	if c.closed {
		_ = nc.Close()
		return errRegistrarClosed
	}
	c.nc, c.live = nc, nc
	return nil
}

// hangUp drops the connection: after a failure nobody knows what comes next on it.
func (c *caller) hangUp() {
	_ = c.nc.Close()
	c.nc, c.buf = nil, nil
	c.closing.Lock()
	c.live = nil
	c.closing.Unlock()
}

// roundTrip writes the request in c.h and reads frames until its answer is there, which it decodes into c.h.
func (c *caller) roundTrip(body []byte, answered bool) ([]byte, error) {
	frame, err := wire.AppendFrame(c.buf[:0], &c.h, body)
	if err != nil {
		return nil, err
	}
	c.buf = frame
	opaque := c.h.Opaque
	if _, err := c.nc.Write(frame); err != nil {
		return nil, err
	}
	for answered {
		if err := c.readFrame(c.nc); err != nil {
			return nil, err
		}
		body, err := c.h.Decode(c.buf)
		if err != nil {
			return nil, err
		}
		if c.h.IsResponse() && c.h.Opaque == opaque {
			return body, nil
		}
	}
	return nil, nil
}

// readFrame reads one frame into c.buf, which grows with what arrives.
func (c *caller) readFrame(nc net.Conn) error {
	c.buf = c.buf[:0]
	need := 8
	for {
		for len(c.buf) < need {
			at := len(c.buf)
			c.buf = append(c.buf, make([]byte, min(need-at, inputStep))...)
			if _, err := io.ReadFull(nc, c.buf[at:]); err != nil {
				return err
			}
		}
		frame, n, err := wire.NextFrame(c.buf)
		if err != nil || frame != nil {
			return err
		}
		need = n
	}
}

// Close ends the connection and the call that is under way.
func (c *caller) Close() error {
	c.closing.Lock()
	defer c.closing.Unlock()
	c.closed = true
	if c.live == nil {
		return nil
	}
	err := c.live.Close()
	c.live = nil
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
