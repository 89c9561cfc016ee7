package remoting

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
)

// serveFunc serves one request. It returns the body of the answer, whose ext fields it has set in r.answer, or an error
// to answer with, or errParked.
type serveFunc func(ctx context.Context, r *request) ([]byte, error)

// route says how requests of one code are served.
type route struct {
	serve serveFunc
	// inline requests are served by the reader, in order. They are frequent and short; all others get a goroutine.
	inline bool
}

// newRoutes lists the requests that are served with the given roles. It is the one place where a code meets its code.
func newRoutes(h *transport.Handlers) map[int32]route {
	routes := map[int32]route{}
	add := func(served, inline bool, code int32, f serveFunc) {
		if served {
			routes[code] = route{serve: f, inline: inline}
		}
	}
	addClientRoutes(h, add)
	addAdminRoutes(h, add)
	addModuleRoutes(h, add)
	addFilterRoutes(h, add)
	addNameServerRoutes(h, add)
	return routes
}

// addRoute adds a route when its role is there.
type addRoute func(served, inline bool, code int32, f serveFunc)

const (
	inline = true
	apart  = false
)

// serveFrame serves one frame. more says that another whole one is at hand. An error ends the connection.
func (c *conn) serveFrame(frame []byte, more bool) error {
	r := &c.req
	body, err := r.h.Decode(frame)
	if err != nil {
		return &badPeerError{err}
	}
	if r.h.IsResponse() {
		c.replied(&r.h, body)
		return nil
	}
	c.e.metrics.requests.Add(1)
	switch r.h.Code {
	case wire.CodeSendMessage, wire.CodeSendMessageV2, wire.CodeSendBatchMessage:
		if c.e.h.Sender != nil {
			c.collect(&r.h, body, len(frame))
			return nil
		}
	case wire.CodeEndTransaction:
		if c.e.h.Trans != nil {
			c.collectEnd(&r.h, body, len(frame))
			return nil
		}
	case wire.CodePullMessage, wire.CodeLitePullMessage:
		if c.e.h.Puller != nil {
			c.submit()
			c.called = true
			r.begin(c, body)
			c.guard(r, servePull)
			return nil
		}
	}
	c.submit()
	c.called = true
	rt, ok := c.e.routes[r.h.Code]
	switch {
	case !ok:
		c.refuseCode(r)
	case rt.inline:
		if r.h.Code == wire.CodeHeartbeat { // may create topics, and wait for name servers to know them
			c.letOut(more)
		}
		r.begin(c, body)
		c.guard(r, rt.serve)
	default:
		c.letOut(more)
		c.serveApart(frame, rt.serve)
	}
	return nil
}

// submit hands what was collected to the broker.
func (c *conn) submit() {
	c.submitEnds()
	c.submitSends()
}

// letOut writes what is already answered and would have to wait for what comes now.
func (c *conn) letOut(more bool) {
	c.out.uncork()
	c.out.flush()
	if more {
		c.out.cork()
	}
}

// refuseCode answers a request that isn't served here. RocketMQ answers it even when it came one-way, and so do we:
// a client that waits in vain is the worse outcome.
func (c *conn) refuseCode(r *request) {
	code := r.h.Code
	r.answer.Reply(&r.h, int32(message.CodeNotSupported))
	r.answer.SetRemark(fmt.Sprintf("request code %d (%s) is not supported here", code, wire.CodeName(code)))
	c.answer(&r.answer, nil, nil)
}

// serveApart serves a request in a goroutine of its own. When too many are under way, the connection waits.
func (c *conn) serveApart(frame []byte, serve serveFunc) {
	select {
	case c.slow <- struct{}{}:
	case <-c.ctx.Done():
		return
	}
	r := c.e.pools.requests.Get().(*request)
	r.frame = append([]byte(nil), frame...)
	c.slowWG.Add(1)
	go func() {
		defer c.slowWG.Done()
		defer func() { <-c.slow }()
		body, err := r.h.Decode(r.frame)
		if err != nil { // it was decoded before
			return
		}
		r.begin(c, body)
		c.guard(r, serve)
		r.drop()
		c.e.pools.requests.Put(r)
	}()
}

// guard serves r and answers it. A panic is a bug of ours: it is logged, the caller is told, and the process lives on.
func (c *conn) guard(r *request, serve serveFunc) {
	defer func() {
		if p := recover(); p != nil {
			c.logPanic(p, r.h.Code)
			r.fail(refuse(message.SystemError, fmt.Sprintf("request code %d failed inside the broker: %v", r.h.Code, p)))
		}
	}()
	body, err := serve(c.ctx, r)
	switch {
	case err == nil:
		r.send(body)
	case errors.Is(err, errParked):
	default:
		r.fail(err)
	}
}

func (c *conn) logPanic(p any, code int32) {
	c.e.metrics.panics.Add(1)
	c.e.report.peer(slog.LevelError, "serving a request panicked", "code", code, "remote", c.remote.String(),
		"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
}
