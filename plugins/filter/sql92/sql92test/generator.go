// Package sql92test makes random SQL92 expressions and properties for tests that compare evaluators with each other. Most
// texts compile, most comparisons are with values near the boundary, and everything odd about RocketMQ's language turns up:
// dropped tails, NOT that binds too tightly, conditions as operands, numbers that only Java reads.
package sql92test

import (
	"math/rand/v2"
	"strconv"
	"strings"
)

// Generator makes cases. The same seed makes the same cases.
type Generator struct {
	r *rand.Rand
	// Five adds the operators of RocketMQ 5.
	Five bool
}

// New returns a generator.
func New(seed uint64) *Generator { return &Generator{r: rand.New(rand.NewPCG(seed, 92))} }

var names = []string{"a", "b", "c", "d", "TAGS", "$x_1"}

// interesting values of properties. None is empty: an empty property doesn't exist.
var values = []string{
	"0", "1", "2", "3", "4", "5", "10", "-1", "-5", "+3", "3.0", "3.5", "1e1", ".5", "5.", "007", "2147483647", "2147483648",
	"-2147483648", "-2147483649", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "1700000000000",
	"0.1", "-0.0", "0.0", "1e400", "-1e400", "1e-400", "4.9E-324", "1.7976931348623157E308", "NaN", "-NaN", "Infinity", "-Infinity",
	"+Infinity", "inf", "nan", "infinity", "INFINITY", "1d", "1.5f", "2D", "3F", "1dd", "0x10", "0x1p3", "0x.8p0", "0x1.p0", "0x1p", "-0x1P-1d", "0xfp0f",
	"1_000", "0x1_0p0", " 3", "3 ", "\t3.5\n", " ", "- 3", "--3", "+", "-", ".", "e", "1e", "1e+", "1e+5", "1E5d", "３", "٣", "３.5", "𝟛",
	"true", "TRUE", "True", "false", "null", "x", "X", "xy", "axb", "it's", "''", "中文", "a b", "TagA", "TagB", "k1 k2", "x\x01y",
	"0.30000000000000004", "9007199254740993", "9007199254740992", "123456789012345678901234567890", "00000000000000000000000000003",
	"0.000000000000000000000000000001", "3L", "3l", "x\nyz", "1234567890123456", "a rather long text that doesn't fit", "x\u00e9", "\u00a03",
}

var literals = []string{
	"0", "1", "2", "3", "4", "5", "10", "2147483647", "2147483648", "3000000000", "9223372036854775807", "3L", "5l", "3000000000L", "3.0", "3.5",
	".5", "5.", "1e1", "5E-1", "4.9E-324", "1.7976931348623157E308", "9007199254740993", "9007199254740992.0", "0.1", "1700000000000",
	"9223372036854775808", "0.0", "1e400", "007", "0L", "0x10", "1.5f",
}

var texts = []string{
	"'1'", "'3'", "'x'", "'X'", "'true'", "'TRUE'", "'false'", "'it''s'", "''''", "''", "'中文'", "'TagA'", "'3.0'", "'xy'", "'k1 k2'", "'-'", "'a b'",
	"'a rather long text that doesn''t fit'", "'1234567890123456'",
}

