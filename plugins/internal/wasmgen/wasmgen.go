// Package wasmgen writes random WebAssembly modules that are valid and come to an end. It is for tests: they compare what a
// module does in two ways, or offer modules of all shapes to what has to cope with them.
package wasmgen

import (
	"math/rand/v2"

	"github.com/weirmq/weir/plugins/internal/wasmbin"
)

// generator writes the bodies: loops have counters of their own, and each function gives up when all together have been
// entered too often.
//
// Every function is (depth i32, x i64) → i64. Locals 2 to 5 are i32, 6 to 9 i64, 10 and 11 f64, and 12 to 15 count loops.
type generator struct {
	r       *rand.Rand
	c       *wasmbin.Code
	count   int // of functions
	loops   uint32
	nest    uint32 // blocks around, for return tests
	budget  int    // statements and expressions left
	noCalls bool
	forget  bool // nothing that outlives a call but memory and global 0
}

const f64CopySign wasmbin.Op = 0xa6

const (
	genMemoryMask = 0x7ff8
	genEntries    = 500
)

var (
	genBinI32 = []wasmbin.Op{0x6a, 0x6b, 0x6c, 0x71, 0x72, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78}
	genBinI64 = []wasmbin.Op{0x7c, 0x7d, 0x7e, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a}
	genBinF64 = []wasmbin.Op{0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6}
	genCmpI32 = []wasmbin.Op{0x46, 0x47, 0x48, 0x49, 0x4a, 0x4b, 0x4c, 0x4d, 0x4e, 0x4f}
	genCmpI64 = []wasmbin.Op{0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59, 0x5a}
	genCmpF64 = []wasmbin.Op{0x61, 0x62, 0x63, 0x64, 0x65, 0x66}
	genUnI32  = []wasmbin.Op{0x45, 0x67, 0x68, 0x69, 0xc0, 0xc1}
	genUnI64  = []wasmbin.Op{0x79, 0x7a, 0x7b, 0xc2, 0xc3, 0xc4}
)

func pick[T any](g *generator, list []T) T { return list[g.r.IntN(len(list))] }

// Module makes a module with the exports run, (i32, i64) → i64, and memory. The same seed gives the same one.
func Module(seed uint64) *wasmbin.Module {
	return generate(&generator{r: rand.New(rand.NewPCG(seed, 7))})
}

// Forgetful is Module without growing and without changing tables: whoever clears the first page of its memory and global 0
// has it compute the same again.
func Forgetful(seed uint64) *wasmbin.Module {
	return generate(&generator{r: rand.New(rand.NewPCG(seed, 11)), forget: true})
}

func generate(g *generator) *wasmbin.Module {
	g.count = 1 + g.r.IntN(5)
	m := &wasmbin.Module{
		Types:     []wasmbin.FuncType{{Params: []wasmbin.ValType{wasmbin.I32, wasmbin.I64}, Results: []wasmbin.ValType{wasmbin.I64}}},
		Memories:  []wasmbin.Limits{{Min: 1, Max: 3, HasMax: true}},
		Tables:    []wasmbin.Table{{Elem: wasmbin.FuncRef, Limits: wasmbin.Limits{Min: 8, Max: 16, HasMax: true}}},
		Exports:   []wasmbin.Export{{Name: "run", Kind: wasmbin.ExternFunc, Index: 0}, {Name: "memory", Kind: wasmbin.ExternMemory}},
		Data:      []wasmbin.Segment{wasmbin.ActiveData(64, []byte("some text to begin with")), wasmbin.PassiveData([]byte("more text, passive"))},
		DataCount: true,
	}
	zero := &wasmbin.Code{}
	zero.I32Const(0)
	zero.End()
	m.Globals = []wasmbin.Global{{GlobalType: wasmbin.GlobalType{Type: wasmbin.I32, Mutable: true}, Init: zero.Bytes()}}
	var refs []uint32
	for i := range 8 {
		refs = append(refs, uint32(i%g.count))
	}
	m.Elements = []wasmbin.Segment{wasmbin.ActiveElements(0, refs...)}
	for range g.count {
		m.Functions = append(m.Functions, 0)
		m.Bodies = append(m.Bodies, g.body())
	}
	return m
}

func (g *generator) body() wasmbin.Body {
	g.c, g.loops, g.nest = &wasmbin.Code{}, 0, 0
	g.budget = 20 + g.r.IntN(150)
	g.noCalls = g.r.IntN(3) == 0
	c := g.c
	if !g.noCalls || g.r.IntN(2) == 0 { // leave when entered too often
		c.GlobalGet(0)
		c.I32Const(1)
		c.Op(wasmbin.I32Add)
		c.GlobalSet(0)
		c.GlobalGet(0)
		c.I32Const(genEntries)
		c.Op(wasmbin.I32GtS)
		c.If(wasmbin.NoValue)
		c.LocalGet(1)
		c.Op(wasmbin.ReturnOp)
		c.End()
	}
	for range 1 + g.r.IntN(6) {
		g.statement(0)
	}
	g.i64(0)
	c.End()
	return wasmbin.Body{Locals: []wasmbin.Locals{{Count: 4, Type: wasmbin.I32}, {Count: 4, Type: wasmbin.I64},
		{Count: 2, Type: wasmbin.F64}, {Count: 4, Type: wasmbin.I32}}, Code: c.Bytes()}
}

