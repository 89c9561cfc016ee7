package sql92

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strings"
	"testing"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/filter/filtertest"
)

// goFunctions are functions in Go. They note for how many messages they were called.
type goFunctions struct {
	called map[string]int
	open   int
	impure bool
}

// Function knows m.big(int64): greater than 10, which fails at 77 and is unknown for 5; m.half(double) and m.length(text), which
// returns an int64.
func (g *goFunctions) Function(_ context.Context, module, name string) (filter.Function, error) {
	if module != "" && module != "m" {
		return nil, fmt.Errorf("there is no module %s", module)
	}
	f := &goFunction{g: g, name: name}
	switch name {
	case "big":
		f.args, f.result = []filter.ValueKind{filter.Int64Value}, filter.BooleanValue
	case "half":
		f.args, f.result = []filter.ValueKind{filter.DoubleValue}, filter.DoubleValue
	case "length":
		f.args, f.result = []filter.ValueKind{filter.TextValue}, filter.Int64Value
	case "starts":
		f.args, f.result = []filter.ValueKind{filter.TextValue, filter.TextValue, filter.BooleanValue, filter.Int32Value}, filter.BooleanValue
	default:
		return nil, fmt.Errorf("there is no function %s", name)
	}
	g.open++
	return f, nil
}

func (g *goFunctions) Filter(_ context.Context, reference string, settings map[string]string) (filter.Function, error) {
	if reference != "tagged" {
		return nil, fmt.Errorf("there is no module %q", reference)
	}
	g.open++
	return &goFunction{g: g, name: "filter", settings: fmt.Sprint(settings), result: filter.BooleanValue}, nil
}

type goFunction struct {
	g        *goFunctions
	name     string
	settings string
	args     []filter.ValueKind
	result   filter.ValueKind
}

func (f *goFunction) Name() string                   { return f.name }
func (f *goFunction) Key() filter.Key                { var k filter.Key; copy(k[:], f.name+f.settings); return k }
func (f *goFunction) Pure() bool                     { return !f.g.impure }
func (f *goFunction) Needs() filter.Needs            { return filter.Needs{Properties: []string{}} }
func (f *goFunction) Arguments() []filter.ValueKind  { return f.args }
func (f *goFunction) Result() filter.ValueKind       { return f.result }
func (f *goFunction) OnPoison() filter.FailureAction { return filter.Drop }
func (f *goFunction) OnFault() filter.FailureAction  { return filter.Hold }
func (f *goFunction) Fault() error                   { return errors.New("77") }
func (f *goFunction) Strict() bool                   { return true }
func (f *goFunction) Close() error                   { f.g.open--; return nil }
func (f *goFunction) at(a *filter.Argument, i int) int {
	return map[bool]int{true: 0, false: i}[a.Constant]
}

func (f *goFunction) Call(_ context.Context, c *filter.Call, r *filter.Values) error {
	f.g.called[f.name] += bits.OnesCount64(c.Want)
	for i := range filter.ColumnsMax {
		bit := uint64(1) << i
		if c.Want&bit == 0 {
			continue
		}
		missing, malformed := false, false
		for k := range c.Args {
			missing = missing || c.Args[k].Missing&bit != 0
			malformed = malformed || c.Args[k].Malformed&bit != 0
		}
		switch {
		case missing:
			r.Unknown |= bit
		case malformed:
			r.Raise |= bit
		default:
			f.one(c, r, i, bit)
		}
	}
	return nil
}

func (f *goFunction) one(c *filter.Call, r *filter.Values, i int, bit uint64) {
	number := func(k int) int64 { return c.Args[k].Numbers[f.at(&c.Args[k], i)] }
	text := func(k int) string { return string(c.Args[k].Texts[f.at(&c.Args[k], i)]) }
	switch f.name {
	case "big":
		switch n := number(0); {
		case n == 77:
			r.Failed |= bit
			r.Poison |= bit
		case n == 5:
			r.Unknown |= bit
		case n > 10:
			r.True |= bit
		}
	case "half":
		r.Numbers[i] = int64(math.Float64bits(math.Float64frombits(uint64(number(0))) / 2))
	case "length":
		r.Numbers[i] = int64(len(text(0)))
	case "starts":
		if strings.HasPrefix(text(0), text(1)) == (number(2) == 1) && number(3) == -3 {
			r.True |= bit
		}
	case "filter":
		if c.Batch.TagsCodes[c.First+i] == 9 {
			r.True |= bit
		}
	}
}

