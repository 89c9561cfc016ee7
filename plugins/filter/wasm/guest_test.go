package wasm

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/plugin"
	"github.com/weirmq/weir/core/plugin/plugintest"
	"github.com/weirmq/weir/plugins/filter/wasm/wasmtest"
	"github.com/weirmq/weir/plugins/internal/wasmbin"
)

// newGuest is the guest of wasmtest with what these tests want by default: it is pure, and its property is of int32. Its imports are those that
// are served, and what isn't.
func newGuest() *wasmtest.Guest {
	g := wasmtest.NewGuest().With(map[string]any{"purity": "pure", "props": []map[string]string{{"name": "a", "type": "int32"}}})
	g.Signature = func(name string) (string, wasmbin.FuncType) {
		for _, module := range []string{hostModule, wasiModule} {
			if sig, ok := signatureOf(module, name); ok {
				return module, sig.types()
			}
		}
		return hostModule, signature(":").types()
	}
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
