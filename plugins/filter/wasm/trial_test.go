package wasm

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirmq/weir/plugins/internal/wasmbin"
)

func trial(t *testing.T, path string) *Trial {
	t.Helper()
	bin, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	x, err := NewTrial(t.Context(), bin, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close(context.Background()) })
	return x
}

// TestTrialJudges has a filter judge batches that are larger than a broker's, and wants every outcome in its place, three times.
func TestTrialJudges(t *testing.T) {
	x := trial(t, guestsDir+"/c/examples/threshold/threshold.wasm")
	tests := x.Manifest().Tests[:4] // true, false, raise, unknown
	for _, n := range []int{1, 4, 63, 64, 65, 256, 1000, 1024} {
		j, err := x.Judge(t.Context(), map[string]string{"limit": "100"}, tests, n)
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			want := tests[i%4].Want
			if j.Outcomes[i] != want || j.Again[i] != want || j.Fresh[i] != want {
				t.Fatalf("message %d of %d: %s, %s, %s, want %s", i, n, j.Outcomes[i], j.Again[i], j.Fresh[i], want)
			}
		}
	}
	before := x.module.figures.calls.Load()
	if _, err := x.Judge(t.Context(), map[string]string{"limit": "100"}, tests, 1024); err != nil || x.module.figures.calls.Load()-before != 3 {
		t.Errorf("1024 messages, three times, took %d calls, %v", x.module.figures.calls.Load()-before, err)
	}
	if _, err := x.Judge(t.Context(), map[string]string{"limt": "100"}, tests, 1); Code(err) != "config" {
		t.Errorf("%v", err)
	}
	c, err := x.Measure(t.Context(), map[string]string{"limit": "100"}, tests, 1024, time.Millisecond)
	if err != nil || c.Records != 1024 || c.Nanos <= 0 || c.Fuel < 10 || c.Fuel > 1000 || c.FuelShare <= 0 || c.FuelShare > 0.1 || c.Memory < pageSize {
		t.Errorf("%+v, %v", c, err)
	}
	if instances := x.module.figures.instances.Load(); instances != 0 {
		t.Errorf("%d instances are left", instances)
	}
}

