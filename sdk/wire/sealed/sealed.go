// Package sealed is TLS for connections that carry many small frames: crypto/tls, with several of its records in one system call.
//
// A tls.Conn makes a system call for each record of 16 KiB that it writes, about two for each that it reads, and hands out no more than a record at a time. Whoever batches what
// comes together would batch by 16 KiB, however much is there. So a Conn reads ahead, and hands out all that has come; and what it writes, it seals first and then writes whole.
//
//	frames ─▶ tls.Conn ─▶ out ─▶ socket      Seal, then Sealed and Sent, or Write for all three
//	frames ◀─ tls.Conn ◀─ ahead ◀─ socket    Read
//
// Sealing apart from writing also lets a caller write without waiting: Seal never does.
//
// Buffers are borrowed from pools while there is something in them. A connection at rest has those of crypto/tls and no more.
package sealed

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
)

const (
	// RecordSize is the most that one record holds.
	RecordSize = 16 << 10
	// Chunk is how many bytes are sealed for one write, and about how many are read at once: four records.
	Chunk = 4 * RecordSize
	// chunkSealed has room for a sealed chunk: the overhead of a record is less than 64 bytes.
	chunkSealed = Chunk + 8*64
	// repliesMax bounds what crypto/tls has to say by itself, to a peer that asks for new keys again and again while nothing is written.
	repliesMax = 64 << 10
)

// Conn is a TLS connection. One goroutine may read while another one writes.
type Conn struct {
	tls *tls.Conn
	under
}

// Client makes the client's side of a TLS connection: the handshake is done when it returns. nc is the caller's to close when it fails.
func Client(ctx context.Context, nc net.Conn, cfg *tls.Config) (*Conn, error) {
	return handshake(ctx, nc, cfg, tls.Client)
}

// Server makes the server's side, likewise.
func Server(ctx context.Context, nc net.Conn, cfg *tls.Config) (*Conn, error) {
	return handshake(ctx, nc, cfg, tls.Server)
}

func handshake(ctx context.Context, nc net.Conn, cfg *tls.Config, side func(net.Conn, *tls.Config) *tls.Conn) (*Conn, error) {
	if !cfg.DynamicRecordSizingDisabled {
		cfg = cfg.Clone()
		cfg.DynamicRecordSizingDisabled = true // small records help who shows a page while it loads; a frame is of use when it is whole
	}
	c := &Conn{under: under{Conn: nc}}
	c.tls = side(&c.under, cfg)
	if err := c.tls.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	c.collect = true
	return c, nil
}

// State describes the connection.
func (c *Conn) State() tls.ConnectionState { return c.tls.ConnectionState() }

// Read reads what has come, of several records if they are there.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.tls.Read(p)
	if err != nil || n == 0 {
		return n, err
	}
	c.nowait = true
	for ended := error(nil); n < len(p) && ended == nil; {
		var more int
		more, ended = c.tls.Read(p[n:]) // ends with errLater, or with what the next Read says again
		n += more
	}
	c.nowait = false
	return n, nil
}

// Write seals and writes p.
func (c *Conn) Write(p []byte) (n int, err error) {
	for n < len(p) {
		k := min(len(p)-n, Chunk)
		if err := c.Seal(p[n : n+k]); err != nil {
			return n, err
		}
		written, err := c.Conn.Write(c.Sealed())
		c.Sent(written)
		if err != nil {
			return n, err
		}
		n += k
	}
	return n, nil
}

// Seal puts p behind what is sealed and wasn't sent. It never waits. Fewer records come of few large calls.
func (c *Conn) Seal(p []byte) error {
	c.mu.Lock()
	c.sealing = true
	c.mu.Unlock()
	_, err := c.tls.Write(p)
	c.mu.Lock()
	c.sealing = false
	c.mu.Unlock()
	return err
}

// Sealed returns what is to be written to the connection beneath, valid until Sent.
func (c *Conn) Sealed() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out[c.sent:]
}

// Sent drops the first n bytes of what is sealed: they were written.
func (c *Conn) Sent(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sent += n; c.sent == len(c.out) && c.whole != nil {
		c.whole, c.out, c.sent = give(&written, c.whole), nil, 0
	}
}

// under is the connection that crypto/tls sees.
type under struct {
	net.Conn
	collect bool // the handshake is done: writes are collected

	// The reader's own.
	nowait bool // a read takes what was read ahead, and nothing else
	much   bool // the last read brought so much that there may be more
	buf    *[]byte
	r, w   int // (*buf)[r:w] was read ahead

	mu      sync.Mutex // guards all below: crypto/tls also writes while it reads
	sealing bool
	whole   *[]byte // of the pool
	out     []byte  // in whole, unless it has grown
	sent    int     // bytes of out
}

var (
	readAhead = sync.Pool{New: func() any { b := make([]byte, Chunk); return &b }}
	written   = sync.Pool{New: func() any { b := make([]byte, chunkSealed); return &b }}
)

// give gives a buffer back, and returns nil to forget it by.
func give(p *sync.Pool, b *[]byte) *[]byte {
	p.Put(b)
	return nil
}

// errLater says that nothing more was read ahead. It calls itself temporary, which makes crypto/tls go on where it was at the next read.
var errLater error = laterError{}

type laterError struct{}

func (laterError) Error() string   { return "nothing was read ahead" }
func (laterError) Timeout() bool   { return true }
func (laterError) Temporary() bool { return true }

// ahead reports whether something was read ahead.
func (u *under) ahead() bool { return u.r < u.w }

// Read hands out what was read ahead, else reads: straight into p while little comes, and ahead when there is much.
func (u *under) Read(p []byte) (n int, err error) {
	if !u.ahead() {
		if u.nowait {
			return 0, errLater
		}
		if !u.much {
			n, err = u.Conn.Read(p)
			u.much = n == len(p)
			return n, err
		}
		if u.buf == nil {
			u.buf = readAhead.Get().(*[]byte)
		}
		n, err = u.Conn.Read(*u.buf)
		u.r, u.w = 0, n
		u.much = n >= RecordSize
		if n == 0 {
			u.much, u.buf = false, give(&readAhead, u.buf)
			return 0, err
		}
	}
	n = copy(p, (*u.buf)[u.r:u.w])
	if u.r += n; u.r == u.w && !u.much {
		u.buf = give(&readAhead, u.buf)
	}
	return n, nil
}

var errReplies = errors.New("the peer asks for new keys and takes no answer")

// Write writes during the handshake and collects afterwards.
func (u *under) Write(p []byte) (int, error) {
	if !u.collect {
		return u.Conn.Write(p)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.sealing && len(u.out) > repliesMax+chunkSealed {
		return 0, errReplies
	}
	if u.whole == nil {
		u.whole = written.Get().(*[]byte)
		u.out = (*u.whole)[:0]
	}
	u.out = append(u.out, p...)
	return len(p), nil
}
