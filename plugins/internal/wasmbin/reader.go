package wasmbin

import (
	"fmt"
	"unicode/utf8"
)

// FormatError says where a module isn't what the format demands.
type FormatError struct {
	// Offset counts bytes from the begin of the module, or of the body when a Code walk alone found it.
	Offset int
	Text   string
}

// Error returns the text and the offset.
func (e *FormatError) Error() string { return fmt.Sprintf("at byte %d: %s", e.Offset, e.Text) }

// reader reads b. The first failure sticks: everything read after it is zero.
type reader struct {
	b    []byte
	at   int
	base int // offset of b in the module
	err  error
}

func (r *reader) fail(at int, format string, args ...any) {
	if r.err == nil {
		r.err = &FormatError{Offset: r.base + at, Text: fmt.Sprintf(format, args...)}
		r.at = len(r.b)
	}
}

func (r *reader) done() bool { return r.at >= len(r.b) }

func (r *reader) u8() byte {
	if r.at >= len(r.b) {
		r.fail(r.at, "the module ends too early")
		return 0
	}
	c := r.b[r.at]
	r.at++
	return c
}

// u32 reads an unsigned LEB128 number of 32 bits.
func (r *reader) u32() uint32 {
	if r.at < len(r.b) && r.b[r.at] < 0x80 { // nearly always
		c := r.b[r.at]
		r.at++
		return uint32(c)
	}
	start := r.at
	var n uint32
	for shift := 0; ; shift += 7 {
		c := r.u8()
		if r.err != nil {
			return 0
		}
		if shift == 28 && c > 0x0f {
			r.fail(start, "number too large for 32 bits")
			return 0
		}
		n |= uint32(c&0x7f) << shift
		if c < 0x80 {
			return n
		}
	}
}

// signed reads a signed LEB128 number of up to 64 bits.
func (r *reader) signed(size int) int64 {
	start := r.at
	var n int64
	for shift := 0; ; {
		c := r.u8()
		if r.err != nil {
			return 0
		}
		n |= int64(c&0x7f) << shift
		shift += 7
		if c >= 0x80 {
			if shift >= size {
				break
			}
			continue
		}
		if shift < 64 && c&0x40 != 0 {
			n |= -1 << shift
		}
		if shift > size && !fits(c, size-(shift-7)) {
			break
		}
		return n
	}
	r.fail(start, "number too large for %d bits", size)
	return 0
}

// fits says whether the last byte of a signed number has nothing but copies of its sign above the low n bits.
func fits(c byte, n int) bool {
	high := int8(c<<1) >> 1 >> (n - 1) // the sign bit and all above it
	return high == 0 || high == -1
}

// count reads the length of a vector whose items take at least one byte each.
func (r *reader) count(what string) int {
	at := r.at
	n := r.u32()
	if int64(n) > int64(len(r.b)-r.at) {
		r.fail(at, "%d %s don't fit into the rest of the section", n, what)
		return 0
	}
	return int(n)
}

func (r *reader) bytes(n int) []byte {
	if n < 0 || n > len(r.b)-r.at {
		r.fail(r.at, "%d bytes wanted, %d left", n, len(r.b)-r.at)
		return nil
	}
	b := r.b[r.at : r.at+n : r.at+n]
	r.at += n
	return b
}

func (r *reader) name() string {
	at := r.at
	b := r.bytes(r.count("bytes of a name"))
	if !utf8.Valid(b) {
		r.fail(at, "a name isn't UTF-8")
	}
	return string(b)
}

func (r *reader) valType() ValType {
	at := r.at
	t := ValType(r.u8())
	if r.err == nil && !t.isNum() && !t.isRef() {
		r.fail(at, "0x%02x is no value type of WebAssembly 2.0", byte(t))
	}
	return t
}

func (r *reader) valTypes() []ValType {
	n := r.count("value types")
	types := make([]ValType, 0, n)
	for range n {
		types = append(types, r.valType())
	}
	return types
}

func (r *reader) limits(most uint64, what string) (l Limits) {
	at := r.at
	switch flag := r.u8(); flag {
	case 0:
		l.Min = r.u32()
	case 1:
		l.Min, l.Max, l.HasMax = r.u32(), r.u32(), true
	default:
		r.fail(at, "limits of kind %d aren't WebAssembly 2.0 (shared or 64-bit memory)", flag)
	}
	if uint64(l.Min) > most || l.HasMax && (uint64(l.Max) > most || l.Max < l.Min) {
		r.fail(at, "impossible limits of a %s: %d to %d", what, l.Min, l.Max)
	}
	return l
}

func (r *reader) table() (t Table) {
	at := r.at
	t.Elem = r.valType()
	if r.err == nil && !t.Elem.isRef() {
		r.fail(at, "a table of %s", t.Elem)
	}
	t.Limits = r.limits(1<<32-1, "table")
	return t
}

func (r *reader) globalType() (g GlobalType) {
	g.Type = r.valType()
	at := r.at
	switch r.u8() {
	case 0:
	case 1:
		g.Mutable = true
	default:
		r.fail(at, "a global is neither constant nor variable")
	}
	return g
}
