package sql92

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/filter/filtertest"
	"github.com/weirmq/weir/core/plugin"
	"github.com/weirmq/weir/core/plugin/plugintest"
	"github.com/weirmq/weir/plugins/filter/wasm"
)

const kitsDir = "../../../sdk/guest"

// kitFunctions are the functions of one module under one name.
type kitFunctions struct{ source filter.FunctionSource }

func (k kitFunctions) Function(ctx context.Context, module, name string) (filter.Function, error) {
	if module != "places" {
		return nil, fmt.Errorf("there is no module %s", module)
	}
	return k.source.Function(ctx, name)
}

func (k kitFunctions) Filter(context.Context, string, map[string]string) (filter.Function, error) {
	return nil, fmt.Errorf("no whole modules here")
}

// placesOf starts the example places of every kit. Go's is too large to be committed and is built, but not with -short.
func placesOf(t *testing.T) map[string]kitFunctions {
	t.Helper()
	list := map[string]kitFunctions{}
	for _, language := range []string{"c", "rust", "assemblyscript", "go"} {
		path := filepath.Join(kitsDir, language, "examples/places/places.wasm")
		if language == "go" {
			if testing.Short() {
				continue
			}
			path = buildPlaces(t)
		}
		f := wasm.NewFactory()
		cfg := f.DefaultConfig().(*wasm.Config)
		cfg.Path = path
		set := plugintest.Settings(t, wasm.Type)
		set.ID = plugin.ID{Type: wasm.Type, Name: "places"}
		c, err := f.NewCompiler(set, cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Stop(context.Background()) })
		if err := c.Start(context.Background(), &plugintest.Host{}); err != nil {
			t.Fatal(err)
		}
		list[language] = kitFunctions{c.(filter.FunctionSource)}
	}
	return list
}

func buildPlaces(t *testing.T) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "places.wasm")
	build := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", out, "./examples/places")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	for _, cmd := range []*exec.Cmd{build, exec.Command("go", "run", "./pack", "examples/places/manifest.json", out)} {
		cmd.Dir = filepath.Join(kitsDir, "go")
		if msg, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build the example in Go: %v\n%s", err, msg)
		}
	}
	return out
}

// verdict is what an expression says of a message.
type verdict = filtertest.Outcome

// condition is a random expression: its text, and what it says of a message, by nothing of what is tested.
type condition struct {
	text string
	of   func(m map[string]string) verdict
}

// operand is an argument or a call: its text and its value, of which ok says False in place of a value that there is.
type operand struct {
	text string
	of   func(m map[string]string) (x any, o verdict)
}

// there says that an operand has a value.
const there = filtertest.False

// callGenerator makes expressions with calls of the example places, and messages for them.
type callGenerator struct{ *rand.Rand }

func (g callGenerator) pick(list ...string) string { return list[g.IntN(len(list))] }

func (g callGenerator) message() map[string]string {
	m := map[string]string{}
	put := func(name string, values ...string) {
		if v := g.pick(values...); v != "" {
			m[name] = v
		}
	}
	put("lat", "52.3", "52.5", "52.70", "48.85", "5.25e1", "0x1.ap5", " 52.4 ", "", "north", "NaN", "-Infinity", "-0.0", "1e308", "52.299999")
	put("lon", "13", "13.8", "2.3", "13.4d", "13.4f", "", "", "13,4", "-1e308", "179.5")
	put("city", "berlin", "paris", "rome", "", "Berlin", "berlin ", "\xff\xfe", "ベルリン", strings.Repeat("paris", 9))
	put("customer", "ada", "grace", "", "\x80\xc3", "é", "x y", strings.Repeat("z", 300))
	put("n", "1", "2", "7", "100", "0", "-3", "", "many", "1.5", "9223372036854775807", "9223372036854775808", "+4")
	put("a", "x", "y", "")
	return m
}

// double and the others make an argument of a type: a property, a literal or the value of a call.
func (g callGenerator) double(depth int) operand {
	switch g.IntN(6) {
	case 0:
		x := []float64{52.5, 13.4, 1, 48.9, 2.25, -7.5}[g.IntN(6)]
		return operand{fmt.Sprintf("%.2f", x), func(map[string]string) (any, verdict) { return x, there }}
	case 1:
		if depth > 0 {
			return g.toDouble(g.share(depth - 1))
		}
	case 2:
		if depth > 0 {
			return g.apart(depth - 1)
		}
	}
	name := g.pick("lat", "lon", "lat", "lon", "n")
	return operand{name, func(m map[string]string) (any, verdict) {
		if m[name] == "" {
			return nil, filtertest.Unknown
		}
		x, ok := filter.ParseDouble([]byte(m[name]))
		if !ok {
			return nil, filtertest.Raise
		}
		return x, there
	}}
}

