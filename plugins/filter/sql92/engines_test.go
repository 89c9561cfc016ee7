package sql92

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/plugin"
	"github.com/weirmq/weir/plugins/internal/sqlwasm"
)

// TestEnginesAgreeOnTheLarge has long lists, long texts, deep nesting, and batches whose texts don't fit a module's memory.
func TestEnginesAgreeOnTheLarge(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	long := func(n int) string { return strings.Repeat("abcdefghij", n/10+1)[:n] }
	members := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf("'m%d-%s'", i, long(r.IntN(20))))
		}
		return "a IN (" + strings.Join(list, ",") + ")"
	}
	ors := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf("b = %d", i*3))
		}
		return strings.Join(list, " OR ")
	}
	texts := []string{members(16), members(17), members(3000), ors(1000), ors(5000)}
	for _, n := range []int{7, 8, 15, 31, 32, 33, 64, 5000} {
		texts = append(texts, "a = '"+long(n)+"'", "a CONTAINS '"+long(n)+"'", "a STARTSWITH '"+long(n)+"'", "a ENDSWITH '"+long(n)+"' OR b > 1.5",
			"a = '"+long(n-1)+"'", "a CONTAINS '"+long(n)[1:]+"x'")
	}
	texts = append(texts, strings.Repeat("NOT (", 200)+"a = '1' AND b > 2"+strings.Repeat(")", 200), strings.Repeat("(b > 1 AND (b < 9 OR ", 100)+"a = 'x'"+strings.Repeat("))", 100))
	b := &filter.Batch{}
	for i := range 200 {
		p := map[string]string{"b": fmt.Sprint(i)}
		switch i % 4 {
		case 0:
			p["a"] = long(r.IntN(70) + 1)
		case 1:
			p["a"] = long(30_000 - i)
		case 2:
			p["a"] = fmt.Sprintf("m%d-%s", r.IntN(20), long(r.IntN(20)))
		}
		b.Records, b.TagsCodes = append(b.Records, recordOf(p)), append(b.TagsCodes, 0)
	}
	b.Records[3], b.Records[130] = nil, []byte("no record")
	var compilers []*compiler
	for _, engine := range engines {
		cfg := defaultConfig()
		cfg.Engine, cfg.Dialect, cfg.LengthMax, cfg.NodesMax = engine, "rocketmq5", plugin.MiB, 100_000
		compilers = append(compilers, mustCompiler(cfg))
	}
	for _, text := range texts {
		programs := compileAll(t, compilers, text)
		if programs == nil {
			t.Fatalf("%.100q is refused", text)
		}
		want := judgeAll(t, programs[len(programs)-1], b)
		for e, p := range programs {
			if got := judgeAll(t, p, b); !slices.Equal(got, want) {
				t.Errorf("%.100q…: %s says\n%v, want\n%v", text, engines[e], got, want)
			}
		}
		closeAll(t, programs)
	}
	if n := compilers[1].tooLarge.Load(); n == 0 {
		t.Error("nothing was too large for a module")
	}
}

// TestModulesAreFreed compiles and closes a thousand expressions.
func TestModulesAreFreed(t *testing.T) {
	c := compilerOf(engineWASM, "rocketmq")
	b := &filter.Batch{Records: [][]byte{recordOf(map[string]string{"a": "5"})}, TagsCodes: []int64{0}}
	use := func(n int) uint64 {
		for i := range n {
			p, err := c.Compile(context.Background(), sql(fmt.Sprintf("a > %d AND b <> 'x%d'", i, i)))
			if err != nil {
				t.Fatal(err)
			}
			judgeAll(t, p, b)
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
		}
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := use(50)
	if after := use(1000); after > before+4<<20 {
		t.Errorf("%d KiB of heap after 50 expressions, %d KiB after 1,000 more", before>>10, after>>10)
	}
}

// brokenModules is an engine whose modules trap.
type brokenModules struct{ compile, judge error }

func (m brokenModules) LoadModule(context.Context, []byte) (filter.Module, error) {
	return m, m.compile
}
func (m brokenModules) Take() (filter.ModuleInstance, error) { return m, nil }
func (m brokenModules) Give(filter.ModuleInstance)           {}
func (m brokenModules) Close() error                         { return nil }
func (m brokenModules) Memory() []byte                       { return make([]byte, 1<<17) }
func (m brokenModules) Judge(uint64) error                   { return m.judge }

// TestABrokenEngineDecidesNothing has an engine that fails, which must not look like messages that don't match.
func TestABrokenEngineDecidesNothing(t *testing.T) {
	cfg := defaultConfig()
	cfg.Engine = engineWASM
	fault := errors.New("trap")
	compile := func(m brokenModules) (filter.Program, error) {
		c := mustCompiler(cfg)
		c.engines.Modules = m
		return c.Compile(context.Background(), sql("a = 1"))
	}
	if _, err := compile(brokenModules{compile: fault}); !errors.Is(err, fault) {
		t.Errorf("a module that can't be compiled: %v", err)
	}
	p, err := compile(brokenModules{judge: fault})
	if err != nil {
		t.Fatal(err)
	}
	b := &filter.Batch{Records: [][]byte{recordOf(map[string]string{"a": "1"})}, TagsCodes: []int64{0}}
	var v filter.Verdicts
	v.Reset(1)
	if err := p.Match(context.Background(), b, &v); !errors.Is(err, fault) || v.True[0]|v.Unknown[0]|v.Raise[0] != 0 {
		t.Errorf("Match: %v, %v", err, v)
	}
	m := p.(filter.ColumnMatcher)
	c := filter.NewColumns(filter.NewLayout(m.Columns()))
	c.Load(b.Records)
	if w := m.MatchColumns(c, []int{0}, 1); w != (filter.Word{Undecided: 1}) {
		t.Errorf("MatchColumns: %+v", w)
	}
}

func TestGenerateIsBounded(t *testing.T) {
	tree := treeOf(t, "a IN ('"+strings.Repeat("x", 31<<10)+"')", compilerOf(engineVector, "rocketmq"))
	p, err := sqlwasm.Generate(tree.Root)
	if err != nil || p.End%(64<<10) != 0 || p.End-p.Arena < 32767 {
		t.Errorf("%v, arena %d to %d", err, p.Arena, p.End)
	}
}
