package expr

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/vm/runtime"
)

// The functions that programs call in place of expr's own operators. What expr can't do with nil gives nil here, and
// what may cost much is paid for. They report errors by panics, which the machine turns into errors.

// opName is the name under which programs call the i-th op.
func opName(i int) string { return "@" + strconv.Itoa(i) }

// partOp is a part as an op.
func partOp(p part) op {
	return func(e *eval) func(...any) any {
		return func(...any) any {
			switch p(e) {
			case isTrue:
				return true
			case isFalse:
				return false
			case isUnknown:
				return nil
			default:
				panic(e.err)
			}
		}
	}
}

// valueOp is for ops that read the message.
func valueOp(get func(*eval) (any, error)) op {
	return func(e *eval) func(...any) any {
		return func(...any) any {
			v, err := get(e)
			if err != nil {
				panic(err)
			}
			return e.seen(v)
		}
	}
}

// unknownOp notes that the chain has met nil, and goes on as if it were instead.
func unknownOp(chain int, instead bool) op {
	return func(e *eval) func(...any) any {
		return func(...any) any {
			e.unknown[chain] = true
			return instead
		}
	}
}

// endOp ends a chain whose result is one that nil might have changed: it is nil if there was one.
func endOp(chain int, result bool) op {
	return func(e *eval) func(...any) any {
		return func(...any) any {
			if e.unknown[chain] {
				e.unknown[chain] = false
				return nil
			}
			return result
		}
	}
}

// certainOp ends a chain whose result stands, nil or not.
func certainOp(chain int, result bool) op {
	return func(e *eval) func(...any) any {
		return func(...any) any {
			e.unknown[chain] = false
			return result
		}
	}
}

