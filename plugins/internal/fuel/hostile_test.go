package fuel

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/weirmq/weir/plugins/internal/wasmbin"
	"github.com/weirmq/weir/plugins/internal/wasmgen"
)

// module makes a module with a memory and one function run of type t.
func module(t wasmbin.FuncType, write func(c *wasmbin.Code)) *wasmbin.Module {
	var c wasmbin.Code
	write(&c)
	c.End()
	return &wasmbin.Module{
		Types: []wasmbin.FuncType{t}, Functions: []uint32{0}, Memories: []wasmbin.Limits{{Min: 1}},
		Tables:  []wasmbin.Table{{Elem: wasmbin.FuncRef, Limits: wasmbin.Limits{Min: 1}}},
		Exports: []wasmbin.Export{{Name: "run", Kind: wasmbin.ExternFunc}, {Name: "memory", Kind: wasmbin.ExternMemory}},
		Bodies:  []wasmbin.Body{{Code: c.Bytes()}},
	}
}

// TestHostileCodeStops runs code that would never end, or take everything, under five million units. It wants each to
// stop with the counter that is meant for it below zero.
func TestHostileCodeStops(t *testing.T) {
	none := wasmbin.FuncType{}
	i32 := wasmbin.FuncType{Params: []wasmbin.ValType{wasmbin.I32}, Results: []wasmbin.ValType{wasmbin.I32}}
	forever := func(body func(c *wasmbin.Code)) func(c *wasmbin.Code) {
		return func(c *wasmbin.Code) {
			c.Loop(wasmbin.NoValue)
			body(c)
			c.Br(0)
			c.End()
		}
	}
	bulk := func(op wasmbin.Op, index ...uint32) func(c *wasmbin.Code) {
		return forever(func(c *wasmbin.Code) {
			c.I32Const(0)
			c.I32Const(0)
			c.I32Const(65536)
			c.Op(op)
			c.Index(index...)
		})
	}
	tests := []struct {
		name  string
		m     *wasmbin.Module
		stack bool
	}{
		{"endless loop", module(none, forever(func(*wasmbin.Code) {})), false},
		{"endless jump table", module(none, forever(func(c *wasmbin.Code) {
			c.Block(wasmbin.NoValue)
			c.I32Const(0)
			c.BrTable(0, 0, 0, 0, 0, 1)
			c.End()
		})), false},
		{"endless recursion", module(i32, func(c *wasmbin.Code) {
			c.LocalGet(0)
			c.Call(0)
		}), true},
		{"exponential recursion", module(i32, func(c *wasmbin.Code) {
			c.LocalGet(0)
			c.I32Const(60)
			c.Op(wasmbin.I32GtS)
			c.If(wasmbin.OneValue(wasmbin.I32))
			c.I32Const(1)
			c.Else()
			for range 2 {
				c.LocalGet(0)
				c.I32Const(1)
				c.Op(wasmbin.I32Add)
				c.Call(0)
			}
			c.Op(wasmbin.I32Add)
			c.End()
		}), false},
		{"filling memory", module(none, bulk(wasmbin.MemoryFill, 0)), false},
		{"copying memory", module(none, bulk(wasmbin.MemoryCopy, 0, 0)), false},
		{"growing memory", module(none, forever(func(c *wasmbin.Code) {
			c.I32Const(1)
			c.Op(wasmbin.MemoryGrow)
			c.Index(0)
			c.Op(wasmbin.Drop)
		})), false},
		{"growing a table", module(none, forever(func(c *wasmbin.Code) {
			c.Op(wasmbin.RefNull)
			c.Index(uint32(wasmbin.FuncRef))
			c.I32Const(100)
			c.Op(wasmbin.TableGrow)
			c.Index(0)
			c.Op(wasmbin.Drop)
		})), false},
	}
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithMemoryLimitPages(128))
	defer r.Close(ctx)
	for _, x := range tests {
		t.Run(x.name, func(t *testing.T) {
			args := []uint64{1}[:len(x.m.Types[0].Params)]
			o, mod := run(t, r, inject(t, x.m.Encode(), defaults()), 5_000_000, args...)
			if !strings.Contains(o.trap, "unreachable") {
				t.Fatalf("it ends with %+v", o)
			}
			stack := int64(mod.ExportedGlobal(StackExport).Get())
			if x.stack != (stack < 0) || x.stack == (used(mod) < 0) {
				t.Errorf("fuel %d, stack %d", used(mod), stack)
			}
			if size := mod.Memory().Size(); size > 128<<16 {
				t.Errorf("memory has %d bytes", size)
			}
		})
	}
}

