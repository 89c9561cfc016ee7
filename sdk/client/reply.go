package client

import (
	"bytes"
	"encoding/binary"
	"strconv"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/sdk/wire"
)

const codeNotSupported = int32(message.CodeNotSupported)

// Reply is what came back for a request. Its header is read only as far as it is asked for.
type Reply struct {
	frame   []byte
	code    int32
	err     error
	decoded bool
	header  wire.Header
	body    []byte
}

func (r *Reply) reset(frame []byte) {
	r.frame, r.err, r.decoded, r.body = frame, nil, false, nil
}

// Err says why there is no reply: ErrTimeout, ErrClosed, or what ended the connection. It is nil when there is one,
// whatever its code.
func (r *Reply) Err() error { return r.err }

// Code returns the response code.
func (r *Reply) Code() int32 { return r.code }

// Body returns the body; nil when there is none.
func (r *Reply) Body() []byte {
	if r.decoded {
		return r.body
	}
	return r.frame[8+binary.BigEndian.Uint32(r.frame[4:])&0xFFFFFF:]
}

// Size returns the bytes of the whole frame.
func (r *Reply) Size() int { return len(r.frame) }

// Header decodes the header.
func (r *Reply) Header() (*wire.Header, error) {
	if r.decoded {
		return &r.header, nil
	}
	body, err := r.header.Decode(r.frame)
	if err != nil {
		return nil, err
	}
	r.body, r.decoded, r.code = body, true, r.header.Code
	return &r.header, nil
}

// Int64 returns an ext field that is a number, without decoding the whole header where that is JSON as it is usually
// written.
func (r *Reply) Int64(name string) (int64, error) {
	if !r.decoded && wire.Type(r.frame[4]) == wire.JSON {
		head := r.frame[8 : 8+binary.BigEndian.Uint32(r.frame[4:])&0xFFFFFF]
		if n, ok := quotedNumber(head, name); ok {
			return n, nil
		}
	}
	h, err := r.Header()
	if err != nil {
		return 0, err
	}
	return h.Int64(name)
}

// quotedNumber finds "name":"123".
func quotedNumber(head []byte, name string) (int64, bool) {
	const open, between = `"`, `":"`
	for at := 0; ; {
		i := bytes.Index(head[at:], []byte(name))
		if i < 0 {
			return 0, false
		}
		begin := at + i
		at = begin + len(name)
		if begin == 0 || head[begin-1] != open[0] || !bytes.HasPrefix(head[at:], []byte(between)) {
			continue
		}
		text := head[at+len(between):]
		end := bytes.IndexByte(text, '"')
		if end < 1 || end > 18 {
			return 0, false
		}
		var n int64
		for _, c := range text[:end] {
			if c < '0' || c > '9' {
				return 0, false
			}
			n = n*10 + int64(c-'0')
		}
		return n, true
	}
}

// Failure returns nil for code 0, the error of a request that got no reply, and else the code and remark as a
// *message.Error.
func (r *Reply) Failure() error {
	if r.err != nil {
		return r.err
	}
	if r.code == 0 {
		return nil
	}
	h, err := r.Header()
	if err != nil {
		return err
	}
	return &message.Error{Code: message.Code(h.Code), Remark: string(h.Remark)}
}

// The keys of a JSON header that a reply is matched by. Inside of texts the quotes would be escaped, so that these bytes
// occur as keys only.
var (
	keyOpaque = []byte(`"opaque":`)
	keyFlag   = []byte(`"flag":`)
	keyCode   = []byte(`"code":`)
)

// scan finds opaque, code and kind of the frame without decoding the header, or by decoding it when it is written in an
// unusual way.
func (r *Reply) scan() (opaque int32, response bool, err error) {
	n := int(binary.BigEndian.Uint32(r.frame[4:]) & 0xFFFFFF)
	head := r.frame[8 : 8+n]
	if wire.Type(r.frame[4]) == wire.Binary {
		if n < 13 {
			return 0, false, wire.ErrMalformed
		}
		r.code = int32(int16(binary.BigEndian.Uint16(head)))
		return int32(binary.BigEndian.Uint32(head[5:])), binary.BigEndian.Uint32(head[9:])&uint32(wire.FlagResponse) != 0, nil
	}
	o, ok1 := numberAfter(head, keyOpaque)
	f, ok2 := numberAfter(head, keyFlag)
	code, ok3 := numberAfter(head, keyCode)
	if ok1 && ok2 && ok3 {
		r.code = code
		return o, f&wire.FlagResponse != 0, nil
	}
	h, err := r.Header()
	if err != nil {
		return 0, false, err
	}
	return h.Opaque, h.IsResponse(), nil
}

// numberAfter reads the number that follows key.
func numberAfter(head, key []byte) (int32, bool) {
	i := bytes.Index(head, key)
	if i < 0 {
		return 0, false
	}
	i += len(key)
	negative := i < len(head) && head[i] == '-'
	if negative {
		i++
	}
	var n int64
	digits := 0
	for ; i < len(head) && head[i] >= '0' && head[i] <= '9' && digits < 11; i++ {
		n = n*10 + int64(head[i]-'0')
		digits++
	}
	if negative {
		n = -n
	}
	if digits == 0 || i == len(head) || (head[i] != ',' && head[i] != '}') || int64(int32(n)) != n {
		return 0, false
	}
	return int32(n), true
}

// findOpaque returns where the digits of opaque begin in a JSON frame.
func findOpaque(frame []byte, opaque int32) int {
	i := bytes.Index(frame, strconv.AppendInt(bytes.Clone(keyOpaque), int64(opaque), 10))
	if i < 0 {
		return -1
	}
	return i + len(keyOpaque)
}
