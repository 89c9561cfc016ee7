package remoting

import (
	"fmt"
	"math"

	"github.com/weirmq/weir/core/message"
)

// parseInt reads what Java's Long.parseLong reads: an optional sign and decimal digits.
func parseInt(b []byte) (int64, bool) {
	neg := false
	if len(b) > 1 && (b[0] == '-' || b[0] == '+') {
		neg = b[0] == '-'
		b = b[1:]
	}
	if len(b) == 0 {
		return 0, false
	}
	var n uint64
	for _, c := range b {
		c -= '0'
		if c > 9 || n > (math.MaxUint64-9)/10 {
			return 0, false
		}
		n = n*10 + uint64(c)
	}
	switch {
	case neg && n <= 1<<63:
		return -int64(n), true
	case !neg && n < 1<<63:
		return int64(n), true
	}
	return 0, false
}

// fields reads the values of ext fields in one pass and remembers the first that is wrong.
type fields struct {
	bad  string // name of the first bad number
	text []byte // its value
	have uint32 // bits of the required fields that were there
}

func (f *fields) int64(name string, v []byte) int64 {
	n, ok := parseInt(v)
	if !ok && f.bad == "" {
		f.bad, f.text = name, v
	}
	return n
}

func (f *fields) int32(name string, v []byte) int32 {
	n, ok := parseInt(v)
	if (!ok || n != int64(int32(n))) && f.bad == "" {
		f.bad, f.text = name, v
	}
	return int32(n)
}

// err is the refusal of a request with a bad number, or without one of the required fields, which have the bits of their
// place in names.
func (f *fields) err(names []string) error {
	if f.bad != "" {
		return refuse(message.SystemError, fmt.Sprintf("field %s: %.64q is not a number that fits", f.bad, f.text))
	}
	for i, name := range names {
		if f.have&(1<<i) == 0 {
			return refuse(message.SystemError, "field "+name+" is missing")
		}
	}
	return nil
}

// isTrue reads a boolean as Java does: true in any letter case, everything else is false.
func isTrue(v []byte) bool {
	return len(v) == 4 && v[0]|0x20 == 't' && v[1]|0x20 == 'r' && v[2]|0x20 == 'u' && v[3]|0x20 == 'e'
}
