package fuel

import (
	"fmt"
	"slices"

	"github.com/weirmq/weir/plugins/internal/wasmbin"
)

// framesMax bounds, in units of 8 bytes, the frames of all functions that don't watch the stack, taken together. In a
// module with more, all functions with callees watch it.
const framesMax = 1 << 20

// frameShare is how many of the largest frames fit into the stack at least.
const frameShare = 16

// Inject returns a module that does what m does and counts. It changes nothing in m; the result borrows m's bytes.
// An error is a *wasmbin.FormatError or names what can't be.
func Inject(m *wasmbin.Module, o Options) (*wasmbin.Module, error) {
	for _, name := range []string{FuelExport, StackExport} {
		if _, ok := m.Export(name); ok {
			return nil, fmt.Errorf("the module exports %s itself: it is the host's", name)
		}
	}
	a := analyser{m: m, imported: m.ImportedCount(wasmbin.ExternFunc),
		globals: m.ImportedCount(wasmbin.ExternGlobal) + len(m.Globals), taken: map[uint32]bool{}}
	for i := range m.FuncRefs {
		a.taken[i] = true
	}
	list := make([]*function, len(m.Bodies))
	for i := range m.Bodies {
		f, err := a.function(i)
		if err != nil {
			return nil, err
		}
		list[i] = f
	}
	if err := checkAll(list, a.imported); err != nil {
		return nil, err
	}
	settleFlat(list, func(i int) bool { return a.taken[uint32(i+a.imported)] || m.IsExportedFunc(uint32(i+a.imported)) })
	settleRecursive(list, definedOnly(a.taken, a.imported))
	settleFrames(list, o.Stack)
	return a.rewrite(list, o), nil
}

// definedOnly lists the functions in taken that the module defines, in order.
func definedOnly(taken map[uint32]bool, imported int) (list []int) {
	for i := range taken {
		if int(i) >= imported {
			list = append(list, int(i)-imported)
		}
	}
	slices.Sort(list)
	return list
}

// settleFrames estimates frames from above. A compiler may give every value that it can't keep in a register a place of
// its own: one for each local wherever control flow meets, and one for each instruction's result.
func settleFrames(list []*function, stack int64) {
	total := int64(0)
	for _, f := range list {
		f.frame = 8 + f.instrs/2 + f.places()
		f.frame = min(f.frame, max(1, stack/frameShare))
		if !f.recursive {
			total += f.frame
		}
	}
	if total <= framesMax {
		return
	}
	for _, f := range list {
		f.recursive = f.recursive || len(f.calls) > 0 || f.indirect
	}
}

// rewriter holds the indices of what is added.
type rewriter struct {
	m           *wasmbin.Module
	fuel, stack uint32 // globals
	helpers     uint32 // the first of the helper functions
	code        wasmbin.Code
	// Of the function that is being written: its first added local, and whether the second holds the fuel.
	scratch uint32
	held    bool
}

func (a *analyser) rewrite(list []*function, o Options) *wasmbin.Module {
	m := *a.m
	m.Types = slices.Clone(m.Types)
	r := rewriter{m: &m, fuel: uint32(a.globals), stack: uint32(a.globals + 1), helpers: uint32(a.imported + len(m.Functions))}
	m.Globals = append(slices.Clip(m.Globals), counter(o.Fuel), counter(o.Stack))
	m.Exports = append(slices.Clip(m.Exports),
		wasmbin.Export{Name: FuelExport, Kind: wasmbin.ExternGlobal, Index: r.fuel},
		wasmbin.Export{Name: StackExport, Kind: wasmbin.ExternGlobal, Index: r.stack})
	m.Bodies = make([]wasmbin.Body, len(list), len(list)+int(helperCount))
	for i, f := range list {
		m.Bodies[i] = r.body(f, m.Types[m.Functions[i]])
	}
	m.Functions = slices.Clip(m.Functions)
	for h := range helperCount {
		m.Functions = append(m.Functions, m.TypeIndex(wasmbin.FuncType{Params: []wasmbin.ValType{wasmbin.I32}, Results: []wasmbin.ValType{wasmbin.I32}}))
		m.Bodies = append(m.Bodies, r.helper(h))
	}
	m.Tables = boundTables(m.Tables, o.TableMax)
	m.Customs = slices.DeleteFunc(slices.Clone(m.Customs), func(c wasmbin.Custom) bool { return c.Name != "name" })
	return &m
}

func counter(n int64) wasmbin.Global {
	var c wasmbin.Code
	c.I64Const(n)
	c.End()
	return wasmbin.Global{GlobalType: wasmbin.GlobalType{Type: wasmbin.I64, Mutable: true}, Init: c.Bytes()}
}

func boundTables(tables []wasmbin.Table, most uint32) []wasmbin.Table {
	if most == 0 {
		return tables
	}
	tables = slices.Clone(tables)
	for i := range tables {
		t := &tables[i]
		if !t.HasMax || t.Max > most {
			t.HasMax, t.Max = true, max(most, t.Min)
		}
	}
	return tables
}

