package wasm

import (
	"errors"
	"strings"
	"testing"

	"github.com/weirmq/weir/core/plugin"
	"github.com/weirmq/weir/plugins/filter/wasm/wasmtest"
	"github.com/weirmq/weir/plugins/internal/wasmbin"
)

func trapping(c *wasmbin.Code) { c.Op(wasmbin.Unreachable) }

// TestRefused starts modules that must not start, and wants each to be refused with the error that is named for it and a
// text that says what is wrong.
func TestRefused(t *testing.T) {
	g := newGuest
	module := func(f func(m *wasmbin.Module)) *wasmtest.Guest {
		x := newGuest()
		x.Change = f
		return x
	}
	code := func(name string, f func(c *wasmbin.Code)) *wasmtest.Guest {
		x := newGuest()
		x.Code[name] = f
		return x
	}
	manifest := func(name string, value any) *wasmtest.Guest { return newGuest().With(map[string]any{name: value}) }
	importing := func(names ...string) *wasmtest.Guest {
		x := newGuest()
		x.Imports = names
		return x
	}
	tests := []struct {
		name   string
		guest  *wasmtest.Guest
		config func(c *Config)
		kind   error
		text   string
	}{
		{"another hash", g(), func(c *Config) { c.SHA256 = strings.Repeat("ab", 32) }, ErrHash, "the file has"},
		{"file too large", g(), func(c *Config) { c.Limits.Size = 100 }, ErrTooLarge, "has more than 100B"},
		{"unknown import", importing("open_socket"), nil, ErrImport, "mqf_v1.open_socket"},
		{"import of a file system", module(func(m *wasmbin.Module) {
			m.Imports = []wasmbin.Import{{Module: wasiModule, Name: "path_open", Type: 0}, {Module: "env", Name: "x", Type: 0}}
		}), nil, ErrImport, "wasi_snapshot_preview1.path_open, env.x"},
		{"import of another type", module(func(m *wasmbin.Module) {
			m.Imports = []wasmbin.Import{{Module: hostModule, Name: "log", Type: 0}}
		}), nil, ErrImport, "mqf_v1.log as () → () (it is (i32, i32, i32) → ())"},
		{"imported memory", module(func(m *wasmbin.Module) {
			m.Memories = nil
			m.Imports = []wasmbin.Import{{Module: "env", Name: "memory", Kind: wasmbin.ExternMemory}}
		}), nil, ErrImport, "env.memory (a memory)"},
		{"no marker", &wasmtest.Guest{Drop: []string{"mqf_abi_1"}, Manifest: g().Manifest}, nil, ErrExport, "mqf_abi_1 is missing"},
		{"no buffer", &wasmtest.Guest{Drop: []string{"mqf_buffer"}, Manifest: g().Manifest}, nil, ErrExport, "mqf_buffer is missing"},
		{"no filter", &wasmtest.Guest{Drop: []string{"mqf_filter"}, Manifest: g().Manifest}, nil, ErrExport, "mqf_filter is missing"},
		{"another type", module(func(m *wasmbin.Module) { m.Functions[1] = m.Functions[0] }), nil, ErrExport, "mqf_buffer is () → (), want i32 → i32"},
		{"no memory", module(func(m *wasmbin.Module) { m.Exports = m.Exports[1:] }), nil, ErrExport, "memory is missing"},
		{"command", module(func(m *wasmbin.Module) {
			m.Exports = append(m.Exports, wasmbin.Export{Name: "_start", Kind: wasmbin.ExternFunc})
		}), nil, ErrExport, "it is a command"},
		{"the host's own name", module(func(m *wasmbin.Module) {
			m.Exports = append(m.Exports, wasmbin.Export{Name: "mqf_start", Kind: wasmbin.ExternFunc})
		}), nil, ErrExport, "mqf_start"},
		{"its own fuel", module(func(m *wasmbin.Module) {
			m.Exports = append(m.Exports, wasmbin.Export{Name: "mqf_fuel", Kind: wasmbin.ExternFunc})
		}), nil, ErrMalformed, "mqf_fuel"},
		{"no manifest", module(func(m *wasmbin.Module) { m.Customs = nil }), nil, ErrManifest, "pack the module"},
		{"manifest is no JSON", module(func(m *wasmbin.Module) { m.Customs[0].Data = []byte("name: x") }), nil, ErrManifest, "invalid character"},
		{"manifest twice", module(func(m *wasmbin.Module) { m.Customs[0].Data = append(m.Customs[0].Data, '{') }), nil, ErrManifest, "behind the JSON object"},
		{"unknown field", manifest("memory", 3), nil, ErrManifest, `unknown field "memory"`},
		{"another ABI", manifest("abi", "1.7"), nil, ErrManifest, "abi 1.7 isn't served here; this broker has 1.0"},
		{"ABI of another major", manifest("abi", "2.0"), nil, ErrManifest, "abi 2.0 isn't served here"},
		{"no name", manifest("name", ""), nil, ErrManifest, `name ""`},
		{"bad version", manifest("version", "1"), nil, ErrManifest, `version "1"`},
		{"unknown kind", manifest("kind", []string{"proxy"}), nil, ErrManifest, "kind"},
		{"pure with state", manifest("stateless", false), nil, ErrManifest, "stateless isn't true"},
		{"pure with a clock", importing("now_ms"), nil, ErrManifest, "imports mqf_v1.now_ms"},
		{"body without need", importing("body"), nil, ErrManifest, "needs doesn't list body"},
		{"unknown type", manifest("props", []map[string]string{{"name": "a", "type": "float"}}), nil, ErrManifest, `type "float": want one of text, int32`},
		{"too many props", manifest("props", make([]map[string]string, 65)), nil, ErrManifest, "65 props; at most 64"},
		{"bad default", manifest("config", []map[string]any{{"name": "x", "type": "int32", "default": "y"}}), nil, ErrManifest, `"y", is no int32`},
		{"functions without", manifest("kind", []string{"filter", "functions"}), nil, ErrManifest, "kind and functions contradict"},
		{"too much memory asked", manifest("memory_pages", 1000), nil, ErrTooLarge, "memory_pages is 1000; limits.memory allows 128"},
		{"too much memory declared", &wasmtest.Guest{Memory: wasmbin.Limits{Min: 17}, Manifest: g().Manifest}, nil, ErrTooLarge, "declares 17 pages"},
		{"huge table", module(func(m *wasmbin.Module) {
			m.Tables = []wasmbin.Table{{Elem: wasmbin.FuncRef, Limits: wasmbin.Limits{Min: 1 << 30}}}
		}), nil, ErrMalformed, "1073741824 table entries; at most 20000"},
		{"huge locals", module(func(m *wasmbin.Module) { m.Bodies[0].Locals = []wasmbin.Locals{{Count: 1 << 30, Type: wasmbin.V128}} }), nil, ErrMalformed, "1073741824 locals"},
		{"tail calls", code("mqf_filter", func(c *wasmbin.Code) { c.Raw([]byte{0x12, 0}) }), nil, ErrMalformed, "return_call (tail calls) isn't WebAssembly 2.0"},
		{"atomics", code("mqf_filter", func(c *wasmbin.Code) { c.Raw([]byte{0xfe, 3, 0}) }), nil, ErrMalformed, "threads and atomics"},
		{"wrong types", code("mqf_filter", func(c *wasmbin.Code) { c.I64Const(0) }), nil, ErrMalformed, "cannot use i64 as result"},
		{"setting the fuel", code("mqf_filter", func(c *wasmbin.Code) {
			c.I64Const(1 << 60)
			c.GlobalSet(0)
			c.I32Const(0)
		}), nil, ErrMalformed, "there is no global 0"},
		{"unknown setting", g(), func(c *Config) { c.Config = map[string]string{"x": "1"} }, ErrConfig, `there is no setting "x"`},
		{"data outside of the memory", module(func(m *wasmbin.Module) {
			m.Data = []wasmbin.Segment{wasmbin.ActiveData(1<<30, []byte("x"))}
		}), nil, ErrStart, "out of bounds"},
		{"endless start section", module(func(m *wasmbin.Module) {
			var c wasmbin.Code
			wasmtest.Spin(&c)
			c.End()
			start := uint32(len(m.Bodies))
			m.Functions, m.Bodies = append(m.Functions, 0), append(m.Bodies, wasmbin.Body{Code: c.Bytes()})
			m.Start = &start
		}), nil, ErrFuel, "doesn't start"},
		{"endless _initialize", code("_initialize", wasmtest.Spin), nil, ErrFuel, "doesn't start"},
		{"trap in _initialize", code("_initialize", trapping), nil, ErrTrap, "doesn't start: the module trapped: unreachable"},
		{"endless mqf_init", code("mqf_init", wasmtest.Spin), nil, ErrFuel, "doesn't start"},
		{"mqf_init refuses", code("mqf_init", func(c *wasmbin.Code) { c.I32Const(-4) }), nil, ErrCode, "mqf_init returned -4, bad configuration"},
		{"mqf_init says why", func() *wasmtest.Guest {
			x := code("mqf_init", func(c *wasmbin.Code) { c.I32Const(-101) })
			x.Code["mqf_error"] = func(c *wasmbin.Code) { c.I64Const(8<<32 | 9) }
			x.Change = func(m *wasmbin.Module) { m.Data = []wasmbin.Segment{wasmbin.ActiveData(8, []byte("no\x00luck\nx"))} }
			return x
		}(), nil, ErrCode, "mqf_init returned -101: no luck x"},
		{"error text outside", func() *wasmtest.Guest {
			x := code("mqf_init", func(c *wasmbin.Code) { c.I32Const(-1) })
			x.Code["mqf_error"] = func(c *wasmbin.Code) { c.I64Const(-1) }
			return x
		}(), nil, ErrCode, "mqf_init returned -1, unspecified"},
		{"no area", code("mqf_buffer", func(c *wasmbin.Code) { c.I32Const(0) }), nil, ErrArea, "mqf_buffer(16384) returned 0"},
		{"unaligned area", code("mqf_buffer", func(c *wasmbin.Code) { c.I32Const(wasmtest.Area + 4) }), nil, ErrArea, "returned 65540"},
		{"area outside", code("mqf_buffer", func(c *wasmbin.Code) { c.I32Const(-8) }), nil, ErrArea, "returned 4294967288"},
		{"recursive area", code("mqf_buffer", func(c *wasmbin.Code) {
			c.LocalGet(0)
			c.Call(1)
		}), nil, ErrStack, "nested too deeply"},
		{"slots beyond", func() *wasmtest.Guest {
			x := importing("need_prop")
			x.Code["mqf_init"] = func(c *wasmbin.Code) {
				c.I32Const(0)
				c.I32Const(1 << 20)
				c.I32Const(0)
				c.Call(0)
			}
			return x
		}(), nil, ErrCode, "mqf_init returned -1"},
		{"test that fails", manifest("tests", []map[string]any{{"props": map[string]string{"a": "1"}, "want": "true"}}), nil, ErrTest, "the message a=1 is false, want true"},
		{"test with a bad outcome", manifest("tests", []map[string]any{{"want": "maybe"}}), nil, ErrManifest, `"maybe"`},
		{"exit", func() *wasmtest.Guest {
			x := importing("proc_exit")
			x.Code["_initialize"] = func(c *wasmbin.Code) {
				c.I32Const(3)
				c.Call(0)
			}
			return x
		}(), nil, ErrTrap, "it exited with code 3"},
	}
	for _, x := range tests {
		t.Run(x.name, func(t *testing.T) {
			if x.guest.Memory == (wasmbin.Limits{}) {
				x.guest.Memory.Min = 4
			}
			if x.config == nil {
				x.config = func(*Config) {}
			}
			_, err := open(t, x.guest.Build(), nil, x.config)
			if !errors.Is(err, x.kind) || !strings.Contains(err.Error(), x.text) {
				t.Errorf("got %v\nwant %v … %s", err, x.kind, x.text)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "load WASM module wasm/guest from ") {
				t.Errorf("the error doesn't name the module: %v", err)
			}
		})
	}
	for _, bin := range []string{"", "hello", "\x00asm\x01\x00\x00\x00", "\x00asm\x02\x00\x00\x00", "\x00asm\x01\x00\x00\x00\x0d\x00"} {
		if _, err := open(t, []byte(bin), nil); err == nil || !strings.Contains(err.Error(), "the module") {
			t.Errorf("%q: got %v", bin, err)
		}
	}
}

func TestConfigValidate(t *testing.T) {
	bad := &Config{SHA256: "12", Isolation: "none"}
	err := bad.Validate()
	for _, field := range []string{"sha256", "isolation", "limits.size", "limits.memory", "limits.fuel_per_call", "limits.fuel_at_start", "limits.records"} {
		if err == nil || !strings.Contains(err.Error(), field+": want") {
			t.Errorf("%v: nothing about %s", err, field)
		}
	}
	var fe *plugin.FieldError
	if !errors.As(err, &fe) {
		t.Errorf("%v isn't a field error", err)
	}
}
