package sqltree

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/weirmq/weir/core/filter"
)

// Calls of functions of user modules, in all dialects:
//
//	call     := "wasm." name [ "." name ] "(" [ argument { "," argument } ] ")"
//	argument := property | string | [ + | - ] number | TRUE | FALSE | call
//
// A primary may be a call. One name is looked up among the functions of all modules, of two the first is the module's. A call of a
// boolean function is a condition. One of a numeric function may be compared: with a number, with a property, which is read as
// the function's type, or with another such call. `wasm.filter('name', '{"setting": "value"}')` is a condition too: a whole module
// judges the message.
//
// No text that RocketMQ accepts has another meaning by this: to it `wasm.` and a letter is an error wherever a primary may stand.

// Resolver finds functions. It is a filter.Functions without contexts.
type Resolver interface {
	Function(module, name string) (filter.Function, error)
	Filter(reference string, settings map[string]string) (filter.Function, error)
}

// Call is a call in a tree.
type Call struct {
	Function filter.Function
	Args     []Arg
}

// Arg is an argument: a property, another call, or a constant in the form of filter.Argument.
type Arg struct {
	Kind     filter.ValueKind
	Property string
	Call     *Call
	Text     string
	Number   int64
}

// constant says whether the argument is the same for all messages.
func (a *Arg) constant() bool { return a.Property == "" && a.Call == nil }

// Constant says whether the argument is the same for all messages.
func (a *Arg) Constant() bool { return a.constant() }

// CallTest is a call of a boolean function.
type CallTest struct{ Call *Call }

// CallValue is true when a call has a value, unknown when it has none.
type CallValue struct{ Call *Call }

// CallCompare compares two values, of which one at least is that of a call. With EQ both are evaluated: both missing is
// true, only Left missing is unknown, only Right missing is false. With the other operators either missing is unknown, and
// Right isn't evaluated if Left is missing. A property that can't be read as Kind raises. If Lenient, either missing is
// unknown with all operators, and what can't be read is missing.
type CallCompare struct {
	Left    Value
	Op      Op
	Right   Value
	Kind    filter.Kind // Int64 or Double: how the values are compared
	Lenient bool
}

// Value is a side of a CallCompare: a call, a property, or a number in the form of Number.Ordered.
type Value struct {
	Call     *Call
	Property string
	Ordered  int64
}

func (*CallTest) cond()    {}
func (*CallValue) cond()   {}
func (*CallCompare) cond() {}

// CallsOf lists the calls of the node x itself, those that are arguments included, without what is below x.
func CallsOf(x Cond) (list []*Call) {
	add := func(c *Call) {
		if c != nil {
			list = c.appendAll(list)
		}
	}
	switch x := x.(type) {
	case *CallTest:
		add(x.Call)
	case *CallValue:
		add(x.Call)
	case *CallCompare:
		add(x.Left.Call)
		add(x.Right.Call)
	}
	return list
}

func (c *Call) appendAll(list []*Call) []*Call {
	list = append(list, c)
	for i := range c.Args {
		if inner := c.Args[i].Call; inner != nil {
			list = inner.appendAll(list)
		}
	}
	return list
}

func (c *Call) properties() (names []string) {
	for i := range c.Args {
		switch a := &c.Args[i]; {
		case a.Property != "":
			names = append(names, a.Property)
		case a.Call != nil:
			names = append(names, a.Call.properties()...)
		}
	}
	return names
}

func (v *Value) properties() []string {
	switch {
	case v.Call != nil:
		return v.Call.properties()
	case v.Property != "":
		return []string{v.Property}
	}
	return nil
}

// String writes the call so that different ones differ: by the function's key and not by its name.
func (c *Call) String() string {
	var b strings.Builder
	key := c.Function.Key()
	fmt.Fprintf(&b, "(call %x", key[:])
	for i := range c.Args {
		a := &c.Args[i]
		switch {
		case a.Property != "":
			fmt.Fprintf(&b, " %s:%s", a.Kind, a.Property)
		case a.Call != nil:
			b.WriteString(" " + a.Call.String())
		case a.Kind == filter.TextValue:
			b.WriteString(" " + strconv.Quote(a.Text))
		default:
			fmt.Fprintf(&b, " %s=%d", a.Kind, a.Number)
		}
	}
	b.WriteByte(')')
	return b.String()
}

