package sqltree

import (
	"strconv"
	"strings"

	"github.com/weirmq/weir/core/filter"
)

// The strict dialect. It looks like RocketMQ's and means what it seems to:
//
//	filter    := or END                                  nothing is dropped
//	or        := and { OR and }
//	and       := not { AND not }
//	not       := NOT not | predicate                     NOT is below comparison, as in SQL
//	predicate := sum [ ( = | <> | != | < | <= | > | >= ) sum
//	                 | IS [NOT] NULL
//	                 | [NOT] BETWEEN sum AND sum
//	                 | [NOT] IN "(" literal { "," literal } ")"
//	                 | [NOT] LIKE string [ ESCAPE string ]
//	                 | [NOT] ( CONTAINS | STARTSWITH | ENDSWITH ) string ]
//	sum       := term { ( + | - ) term }
//	term      := factor { ( * | / | % ) factor }
//	factor    := ( + | - ) factor | string | number | TRUE | FALSE | property | "(" or ")"
//
// A missing property is unknown wherever it is compared, on either side. Beside a number a property is a number, of any
// size, with or without a fraction, compared by value; a text that is none is unknown. Beside a text it is a text. Two
// properties are compared as numbers if both are, and else as texts. Texts are in the order of their code points. A property
// alone is a condition if it spells true or false. Nothing raises.

// strictOperand is a value or a condition.
type strictOperand struct {
	value strictValue // nil for a condition and a call
	cond  Cond
	call  *Call // of a numeric function
	at    int
}

// plain is o as an operand of the other dialects.
func (o *strictOperand) plain() operand {
	switch v := o.value.(type) {
	case *strictProperty:
		return operand{kind: property, property: v.name, at: o.at}
	case *strictConst:
		switch {
		case v.text != nil || v.isBool:
		case v.number.float:
			return operand{value: value{typ: doubleType, f: v.number.f}, at: o.at}
		default:
			return operand{value: value{typ: int64Type, int: v.number.int}, at: o.at}
		}
	case nil:
		if o.call != nil {
			return operand{kind: called, call: o.call, at: o.at}
		}
	}
	return operand{at: o.at}
}

func (p *parser) strict() (Cond, error) {
	c, err := p.strictOr()
	if err != nil {
		return nil, err
	}
	cond, err := p.strictCondition(&c)
	if err != nil {
		return nil, err
	}
	if p.ahead.kind != tokEnd {
		return nil, p.fail(p.ahead.at, "expected AND, OR or the end, found %s", p.ahead)
	}
	return cond, nil
}

func (p *parser) strictCondition(o *strictOperand) (Cond, error) {
	if o.cond != nil {
		return o.cond, nil
	}
	switch v := o.value.(type) {
	case *strictProperty:
		return spelled(v.name, true), nil
	case *strictConst:
		if v.isBool {
			return constant(truth(v.truth)), nil
		}
	}
	return nil, p.fail(o.at, "a condition is needed here, such as a comparison")
}

// spelled is property = TRUE or = FALSE: unknown for what is neither.
func spelled(property string, as bool) Cond { return &Test{&strictBool{property, as}} }

func (p *parser) strictOr() (strictOperand, error)  { return p.strictChain(tokOr, p.strictAnd, or) }
func (p *parser) strictAnd() (strictOperand, error) { return p.strictChain(tokAnd, p.strictNot, and) }

func (p *parser) strictChain(op tokenKind, next func() (strictOperand, error), join func(l, r Cond) Cond) (strictOperand, error) {
	left, err := next()
	for err == nil && p.ahead.kind == op {
		var right strictOperand
		if err = p.advance(); err != nil {
			break
		}
		if right, err = next(); err != nil {
			break
		}
		var l, r Cond
		if l, err = p.strictCondition(&left); err != nil {
			break
		}
		if r, err = p.strictCondition(&right); err != nil {
			break
		}
		left = strictOperand{cond: join(l, r), at: left.at}
		err = p.count()
	}
	return left, err
}

