package sqltree

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/weirmq/weir/core/filter"
)

// Dialect is a variant of the language; see the package.
type Dialect string

// The dialects.
const (
	RocketMQ  Dialect = "rocketmq"
	RocketMQ5 Dialect = "rocketmq5"
	Strict    Dialect = "strict"
)

// Limits bound what one expression may cost. Zero is no limit.
type Limits struct {
	Bytes int // of the text
	Nodes int // operands and operators, and members of IN
	Depth int // of parentheses and signs within each other
}

// Tree is a parsed expression.
type Tree struct {
	Root     Cond
	Dialect  Dialect
	Warnings []Warning
	// Notes are hints that aren't worth a warning, because the expression may well be right.
	Notes []Warning
	// Functions are those that the text calls, one for each call, also of calls that folding has removed.
	Functions []filter.Function
}

// Warning points out a part of the text that hardly means what its author thinks.
type Warning struct {
	At   int // byte in the text
	Text string
}

// String says where and what.
func (w Warning) String() string { return fmt.Sprintf("at character %d: %s", w.At+1, w.Text) }

// ErrLimit is in the chain of an error that says that an expression is too large, not that it is wrong.
var ErrLimit = errors.New("the expression is too large")

// Parse parses text, in which no function can be called. The context bounds nothing but the start: parsing takes well under
// a millisecond a kilobyte.
func Parse(ctx context.Context, text string, d Dialect, limits Limits) (*Tree, error) {
	return ParseCalls(ctx, text, d, limits, nil)
}

// ParseCalls parses text in which functions may be called that calls, if it isn't nil, finds. The tree's owner closes its
// Functions; after an error there are none to close.
func ParseCalls(ctx context.Context, text string, d Dialect, limits Limits, calls Resolver) (*Tree, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("parse SQL92 expression: %w", err)
	}
	if limits.Bytes > 0 && len(text) > limits.Bytes {
		return nil, fmt.Errorf("parse SQL92 expression: %w: %d bytes, at most %d are allowed", ErrLimit, len(text), limits.Bytes)
	}
	p := &parser{lexer: lexer{text: strings.ToValidUTF8(text, "\uFFFD"), dialect: d}, limits: limits, dialect: d, calls: calls}
	root, err := p.parse()
	if err != nil {
		for _, f := range p.opened {
			_ = f.Close()
		}
		return nil, fmt.Errorf("parse SQL92 expression: %w", err)
	}
	return &Tree{Root: normal(root), Dialect: d, Warnings: p.warnings, Notes: p.notes, Functions: p.opened}, nil
}

// parser descends recursively, one token ahead.
type parser struct {
	lexer    lexer
	dialect  Dialect
	limits   Limits
	ahead    token
	nodes    int
	depth    int
	warnings []Warning
	notes    []Warning
	calls    Resolver
	opened   []filter.Function
}

func (p *parser) fail(at int, format string, args ...any) error {
	return &lexError{at, fmt.Sprintf(format, args...)}
}

func (p *parser) warn(at int, format string, args ...any) {
	p.warnings = append(p.warnings, Warning{at, fmt.Sprintf(format, args...)})
}

func (p *parser) note(at int, format string, args ...any) {
	p.notes = append(p.notes, Warning{at, fmt.Sprintf(format, args...)})
}

// advance reads the token ahead.
func (p *parser) advance() (err error) {
	p.ahead, err = p.lexer.next()
	return err
}

// count counts a node.
func (p *parser) count() error {
	p.nodes++
	if p.limits.Nodes > 0 && p.nodes > p.limits.Nodes {
		return fmt.Errorf("%w: more than %d operands and operators", ErrLimit, p.limits.Nodes)
	}
	return nil
}

func (p *parser) enter() error {
	p.depth++
	if p.limits.Depth > 0 && p.depth > p.limits.Depth {
		return fmt.Errorf("%w: nested more than %d deep", ErrLimit, p.limits.Depth)
	}
	return nil
}

// expect takes a token of one kind.
func (p *parser) expect(kind tokenKind, what string) (token, error) {
	t := p.ahead
	if t.kind != kind {
		return t, p.fail(t.at, "expected %s, found %s", what, t)
	}
	return t, p.advance()
}

// String describes t for an error.
func (t token) String() string {
	if t.kind == tokEnd {
		return "the end"
	}
	return strconv.Quote(t.text)
}

