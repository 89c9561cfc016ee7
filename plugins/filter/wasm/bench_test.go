package wasm

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/weirmq/weir/core/filter"

	"github.com/weirmq/weir/plugins/internal/fuel"
	"github.com/weirmq/weir/plugins/internal/wasmbin"
)

// benchMessages are what the threshold and geo examples judge: six properties and a body of 256 bytes; one in ten matches.
func benchMessages(b *testing.B, n int) *filter.Batch {
	b.Helper()
	batch := &filter.Batch{Topic: "bench"}
	for i := range n {
		x := Test{Props: map[string]string{"amount": fmt.Sprint(i % 111), "region": "eu", "lat": "52.5", "lon": fmt.Sprint(13 + i%10),
			"UNIQ_KEY": "7F000001000018B4AAC2123456780000", "WAIT": "true"}, Body: string(make([]byte, 256))}
		rec, err := x.record()
		if err != nil {
			b.Fatal(err)
		}
		batch.Records, batch.TagsCodes = append(batch.Records, rec), append(batch.TagsCodes, 0)
	}
	return batch
}

// BenchmarkMatch judges batches as the queue does: layout, call, verdicts. It reports the time of a message.
func BenchmarkMatch(b *testing.B) {
	for _, example := range []struct{ name, config string }{{"threshold", "limit=100"}, {"geo", "south=52&west=13&north=53&east=13.5"}} {
		for language, path := range guests(b, example.name) {
			for _, n := range []int{1, 256, 1024} {
				b.Run(fmt.Sprintf("%s/%s/batch=%d", example.name, language, n), func(b *testing.B) {
					bin, err := os.ReadFile(path)
					if err != nil {
						b.Fatal(err)
					}
					c, err := open(b, bin, nil)
					if err != nil {
						b.Fatal(err)
					}
					p, err := c.Compile(context.Background(), expr("guest?"+example.config))
					if err != nil {
						b.Fatal(err)
					}
					batch := benchMessages(b, n)
					var v filter.Verdicts
					b.ReportAllocs()
					for b.Loop() {
						v.Reset(n)
						if err := p.Match(context.Background(), batch, &v); err != nil {
							b.Fatal(err)
						}
					}
					if countSet(v.Undecided) > 0 {
						b.Fatal(p.(*program).Fault())
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/message")
				})
			}
		}
	}
}

// BenchmarkOverhead calls the examples with and without counting, on one batch of 1024 messages that lies ready, and
// reports how many times longer the call takes with it.
func BenchmarkOverhead(b *testing.B) {
	for _, example := range []string{"threshold", "geo", "json"} {
		for language, path := range guests(b, example) {
			b.Run(example+"/"+language, func(b *testing.B) {
				bin, err := os.ReadFile(path)
				if err != nil {
					b.Fatal(err)
				}
				plain, metered := overheadRun(b, bin, example, false), overheadRun(b, bin, example, true)
				best := [2]float64{}
				for b.Loop() {
					for i, f := range []func() float64{plain, metered} {
						if ns := f(); best[i] == 0 || ns < best[i] {
							best[i] = ns
						}
					}
				}
				b.ReportMetric(best[0], "ns/message-plain")
				b.ReportMetric(best[1], "ns/message-metered")
				b.ReportMetric(best[1]/best[0], "times")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

const overheadCount = 1024

// overheadRun starts an example and returns a function that calls it some times and returns the nanoseconds a message.
func overheadRun(b *testing.B, bin []byte, example string, metered bool) func() float64 {
	b.Helper()
	ctx := context.Background()
	cfg := defaultConfig()
	cfg.Limits.Records, cfg.Limits.FuelPerCall = overheadCount, fuelPerCallMax
	c, err := check(bin, cfg)
	if err != nil {
		b.Fatal(err)
	}
	if !metered {
		c.binary = unmetered(c.parsed).Encode()
	}
	e, err := newEngine(ctx, 128, "")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { e.close(ctx) })
	m, err := e.runtime.CompileModule(ctx, c.binary)
	if err != nil {
		b.Fatal(err)
	}
	return overheadCall(b, e, m, c, cfg, example)
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

func overheadCall(b *testing.B, e *engine, compiled wazero.CompiledModule, c *checked, cfg *Config, example string) func() float64 {
	b.Helper()
	var g goldenCase
	for _, x := range goldenCases() {
		if x.filter == example {
			g = x
		}
	}
	values, err := settle(c.manifest, g.config)
	if err != nil {
		b.Fatal(err)
	}
	_, hasInit := c.parsed.Export("mqf_init")
	p := &program{module: &module{manifest: c.manifest, compiled: compiled, engine: e, hasInit: hasInit, pages: 128}, values: values, cfg: cfg}
	in, err := p.start()
	if err != nil {
		b.Fatal(err)
	}
	r, _ := g.rows(b, overheadCount)
	r.records = r.records[:overheadCount:overheadCount]
	if err := in.lend(r.size() + resultSize(overheadCount)); err != nil {
		b.Fatal(err)
	}
	mem, _ := in.mod.Memory().Read(in.area, in.areaSize)
	length := uint64(r.write(mem))
	calls := 20
	return func() float64 {
		start := time.Now()
		for range calls {
			in.fuel.Set(1 << 40)
			if n, err := in.call(in.filter, uint64(in.area), length, uint64(in.area)+length); err != nil || int(n) != overheadCount {
				b.Fatal(n, err)
			}
		}
		return float64(time.Since(start).Nanoseconds()) / float64(calls*overheadCount)
	}
}
