package remoting

import (
	"net"

	"github.com/weirmq/weir/core/transport"
)

// lendMin is the length in bytes from which a chunk of records is written from where the store has it. Shorter ones are
// cheaper to copy than to name to the kernel.
const lendMin = 4 << 10

// spoolKeep is the capacity in bytes that an empty spool keeps. A burst may grow it beyond that for a moment.
const spoolKeep = 256 << 10

// releaser is something that must be let go when the bytes it lent have been written.
type releaser interface{ release() }

// spool is a run of output in the order in which the peer will read it: bytes of our own, and between them bytes lent
// by the store.
//
//	b:      |frame|frame|header|............|header|frame|
//	lents:                     ^ chunk chunk       (at = offset in b before which the chunk belongs)
type spool struct {
	b     []byte
	lents []lent
	held  []releaser
	lentN int // bytes in lents
	// lends has short chunks lent as well. With TLS every chunk is copied once more anyway, when it is sealed; and as that takes time, so much comes together here that the spool
	// would grow beyond what it keeps, again and again.
	lends bool
}

type lent struct {
	at    int
	chunk []byte
}

// size is the number of bytes in the spool.
func (s *spool) size() int { return len(s.b) + s.lentN }

// lend queues chunk, which the caller keeps in place until it is released.
func (s *spool) lend(chunk []byte) {
	s.lents = append(s.lents, lent{at: len(s.b), chunk: chunk})
	s.lentN += len(chunk)
}

// take queues the records of an answer. Short chunks are copied; if all are, the records are released here. Otherwise it
// returns true, and they must stay until the spool lets go of them.
func (s *spool) take(r *transport.Records) (lent bool) {
	for _, chunk := range r.Chunks {
		if len(chunk) < lendMin && !s.lends {
			s.b = append(s.b, chunk...)
			continue
		}
		s.lend(chunk)
		lent = true
	}
	if !lent {
		r.Release()
	}
	return lent
}

// hold makes r be released once the spool has been written, or dropped.
func (s *spool) hold(r releaser) { s.held = append(s.held, r) }

// vectors appends the spool's bytes, in order, to dst.
func (s *spool) vectors(dst net.Buffers) net.Buffers {
	from := 0
	for _, l := range s.lents {
		if l.at > from {
			dst = append(dst, s.b[from:l.at])
			from = l.at
		}
		dst = append(dst, l.chunk)
	}
	if from < len(s.b) {
		dst = append(dst, s.b[from:])
	}
	return dst
}

// reset empties the spool and lets go of what it held.
func (s *spool) reset() {
	for i, r := range s.held {
		r.release()
		s.held[i] = nil
	}
	clear(s.lents)
	s.held, s.lents, s.lentN = s.held[:0], s.lents[:0], 0
	s.b = s.b[:0]
	if cap(s.b) > spoolKeep {
		s.b = nil
	}
}