func (p *parser) strictNot() (strictOperand, error) {
	t := p.ahead
	if t.kind != tokNot {
		return p.strictPredicate()
	}
	if err := p.enter(); err != nil {
		return strictOperand{}, err
	}
	defer func() { p.depth-- }()
	if err := p.advance(); err != nil {
		return strictOperand{}, err
	}
	o, err := p.strictNot()
	if err != nil {
		return o, err
	}
	c, err := p.strictCondition(&o)
	if err != nil {
		return o, err
	}
	return strictOperand{cond: not(c), at: t.at}, p.count()
}

func (p *parser) strictPredicate() (strictOperand, error) {
	left, err := p.strictSum()
	if err != nil {
		return left, err
	}
	t := p.ahead
	if t.kind != tokIs && t.kind != tokNot && (t.kind < tokEQ || t.kind > tokGE) && (t.kind < tokBetween || t.kind > tokIn) && (t.kind < tokContains || t.kind > tokLike) {
		return left, nil
	}
	if left.cond != nil {
		return left, p.fail(left.at, "a condition can't be compared or looked up")
	}
	if err := p.advance(); err != nil {
		return left, err
	}
	c, err := p.strictTail(&left, t)
	if err != nil {
		return left, err
	}
	return strictOperand{cond: c, at: left.at}, p.count()
}

var strictOps = map[tokenKind]Op{tokEQ: EQ, tokNE: EQ, tokLT: LT, tokLE: LE, tokGT: GT, tokGE: GE}

