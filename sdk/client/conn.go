package client

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirmq/weir/sdk/wire"
)

// Bounds of a connection.
const (
	// MaxWindow is the largest number of requests in flight on one connection.
	MaxWindow = 1 << 16
	// DefaultWindow is the number when none is given.
	DefaultWindow = 4096

	readBufferSize = 256 << 10 // grows for a longer frame, and shrinks again
	keptWrite      = 4 << 20   // write buffers above this are not kept
	mostOneWay     = 4 << 20   // bytes waiting to be written above which one-way requests wait
	// inlineWrite bounds the bytes in flight up to which the reading goroutine may write. So much fits into the socket's
	// buffers whatever the peer does, so the reader can't be blocked by a peer that waits for it to read.
	inlineWrite = 64 << 10
	sweepPeriod = 200 * time.Millisecond
)

// Errors of a connection.
var (
	// ErrWindowFull means that as many requests are in flight as the connection allows.
	ErrWindowFull = errors.New("too many requests in flight on this connection")
	// ErrClosed means that the connection was closed, by us or by the peer.
	ErrClosed = errors.New("connection closed")
	// ErrTimeout means that no reply came in time. The request may have been carried out.
	ErrTimeout error = timeoutError{}
)

// timeoutError is a net.Error, so that callers which ask for Timeout() see it.
type timeoutError struct{}

func (timeoutError) Error() string   { return "no reply in time" }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }

// Handler takes replies.
type Handler interface {
	// Reply is called once for each request that was submitted with this handler, usually on the connection's reading
	// goroutine: it must not block. r and its bytes are valid until it returns. It may submit further requests.
	Reply(token uint64, r *Reply)
}

// Server takes requests that the broker sends to its client, on the reading goroutine. h and body are valid until it
// returns. A request that is not one-way is answered with what it returns; a nil reply is not sent.
type Server interface {
	Serve(c *Conn, h *wire.Header, body []byte) *Response
}

// ConnOptions say how a connection behaves.
type ConnOptions struct {
	Window      int           // requests in flight; DefaultWindow when 0
	DialTimeout time.Duration // 3 s when 0
	Server      Server        // may be nil: requests are answered with "not supported"
	// TLS makes it a TLS connection. Without a ServerName the peer's certificate is checked for the host of its address. nil for a plain one.
	TLS *tls.Config
}

// slot is one request in flight. Its index and generation are in the opaque.
type slot struct {
	handler  Handler
	token    uint64
	opaque   int32 // 0 when free
	size     int32 // bytes of the frame
	deadline int64 // ns on the connection's clock, 0 for none
}

// Conn is one connection to a broker or name server. It is safe for concurrent use.
type Conn struct {
	addr   string
	nc     net.Conn
	server Server
	start  time.Time

	mu       sync.Mutex    // guards everything below
	out      []byte        // frames to be written next
	spare    []byte        // the other write buffer
	room     *sync.Cond    // signalled when out has been taken to be written
	vacant   chan struct{} // closed when a slot becomes free; nil while nobody waits
	writing  bool          // someone is in Write and will take what is in out
	held     int           // callers of Hold
	reading  bool          // the reading goroutine is handing out replies and flushes afterwards
	slots    []slot
	free     []uint16
	gen      int32
	inFlight int // bytes of frames without a reply
	err      error

	wake chan struct{}
	done chan struct{}
	// wroteAny and readAny count bytes, for figures.
	wroteBytes, readBytes atomic.Int64
	wg                    sync.WaitGroup
}

// Dial connects to addr.
func Dial(ctx context.Context, addr string, o ConnOptions) (*Conn, error) {
	d := net.Dialer{Timeout: o.DialTimeout}
	if d.Timeout == 0 {
		d.Timeout = 3 * time.Second
	}
	nc, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", addr, err)
	}
	if o.TLS != nil {
		if nc, err = secure(ctx, nc, addr, o.TLS, d.Timeout); err != nil {
			return nil, err
		}
	}
	return newConn(nc, addr, o), nil
}

func newConn(nc net.Conn, addr string, o ConnOptions) *Conn {
	window := o.Window
	if window <= 0 {
		window = DefaultWindow
	}
	window = min(window, MaxWindow)
	c := &Conn{addr: addr, nc: nc, server: o.Server, start: time.Now(), slots: make([]slot, window),
		free: make([]uint16, window), wake: make(chan struct{}, 1), done: make(chan struct{})}
	c.room = sync.NewCond(&c.mu)
	for i := range c.free {
		c.free[i] = uint16(window - 1 - i)
	}
	c.wg.Add(3)
	go c.readLoop()
	go c.writeLoop()
	go c.sweepLoop()
	return c
}

