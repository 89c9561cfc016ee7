package client

import (
	"bytes"
	"context"
	"time"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/sdk/wire"
)

// Response is an answer that belongs to the caller.
type Response struct {
	Code   int32
	Remark string
	Ext    map[string]string
	Body   []byte
}

// Err returns nil for code 0, else the code and remark as a *message.Error.
func (r *Response) Err() error {
	if r.Code == 0 {
		return nil
	}
	return &message.Error{Code: message.Code(r.Code), Remark: r.Remark}
}

// waiter is the handler of a call that blocks.
type waiter struct {
	done chan struct{}
	resp *Response
	err  error
}

func (w *waiter) Reply(_ uint64, r *Reply) {
	defer close(w.done)
	if w.err = r.Err(); w.err != nil {
		return
	}
	h, err := r.Header()
	if err != nil {
		w.err = err
		return
	}
	w.resp = &Response{Code: h.Code, Remark: string(h.Remark), Body: bytes.Clone(r.Body()), Ext: make(map[string]string, len(h.Ext))}
	for _, f := range h.Ext {
		w.resp.Ext[string(f.Key)] = string(f.Value)
	}
}

// Call sends a request and waits for its answer, at most until ctx is done or timeout is over. An answer with an error
// code is not an error of Call: see Response.Err.
func (c *Conn) Call(ctx context.Context, h *wire.Header, body []byte, timeout time.Duration) (*Response, error) {
	w := &waiter{done: make(chan struct{})}
	if err := c.Submit(h, body, w, 0, timeout); err != nil {
		return nil, err
	}
	select {
	case <-w.done:
		return w.resp, w.err
	case <-ctx.Done():
		c.cancel(w)
		return nil, ctx.Err()
	}
}