func (g callGenerator) toDouble(c operand) operand {
	return operand{c.text, func(m map[string]string) (any, verdict) {
		x, o := c.of(m)
		if o == there {
			x = float64(x.(int64))
		}
		return x, o
	}}
}

func (g callGenerator) integer(depth int) operand {
	switch g.IntN(3) {
	case 0:
		x := []int64{100, 7, 1, 0, 3_000_000_000}[g.IntN(5)]
		return operand{strconv.FormatInt(x, 10), func(map[string]string) (any, verdict) { return x, there }}
	case 1:
		if depth > 0 {
			return g.share(depth - 1)
		}
	}
	return operand{"n", func(m map[string]string) (any, verdict) {
		if m["n"] == "" {
			return nil, filtertest.Unknown
		}
		x, err := strconv.ParseInt(m["n"], 10, 64)
		if err != nil {
			return nil, filtertest.Raise
		}
		return x, there
	}}
}

func (g callGenerator) words() operand {
	if g.IntN(2) == 0 {
		x := g.pick("berlin", "paris", "rome", "")
		return operand{"'" + x + "'", func(map[string]string) (any, verdict) { return x, there }}
	}
	name := g.pick("city", "customer")
	return operand{name, func(m map[string]string) (any, verdict) {
		if m[name] == "" {
			return nil, filtertest.Unknown
		}
		return m[name], there
	}}
}

// call makes a call of a function whose arguments are all needed, from left to right.
func call(name string, value func(x []any) (any, verdict), args ...operand) operand {
	texts := make([]string, len(args))
	for k := range args {
		texts[k] = args[k].text
	}
	return operand{"wasm.places." + name + "(" + strings.Join(texts, ", ") + ")", func(m map[string]string) (any, verdict) {
		x := make([]any, len(args))
		for k := range args {
			var o verdict
			if x[k], o = args[k].of(m); o != there {
				return nil, o
			}
		}
		return value(x)
	}}
}

func (g callGenerator) within(depth int) operand {
	return call("within", func(x []any) (any, verdict) {
		lat, lon := x[0].(float64), x[1].(float64)
		switch x[2] {
		case "berlin":
			return lat >= 52.3 && lat <= 52.7 && lon >= 13 && lon <= 13.8, there
		case "paris":
			return lat >= 48.8 && lat <= 48.95 && lon >= 2.2 && lon <= 2.5, there
		}
		return nil, filtertest.Unknown
	}, g.double(depth), g.double(depth), g.words())
}

func (g callGenerator) apart(depth int) operand {
	return call("apart", func(x []any) (any, verdict) {
		lat, lon := x[0].(float64)-x[2].(float64), x[1].(float64)-x[3].(float64)
		lat *= lat
		lon *= lon
		return math.Sqrt(lat + lon), there
	}, g.double(depth), g.double(depth), g.double(depth), g.double(depth))
}

// share sees a customer that is missing, where it is the value of a call no less.
func (g callGenerator) share(depth int) operand {
	customer, of := g.words(), g.integer(depth)
	seen := operand{customer.text, func(m map[string]string) (any, verdict) {
		x, o := customer.of(m)
		if o == filtertest.Unknown {
			return nil, there
		}
		return x, o
	}}
	return call("share", func(x []any) (any, verdict) {
		n := x[1].(int64)
		if n <= 0 {
			return nil, filtertest.Raise
		}
		if x[0] == nil {
			return int64(0), there
		}
		hash := uint32(2166136261)
		for _, b := range []byte(x[0].(string)) {
			hash = (hash ^ uint32(b)) * 16777619
		}
		return int64(hash) % n, there
	}, seen, of)
}

func truth(b bool) verdict {
	if b {
		return filtertest.True
	}
	return filtertest.False
}

// condition makes an expression with calls.
func (g callGenerator) condition(depth int) condition {
	if depth == 0 || g.IntN(4) == 0 {
		return g.atom()
	}
	switch g.IntN(5) {
	case 0:
		c := g.condition(depth - 1)
		return condition{"NOT (" + c.text + ")", func(m map[string]string) verdict {
			switch o := c.of(m); o {
			case filtertest.True:
				return filtertest.False
			case filtertest.False:
				return filtertest.True
			default:
				return o
			}
		}}
	case 1, 2:
		return g.connect("AND", filtertest.False, depth)
	default:
		return g.connect("OR", filtertest.True, depth)
	}
}

