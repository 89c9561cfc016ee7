package remoting

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirmq/weir/sdk/wire/sealed"
)

// output is what waits to be written to one peer. Answers are appended to the back spool by whichever goroutine has
// them; whoever appends last before a pause flushes. A flush never waits: what the kernel doesn't take at once is left
// to the connection's writer goroutine. So in the usual case an answer leaves on the goroutine that made it, together
// with all that were made before it, in one system call and without a hand-over.
//
//	append ──▶ back ──swap──▶ front ──▶ kernel          writing: who owns front, a flusher or the writer goroutine
type output struct {
	sock    *socket
	timeout time.Duration // of one blocking write
	limit   int           // pending bytes beyond which the connection isn't read
	wake    chan struct{} // hands front, and with it writing, to the writer goroutine
	broken  func(error)   // called, without mu, when a write fails
	active  *atomic.Int64 // set to now when something was written
	now     *atomic.Int64

	// Owned by whoever has set writing.
	front *spool
	rest  net.Buffers // of front
	vecs  net.Buffers // backing array of rest
	piece net.Buffers

	mu      sync.Mutex // guards all below
	room    *sync.Cond // a wait for room has a chance again
	waiting bool       // somebody waits on room
	back    *spool
	before  int // size of back when begin was called
	pending int // bytes in back and front
	writing bool
	corked  bool // the reader will flush: it has more requests at hand
	closed  bool

	sends     int // unanswered sends
	sendBytes int // bytes of their frames
	pulls     int // unanswered pulls
}

// init prepares the output of a connection.
func (o *output) init(nc net.Conn, timeout time.Duration, limit int, broken func(error)) {
	o.sock = newSocket(nc, nil)
	o.timeout, o.limit, o.broken = timeout, limit, broken
	o.wake = make(chan struct{}, 1)
	o.room = sync.NewCond(&o.mu)
	o.front, o.back = &spool{}, &spool{}
}

// seal makes the output go out with TLS. It is called before there is any.
func (o *output) seal(t *sealed.Conn) {
	o.sock = newSocket(o.sock.nc, t)
	o.front.lends, o.back.lends = true, true
}

// begin locks the output and returns the spool to append to, or nil when the connection is closed. end must follow.
func (o *output) begin() *spool {
	o.mu.Lock()
	if o.closed {
		return nil
	}
	o.before = o.back.size()
	return o.back
}

// end unlocks the output after begin, and flushes unless the reader will.
func (o *output) end() {
	if !o.closed {
		o.pending += o.back.size() - o.before
	}
	flush := (!o.corked || o.back.size() >= corkedMax) && !o.writing && !o.closed && o.back.size() > 0
	if o.waiting {
		o.room.Broadcast()
	}
	o.mu.Unlock()
	if flush {
		o.flush()
	}
}

// corkedMax is how many bytes a cork holds back. The peer can deal with so much while the next answers are made.
const corkedMax = 64 << 10

// cork makes answers wait for the next uncork, which the reader promises, or until there are many.
func (o *output) cork() {
	o.mu.Lock()
	o.corked = true
	o.mu.Unlock()
}

// uncork ends a cork. Answers appended from now on flush themselves.
func (o *output) uncork() {
	o.mu.Lock()
	o.corked = false
	o.mu.Unlock()
}

// fullLocked reports whether the peer has so much to read that it gets nothing that can wait. It is called with mu held.
func (o *output) fullLocked() bool { return o.pending > o.limit }

// flush writes what is queued as far as the kernel takes it, and leaves the rest to the writer goroutine.
func (o *output) flush() {
	o.mu.Lock()
	for round := 0; ; round++ {
		if round == 0 {
			if o.writing {
				o.mu.Unlock()
				return
			}
			o.writing = true
		}
		if !o.nextLocked() {
			o.mu.Unlock()
			return
		}
		o.mu.Unlock()
		// A flusher has other work, so it writes for others once at most.
		if round == 2 || o.sock.raw == nil {
			o.handOver()
			return
		}
		n, err := o.sock.tryWrite(&o.rest)
		if err != nil {
			o.fail(err)
			return
		}
		if len(o.rest) > 0 || o.sock.holds() {
			o.wrote(n)
			o.handOver()
			return
		}
		o.frontDone()
		o.mu.Lock()
		o.wroteLocked(n)
	}
}

