package fuel

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/weirmq/weir/plugins/internal/wasmbin"
	"github.com/weirmq/weir/plugins/internal/wasmgen"
)

const plenty = 1 << 40

func defaults() Options { return Options{Fuel: plenty, Stack: 1 << 20, TableMax: 16} }

// inject parses, injects and encodes.
func inject(t testing.TB, bin []byte, o Options) []byte {
	t.Helper()
	m, err := wasmbin.Parse(bin, wasmbin.Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := Inject(m, o)
	if err != nil {
		t.Fatal(err)
	}
	return out.Encode()
}

// outcome is all that can be seen of a run.
type outcome struct {
	result uint64
	trap   string
	memory [32]byte
}

// run instantiates a module and calls its export run.
func run(t testing.TB, r wazero.Runtime, bin []byte, fuel int64, args ...uint64) (outcome, api.Module) {
	t.Helper()
	ctx := context.Background()
	mod, err := r.InstantiateWithConfig(ctx, bin, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		t.Fatalf("instantiate: %v", err)
	}
	t.Cleanup(func() { _ = mod.Close(ctx) })
	if g := mod.ExportedGlobal(FuelExport); g != nil {
		g.(api.MutableGlobal).Set(uint64(fuel))
	}
	res, err := mod.ExportedFunction("run").Call(ctx, args...)
	var o outcome
	if err != nil {
		o.trap, _, _ = strings.Cut(err.Error(), "\n")
	} else if len(res) > 0 {
		o.result = res[0]
	}
	if mem := mod.Memory(); mem != nil {
		b, _ := mem.Read(0, mem.Size())
		o.memory = sha256.Sum256(b)
	}
	return o, mod
}

func used(mod api.Module) int64 { return int64(mod.ExportedGlobal(FuelExport).Get()) }

// TestSameResults compares generated modules before and after: result, trap and memory. Under a small fuel the second
// one either does the same or ends with its fuel below zero, at the same place every time.
func TestSameResults(t *testing.T) {
	count := uint64(400)
	if testing.Short() {
		count = 50
	}
	if n := os.Getenv("WEIR_FUEL_MODULES"); n != "" {
		if _, err := fmt.Sscan(n, &count); err != nil {
			t.Fatal(err)
		}
	}
	ctx := context.Background()
	interpreted := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer interpreted.Close(ctx)
	compiled := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig())
	defer compiled.Close(ctx)
	traps, ended := 0, 0
	for seed := range count {
		bin := wasmgen.Module(seed).Encode()
		after := inject(t, bin, defaults())
		r := compiled
		if seed%4 == 0 {
			r = interpreted
		}
		want, _ := run(t, r, bin, 0, 3, seed*0x9e3779b97f4a7c15)
		got, mod := run(t, r, after, plenty, 3, seed*0x9e3779b97f4a7c15)
		if got != want {
			t.Fatalf("seed %d: %+v, before it was %+v", seed, got, want)
		}
		cost := plenty - used(mod)
		if cost < 0 || want.trap == "" && cost == 0 {
			t.Fatalf("seed %d: the run cost %d", seed, cost)
		}
		if want.trap != "" {
			traps++
			continue // a function that holds its fuel doesn't put it back when it traps
		}
		exact, mod := run(t, r, after, cost, 3, seed*0x9e3779b97f4a7c15)
		if exact != want || used(mod) != 0 {
			t.Fatalf("seed %d: with exactly its fuel %+v and %d left, want %+v", seed, exact, used(mod), want)
		}
		short, mod := run(t, r, after, cost-1, 3, seed*0x9e3779b97f4a7c15)
		ended++
		if used(mod) >= 0 || !strings.Contains(short.trap, "unreachable") {
			t.Fatalf("seed %d: one unit short, and it ends with %q and %d left", seed, short.trap, used(mod))
		}
	}
	t.Logf("%d modules, %d of them trap, %d ran out of fuel when told to", count, traps, ended)
}

// TestParseEncode reads generated modules and writes them again: the same bytes come out.
func TestParseEncode(t *testing.T) {
	for seed := range uint64(50) {
		bin := wasmgen.Module(seed).Encode()
		m, err := wasmbin.Parse(bin, wasmbin.Bounds{})
		if err != nil {
			t.Fatal(err)
		}
		if again := m.Encode(); !bytes.Equal(again, bin) {
			t.Fatalf("seed %d: encoded again it differs", seed)
		}
	}
}
