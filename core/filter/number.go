package filter

import (
	"bytes"
	"errors"
	"math"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// The functions here read a property's text as a number exactly as RocketMQ's Java does, which decides what `a > 3`
// matches. They don't allocate for numbers of common length.

// ParseInt32 is Java's Integer.valueOf: an optional sign and decimal digits, also of other scripts, within 32 bits.
func ParseInt32(b []byte) (int32, bool) {
	n, ok := ParseInt64(b)
	return int32(n), ok && n == int64(int32(n))
}

// ParseInt64 is Java's Long.valueOf.
func ParseInt64(b []byte) (int64, bool) {
	negative := false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		negative, b = b[0] == '-', b[1:]
	}
	if len(b) == 0 {
		return 0, false
	}
	if len(b) <= 18 { // can't overflow
		var n int64
		for i, c := range b {
			if c -= '0'; c > 9 {
				return parseDigits(b, i, uint64(n), negative)
			}
			n = n*10 + int64(c)
		}
		if negative {
			n = -n
		}
		return n, true
	}
	return parseDigits(b, 0, 0, negative)
}

// parseDigits reads b from i on, when the digits before are n. It is the slow way, for long numbers and other scripts.
func parseDigits(b []byte, i int, n uint64, negative bool) (int64, bool) {
	limit := uint64(math.MaxInt64)
	if negative {
		limit++
	}
	for i < len(b) {
		d := uint64(b[i] - '0')
		if d <= 9 {
			i++
		} else {
			r, size := utf8.DecodeRune(b[i:])
			digit, ok := digitOf(r)
			if !ok {
				return 0, false
			}
			d, i = digit, i+size
		}
		if n > (limit-d)/10 {
			return 0, false
		}
		n = n*10 + d
	}
	if negative {
		return -int64(n), true
	}
	return int64(n), true
}

// digitOf returns the value of a decimal digit of a script in the basic plane: Java's Character.digit of a char.
// Unicode puts the ten digits of a script one behind the other, the first at a multiple of two.
func digitOf(r rune) (uint64, bool) {
	if r < utf8.RuneSelf || r > 0xFFFF {
		return 0, false
	}
	for _, run := range unicode.Nd.R16 {
		if rune(run.Lo) <= r && r <= rune(run.Hi) {
			return uint64(r-rune(run.Lo)) % 10, true
		}
	}
	return 0, false
}

// ParseDouble is Java's Double.valueOf: blanks around are cut, NaN and Infinity are spelled so, a suffix f or d is
// allowed, hexadecimal needs its exponent, and what is too large or too small becomes infinite or zero.
func ParseDouble(b []byte) (float64, bool) {
	if f, ok := parsePlain(b); ok {
		return f, true
	}
	for len(b) > 0 && b[0] <= ' ' {
		b = b[1:]
	}
	for len(b) > 0 && b[len(b)-1] <= ' ' {
		b = b[:len(b)-1]
	}
	if len(b) == 0 {
		return 0, false
	}
	sign, digits := 1, b
	switch b[0] {
	case '-':
		sign, digits = -1, b[1:]
	case '+':
		digits = b[1:]
	}
	switch string(digits) {
	case "NaN":
		return math.NaN(), true
	case "Infinity":
		return math.Inf(sign), true
	}
	if len(digits) > 1 {
		switch digits[len(digits)-1] {
		case 'f', 'F', 'd', 'D':
			if !isHex(digits) || hasExponent(digits) {
				b = b[:len(b)-1]
			}
		}
	}
	if !plainFloat(b) {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, false
	}
	return f, true
}

func isHex(digits []byte) bool {
	return len(digits) > 1 && digits[0] == '0' && digits[1]|0x20 == 'x'
}

func hasExponent(hex []byte) bool {
	return bytes.IndexByte(hex, 'p') >= 0 || bytes.IndexByte(hex, 'P') >= 0
}

// plainFloat says whether b can be a number to both languages: what else Go reads begins with a letter or has an
// underscore, and Go knows hexadecimal without an exponent only for integers.
func plainFloat(b []byte) bool {
	for _, c := range b {
		if c == '_' {
			return false
		}
	}
	if b[0] == '-' || b[0] == '+' {
		b = b[1:]
	}
	return len(b) > 0 && (b[0] == '.' || b[0]-'0' <= 9)
}

// exactPowers are the powers of ten that a float64 holds exactly.
var exactPowers = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// parsePlain reads the common form: a sign, up to 15 digits, perhaps a dot among them. Both the digits and the power of
// ten are exact then, and so the quotient is rounded right.
func parsePlain(b []byte) (float64, bool) {
	digits := b
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		digits = b[1:]
	}
	if len(digits) == 0 || len(digits) > 16 {
		return 0, false
	}
	var n int64
	dot := -1
	for i, c := range digits {
		if d := c - '0'; d <= 9 {
			n = n*10 + int64(d)
		} else if c == '.' && dot < 0 {
			dot = i
		} else {
			return 0, false
		}
	}
	f := float64(n)
	switch {
	case dot < 0 && len(digits) > 15 || dot >= 0 && len(digits) == 1:
		return 0, false
	case dot >= 0:
		f /= exactPowers[len(digits)-1-dot]
	}
	if negative {
		f = -f
	}
	return f, true
}

// OrderDouble maps f to an integer so that integers compare as Java's Double.compareTo does: -0.0 below 0.0, and NaN
// equal to itself above everything.
func OrderDouble(f float64) int64 {
	n := int64(math.Float64bits(f))
	if f != f {
		n = nanBits
	}
	return n ^ int64(uint64(n>>63)>>1)
}

// UnorderDouble returns the double that OrderDouble gave ordered for. The bits of NaN are those of Java's.
func UnorderDouble(ordered int64) float64 {
	return math.Float64frombits(uint64(ordered ^ int64(uint64(ordered>>63)>>1)))
}

// nanBits is the NaN that Java makes of any when it looks at the bits.
const nanBits = 0x7ff8000000000000
