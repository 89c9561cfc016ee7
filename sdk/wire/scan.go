package wire

import (
	"unicode/utf16"
	"unicode/utf8"
)

// scanner walks a JSON header once. Text without escapes comes back as a view of b, other text from h's scratch.
type scanner struct {
	b  []byte
	at int
	h  *Header
}

type kind uint8

const (
	kindString kind = iota
	kindNumber
	kindBool
	kindNull
	kindNested // object or array
)

type value struct {
	kind kind
	text []byte // never nil, except for null
}

func (s *scanner) bad(what string) error { return malformed("JSON header at byte %d: %s", s.at, what) }

// maxNesting bounds values inside the header that nobody looks into.
const maxNesting = 64

// space skips white space and returns the character that follows, 0 at the end.
func (s *scanner) space() byte {
	for ; s.at < len(s.b); s.at++ {
		switch c := s.b[s.at]; c {
		case ' ', '\t', '\n', '\r', '\f', '\b':
		default:
			return c
		}
	}
	return 0
}

// comma skips white space and commas, as many as there are.
func (s *scanner) comma() byte {
	c := s.space()
	for c == ',' {
		s.at++
		c = s.space()
	}
	return c
}

// key reads a key in double, single or no quotes, and the colon.
func (s *scanner) key() ([]byte, error) {
	var key []byte
	var err error
	switch c := s.space(); {
	case c == '"' || c == '\'':
		key, err = s.quoted(c)
	case isNameByte(c):
		start := s.at
		for s.at < len(s.b) && isNameByte(s.b[s.at]) {
			s.at++
		}
		key = s.b[start:s.at:s.at]
	default:
		return nil, s.bad("want a key")
	}
	if err != nil {
		return nil, err
	}
	if s.space() != ':' {
		return nil, s.bad("want a colon")
	}
	s.at++
	return key, nil
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '$' || c == '-' || c == '.' || c >= utf8.RuneSelf
}

// value reads any value.
func (s *scanner) value() (value, error) {
	switch c := s.space(); {
	case c == '"' || c == '\'':
		text, err := s.quoted(c)
		return value{kindString, text}, err
	case c == '{' || c == '[':
		text, err := s.nested()
		return value{kindNested, text}, err
	case c == '-' || c == '+' || c >= '0' && c <= '9':
		return value{kindNumber, s.bare()}, nil
	default:
		text := s.bare()
		switch string(text) {
		case "null":
			return value{kind: kindNull}, nil
		case "true", "false":
			return value{kindBool, text}, nil
		}
		return value{}, s.bad("want a value")
	}
}

// bare reads letters and digits up to the next delimiter.
func (s *scanner) bare() []byte {
	start := s.at
	for s.at < len(s.b) && (isNameByte(s.b[s.at]) || s.b[s.at] == '+') {
		s.at++
	}
	return s.b[start:s.at:s.at]
}

// nested skips an object or array and returns it as it is written. Brackets must be balanced; nothing else is checked.
func (s *scanner) nested() ([]byte, error) {
	var open [maxNesting]byte
	depth, start := 0, s.at
	for s.at < len(s.b) {
		c := s.b[s.at]
		switch c {
		case '"', '\'':
			if err := s.skipQuoted(c); err != nil {
				return nil, err
			}
			continue
		case '{', '[':
			if depth == maxNesting {
				return nil, s.bad("nested too deeply")
			}
			open[depth] = c + 2 // the closing bracket is two further in ASCII, for both
			depth++
		case '}', ']':
			depth--
			if open[depth] != c {
				return nil, s.bad("unbalanced brackets")
			}
			if depth == 0 {
				s.at++
				return s.b[start:s.at:s.at], nil
			}
		}
		s.at++
	}
	return nil, s.bad("object or array is cut off")
}

