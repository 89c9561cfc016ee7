package expr

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weirmq/weir/core/filter/filtertest"
	"github.com/weirmq/weir/core/message"
)

// TestAgree makes random expressions together with what they mean, told by other code than the plugin's, and compares: with
// the program as it is compiled, and with one that runs in expr's machine alone. Messages miss properties and have ones
// that aren't numbers, so all outcomes occur.
func TestAgree(t *testing.T) {
	rounds := 2000
	if testing.Short() {
		rounds = 500
	}
	seen := map[filtertest.Outcome]int{}
	r := rand.New(rand.NewPCG(4, 9))
	machine := newCompiler(t, nil).(*compiler)
	machine.machineOnly = true
	for range rounds {
		g := &generator{r: r}
		text, meaning := g.condition(4)
		p := compile(t, text)
		m, err := machine.Compile(context.Background(), expression(text))
		if err != nil {
			t.Fatalf("%s: for the machine: %v", text, err)
		}
		if p.Key() != m.Key() {
			t.Fatalf("%s: two keys", text)
		}
		for range 8 {
			props := g.properties()
			rec := record(t, nil, props...)
			want := outcomeFor(meaning(propertyMap(props)))
			seen[want]++
			if got := judge(t, p, rec); got != want {
				t.Fatalf("%s of %q: %s, want %s", text, props, got, want)
			}
			if got := judge(t, m, rec); got != want {
				t.Fatalf("%s of %q: the machine says %s, want %s", text, props, got, want)
			}
		}
	}
	t.Log(seen)
	for _, o := range []filtertest.Outcome{yes, no, unknown, raise} {
		if seen[o] < rounds/10 {
			t.Errorf("only %d messages were %s", seen[o], o)
		}
	}
}

func propertyMap(list []string) map[string]string {
	m := map[string]string{}
	for _, p := range list {
		name, value, _ := strings.Cut(p, "=")
		m[name] = value
	}
	return m
}

// failed is the value of what raises.
type failed struct{}

// meaning gives nil, a bool, an int, a float64, a string or failed.
type meaning func(map[string]string) any

func outcomeFor(v any) filtertest.Outcome {
	switch v {
	case true:
		return yes
	case false:
		return no
	case nil:
		return unknown
	}
	return raise
}

type generator struct{ r *rand.Rand }

func (g *generator) pick(list ...string) string { return list[g.r.IntN(len(list))] }

func (g *generator) properties() (list []string) {
	for _, name := range []string{"a", "b", "c"} {
		if v := g.pick("", "1", "2", "-3", "2.5", "x", "7", "1"); v != "" {
			list = append(list, name+"="+v)
		}
	}
	return list
}

// condition makes something that is true, false or nil.
func (g *generator) condition(depth int) (string, meaning) {
	kind := g.r.IntN(11)
	if depth == 0 {
		kind = g.r.IntN(5)
	}
	switch kind {
	case 0:
		name := g.pick("a", "b", "c")
		return fmt.Sprintf("has(%q)", name), func(m map[string]string) any { return m[name] != "" }
	case 1, 2:
		return g.comparison(g.number(2))
	case 3:
		return g.comparison(g.text())
	case 4:
		return g.member()
	case 5, 6:
		return g.connective(depth, g.pick("and", "&&"), false)
	case 7, 8:
		return g.connective(depth, g.pick("or", "||"), true)
	case 9:
		text, v := g.condition(depth - 1)
		return "not (" + text + ")", func(m map[string]string) any {
			if b, ok := v(m).(bool); ok {
				return !b
			}
			return v(m)
		}
	}
	c, cond := g.condition(depth - 1)
	a, left := g.condition(depth - 1)
	b, right := g.condition(depth - 1)
	return "((" + c + ") ? (" + a + ") : (" + b + "))", func(m map[string]string) any {
		switch cond(m) {
		case true:
			return left(m)
		case failed{}:
			return failed{}
		}
		return right(m)
	}
}

// connective is and or or, told by the truth table: decisive is the value that decides.
func (g *generator) connective(depth int, operator string, decisive bool) (string, meaning) {
	a, left := g.condition(depth - 1)
	b, right := g.condition(depth - 1)
	return "(" + a + ") " + operator + " (" + b + ")", func(m map[string]string) any {
		x := left(m)
		if x == decisive || x == (failed{}) {
			return x
		}
		y := right(m)
		if y == decisive || y == (failed{}) {
			return y
		}
		if x == nil || y == nil {
			return nil
		}
		return !decisive
	}
}

