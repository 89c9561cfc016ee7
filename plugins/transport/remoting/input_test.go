package remoting

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/weirmq/weir/sdk/wire"
)

// pieces reads a stream in pieces of given sizes, over and over.
type pieces struct {
	b     []byte
	sizes []byte
	i     int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.b) == 0 {
		return 0, io.EOF
	}
	n := len(p.b)
	if len(p.sizes) > 0 {
		n = 1 + int(p.sizes[p.i%len(p.sizes)])*int(p.sizes[p.i%len(p.sizes)])
		p.i++
	}
	n = copy(b, p.b[:min(n, len(p.b))])
	p.b = p.b[n:]
	return n, nil
}

// splitAll returns the frames that input finds in a stream, and what ended it.
func splitAll(stream, sizes []byte, most int) ([][]byte, error) {
	in := newInput(most, newChunkPool())
	defer in.drop()
	var frames [][]byte
	r := &pieces{b: stream, sizes: sizes}
	got := 0
	for {
		for {
			f, err := in.next()
			if err != nil {
				return frames, err
			}
			if f == nil {
				break
			}
			frames = append(frames, bytes.Clone(f))
		}
		before := len(r.b)
		if err := in.fill(r); err != nil {
			return frames, err
		}
		got += before - len(r.b)
		held := len(in.buf) + len(in.big.list)*inputStep
		if unread := in.w - in.r + in.big.have; held > got+2*inputStep+inputSmall && held > unread+inputMax {
			return frames, errors.New("holds more than it was sent")
		}
	}
}

// FuzzInput: however a stream is cut into reads, the frames are those that wire.NextFrame finds in the whole of it.
func FuzzInput(f *testing.F) {
	one := frame(f, wire.JSON, wire.CodeSendMessageV2, 1, 0, sendExt("T"), []byte("body"))
	f.Add(one, []byte{1})
	f.Add(bytes.Repeat(one, 50), []byte{0, 30, 90, 255})
	f.Add([]byte{0, 0, 0, 3, 1, 2, 3}, []byte{})
	f.Add([]byte{0, 0x50, 0, 0, 0, 0, 0, 4}, []byte{255})
	f.Fuzz(func(t *testing.T, stream, sizes []byte) {
		if len(stream) > 16<<10 {
			return // long frames have a test; here the number of tries counts
		}
		checkSplit(t, stream, sizes)
	})
}

// checkSplit compares input's frames with those of the codec.
func checkSplit(t *testing.T, stream, sizes []byte) {
	t.Helper()
	got, err := splitAll(stream, sizes, wire.MaxFrameSize)
	rest := stream
	for i := 0; ; i++ {
		want, n, werr := wire.NextFrame(rest)
		if want == nil {
			if i != len(got) {
				t.Fatalf("%d frames, want %d", len(got), i)
			}
			if ended := errors.Is(err, io.EOF); ended != (werr == nil) {
				t.Fatalf("ended by %v, want %v", err, werr)
			}
			return
		}
		if i >= len(got) || !bytes.Equal(got[i], want) {
			t.Fatalf("frame %d of %d differs", i, len(got))
		}
		rest = rest[n:]
	}
}

func TestLongFramesCutIntoReads(t *testing.T) {
	var stream []byte
	for i, n := range []int{300 << 10, 1, 256 << 10, 64 << 10, 1 << 20, 255 << 10, 5} {
		stream = append(stream, frame(t, wire.Type(i%2), 10, 1, 0, sendExt("T"), bytes.Repeat([]byte{byte(i)}, n))...)
	}
	for _, sizes := range [][]byte{nil, {255}, {30, 100, 200}, {20, 255, 255}} {
		checkSplit(t, stream, sizes)
	}
}

func TestInputGrowsWithWhatArrives(t *testing.T) {
	one := frame(t, wire.JSON, wire.CodeSendMessageV2, 1, 0, sendExt("T"), make([]byte, 1024))
	in := newInput(wire.MaxFrameSize, newChunkPool())
	read := func(b []byte) {
		r := bytes.NewReader(b)
		for r.Len() > 0 {
			if err := in.fill(r); err != nil {
				t.Fatal(err)
			}
			for {
				f, err := in.next()
				if err != nil {
					t.Fatal(err)
				}
				if f == nil {
					break
				}
			}
		}
	}
	for range 10 {
		read(one)
	}
	if len(in.buf) != inputSmall {
		t.Errorf("one frame at a time: %d bytes", len(in.buf))
	}
	read(bytes.Repeat(one, 1000))
	if len(in.buf) != inputMax {
		t.Errorf("many frames at a time: %d bytes", len(in.buf))
	}
	for range quietReads + 1 {
		read(one)
	}
	if len(in.buf) != inputSmall {
		t.Errorf("quiet again: %d bytes", len(in.buf))
	}
	read(bytes.Repeat(one, 1000))
	in.shrink()
	if len(in.buf) != inputSmall {
		t.Errorf("after shrink: %d bytes", len(in.buf))
	}
}