// nextLocked makes the back spool the front. It gives writing up and returns false when there is nothing to write.
func (o *output) nextLocked() bool {
	if o.closed || o.back.size() == 0 {
		o.writing = false
		if o.waiting {
			o.room.Broadcast()
		}
		return false
	}
	o.front, o.back = o.back, o.front
	o.rest = o.front.vectors(o.vecs[:0])
	o.vecs = o.rest
	return true
}

// frontDone lets go of what front held. No pointer to it may stay behind: lent bytes may be unmapped now.
func (o *output) frontDone() {
	clear(o.vecs)
	o.vecs, o.rest, o.piece = o.vecs[:0], nil, nil
	o.front.reset()
}

// handOver gives front, and writing with it, to the writer goroutine.
func (o *output) handOver() {
	o.mu.Lock()
	if !o.closed {
		o.wake <- struct{}{} // has room: whoever is writing is the only sender
		o.mu.Unlock()
		return
	}
	o.writing = false
	o.mu.Unlock()
	o.frontDone()
}

// abandon lets go of what was handed over and never written. It is called when the output is closed and the writer
// goroutine has ended.
func (o *output) abandon() {
	select {
	case <-o.wake:
		o.frontDone()
	default:
	}
}

func (o *output) wrote(n int) {
	o.mu.Lock()
	o.wroteLocked(n)
	o.mu.Unlock()
}

func (o *output) wroteLocked(n int) {
	o.pending -= n
	if n > 0 {
		o.active.Store(o.now.Load())
	}
	if o.waiting {
		o.room.Broadcast()
	}
}

// fail ends the output after a failed write. The caller owned front.
func (o *output) fail(err error) {
	o.frontDone()
	o.close()
	o.mu.Lock()
	o.writing = false
	o.mu.Unlock()
	o.broken(err)
}

// close drops what is queued; later answers are dropped at once.
func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	o.closed = true
	o.back.reset()
	o.pending = 0
	o.room.Broadcast()
}

// run is the writer goroutine: it writes what flushers could not, until done.
func (o *output) run(done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case <-o.wake:
			o.writeAll()
		}
	}
}

// writeAll writes rest and then all that is queued meanwhile, waiting for the peer. It owns writing.
func (o *output) writeAll() {
	for {
		for len(o.rest) > 0 || o.sock.holds() {
			n, err := o.writePiece()
			o.wrote(n)
			if err != nil {
				o.fail(err)
				return
			}
		}
		o.frontDone()
		o.mu.Lock()
		if !o.nextLocked() {
			o.mu.Unlock()
			return
		}
		o.mu.Unlock()
	}
}

// pieceBytes is about how much one blocking write takes, so that its time-out measures progress.
const pieceBytes = 1 << 20

func (o *output) writePiece() (int, error) {
	if err := o.sock.nc.SetWriteDeadline(time.Now().Add(o.timeout)); err != nil {
		return 0, err
	}
	if o.sock.tls != nil {
		n, err := o.sock.write(&o.rest)
		if err != nil {
			return n, err
		}
		return n, o.sock.nc.SetWriteDeadline(time.Time{})
	}
	k, size := 0, 0
	for k < len(o.rest) && size < pieceBytes {
		size += len(o.rest[k])
		k++
	}
	o.piece, o.rest = o.rest[:k], o.rest[k:]
	n, err := o.piece.WriteTo(o.sock.nc)
	if err != nil {
		return int(n), err
	}
	return int(n), o.sock.nc.SetWriteDeadline(time.Time{})
}

// waitRoom waits until the connection may be read again: until the peer has read enough and enough sends are answered.
// It returns false when the connection is closed, and whether it had to wait.
func (o *output) waitRoom(maxSends, maxSendBytes int) (open, waited bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for !o.closed && (o.fullLocked() || o.sends >= maxSends || o.sendBytes >= maxSendBytes) {
		waited, o.waiting = true, true
		o.room.Wait()
		o.waiting = false
	}
	return !o.closed, waited
}

// waitDrained waits until every send is answered and every answer written, or the connection is closed.
func (o *output) waitDrained() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for !o.closed && (o.sends > 0 || o.pending > 0) {
		o.waiting = true
		o.room.Wait()
		o.waiting = false
	}
}
