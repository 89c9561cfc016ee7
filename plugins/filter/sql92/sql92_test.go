package sql92

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/filter/filtertest"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/plugin/plugintest"
)

func sql(text string) filter.Expression {
	return filter.Expression{Type: filter.TypeSQL92, Text: text}
}

// props is a message: name, value, name, value and so on.
func props(want filtertest.Outcome, list ...string) filtertest.Message {
	return filtertest.Message{Properties: list, Want: want}
}

// TestConformance runs the suite of filter plugins with every engine.
func TestConformance(t *testing.T) {
	const (
		T = filtertest.True
		F = filtertest.False
		U = filtertest.Unknown
		E = filtertest.Raise
	)
	noRecord := filtertest.Message{NoRecord: true, Want: filtertest.Undecided}
	cases := []filtertest.Case{
		{Name: "number", Expression: sql("a > 5"), Messages: []filtertest.Message{
			props(T, "a", "6"), props(F, "a", "5"), props(U), props(E, "a", "x"), props(E, "a", "6.5"), props(T, "a", "1", "a", "7"), noRecord}},
		{Name: "number, otherwise written", Expression: sql("5<(a) -- what else\n"), SameKey: "number", Messages: []filtertest.Message{props(T, "a", "6")}},
		{Name: "two", Expression: sql("color = 'red' AND a BETWEEN 3 AND 7"), Messages: []filtertest.Message{
			props(T, "color", "red", "a", "3"), props(F, "color", "blue", "a", "x"), props(E, "color", "red", "a", "x"), props(F, "a", "9"), props(U, "a", "5")}},
		{Name: "null or", Expression: sql("color IS NULL OR price < 2.5"), Messages: []filtertest.Message{
			props(T), props(T, "color", "red", "price", "0.0"), props(F, "color", "red", "price", "3"), props(E, "color", "red", "price", "cheap")}},
		{Name: "in", Expression: sql("TAGS IN ('TagA', 'TagB')"), Messages: []filtertest.Message{
			{Tag: "TagA", Want: T}, {Tag: "TagC", Want: F}, {Want: U}, {Tag: "TagB", ExtAddress: true, Want: T}}},
		{Name: "in, otherwise written", Expression: sql("TAGS in ('TagB','TagA','TagA')"), SameKey: "in"},
		{Name: "order of what can't raise", Expression: sql("b = 'y' AND a = 'x'"), Messages: []filtertest.Message{props(T, "a", "x", "b", "y")}},
		{Name: "order of what can't raise, turned", Expression: sql("a = 'x' and (b = 'y')"), SameKey: "order of what can't raise"},
		{Name: "constant", Expression: sql("1 = 1"), Messages: []filtertest.Message{props(T), {NoRecord: true, Want: T}}},
		{Name: "conditions compared", Expression: sql("(a > 1) = (b > 1)"), Messages: []filtertest.Message{
			props(T, "a", "1", "b", "0"), props(F, "a", "1", "b", "2"), props(T), props(U, "b", "1"), props(F, "a", "1"), props(E, "b", "x")}},
		{Name: "dropped tail", Expression: sql("a = 1 AMD b = 2"), Warnings: 1, Messages: []filtertest.Message{props(T, "a", "1", "b", "9")}},
		{Name: "never true", Expression: sql("a LIKE 'x%'"), Warnings: 2, Messages: []filtertest.Message{props(F, "a", "xy"), props(U)}},
		{Name: "malformed bytes are U+FFFD to Java", Expression: sql("a = '\uFFFD' OR b IN ('\uFFFD\uFFFD', 'x')"), Messages: []filtertest.Message{
			props(T, "a", "\xff"), props(T, "a", "\uFFFD"), props(U, "a", "x"), props(T, "b", "\xff\xfe"), props(F, "a", "x", "b", "y")}},
		{Name: "error", Expression: sql("a = "), Error: "parse SQL92 expression: at character 5: expected a property, a number, a text in quotes or (, found the end"},
		{Name: "other type", Expression: filter.Expression{Type: "TAG", Text: "a"}, Error: "compile TAG expression: the sql92 filter only knows SQL92"},
	}
	for _, engine := range append([]string{engineAuto}, engines...) {
		t.Run(engine, func(t *testing.T) {
			cfg := defaultConfig()
			cfg.Engine = engine
			filtertest.Run(t, filtertest.Suite{Factory: machines, Config: cfg, Cases: cases})
		})
	}
}

func TestConfig(t *testing.T) {
	for _, tt := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Engine = "jit" }, `engine: there is no "jit", want auto, vector, wasm, expr or closure`},
		{func(c *Config) { c.Dialect = "sql" }, `dialect: there is no "sql", want rocketmq, rocketmq5 or strict`},
		{func(c *Config) { c.LengthMax = 0 }, "length_max: 0 is out of range, allowed are 1 to 1048576"},
		{func(c *Config) { c.NodesMax, c.DepthMax = 0, 20_000 }, "nodes_max: 0 is out of range, allowed are 1 to 1000000\ndepth_max: 20000 is out of range, allowed are 1 to 10000"},
	} {
		cfg := defaultConfig()
		tt.change(cfg)
		if err := cfg.Validate(); err == nil || err.Error() != tt.want {
			t.Errorf("%v, want %s", err, tt.want)
		}
		if _, err := machines.NewCompiler(plugintest.Settings(t, Type), cfg); err == nil {
			t.Error("made all the same")
		}
	}
	if _, err := machines.NewCompiler(plugintest.Settings(t, Type), 5); err == nil {
		t.Error("made from an int")
	}
}