// strictTail parses what follows a predicate's first value. Its first token t has been read.
func (p *parser) strictTail(left *strictOperand, t token) (Cond, error) {
	if op, ok := strictOps[t.kind]; ok {
		right, err := p.strictSum()
		if err != nil {
			return nil, err
		}
		c, err := p.strictCompare(left, op, &right)
		if t.kind == tokNE && err == nil {
			c = not(c)
		}
		return c, err
	}
	negative := false
	if t.kind == tokIs {
		if negative = p.ahead.kind == tokNot; negative {
			if err := p.advance(); err != nil {
				return nil, err
			}
		}
		if _, err := p.expect(tokNull, "NULL or NOT NULL after IS"); err != nil {
			return nil, err
		}
		if left.call != nil {
			return negate(rename(&CallValue{left.call}, False, False, True), negative), nil
		}
		return negate(strictIsNull(left.value), negative), nil
	}
	if t.kind == tokNot {
		negative, t = true, p.ahead
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
	var c Cond
	var err error
	switch t.kind {
	case tokBetween:
		c, err = p.strictBetween(left)
	case tokIn:
		c, err = p.strictIn(left)
	case tokLike:
		c, err = p.strictLike(left)
	case tokContains, tokStartsWith, tokEndsWith:
		c, err = p.strictSearch(left, t.kind)
	default:
		return nil, p.fail(t.at, "expected BETWEEN, IN, LIKE, CONTAINS, STARTSWITH or ENDSWITH after NOT, found %s", t)
	}
	if err != nil {
		return nil, err
	}
	return negate(c, negative), nil
}

func negate(c Cond, negative bool) Cond {
	if negative {
		return not(c)
	}
	return c
}

func strictIsNull(v strictValue) Cond {
	switch v := v.(type) {
	case *strictProperty:
		return ifPresent(v.name, False, True)
	case *strictConst:
		return constant(False)
	}
	return &Test{&strictNull{v}}
}

func (p *parser) strictCompare(l *strictOperand, op Op, r *strictOperand) (Cond, error) {
	if r.cond != nil {
		return nil, p.fail(r.at, "a condition can't be compared")
	}
	if l.call != nil || r.call != nil {
		a, b := l.plain(), r.plain()
		return p.compareCall(&a, op, &b, true)
	}
	lc, lok := l.value.(*strictConst)
	rc, rok := r.value.(*strictConst)
	if lok && !rok {
		return p.strictCompare(r, op.turned(), l)
	}
	if rok && rc.isBool {
		prop, ok := l.value.(*strictProperty)
		if !ok || op != EQ {
			return nil, p.fail(r.at, "TRUE and FALSE can only be compared by = and <>, with a property")
		}
		return spelled(prop.name, rc.truth), nil
	}
	if kindOf(l.value)+kindOf(r.value) == textKind+numberKind {
		return nil, p.fail(r.at, "a text can't be compared with a number")
	}
	if lok && rok {
		return constant(truth(op.Holds(compareStrict(lc.result(), rc.result())))), nil
	}
	if prop, ok := l.value.(*strictProperty); ok && rok && op == EQ && rc.text != nil {
		return propertyEquals(prop.name, value{typ: textType, text: *rc.text}), nil
	}
	return &Test{&strictComparison{l.value, op, r.value}}, nil
}

func (p *parser) strictBetween(left *strictOperand) (Cond, error) {
	low, err := p.strictSum()
	if err != nil {
		return nil, err
	}
	if _, err := p.expect(tokAnd, "AND between the bounds"); err != nil {
		return nil, err
	}
	high, err := p.strictSum()
	if err != nil {
		return nil, err
	}
	a, err := p.strictCompare(left, GE, &low)
	if err != nil {
		return nil, err
	}
	b, err := p.strictCompare(left, LE, &high)
	if err != nil {
		return nil, err
	}
	l, lok := low.value.(*strictConst)
	h, hok := high.value.(*strictConst)
	if lok && hok && (l.text == nil) == (h.text == nil) && compareStrict(l.result(), h.result()) > 0 {
		return nil, p.fail(low.at, "the bounds are in the wrong order")
	}
	return and(a, b), nil
}

func (p *parser) strictIn(left *strictOperand) (Cond, error) {
	if _, err := p.expect(tokOpen, "( after IN"); err != nil {
		return nil, err
	}
	var texts []string
	var numbers []*strictConst
	for {
		o, err := p.strictFactor()
		if err != nil {
			return nil, err
		}
		c, ok := o.value.(*strictConst)
		if !ok || c.isBool {
			return nil, p.fail(o.at, "the members of IN are texts and numbers")
		}
		if c.text != nil {
			texts = append(texts, *c.text)
		} else {
			numbers = append(numbers, c)
		}
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
	prop, ok := left.value.(*strictProperty)
	if !ok {
		return nil, p.fail(left.at, "only a property can be looked up by IN")
	}
	if len(numbers) == 0 {
		return in(prop.name, texts), nil
	}
	byNumber := Cond(&Test{&strictIn{prop.name, numbers}})
	if len(texts) == 0 {
		return byNumber, nil
	}
	return or(in(prop.name, texts), byNumber), nil
}

func (p *parser) strictLike(left *strictOperand) (Cond, error) {
	t, err := p.expect(tokString, "a pattern in quotes after LIKE")
	if err != nil {
		return nil, err
	}
	escape := ""
	if p.ahead.kind == tokEscape {
		if err := p.advance(); err != nil {
			return nil, err
		}
		e, err := p.expect(tokString, "a character in quotes after ESCAPE")
		if err != nil {
			return nil, err
		}
		if escape = unquote(e.text); len([]rune(escape)) != 1 {
			return nil, p.fail(e.at, "ESCAPE needs one character")
		}
	}
	prop, ok := left.value.(*strictProperty)
	if !ok {
		return nil, p.fail(left.at, "only a property can be compared by LIKE")
	}
	pattern, err := newPattern(unquote(t.text), escape)
	if err != nil {
		return nil, p.fail(t.at, "%s", err)
	}
	return &Test{&strictLike{prop.name, pattern}}, nil
}

func (p *parser) strictSearch(left *strictOperand, op tokenKind) (Cond, error) {
	t, err := p.expect(tokString, "a text in quotes")
	if err != nil {
		return nil, err
	}
	prop, ok := left.value.(*strictProperty)
	if !ok {
		return nil, p.fail(left.at, "only a property can be searched")
	}
	text := unquote(t.text)
	if text == "" {
		return ifPresent(prop.name, True, Unknown), nil
	}
	return &Search{prop.name, map[tokenKind]Where{tokContains: Anywhere, tokStartsWith: AtStart, tokEndsWith: AtEnd}[op], text}, nil
}

func (p *parser) strictSum() (strictOperand, error) {
	return p.strictArithmetic(p.strictTerm, tokPlus, tokMinus)
}

func (p *parser) strictTerm() (strictOperand, error) {
	return p.strictArithmetic(p.strictFactor, tokStar, tokSlash, tokPercent)
}

func (p *parser) strictArithmetic(next func() (strictOperand, error), ops ...tokenKind) (strictOperand, error) {
	left, err := next()
	for err == nil {
		t, known := p.ahead, false
		for _, op := range ops {
			known = known || t.kind == op
		}
		if !known {
			return left, nil
		}
		if err = p.advance(); err != nil {
			break
		}
		var right strictOperand
		if right, err = next(); err != nil {
			break
		}
		left, err = p.calculate(&left, t, &right)
	}
	return left, err
}

func (p *parser) calculate(l *strictOperand, t token, r *strictOperand) (strictOperand, error) {
	for _, o := range []*strictOperand{l, r} {
		if o.value == nil || o.call != nil || kindOf(o.value) == textKind || isBool(o.value) {
			return *l, p.fail(o.at, "only numbers and properties can be calculated with")
		}
	}
	a := &strictArithmetic{l.value, t.text[0], r.value}
	_, lok := l.value.(*strictConst)
	_, rok := r.value.(*strictConst)
	if lok && rok {
		n := a.eval(nil)
		if n.null() {
			return *l, p.fail(t.at, "the result is no number")
		}
		return strictOperand{value: n.constant(), at: l.at}, p.count()
	}
	return strictOperand{value: a, at: l.at}, p.count()
}

func isBool(v strictValue) bool {
	c, ok := v.(*strictConst)
	return ok && c.isBool
}

func (p *parser) strictFactor() (strictOperand, error) {
	t := p.ahead
	if t.kind == tokPlus || t.kind == tokMinus {
		if err := p.enter(); err != nil {
			return strictOperand{}, err
		}
		defer func() { p.depth-- }()
		if err := p.advance(); err != nil {
			return strictOperand{}, err
		}
		o, err := p.strictFactor()
		if err != nil {
			return o, err
		}
		zero := strictOperand{value: &strictConst{}, at: t.at}
		return p.calculate(&zero, t, &o)
	}
	if t.kind == tokOpen {
		return p.strictParenthesis(t)
	}
	if err := p.count(); err != nil {
		return strictOperand{}, err
	}
	if t.kind == tokCall {
		return p.strictCall(t)
	}
	v, err := p.strictAtom(t)
	if err != nil {
		return strictOperand{}, err
	}
	return strictOperand{value: v, at: t.at}, p.advance()
}

func (p *parser) strictCall(t token) (strictOperand, error) {
	if err := p.advance(); err != nil {
		return strictOperand{}, err
	}
	c, err := p.call(t)
	if err != nil {
		return strictOperand{}, err
	}
	if cond, ok := c.condition(); ok {
		return strictOperand{cond: cond, at: t.at}, nil
	}
	return strictOperand{call: c, at: t.at}, nil
}

func (p *parser) strictParenthesis(t token) (strictOperand, error) {
	if err := p.enter(); err != nil {
		return strictOperand{}, err
	}
	defer func() { p.depth-- }()
	if err := p.advance(); err != nil {
		return strictOperand{}, err
	}
	o, err := p.strictOr()
	if err != nil {
		return o, err
	}
	_, err = p.expect(tokClose, ")")
	o.at = t.at
	return o, err
}

func (p *parser) strictAtom(t token) (strictValue, error) {
	switch t.kind {
	case tokIdent:
		return &strictProperty{t.text}, nil
	case tokString:
		s := unquote(t.text)
		return &strictConst{text: &s}, nil
	case tokInteger, tokFloat:
		text := strings.TrimRight(t.text, "lL")
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return &strictConst{number: strictNumber{int: n}}, nil
		}
		f, ok := filter.ParseDouble([]byte(text))
		if !ok || f > maxDouble {
			return nil, p.fail(t.at, "%s is too large", t.text)
		}
		return &strictConst{number: strictNumber{float: true, f: f}}, nil
	case tokTrue, tokFalse:
		return &strictConst{isBool: true, truth: t.kind == tokTrue}, nil
	case tokNull:
		return nil, p.fail(t.at, "NULL can only stand in IS NULL and IS NOT NULL")
	}
	return nil, p.fail(t.at, "expected a property, a number, a text in quotes or (, found %s", t)
}
