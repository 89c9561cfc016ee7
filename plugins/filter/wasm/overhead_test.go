package wasm

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/weirmq/weir/plugins/internal/fuel"
	"github.com/weirmq/weir/plugins/internal/wasmbin"
)

// TestMeteredAlike calls the examples in all languages with and without counting, on the golden batches and on a large one:
// the results must be the same. It prints how many times longer a call takes with counting.
func TestMeteredAlike(t *testing.T) {
	rounds := 40
	if testing.Short() || raceEnabled {
		rounds = 1
	}
	for _, example := range []string{"threshold", "geo", "json"} {
		list := guests(t, example)
		for _, language := range slices.Sorted(maps.Keys(list)) {
			t.Run(example+"/"+language, func(t *testing.T) {
				bin, err := os.ReadFile(list[language])
				if err != nil {
					t.Fatal(err)
				}
				o := newOverhead(t, bin, example)
				for _, n := range goldenOf(example).counts {
					o.alike(t, n)
				}
				o.alike(t, overheadCount)
				for range rounds {
					o.round(t)
				}
				fuel := float64(1<<40-o.in[1].fuel.Get()) / overheadCount
				t.Logf("%6.1f ns a message plain, %6.1f metered: %.2f times; %.0f units of fuel a message", o.best[0], o.best[1], o.best[1]/o.best[0], fuel)
				if times := o.best[1] / o.best[0]; rounds > 1 && times > overheadMax {
					t.Errorf("counting makes it %.2f times slower", times)
				}
			})
		}
	}
}

const (
	overheadCount = 1024
	overheadCalls = 5 // of a round
	// overheadMax bounds what a busy machine may measure. The aim is 1.4.
	overheadMax = 2.5
)

func goldenOf(example string) (g goldenCase) {
	for _, x := range goldenCases() {
		if x.filter == example {
			g = x
		}
	}
	return g
}

// overhead is an instance of an example without counting, and one with it.
type overhead struct {
	example string
	in      [2]*instance
	length  [2]uint64  // of the batch that lies ready
	best    [2]float64 // ns for a message
}

func newOverhead(t testing.TB, bin []byte, example string) *overhead {
	t.Helper()
	o := &overhead{example: example}
	for i := range o.in {
		o.in[i] = o.start(t, bin, i == 1)
	}
	o.alike(t, overheadCount)
	return o
}

func (o *overhead) start(t testing.TB, bin []byte, metered bool) *instance {
	t.Helper()
	ctx := context.Background()
	cfg := defaultConfig()
	cfg.Limits.Records, cfg.Limits.FuelPerCall = overheadCount, fuelPerCallMax
	c, err := check(bin, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if !metered {
		c.binary = unmetered(c.parsed).Encode()
	}
	e, err := newEngine(ctx, 128, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.close(ctx) })
	m, err := e.runtime.CompileModule(ctx, c.binary)
	if err != nil {
		t.Fatal(err)
	}
	return o.instance(t, e, m, c, cfg)
}

func (o *overhead) instance(t testing.TB, e *engine, compiled wazero.CompiledModule, c *checked, cfg *Config) *instance {
	t.Helper()
	values, err := settle(c.manifest, goldenOf(o.example).config)
	if err != nil {
		t.Fatal(err)
	}
	_, hasInit := c.parsed.Export("mqf_init")
	p := &program{module: &module{manifest: c.manifest, compiled: compiled, engine: e, hasInit: hasInit, pages: 128}, values: values, cfg: cfg,
		permits: newPermits()}
	in, err := p.start()
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// alike has both judge n messages and compares all that they say. The batch stays where it is.
func (o *overhead) alike(t testing.TB, n int) {
	t.Helper()
	g := goldenOf(o.example)
	var said [2][]byte
	for i, in := range o.in {
		r, _ := g.rows(t, n)
		r.records = r.records[:n:n]
		if err := in.lend(r.size() + resultSize(n)); err != nil {
			t.Fatal(err)
		}
		mem, _ := in.mod.Memory().Read(in.area, in.areaSize)
		length := r.write(mem)
		clear(mem[length : length+resultSize(n)])
		o.length[i] = uint64(length)
		o.call(t, i, n)
		mem, _ = in.mod.Memory().Read(in.area, in.areaSize)
		said[i] = bytes.Clone(mem[length : length+resultSize(n)])
	}
	if !bytes.Equal(said[0], said[1]) {
		t.Fatalf("%d messages: %x, metered %x", n, said[0], said[1])
	}
}

func (o *overhead) call(t testing.TB, i, want int) {
	in := o.in[i]
	in.fuel.Set(1 << 40)
	if n, err := in.call(in.filter, uint64(in.area), o.length[i], uint64(in.area)+o.length[i]); err != nil || int(n) != want {
		t.Fatal(fmt.Sprint(n, err))
	}
}

// round measures both, one after the other, and keeps the best.
func (o *overhead) round(t testing.TB) {
	for i := range o.in {
		start := time.Now()
		for range overheadCalls {
			o.call(t, i, overheadCount)
		}
		if ns := float64(time.Since(start).Nanoseconds()) / (overheadCalls * overheadCount); o.best[i] == 0 || ns < o.best[i] {
			o.best[i] = ns
		}
	}
}

// unmetered only has the globals that an instance looks for.
func unmetered(m *wasmbin.Module) *wasmbin.Module {
	out := *m
	for _, name := range []string{fuel.FuelExport, fuel.StackExport} {
		var c wasmbin.Code
		c.I64Const(1 << 40)
		c.End()
		out.Exports = append(out.Exports[:len(out.Exports):len(out.Exports)],
			wasmbin.Export{Name: name, Kind: wasmbin.ExternGlobal, Index: uint32(len(out.Globals))})
		out.Globals = append(out.Globals[:len(out.Globals):len(out.Globals)],
			wasmbin.Global{GlobalType: wasmbin.GlobalType{Type: wasmbin.I64, Mutable: true}, Init: c.Bytes()})
	}
	return &out
}