// TestFrameComesBack calls a recursive function often, with every way out of it: the stack is whole again each time.
func TestFrameComesBack(t *testing.T) {
	i32 := wasmbin.FuncType{Params: []wasmbin.ValType{wasmbin.I32}, Results: []wasmbin.ValType{wasmbin.I32, wasmbin.I32}}
	m := module(i32, func(c *wasmbin.Code) {
		leave := func(n int32, how func()) {
			c.LocalGet(0)
			c.I32Const(n)
			c.Op(wasmbin.I32Eq)
			c.If(wasmbin.NoValue)
			c.I32Const(n)
			c.I32Const(n * 10)
			how()
			c.End()
		}
		leave(0, func() { c.Op(wasmbin.ReturnOp) })
		leave(1, func() { c.Br(1) })
		leave(2, func() {
			c.I32Const(0)
			c.BrTable(1, 1)
		})
		leave(3, func() {
			c.I32Const(1)
			c.BrIf(1)
			c.Op(wasmbin.Drop, wasmbin.Drop)
		})
		c.LocalGet(0)
		c.I32Const(1)
		c.Op(wasmbin.I32Sub)
		c.Call(0)
		c.Op(wasmbin.I32Add)
		c.LocalGet(0)
	})
	ctx := context.Background()
	r := wazero.NewRuntime(ctx)
	defer r.Close(ctx)
	_, mod := run(t, r, inject(t, m.Encode(), defaults()), plenty, 9)
	for n := range uint64(300) {
		got, err := mod.ExportedFunction("run").Call(ctx, n)
		if err != nil {
			t.Fatal(err)
		}
		want := []uint64{n, n * 10}
		if n > 3 {
			sum := uint64(33)
			for k := uint64(4); k < n; k++ {
				sum += k
			}
			want = []uint64{sum, n}
		}
		if got[0] != want[0] || got[1] != want[1] {
			t.Errorf("run(%d) = %v, want %v", n, got, want)
		}
	}
	if left := int64(mod.ExportedGlobal(StackExport).Get()); left != 1<<20 {
		t.Errorf("%d of the stack is left, want %d", left, 1<<20)
	}
}

// TestRefused has modules that would reach what the pass adds, and instructions beyond WebAssembly 2.0.
func TestRefused(t *testing.T) {
	none := wasmbin.FuncType{}
	raw := func(b ...byte) *wasmbin.Module { return module(none, func(c *wasmbin.Code) { c.Raw(b) }) }
	exporting := func(name string) *wasmbin.Module {
		m := module(none, func(*wasmbin.Code) {})
		m.Exports = append(m.Exports, wasmbin.Export{Name: name, Kind: wasmbin.ExternFunc})
		return m
	}
	tests := []struct {
		name string
		m    *wasmbin.Module
		want string
	}{
		{"global behind the last", raw(0x23, 0x00, 0x1a), "there is no global 0"},
		{"setting it", raw(0x42, 0x00, 0x24, 0x00), "there is no global 0"},
		{"function behind the last", raw(0x41, 0x00, 0x10, 0x01, 0x1a), "there is no function 1"},
		{"function reference behind the last", raw(0xd2, 0x01, 0x1a), "there is no function 1"},
		{"local behind the last", raw(0x20, 0x00, 0x1a), "there is no local 0"},
		{"label behind the last", raw(0x0c, 0x01), "there is no label 1"},
		{"label of a table", raw(0x41, 0x00, 0x0e, 0x01, 0x00, 0x01), "there is no label 1"},
		{"type behind the last", raw(0x02, 0x01, 0x0b), "there is no type 1"},
		{"call type", raw(0x41, 0x00, 0x11, 0x07, 0x00), "there is no type 7"},
		{"code behind the end", raw(0x0b, 0x01), "code behind the end of a function"},
		{"tail call", raw(0x12, 0x00), "instruction return_call (tail calls) isn't WebAssembly 2.0"},
		{"atomics", raw(0xfe, 0x03, 0x00), "instruction 0xfe 3 (threads and atomics) isn't WebAssembly 2.0"},
		{"relaxed SIMD", raw(0xfd, 0x80, 0x02), "instruction 0xfd 256 (relaxed SIMD) isn't WebAssembly 2.0"},
		{"exceptions", raw(0x08, 0x00), "instruction throw (exceptions) isn't WebAssembly 2.0"},
		{"garbage collection", raw(0xfb, 0x01), "instruction 0xfb 1 (garbage collection) isn't WebAssembly 2.0"},
		{"own fuel", exporting("mqf_fuel"), "the module exports mqf_fuel itself"},
		{"own stack", exporting("mqf_stack"), "the module exports mqf_stack itself"},
	}
	for _, x := range tests {
		t.Run(x.name, func(t *testing.T) {
			m, err := wasmbin.Parse(x.m.Encode(), wasmbin.Bounds{})
			if err == nil {
				_, err = Inject(m, defaults())
			}
			if err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("got %v, want %s", err, x.want)
			}
		})
	}
}