func (p *parser) parse() (Cond, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.dialect == Strict {
		return p.strict()
	}
	o, err := p.or()
	if err != nil {
		return nil, err
	}
	c, err := p.condition(&o)
	if err != nil {
		return nil, err
	}
	if t := p.ahead; t.kind != tokEnd {
		p.warn(t.at, "everything from %s on is ignored, because it can't continue the expression before it%s", t, p.tailHint(t))
	}
	return c, nil
}

// tailHint guesses what the author of a dropped tail wanted.
func (p *parser) tailHint(t token) string {
	switch {
	case t.kind == tokPlus || t.kind == tokMinus:
		return "; this language has no arithmetic"
	case t.kind != tokIdent:
		return ""
	}
	switch strings.ToUpper(t.text) {
	case "LIKE":
		return "; this language has no LIKE"
	case "CONTAINS", "STARTSWITH", "ENDSWITH":
		return "; this operator needs the dialect rocketmq5"
	}
	return ""
}

// condition is asked for where the language wants a condition.
func (p *parser) condition(o *operand) (Cond, error) {
	c, ok := o.condition()
	if !ok {
		return nil, p.fail(o.at, "a condition is needed here, such as a comparison")
	}
	if o.kind == property {
		p.warn(o.at, "the bare property %s is never true, whatever its value; compare it with something", o.property)
	}
	return c, nil
}

func (p *parser) or() (operand, error) { return p.chain(tokOr, p.and, or) }

func (p *parser) and() (operand, error) { return p.chain(tokAnd, p.equality, and) }

// chain parses operands that are joined by AND or by OR.
func (p *parser) chain(op tokenKind, next func() (operand, error), join func(l, r Cond) Cond) (operand, error) {
	left, err := next()
	for err == nil && p.ahead.kind == op {
		if err = p.advance(); err != nil {
			break
		}
		var right operand
		if right, err = next(); err != nil {
			break
		}
		var l, r Cond
		if l, err = p.condition(&left); err != nil {
			break
		}
		if r, err = p.condition(&right); err != nil {
			break
		}
		left = conditionOf(join(l, r), left.at)
		err = p.count()
	}
	return left, err
}

func (p *parser) equality() (operand, error) {
	left, err := p.relation()
	for err == nil {
		t := p.ahead
		switch t.kind {
		case tokEQ, tokNE:
			left, err = p.equals(left, t)
		case tokIs:
			left, err = p.is(left)
		default:
			return left, nil
		}
		if err == nil {
			err = p.count()
		}
	}
	return left, err
}

func (p *parser) equals(left operand, op token) (operand, error) {
	if err := p.advance(); err != nil {
		return left, err
	}
	right, err := p.relation()
	if err != nil {
		return left, err
	}
	for _, o := range []*operand{&left, &right} {
		if o.kind == boolean && o.value.typ == null {
			return left, p.fail(o.at, "NULL can't be compared; write IS NULL or IS NOT NULL")
		}
	}
	if left.kind == boolean && right.kind == literal {
		return left, p.fail(op.at, "TRUE and FALSE can't be compared with a literal that is neither of them")
	}
	var c Cond
	if left.kind == called || right.kind == called {
		if c, err = p.compareCall(&left, EQ, &right, false); err != nil {
			return left, err
		}
	} else {
		c = equal(&left, &right)
	}
	if op.kind == tokNE {
		c = not(c)
	}
	p.review(c, &left, op, &right)
	return conditionOf(c, left.at), nil
}

// is parses IS NULL and IS NOT NULL.
func (p *parser) is(left operand) (operand, error) {
	if err := p.advance(); err != nil {
		return left, err
	}
	negative := p.ahead.kind == tokNot
	if negative {
		if err := p.advance(); err != nil {
			return left, err
		}
	}
	if _, err := p.expect(tokNull, "NULL or NOT NULL after IS"); err != nil {
		return left, err
	}
	c := isNull(&left)
	if negative {
		c = not(c)
	}
	return conditionOf(c, left.at), nil
}

var orderOps = map[tokenKind]Op{tokLT: LT, tokLE: LE, tokGT: GT, tokGE: GE}

func (p *parser) relation() (operand, error) {
	left, err := p.unary()
	for err == nil {
		t := p.ahead
		switch t.kind {
		case tokLT, tokLE, tokGT, tokGE:
			left, err = p.order(left, t)
		case tokNot, tokBetween, tokIn, tokContains, tokStartsWith, tokEndsWith:
			left, err = p.special(left)
		default:
			return left, nil
		}
		if err == nil {
			err = p.count()
		}
	}
	return left, err
}

