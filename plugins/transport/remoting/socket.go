package remoting

import (
	"net"
	"syscall"
)

// socket is a connection's writing side: whole runs of byte slices, either without ever waiting or, in the writer
// goroutine, for as long as it takes. One goroutine at a time uses it.
type socket struct {
	nc  net.Conn
	raw syscall.RawConn // nil when nc can't be written without waiting
	try func(fd uintptr) bool

	// Arguments and result of try, which is made once so that a write allocates nothing.
	vecs net.Buffers
	one  []byte // of a connection that writes slices one by one: they are put together first
	n    int
	err  error
	iov  iovecs
}

func newSocket(nc net.Conn) *socket {
	s := &socket{nc: nc}
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

// tryWrite writes what the kernel takes at once. It returns how many bytes that were, and an error when the connection
// is broken.
func (s *socket) tryWrite(vecs net.Buffers) (int, error) {
	if s.raw == nil {
		return 0, nil
	}
	s.vecs, s.n, s.err = vecs, 0, nil
	err := s.raw.Write(s.try)
	s.vecs = nil
	if err == nil {
		err = s.err
	}
	return s.n, err
}

// oneMax is how many bytes are put together for one write of TLS: four records.
const oneMax = 64 << 10

// write writes the first oneMax bytes of vecs as one, waiting for the peer, and returns how many that were.
func (s *socket) write(vecs net.Buffers) (int, error) {
	s.one = s.one[:0]
	for _, v := range vecs {
		s.one = append(s.one, v[:min(len(v), oneMax-len(s.one))]...)
	}
	return s.nc.Write(s.one)
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