// Addr returns the address that was dialled.
func (c *Conn) Addr() string { return c.addr }

// LocalAddr returns our own address.
func (c *Conn) LocalAddr() net.Addr { return c.nc.LocalAddr() }

// Err returns why the connection is closed, nil while it is open.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close ends the connection. Requests in flight are answered with ErrClosed.
func (c *Conn) Close() error {
	c.fail(ErrClosed)
	c.wg.Wait()
	return nil
}

// opaqueBase makes every opaque ten digits long, so that frames can be made in advance and patched.
//
//	opaque = opaqueBase + generation<<16 + slot
const (
	opaqueBase     = 1_000_000_000
	maxGenerations = (1<<31-1-opaqueBase)>>16 - 1
)

// takeLocked reserves a slot.
func (c *Conn) takeLocked(hd Handler, token uint64, size int, timeout time.Duration) (int32, error) {
	if c.err != nil {
		return 0, c.err
	}
	if len(c.free) == 0 {
		return 0, ErrWindowFull
	}
	i := c.free[len(c.free)-1]
	c.free = c.free[:len(c.free)-1]
	if c.gen++; c.gen > maxGenerations {
		c.gen = 0
	}
	opaque := opaqueBase + c.gen<<16 + int32(i)
	s := &c.slots[i]
	*s = slot{handler: hd, token: token, opaque: opaque, size: int32(size)}
	if timeout > 0 {
		s.deadline = int64(time.Since(c.start) + timeout)
	}
	c.inFlight += size
	return opaque, nil
}

// giveBackLocked frees the slot of opaque; ok is false when it isn't in flight any more.
func (c *Conn) giveBackLocked(opaque int32) (s slot, ok bool) {
	i := int(opaque-opaqueBase) & (MaxWindow - 1)
	if opaque < opaqueBase || i >= len(c.slots) || c.slots[i].opaque != opaque {
		return slot{}, false
	}
	s = c.slots[i]
	c.slots[i] = slot{}
	c.free = append(c.free, uint16(i))
	c.inFlight -= int(s.size)
	if c.vacant != nil {
		close(c.vacant)
		c.vacant = nil
	}
	return s, true
}

