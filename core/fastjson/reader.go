package fastjson

import (
	"bytes"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// Limits of what is read.
const (
	MaxDepth = 64       // levels of objects and arrays
	MaxSize  = 64 << 20 // bytes of a document
)

// SyntaxError says where a document can't be read and why.
type SyntaxError struct {
	Offset int // byte, from 0
	What   string
}

// Error describes the place and the cause.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("read json: byte %d: %s", e.Offset, e.What)
}

// reader walks a document once.
type reader struct {
	b     []byte
	at    int
	depth int
}

// decoded returns the document with what isn't UTF-8 replaced by U+FFFD, as Java has it before it parses, and as our own
// writing of the same text would have it. A good document, that is every one, is returned as it is.
func decoded(doc []byte) []byte {
	if utf8.Valid(doc) {
		return doc
	}
	return []byte(string([]rune(string(doc)))) // one U+FFFD for each bad byte
}

func (r *reader) bad(what string) error { return &SyntaxError{r.at, what} }

func (r *reader) space() byte {
	for ; r.at < len(r.b); r.at++ {
		switch c := r.b[r.at]; c {
		case ' ', '\t', '\n', '\r', '\f', '\b':
		default:
			return c
		}
	}
	return 0
}

// comma skips white space and any number of commas: fastjson takes extra ones.
func (r *reader) comma() byte {
	c := r.space()
	for c == ',' {
		r.at++
		c = r.space()
	}
	return c
}

func (r *reader) end() error {
	if r.space(); r.at != len(r.b) {
		return r.bad("text behind the value")
	}
	return nil
}

// open enters an object or array whose bracket is at r.at.
func (r *reader) open() error {
	if r.depth == MaxDepth {
		return r.bad("nested too deeply")
	}
	r.depth++
	r.at++
	return nil
}

func (r *reader) close() {
	r.depth--
	r.at++
}

func (r *reader) colon() error {
	if r.space() != ':' {
		return r.bad("want a colon")
	}
	r.at++
	return nil
}

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		c == '_' || c == '$' || c == '-' || c == '+' || c == '.' || c >= utf8.RuneSelf
}

// word reads a bare key, number or name: everything up to a delimiter.
func (r *reader) word() []byte {
	start := r.at
	for r.at < len(r.b) && isWordByte(r.b[r.at]) {
		r.at++
	}
	return r.b[start:r.at:r.at]
}

// key reads a key that is not an object, and returns its text.
func (r *reader) key() ([]byte, error) {
	switch c := r.space(); {
	case c == '"' || c == '\'':
		return r.str(c)
	case isWordByte(c):
		return r.word(), nil
	}
	return nil, r.bad("want a key")
}

// str reads a string and returns its text: a view of the document where there is no escape, else a copy.
func (r *reader) str(quote byte) ([]byte, error) {
	r.at++
	start := r.at
	n := bytes.IndexByte(r.b[start:], quote)
	if n < 0 {
		return nil, r.bad("string is cut off")
	}
	esc := bytes.IndexByte(r.b[start:start+n], '\\')
	if esc < 0 {
		r.at = start + n + 1
		return r.b[start : start+n : start+n], nil
	}
	r.at = start + esc
	out := append(make([]byte, 0, n+16), r.b[start:r.at]...)
	for r.at < len(r.b) {
		switch c := r.b[r.at]; c {
		case quote:
			r.at++
			return out, nil
		case '\\':
			var ok bool
			if out, ok = r.escape(out); !ok {
				return nil, r.bad("unknown escape")
			}
		default:
			out = append(out, c)
			r.at++
		}
	}
	return nil, r.bad("string is cut off")
}

func (r *reader) escape(out []byte) ([]byte, bool) {
	if r.at+1 >= len(r.b) {
		return out, false
	}
	c := r.b[r.at+1]
	r.at += 2
	switch c {
	case '"', '\'', '\\', '/':
		return append(out, c), true
	case 'b':
		return append(out, '\b'), true
	case 'f', 'F':
		return append(out, '\f'), true
	case 'n':
		return append(out, '\n'), true
	case 'r':
		return append(out, '\r'), true
	case 't':
		return append(out, '\t'), true
	case 'v':
		return append(out, '\v'), true
	case '0', '1', '2', '3', '4', '5', '6', '7':
		return append(out, c-'0'), true
	case 'u':
		u, ok := r.hex4()
		if !ok {
			return out, false
		}
		return utf8.AppendRune(out, r.pair(u)), true
	}
	return out, false
}

// pair completes a surrogate pair; a lone surrogate becomes U+FFFD.
func (r *reader) pair(u rune) rune {
	if !utf16.IsSurrogate(u) {
		return u
	}
	if before := r.at; bytes.HasPrefix(r.b[r.at:], []byte(`\u`)) {
		r.at += 2
		if low, ok := r.hex4(); ok {
			if full := utf16.DecodeRune(u, low); full != utf8.RuneError {
				return full
			}
		}
		r.at = before
	}
	return utf8.RuneError
}

func (r *reader) hex4() (rune, bool) {
	if r.at+4 > len(r.b) {
		return 0, false
	}
	var u rune
	for _, c := range r.b[r.at : r.at+4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		u = u<<4 | rune(c)
	}
	r.at += 4
	return u, true
}
