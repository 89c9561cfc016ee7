package wire

import (
	"bytes"
	"fmt"

	"github.com/weirmq/weir/core/message"
)

// The accessors here read ext fields by Java's rules. Where a required field is missing or a number isn't one, Java runs into an exception
// and answers code 1 with its text; here the answer is code 1 and says which field. All errors are *message.Error.

func missing(key string) error {
	return &message.Error{Code: message.SystemError, Remark: "the request has no field " + key}
}

func unparsable(key string, value []byte, what string) error {
	return &message.Error{Code: message.SystemError, Remark: fmt.Sprintf("the request's field %s is %.64q, want %s", key, value, what)}
}

// parseInt reads what Java's Integer.parseInt and Long.parseLong read: an optional sign and ASCII digits.
func parseInt(b []byte, bits uint) (int64, bool) {
	neg := false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		neg = b[0] == '-'
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 19 && len(bytes.TrimLeft(b, "0")) > 19 {
		return 0, false
	}
	var n uint64
	for _, c := range b {
		if c -= '0'; c > 9 {
			return 0, false
		}
		n = n*10 + uint64(c)
	}
	limit := uint64(1) << (bits - 1)
	switch {
	case neg && n <= limit:
		return int64(-n), true
	case !neg && n < limit:
		return int64(n), true
	}
	return 0, false
}

func isTrue(b []byte) bool { return len(b) == 4 && bytes.EqualFold(b, []byte("true")) }

// Bytes returns a required text.
func (h *Header) Bytes(key string) ([]byte, error) {
	v, ok := h.Get(key)
	if !ok {
		return nil, missing(key)
	}
	return v, nil
}

// Text returns a required text, copied.
func (h *Header) Text(key string) (string, error) {
	v, err := h.Bytes(key)
	return string(v), err
}

// OptText returns a text, copied; "" if it is absent.
func (h *Header) OptText(key string) string {
	v, _ := h.Get(key)
	return string(v)
}

// Int64 returns a required number.
func (h *Header) Int64(key string) (int64, error) {
	v, ok := h.Get(key)
	if !ok {
		return 0, missing(key)
	}
	n, ok := parseInt(v, 64)
	if !ok {
		return 0, unparsable(key, v, "a 64-bit integer")
	}
	return n, nil
}

// Int32 returns a required number.
func (h *Header) Int32(key string) (int32, error) {
	v, ok := h.Get(key)
	if !ok {
		return 0, missing(key)
	}
	n, ok := parseInt(v, 32)
	if !ok {
		return 0, unparsable(key, v, "a 32-bit integer")
	}
	return int32(n), nil
}

// OptInt64 returns a number, or def if it is absent or empty.
func (h *Header) OptInt64(key string, def int64) (int64, error) {
	if v, ok := h.Get(key); !ok || len(v) == 0 {
		return def, nil
	}
	return h.Int64(key)
}

// OptInt32 returns a number, or def if it is absent or empty.
func (h *Header) OptInt32(key string, def int32) (int32, error) {
	if v, ok := h.Get(key); !ok || len(v) == 0 {
		return def, nil
	}
	return h.Int32(key)
}

// Bool says whether a field is "true" in any letter case. Absent and everything else is false, as in Java.
func (h *Header) Bool(key string) bool {
	v, _ := h.Get(key)
	return isTrue(v)
}

// OptBool is Bool with a default for an absent field.
func (h *Header) OptBool(key string, def bool) bool {
	v, ok := h.Get(key)
	if !ok {
		return def
	}
	return isTrue(v)
}

// NoInt32 is a default for OptInt32 that no client sends: it tells an absent number from any other.
const NoInt32 = -1 << 31