func (v *Value) String() string {
	switch {
	case v.Call != nil:
		return v.Call.String()
	case v.Property != "":
		return v.Property
	}
	return strconv.FormatInt(v.Ordered, 10)
}

func (x *CallCompare) String() string {
	lenient := ""
	if x.Lenient {
		lenient = " lenient"
	}
	return fmt.Sprintf("(%s %s %s %s%s)", x.Op, kindNames[x.Kind], &x.Left, &x.Right, lenient)
}

// call parses what follows the token of a function's name, which has been read.
func (p *parser) call(t token) (*Call, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	if p.calls == nil {
		return nil, p.fail(t.at, "%s can't be called: no running filter offers functions; enable wasm modules under filters and service in broker.yaml", t.text)
	}
	if _, err := p.expect(tokOpen, "( after "+t.text); err != nil {
		return nil, err
	}
	args, err := p.arguments()
	if err != nil {
		return nil, err
	}
	module, name, two := strings.Cut(strings.TrimPrefix(t.text, callPrefix), ".")
	if !two {
		module, name = "", module
	}
	if !two && name == "filter" {
		return p.wholeFilter(t, args)
	}
	f, err := p.calls.Function(module, name)
	if err != nil {
		return nil, p.fail(t.at, "%s", err)
	}
	p.opened = append(p.opened, f)
	return p.bind(t, f, args)
}

// wholeFilter is wasm.filter(reference, settings).
func (p *parser) wholeFilter(t token, args []argument) (*Call, error) {
	if len(args) < 1 || len(args) > 2 {
		return nil, p.fail(t.at, "wasm.filter takes the name of a module and, perhaps, its settings as a JSON object")
	}
	for i := range args {
		if args[i].value.typ != textType {
			return nil, p.fail(args[i].at, "wasm.filter takes texts in quotes only")
		}
	}
	var settings map[string]string
	if len(args) == 2 {
		var err error
		if settings, err = readSettings(args[1].value.text); err != nil {
			return nil, p.fail(args[1].at, "the settings of a module are a JSON object of texts, numbers and booleans: %s", err)
		}
	}
	f, err := p.calls.Filter(args[0].value.text, settings)
	if err != nil {
		return nil, p.fail(t.at, "%s", err)
	}
	p.opened = append(p.opened, f)
	return &Call{Function: f}, nil
}

// readSettings reads a JSON object whose values are written as their module reads them.
func readSettings(text string) (map[string]string, error) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		return nil, err
	}
	settings := make(map[string]string, len(raw))
	for name, b := range raw {
		if b[0] == '"' {
			var s string
			if err := json.Unmarshal(b, &s); err != nil {
				return nil, err
			}
			settings[name] = s
			continue
		}
		if b[0] == '{' || b[0] == '[' || b[0] == 'n' {
			return nil, fmt.Errorf("%s is none of these", name)
		}
		settings[name] = string(b)
	}
	return settings, nil
}

// argument is one as it was written.
type argument struct {
	value    value
	property string
	call     *Call
	at       int
}