func (p *parser) order(left operand, op token) (operand, error) {
	if err := p.advance(); err != nil {
		return left, err
	}
	right, err := p.unary()
	if err != nil {
		return left, err
	}
	c, err := p.ordered(&left, orderOps[op.kind], &right)
	if err != nil {
		return left, err
	}
	p.review(c, &left, op, &right)
	return conditionOf(c, left.at), nil
}

// ordered checks the operands of an order operator and makes the condition.
func (p *parser) ordered(l *operand, op Op, r *operand) (Cond, error) {
	for _, o := range []*operand{l, r} {
		switch {
		case o.kind == conditions || o.kind == boolean:
			return nil, p.fail(o.at, "a condition can't be compared by %s", op)
		case o.kind == literal && !o.value.numeric():
			return nil, p.fail(o.at, "a text can't be compared by %s; only numbers can", op)
		}
	}
	if l.kind == called || r.kind == called {
		return p.compareCall(l, op, r, false)
	}
	return order(l, op, r), nil
}

// special parses what may have a NOT in front: BETWEEN, IN, and the search operators of RocketMQ 5.
func (p *parser) special(left operand) (operand, error) {
	negative := p.ahead.kind == tokNot
	if negative {
		if err := p.advance(); err != nil {
			return left, err
		}
	}
	t := p.ahead
	if t.kind < tokBetween || t.kind > tokEndsWith || t.kind > tokIn && t.kind < tokContains {
		return left, p.fail(t.at, "expected IN or BETWEEN after NOT, found %s", t)
	}
	if err := p.advance(); err != nil {
		return left, err
	}
	var c Cond
	var err error
	switch t.kind {
	case tokBetween:
		c, err = p.between(&left, negative)
	case tokIn:
		c, err = p.in(&left, negative)
	default:
		var text token
		text, err = p.expect(tokString, "a text in quotes")
		if err == nil {
			c = search(&left, map[tokenKind]Where{tokContains: Anywhere, tokStartsWith: AtStart, tokEndsWith: AtEnd}[t.kind], unquote(text.text), negative)
		}
	}
	return conditionOf(c, left.at), err
}

func (p *parser) between(left *operand, negative bool) (Cond, error) {
	low, err := p.unary()
	if err != nil {
		return nil, err
	}
	if _, err = p.expect(tokAnd, "AND between the bounds"); err != nil {
		return nil, err
	}
	high, err := p.unary()
	if err != nil {
		return nil, err
	}
	reversed := low.kind == literal && high.kind == literal && low.value.numeric() && high.value.numeric() &&
		compareNumbers(high.value, low.value) < 0
	if reversed && !negative {
		return nil, p.fail(low.at, "the bounds are in the wrong order: %s", strings.TrimSpace(p.lexer.text[low.at:p.ahead.at]))
	}
	first, second, join := GE, LE, and
	if negative {
		first, second, join = LT, GT, or
	}
	a, err := p.ordered(left, first, &low)
	if err != nil {
		return nil, err
	}
	b, err := p.ordered(left, second, &high)
	if err != nil {
		return nil, err
	}
	if reversed {
		p.warn(low.at, "the bounds are in the wrong order, so this is true for every number")
	}
	p.integerNote(left, &low)
	p.integerNote(left, &high)
	return join(a, b), nil
}