// waitForSlot waits until the window isn't full.
func (c *Conn) waitForSlot(ctx context.Context) error {
	c.mu.Lock()
	if len(c.free) > 0 || c.err != nil {
		defer c.mu.Unlock()
		return c.err
	}
	if c.vacant == nil {
		c.vacant = make(chan struct{})
	}
	vacant := c.vacant
	c.mu.Unlock()
	select {
	case <-vacant:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Submit sends a request whose reply goes to hd. It sets h.Opaque. h and body are not used after it has returned. On an
// error nothing was sent and hd is not called.
func (c *Conn) Submit(h *wire.Header, body []byte, hd Handler, token uint64, timeout time.Duration) error {
	c.mu.Lock()
	opaque, err := c.takeLocked(hd, token, 256+len(body), timeout)
	if err != nil {
		c.mu.Unlock()
		return err
	}
	h.Opaque = opaque
	out, err := wire.AppendFrame(c.out, h, body)
	if err != nil {
		c.giveBackLocked(opaque)
		c.mu.Unlock()
		return err
	}
	c.out = out
	c.flush()
	return nil
}

// SubmitFrame is Submit for a frame made in advance.
func (c *Conn) SubmitFrame(f *Frame, hd Handler, token uint64, timeout time.Duration) error {
	c.mu.Lock()
	opaque, err := c.takeLocked(hd, token, len(f.bytes), timeout)
	if err != nil {
		c.mu.Unlock()
		return err
	}
	at := len(c.out)
	c.out = append(c.out, f.bytes...)
	f.patchOpaque(c.out[at:], opaque)
	c.flush()
	return nil
}

// OneWay sends a request that isn't answered. It waits while much is waiting to be written, so handlers don't call it.
func (c *Conn) OneWay(h *wire.Header, body []byte) error {
	h.Flag |= wire.FlagOneway
	c.mu.Lock()
	if err := c.waitForRoomLocked(); err != nil {
		c.mu.Unlock()
		return err
	}
	h.Opaque = opaqueBase - 1
	out, err := wire.AppendFrame(c.out, h, body)
	if err != nil {
		c.mu.Unlock()
		return err
	}
	c.out = out
	c.flush()
	return nil
}

// OneWayFrame is OneWay for a frame made in advance, whose header has the one-way flag.
func (c *Conn) OneWayFrame(f *Frame) error {
	c.mu.Lock()
	if err := c.waitForRoomLocked(); err != nil {
		c.mu.Unlock()
		return err
	}
	c.out = append(c.out, f.bytes...)
	c.flush()
	return nil
}

// waitForRoomLocked waits until little is waiting to be written, and returns why the connection is closed if it is.
func (c *Conn) waitForRoomLocked() error {
	for len(c.out) > mostOneWay && c.writing && c.err == nil {
		c.room.Wait()
	}
	return c.err
}

// flush writes what is in c.out, or sees to it that somebody does. It is called with c.mu held and unlocks it.
func (c *Conn) flush() {
	if c.writing || c.reading || c.held > 0 {
		c.mu.Unlock() // who is at it takes ours along
		return
	}
	c.writing = true
	c.writeOut()
}

// Hold keeps back what is submitted until Release, so that it goes out in one write.
func (c *Conn) Hold() {
	c.mu.Lock()
	c.held++
	c.mu.Unlock()
}

// Release ends a Hold.
func (c *Conn) Release() {
	c.mu.Lock()
	c.held--
	c.flush()
}

// writeOut writes until nothing is left. It is called with c.mu held and c.writing set, and unlocks.
func (c *Conn) writeOut() {
	for len(c.out) > 0 && c.err == nil {
		batch := c.out
		c.out, c.spare = c.spare[:0], nil
		c.room.Broadcast()
		c.mu.Unlock()
		_, err := c.nc.Write(batch)
		c.wroteBytes.Add(int64(len(batch)))
		c.mu.Lock()
		if cap(batch) <= keptWrite {
			c.spare = batch[:0]
		}
		if err != nil {
			c.mu.Unlock()
			c.fail(c.lost("write to", err))
			c.mu.Lock()
		}
	}
	c.writing = false
	c.mu.Unlock()
}

// writeLoop writes what the reading goroutine can't write itself without risk of waiting.
func (c *Conn) writeLoop() {
	defer c.wg.Done()
	for {
		select {
		case <-c.done:
			return
		case <-c.wake:
		}
		c.mu.Lock()
		if c.writing {
			c.mu.Unlock()
			continue
		}
		c.writing = true
		c.writeOut()
	}
}

// afterReplies sends what handlers submitted.
func (c *Conn) afterReplies() {
	c.mu.Lock()
	c.reading = false
	switch {
	case len(c.out) == 0 || c.writing || c.held > 0:
		c.mu.Unlock()
	case c.inFlight <= inlineWrite:
		c.writing = true
		c.writeOut()
	default:
		c.mu.Unlock()
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
}

// readLoop reads frames and hands them out, all that one read brought before the next write.
func (c *Conn) readLoop() {
	defer c.wg.Done()
	buf := make([]byte, readBufferSize)
	begin, end := 0, 0
	r := &Reply{}
	for {
		n, err := c.nc.Read(buf[end:])
		c.readBytes.Add(int64(n))
		end += n
		need := 0
		if n > 0 {
			begin, need, err = c.handOut(buf[begin:end], begin, r, err)
		}
		if err != nil {
			c.fail(c.lost("read from", err))
			return
		}
		buf, begin, end = makeRoom(buf, begin, end, need)
	}
}

// makeRoom moves the begun frame to the front and sees to it that it fits.
func makeRoom(buf []byte, begin, end, need int) (_ []byte, b, e int) {
	switch {
	case begin == end && len(buf) > readBufferSize && need <= readBufferSize:
		return make([]byte, readBufferSize), 0, 0
	case begin == end:
		return buf, 0, 0
	case need > len(buf):
		bigger := make([]byte, need+readBufferSize/4)
		return bigger, 0, copy(bigger, buf[begin:end])
	case begin > 0 && (need > len(buf)-begin || end == len(buf)):
		return buf, 0, copy(buf, buf[begin:end])
	}
	return buf, begin, end
}

// handOut handles all whole frames in b, and returns where the first incomplete one begins and how long it is.
func (c *Conn) handOut(b []byte, at int, r *Reply, readErr error) (begin, need int, err error) {
	c.mu.Lock()
	c.reading = true
	c.mu.Unlock()
	defer c.afterReplies()
	for len(b) > 0 {
		frame, n, err := wire.NextFrame(b)
		if err != nil {
			return at, 0, err
		}
		if frame == nil {
			return at, n, readErr
		}
		if err := c.handle(frame, r); err != nil {
			return at, 0, err
		}
		b, at = b[n:], at+n
	}
	return at, 0, readErr
}

// handle gives one frame to whom it belongs.
func (c *Conn) handle(frame []byte, r *Reply) error {
	r.reset(frame)
	opaque, response, err := r.scan()
	if err != nil {
		return err
	}
	if !response {
		return c.serve(r)
	}
	c.mu.Lock()
	s, ok := c.giveBackLocked(opaque)
	c.mu.Unlock()
	if ok {
		s.handler.Reply(s.token, r)
	}
	return nil // a late reply, or one to a one-way request, is nobody's
}

// serve answers a request of the peer.
func (c *Conn) serve(r *Reply) error {
	h, err := r.Header()
	if err != nil {
		return err
	}
	var answer *Response
	if c.server != nil {
		answer = c.server.Serve(c, h, r.Body())
	} else {
		answer = &Response{Code: codeNotSupported, Remark: "this client serves no requests"}
	}
	if answer == nil || h.IsOneway() {
		return nil
	}
	var reply wire.Header
	reply.Reply(h, answer.Code)
	reply.SetRemark(answer.Remark)
	c.mu.Lock()
	defer c.mu.Unlock()
	out, err := wire.AppendFrame(c.out, &reply, answer.Body)
	c.out = out
	return err
}

// sweepLoop ends requests whose time is over.
func (c *Conn) sweepLoop() {
	defer c.wg.Done()
	tick := time.NewTicker(sweepPeriod)
	defer tick.Stop()
	var late []slot
	for {
		select {
		case <-c.done:
			return
		case <-tick.C:
		}
		now := int64(time.Since(c.start))
		c.mu.Lock()
		late = late[:0]
		if len(c.free) < len(c.slots) {
			for i := range c.slots {
				if s := &c.slots[i]; s.opaque != 0 && s.deadline != 0 && s.deadline < now {
					one, _ := c.giveBackLocked(s.opaque)
					late = append(late, one)
				}
			}
		}
		c.mu.Unlock()
		c.end(late, ErrTimeout)
	}
}

// fail closes the connection for a reason and ends what is in flight. Only the first reason counts.
func (c *Conn) fail(err error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = err
	close(c.done)
	c.room.Broadcast()
	var lost []slot
	for i := range c.slots {
		if c.slots[i].opaque != 0 {
			s, _ := c.giveBackLocked(c.slots[i].opaque)
			lost = append(lost, s)
		}
	}
	c.mu.Unlock()
	c.nc.Close()
	c.end(lost, err)
}

func (c *Conn) end(slots []slot, err error) {
	for i := range slots {
		slots[i].handler.Reply(slots[i].token, &Reply{err: err})
		slots[i].handler = nil
	}
}

// cancel takes a request back whose caller doesn't wait any more.
func (c *Conn) cancel(hd Handler) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.slots {
		if c.slots[i].handler == hd {
			c.giveBackLocked(c.slots[i].opaque)
			return
		}
	}
}

// Frame is a request made in advance, to be sent many times with different opaques.
type Frame struct {
	bytes  []byte
	opaque int // where the opaque is
	json   bool
}

// NewFrame makes a frame. h.Opaque is replaced.
func NewFrame(h *wire.Header, body []byte) (*Frame, error) {
	const mark = 1_999_999_999
	h.Opaque = mark
	b, err := wire.AppendFrame(nil, h, body)
	if err != nil {
		return nil, err
	}
	f := &Frame{bytes: b, json: h.Type == wire.JSON, opaque: 8 + 5}
	if f.json {
		if f.opaque = findOpaque(b, mark); f.opaque < 0 {
			return nil, errors.New("make a frame: the opaque is not in it")
		}
	}
	return f, nil
}

// Bytes returns the frame, for changes in place that keep its length.
func (f *Frame) Bytes() []byte { return f.bytes }

// patchOpaque writes an opaque of ten digits into a copy of the frame.
func (f *Frame) patchOpaque(b []byte, opaque int32) {
	if !f.json {
		binary.BigEndian.PutUint32(b[f.opaque:], uint32(opaque))
		return
	}
	b = b[f.opaque : f.opaque+10]
	for i := 9; i >= 0; i-- {
		b[i] = byte('0' + opaque%10)
		opaque /= 10
	}
}