type typed struct {
	text  string
	value meaning
	text2 func() (string, meaning) // another of the same type
}

func (g *generator) number(depth int) typed {
	text, value := g.arithmetic(depth)
	return typed{text, value, func() (string, meaning) { return g.arithmetic(depth) }}
}

func (g *generator) text() typed {
	text, value := g.textValue()
	return typed{text, value, g.textValue}
}

func (g *generator) textValue() (string, meaning) {
	if g.r.IntN(2) == 0 {
		s := g.pick("1", "2", "x", "y", "2.5")
		return fmt.Sprintf("%q", s), func(map[string]string) any { return s }
	}
	name := g.pick("a", "b", "c")
	return fmt.Sprintf("str(%q)", name), func(m map[string]string) any {
		if m[name] == "" {
			return nil
		}
		return m[name]
	}
}

func (g *generator) arithmetic(depth int) (string, meaning) {
	if depth > 0 && g.r.IntN(3) == 0 {
		a, left := g.arithmetic(depth - 1)
		b, right := g.arithmetic(depth - 1)
		operator := g.pick("+", "-", "*", "/")
		return "(" + a + " " + operator + " " + b + ")", func(m map[string]string) any { return compute(operator, left(m), right(m)) }
	}
	switch g.r.IntN(4) {
	case 0:
		n := g.r.IntN(4) - 1
		return fmt.Sprint(n), func(map[string]string) any { return n }
	case 1:
		return "2.5", func(map[string]string) any { return 2.5 }
	case 2:
		name := g.pick("a", "b", "c")
		return fmt.Sprintf("int(%q)", name), func(m map[string]string) any {
			switch m[name] {
			case "":
				return nil
			case "1", "2", "7", "-3":
				var n int
				fmt.Sscan(m[name], &n)
				return n
			}
			return failed{}
		}
	}
	name := g.pick("a", "b", "c")
	return fmt.Sprintf("num(%q)", name), func(m map[string]string) any {
		if m[name] == "" {
			return nil
		}
		var f float64
		if _, err := fmt.Sscan(m[name], &f); err != nil {
			return failed{}
		}
		return f
	}
}

func compute(operator string, a, b any) any {
	if a == (failed{}) || b == (failed{}) {
		return failed{}
	}
	if a == nil || b == nil {
		return nil
	}
	x, okX := a.(int)
	y, okY := b.(int)
	if okX && okY && operator != "/" {
		return map[string]int{"+": x + y, "-": x - y, "*": x * y}[operator]
	}
	f, h := toFloat(a), toFloat(b)
	return map[string]float64{"+": f + h, "-": f - h, "*": f * h, "/": f / h}[operator]
}

func toFloat(v any) float64 {
	if n, ok := v.(int); ok {
		return float64(n)
	}
	return v.(float64)
}

func (g *generator) comparison(left typed) (string, meaning) {
	operator := g.pick("==", "!=", "<", "<=", ">", ">=")
	text, right := left.text2()
	return left.text + " " + operator + " " + text, func(m map[string]string) any {
		x, y := left.value(m), right(m)
		switch {
		case x == (failed{}) || y == (failed{}):
			return failed{}
		case operator == "==" || operator == "!=":
			same := x == y
			if x != nil && y != nil {
				same = sign3(x, y) == 0
			}
			return same == (operator == "==")
		case x == nil || y == nil:
			return nil
		}
		s := sign3(x, y)
		return s <= 1 && map[string]bool{"<": s < 0, "<=": s <= 0, ">": s > 0 && s <= 1, ">=": s >= 0 && s <= 1}[operator]
	}
}