// body writes the new code of f:
//
//	take the fuel; charge the entry; take the frame
//	block: the old code, with charges; return leaves the block
//	give the frame back; put the fuel back
//
// A function with loops holds the fuel in a local while it runs, and puts it back around calls: that makes a turn
// of a loop three times cheaper. Other functions charge the global, and only those that watch the stack need the block.
// Labels stay right without a change: the block takes the place of the function's own label.
func (r *rewriter) body(f *function, t wasmbin.FuncType) wasmbin.Body {
	r.code, r.scratch, r.held = wasmbin.Code{}, uint32(f.locals), f.loops
	if r.held {
		r.take()
	}
	if !f.paid {
		r.charge(f.charges[0])
	}
	if f.recursive {
		r.enter(f.frame)
	}
	block := r.held || f.recursive
	if block {
		r.code.Block(r.blockType(t.Results))
	}
	r.copy(f, block)
	if f.recursive {
		r.code.GlobalGet(r.stack)
		r.code.I64Const(f.frame)
		r.code.Op(wasmbin.I64Add)
		r.code.GlobalSet(r.stack)
	}
	if r.held {
		r.put()
	}
	if block {
		r.code.End()
	}
	locals := append(slices.Clip(f.body.Locals), wasmbin.Locals{Count: 2, Type: wasmbin.I64})
	if f.paid && !block {
		locals = f.body.Locals
	}
	return wasmbin.Body{Locals: locals, Code: r.code.Bytes()}
}

// copy writes the old code with its changes.
func (r *rewriter) copy(f *function, block bool) {
	old, from := f.body.Code, 0
	for _, p := range f.patches {
		if p.kind == patchReturn && !block || p.kind == patchCall && !r.held {
			continue
		}
		r.code.Raw(old[from:p.at])
		from = p.at
		switch p.kind {
		case patchCharge:
			if n := f.charges[p.n]; n > 0 && !f.paid {
				r.charge(n)
			}
		case patchHelper:
			r.around(func() { r.code.Call(r.helpers + uint32(p.n)) })
		case patchReturn:
			r.code.Br(uint32(p.n))
			from++
		case patchCall:
			r.around(func() { r.code.Raw(old[p.at : p.at+p.n]) })
			from += p.n
		}
	}
	r.code.Raw(old[from:])
}

// around makes the fuel that is held known to a callee, and takes back what the callee leaves.
func (r *rewriter) around(call func()) {
	if !r.held {
		call()
		return
	}
	r.put()
	call()
	r.take()
}

func (r *rewriter) take() {
	r.code.GlobalGet(r.fuel)
	r.code.LocalSet(r.scratch + 1)
}

func (r *rewriter) put() {
	r.code.LocalGet(r.scratch + 1)
	r.code.GlobalSet(r.fuel)
}

func (r *rewriter) blockType(results []wasmbin.ValType) wasmbin.BlockType {
	switch len(results) {
	case 0:
		return wasmbin.NoValue
	case 1:
		return wasmbin.OneValue(results[0])
	}
	return wasmbin.SignatureType(r.m.TypeIndex(wasmbin.FuncType{Results: results}))
}

// charge takes n off the fuel and traps when it is below zero. The global has the new value then.
func (r *rewriter) charge(n int64) {
	c := &r.code
	if !r.held {
		c.GlobalGet(r.fuel)
		c.I64Const(n)
		c.Op(wasmbin.I64Sub)
		r.store(r.fuel, r.scratch)
		return
	}
	c.LocalGet(r.scratch + 1)
	c.I64Const(n)
	c.Op(wasmbin.I64Sub)
	c.LocalTee(r.scratch + 1)
	c.I64Const(0)
	c.Op(wasmbin.I64LtS)
	c.If(wasmbin.NoValue)
	r.put()
	c.Op(wasmbin.Unreachable)
	c.End()
}

// enter takes a frame off the stack and traps when it is below zero.
func (r *rewriter) enter(frame int64) {
	c := &r.code
	c.GlobalGet(r.stack)
	c.I64Const(frame)
	c.Op(wasmbin.I64Sub)
	r.store(r.stack, r.scratch)
}

// store sets a counter to the top of the stack and traps when that is below zero.
func (r *rewriter) store(counter, scratch uint32) {
	c := &r.code
	c.LocalTee(scratch)
	c.GlobalSet(counter)
	c.LocalGet(scratch)
	c.I64Const(0)
	c.Op(wasmbin.I64LtS)
	c.If(wasmbin.NoValue)
	c.Op(wasmbin.Unreachable)
	c.End()
}

// helper writes a function that charges for its argument and returns it. The argument is a number of bytes, entries or
// pages without a sign.
func (r *rewriter) helper(h helper) wasmbin.Body {
	r.code = wasmbin.Code{}
	c := &r.code
	c.GlobalGet(r.fuel)
	c.LocalGet(0)
	c.Op(wasmbin.I64ExtendI32U)
	switch h {
	case chargeBytes:
		c.I64Const(bytesPerUnit)
		c.Op(wasmbin.I64DivU)
	case chargePages:
		c.I64Const(unitsPerPage)
		c.Op(wasmbin.I64Mul)
	}
	c.Op(wasmbin.I64Sub)
	r.store(r.fuel, 1)
	c.LocalGet(0)
	c.End()
	return wasmbin.Body{Locals: []wasmbin.Locals{{Count: 1, Type: wasmbin.I64}}, Code: c.Bytes()}
}
