package remoting

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync"

	"github.com/weirmq/weir/sdk/wire"
)

const (
	inputSmall = 4 << 10   // capacity of a connection that is quiet
	inputStep  = 64 << 10  // growth, and the size of the chunks of a large frame
	inputMax   = 256 << 10 // most that is read at once; longer frames are put together from chunks
	// quietReads is after how many small reads in a row a large buffer is given back.
	quietReads = 64
)

// input is what was read from one peer and not yet served. Memory follows what the peer has sent, never what it has
// announced: it is at most the bytes received and 64 KiB.
type input struct {
	most int // largest frame, with its length word
	pool *sync.Pool

	buf    []byte
	r, w   int  // buf[r:w] is unread
	filled bool // the last read took all the room there was
	small  int  // small reads in a row

	big chunks // the frame at the front, when it doesn't fit into buf
}

// chunks collects a frame that is longer than inputMax.
type chunks struct {
	need int // bytes of the frame with its length word; 0 when there is none
	have int
	list [][]byte
}

func newInput(most int, pool *sync.Pool) *input {
	return &input{most: most, pool: pool, buf: make([]byte, inputSmall)}
}

// newChunkPool returns the pool of chunks that the inputs of one endpoint share.
func newChunkPool() *sync.Pool {
	return &sync.Pool{New: func() any { b := make([]byte, inputStep); return &b }}
}

// fill reads once.
func (in *input) fill(r io.Reader) error {
	if in.big.need > 0 {
		return in.fillBig(r)
	}
	in.makeRoom()
	free := in.buf[in.w:]
	n, err := r.Read(free)
	in.w += n
	in.filled = n == len(free)
	if n < inputSmall {
		in.small++
	} else {
		in.small = 0
	}
	if n > 0 {
		return nil
	}
	return err
}

// makeRoom moves what is unread to the front, and grows a full buffer or gives a mostly empty one back.
func (in *input) makeRoom() {
	if in.r > 0 {
		copy(in.buf, in.buf[in.r:in.w])
		in.w -= in.r
		in.r = 0
	}
	switch {
	case (in.filled || in.w == len(in.buf)) && len(in.buf) < inputMax:
		grown := make([]byte, min(len(in.buf)+inputStep, inputMax))
		copy(grown, in.buf[:in.w])
		in.buf, in.filled = grown, false
	case in.small >= quietReads && len(in.buf) > inputSmall && in.w <= inputSmall/2:
		less := make([]byte, inputSmall)
		copy(less, in.buf[:in.w])
		in.buf, in.small = less, 0
	}
}

// shrink gives a large buffer back when nothing is in it.
func (in *input) shrink() {
	if in.r == in.w && in.big.need == 0 {
		in.r, in.w = 0, 0
		in.shrinkTo(inputSmall)
	}
}

// shrinkTo takes a smaller buffer for an empty one.
func (in *input) shrinkTo(size int) {
	if len(in.buf) > size {
		in.buf, in.small, in.filled = make([]byte, size), 0, false
	}
}

// partial reports whether a frame has begun and isn't whole.
func (in *input) partial() bool { return in.r < in.w || in.big.need > 0 }

// next returns the next whole frame, its length word included, or nil when more must be read. The frame is valid until
// the next fill. An error means that the stream can't be followed any longer.
func (in *input) next() (frame []byte, err error) {
	if in.big.need > 0 {
		if in.big.have < in.big.need {
			return nil, nil
		}
		return in.joinBig(), nil
	}
	b := in.buf[in.r:in.w]
	if len(b) < 4 {
		return nil, nil
	}
	length := int64(int32(binary.BigEndian.Uint32(b)))
	if length < 4 || length > int64(in.most)-4 {
		return nil, fmt.Errorf("a frame of %d bytes, want 4 to %d", length, in.most-4)
	}
	if len(b) < 8 {
		return nil, nil
	}
	if header := int64(binary.BigEndian.Uint32(b[4:]) & 0xFFFFFF); b[4] > 1 || header > min(length-4, wire.MaxHeaderSize) {
		return nil, fmt.Errorf("a frame of %d bytes with header type %d and %d header bytes", length, b[4], header)
	}
	size := int(length) + 4
	if len(b) >= size {
		in.r += size
		return b[:size:size], nil
	}
	if size > inputMax && len(b) >= inputSmall {
		in.beginBig(size)
	}
	return nil, nil
}

// whole reports whether another frame is complete.
func (in *input) whole() bool {
	b := in.buf[in.r:in.w]
	return len(b) >= 4 && uint64(len(b)) >= uint64(binary.BigEndian.Uint32(b))+4
}

// beginBig moves the beginning of a long frame, which is all that is unread, into chunks.
func (in *input) beginBig(size int) {
	in.big.need = size
	b := in.buf[in.r:in.w]
	for len(b) > 0 {
		n := copy(in.bigRoom(), b)
		in.big.have += n
		b = b[n:]
	}
	in.r, in.w = 0, 0
	in.shrinkTo(inputSmall)
}

// bigRoom returns the free rest of the last chunk, of a new one if it is full, but not beyond the end of the frame.
func (in *input) bigRoom() []byte {
	at := in.big.have % inputStep
	if in.big.have == len(in.big.list)*inputStep {
		in.big.list = append(in.big.list, *in.pool.Get().(*[]byte))
	}
	last := in.big.list[len(in.big.list)-1]
	return last[at:min(inputStep, at+in.big.need-in.big.have)]
}

func (in *input) fillBig(r io.Reader) error {
	n, err := r.Read(in.bigRoom())
	in.big.have += n
	if n > 0 {
		return nil
	}
	return err
}

// joinBig puts the chunks together and gives them back.
func (in *input) joinBig() []byte {
	frame := make([]byte, 0, in.big.need)
	for i, c := range in.big.list {
		frame = append(frame, c[:min(inputStep, in.big.need-len(frame))]...)
		in.big.list[i] = nil
		in.pool.Put(&c)
	}
	in.big = chunks{list: in.big.list[:0]}
	return frame
}

// drop gives chunks back when the connection ends.
func (in *input) drop() {
	for i, c := range in.big.list {
		in.big.list[i] = nil
		in.pool.Put(&c)
	}
	in.big = chunks{}
	in.buf, in.r, in.w = nil, 0, 0
}
