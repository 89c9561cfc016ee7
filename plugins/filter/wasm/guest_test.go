package wasm

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/plugin"
	"github.com/weirmq/weir/core/plugin/plugintest"
	"github.com/weirmq/weir/plugins/internal/wasmbin"
)

// guest makes modules for tests. Without change it is a sound filter that finds nothing true.
type fixture struct {
	memory   wasmbin.Limits
	imports  []string // of mqf_v1 or module.name; function i is import i
	globals  int      // mutable i32
	code     map[string]func(c *wasmbin.Code)
	drop     []string
	manifest map[string]any
	change   func(m *wasmbin.Module)
}

// area is where the guest's batches lie. Four pages leave room for 192 KiB.
const area = 65536

func newGuest() *fixture {
	return &fixture{memory: wasmbin.Limits{Min: 4}, code: map[string]func(c *wasmbin.Code){}, manifest: map[string]any{
		"name": "guest", "version": "0.1.0", "abi": "1.0", "kind": []string{"filter"}, "purity": "pure", "stateless": true,
		"props": []map[string]string{{"name": "a", "type": "int32"}},
	}}
}

// bodies are the sound functions, by export.
func (g *fixture) body(name string, c *wasmbin.Code) {
	if f := g.code[name]; f != nil {
		f(c)
		return
	}
	switch name {
	case "mqf_buffer":
		c.I32Const(area)
	case "mqf_init":
		c.I32Const(0)
	case "mqf_filter":
		count(c)
	case "mqf_error":
		c.I64Const(0)
	}
}

// count pushes the number of records of the batch.
func count(c *wasmbin.Code) {
	c.LocalGet(0)
	c.Memory(wasmbin.I32Load, 2, atCount)
}

// build returns the module's bytes.
func (g *fixture) build(t testing.TB) []byte {
	t.Helper()
	m := &wasmbin.Module{Memories: []wasmbin.Limits{g.memory}, Exports: []wasmbin.Export{{Name: "memory", Kind: wasmbin.ExternMemory}}}
	for _, name := range g.imports {
		sig, ok := signatureOf(hostModule, name)
		module := hostModule
		if !ok {
			if sig, ok = signatureOf(wasiModule, name); ok {
				module = wasiModule
			} else {
				sig = ":"
			}
		}
		m.Imports = append(m.Imports, wasmbin.Import{Module: module, Name: name, Type: m.TypeIndex(sig.types())})
	}
	zero := func() []byte {
		var c wasmbin.Code
		c.I32Const(0)
		c.End()
		return c.Bytes()
	}
	for range g.globals {
		m.Globals = append(m.Globals, wasmbin.Global{GlobalType: wasmbin.GlobalType{Type: wasmbin.I32, Mutable: true}, Init: zero()})
	}
	for _, x := range abiExports() {
		must := slices.Contains([]string{"mqf_abi_1", "mqf_buffer", "mqf_filter"}, x.name)
		if !must && g.code[x.name] == nil || slices.Contains(g.drop, x.name) {
			continue
		}
		var c wasmbin.Code
		g.body(x.name, &c)
		c.End()
		m.Exports = append(m.Exports, wasmbin.Export{Name: x.name, Kind: wasmbin.ExternFunc, Index: uint32(m.FuncCount())})
		m.Functions = append(m.Functions, m.TypeIndex(x.sig.types()))
		m.Bodies = append(m.Bodies, wasmbin.Body{Locals: []wasmbin.Locals{{Count: 4, Type: wasmbin.I32}}, Code: c.Bytes()})
	}
	if g.manifest != nil {
		text, err := json.Marshal(g.manifest)
		if err != nil {
			t.Fatal(err)
		}
		m.Customs = []wasmbin.Custom{{Name: manifestSection, Data: text}}
	}
	if g.change != nil {
		g.change(m)
	}
	return m.Encode()
}

// with sets fields of the manifest.
func (g *fixture) with(fields map[string]any) *fixture {
	maps.Copy(g.manifest, fields)
	return g
}

// filtering sets the body of mqf_filter: locals 0 to 2 are batch, length and out, 3 to 6 are free.
func (g *fixture) filtering(f func(c *wasmbin.Code)) *fixture {
	g.code["mqf_filter"] = f
	return g
}

// write puts a module into a file.
func write(t testing.TB, bin []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "guest.wasm")
	if err := os.WriteFile(path, bin, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// open starts a compiler for a module. The error is Start's.
func open(t testing.TB, bin []byte, ck clock.Clock, change ...func(*Config)) (*compiler, error) {
	t.Helper()
	set := plugintest.Settings(t, Type)
	set.ID = plugin.ID{Type: Type, Name: "guest"}
	if ck != nil {
		set.Clock = ck
	}
	made, err := NewFactory().NewCompiler(set, declared(write(t, bin), change...))
	if err != nil {
		t.Fatal(err)
	}
	c := made.(*compiler)
	t.Cleanup(func() { _ = c.Stop(context.Background()) })
	return c, c.Start(context.Background(), &plugintest.Host{})
}

// compiled starts a module that must start, and compiles an expression.
func compiled(t testing.TB, bin []byte, ck clock.Clock, change ...func(*Config)) *program {
	t.Helper()
	c, err := open(t, bin, ck, change...)
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Compile(context.Background(), expr("guest"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p.(*program)
}

// messages makes a batch of n messages; message i has the property a = i.
func messages(t testing.TB, n int) *filter.Batch {
	t.Helper()
	b := &filter.Batch{Topic: "T", Queue: 3}
	for i := range n {
		x := Test{Props: map[string]string{"a": string(rune('0'+i%10)) + "7", "n": "x"}, Body: "body of the message"}
		rec, err := x.record()
		if err != nil {
			t.Fatal(err)
		}
		b.Records, b.TagsCodes = append(b.Records, rec), append(b.TagsCodes, 0)
	}
	return b
}

// match judges b and returns the verdicts and how long it took.
func match(t testing.TB, p *program, b *filter.Batch) (*filter.Verdicts, time.Duration) {
	t.Helper()
	var v filter.Verdicts
	v.Reset(b.Len())
	start := time.Now()
	if err := p.Match(context.Background(), b, &v); err != nil {
		t.Fatal(err)
	}
	return &v, time.Since(start)
}
