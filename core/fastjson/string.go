package fastjson

import "unicode/utf8"

const upperHex = "0123456789ABCDEF"

// AppendString appends b as a JSON string. It escapes what Java escapes (quote, backslash, control characters, U+007F to
// U+009F, U+2028 and U+2029), leaves < > & alone, and writes bytes that aren't UTF-8 as U+FFFD.
func AppendString[T ~string | ~[]byte](dst []byte, b T) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(b); {
		c := b[i]
		if c < utf8.RuneSelf {
			if c >= 0x20 && c != '"' && c != '\\' && c != 0x7F {
				i++
				continue
			}
			dst = appendEscape(append(dst, b[from:i]...), c)
			i++
			from = i
			continue
		}
		r, n := decodeRune(b, i)
		switch {
		case r == utf8.RuneError && n == 1:
			dst = append(append(dst, b[from:i]...), "\ufffd"...)
		case r <= 0x9F || r == 0x2028 || r == 0x2029:
			dst = append(dst, b[from:i]...)
			dst = append(dst, '\\', 'u', upperHex[r>>12], upperHex[r>>8&15], upperHex[r>>4&15], upperHex[r&15])
		default:
			i += n
			continue
		}
		i += n
		from = i
	}
	dst = append(dst, b[from:]...)
	return append(dst, '"')
}

func decodeRune[T ~string | ~[]byte](b T, i int) (rune, int) {
	var buf [utf8.UTFMax]byte
	n := copy(buf[:], b[i:min(len(b), i+utf8.UTFMax)])
	return utf8.DecodeRune(buf[:n])
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, '\\', 'b')
	case '\t':
		return append(dst, '\\', 't')
	case '\n':
		return append(dst, '\\', 'n')
	case '\f':
		return append(dst, '\\', 'f')
	case '\r':
		return append(dst, '\\', 'r')
	}
	return append(dst, '\\', 'u', '0', '0', upperHex[c>>4], upperHex[c&15])
}