// FuzzInject feeds bytes of any kind. What passes, and was valid before, must be valid after.
func FuzzInject(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(wasmgen.Module(seed).Encode())
	}
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithMemoryLimitPages(16))
	defer r.Close(ctx)
	f.Fuzz(func(t *testing.T, bin []byte) {
		m, err := wasmbin.Parse(bin, wasmbin.Bounds{Functions: 100, Globals: 100, TableEntries: 100, Segments: 100, Locals: 1000})
		if err != nil {
			return
		}
		out, err := Inject(m, defaults())
		if err != nil {
			return
		}
		before, err := r.CompileModule(ctx, bin)
		if err != nil {
			return
		}
		_ = before.Close(ctx)
		after, err := r.CompileModule(ctx, out.Encode())
		if err != nil {
			t.Fatalf("valid before, but not after: %v", err)
		}
		_ = after.Close(ctx)
	})
}

// TestCompilerBombs has functions of some kilobytes that would take a compiler minutes, or gigabytes. They are refused before
// it sees them, and soon. Half of each is let through.
func TestCompilerBombs(t *testing.T) {
	times := func(n int, f func()) {
		for range n {
			f()
		}
	}
	signature := func(n int) wasmbin.FuncType {
		list := slices.Repeat([]wasmbin.ValType{wasmbin.I32}, n)
		return wasmbin.FuncType{Params: list, Results: list}
	}
	none := wasmbin.FuncType{}
	with := func(arity, n int, one func(c *wasmbin.Code)) *wasmbin.Module {
		m := module(none, func(c *wasmbin.Code) {
			times(arity, func() { c.I32Const(0) })
			times(n, func() { one(c) })
			times(arity, func() { c.Op(wasmbin.Drop) })
		})
		m.Types = append(m.Types, signature(arity))
		m.Functions = append(m.Functions, 1)
		var c wasmbin.Code
		for i := range arity {
			c.LocalGet(uint32(i))
		}
		c.End()
		m.Bodies = append(m.Bodies, wasmbin.Body{Code: c.Bytes()})
		return m
	}
	flat := func(n int) func(c *wasmbin.Code) {
		return func(c *wasmbin.Code) {
			times(n, func() {
				c.I32Const(0)
				c.If(wasmbin.NoValue)
				c.End()
			})
		}
	}
	tests := []struct {
		name string
		n    int
		make func(n int) *wasmbin.Module
		want string
	}{
		{"nested blocks", 1100, func(n int) *wasmbin.Module {
			return module(none, func(c *wasmbin.Code) {
				times(n, func() { c.Block(wasmbin.NoValue) })
				times(n, c.End)
			})
		}, "blocks are nested 1101 deep; at most 1000 are allowed"},
		{"nested loops", 70, func(n int) *wasmbin.Module {
			return module(none, func(c *wasmbin.Code) {
				times(n, func() { c.Loop(wasmbin.NoValue) })
				times(n, c.End)
			})
		}, "loops are nested 70 deep; at most 64 are allowed"},
		{"branches", 6000, func(n int) *wasmbin.Module { return module(none, flat(n)) }, "it has about 18000 basic blocks; at most 16384 are allowed"},
		{"jump tables", 40_000, func(n int) *wasmbin.Module {
			return module(none, func(c *wasmbin.Code) {
				c.Block(wasmbin.NoValue)
				c.I32Const(0)
				c.BrTable(make([]uint32, n)...)
				c.End()
			})
		}, "320000 values that calls and branches carry"},
		{"calls with many values", 200, func(n int) *wasmbin.Module {
			return with(1000, n, func(c *wasmbin.Code) { c.Call(1) })
		}, "400000 values that calls and branches carry"},
		{"blocks with many values", 200, func(n int) *wasmbin.Module {
			return with(1000, n, func(c *wasmbin.Code) {
				c.Block(wasmbin.SignatureType(1))
				c.End()
			})
		}, "400000 values that calls and branches carry"},
		{"branches with many values", 400, func(n int) *wasmbin.Module {
			m := with(1000, 1, func(c *wasmbin.Code) {
				c.Block(wasmbin.SignatureType(1))
				times(n, func() {
					c.I32Const(0)
					c.BrIf(0)
				})
				c.End()
			})
			return m
		}, "402000 values that calls and branches carry"},
		{"parameters", 1100, func(n int) *wasmbin.Module { return with(n, 1, func(c *wasmbin.Code) { c.Call(1) }) },
			"it has 1100 parameters and 1100 results; at most 1000 are allowed"},
		{"large functions", 6, func(n int) *wasmbin.Module {
			m := module(none, flat(5000))
			for range n - 1 {
				m.Functions, m.Bodies = append(m.Functions, 0), append(m.Bodies, m.Bodies[0])
			}
			return m
		}, "too many functions of the module are large"},
	}
	for _, x := range tests {
		t.Run(x.name, func(t *testing.T) {
			for _, part := range []int{1, 2} {
				m, err := wasmbin.Parse(x.make(x.n/part).Encode(), wasmbin.Bounds{})
				if err != nil {
					t.Fatal(err)
				}
				_, err = Inject(m, defaults())
				if part == 1 && (err == nil || !strings.Contains(err.Error(), x.want)) || part == 2 && err != nil {
					t.Errorf("%d: got %v, want %s", x.n/part, err, x.want)
				}
			}
		})
	}
}
