package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/sdk/wire"
)

// Options say how a client reaches a cluster. The zero value of each field is its default.
type Options struct {
	// NameServers are addresses as host:port. Default 127.0.0.1:9876.
	NameServers []string
	// Timeout bounds every request. Default 3 s.
	Timeout time.Duration
	// RouteRefresh is how old a route may get. Default 30 s, as RocketMQ's clients have it.
	RouteRefresh time.Duration
	// Instance tells clients on one host apart. Default the process id and a random number.
	Instance string
	// Window is the number of requests in flight on one connection. Default DefaultWindow.
	Window int
	// TLS makes all connections TLS connections, to name servers and brokers alike. Without a ServerName each certificate is checked for the host of the address, which for a
	// broker is the one that name servers give: as a rule an IP address. nil for plain connections.
	TLS *tls.Config
}

// Client knows a cluster. It is safe for concurrent use.
type Client struct {
	opts Options
	id   string

	mu        sync.Mutex // guards what follows
	conns     map[string]*dialing
	routes    map[string]*Route
	consumers []*Consumer
	producers map[string]bool // groups
	server    int             // index of the name server that answered last
	closed    bool

	beats sync.Once
	stop  chan struct{}
	wg    sync.WaitGroup
}

// dialing is a connection, or the attempt at one that others wait for.
type dialing struct {
	done chan struct{}
	conn *Conn
	err  error
}

// New returns a client. It connects when it is first used.
func New(o Options) *Client {
	if len(o.NameServers) == 0 {
		o.NameServers = []string{"127.0.0.1:9876"}
	}
	if o.Timeout <= 0 {
		o.Timeout = 3 * time.Second
	}
	if o.RouteRefresh <= 0 {
		o.RouteRefresh = 30 * time.Second
	}
	if o.Instance == "" {
		o.Instance = strconv.Itoa(os.Getpid()) + "#" + strconv.FormatUint(uint64(rand.Uint32()), 36)
	}
	return &Client{opts: o, id: "weir@" + o.Instance, conns: map[string]*dialing{}, routes: map[string]*Route{},
		producers: map[string]bool{}, stop: make(chan struct{})}
}

// ID is the name under which brokers know this client.
func (c *Client) ID() string { return c.id }

// Close ends all connections. Consumers are closed first by their owners.
func (c *Client) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	close(c.stop)
	conns := c.conns
	c.conns = nil
	c.mu.Unlock()
	for _, d := range conns {
		<-d.done
		if d.conn != nil {
			_ = d.conn.Close()
		}
	}
	c.wg.Wait()
	return nil
}

// Conn returns the connection to addr, dialling it when there is none or the last one has ended.
func (c *Client) Conn(ctx context.Context, addr string) (*Conn, error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, ErrClosed
	}
	d := c.conns[addr]
	if d != nil && d.ended() {
		d = nil
	}
	if d == nil {
		d = &dialing{done: make(chan struct{})}
		c.conns[addr] = d
		c.mu.Unlock()
		d.conn, d.err = c.Dial(ctx, addr, ConnOptions{Window: c.opts.Window, Server: c})
		close(d.done)
		return d.conn, d.err
	}
	c.mu.Unlock()
	select {
	case <-d.done:
		return d.conn, d.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Dial makes a connection of the caller's own, which the client doesn't keep. What o leaves out is as for the client's.
func (c *Client) Dial(ctx context.Context, addr string, o ConnOptions) (*Conn, error) {
	if o.DialTimeout == 0 {
		o.DialTimeout = c.opts.Timeout
	}
	if o.TLS == nil {
		o.TLS = c.opts.TLS
	}
	return Dial(ctx, addr, o)
}

// ended says that the attempt failed or that its connection is gone.
func (d *dialing) ended() bool {
	select {
	case <-d.done:
		return d.err != nil || d.conn.Err() != nil
	default:
		return false
	}
}

// request makes a request with typed fields.
func request(code int32, fields wire.Fields) *wire.Header {
	h := &wire.Header{}
	h.Request(code, 0)
	if fields != nil {
		h.Write(fields)
	}
	return h
}

// Call sends one request to addr and returns its answer. An answer with a code other than 0 is returned as a
// *message.Error, wrapped with what was asked of whom.
func (c *Client) Call(ctx context.Context, addr string, code int32, fields wire.Fields, body []byte) (*Response, error) {
	conn, err := c.Conn(ctx, addr)
	if err != nil {
		return nil, err
	}
	return c.callOn(ctx, conn, request(code, fields), body)
}

func (c *Client) callOn(ctx context.Context, conn *Conn, h *wire.Header, body []byte) (*Response, error) {
	r, err := conn.Call(ctx, h, body, c.opts.Timeout)
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		return r, fmt.Errorf("%s to %s: %w", wire.CodeName(h.Code), conn.Addr(), err)
	}
	return r, nil
}

// callInto is Call for answers with a body of a known kind.
func (c *Client) callInto(ctx context.Context, addr string, code int32, fields wire.Fields, into any) error {
	r, err := c.Call(ctx, addr, code, fields, nil)
	if err != nil {
		return err
	}
	if err := wire.ParseBody(r.Body, into); err != nil {
		return fmt.Errorf("%s to %s: %w", wire.CodeName(code), addr, err)
	}
	return nil
}

// ask sends a request to the name servers, one after the other until one answers at all.
func (c *Client) ask(ctx context.Context, code int32, fields wire.Fields, body []byte) (*Response, error) {
	c.mu.Lock()
	first := c.server
	c.mu.Unlock()
	var errs []error
	for i := range c.opts.NameServers {
		at := (first + i) % len(c.opts.NameServers)
		r, err := c.Call(ctx, c.opts.NameServers[at], code, fields, body)
		var answered *message.Error
		if err == nil || errors.As(err, &answered) {
			c.mu.Lock()
			c.server = at
			c.mu.Unlock()
			return r, err
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, &UnreachableError{NameServers: c.opts.NameServers, Err: errors.Join(errs...)}
}

// UnreachableError means that no name server answered.
type UnreachableError struct {
	NameServers []string
	Err         error
}

// Error names the servers and why each failed.
func (e *UnreachableError) Error() string {
	return "no name server answers at " + strings.Join(e.NameServers, ", ") + ": " +
		strings.ReplaceAll(e.Err.Error(), "\n", "; ")
}

// Unwrap returns the failures.
func (e *UnreachableError) Unwrap() error { return e.Err }