// TestTrialCalls calls functions with constants, missing and malformed arguments.
func TestTrialCalls(t *testing.T) {
	x := trial(t, guestsDir+"/c/examples/places/places.wasm")
	row := func(list ...string) (out []*string) {
		for i := range list {
			if out = append(out, &list[i]); list[i] == "-" {
				out[i] = nil
			}
		}
		return out
	}
	for _, tt := range []struct {
		function string
		rows     [][]*string
		want     []string
	}{
		{"within", [][]*string{row("52.5", "13.4", "berlin"), row("52.5", "13.4", "paris"), row("52.5", "13.4", "rome"), row("-", "1", "paris"), row("x", "1", "paris")},
			[]string{"true", "false", "unknown", "unknown", "raise"}},
		{"apart", [][]*string{row("3", "4", "0", "0"), row("3", "4", "3", "3.5")}, []string{"5", "0.5"}},
		{"share", [][]*string{row("-", "100"), row("a", "-5")}, []string{"0", "raise"}},
	} {
		for _, n := range []int{1, len(tt.rows), 63, 64} {
			j, err := x.Call(t.Context(), nil, tt.function, tt.rows, n)
			if err != nil {
				t.Fatal(err)
			}
			for i, got := range j.Outcomes {
				if want := tt.want[i%len(tt.want)]; got != want || j.Again[i] != want || j.Fresh[i] != want {
					t.Errorf("%s, call %d of %d: %s, %s, %s, want %s", tt.function, i, n, got, j.Again[i], j.Fresh[i], want)
				}
			}
		}
	}
	if _, err := x.Call(t.Context(), nil, "within", [][]*string{row("1")}, 1); err == nil || !strings.Contains(err.Error(), "within has 3 arguments, not 1") {
		t.Errorf("%v", err)
	}
	if _, err := x.Call(t.Context(), nil, "without", [][]*string{row("1")}, 1); Code(err) != "unknown_function" {
		t.Errorf("%v", err)
	}
	if c, err := x.MeasureCall(t.Context(), nil, "apart", [][]*string{row("3", "4", "0", "0")}, 64, time.Millisecond); err != nil || c.Fuel < 10 || c.Records != 64 {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestInspect looks at modules that are sound, and at such that aren't: every reason is there at once.
func TestInspect(t *testing.T) {
	good, err := os.ReadFile(guestsDir + "/rust/examples/json/json.wasm")
	if err != nil {
		t.Fatal(err)
	}
	x := Inspect(t.Context(), good)
	if len(x.Problems) > 0 || x.Manifest == nil || x.Manifest.Name != "json" || x.FuelGrowth < 1 || x.MemoryPagesMax != 16 || x.Size != len(good) || len(x.SHA256) != 64 {
		t.Errorf("%+v", x)
	}
	if i := slices.IndexFunc(x.Exports, func(o Outside) bool { return o.Name == "mqf_filter" }); i < 0 || x.Exports[i].Type != "(i32, i32, i32) → i32" || !x.Exports[i].Known {
		t.Errorf("%+v", x.Exports)
	}
	plain := func(change func(m *wasmbin.Module)) []byte {
		m, err := wasmbin.Parse(good, bounds())
		if err != nil {
			t.Fatal(err)
		}
		change(m)
		return m.Encode()
	}
	codes := func(bin []byte) (list []string) {
		for _, p := range Inspect(t.Context(), bin).Problems {
			list = append(list, p.Code)
		}
		return list
	}
	for name, tt := range map[string]struct {
		bin  []byte
		want []string
	}{
		"empty":       {nil, []string{"malformed"}},
		"cut":         {good[:len(good)/2], []string{"malformed"}},
		"too large":   {append(slices.Clone(good), make([]byte, 9<<20)...), []string{"too_large", "malformed"}},
		"no manifest": {plain(func(m *wasmbin.Module) { m.Customs = nil }), []string{"manifest"}},
		"no manifest, no export": {plain(func(m *wasmbin.Module) {
			m.Customs = nil
			m.Exports = slices.DeleteFunc(m.Exports, func(e wasmbin.Export) bool { return e.Name == "mqf_buffer" })
		}), []string{"export", "manifest"}},
		"a test that fails": {plain(func(m *wasmbin.Module) {
			for i := range m.Customs {
				m.Customs[i].Data = []byte(strings.Replace(string(m.Customs[i].Data), `"want": "true"`, `"want": "raise"`, 1))
			}
		}), []string{"test"}},
	} {
		if got := codes(tt.bin); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestPack packs a module once; another manifest is refused then.
func TestPack(t *testing.T) {
	good, err := os.ReadFile(guestsDir + "/c/examples/threshold/threshold.wasm")
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(guestsDir + "/c/examples/threshold/manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	if same, err := Pack(good, manifest); err != nil || !slices.Equal(same, good) {
		t.Errorf("%v", err)
	}
	if _, err := Pack(good, []byte(strings.Replace(string(manifest), "1.0.0", "1.0.1", 1))); Code(err) != "manifest" {
		t.Errorf("%v", err)
	}
	m, err := wasmbin.Parse(good, bounds())
	if err != nil {
		t.Fatal(err)
	}
	m.Customs = nil
	packed, err := Pack(m.Encode(), manifest)
	if x := Inspect(t.Context(), packed); err != nil || len(x.Problems) > 0 {
		t.Errorf("%v, %+v", err, x.Problems)
	}
	if _, err := Pack([]byte("text"), manifest); Code(err) != "malformed" {
		t.Errorf("%v", err)
	}
	if _, err := Pack(good, []byte("{}")); Code(err) != "manifest" {
		t.Errorf("%v", err)
	}
}

// FuzzInspect wants no file to do more than be refused.
func FuzzInspect(f *testing.F) {
	for _, path := range []string{"c/examples/threshold/threshold.wasm", "rust/examples/geo/geo.wasm", "assemblyscript/examples/json/json.wasm"} {
		bin, err := os.ReadFile(guestsDir + "/" + path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(bin)
	}
	f.Fuzz(func(t *testing.T, bin []byte) {
		for _, p := range Inspect(t.Context(), bin).Problems {
			if p.Code == "" || p.Text == "" {
				t.Errorf("%+v", p)
			}
		}
	})
}