// skipQuoted passes over a string without reading it.
func (s *scanner) skipQuoted(quote byte) error {
	for s.at++; s.at < len(s.b); s.at++ {
		switch s.b[s.at] {
		case '\\':
			s.at++
		case quote:
			s.at++
			return nil
		}
	}
	s.at = len(s.b)
	return s.bad("string is cut off")
}

// quoted reads a string. Where there is no escape, nearly always but for properties, it is a view of the header. Most
// strings have a few bytes, which a plain loop passes faster than searches for the quote and for an escape.
func (s *scanner) quoted(quote byte) ([]byte, error) {
	s.at++
	start := s.at
	for i, c := range s.b[start:] {
		switch c {
		case quote:
			s.at = start + i + 1
			return s.b[start : start+i : start+i], nil
		case '\\':
			s.at = start + i
			return s.unescape(start, quote)
		}
	}
	return nil, s.bad("string is cut off")
}

// unescape reads the rest of a string that began at start and whose first escape is at s.at.
func (s *scanner) unescape(start int, quote byte) ([]byte, error) {
	h := s.h
	if need := len(s.b) - start; cap(h.scratch)-len(h.scratch) < need { // all the text there can be: at most one allocation a header
		h.scratch = make([]byte, 0, need)
	}
	from := len(h.scratch)
	out := append(h.scratch, s.b[start:s.at]...)
	for s.at < len(s.b) {
		switch s.b[s.at] {
		case quote:
			s.at++
			h.scratch = out
			return out[from:len(out):len(out)], nil
		case '\\':
			var ok bool
			if out, ok = s.escape(out); !ok {
				return nil, s.bad("unknown escape")
			}
		}
		plain := s.at
		for s.at < len(s.b) && s.b[s.at] != quote && s.b[s.at] != '\\' {
			s.at++
		}
		out = append(out, s.b[plain:s.at]...)
	}
	return nil, s.bad("string is cut off")
}

// escape appends the character that the escape at s.at stands for.
func (s *scanner) escape(out []byte) ([]byte, bool) {
	if s.at+1 >= len(s.b) {
		return out, false
	}
	c := s.b[s.at+1]
	s.at += 2
	switch c {
	case '"', '\'', '\\', '/':
		return append(out, c), true
	case 'b':
		return append(out, '\b'), true
	case 'f':
		return append(out, '\f'), true
	case 'n':
		return append(out, '\n'), true
	case 'r':
		return append(out, '\r'), true
	case 't':
		return append(out, '\t'), true
	case 'v':
		return append(out, '\v'), true
	case 'u':
		if c, ok := s.separator(); ok {
			return append(out, c), true
		}
		r, ok := s.hex4()
		if !ok {
			return out, false
		}
		return utf8.AppendRune(out, s.pair(r)), true
	}
	return out, false
}

// separator reads 0001 and 0002, the separators of properties. Several are in every send.
func (s *scanner) separator() (byte, bool) {
	if s.at+4 > len(s.b) {
		return 0, false
	}
	switch string(s.b[s.at : s.at+4]) {
	case "0001":
		s.at += 4
		return 1, true
	case "0002":
		s.at += 4
		return 2, true
	}
	return 0, false
}

// pair completes a surrogate pair; a lone surrogate becomes U+FFFD.
func (s *scanner) pair(r rune) rune {
	if !utf16.IsSurrogate(r) {
		return r
	}
	if s.at+1 < len(s.b) && s.b[s.at] == '\\' && s.b[s.at+1] == 'u' {
		before := s.at
		s.at += 2
		if low, ok := s.hex4(); ok {
			if full := utf16.DecodeRune(r, low); full != utf8.RuneError {
				return full
			}
		}
		s.at = before
	}
	return utf8.RuneError
}

func (s *scanner) hex4() (rune, bool) {
	if s.at+4 > len(s.b) {
		return 0, false
	}
	var r rune
	for _, c := range s.b[s.at : s.at+4] {
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
		r = r<<4 | rune(c)
	}
	s.at += 4
	return r, true
}
