package sqltree

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"unicode/utf8"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
)

// Lookup returns a property's value, which is never empty; ok is false when the message has none.
type Lookup func(name string) (value []byte, ok bool)

// StrictExpr is a condition that only the strict dialect has. It never raises.
type StrictExpr interface {
	// String writes it as Canonical does.
	String() string
	// Properties lists the property names that it reads.
	Properties() []string
	// Eval evaluates it for one message.
	Eval(Lookup) Outcome
}

// strictValue is something that is compared.
type strictValue interface {
	String() string
	properties() []string
	eval(Lookup) strictResult
}

// strictResult is a value of one message: a text that may be a number, a number, or null when it is neither.
type strictResult struct {
	text   []byte // of a property or a text literal
	isText bool   // a literal, which never is a number
	number strictNumber
	kind   resultKind
}

type resultKind uint8

const (
	nullResult resultKind = iota
	textResult
	numberResult
)

func (r strictResult) null() bool { return r.kind == nullResult }

func (r strictResult) constant() *strictConst { return &strictConst{number: r.number} }

// asNumber reads a property as a number.
func (r strictResult) asNumber() (strictNumber, bool) {
	if r.kind == numberResult {
		return r.number, true
	}
	if r.kind == nullResult || r.isText {
		return strictNumber{}, false
	}
	return parseStrict(r.text)
}

// strictNumber is an integer of 64 bits or a finite double.
type strictNumber struct {
	float bool
	int   int64
	f     float64
}

const maxDouble = math.MaxFloat64

func (n strictNumber) double() float64 {
	if n.float {
		return n.f
	}
	return float64(n.int)
}

func (n strictNumber) String() string {
	if n.float {
		return strconv.FormatFloat(n.f, 'g', -1, 64) + "f"
	}
	return strconv.FormatInt(n.int, 10)
}

// parseStrict reads a decimal number: a sign, digits, a fraction, an exponent. Nothing else is one, blanks included.
func parseStrict(b []byte) (strictNumber, bool) {
	for _, c := range b {
		if !isDigit(c) && c != '+' && c != '-' && c != '.' && c|0x20 != 'e' {
			return strictNumber{}, false
		}
	}
	if n, ok := filter.ParseInt64(b); ok {
		return strictNumber{int: n}, true
	}
	f, ok := filter.ParseDouble(b)
	return strictNumber{float: true, f: f}, ok && !math.IsInf(f, 0)
}

// compareNumber compares by value: an integer with a double as exactly as if both had all digits.
func compareNumber(a, b strictNumber) int {
	switch {
	case !a.float && !b.float:
		return sign(a.int < b.int, a.int > b.int)
	case a.float && b.float:
		return sign(a.f < b.f, a.f > b.f)
	case a.float:
		return -compareNumber(b, a)
	}
	if f := float64(a.int); f != b.f {
		return sign(f < b.f, f > b.f)
	}
	if math.Abs(b.f) < 1<<53 {
		return 0
	}
	var x, y big.Float
	x.SetPrec(64).SetInt64(a.int)
	y.SetFloat64(b.f)
	return x.Cmp(&y)
}

func sign(less, more bool) int { return btoi(more) - btoi(less) }

// compareStrict compares two values that aren't null and can be compared.
func compareStrict(a, b strictResult) int {
	x, xok := a.asNumber()
	y, yok := b.asNumber()
	if xok && yok {
		return compareNumber(x, y)
	}
	return bytes.Compare(javaText(a.text), javaText(b.text))
}

func javaText(b []byte) []byte { return message.JavaText(b) }

// The kinds of values, as far as they are known before there is a message. Sums of them are only compared with
// textKind + numberKind.
const (
	anyKind    = 0
	textKind   = 1
	numberKind = 4
)

func kindOf(v strictValue) int {
	switch v := v.(type) {
	case *strictConst:
		if v.text != nil {
			return textKind
		}
		return numberKind
	case *strictArithmetic:
		return numberKind
	}
	return anyKind
}

type strictProperty struct{ name string }

func (v *strictProperty) String() string       { return v.name }
func (v *strictProperty) properties() []string { return []string{v.name} }
func (v *strictProperty) eval(get Lookup) strictResult {
	if b, ok := get(v.name); ok {
		return strictResult{kind: textResult, text: b}
	}
	return strictResult{}
}

type strictConst struct {
	isBool, truth bool
	text          *string // nil for a number
	number        strictNumber
}

func (v *strictConst) String() string {
	if v.text != nil {
		return strconv.Quote(*v.text)
	}
	return v.number.String()
}
func (v *strictConst) properties() []string     { return nil }
func (v *strictConst) eval(Lookup) strictResult { return v.result() }
func (v *strictConst) result() strictResult {
	if v.text != nil {
		return strictResult{kind: textResult, isText: true, text: []byte(*v.text)}
	}
	return strictResult{kind: numberResult, number: v.number}
}

type strictArithmetic struct {
	left  strictValue
	op    byte
	right strictValue
}

func (v *strictArithmetic) String() string { return fmt.Sprintf("(%c %s %s)", v.op, v.left, v.right) }
func (v *strictArithmetic) properties() []string {
	return append(v.left.properties(), v.right.properties()...)
}

// eval is null when a side is no number, or the result none.
func (v *strictArithmetic) eval(get Lookup) strictResult {
	a, ok := v.left.eval(get).asNumber()
	if !ok {
		return strictResult{}
	}
	b, ok := v.right.eval(get).asNumber()
	if !ok {
		return strictResult{}
	}
	if !a.float && !b.float {
		if n, ok := calculateInt(a.int, v.op, b.int); ok {
			return strictResult{kind: numberResult, number: strictNumber{int: n}}
		}
	}
	f := calculateDouble(a.double(), v.op, b.double())
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return strictResult{}
	}
	return strictResult{kind: numberResult, number: strictNumber{float: true, f: f}}
}