// roundOp begins a round of a loop and pays for it: for each of its nodes, more if long texts are about.
func roundOp(nodes int) op {
	return func(e *eval) func(...any) any {
		return func(...any) any {
			must(e.spend(4 * nodes * (1 + e.longest>>8)))
			return nil
		}
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// binaryOp applies f to two values, if both are there.
func binaryOp(f func(e *eval, a, b any) any) op {
	return func(e *eval) func(...any) any {
		return func(args ...any) any {
			if args[0] == nil || args[1] == nil {
				return nil
			}
			return f(e, args[0], args[1])
		}
	}
}

// order compares two values.
func order(operator string) op {
	var f func(a, b any) bool
	switch operator {
	case "<":
		f = runtime.Less
	case "<=":
		f = runtime.LessOrEqual
	case ">":
		f = runtime.More
	case ">=":
		f = runtime.MoreOrEqual
	}
	return binaryOp(func(_ *eval, a, b any) any { return f(a, b) })
}

// arithmetic computes with two values.
func arithmetic(operator string) op {
	var f func(a, b any) any
	switch operator {
	case "+":
		return binaryOp(add)
	case "-":
		f = runtime.Subtract
	case "*":
		f = runtime.Multiply
	case "/":
		f = func(a, b any) any { return runtime.Divide(a, b) }
	case "%":
		f = func(a, b any) any { return runtime.Modulo(a, b) }
	case "**":
		f = func(a, b any) any { return runtime.Exponent(a, b) }
	}
	return binaryOp(func(_ *eval, a, b any) any { return f(a, b) })
}

// add adds numbers and joins texts.
func add(e *eval, a, b any) any {
	if s, ok := a.(string); ok {
		if t, ok := b.(string); ok {
			must(e.take(len(s) + len(t)))
			return e.seen(s + t)
		}
	}
	return runtime.Add(a, b)
}

// sign is the unary + and -.
func sign(operator string) op {
	return func(*eval) func(...any) any {
		return func(args ...any) any {
			switch v := args[0].(type) {
			case nil:
				return nil
			case int, float64:
				if operator == "-" {
					return runtime.Negate(v)
				}
				return v
			}
			panic(fmt.Errorf("%s needs a number, not %s", operator, kindName(args[0])))
		}
	}
}

// equal is == and, when it isn't wanted, !=. nil equals nil and nothing else.
func equal(want bool) op {
	return func(e *eval) func(...any) any {
		return func(args ...any) any {
			must(e.spend(sizeOf(args[0]) + sizeOf(args[1])))
			return runtime.Equal(args[0], args[1]) == want
		}
	}
}

// sizeOf is about the work of walking over a value.
func sizeOf(v any) int {
	switch v := v.(type) {
	case string:
		return len(v) / 16
	case []any:
		n := len(v)
		for _, x := range v {
			n += sizeOf(x)
		}
		return n
	case []string:
		return len(v)
	case []int:
		return len(v)
	case map[string]any:
		n := 4 * len(v)
		for _, x := range v {
			n += sizeOf(x)
		}
		return n
	}
	return 0
}

// inOp looks a value up in a list or among the names of an object.
func inOp(e *eval) func(...any) any {
	return func(args ...any) any {
		switch list := args[1].(type) {
		case nil:
			return false
		case []string, []any, []int:
			must(e.spend(6 * sizeOf(list) * (1 + sizeOf(args[0]))))
			return runtime.In(args[0], list)
		case map[string]any:
			name, ok := args[0].(string)
			if !ok {
				return false
			}
			_, ok = list[name]
			return ok
		}
		panic(fmt.Errorf("in needs a list, not %s", kindName(args[1])))
	}
}

// searchOp is contains, startsWith or endsWith: false if one of the texts is missing.
func searchOp(operator string) op {
	var f func(a, b string) bool
	switch operator {
	case "contains":
		f = strings.Contains
	case "startsWith":
		f = strings.HasPrefix
	case "endsWith":
		f = strings.HasSuffix
	}
	return func(e *eval) func(...any) any {
		return func(args ...any) any {
			if args[0] == nil || args[1] == nil {
				return false
			}
			a, okA := args[0].(string)
			b, okB := args[1].(string)
			if !okA || !okB {
				panic(fmt.Errorf("%s needs texts, not %s and %s", operator, kindName(args[0]), kindName(args[1])))
			}
			must(e.spend(len(a) / 8))
			return f(a, b)
		}
	}
}

// matchOp is matches: false if the text is missing.
func matchOp(re *regexp.Regexp, cost int) op {
	return func(e *eval) func(...any) any {
		return func(args ...any) any {
			switch text := args[0].(type) {
			case nil:
				return false
			case string:
				must(e.spend(matchWork(len(text), cost)))
				return re.MatchString(text)
			}
			panic(fmt.Errorf("matches needs a text, not %s", kindName(args[0])))
		}
	}
}

// matchWork is the work of matching a text of so many bytes with a pattern of so many instructions, at worst.
func matchWork(bytes, cost int) int { return bytes * cost / 2 }

// memberOp is a.b and a[b].
func memberOp(*eval) func(...any) any {
	return func(args ...any) any {
		switch a := args[0].(type) {
		case nil:
			return nil
		case map[string]any:
			name, ok := args[1].(string)
			if !ok {
				panic(fmt.Errorf("an object has names, not %s", kindName(args[1])))
			}
			return a[name]
		case []any, []string, []int:
			if args[1] == nil {
				return nil
			}
			if i, ok := args[1].(int); ok {
				return runtime.Fetch(a, i)
			}
			panic(fmt.Errorf("a list has numbered elements, not %s", kindName(args[1])))
		}
		panic(fmt.Errorf("%s has no fields", kindName(args[0])))
	}
}

// sliceOp is a[from:to], with the ends that are there.
func sliceOp(from, to bool) op {
	return func(e *eval) func(...any) any {
		return func(args ...any) any {
			var low, high any = 0, 0
			rest := args[1:]
			if from {
				low, rest = rest[0], rest[1:]
			}
			switch a := args[0].(type) {
			case nil:
				return nil
			case string:
				high = len(a)
			case []any, []string, []int:
				high = runtime.Len(a)
			default:
				panic(fmt.Errorf("a part can't be taken of %s", kindName(args[0])))
			}
			if to {
				high = rest[0]
			}
			if low == nil || high == nil {
				return nil
			}
			return runtime.Slice(args[0], low, high)
		}
	}
}

// listOp checks what a loop walks over, and pays for it if its rounds don't, because they have no predicate.
func listOp(name string, pays bool) op {
	return func(e *eval) func(...any) any {
		return func(args ...any) any {
			switch args[0].(type) {
			case nil, []any, []string, []int:
				if pays {
					must(e.spend(8 * sizeOf(args[0])))
				}
				return args[0]
			}
			panic(fmt.Errorf("%s needs a list, not %s", name, kindName(args[0])))
		}
	}
}

// functionOp is a builtin. All but type give nil when an argument is nil.
func functionOp(f *builtin.Function) op {
	return func(e *eval) func(...any) any {
		return func(args ...any) any {
			for _, a := range args {
				if a == nil && f.Name != "type" {
					return nil
				}
				must(e.spend(2 * sizeOf(a)))
			}
			must(e.take(memoryOf(f.Name, args)))
			if f.Fast != nil {
				return e.seen(f.Fast(args[0]))
			}
			v, err := f.Func(args...)
			must(err)
			return e.seen(v)
		}
	}
}

// memoryOf is how much memory the result of a builtin takes that makes new texts or lists.
func memoryOf(name string, args []any) int {
	text, ok := args[0].(string)
	if !ok {
		return 0
	}
	switch name {
	case "upper", "lower":
		return 3 * len(text) // a letter's other case may be longer
	case "split":
		if by, ok := args[1].(string); ok {
			return valueSize * (strings.Count(text, by) + 1)
		}
	}
	return 0
}

// inRangeOp says whether a value is a whole number of a range.
func inRangeOp(low, high int) op {
	return func(*eval) func(...any) any {
		return func(args ...any) any {
			switch n := args[0].(type) {
			case int:
				return low <= n && n <= high
			case float64:
				return float64(low) <= n && n <= float64(high) && n == float64(int(n))
			}
			return false
		}
	}
}
