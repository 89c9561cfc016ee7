package expr

import (
	"bytes"
	"regexp"
	"slices"

	"github.com/expr-lang/expr/ast"

	"github.com/weirmq/weir/core/message"
)

// What most filters are made of is compiled to parts: something of the message compared with something that stands in
// the expression, and these joined by and, or and not. They mean exactly what expr's machine would make of them.

// Getters read one thing of the message: isTrue when it is there, isUnknown when it isn't, isRaise when it can't be read.
type (
	textGetter  func(*eval) ([]byte, outcome)
	floatGetter func(*eval) (float64, outcome)
	intGetter   func(*eval) (int, outcome)
)

// texts returns a getter for str("a"), tags, topic and body.
func (c *compilation) texts(n ast.Node) textGetter {
	if function, name, ok := accessor(n); ok && function == accessStr {
		return propertyText(c.layout.slot(name))
	}
	if id, ok := n.(*ast.IdentifierNode); ok {
		switch id.Value {
		case "tags":
			return propertyText(c.layout.slot(message.PropTags))
		case "topic":
			return func(e *eval) ([]byte, outcome) { return e.rec.Topic(), isTrue }
		case "body":
			return func(e *eval) ([]byte, outcome) {
				b, err := e.bodyBytes()
				if err != nil {
					return nil, e.fail(err)
				}
				return b, isTrue
			}
		}
	}
	return nil
}

func propertyText(slot int) textGetter {
	return func(e *eval) ([]byte, outcome) {
		s := e.slot(slot)
		if s.raw == nil {
			return nil, isUnknown
		}
		return s.raw, isTrue
	}
}

