package fastjson

type kind uint8

const (
	isString kind = iota
	isNumber
	isBool
	isNull
)

// scalar is a value that is neither object nor array; text is what is between the quotes, or the number in JSON's spelling.
type scalar struct {
	kind kind
	text []byte
}

// scalar reads a string, number, true, false or null.
func (r *reader) scalar() (scalar, error) {
	c := r.space()
	if c == '"' || c == '\'' {
		text, err := r.str(c)
		return scalar{isString, text}, err
	}
	at := r.at
	w := r.word()
	switch string(w) {
	case "true", "false":
		return scalar{isBool, w}, nil
	case "null", "undefined", "NaN":
		return scalar{kind: isNull}, nil
	}
	if n, ok := number(w); ok {
		return scalar{isNumber, n}, nil
	}
	r.at = at
	return scalar{}, r.bad("want a value")
}

// number checks the spelling of a number and returns it as JSON wants it. Java takes a plus sign, leading zeros, a bare
// point at either end, and the suffixes of its literals (L, S, B, F, D).
func number(w []byte) ([]byte, bool) {
	neg := false
	if len(w) > 0 && (w[0] == '-' || w[0] == '+') {
		neg = w[0] == '-'
		w = w[1:]
	}
	i := digits(w, 0)
	whole, frac, exp := w[:i], w[i:i], w[i:i]
	if i < len(w) && w[i] == '.' {
		j := digits(w, i+1)
		frac, i = w[i+1:j], j
	}
	if len(whole)+len(frac) == 0 {
		return nil, false
	}
	if i < len(w) && (w[i] == 'e' || w[i] == 'E') {
		j := i + 1
		if j < len(w) && (w[j] == '-' || w[j] == '+') {
			j++
		}
		k := digits(w, j)
		if k == j {
			return nil, false
		}
		exp, i = w[i:k], k
	}
	if i == len(w)-1 {
		switch w[i] {
		case 'L', 'S', 'B', 'F', 'D':
			i++
		}
	}
	if i != len(w) {
		return nil, false
	}
	return spell(neg, whole, frac, exp), true
}

func digits(w []byte, i int) int {
	for i < len(w) && w[i] >= '0' && w[i] <= '9' {
		i++
	}
	return i
}

func spell(neg bool, whole, frac, exp []byte) []byte {
	for len(whole) > 1 && whole[0] == '0' {
		whole = whole[1:]
	}
	out := make([]byte, 0, len(whole)+len(frac)+len(exp)+3)
	if neg {
		out = append(out, '-')
	}
	if len(whole) == 0 {
		out = append(out, '0')
	}
	out = append(out, whole...)
	if len(frac) > 0 {
		out = append(append(out, '.'), frac...)
	}
	return append(out, exp...)
}