// sign3 is -1, 0 or 1, or 2 when the values can't be ordered.
func sign3(a, b any) int {
	if s, ok := a.(string); ok {
		return strings.Compare(s, b.(string))
	}
	x, y := toFloat(a), toFloat(b)
	switch {
	case math.IsNaN(x) || math.IsNaN(y):
		return 2
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

func (g *generator) member() (string, meaning) {
	switch g.r.IntN(4) {
	case 0:
		text, v := g.textValue()
		return text + ` in ["1", "x"]`, func(m map[string]string) any { return v(m) == "1" || v(m) == "x" }
	case 1:
		text, v := g.arithmetic(1)
		return text + ` in 1..2`, func(m map[string]string) any {
			if v(m) == (failed{}) {
				return failed{}
			}
			return v(m) == 1 || v(m) == 2 || v(m) == 1.0 || v(m) == 2.0
		}
	case 2:
		text, v := g.textValue()
		return text + ` contains "."`, func(m map[string]string) any {
			s, _ := v(m).(string)
			return strings.Contains(s, ".")
		}
	}
	text, v := g.arithmetic(1)
	return "(" + text + " ?? 1) > 0", func(m map[string]string) any {
		switch n := v(m).(type) {
		case failed:
			return failed{}
		case nil:
			return true
		default:
			return toFloat(n) > 0
		}
	}
}

// fuzzRecords are messages with all kinds of content.
func fuzzRecords(t testing.TB) [][]byte {
	list := [][]byte{record(t, nil)}
	for _, body := range []string{"", "text", `{"a":1,"b":[1,2,{"c":"x"}],"d":{"e":null,"f":1.5e3},"g":true}`, `[[[1]]]`, "\xff\x00", `{"a":"` + strings.Repeat("x", 3000)} {
		list = append(list, record(t, func(m *message.Message) { m.Body, m.QueueID = []byte(body), 3 },
			"a=1", "b=x", "c=2.5", "TAGS=t", "KEYS=k1 k2", "n=-7", "é=ü", "big=1e999"))
	}
	return append(list, record(t, func(m *message.Message) { m.SysFlag = message.FlagCompressed }, "a=x", "b=1"))
}

// FuzzCompile compiles and runs texts: nothing panics, errors are one line, a verdict doesn't depend on what was judged
// before, and parts and machine agree.
func FuzzCompile(f *testing.F) {
	for _, b := range benchmarks {
		f.Add(b.text)
	}
	for _, text := range []string{`let x = json("b"); any(x, # == 1) and x[0] in 1..3`, `map(keys, len(#))[0] > 1 ? str("a")[1:] == "x" : not json("g")`,
		`body matches "^t" or (num("q") ?? 3) ** 2 >= 9`, `sum(json("b"), # ?? 0) > 1`, `type(json("d").e) == "nil"`, `"x" | upper() == "X"`, `1..3 == [1,2,3]`, `-(-num("a")) < +5`,
		`if has("a") { json("d")?.f } else { 1 } > 2`, `int("c") in [1, 2.5]`, `count(split(body, ""), # == "t") % 2 == 0`} {
		f.Add(text)
	}
	cfg := defaultConfig()
	cfg.WorkMax, cfg.MemoryMax = 20_000, 64<<10
	normal, machine := &compiler{cfg: cfg, shared: newShared()}, &compiler{cfg: cfg, shared: newShared(), machineOnly: true}
	records := fuzzRecords(f)
	f.Fuzz(func(t *testing.T, text string) {
		compiled, err := normal.Compile(t.Context(), expression(text))
		other, errOther := machine.Compile(t.Context(), expression(text))
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") || len(err.Error()) > 2000 {
				t.Errorf("the error isn't one short line: %q", err)
			}
			if errOther == nil || errOther.Error() != err.Error() {
				t.Errorf("%v, for the machine %v", err, errOther)
			}
			return
		}
		if errOther != nil || compiled.Key() != other.Key() {
			t.Fatalf("for the machine: %v", errOther)
		}
		if c, ok := compiled.(*columnProgram); ok {
			compiled = c.program
		}
		a, b := newEval(compiled.(*program).code), newEval(other.(*program).code)
		for range 2 {
			for i, raw := range records {
				rec, _, err := message.ViewRecord(raw)
				if err != nil {
					t.Fatal(err)
				}
				x, y := a.judge(rec), b.judge(rec)
				if x != y && !limited(a.err) && !limited(b.err) {
					t.Errorf("record %d: %d (%v), by the machine %d (%v)", i, x, a.err, y, b.err)
				}
			}
			a.release()
			b.release()
		}
	})
}

// limited says whether a limit was reached, which parts and machine reach at different places.
func limited(err error) bool {
	return err != nil && (strings.Contains(err.Error(), errWork.Error()) || strings.Contains(err.Error(), errMemory.Error()) || strings.Contains(err.Error(), "memory budget"))
}
