package message

import "unicode/utf8"

// JavaHash returns Java's String.hashCode of the UTF-8 text s: h = 31·h + unit over its UTF-16 units, in 32 bits.
// Text that isn't UTF-8 is hashed as Java decodes it, with U+FFFD for each malformed part. It doesn't allocate.
func JavaHash[T ~string | ~[]byte](s T) int32 {
	var h uint32
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			h = 31*h + uint32(c)
			i++
			continue
		}
		r, n := javaRune(s, i)
		i += n
		if r >= 0x10000 {
			r -= 0x10000
			h = 31*h + uint32(0xD800+r>>10)
			r = 0xDC00 + r&0x3FF
		}
		h = 31*h + uint32(r)
	}
	return int32(h)
}

// TagsCode returns what the consume queue keeps of a message's tag: its JavaHash widened to 64 bits, 0 for no tag.
func TagsCode[T ~string | ~[]byte](tag T) int64 { return int64(JavaHash(tag)) }

// javaRune decodes the character at s[i], which is not ASCII. Java replaces the longest prefix that could have begun
// a character by one U+FFFD, Go each single byte, and a surrogate written as UTF-8 is one U+FFFD in Java.
func javaRune[T ~string | ~[]byte](s T, i int) (r rune, n int) {
	var buf [utf8.UTFMax]byte
	have := copy(buf[:], s[i:min(len(s), i+utf8.UTFMax)])
	b := buf[:have]
	if r, n = utf8.DecodeRune(b); r != utf8.RuneError || n != 1 {
		return r, n
	}
	return utf8.RuneError, malformedLen(b)
}

func isCont(c byte) bool { return c&0xC0 == 0x80 }

// malformedLen returns how many bytes of the malformed b Java replaces at once.
func malformedLen(b []byte) int {
	c := b[0]
	if len(b) < 2 || c < 0xE0 || c > 0xF4 || !isCont(b[1]) {
		return 1
	}
	if c < 0xF0 { // of three bytes
		if c == 0xE0 && b[1] < 0xA0 {
			return 1
		}
		if len(b) > 2 && isCont(b[2]) { // a surrogate; everything else would have been well-formed
			return 3
		}
		return 2
	}
	if c == 0xF0 && b[1] < 0x90 || c == 0xF4 && b[1] >= 0x90 {
		return 1
	}
	if len(b) < 3 || !isCont(b[2]) {
		return 2
	}
	return 3
}

// JavaText returns b as Java reads it as UTF-8: with U+FFFD for each malformed part. It returns b itself when it has none.
func JavaText(b []byte) []byte {
	if utf8.Valid(b) {
		return b
	}
	out := make([]byte, 0, len(b)+8)
	for i := 0; i < len(b); {
		if b[i] < utf8.RuneSelf {
			out = append(out, b[i])
			i++
			continue
		}
		r, n := javaRune(b, i)
		out = utf8.AppendRune(out, r)
		i += n
	}
	return out
}
