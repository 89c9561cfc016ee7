package sqltree

import (
	"math"
	"slices"
	"strings"

	"github.com/weirmq/weir/core/filter"
)

// operand is a piece of RocketMQ's language with its static kind. What an operand is at run time and what it may stand
// for while checking differ: -5 is a constant, but no literal.
type operand struct {
	kind     kind
	value    value  // of a constant
	property string // of a property
	cond     Cond   // of a condition, and of a negated one
	call     *Call  // of a called
	at       int    // where it begins in the text
}

type kind uint8

const (
	literal    kind = iota // a number or a text
	boolean                // TRUE, FALSE, NULL: literals and conditions
	property               // may become a condition
	negated                // -x: neither literal nor condition; either a constant or cond is set
	conditions             // comparisons, NOT, AND, OR and the like
	called                 // a number that a function returns
)

// value is a constant: null when typ is null.
type value struct {
	typ  valueType
	bool bool
	text string
	int  int64   // of Int32 and Int64
	f    float64 // of Double
}

type valueType uint8

const (
	null valueType = iota
	boolType
	textType
	int32Type
	int64Type
	doubleType
)

func (v value) numeric() bool { return v.typ >= int32Type }

func (v value) number() Number {
	switch v.typ {
	case int32Type:
		return Number{filter.Int32, v.int}
	case int64Type:
		return Number{filter.Int64, v.int}
	}
	return Number{filter.Double, filter.OrderDouble(v.f)}
}

func (v value) double() float64 {
	if v.typ == doubleType {
		return v.f
	}
	return float64(v.int)
}

// outcome is a constant where a condition is evaluated.
func (v value) outcome() Outcome {
	if v.typ == null {
		return Unknown
	}
	return truth(v.typ == boolType && v.bool)
}

func (o *operand) isLiteral() bool { return o.kind == literal || o.kind == boolean }

// constant says whether o is the same for all messages, and how.
func (o *operand) constant() (v value, ok bool) {
	return o.value, o.isLiteral() || o.kind == negated && o.cond == nil
}

// condition turns o into a condition, if its kind allows that.
func (o *operand) condition() (Cond, bool) {
	switch o.kind {
	case conditions:
		return o.cond, true
	case boolean:
		return constant(o.value.outcome()), true
	case property:
		return ifPresent(o.property, False, Unknown), true
	}
	return nil, false
}

func conditionOf(c Cond, at int) operand { return operand{kind: conditions, cond: c, at: at} }

// negate is the unary minus. Only a number has a negative; of everything else it is null, but a condition is evaluated
// all the same and may raise.
func (o operand) negate() operand {
	n := operand{kind: negated, at: o.at}
	switch {
	case o.cond != nil:
		n.cond = rename(o.cond, Unknown, Unknown, Unknown)
		if c, ok := n.cond.(*Const); ok && c.Outcome == Unknown {
			n.cond = nil
		}
	case o.kind != property && o.value.typ == int32Type, o.kind != property && o.value.typ == int64Type:
		n.value = o.value
		n.value.int = -n.value.int
	case o.kind != property && o.value.typ == doubleType:
		n.value = o.value
		n.value.f = -n.value.f
	}
	return n
}

// compareConstants compares two constants that aren't null and differ in type or value: Java's __compare. comparable is
// false when it returns -1 for not knowing how, and raises when it throws.
func compareConstants(l, r value) (c int, comparable, raises bool) {
	switch {
	case l.typ == r.typ && l.typ == textType:
		return strings.Compare(l.text, r.text), true, false
	case l.typ == r.typ && l.typ == boolType:
		return btoi(l.bool) - btoi(r.bool), true, false
	case l.numeric() && r.numeric():
		return compareNumbers(l, r), true, false
	case l.typ == boolType:
		return 0, false, r.typ == textType // casts the boolean to a text
	case l.typ == textType && r.typ == boolType:
		return btoi(strings.EqualFold(l.text, "true")) - btoi(r.bool), true, false
	case l.typ == textType:
		n, ok := readAs(l.text, r)
		return compareNumbers(n, r), ok, !ok
	case r.typ == textType:
		n, ok := readAs(r.text, l)
		return compareNumbers(l, n), ok, !ok
	}
	return 0, false, false
}

// readAs reads a text as a number of like's type.
func readAs(text string, like value) (v value, ok bool) {
	v.typ = like.typ
	switch like.typ {
	case int32Type:
		var n int32
		n, ok = filter.ParseInt32([]byte(text))
		v.int = int64(n)
	case int64Type:
		v.int, ok = filter.ParseInt64([]byte(text))
	default:
		v.f, ok = filter.ParseDouble([]byte(text))
	}
	return v, ok
}

