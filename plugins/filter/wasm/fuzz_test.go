package wasm

import (
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/plugin"

	metricnoop "go.opentelemetry.io/otel/metric/noop"
)

// survive loads bytes of any kind and judges with them, if they are a module. Whatever they are, it comes back, without a
// panic and with every message accounted for.
func survive(t *testing.T, bin []byte, b *filter.Batch) (started bool) {
	ctx := context.Background()
	set := plugin.Settings{ID: plugin.ID{Type: Type, Name: "guest"}, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Clock: clock.Real(), MeterProvider: metricnoop.NewMeterProvider()}
	cfg := defaultConfig()
	cfg.Limits.FuelPerCall, cfg.Limits.FuelAtStart = 200_000, 200_000
	c := newCompiler(maker{set, cfg, newPermits()}, newNames())
	ch, err := check(bin, cfg)
	if err != nil {
		return false
	}
	e, compiled, err := compileIn(ctx, ch, "")
	if err != nil {
		return false
	}
	defer e.close(ctx)
	_, hasInit := ch.parsed.Export("mqf_init")
	_, hasError := ch.parsed.Export("mqf_error")
	m := &module{name: "guest", hash: ch.hash, manifest: ch.manifest, pages: ch.pages, compiled: compiled, engine: e,
		hasInit: hasInit, hasError: hasError}
	r, err := newReporter(set, "guest")
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]string{}
	for _, x := range ch.manifest.Config {
		settings[x.Name] = "1"
	}
	p, err := c.program(ctx, m, r, settings)
	if err != nil {
		return false
	}
	defer p.Close()
	var v filter.Verdicts
	v.Reset(b.Len())
	if err := p.Match(ctx, b, &v); err != nil {
		t.Fatal(err)
	}
	if n := countSet(v.True) + countSet(v.Unknown) + countSet(v.Raise) + countSet(v.Undecided); n > b.Len() {
		t.Fatalf("%d outcomes of %d messages", n, b.Len())
	}
	return true
}

// corpus are sound modules to begin with.
func corpus(t testing.TB) (list [][]byte) {
	list = append(list, poisonous().Build(), forgetful().Build(), newGuest().Build())
	for _, path := range []string{"c/examples/geo/geo.wasm", "c/examples/json/json.wasm", "rust/examples/geo/geo.wasm"} {
		bin, err := os.ReadFile(guestsDir + "/" + path)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, bin)
	}
	return list
}

// TestDamagedModules changes sound modules at random and wants the broker to survive every one of them.
func TestDamagedModules(t *testing.T) {
	count := 1000
	if n, err := strconv.Atoi(os.Getenv("WEIR_DAMAGED_MODULES")); err == nil {
		count = n
	}
	b, list, started := messages(t, 70), corpus(t), 0
	for seed := range uint64(count) {
		r := rand.New(rand.NewPCG(seed, 1))
		bin := append([]byte(nil), list[r.IntN(len(list))]...)
		for range 1 + r.IntN(4) {
			at := r.IntN(len(bin))
			switch r.IntN(4) {
			case 0:
				bin[at] ^= 1 << r.IntN(8)
			case 1:
				bin[at] = byte(r.Uint32())
			case 2:
				bin[at]++
			default:
				k := r.IntN(len(bin))
				bin[at] = bin[k]
			}
		}
		if survive(t, bin, b) {
			started++
		}
	}
	t.Logf("%d modules, %d of them started", count, started)
	if started == 0 || started == count {
		t.Error("the damage is too great or too small to show anything")
	}
}

// FuzzModule feeds bytes of any kind.
func FuzzModule(f *testing.F) {
	for _, bin := range corpus(f) {
		f.Add(bin)
	}
	b := messages(f, 70)
	f.Fuzz(func(t *testing.T, bin []byte) { survive(t, bin, b) })
}

// FuzzManifest reads texts of any kind.
func FuzzManifest(f *testing.F) {
	for _, example := range []string{"threshold", "geo", "json"} {
		text, err := os.ReadFile(guestsDir + "/c/examples/" + example + "/manifest.json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := ParseManifest(text)
		if err != nil {
			return
		}
		if values, err := settle(m); err == nil {
			area := writeConfig(m, values)
			if len(area) < headerSize || len(area)%8 != 0 {
				t.Errorf("a configuration of %d bytes", len(area))
			}
		}
	})
}