func (g *generator) statement(depth int) {
	g.budget--
	c := g.c
	if depth > 5 || g.budget < 0 {
		c.Op(wasmbin.Nop)
		return
	}
	switch g.r.IntN(16) {
	case 0, 1:
		g.i32(depth + 1)
		c.LocalSet(2 + uint32(g.r.IntN(4)))
	case 2, 3:
		g.i64(depth + 1)
		c.LocalSet(6 + uint32(g.r.IntN(4)))
	case 4:
		g.f64(depth + 1)
		c.LocalSet(10 + uint32(g.r.IntN(2)))
	case 5:
		g.address(depth)
		g.i64(depth + 1)
		c.Memory(wasmbin.I64Store, 3, uint32(g.r.IntN(32)))
	case 6:
		g.i32(depth + 1)
		g.in(wasmbin.IfOp, wasmbin.NoValue, func() { g.statements(depth) })
	case 7:
		g.i32(depth + 1)
		c.If(wasmbin.NoValue)
		g.nest++
		g.statements(depth)
		c.Else()
		g.statements(depth)
		c.End()
		g.nest--
	case 8, 9:
		g.loop(depth)
	case 10:
		g.jumpTable(depth)
	case 11:
		g.in(wasmbin.BlockOp, wasmbin.NoValue, func() {
			g.statements(depth)
			g.i32(depth + 1)
			c.BrIf(0)
			g.statements(depth)
		})
	case 12:
		g.i64(depth + 1)
		c.Op(wasmbin.Drop)
	case 13:
		g.bulk(depth)
	case 14: // return or leave the function by its label
		g.i32(depth + 1)
		c.If(wasmbin.NoValue)
		g.nest++
		g.i64(depth + 1)
		if g.r.IntN(2) == 0 {
			c.Op(wasmbin.ReturnOp)
		} else {
			c.Br(g.nest)
		}
		c.End()
		g.nest--
	case 15:
		if g.forget {
			c.Op(wasmbin.Nop)
			return
		}
		c.I32Const(int32(g.r.IntN(2)))
		c.Op(wasmbin.MemoryGrow)
		c.Index(0)
		c.LocalSet(3)
	}
}

func (g *generator) in(op wasmbin.Op, t wasmbin.BlockType, inner func()) {
	switch op {
	case wasmbin.IfOp:
		g.c.If(t)
	default:
		g.c.Block(t)
	}
	g.nest++
	inner()
	g.nest--
	g.c.End()
}

func (g *generator) statements(depth int) {
	for range g.r.IntN(3) {
		g.statement(depth + 1)
	}
}

func (g *generator) loop(depth int) {
	if g.loops == 4 {
		return
	}
	c, counter := g.c, 12+g.loops
	g.loops++
	c.I32Const(int32(1 + g.r.IntN(4)))
	c.LocalSet(counter)
	c.Loop(wasmbin.NoValue)
	g.nest++
	g.statements(depth)
	g.statement(depth + 1)
	c.LocalGet(counter)
	c.I32Const(1)
	c.Op(wasmbin.I32Sub)
	c.LocalTee(counter)
	c.BrIf(0)
	c.End()
	g.nest--
	g.loops--
}

// jumpTable is a switch whose cases fall through or leave.
func (g *generator) jumpTable(depth int) {
	c, n := g.c, 2+g.r.IntN(5)
	for range n + 1 {
		c.Block(wasmbin.NoValue)
	}
	g.nest += uint32(n + 1)
	g.i32(depth + 1)
	labels := make([]uint32, n)
	for i := range labels {
		labels[i] = uint32(g.r.IntN(n + 1))
	}
	c.BrTable(labels...)
	c.End()
	g.nest--
	for i := range n {
		g.statements(depth)
		if g.r.IntN(2) == 0 {
			c.Br(uint32(n - 1 - i))
		}
		c.End()
		g.nest--
	}
}

func (g *generator) bulk(depth int) {
	c := g.c
	size := func() {
		g.i32(depth + 1)
		c.I32Const(0xff)
		c.Op(wasmbin.I32And)
	}
	kinds := 5
	if g.forget {
		kinds = 3
	}
	switch g.r.IntN(kinds) {
	case 0:
		g.address(depth)
		g.i32(depth + 1)
		size()
		c.Op(wasmbin.MemoryFill)
		c.Index(0)
	case 1:
		g.address(depth)
		g.address(depth)
		size()
		c.Op(wasmbin.MemoryCopy)
		c.Index(0, 0)
	case 2:
		g.address(depth)
		c.I32Const(int32(g.r.IntN(5)))
		c.I32Const(int32(g.r.IntN(10)))
		c.Op(wasmbin.MemoryInit)
		c.Index(1, 0)
	case 3:
		c.I32Const(int32(g.r.IntN(4)))
		c.I32Const(int32(g.r.IntN(4)))
		c.I32Const(int32(g.r.IntN(4)))
		c.Op(wasmbin.TableCopy)
		c.Index(0, 0)
	case 4:
		c.Op(wasmbin.RefFunc)
		c.Index(uint32(g.r.IntN(g.count)))
		c.I32Const(int32(g.r.IntN(2)))
		c.Op(wasmbin.TableGrow)
		c.Index(0)
		c.Op(wasmbin.Drop)
	}
}