func compareNumbers(l, r value) int {
	a, b := l.int, r.int
	if l.typ == doubleType || r.typ == doubleType {
		a, b = filter.OrderDouble(l.double()), filter.OrderDouble(r.double())
	}
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// equal is l = r. The rule for missing sides isn't symmetric: both null is true, a null left side unknown, a null right
// side false.
func equal(l, r *operand) Cond {
	a, constA := l.constant()
	b, constB := r.constant()
	switch {
	case constA && constB:
		return constant(equalConstants(a, b))
	case l.cond != nil && r.cond != nil:
		return equalConditions(l.cond, r.cond)
	case l.kind == property && r.kind == property:
		return &EqualProperties{l.property, r.property}
	case l.kind == property && constB:
		return propertyEquals(l.property, b)
	case l.kind == property:
		return equalConditions(&IsTrue{l.property}, r.cond)
	case constA && r.kind == property:
		return equalsProperty(a, r.property)
	case r.kind == property: // a condition on the left can't be compared with a text
		return choose(r.property, rename(l.cond, Raise, Raise, Unknown), rename(l.cond, False, False, True))
	case constA:
		return rename(r.cond, equalConstants(a, value{typ: boolType, bool: true}), equalConstants(a, value{typ: boolType}), equalConstants(a, value{}))
	default:
		return rename(l.cond, equalConstants(value{typ: boolType, bool: true}, b), equalConstants(value{typ: boolType}, b), equalConstants(value{}, b))
	}
}

func equalConditions(l, r Cond) Cond {
	lc, lok := l.(*Const)
	rc, rok := r.(*Const)
	switch {
	case lok && lc.Outcome == Raise:
		return l
	case lok:
		return rename(r, equalOutcomes(lc.Outcome, True), equalOutcomes(lc.Outcome, False), equalOutcomes(lc.Outcome, Unknown))
	case rok && rc.Outcome == Raise:
		return r
	case rok:
		return rename(l, equalOutcomes(True, rc.Outcome), equalOutcomes(False, rc.Outcome), equalOutcomes(Unknown, rc.Outcome))
	}
	return &Equal{l, r}
}

// equalOutcomes is = between conditions; see Equal.
func equalOutcomes(l, r Outcome) Outcome {
	switch {
	case l == Raise || r == Raise:
		return Raise
	case l == r:
		return True
	case l == Unknown:
		return Unknown
	}
	return False
}

func equalConstants(l, r value) Outcome {
	switch {
	case l.typ == null && r.typ == null:
		return True
	case l.typ == null:
		return Unknown
	case r.typ == null:
		return False
	}
	c, comparable, raises := compareConstants(l, r)
	if raises {
		return Raise
	}
	return truth(comparable && c == 0)
}

// propertyEquals is property = constant.
func propertyEquals(name string, v value) Cond {
	switch v.typ {
	case null:
		return ifPresent(name, False, True)
	case boolType:
		if v.bool {
			return &IsTrue{name}
		}
		return not(&IsTrue{name})
	case textType:
		if v.text == "" {
			return ifPresent(name, False, Unknown) // a property is never empty
		}
		return &EqualText{name, v.text}
	}
	return &Compare{name, EQ, v.number()}
}

// equalsProperty is constant = property.
func equalsProperty(v value, name string) Cond {
	switch v.typ {
	case null:
		return ifPresent(name, Unknown, True)
	case boolType:
		return ifPresent(name, Raise, False)
	}
	return rename(propertyEquals(name, v), True, False, False)
}

// isNull is x IS NULL.
func isNull(o *operand) Cond {
	if v, ok := o.constant(); ok {
		return constant(truth(v.typ == null))
	}
	switch o.kind {
	case property:
		return ifPresent(o.property, False, True)
	case called:
		return rename(&CallValue{o.call}, False, False, True)
	}
	return rename(o.cond, False, False, True)
}

// order is one of < <= > >=. The operands are properties, numbers and negations. The left side being null decides before
// the right side is evaluated.
func order(l *operand, op Op, r *operand) Cond {
	a, constA := l.constant()
	b, constB := r.constant()
	switch {
	case constA && a.typ == null:
		return constant(Unknown)
	case l.cond != nil: // null, or it raises
		return l.cond
	case l.kind == property && r.cond != nil:
		return choose(l.property, r.cond, constant(Unknown))
	case r.cond != nil:
		return r.cond
	case constB && b.typ == null:
		return constant(Unknown)
	case constA && constB:
		return constant(truth(op.Holds(compareNumbers(a, b))))
	case constA:
		return &Compare{r.property, op.turned(), a.number()}
	case constB:
		return &Compare{l.property, op, b.number()}
	}
	return &CompareProperties{l.property, op, r.property}
}

func in(name string, members []string) Cond {
	members = slices.Clone(members)
	slices.Sort(members)
	members = slices.Compact(members)
	if members[0] == "" {
		members = members[1:]
	}
	switch len(members) {
	case 0:
		return ifPresent(name, False, Unknown)
	case 1:
		return &EqualText{name, members[0]}
	}
	return &In{name, members}
}

// search is CONTAINS, STARTSWITH or ENDSWITH, and with negative their NOT form. Both are false for what has no text, and
// for an empty text to look for.
func search(l *operand, where Where, text string, negative bool) Cond {
	t, f := True, False
	if negative {
		t, f = False, True
	}
	if l.kind == called { // a number is no text
		return rename(&CallValue{l.call}, False, False, False)
	}
	if v, ok := l.constant(); ok {
		if v.typ != textType || text == "" {
			return constant(False)
		}
		if found(v.text, where, text) {
			return constant(t)
		}
		return constant(f)
	}
	if l.cond != nil {
		return rename(l.cond, False, False, False)
	}
	if text == "" {
		return constant(False)
	}
	return rename(&Search{l.property, where, text}, t, f, False)
}

func found(s string, where Where, text string) bool {
	switch where {
	case AtStart:
		return strings.HasPrefix(s, text)
	case AtEnd:
		return strings.HasSuffix(s, text)
	}
	return strings.Contains(s, text)
}

// floatLiteral checks a literal as RocketMQ does, for which the smallest double is the smallest that is positive.
func floatLiteral(f float64) bool {
	return f <= math.MaxFloat64 && f >= math.SmallestNonzeroFloat64
}