func (p *parser) in(left *operand, negative bool) (Cond, error) {
	if _, err := p.expect(tokOpen, "( after IN"); err != nil {
		return nil, err
	}
	var members []string
	for {
		t, err := p.expect(tokString, "a text in quotes as a member of IN")
		if err != nil {
			return nil, err
		}
		if err := p.count(); err != nil {
			return nil, err
		}
		members = append(members, unquote(t.text))
		if p.ahead.kind != tokComma {
			break
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
	if _, err := p.expect(tokClose, ") after the members of IN"); err != nil {
		return nil, err
	}
	if left.kind != property {
		return nil, p.fail(left.at, "only a property can be looked up by IN")
	}
	c := in(left.property, members)
	if negative {
		c = not(c)
	}
	return c, nil
}

func (p *parser) unary() (operand, error) {
	t := p.ahead
	switch t.kind {
	case tokPlus, tokMinus, tokNot:
	default:
		return p.primary()
	}
	if err := p.enter(); err != nil {
		return operand{}, err
	}
	defer func() { p.depth-- }()
	if err := p.advance(); err != nil {
		return operand{}, err
	}
	o, err := p.unary()
	if err != nil {
		return o, err
	}
	if t.kind == tokMinus && o.kind == called {
		return o, p.fail(t.at, "the value of a function can't be negated")
	}
	switch t.kind {
	case tokMinus:
		o = o.negate()
	case tokNot:
		o, err = p.not(&o, t)
	}
	o.at = t.at
	return o, err
}

func (p *parser) not(o *operand, t token) (operand, error) {
	c, ok := o.condition()
	if !ok {
		return *o, p.fail(o.at, "NOT needs a condition; around a comparison write NOT (...)")
	}
	if o.kind == property {
		p.warn(t.at, "NOT belongs to %s alone here, and is true for every value of it; around a comparison write NOT (...)", o.property)
	}
	return conditionOf(not(c), t.at), p.count()
}

func (p *parser) primary() (operand, error) {
	t := p.ahead
	if t.kind == tokOpen {
		return p.parenthesis(t)
	}
	if err := p.count(); err != nil {
		return operand{}, err
	}
	if t.kind == tokCall {
		if err := p.advance(); err != nil {
			return operand{}, err
		}
		return p.callOperand(t)
	}
	o, err := p.atom(t)
	if err != nil {
		return o, err
	}
	return o, p.advance()
}

// callOperand is a call as a condition or as a number.
func (p *parser) callOperand(t token) (operand, error) {
	c, err := p.call(t)
	if err != nil {
		return operand{}, err
	}
	if cond, ok := c.condition(); ok {
		return conditionOf(cond, t.at), nil
	}
	return operand{kind: called, call: c, at: t.at}, nil
}

// compareCall compares operands of which one at least is a numeric call.
func (p *parser) compareCall(l *operand, op Op, r *operand, lenient bool) (Cond, error) {
	c, ok := compareCall(l, op, r, lenient)
	if !ok {
		return nil, p.fail(r.at, "the value of a function can be compared with numbers, properties, and values of functions")
	}
	return c, nil
}

func (p *parser) parenthesis(t token) (operand, error) {
	if err := p.enter(); err != nil {
		return operand{}, err
	}
	defer func() { p.depth-- }()
	if err := p.advance(); err != nil {
		return operand{}, err
	}
	o, err := p.or()
	if err != nil {
		return o, err
	}
	_, err = p.expect(tokClose, ")")
	o.at = t.at
	return o, err
}

// atom makes an operand of one token.
func (p *parser) atom(t token) (operand, error) {
	o := operand{at: t.at}
	switch t.kind {
	case tokIdent:
		o.kind, o.property = property, t.text
	case tokString:
		o.value = value{typ: textType, text: unquote(t.text)}
	case tokInteger:
		n, err := strconv.ParseInt(strings.TrimRight(t.text, "lL"), 10, 64)
		if err != nil {
			return o, p.fail(t.at, "%s is too large, at most 9223372036854775807 is allowed", t.text)
		}
		o.value = value{typ: int64Type, int: n}
		if n == int64(int32(n)) {
			o.value.typ = int32Type
		}
	case tokFloat:
		f, _ := filter.ParseDouble([]byte(t.text))
		if !floatLiteral(f) {
			return o, p.fail(t.at, "%s can't be written: the number has to be from 4.9E-324 to 1.7976931348623157E308; for zero write 0", t.text)
		}
		o.value = value{typ: doubleType, f: f}
	case tokTrue, tokFalse:
		o.kind, o.value = boolean, value{typ: boolType, bool: t.kind == tokTrue}
	case tokNull:
		o.kind = boolean
	default:
		return o, p.fail(t.at, "expected a property, a number, a text in quotes or (, found %s", t)
	}
	return o, nil
}

// review warns of a comparison that can never be true, and notes one that is easily misread.
func (p *parser) review(c Cond, l *operand, op token, r *operand) {
	if can := outcomes(c); !can.has(True) {
		switch {
		case can.has(Raise):
			p.warn(l.at, "this comparison is never true, and fails when both sides are there: their types don't fit")
		case !l.isLiteral() || !r.isLiteral():
			p.warn(l.at, "this comparison is never true")
		}
	}
	p.integerNote(l, r)
	p.integerNote(r, l)
	if op.kind == tokEQ && l.isLiteral() && r.kind == property {
		p.note(l.at, "with the property on the right a missing one makes this false, on the left unknown")
	}
}

// integerNote points out that a property beside an integer has to be one.
func (p *parser) integerNote(prop, number *operand) {
	v, ok := number.constant()
	if !ok || prop.kind != property {
		return
	}
	switch v.typ {
	case int32Type:
		p.note(number.at, "%s fails to be compared when it is no integer or beyond 2147483647; compared with %d.0 it may be any number", prop.property, v.int)
	case int64Type:
		p.note(number.at, "%s fails to be compared when it is no integer; compared with %d.0 it may be any number", prop.property, v.int)
	}
}
