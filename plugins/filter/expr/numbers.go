package expr

import (
	"errors"
	"math"

	"github.com/expr-lang/expr/ast"

	"github.com/weirmq/weir/core/message"
)

// number is how a part computes a number. A whole one has both getters, another only float; neither has none.
type number struct {
	int   intGetter
	float floatGetter
}

func whole(get intGetter) number {
	return number{int: get, float: func(e *eval) (float64, outcome) {
		n, o := get(e)
		return float64(n), o
	}}
}

// number returns how to compute a node whose value is a number or nil by its type: literals, num, int, the message's own
// numbers, len of a text, and what is computed of these.
func (c *compilation) number(n ast.Node) number {
	if value, ok := literal(n); ok {
		switch v := value.(type) {
		case int:
			return whole(func(*eval) (int, outcome) { return v, isTrue })
		case float64:
			return number{float: func(*eval) (float64, outcome) { return v, isTrue }}
		}
		return number{}
	}
	switch n := n.(type) {
	case *ast.IdentifierNode:
		if get, ok := recordInts[n.Value]; ok && !c.isLet(n.Value) {
			return whole(func(e *eval) (int, outcome) { return get(e.rec), isTrue })
		}
	case *ast.CallNode:
		return c.propertyNumber(n)
	case *ast.BuiltinNode:
		if n.Name == "len" && len(n.Arguments) == 1 {
			return c.lengthOf(n.Arguments[0])
		}
	case *ast.UnaryNode:
		if operand := c.number(n.Node); n.Operator == "-" {
			return negated(operand)
		}
	case *ast.BinaryNode:
		if a, b := c.number(n.Left), c.number(n.Right); a.float != nil && b.float != nil {
			return computed(binaries[n.Operator], a, b)
		}
	}
	return number{}
}

// recordInts are the whole numbers that every message has.
var recordInts = map[string]func(message.Record) int{
	"born":    func(r message.Record) int { return int(r.BornTimestamp()) },
	"stored":  func(r message.Record) int { return int(r.StoreTimestamp()) },
	"queue":   func(r message.Record) int { return int(r.QueueID()) },
	"offset":  func(r message.Record) int { return int(r.QueueOffset()) },
	"retries": func(r message.Record) int { return int(r.ReconsumeTimes()) },
	"flag":    func(r message.Record) int { return int(r.Flag()) },
}

func (c *compilation) propertyNumber(n *ast.CallNode) number {
	function, name, ok := accessor(n)
	switch {
	case ok && function == accessNum:
		slot := c.layout.slot(name)
		return number{float: func(e *eval) (float64, outcome) {
			s := e.slot(slot)
			switch {
			case s.raw == nil:
				return 0, isUnknown
			case !s.readFloat():
				return 0, e.fail(errNum)
			}
			return s.float, isTrue
		}}
	case ok && function == accessInt:
		slot := c.layout.slot(name)
		return whole(func(e *eval) (int, outcome) {
			s := e.slot(slot)
			switch {
			case s.raw == nil:
				return 0, isUnknown
			case !s.readInt():
				return 0, e.fail(errInt)
			}
			return s.whole, isTrue
		})
	}
	return number{}
}

// lengthOf is len of a text, in bytes, as expr counts.
func (c *compilation) lengthOf(n ast.Node) number {
	get := c.texts(n)
	if get == nil {
		return number{}
	}
	return whole(func(e *eval) (int, outcome) {
		t, o := get(e)
		return len(t), o
	})
}

func negated(a number) number {
	switch {
	case a.int != nil:
		return whole(func(e *eval) (int, outcome) {
			n, o := a.int(e)
			return -n, o
		})
	case a.float != nil:
		return number{float: func(e *eval) (float64, outcome) {
			n, o := a.float(e)
			return -n, o
		}}
	}
	return number{}
}

var errZero = errors.New("integer divide by zero")