// Properties makes the properties of a message: none to all of the names, each once.
func (g *Generator) Properties() map[string]string {
	p := map[string]string{}
	for _, n := range names {
		switch g.r.IntN(10) {
		case 0, 1, 2:
		case 3, 4, 5:
			p[n] = strconv.Itoa(g.r.IntN(12) - 3)
		default:
			p[n] = pick(g.r, values)
		}
	}
	return p
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// Expression makes an expression. About one in five doesn't compile.
func (g *Generator) Expression() string {
	e := g.condition(g.r.IntN(5))
	switch g.r.IntN(12) {
	case 0:
		e += pick(g.r, []string{" x", ", b", " (c = 1)", " AMD b = 2", " LIKE 'x%'", " + 1 > 2", ")", " 'x'", " 5", " NOT", " IS", " -- end", " ;", " b.c", " /* */", " x /* open", " !"})
	case 1:
		e = g.damage(e)
	}
	return e
}

// damage changes, drops or doubles one word.
func (g *Generator) damage(e string) string {
	words := strings.Fields(e)
	i := g.r.IntN(len(words))
	switch g.r.IntN(3) {
	case 0:
		words[i] = pick(g.r, []string{"(", ")", "NOT", "AND", "=", "NULL", "TRUE", "-", "+", "a", "'x'", "5", ",", "IN", "IS", "<>", "BETWEEN"})
	case 1:
		words = append(words[:i], words[i+1:]...)
	default:
		words = append(words[:i+1], words[i:]...)
	}
	return strings.Join(words, " ")
}

func (g *Generator) condition(depth int) string {
	if depth > 0 {
		switch g.r.IntN(9) {
		case 0, 1:
			return g.condition(depth-1) + g.word(" and ") + g.condition(depth-1)
		case 2, 3:
			return g.condition(depth-1) + g.word(" or ") + g.condition(depth-1)
		case 4:
			return g.word("not ") + "(" + g.condition(depth-1) + ")"
		case 5:
			return "(" + g.condition(depth-1) + ")"
		case 6:
			return "(" + g.condition(depth-1) + ")" + g.is()
		case 7:
			return g.operand(depth) + g.equality() + g.operand(depth)
		}
	}
	return g.leaf(depth)
}

func (g *Generator) leaf(depth int) string {
	switch g.r.IntN(24) {
	case 0:
		return g.name()
	case 1:
		return g.word("not ") + g.name()
	case 2:
		return pick(g.r, []string{"TRUE", "FALSE", "NULL", "true", "Null"})
	case 3, 4:
		return g.operand(depth) + g.is()
	case 5, 6:
		return g.name() + g.maybeNot() + g.word(" in ") + "(" + g.members() + ")"
	case 7, 8, 9:
		low, high := g.number(), g.number()
		if g.r.IntN(3) > 0 {
			low, high = strconv.Itoa(g.r.IntN(4)), strconv.Itoa(4+g.r.IntN(6))
		}
		return g.operand(0) + g.maybeNot() + g.word(" between ") + low + g.word(" and ") + high
	case 10, 11:
		if g.Five {
			return g.operand(0) + g.maybeNot() + g.word(pick(g.r, []string{" contains ", " startswith ", " endswith "})) + pick(g.r, texts)
		}
		return g.name() + g.equality() + pick(g.r, texts)
	case 12, 13, 14:
		return g.name() + g.equality() + g.number()
	case 15:
		return g.number() + g.equality() + g.name()
	case 16, 17:
		return g.name() + g.equality() + pick(g.r, texts)
	case 18:
		return g.name() + g.equality() + g.name()
	case 19:
		return g.operand(depth) + g.equality() + g.operand(depth)
	case 20, 21:
		return g.name() + g.order() + g.number()
	default:
		return g.operand(0) + g.order() + g.operand(0)
	}
}

func (g *Generator) operand(depth int) string {
	switch g.r.IntN(12) {
	case 0:
		return pick(g.r, texts)
	case 1, 2:
		return g.number()
	case 3:
		return pick(g.r, []string{"-", "- ", "+", "- -", "-+"}) + g.name()
	case 4:
		if depth > 0 {
			return pick(g.r, []string{"", "", "-"}) + "(" + g.condition(depth-1) + ")"
		}
		return pick(g.r, []string{"TRUE", "FALSE", "NOT a", "NOT NULL"})
	}
	return g.name()
}

func (g *Generator) number() string {
	n := pick(g.r, literals)
	if g.r.IntN(2) == 0 {
		n = strconv.Itoa(g.r.IntN(8))
	}
	return pick(g.r, []string{"", "", "", "-", "+", "- "}) + n
}

func (g *Generator) name() string {
	if g.r.IntN(20) == 0 {
		return "(" + pick(g.r, names) + ")"
	}
	return pick(g.r, names[:2+g.r.IntN(len(names)-1)])
}

func (g *Generator) members() string {
	list := make([]string, 1+g.r.IntN(7))
	for i := range list {
		list[i] = pick(g.r, texts)
		if g.r.IntN(3) == 0 {
			list[i] = "'" + strconv.Itoa(g.r.IntN(8)) + "'"
		}
	}
	return strings.Join(list, pick(g.r, []string{",", ", ", " ,"}))
}

func (g *Generator) equality() string {
	return pick(g.r, []string{" = ", "=", " <> ", "<>", " = /* is */ "})
}
func (g *Generator) order() string {
	return pick(g.r, []string{" > ", ">", " >= ", " < ", " <= ", "<="})
}
func (g *Generator) is() string {
	return g.word(pick(g.r, []string{" is null", " is not null"}))
}
func (g *Generator) maybeNot() string {
	return pick(g.r, []string{"", "", g.word(" not")})
}

// word writes a key word in some case.
func (g *Generator) word(w string) string {
	if g.r.IntN(2) == 0 {
		return strings.ToUpper(w)
	}
	return w
}

// StrictExpression makes an expression of the strict dialect. Most compile.
func (g *Generator) StrictExpression() string {
	e := g.strict(g.r.IntN(4))
	if g.r.IntN(12) == 0 {
		return g.damage(e)
	}
	return e
}

func (g *Generator) strict(depth int) string {
	if depth > 0 {
		switch g.r.IntN(5) {
		case 0, 1:
			return g.strict(depth-1) + g.word(pick(g.r, []string{" and ", " or "})) + g.strict(depth-1)
		case 2:
			return g.word("not ") + g.strict(depth-1)
		case 3:
			return "(" + g.strict(depth-1) + ")"
		}
	}
	switch g.r.IntN(10) {
	case 0:
		return g.name()
	case 1:
		return g.name() + g.is()
	case 2:
		return g.name() + g.maybeNot() + g.word(" like ") + pick(g.r, []string{"'%'", "'x%'", "'%x'", "'_x_'", "'%1%'", "'a\\_%' ESCAPE '\\'", "'%t'", "''", "'中_'"})
	case 3:
		return g.name() + g.maybeNot() + g.word(" in ") + "(" + g.members() + ", " + g.number() + ")"
	case 4:
		return g.name() + g.maybeNot() + g.word(" between ") + strconv.Itoa(g.r.IntN(4)) + g.word(" and ") + g.sum()
	case 5:
		return g.name() + g.maybeNot() + g.word(pick(g.r, []string{" contains ", " startswith ", " endswith "})) + pick(g.r, texts)
	case 6:
		return g.name() + pick(g.r, []string{" = ", " <> ", " != "}) + pick(g.r, append(texts, "TRUE", "FALSE"))
	default:
		return g.sum() + pick(g.r, []string{" = ", " <> ", " < ", " >= "}) + g.sum()
	}
}

func (g *Generator) sum() string {
	e := g.name()
	if g.r.IntN(3) == 0 {
		e = g.number()
	}
	if g.r.IntN(3) == 0 {
		e += pick(g.r, []string{" + ", " - ", " * ", " / ", " % "}) + g.sum()
	}
	return e
}