// connect makes a conjunction, which a side that is false decides, or a disjunction, which one that is true does. A raise ends it.
func (g callGenerator) connect(word string, decides verdict, depth int) condition {
	l, r := g.condition(depth-1), g.condition(depth-1)
	return condition{"(" + l.text + ") " + word + " (" + r.text + ")", func(m map[string]string) verdict {
		left := l.of(m)
		if left == decides || left == filtertest.Raise {
			return left
		}
		right := r.of(m)
		if right == decides || right == filtertest.Raise || left != filtertest.Unknown {
			return right
		}
		return filtertest.Unknown
	}}
}

func (g callGenerator) atom() condition {
	switch g.IntN(7) {
	case 0, 1:
		return g.boolean(g.within(2))
	case 2:
		c := g.pick("x", "y")
		return condition{"a = '" + c + "'", func(m map[string]string) verdict {
			if m["a"] == "" {
				return filtertest.Unknown
			}
			return truth(m["a"] == c)
		}}
	case 3:
		c := []operand{g.within(1), g.apart(1), g.share(1)}[g.IntN(3)]
		return condition{c.text + " IS NULL", func(m map[string]string) verdict {
			_, o := c.of(m)
			if o == filtertest.Raise {
				return o
			}
			return truth(o == filtertest.Unknown)
		}}
	case 4, 5:
		c, limit := g.share(2), int64(g.IntN(60))
		return g.compare(c, strconv.FormatInt(limit, 10), func(x any) int { return cmp(x.(int64), limit) })
	default:
		c, limit := g.apart(2), float64(g.IntN(80))+0.5
		return g.compare(c, fmt.Sprint(limit), func(x any) int {
			if f := x.(float64); f == f {
				return cmp(f, limit)
			}
			return 1 // what is no number is the largest, as in Java
		})
	}
}

func cmp[T int64 | float64](x, y T) int {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

func (g callGenerator) boolean(c operand) condition {
	return condition{c.text, func(m map[string]string) verdict {
		x, o := c.of(m)
		if o != there {
			return o
		}
		return truth(x.(bool))
	}}
}

func (g callGenerator) compare(c operand, limit string, against func(x any) int) condition {
	op := g.pick("<", "<=", ">", ">=", "=", "<>")
	return condition{c.text + " " + op + " " + limit, func(m map[string]string) verdict {
		x, o := c.of(m)
		if o != there {
			return o
		}
		n := against(x)
		return truth(strings.Contains(op, "<") && n < 0 || strings.Contains(op, ">") && n > 0 || strings.Contains(op, "=") && n == 0)
	}}
}

// TestCallsOfKits judges random messages with random expressions that call the example places in every kit's language, on every
// engine: more than 10,000 pairs. A condition alone must have its very outcome; where several are connected, calls come last, which
// may make a message that doesn't match one that raises or the other way round.
func TestCallsOfKits(t *testing.T) {
	const expressions, messages = 120, 97
	modules := placesOf(t)
	g := callGenerator{rand.New(rand.NewPCG(2026, 12))}
	seen := map[verdict]int{}
	for n := range expressions {
		c := g.condition(n % 4)
		b := &filter.Batch{Topic: "T", TagsCodes: make([]int64, messages)}
		var want []verdict
		for range messages {
			m := g.message()
			b.Records = append(b.Records, recordOf(m))
			want = append(want, c.of(m))
			seen[want[len(want)-1]]++
		}
		for language, functions := range modules {
			for e, engine := range engines {
				if raceEnabled && (n+e)%len(engines) != 0 {
					continue // one engine an expression: it takes minutes otherwise
				}
				sqlOf := compilerOf(engine, "rocketmq")
				sqlOf.UseFunctions(functions)
				p, err := sqlOf.Compile(context.Background(), sql(c.text))
				if err != nil {
					t.Fatalf("%s: %v", c.text, err)
				}
				for i, got := range judgeAll(t, p, b) {
					exact := n%4 == 0 || got == filtertest.True || want[i] == filtertest.True || got == filtertest.Undecided
					if exact && got != want[i] {
						t.Fatalf("%s of %q: %s in %s says %s, the reference %s", c.text, b.Records[i], engine, language, got, want[i])
					}
				}
				if err := p.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	t.Logf("%d pairs in %d languages: %v", expressions*messages, len(modules), seen)
	if len(seen) != 4 {
		t.Errorf("the generator covers too little: %v", seen)
	}
}
