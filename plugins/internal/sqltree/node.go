package sqltree

import "github.com/weirmq/weir/core/filter"

// Cond is a node of a tree: one of the types below, by pointer. A tree is immutable.
type Cond interface{ cond() }

// Const is a condition that doesn't depend on the message.
type Const struct{ Outcome Outcome }

// Map evaluates X and renames its outcome; a raise stays one. NOT and IS NULL are Maps.
type Map struct {
	X                    Cond
	True, False, Unknown Outcome
}

// And evaluates its members, at least two, until one is false or raises; it is unknown if one was.
type And struct{ List []Cond }

// Or evaluates its members, at least two, until one is true or raises; it is unknown if one was.
type Or struct{ List []Cond }

// If evaluates Present when the message has the property, and Missing otherwise.
type If struct {
	Property         string
	Present, Missing Cond
}

// Equal compares two conditions, both of which are always evaluated, Left first. Both unknown is true, only Left unknown
// is unknown, only Right unknown is false.
type Equal struct{ Left, Right Cond }

// Compare compares a property with a number and is unknown without the property. It raises when the property is no
// number of Number's kind.
type Compare struct {
	Property string
	Op       Op
	Number   Number
}

// EqualText compares a property with a text and is unknown without the property.
type EqualText struct{ Property, Text string }

// EqualProperties compares two properties as texts. Both missing is true, only Left missing is unknown, only Right missing
// is false.
type EqualProperties struct{ Left, Right string }

// CompareProperties compares two properties as doubles. It is unknown when one is missing, and raises when both are there
// and one is no double.
type CompareProperties struct {
	Left  string
	Op    Op
	Right string
}

// In asks whether a property is one of the members, which are sorted and distinct. It is unknown without the property.
type In struct {
	Property string
	Members  []string
}

// IsTrue asks whether a property spells true, in any case of letters. It is unknown without the property.
type IsTrue struct{ Property string }

// Search looks for a text, which isn't empty, in a property. It is unknown without the property.
type Search struct {
	Property string
	Where    Where
	Text     string
}

// Test is a condition of the strict dialect that has no node of its own.
type Test struct{ Expr StrictExpr }

func (*Const) cond()             {}
func (*Map) cond()               {}
func (*And) cond()               {}
func (*Or) cond()                {}
func (*If) cond()                {}
func (*Equal) cond()             {}
func (*Compare) cond()           {}
func (*EqualText) cond()         {}
func (*EqualProperties) cond()   {}
func (*CompareProperties) cond() {}
func (*In) cond()                {}
func (*IsTrue) cond()            {}
func (*Search) cond()            {}
func (*Test) cond()              {}

// Op is a comparison.
type Op uint8

// The comparisons.
const (
	EQ Op = iota
	LT
	LE
	GT
	GE
)

var opNames = [...]string{"=", "<", "<=", ">", ">="}

// String returns the operator as it is written.
func (o Op) String() string { return opNames[o] }

// Holds says whether the operator holds for a comparison's result, negative, zero or positive.
func (o Op) Holds(c int) bool {
	switch o {
	case EQ:
		return c == 0
	case LT:
		return c < 0
	case LE:
		return c <= 0
	case GT:
		return c > 0
	default:
		return c >= 0
	}
}

// turned is the operator for exchanged sides.
func (o Op) turned() Op {
	switch o {
	case LT:
		return GT
	case LE:
		return GE
	case GT:
		return LT
	case GE:
		return LE
	}
	return o
}

// Where is the place that a Search looks in.
type Where uint8

// The places.
const (
	Anywhere Where = iota
	AtStart
	AtEnd
)

var whereNames = [...]string{"contains", "startswith", "endswith"}

// String returns the operator's name.
func (w Where) String() string { return whereNames[w] }

// Number is a number together with how a property beside it is read.
type Number struct {
	Kind filter.Kind // Int32, Int64 or Double
	// Ordered is the number itself for integers, and filter.OrderDouble's result for doubles: within a kind, numbers
	// compare as these do.
	Ordered int64
}