func (g *generator) address(depth int) {
	g.i32(depth + 1)
	g.c.I32Const(genMemoryMask)
	g.c.Op(wasmbin.I32And)
}

func (g *generator) i32(depth int) {
	g.budget--
	c := g.c
	if depth > 6 || g.budget < 0 {
		c.LocalGet(2)
		return
	}
	switch g.r.IntN(12) {
	case 0, 1:
		c.I32Const(int32(g.r.Uint32()) >> g.r.IntN(32))
	case 2, 3:
		c.LocalGet([]uint32{0, 2, 3, 4, 5}[g.r.IntN(5)])
	case 4, 5:
		g.i32(depth + 1)
		g.i32(depth + 1)
		c.Op(pick(g, genBinI32))
	case 6:
		g.i64(depth + 1)
		g.i64(depth + 1)
		c.Op(pick(g, genCmpI64))
	case 7:
		g.f64(depth + 1)
		g.f64(depth + 1)
		c.Op(pick(g, genCmpF64))
	case 8:
		g.i32(depth + 1)
		c.Op(pick(g, genUnI32))
	case 9:
		g.address(depth)
		c.Memory(wasmbin.I32Load8U, 0, uint32(g.r.IntN(32)))
	case 10:
		g.i32(depth + 1)
		g.i32(depth + 1)
		c.Op(pick(g, genCmpI32))
	case 11: // a block with a value, left early or not
		g.in(wasmbin.BlockOp, wasmbin.OneValue(wasmbin.I32), func() {
			g.i32(depth + 1)
			g.i32(depth + 1)
			c.BrIf(0)
			c.Op(wasmbin.I32Eqz)
		})
	}
}

func (g *generator) i64(depth int) {
	g.budget--
	c := g.c
	if depth > 6 || g.budget < 0 {
		c.LocalGet(1)
		return
	}
	switch g.r.IntN(13) {
	case 12: // may trap
		g.i64(depth + 1)
		g.i64(depth + 1)
		c.Op(pick(g, []wasmbin.Op{wasmbin.I64DivS, wasmbin.I64DivU, 0x81, wasmbin.I64RemU}))
	case 0:
		c.I64Const(int64(g.r.Uint64()) >> g.r.IntN(64))
	case 1, 2:
		c.LocalGet([]uint32{1, 6, 7, 8, 9}[g.r.IntN(5)])
	case 3, 4:
		g.i64(depth + 1)
		g.i64(depth + 1)
		c.Op(pick(g, genBinI64))
	case 5:
		g.i32(depth + 1)
		c.Op(wasmbin.I64ExtendI32S)
	case 6:
		g.i64(depth + 1)
		c.Op(pick(g, genUnI64))
	case 7:
		g.address(depth)
		c.Memory(wasmbin.I64Load, 3, uint32(g.r.IntN(32)))
	case 8:
		g.i32(depth + 1)
		c.If(wasmbin.OneValue(wasmbin.I64))
		g.nest++
		g.i64(depth + 1)
		c.Else()
		g.i64(depth + 1)
		c.End()
		g.nest--
	case 9:
		g.f64(depth + 1)
		c.Op(0xbd)            // i64.reinterpret_f64
		c.I64Const(1<<32 - 1) // NaN bits may differ
		c.Op(wasmbin.I64And)
		c.Op(wasmbin.Drop)
		c.LocalGet(6)
	case 10, 11:
		g.call(depth)
	}
}

func (g *generator) call(depth int) {
	c := g.c
	if g.noCalls {
		c.LocalGet(1)
		return
	}
	c.LocalGet(0)
	c.I32Const(1)
	c.Op(wasmbin.I32Sub)
	g.i64(depth + 1)
	if g.r.IntN(3) > 0 {
		c.Call(uint32(g.r.IntN(g.count)))
		return
	}
	g.i32(depth + 1)
	c.I32Const(7)
	c.Op(wasmbin.I32And)
	c.CallIndirect(0, 0)
}

func (g *generator) f64(depth int) {
	g.budget--
	c := g.c
	if depth > 6 || g.budget < 0 {
		c.LocalGet(10)
		return
	}
	switch g.r.IntN(5) {
	case 0:
		c.F64Const(g.r.NormFloat64())
	case 1:
		c.LocalGet(10 + uint32(g.r.IntN(2)))
	case 2:
		g.f64(depth + 1)
		g.f64(depth + 1)
		op := pick(g, genBinF64)
		if g.forget && op == f64CopySign { // of a NaN, whose sign engines are free to choose
			op--
		}
		c.Op(op)
	case 3:
		g.i32(depth + 1)
		c.Op(0xb7) // f64.convert_i32_s
	case 4:
		g.f64(depth + 1)
		c.Op(0x99) // f64.abs
	}
}
