package remoting

import (
	"net"
	"sync"
	"syscall"

	"github.com/weirmq/weir/sdk/wire/sealed"
)

// socket is a connection's writing side: whole runs of byte slices, either without ever waiting or, in the writer
// goroutine, for as long as it takes. One goroutine at a time uses it.
type socket struct {
	nc  net.Conn
	raw syscall.RawConn // nil when nc can't be written without waiting
	try func(fd uintptr) bool

	// With TLS, slices are sealed first, and what is sealed is written. They are let go before it has left.
	tls  *sealed.Conn // over nc; nil for a plain connection
	owed int          // bytes of slices in what is sealed

	// Arguments and result of try, which is made once so that a write allocates nothing.
	vecs net.Buffers
	n    int
	err  error
	iov  iovecs
	one  net.Buffers // what is sealed
}

func newSocket(nc net.Conn, tls *sealed.Conn) *socket {
	s := &socket{nc: nc, tls: tls}
	if sc, ok := nc.(*net.TCPConn); ok && canTryWrite {
		if raw, err := sc.SyscallConn(); err == nil {
			s.raw = raw
			s.try = func(fd uintptr) bool {
				s.n, s.err = tryWritev(fd, s.vecs, &s.iov)
				return true
			}
		}
	}
	return s
}

// holds reports whether something is sealed and not written.
func (s *socket) holds() bool { return s.owed > 0 }

// tryWrite writes of rest what the kernel takes at once, and drops it from rest. It returns how many bytes have left, and an error when the connection
// is broken. With TLS no more than a chunk is sealed here: for more, the writer goroutine is the better place.
func (s *socket) tryWrite(rest *net.Buffers) (int, error) {
	if s.raw == nil {
		return 0, nil
	}
	if s.tls == nil {
		n, err := s.tryOnce(*rest)
		*rest = advance(*rest, n)
		return n, err
	}
	if !s.holds() {
		if err := s.seal(rest); err != nil {
			return 0, err
		}
	}
	s.one = append(s.one[:0], s.tls.Sealed())
	n, err := s.tryOnce(s.one)
	s.one[0] = nil
	return s.left(n), err
}

func (s *socket) tryOnce(vecs net.Buffers) (int, error) {
	s.vecs, s.n, s.err = vecs, 0, nil
	err := s.raw.Write(s.try)
	s.vecs = nil
	if err == nil {
		err = s.err
	}
	return s.n, err
}

// write writes the first chunk of rest, waiting for the peer, and drops it from rest. It returns how many bytes have left. It is for TLS.
func (s *socket) write(rest *net.Buffers) (int, error) {
	if !s.holds() {
		if err := s.seal(rest); err != nil {
			return 0, err
		}
	}
	n, err := s.nc.Write(s.tls.Sealed())
	return s.left(n), err
}

// left drops n bytes of what is sealed. Those that were sealed count when all of them have left.
func (s *socket) left(n int) int {
	s.tls.Sent(n)
	if len(s.tls.Sealed()) > 0 {
		return 0
	}
	n, s.owed = s.owed, 0
	return n
}

// records are put together in these where slices are short.
var records = sync.Pool{New: func() any { b := make([]byte, 0, sealed.RecordSize); return &b }}

// seal seals a chunk of rest in as few records as possible, and drops it from rest.
func (s *socket) seal(rest *net.Buffers) error {
	for len(*rest) > 0 && s.owed < sealed.Chunk {
		n, err := s.sealSome(*rest)
		if err != nil {
			return err
		}
		s.owed += n
		*rest = advance(*rest, n)
	}
	return nil
}

// sealSome seals whole records of a long slice where it lies, or one record put together from short ones. It returns how many bytes that were.
func (s *socket) sealSome(vecs net.Buffers) (int, error) {
	if n := len(vecs[0]); len(vecs) == 1 || n >= sealed.RecordSize {
		n = min(n, sealed.Chunk-s.owed)
		if len(vecs) > 1 && n > sealed.RecordSize {
			n -= n % sealed.RecordSize
		}
		return n, s.tls.Seal(vecs[0][:n])
	}
	buf := records.Get().(*[]byte)
	one := (*buf)[:0]
	for _, v := range vecs {
		one = append(one, v[:min(len(v), sealed.RecordSize-len(one))]...)
		if len(one) == sealed.RecordSize {
			break
		}
	}
	err := s.tls.Seal(one)
	records.Put(buf)
	return len(one), err
}

// advance drops the first n bytes of vecs.
func advance(vecs net.Buffers, n int) net.Buffers {
	for len(vecs) > 0 && n >= len(vecs[0]) {
		n -= len(vecs[0])
		vecs = vecs[1:]
	}
	if n > 0 {
		vecs[0] = vecs[0][n:]
	}
	return vecs
}
