package wire

import (
	"encoding/binary"
	"fmt"
	"math"
)

// The binary header ("ROCKETMQ"):
//
//	 0      2          3         5        9       13
//	+------+----------+---------+--------+-------+-----------------+------------------+
//	| code | language | version | opaque | flag  | remark          | ext fields       |
//	| i16  | u8       | i16     | i32    | i32   | i32 n + n bytes | i32 n + n bytes  |
//	+------+----------+---------+--------+-------+-----------------+------------------+
//
// An ext field is a key (i16 n + n bytes) and a value (i32 n + n bytes). Nothing and an empty text look alike: both are
// read as null. The fields end with the announced bytes; Java goes by where the last one begins.
const binaryFixed = 2 + 1 + 2 + 4 + 4 + 4 + 4

func (h *Header) decodeBinary(b []byte) error {
	if len(b) < binaryFixed {
		return malformed("binary header of %d bytes", len(b))
	}
	be := binary.BigEndian
	h.Code = int32(int16(be.Uint16(b)))
	h.Language = knownLanguage(int32(b[2]))
	h.Version = int32(int16(be.Uint16(b[3:])))
	h.Opaque = int32(be.Uint32(b[5:]))
	h.Flag = int32(be.Uint32(b[9:]))
	n := int(int32(be.Uint32(b[13:])))
	b = b[17:]
	if n < 0 || n > len(b)-4 {
		return malformed("remark of %d bytes with %d left", n, len(b))
	}
	if n > 0 {
		h.Remark = b[:n:n]
	}
	total := int(int32(be.Uint32(b[n:])))
	b = b[n+4:]
	if total > len(b) {
		return malformed("ext fields of %d bytes with %d left", total, len(b))
	}
	return h.decodeBinaryExt(b, total)
}

func (h *Header) decodeBinaryExt(b []byte, total int) error {
	be := binary.BigEndian
	for left := total; left > 0; {
		if len(h.Ext) == MaxExtFields {
			return malformed("more than %d ext fields", MaxExtFields)
		}
		if len(b) < 2 {
			return malformed("ext field cut off")
		}
		k := int(int16(be.Uint16(b)))
		if k <= 0 || k > len(b)-6 {
			return malformed("ext key of %d bytes with %d left", k, len(b))
		}
		v := int(int32(be.Uint32(b[2+k:])))
		if v < 0 || v > len(b)-6-k {
			return malformed("ext value of %d bytes with %d left", v, len(b))
		}
		f := Field{Key: b[2 : 2+k : 2+k]}
		if v > 0 {
			f.Value = b[6+k : 6+k+v : 6+k+v]
		}
		h.Ext = append(h.Ext, f)
		left -= 6 + k + v
		b = b[6+k+v:]
	}
	return nil
}

func (h *Header) appendBinary(dst []byte) ([]byte, error) {
	if h.Code != int32(int16(h.Code)) || h.Version != int32(int16(h.Version)) {
		return dst, fmt.Errorf("encode frame: code %d or version %d doesn't fit the binary header, use JSON", h.Code, h.Version)
	}
	be := binary.BigEndian
	dst = be.AppendUint16(dst, uint16(h.Code))
	dst = append(dst, byte(h.Language))
	dst = be.AppendUint16(dst, uint16(h.Version))
	dst = be.AppendUint32(dst, uint32(h.Opaque))
	dst = be.AppendUint32(dst, uint32(h.Flag))
	dst = be.AppendUint32(dst, uint32(len(h.Remark)))
	dst = append(dst, h.Remark...)
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	for _, f := range h.Ext {
		if f.Value == nil || len(f.Key) == 0 {
			continue
		}
		if len(f.Key) > math.MaxInt16 {
			return dst, fmt.Errorf("encode frame: ext key of %d bytes, at most %d fit", len(f.Key), math.MaxInt16)
		}
		dst = be.AppendUint16(dst, uint16(len(f.Key)))
		dst = append(dst, f.Key...)
		dst = be.AppendUint32(dst, uint32(len(f.Value)))
		dst = append(dst, f.Value...)
	}
	be.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst, nil
}