// TestCalls judges messages with the properties a, b, c by expressions with calls, in the two sorts of dialects. The letters
// are the outcomes: T, F, U, R, and P for poison.
func TestCalls(t *testing.T) {
	messages := []map[string]string{
		{"a": "20", "b": "x", "c": "2.5"}, {"a": "3", "b": "abcd", "c": "8"}, {"a": "5"}, {"b": "abc", "c": "x"}, {"a": "77", "b": "ab"}, {"a": "z", "c": "1e3"},
	}
	tests := []struct{ text, want, strict string }{
		{"wasm.m.big(a)", "TFUUPR", ""},
		{"wasm.big(a)", "TFUUPR", ""},
		{"NOT wasm.big(a)", "FTUUPR", ""},
		{"wasm.big(a) IS NULL", "FFTTPR", "-"},
		{"b = 'ab' OR wasm.big(a)", "TFUUTR", ""},            // the failure of message 4 is hidden
		{"b = 'x' AND wasm.big(a)", "TFUFFU", ""},            // unknown in front of a call is enough
		{"wasm.big(a) AND b = 'x'", "TFUFFU", ""},            // the same: calls are made last
		{"(wasm.big(a) AND b = 'x') IS NULL", "FFTFPR", "-"}, // but not here, where a raise can be seen
		{"wasm.big(a) OR b = 'ab'", "TFUUPR", ""},
		{"wasm.half(c) > 3", "FTURUT", ""}, // what is no argument raises, in all dialects
		{"3 < wasm.half(c)", "FTURUT", ""},
		{"wasm.half(c) BETWEEN 1 AND 4.5", "TTURUF", ""},
		{"wasm.half(c) IS NULL", "FFTRTF", ""},
		{"wasm.length(b) = 4", "FTUFFU", ""},
		{"4 = wasm.length(b)", "FTFFFF", "FTUFFU"}, // missing on the right is false, in RocketMQ's language
		{"wasm.length(b) <> 4", "TFUTTU", ""},
		{"wasm.length(b) = wasm.half(c)", "FTTRFU", "-"},
		{"wasm.length(b) < a", "TFUUTU", ""},
		{"wasm.length('abc') = 3 AND wasm.big(11)", "TTTTTT", ""},
		{"wasm.big(wasm.length(b)) IS NULL", "FFTFFT", "-"},
		{"wasm.half(wasm.length(b)) = 2.0", "FTUFFU", ""},
		{"wasm.starts(b, 'ab', TRUE, -3)", "FTUTTU", ""},
		{"wasm.starts(b, 'ab', wasm.big(a), -3)", "FFUUPU", "-"}, // what is missing hides the failure behind it
		{"wasm.starts(b, 'ab', FALSE, - + 3)", "TFUFFU", ""},
		{"wasm.filter('tagged') AND a = 20", "TFFUFR", "-"},
		{"wasm.filter('tagged', '{\"x\": 1, \"y\": \"z\", \"b\": true}') OR b = 'ab'", "TFUFTU", "-"},
	}
	for _, dialect := range []string{"rocketmq", "strict"} {
		for _, tt := range tests {
			want := tt.want
			if dialect == "strict" {
				switch tt.strict {
				case "-":
					continue
				case "":
				default:
					want = tt.strict
				}
			}
			g := &goFunctions{called: map[string]int{}}
			c := compilerOf(engineAuto, dialect)
			c.UseFunctions(g)
			p, err := c.Compile(context.Background(), sql(tt.text))
			if err != nil {
				t.Errorf("%s: %v", tt.text, err)
				continue
			}
			b := &filter.Batch{Topic: "T"}
			for k := range 70 { // more than one word
				m := messages[k%len(messages)]
				b.Records, b.TagsCodes = append(b.Records, recordOf(m)), append(b.TagsCodes, 0)
			}
			b.TagsCodes[0], b.TagsCodes[66] = 9, 9
			got := lettersOf(t, p, b)
			if got[:6] != want {
				t.Errorf("%s %s: %s, want %s", dialect, tt.text, got[:6], want)
			}
			if !strings.Contains(tt.text, "tagged") && got[6:12] != got[:6] {
				t.Errorf("%s: %s", tt.text, got)
			}
			if err := p.Close(); err != nil || g.open != 0 {
				t.Errorf("%s: %d functions are open, %v", tt.text, g.open, err)
			}
		}
	}
}

func lettersOf(t *testing.T, p filter.Program, b *filter.Batch) string {
	t.Helper()
	var v filter.Verdicts
	v.Reset(b.Len())
	if err := p.Match(context.Background(), b, &v); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for i, o := range judgeAll(t, p, b) {
		switch {
		case filter.HasBit(v.Poison, i):
			out.WriteByte('P')
		case o == filtertest.True:
			out.WriteByte('T')
		case o == filtertest.Unknown:
			out.WriteByte('U')
		case o == filtertest.Raise:
			out.WriteByte('R')
		case o == filtertest.Undecided:
			out.WriteByte('?')
		default:
			out.WriteByte('F')
		}
	}
	return out.String()
}

