package expr

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/conf"
)

// The language: expr's own, with names for one message in place of an environment, and without everything that isn't on
// the lists below.

// variables are the names that stand for a part of the message, with a sample of each one's type. tags and keys may be
// nil.
var variables = map[string]any{
	"tags": "", "keys": []string(nil), "body": "", "topic": "",
	"born": 0, "stored": 0, "queue": 0, "offset": 0, "retries": 0, "flag": 0,
}

// accessors are the functions that look something up in the message by a name in quotes.
const (
	accessNum  = "num"
	accessInt  = "int" // of a name; of a value it is the builtin
	accessStr  = "str"
	accessHas  = "has"
	accessJSON = "json"
)

// accessorTypes are their types, for the check.
var accessorTypes = map[string][]reflect.Type{
	accessNum:  {reflect.TypeFor[func(string) float64]()},
	accessInt:  {reflect.TypeFor[func(string) int](), reflect.TypeFor[func(int) int](), reflect.TypeFor[func(float64) int](), reflect.TypeFor[func(any) int]()},
	accessStr:  {reflect.TypeFor[func(string) string]()},
	accessHas:  {reflect.TypeFor[func(string) bool]()},
	accessJSON: {reflect.TypeFor[func(string) any]()},
}

// loops are the builtins with a predicate that are allowed: those whose cost is that of their rounds. sums takes any
// value of its predicate; the others want true or false.
var (
	loops = []string{"all", "any", "count", "filter", "find", "findIndex", "findLast", "findLastIndex", "map", "none", "one", "sum"}
	sums  = []string{"map", "sum"}
)

// functions are the other builtins that are allowed: pure, the same for ever for the same arguments, and of a cost that
// their arguments bound. Left out are clocks (now, date, duration, timezone), what depends on the order of a map (keys,
// values, toPairs), what can make much out of little (repeat, replace, join, concat, string, toJSON), what takes more
// than linear time (uniq, groupBy, sort, sortBy), and what filters have no use for.
var functions = []string{
	"abs", "bitand", "bitnand", "bitnot", "bitor", "bitshl", "bitshr", "bitushr", "bitxor", "ceil", "first", "float", "floor",
	"hasPrefix", "hasSuffix", "indexOf", "int", "last", "lastIndexOf", "len", "lower", "max", "mean", "min", "round", "split",
	"trim", "trimPrefix", "trimSuffix", "type", "upper",
}

// binaries are the binary operators, by what they become; symbols that mean the same are one.
var binaries = map[string]string{
	"==": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=",
	"+": "+", "-": "-", "*": "*", "/": "/", "%": "%", "**": "**", "^": "**",
	"and": "and", "&&": "and", "or": "or", "||": "or", "??": "??", "in": "in", "..": "..",
	"contains": "contains", "startsWith": "startsWith", "endsWith": "endsWith", "matches": "matches",
}

// unaries are the unary operators.
var unaries = map[string]string{"not": "not", "!": "not", "-": "-", "+": "+"}

// newConf returns expr's configuration for reading and checking an expression. One serves one expression: it caches.
func newConf(nodesMax int) *conf.Config {
	c := conf.CreateNew()
	c.MaxNodes = uint(nodesMax)
	for name := range c.Builtins {
		if !slices.Contains(functions, name) && !slices.Contains(loops, name) {
			c.Disabled[name] = true
			delete(c.Builtins, name)
		}
	}
	c.WithEnv(variables)
	c.Expect, c.ExpectAny = reflect.Bool, true
	for name, types := range accessorTypes {
		c.Functions[name] = &builtin.Function{Name: name, Types: types, Func: notRun}
	}
	return c
}

// notRun stands for an accessor in the check. None is left when a program is made.
func notRun(...any) (any, error) { panic("expr: an accessor was left in a program") }

// builtins maps the names of the allowed builtins to what they are.
func newBuiltins() map[string]*builtin.Function {
	m := make(map[string]*builtin.Function, len(functions))
	for _, name := range functions {
		m[name] = builtin.Builtins[builtin.Index[name]]
	}
	return m
}

// accessor returns what n looks up, when it is the call of an accessor with a name in quotes.
func accessor(n ast.Node) (function, name string, ok bool) {
	call, isCall := n.(*ast.CallNode)
	if !isCall || len(call.Arguments) != 1 {
		return "", "", false
	}
	callee, isName := call.Callee.(*ast.IdentifierNode)
	text, isText := call.Arguments[0].(*ast.StringNode)
	if !isName || !isText {
		return "", "", false
	}
	if _, known := accessorTypes[callee.Value]; !known {
		return "", "", false
	}
	return callee.Value, text.Value, true
}

// literal returns the value of a number, text or truth value that stands in the expression as such, signs included.
func literal(n ast.Node) (value any, ok bool) {
	switch n := n.(type) {
	case *ast.IntegerNode:
		return n.Value, true
	case *ast.FloatNode:
		return n.Value, true
	case *ast.StringNode:
		return n.Value, true
	case *ast.BoolNode:
		return n.Value, true
	case *ast.UnaryNode:
		v, ok := literal(n.Node)
		if !ok || n.Operator != "-" && n.Operator != "+" {
			return nil, false
		}
		sign := 1
		if n.Operator == "-" {
			sign = -1
		}
		switch v := v.(type) {
		case int:
			return sign * v, true
		case float64:
			return float64(sign) * v, true
		}
	}
	return nil, false
}

// literals returns the values of a list of literals.
func literals(n ast.Node) (values []any, ok bool) {
	list, ok := n.(*ast.ArrayNode)
	if !ok {
		return nil, false
	}
	for _, e := range list.Nodes {
		v, ok := literal(e)
		if !ok {
			return nil, false
		}
		values = append(values, v)
	}
	return values, true
}

// rangeOf returns the ends of a range of two whole numbers.
func rangeOf(n ast.Node) (low, high int, ok bool) {
	b, isBinary := n.(*ast.BinaryNode)
	if !isBinary || b.Operator != ".." {
		return 0, 0, false
	}
	l, okLow := literal(b.Left)
	h, okHigh := literal(b.Right)
	low, isInt := l.(int)
	high, areInt := h.(int)
	return low, high, okLow && okHigh && isInt && areInt
}

// kindName names the type of a value to the person who wrote an expression.
func kindName(v any) string {
	switch v.(type) {
	case nil:
		return "nil"
	case bool:
		return "a truth value"
	case int, float64:
		return "a number"
	case string:
		return "a text"
	case []any, []string, []int:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return fmt.Sprintf("a %T", v)
}