// calculateInt is exact, or not ok.
func calculateInt(a int64, op byte, b int64) (n int64, ok bool) {
	switch op {
	case '+':
		n = a + b
		return n, (n > a) == (b > 0)
	case '-':
		n = a - b
		return n, (n < a) == (b > 0)
	case '*':
		if a == 0 || b == 0 {
			return 0, true
		}
		n = a * b
		return n, n/b == a && !(a == -1 && b == math.MinInt64) && !(b == -1 && a == math.MinInt64)
	case '/':
		return safeDivide(a, b)
	default:
		if b == 0 || b == -1 {
			return 0, b == -1
		}
		return a % b, true
	}
}

func safeDivide(a, b int64) (int64, bool) {
	if b == 0 || b == -1 && a == math.MinInt64 || a%b != 0 {
		return 0, false
	}
	return a / b, true
}

func calculateDouble(a float64, op byte, b float64) float64 {
	switch op {
	case '+':
		return a + b
	case '-':
		return a - b
	case '*':
		return a * b
	case '/':
		return a / b
	default:
		return math.Mod(a, b)
	}
}

type strictComparison struct {
	left  strictValue
	op    Op
	right strictValue
}

func (e *strictComparison) String() string { return fmt.Sprintf("(%s %s %s)", e.op, e.left, e.right) }
func (e *strictComparison) Properties() []string {
	return append(e.left.properties(), e.right.properties()...)
}

// Eval compares as numbers if a side is one for certain, and then a text that is none is unknown.
func (e *strictComparison) Eval(get Lookup) Outcome {
	a, b := e.left.eval(get), e.right.eval(get)
	if a.null() || b.null() {
		return Unknown
	}
	if a.kind == numberResult || b.kind == numberResult {
		x, xok := a.asNumber()
		y, yok := b.asNumber()
		if !xok || !yok {
			return Unknown
		}
		return truth(e.op.Holds(compareNumber(x, y)))
	}
	return truth(e.op.Holds(compareStrict(a, b)))
}

type strictNull struct{ value strictValue }

func (e *strictNull) String() string          { return fmt.Sprintf("(null %s)", e.value) }
func (e *strictNull) Properties() []string    { return e.value.properties() }
func (e *strictNull) Eval(get Lookup) Outcome { return truth(e.value.eval(get).null()) }

type strictBool struct {
	property string
	as       bool
}

func (e *strictBool) String() string       { return fmt.Sprintf("(spells %s %t)", e.property, e.as) }
func (e *strictBool) Properties() []string { return []string{e.property} }
func (e *strictBool) Eval(get Lookup) Outcome {
	b, _ := get(e.property)
	switch {
	case len(b) == 4 && bytes.EqualFold(b, []byte("true")):
		return truth(e.as)
	case len(b) == 5 && bytes.EqualFold(b, []byte("false")):
		return truth(!e.as)
	}
	return Unknown
}

type strictIn struct {
	property string
	numbers  []*strictConst
}

func (e *strictIn) String() string       { return fmt.Sprintf("(in %s %v)", e.property, e.numbers) }
func (e *strictIn) Properties() []string { return []string{e.property} }
func (e *strictIn) Eval(get Lookup) Outcome {
	b, ok := get(e.property)
	if !ok {
		return Unknown
	}
	n, ok := parseStrict(b)
	if !ok {
		return False
	}
	for _, m := range e.numbers {
		if compareNumber(n, m.number) == 0 {
			return True
		}
	}
	return False
}

type strictLike struct {
	property string
	pattern  pattern
}

func (e *strictLike) String() string       { return fmt.Sprintf("(like %s %s)", e.property, e.pattern) }
func (e *strictLike) Properties() []string { return []string{e.property} }
func (e *strictLike) Eval(get Lookup) Outcome {
	b, ok := get(e.property)
	if !ok {
		return Unknown
	}
	return truth(e.pattern.match(javaText(b)))
}

// pattern is what follows LIKE: a rune for itself, anyRune or anyText.
type pattern []rune

const (
	anyRune rune = -1 // _
	anyText rune = -2 // %
)

func newPattern(text, escape string) (p pattern, err error) {
	escaped := false
	for _, r := range text {
		switch {
		case escaped:
			if string(r) != escape && r != '%' && r != '_' {
				return nil, fmt.Errorf("%s has to be followed by %%, _ or itself", escape)
			}
			p, escaped = append(p, r), false
		case string(r) == escape:
			escaped = true
		case r == '%':
			if len(p) == 0 || p[len(p)-1] != anyText {
				p = append(p, anyText)
			}
		case r == '_':
			p = append(p, anyRune)
		default:
			p = append(p, r)
		}
	}
	if escaped {
		return nil, fmt.Errorf("the pattern ends with %s", escape)
	}
	return p, nil
}

// String writes p so that different patterns differ.
func (p pattern) String() string { return fmt.Sprint([]rune(p)) }

// match goes back to the last % only, which is enough.
func (p pattern) match(text []byte) bool {
	at, back, retry := 0, -1, 0 // back is the place behind the last %, retry where its text would end
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		switch {
		case at < len(p) && p[at] == anyText:
			at++
			back, retry = at, i
		case at < len(p) && (p[at] == anyRune || p[at] == r):
			at, i = at+1, i+n
		case back >= 0:
			_, n := utf8.DecodeRune(text[retry:])
			retry += n
			at, i = back, retry
		default:
			return false
		}
	}
	for at < len(p) && p[at] == anyText {
		at++
	}
	return at == len(p)
}