// computed is the result of an operator: whole for whole operands, but for / and **.
func computed(operator string, a, b number) number {
	wholes := a.int != nil && b.int != nil
	switch operator {
	case "+":
		if wholes {
			return whole(both(a.int, b.int, func(_ *eval, x, y int) (int, outcome) { return x + y, isTrue }))
		}
		return number{float: both(a.float, b.float, func(_ *eval, x, y float64) (float64, outcome) { return x + y, isTrue })}
	case "-":
		if wholes {
			return whole(both(a.int, b.int, func(_ *eval, x, y int) (int, outcome) { return x - y, isTrue }))
		}
		return number{float: both(a.float, b.float, func(_ *eval, x, y float64) (float64, outcome) { return x - y, isTrue })}
	case "*":
		if wholes {
			return whole(both(a.int, b.int, func(_ *eval, x, y int) (int, outcome) { return x * y, isTrue }))
		}
		return number{float: both(a.float, b.float, func(_ *eval, x, y float64) (float64, outcome) { return x * y, isTrue })}
	case "/":
		return number{float: both(a.float, b.float, func(_ *eval, x, y float64) (float64, outcome) { return x / y, isTrue })}
	case "**":
		return number{float: both(a.float, b.float, func(_ *eval, x, y float64) (float64, outcome) { return math.Pow(x, y), isTrue })}
	case "%":
		if wholes {
			return whole(both(a.int, b.int, func(e *eval, x, y int) (int, outcome) {
				if y == 0 {
					return 0, e.fail(errZero)
				}
				return x % y, isTrue
			}))
		}
	}
	return number{}
}

// both evaluates two operands, both of them whatever the first one is, and f if they are there.
func both[N int | float64](a, b func(*eval) (N, outcome), f func(e *eval, x, y N) (N, outcome)) func(*eval) (N, outcome) {
	return func(e *eval) (N, outcome) {
		x, o := a(e)
		if o == isRaise {
			return 0, o
		}
		y, p := b(e)
		if p != isTrue {
			return 0, p
		}
		if o != isTrue {
			return 0, o
		}
		return f(e, x, y)
	}
}

// compareNumbers returns the part for a comparison of two numbers.
func (c *compilation) compareNumbers(operator string, left, right ast.Node) part {
	a, b := c.number(left), c.number(right)
	switch {
	case a.float == nil || b.float == nil:
		return nil
	case a.int != nil && b.int != nil:
		if v, ok := literal(right); ok {
			return compareNumber(a.int, operator, v.(int))
		}
		if v, ok := literal(left); ok {
			return compareNumber(b.int, flipped[operator], v.(int))
		}
		return compareTwo(a.int, b.int, operator)
	}
	if v, ok := literal(right); ok {
		return compareNumber(a.float, operator, floatOf(v))
	}
	if v, ok := literal(left); ok {
		return compareNumber(b.float, flipped[operator], floatOf(v))
	}
	return compareTwo(a.float, b.float, operator)
}

func floatOf(literal any) float64 {
	if n, ok := literal.(int); ok {
		return float64(n)
	}
	return literal.(float64)
}

// relation returns what an operator says of two values.
func relation[N int | float64 | string](operator string) func(a, b N) bool {
	switch operator {
	case "==":
		return func(a, b N) bool { return a == b }
	case "!=":
		return func(a, b N) bool { return a != b }
	case "<":
		return func(a, b N) bool { return a < b }
	case "<=":
		return func(a, b N) bool { return a <= b }
	case ">":
		return func(a, b N) bool { return a > b }
	}
	return func(a, b N) bool { return a >= b }
}

// missingOutcome is what a comparison with a value gives when the other side is nil.
func missingOutcome(operator string) outcome {
	switch operator {
	case "==":
		return isFalse
	case "!=":
		return isTrue
	}
	return isUnknown
}

// compareNumber compares a number with a literal.
func compareNumber[N int | float64](get func(*eval) (N, outcome), operator string, with N) part {
	holds, missing := relation[N](operator), missingOutcome(operator)
	return func(e *eval) outcome {
		n, o := get(e)
		switch o {
		case isTrue:
			return outcomeOf(holds(n, with))
		case isUnknown:
			return missing
		}
		return o
	}
}

// compareTwo compares two numbers of the message.
func compareTwo[N int | float64](a, b func(*eval) (N, outcome), operator string) part {
	holds, missing := relation[N](operator), missingOutcome(operator)
	return func(e *eval) outcome {
		x, o := a(e)
		if o == isRaise {
			return o
		}
		y, p := b(e)
		switch {
		case p == isRaise:
			return p
		case o == isUnknown && p == isUnknown && operator == "==":
			return isTrue // nil equals nil
		case o == isUnknown && p == isUnknown && operator == "!=":
			return isFalse
		case o == isUnknown || p == isUnknown:
			return missing
		}
		return outcomeOf(holds(x, y))
	}
}