// flipped are the operators that say the same with the sides exchanged.
var flipped = map[string]string{"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

// comparison returns the part for a comparison of two numbers, or of a text or JSON value with a literal; nil for any other.
func (c *compilation) comparison(operator string, left, right ast.Node) part {
	if p := c.compare(operator, left, right); p != nil {
		return p
	}
	if p := c.compare(flipped[operator], right, left); p != nil {
		return p
	}
	return c.compareNumbers(operator, left, right)
}

func (c *compilation) compare(operator string, n, with ast.Node) part {
	if _, ok := with.(*ast.NilNode); ok && (operator == "==" || operator == "!=") {
		return c.isNil(operator == "==", n)
	}
	value, ok := literal(with)
	if !ok {
		return nil
	}
	if i, ok := c.jsonPlace(n); ok {
		return compareJSON(i, operator, value)
	}
	if text, ok := value.(string); ok {
		if get := c.texts(n); get != nil {
			return compareText(get, operator, text)
		}
	}
	return nil
}

// isNil compares something of the message with nil.
func (c *compilation) isNil(want bool, n ast.Node) part {
	var found func(*eval) outcome
	if get := c.texts(n); get != nil {
		found = func(e *eval) outcome { _, o := get(e); return o }
	} else if num := c.number(n); num.float != nil {
		found = func(e *eval) outcome { _, o := num.float(e); return o }
	} else if i, ok := c.jsonPlace(n); ok {
		found = func(e *eval) outcome { return jsonPresence(e, i) }
	} else {
		return nil
	}
	return func(e *eval) outcome {
		o := found(e)
		if o == isRaise {
			return o
		}
		return outcomeOf((o == isUnknown) == want)
	}
}

func compareText(get textGetter, operator string, with string) part {
	switch operator {
	case "==":
		return textPart(get, isFalse, func(t []byte) bool { return string(t) == with })
	case "!=":
		return textPart(get, isTrue, func(t []byte) bool { return string(t) != with })
	case "<":
		return textPart(get, isUnknown, func(t []byte) bool { return string(t) < with })
	case "<=":
		return textPart(get, isUnknown, func(t []byte) bool { return string(t) <= with })
	case ">":
		return textPart(get, isUnknown, func(t []byte) bool { return string(t) > with })
	default:
		return textPart(get, isUnknown, func(t []byte) bool { return string(t) >= with })
	}
}

// textPart says whether a text holds, and missing when there is none.
func textPart(get textGetter, missing outcome, holds func([]byte) bool) part {
	return func(e *eval) outcome {
		t, o := get(e)
		switch o {
		case isTrue:
			return outcomeOf(holds(t))
		case isUnknown:
			return missing
		}
		return o
	}
}

// search returns the part for contains, startsWith and endsWith with a text in quotes.
func (c *compilation) search(operator string, left, right ast.Node) part {
	text, ok := right.(*ast.StringNode)
	get := c.texts(left)
	if !ok || get == nil {
		return nil
	}
	want := []byte(text.Value)
	var holds func(t []byte) bool
	switch operator {
	case "contains":
		holds = func(t []byte) bool { return bytes.Contains(t, want) }
	case "startsWith":
		holds = func(t []byte) bool { return len(t) >= len(want) && string(t[:len(want)]) == text.Value }
	default:
		holds = func(t []byte) bool { return len(t) >= len(want) && string(t[len(t)-len(want):]) == text.Value }
	}
	return paid(get, 8, holds)
}

// paid is a textPart that pays for looking at the text: a unit for each so many bytes.
func paid(get textGetter, bytes int, holds func([]byte) bool) part {
	return func(e *eval) outcome {
		t, o := get(e)
		switch o {
		case isUnknown:
			return isFalse
		case isRaise:
			return o
		}
		if err := e.spend(len(t) / bytes); err != nil {
			return e.fail(err)
		}
		return outcomeOf(holds(t))
	}
}

// matching returns the part for matches.
func (c *compilation) matching(left ast.Node, re *regexp.Regexp, cost int) part {
	get := c.texts(left)
	if get == nil {
		return nil
	}
	return func(e *eval) outcome {
		t, o := get(e)
		switch o {
		case isUnknown:
			return isFalse
		case isRaise:
			return o
		}
		if err := e.spend(matchWork(len(t), cost)); err != nil {
			return e.fail(err)
		}
		return outcomeOf(re.Match(t))
	}
}

// membership returns the part for `in` a list of literals or a range, and of a text in keys.
func (c *compilation) membership(left, right ast.Node) part {
	if id, ok := right.(*ast.IdentifierNode); ok && id.Value == "keys" {
		return c.hasKey(left)
	}
	if low, high, ok := rangeOf(right); ok {
		return c.inRange(left, low, high)
	}
	values, ok := literals(right)
	if !ok {
		return nil
	}
	if get := c.texts(left); get != nil {
		set, longest := map[string]bool{}, 0
		for _, v := range values {
			if s, ok := v.(string); ok {
				set[s], longest = true, max(longest, len(s))
			}
		}
		return textPart(get, isFalse, func(t []byte) bool { return len(t) <= longest && set[string(t)] })
	}
	var numbers []float64
	for _, v := range values {
		switch v := v.(type) {
		case float64:
			numbers = append(numbers, v)
		case int:
			if v > 1<<53 || v < -1<<53 {
				return nil
			}
			numbers = append(numbers, float64(v))
		}
	}
	switch num := c.number(left); {
	case num.int != nil:
		return numberPart(num.int, func(n int) bool { return slices.Contains(numbers, float64(n)) })
	case num.float != nil:
		return numberPart(num.float, func(n float64) bool { return slices.Contains(numbers, n) })
	}
	return nil
}

// numberPart says whether a number holds; a missing one doesn't.
func numberPart[N int | float64](get func(*eval) (N, outcome), holds func(N) bool) part {
	return func(e *eval) outcome {
		n, o := get(e)
		switch o {
		case isTrue:
			return outcomeOf(holds(n))
		case isUnknown:
			return isFalse
		}
		return o
	}
}

func (c *compilation) inRange(left ast.Node, low, high int) part {
	switch num := c.number(left); {
	case num.int != nil:
		return numberPart(num.int, func(n int) bool { return low <= n && n <= high })
	case num.float != nil:
		return numberPart(num.float, func(n float64) bool { return float64(low) <= n && n <= float64(high) && n == float64(int(n)) })
	}
	return nil
}

// hasKey says whether a text is one of the keys.
func (c *compilation) hasKey(left ast.Node) part {
	text, ok := left.(*ast.StringNode)
	if !ok {
		return nil
	}
	get, blank := propertyText(c.layout.slot(message.PropKeys)), []byte{' '}
	return paid(get, 8, func(keys []byte) bool {
		for len(keys) > 0 {
			var key []byte
			key, keys, _ = bytes.Cut(keys, blank)
			if len(key) > 0 && string(key) == text.Value {
				return true
			}
		}
		return false
	})
}

func notPart(p part) part {
	return func(e *eval) outcome {
		switch o := p(e); o {
		case isTrue:
			return isFalse
		case isFalse:
			return isTrue
		default:
			return o
		}
	}
}

// andPart is true when all are, false when one is, and else unknown. It asks from left to right and no further than it must.
func andPart(a, b part) part {
	return func(e *eval) outcome {
		x := a(e)
		if x == isFalse || x == isRaise {
			return x
		}
		y := b(e)
		if y == isTrue {
			return x
		}
		return y
	}
}

func orPart(a, b part) part {
	return func(e *eval) outcome {
		x := a(e)
		if x == isTrue || x == isRaise {
			return x
		}
		y := b(e)
		if y == isFalse {
			return x
		}
		return y
	}
}

func choicePart(cond, yes, no part) part {
	return func(e *eval) outcome {
		switch o := cond(e); o {
		case isTrue:
			return yes(e)
		case isRaise:
			return o
		}
		return no(e)
	}
}

func constantPart(b bool) part {
	o := outcomeOf(b)
	return func(*eval) outcome { return o }
}
