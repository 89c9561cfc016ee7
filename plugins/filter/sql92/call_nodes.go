package sql92

import (
	"math"
	"math/bits"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/plugins/internal/sqltree"
)

func floatBits(n int64) int64 { return int64(math.Float64bits(float64(n))) }

// failing notes which messages have failed, and returns those that raise or have.
func (b *block) failing(v *filter.Values, need uint64) (e uint64) {
	b.failed |= v.Failed & need
	b.poison |= v.Poison & need
	return (v.Raise | v.Failed) & need
}

// callTestNode is a call of a boolean function.
type callTestNode int

func (n callTestNode) eval(b *block, need uint64) (t, u, e uint64) {
	v := &b.value(int(n), need).values
	e = b.failing(v, need)
	return v.True & need, v.Unknown & need &^ e, e
}

// callValueNode is true where a call has a value.
type callValueNode int

func (n callValueNode) eval(b *block, need uint64) (t, u, e uint64) {
	v := &b.value(int(n), need).values
	e = b.failing(v, need)
	u = v.Unknown & need &^ e
	return need &^ (u | e), u, e
}

// callCompareNode compares two values; see sqltree.CallCompare.
type callCompareNode struct {
	left, right valueSource
	op          sqltree.Op
	lenient     bool
}

// valueSource is a side of it: a call, a column, or a number.
type valueSource struct {
	call     int // -1 for none
	column   int // -1 for none
	convert  bool
	double   bool
	constant int64
}

func (v *vectorizer) value(x *sqltree.Value, kind filter.Kind) valueSource {
	s := valueSource{call: -1, column: -1, constant: x.Ordered, double: kind == filter.Double}
	switch {
	case x.Call != nil:
		s.call = v.call(x.Call)
		s.convert = kind == filter.Double && x.Call.Function.Result() == filter.Int64Value
	case x.Property != "":
		s.column = v.column(x.Property, kind)
	}
	return s
}

func (v *vectorizer) callCompare(x *sqltree.CallCompare) node {
	return &callCompareNode{v.value(&x.Left, x.Kind), v.value(&x.Right, x.Kind), x.Op, x.Lenient}
}

// read returns which messages in need have a value, are missing it, and raise, and the values as they are ordered.
func (s *valueSource) read(b *block, need uint64, lenient bool, numbers *[filter.ColumnsMax]int64) (missing, e uint64) {
	switch {
	case s.call >= 0:
		v := &b.value(s.call, need).values
		e = b.failing(v, need)
		missing = v.Unknown & need &^ e
		for w := need &^ (missing | e); w != 0; w &= w - 1 {
			i := bits.TrailingZeros64(w) & 63
			numbers[i] = s.ordered(v.Numbers[i])
		}
	case s.column >= 0:
		at := b.at[s.column]
		missing = need &^ b.columns.Present(at)
		ok, read := b.columns.Numbers(at, need&^missing)
		e = need &^ missing &^ ok
		if lenient {
			missing, e = missing|e, 0
		}
		*numbers = *read
	default:
		for i := range numbers {
			numbers[i] = s.constant
		}
	}
	return missing, e
}

// ordered turns the value of a call into a number that compares as integers do.
func (s *valueSource) ordered(n int64) int64 {
	switch {
	case s.convert:
		return filter.OrderDouble(float64(n))
	case s.double:
		return filter.OrderDouble(math.Float64frombits(uint64(n)))
	}
	return n
}

func (n *callCompareNode) eval(b *block, need uint64) (t, u, e uint64) {
	var left, right [filter.ColumnsMax]int64
	missingL, e := n.left.read(b, need, n.lenient, &left)
	need &^= e
	if n.op != sqltree.EQ { // the right side isn't looked at
		u = missingL
		need &^= missingL
	}
	missingR, eR := n.right.read(b, need, n.lenient, &right)
	e |= eR
	need &^= eR
	missingL &= need
	for w := need &^ (missingL | missingR); w != 0; w &= w - 1 {
		i := bits.TrailingZeros64(w) & 63
		t |= bit(n.op.Holds(compare(left[i], right[i]))) << i
	}
	switch {
	case n.op != sqltree.EQ:
		u |= missingR
	case n.lenient:
		u |= missingL | missingR
	default:
		t |= missingL & missingR
		u |= missingL &^ missingR
	}
	return t, u, e
}