func TestRefuseWarned(t *testing.T) {
	cfg := defaultConfig()
	cfg.RefuseWarned = true
	c := mustCompiler(cfg)
	if _, err := c.Compile(context.Background(), sql("a > 5")); err != nil {
		t.Error(err)
	}
	_, err := c.Compile(context.Background(), sql("a > 5 b"))
	if err == nil || !strings.Contains(err.Error(), "(refuse_warned): at character 7: everything from \"b\" on is ignored") {
		t.Error(err)
	}
}

// TestVariant says which texts a Java broker may be given.
func TestVariant(t *testing.T) {
	for _, tt := range []struct {
		dialect, text string
		want          bool
	}{
		{"rocketmq", "a > 5", true}, {"rocketmq", "a CONTAINS 'x'", true},
		{"rocketmq5", "a > 5", true}, {"rocketmq5", "a CONTAINS 'x'", false},
		{"strict", "a = 'x' AND b IS NULL", true}, {"strict", "a > 5", false}, {"strict", "'x' = a", false},
	} {
		p, err := compilerOf(engineAuto, tt.dialect).Compile(context.Background(), sql(tt.text))
		if err != nil {
			t.Fatal(err)
		}
		if v := p.(filter.Variant); v.RocketMQ() != tt.want || v.Dialect() != tt.dialect {
			t.Errorf("%s %q: RocketMQ %v, dialect %s", tt.dialect, tt.text, v.RocketMQ(), v.Dialect())
		}
	}
}

func TestDialectsHaveKeysOfTheirOwn(t *testing.T) {
	keys := map[filter.Key]string{}
	for _, d := range []string{"rocketmq", "rocketmq5", "strict"} {
		p, err := compilerOf(engineAuto, d).Compile(context.Background(), sql("a = 'x'"))
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := keys[p.Key()]; ok {
			t.Errorf("%s and %s share a key", d, other)
		}
		keys[p.Key()] = d
	}
}

// TestMatchAllocs: judging a batch costs no allocation, on any engine.
func TestMatchAllocs(t *testing.T) {
	batch := backlog(256)
	for _, engine := range engines {
		for _, text := range []string{"amount > 990 AND region = 'eu-west'", "region IN ('eu-west','x')", "price < 5.5 OR customer IS NULL", "seq = TRUE", "amount > price"} {
			p, err := compilerOf(engine, "rocketmq").Compile(context.Background(), sql(text))
			if err != nil {
				t.Fatal(err)
			}
			var v filter.Verdicts
			v.Reset(batch.Len())
			// Pools may be emptied by a collection, hence not exactly 0.
			if n := testing.AllocsPerRun(200, func() { _ = p.Match(context.Background(), batch, &v) }); n > 0.5 && !raceEnabled {
				t.Errorf("%s %q: %v allocations", engine, text, n)
			}
		}
	}
}

// FuzzEnginesAgree judges any properties with any expression on all engines.
func FuzzEnginesAgree(f *testing.F) {
	f.Add("a = 1 AND b <> 'x' OR c > d", "a\x011\x02b\x01y\x02c\x012.5\x02d\x01NaN")
	f.Add("NOT (a BETWEEN 1 AND 5) = (b IS NULL)", "a\x013")
	f.Add("a contains 'x' or a in ('x','y')", "a\x01axb\x02a\x01\xff")
	f.Add("a + 1 > b * 2 AND c LIKE '%x_'", "a\x011\x02b\x01-1e3\x02c\x01axb")
	f.Fuzz(func(t *testing.T, text, properties string) {
		if len(properties) > message.MaxPropertiesLength {
			return
		}
		rec := recordWith(message.Properties(properties))
		b := &filter.Batch{TagsCodes: []int64{0, 0}, Records: [][]byte{rec, bytes.Clone(rec)}}
		for _, dialect := range []string{"rocketmq", "rocketmq5", "strict"} {
			var compilers []*compiler
			for _, engine := range engines {
				compilers = append(compilers, compilerOf(engine, dialect))
			}
			programs := compileAll(t, compilers, text)
			if programs == nil {
				continue
			}
			want := judgeAll(t, programs[len(programs)-1], b)
			for e, p := range programs {
				if got := judgeAll(t, p, b); got[0] != want[0] || got[1] != want[1] {
					t.Fatalf("%s %q of %q: %s %v, reference %v", dialect, text, properties, engines[e], got, want)
				}
			}
			closeAll(t, programs)
		}
	})
}
