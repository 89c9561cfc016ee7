package raw

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
)

// Conn is a connection on which many goroutines may have requests under way.
type Conn struct {
	conn   net.Conn
	opaque atomic.Int32

	write sync.Mutex // held while writing

	mu      sync.Mutex // guards the fields below
	waiting map[int32]chan *Frame
	err     error // why reading ended

	closed chan struct{}
}

// Dial connects to a broker or name server.
func Dial(ctx context.Context, addr string) (*Conn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	c := &Conn{conn: conn, waiting: make(map[int32]chan *Frame), closed: make(chan struct{})}
	go c.read()
	return c, nil
}

// Close ends the connection; calls under way fail.
func (c *Conn) Close() error {
	err := c.conn.Close()
	<-c.closed
	return err
}

// Closed is closed once the connection has ended, for whatever reason.
func (c *Conn) Closed() <-chan struct{} { return c.closed }

func (c *Conn) read() {
	r := bufio.NewReaderSize(c.conn, 1<<16)
	for {
		f, err := readFrame(r)
		if err != nil {
			c.fail(err)
			return
		}
		if f.Flag&flagResponse == 0 {
			continue // requests of the server: nothing here serves any
		}
		c.mu.Lock()
		reply := c.waiting[f.Opaque]
		delete(c.waiting, f.Opaque)
		c.mu.Unlock()
		if reply != nil {
			reply <- f
		}
	}
}

func (c *Conn) fail(err error) {
	c.conn.Close()
	c.mu.Lock()
	c.err = err
	c.mu.Unlock()
	close(c.closed)
}

// Call sends a request and waits for its response, whatever its code.
func (c *Conn) Call(ctx context.Context, code int, ext map[string]string, body []byte) (*Frame, error) {
	f := &Frame{Code: code, Opaque: c.opaque.Add(1), Ext: ext, Language: language, Version: version, Body: body}
	reply := make(chan *Frame, 1)
	c.mu.Lock()
	c.waiting[f.Opaque] = reply
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.waiting, f.Opaque)
		c.mu.Unlock()
	}()
	if err := c.send(f); err != nil {
		return nil, err
	}
	select {
	case r := <-reply:
		return r, nil
	case <-c.closed:
	case <-ctx.Done():
		return nil, fmt.Errorf("request %d to %s: %w", code, c.conn.RemoteAddr(), ctx.Err())
	}
	// The response may have come just before the end.
	select {
	case r := <-reply:
		return r, nil
	default:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return nil, fmt.Errorf("request %d to %s: connection ended: %w", code, c.conn.RemoteAddr(), c.err)
}

// OneWay sends a request that has no response.
func (c *Conn) OneWay(code int, ext map[string]string, body []byte) error {
	return c.send(&Frame{Code: code, Flag: flagOneWay, Opaque: c.opaque.Add(1), Ext: ext, Language: language, Version: version, Body: body})
}

func (c *Conn) send(f *Frame) error {
	b, err := f.encode()
	if err != nil {
		return err
	}
	c.write.Lock()
	defer c.write.Unlock()
	if _, err := c.conn.Write(b); err != nil {
		return fmt.Errorf("request %d to %s: %w", f.Code, c.conn.RemoteAddr(), err)
	}
	return nil
}