// arguments parses them up to the closing parenthesis.
func (p *parser) arguments() (list []argument, err error) {
	for p.ahead.kind != tokClose {
		if len(list) > 0 {
			if _, err = p.expect(tokComma, ", or ) after an argument"); err != nil {
				return nil, err
			}
		}
		var a argument
		if a, err = p.argument(); err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, p.advance()
}

func (p *parser) argument() (argument, error) {
	t := p.ahead
	a := argument{at: t.at}
	if err := p.count(); err != nil {
		return a, err
	}
	negative := false
	for p.ahead.kind == tokPlus || p.ahead.kind == tokMinus {
		negative = negative != (p.ahead.kind == tokMinus)
		if err := p.advance(); err != nil {
			return a, err
		}
	}
	signed := p.ahead.at != t.at
	switch n := p.ahead; {
	case n.kind == tokCall && !signed:
		if err := p.advance(); err != nil {
			return a, err
		}
		var err error
		a.call, err = p.call(n)
		return a, err
	case n.kind == tokIdent && !signed:
		a.property = n.text
	case n.kind == tokInteger, n.kind == tokFloat, !signed && (n.kind == tokString || n.kind == tokTrue || n.kind == tokFalse):
		o, err := p.atom(n)
		if err != nil {
			return a, err
		}
		if a.value = o.value; negative {
			a.value.int, a.value.f = -a.value.int, -a.value.f
		}
	default:
		return a, p.fail(n.at, "an argument is a property, a text in quotes, a number, TRUE, FALSE or a call of a function; found %s", n)
	}
	return a, p.advance()
}

// bind checks number and kinds of arguments.
func (p *parser) bind(t token, f filter.Function, args []argument) (*Call, error) {
	want := f.Arguments()
	if len(args) != len(want) {
		return nil, p.fail(t.at, "%s takes %d arguments, not %d", t.text, len(want), len(args))
	}
	c := &Call{Function: f}
	for i, a := range args {
		arg, err := a.as(want[i])
		if err != nil {
			return nil, p.fail(a.at, "argument %d of %s is of type %s: %s", i+1, t.text, want[i], err)
		}
		c.Args = append(c.Args, arg)
	}
	return c, nil
}

// as turns a into an argument of a kind. Integers may stand for doubles.
func (a *argument) as(kind filter.ValueKind) (Arg, error) {
	arg := Arg{Kind: kind, Property: a.property, Call: a.call}
	v := a.value
	switch {
	case a.property != "":
		return arg, nil
	case a.call != nil:
		if r := a.call.Function.Result(); r != kind && !(r == filter.Int64Value && kind == filter.DoubleValue) {
			return arg, fmt.Errorf("the value of %s is of type %s", a.call.Function.Name(), r)
		}
		return arg, nil
	case kind == filter.TextValue && v.typ == textType:
		arg.Text = v.text
		return arg, nil
	case kind == filter.BooleanValue && v.typ == boolType:
		arg.Number = int64(btoi(v.bool))
		return arg, nil
	case kind == filter.DoubleValue && v.numeric():
		arg.Number = int64(math.Float64bits(v.double()))
		return arg, nil
	case kind == filter.Int64Value && (v.typ == int32Type || v.typ == int64Type),
		kind == filter.Int32Value && (v.typ == int32Type || v.typ == int64Type) && v.int == int64(int32(v.int)):
		arg.Number = v.int
		return arg, nil
	}
	return arg, fmt.Errorf("the literal doesn't fit")
}

// condition is a call where one is needed.
func (c *Call) condition() (Cond, bool) {
	if c.Function.Result() != filter.BooleanValue {
		return nil, false
	}
	return &CallTest{c}, true
}

// compareCall compares operands of which one is a numeric call.
func compareCall(l *operand, op Op, r *operand, lenient bool) (Cond, bool) {
	kind := filter.Int64
	for _, o := range []*operand{l, r} {
		if o.kind == called && o.call.Function.Result() == filter.DoubleValue || o.value.typ == doubleType {
			kind = filter.Double
		}
	}
	left, okL := valueOf(l, kind)
	right, okR := valueOf(r, kind)
	if !okL || !okR {
		return nil, false
	}
	return &CallCompare{Left: left, Op: op, Right: right, Kind: kind, Lenient: lenient}, true
}

func valueOf(o *operand, kind filter.Kind) (Value, bool) {
	switch {
	case o.kind == called:
		return Value{Call: o.call}, true
	case o.kind == property:
		return Value{Property: o.property}, true
	case o.cond != nil || !o.value.numeric():
		return Value{}, false
	case kind == filter.Double:
		return Value{Ordered: filter.OrderDouble(o.value.double())}, true
	}
	return Value{Ordered: o.value.int}, true
}

func floatOf(bits int64) float64 { return math.Float64frombits(uint64(bits)) }