// TestCallsAreMadeOnceAndLate counts for how many messages a function is called.
func TestCallsAreMadeOnceAndLate(t *testing.T) {
	g := &goFunctions{called: map[string]int{}}
	c := compilerOf(engineAuto, "rocketmq")
	c.UseFunctions(g)
	p, err := c.Compile(context.Background(), sql("b = 'x' AND (wasm.big(a) OR wasm.m.big(a) IS NULL) AND wasm.length(b) BETWEEN 1 AND 3"))
	if err != nil {
		t.Fatal(err)
	}
	b := &filter.Batch{}
	for i := range 640 {
		m := map[string]string{"a": fmt.Sprint(i), "b": "y"}
		if i%10 == 0 {
			m["b"] = "x"
		}
		b.Records, b.TagsCodes = append(b.Records, recordOf(m)), append(b.TagsCodes, 0)
	}
	judgeAll(t, p, b)
	if g.called["big"] != 64 || g.called["length"] > 64 || g.called["length"] < 55 {
		t.Errorf("called %v; 64 messages of 640 pass what stands on the left", g.called)
	}
	if p.(filter.Variant).RocketMQ() || !p.Pure() {
		t.Errorf("RocketMQ %v, pure %v", p.(filter.Variant).RocketMQ(), p.Pure())
	}
	if g.impure = true; p.Pure() {
		t.Error("pure, with a function that isn't")
	}
	if _, ok := p.(filter.ColumnMatcher); ok {
		t.Error("a program with calls judges by columns")
	}
}

// TestCallRefusals wants errors that name what is wrong and where, and no function left open.
func TestCallRefusals(t *testing.T) {
	g := &goFunctions{called: map[string]int{}}
	c := compilerOf(engineAuto, "rocketmq")
	const prefix = "parse SQL92 expression: "
	if _, err := c.Compile(context.Background(), sql("wasm.big(a)")); err == nil ||
		err.Error() != prefix+"at character 1: wasm.big can't be called: no running filter offers functions; enable wasm modules under filters and service in broker.yaml" {
		t.Errorf("nobody offers functions: %v", err)
	}
	c.UseFunctions(g)
	for text, want := range map[string]string{
		"a = 1 AND wasm.nothing(a)":           "at character 11: there is no function nothing",
		"wasm.n.big(a)":                       "at character 1: there is no module n",
		"wasm.big()":                          "at character 1: wasm.big takes 1 arguments, not 0",
		"wasm.big(a, b)":                      "at character 1: wasm.big takes 1 arguments, not 2",
		"wasm.big('x')":                       "at character 10: argument 1 of wasm.big is of type int64: the literal doesn't fit",
		"wasm.big(1.5)":                       "at character 10: argument 1 of wasm.big is of type int64: the literal doesn't fit",
		"wasm.starts(a, a, TRUE, 3000000000)": "at character 25: argument 4 of wasm.starts is of type int32: the literal doesn't fit",
		"wasm.big(wasm.half(a))":              "at character 10: argument 1 of wasm.big is of type int64: the value of half is of type double",
		"wasm.big(a = 1)":                     `at character 12: expected , or ) after an argument, found "="`,
		"wasm.big(-a)":                        `at character 11: an argument is a property, a text in quotes, a number, TRUE, FALSE or a call of a function; found "a"`,
		"wasm.big a":                          `at character 10: expected ( after wasm.big, found "a"`,
		"wasm.big(a":                          "at character 11: expected , or ) after an argument, found the end",
		"wasm.half(a)":                        "at character 1: a condition is needed here, such as a comparison",
		"wasm.half(a) AND b = 1":              "at character 1: a condition is needed here, such as a comparison",
		"-wasm.half(a) > 1":                   "at character 1: the value of a function can't be negated",
		"wasm.half(a) = 'x'":                  "at character 16: the value of a function can be compared with numbers, properties, and values of functions",
		"wasm.half(a) = TRUE":                 "at character 16: the value of a function can be compared with numbers, properties, and values of functions",
		"wasm.half(a) IN ('x')":               "at character 1: only a property can be looked up by IN",
		"wasm.filter(a)":                      "at character 13: wasm.filter takes texts in quotes only",
		"wasm.filter('x')":                    `at character 1: there is no module "x"`,
		"wasm.filter('tagged', 'x')":          "at character 23: the settings of a module are a JSON object of texts, numbers and booleans: invalid character 'x' looking for beginning of value",
		"wasm.filter('tagged', '{\"a\":[]}')": "at character 23: the settings of a module are a JSON object of texts, numbers and booleans: a is none of these",
		"wasm.big(a) AND wasm.filter('x')":    `at character 17: there is no module "x"`,
	} {
		if _, err := c.Compile(context.Background(), sql(text)); err == nil || err.Error() != prefix+want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if g.open != 0 {
		t.Errorf("%d functions are open", g.open)
	}
	for _, text := range []string{"wasm = 1", "a = 1 wasm.big(a) nonsense", "Wasm.big = 1 ", "wasm.5 = 1"} { // as before
		_, err := c.Compile(context.Background(), sql(text))
		if refused := err != nil; refused != strings.HasPrefix(text, "Wasm.") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
