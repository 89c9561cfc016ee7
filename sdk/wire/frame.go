package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// A frame, as both sides send it. All numbers are big-endian.
//
//	 0            4      5                8               8+H
//	+------------+------+----------------+---------------+----------------+
//	| L i32      | type | H u24          | header, H     | body, L-4-H    |
//	+------------+------+----------------+---------------+----------------+
//
// L counts everything behind itself. Type 0 is a JSON header, 1 the binary one ("ROCKETMQ").
const (
	// MaxFrameSize bounds a frame, its length field included; Java closes the connection on a longer one.
	MaxFrameSize = 16 << 20
	// MaxHeaderSize bounds the header. The longest that is any use carries a property string of 32767 bytes, each of them
	// escaped in six.
	MaxHeaderSize = 256 << 10
	// MaxExtFields bounds the ext fields of a header, repeated ones included.
	MaxExtFields = 256

	prefixSize = 8
)

// Type says how a header is encoded.
type Type uint8

// The types of headers.
const (
	JSON   Type = 0
	Binary Type = 1
)

// String returns Java's name of t.
func (t Type) String() string {
	switch t {
	case JSON:
		return "JSON"
	case Binary:
		return "ROCKETMQ"
	}
	return fmt.Sprintf("TYPE_%d", uint8(t))
}

// ErrMalformed is what every error about bytes that can't be a frame or a header matches. There is no way to answer: the
// opaque is unknown and so is where the next frame begins. Close the connection.
var ErrMalformed = errors.New("malformed frame")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// NextFrame looks for a whole frame at the beginning of buf. If there is one it returns it (a view, length field
// included) and its size n. If buf ends before, frame is nil, err is nil, and n is how many bytes buf must have for
// the next attempt to get further. An error means that no frame can begin like this; it is found as soon as the first 8 bytes
// are there, so no buffer need be made for a frame that is refused.
func NextFrame(buf []byte) (frame []byte, n int, err error) {
	if len(buf) < 4 {
		return nil, prefixSize, nil
	}
	size := int64(int32(binary.BigEndian.Uint32(buf)))
	if size < 4 || size > MaxFrameSize-4 {
		return nil, 0, malformed("length %d, want 4 to %d", size, MaxFrameSize-4)
	}
	n = int(size) + 4
	if len(buf) < prefixSize {
		return nil, prefixSize, nil
	}
	if err := checkPrefix(buf, n); err != nil {
		return nil, 0, err
	}
	if len(buf) < n {
		return nil, n, nil
	}
	return buf[:n:n], n, nil
}

func checkPrefix(buf []byte, frameSize int) error {
	word := binary.BigEndian.Uint32(buf[4:])
	if t := Type(word >> 24); t > Binary {
		return malformed("header type %d, want 0 or 1", uint8(t))
	}
	h := int(word & 0xFFFFFF)
	if h > frameSize-prefixSize {
		return malformed("header of %d bytes in a frame of %d", h, frameSize)
	}
	if h > MaxHeaderSize {
		return malformed("header of %d bytes, at most %d are read", h, MaxHeaderSize)
	}
	return nil
}

// Decode reads a whole frame, as NextFrame returned it, into h and returns the frame's body: nil if it is empty.
// Remark and ext fields become views into frame, or into h's own scratch if they had escapes; all are valid until frame is
// reused or h is decoded or reset again. h's previous content is dropped. Errors match ErrMalformed.
func (h *Header) Decode(frame []byte) (body []byte, err error) {
	h.Reset()
	if len(frame) < prefixSize {
		return nil, malformed("%d bytes", len(frame))
	}
	if n := int64(binary.BigEndian.Uint32(frame)) + 4; n != int64(len(frame)) {
		return nil, malformed("length field says %d bytes, the frame has %d", n, len(frame))
	}
	if err := checkPrefix(frame, len(frame)); err != nil {
		return nil, err
	}
	end := prefixSize + int(binary.BigEndian.Uint32(frame[4:])&0xFFFFFF)
	head := frame[prefixSize:end:end]
	if h.Type = Type(frame[4]); h.Type == JSON {
		err = h.decodeJSON(head)
	} else {
		err = h.decodeBinary(head)
	}
	if err != nil {
		return nil, err
	}
	if end == len(frame) {
		return nil, nil
	}
	return frame[end:], nil
}

// ErrTooLong means that a frame to be written would exceed what any peer reads.
var ErrTooLong = errors.New("encode frame: longer than 16 MiB")

// AppendFrame appends a whole frame to dst: h in its Type, then body. It allocates only when dst is too small.
// On an error dst is returned as it was.
func AppendFrame(dst []byte, h *Header, body []byte) ([]byte, error) {
	out, err := AppendHead(dst, h, len(body))
	if err != nil {
		return dst, err
	}
	return append(out, body...), nil
}

// AppendHead appends a frame without its body of bodyLen bytes, which the caller writes behind it; for bodies that
// are sent from where they are.
func AppendHead(dst []byte, h *Header, bodyLen int) ([]byte, error) {
	start := len(dst)
	out := append(dst, 0, 0, 0, 0, byte(h.Type), 0, 0, 0)
	var err error
	switch h.Type {
	case JSON:
		out = h.appendJSON(out)
	case Binary:
		out, err = h.appendBinary(out)
	default:
		err = fmt.Errorf("encode frame: header type %d, want 0 or 1", uint8(h.Type))
	}
	if err != nil {
		return dst, err
	}
	head := len(out) - start - prefixSize
	if head >= 1<<24 || len(out)-start+bodyLen > MaxFrameSize {
		return dst, ErrTooLong
	}
	binary.BigEndian.PutUint32(out[start:], uint32(4+head+bodyLen))
	binary.BigEndian.PutUint32(out[start+4:], uint32(h.Type)<<24|uint32(head))
	return out, nil
}
