// Package wasmtest makes modules that do what they can against the broker, for tests: each with what the broker has to say to it.
package wasmtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/weirmq/weir/plugins/internal/wasmbin"
)

const pageSize = 64 << 10

// area is where the guests' batches lie: 192 KiB behind the first page.
const area = pageSize

// Places in a batch: see the layout in plugins/filter/wasm.
const (
	atCount     = 12
	atDirectory = 20
)

// guest builds a module. Without change it is a sound filter that finds nothing true.
type guest struct {
	memory   wasmbin.Limits
	imports  []string // of mqf_v1; function i is import i
	globals  int      // mutable i32
	code     map[string]func(c *wasmbin.Code)
	drop     []string
	manifest map[string]any
	change   func(m *wasmbin.Module)
}

func newGuest() *guest {
	return &guest{memory: wasmbin.Limits{Min: 4}, code: map[string]func(c *wasmbin.Code){}, manifest: map[string]any{
		"name": "guest", "version": "0.1.0", "abi": "1.0", "kind": []string{"filter"}, "purity": "impure", "stateless": true,
		"props": []map[string]string{{"name": "a", "type": "int64"}},
	}}
}

func types(in, out int, t wasmbin.ValType) wasmbin.FuncType {
	return wasmbin.FuncType{Params: slices.Repeat([]wasmbin.ValType{wasmbin.I32}, in), Results: slices.Repeat([]wasmbin.ValType{t}, out)}
}

type export struct {
	name string
	t    wasmbin.FuncType
	must bool
}

func exports() []export {
	return []export{{"mqf_abi_1", types(0, 0, wasmbin.I32), true}, {"mqf_buffer", types(1, 1, wasmbin.I32), true},
		{"mqf_init", types(2, 1, wasmbin.I32), false}, {"mqf_filter", types(3, 1, wasmbin.I32), true},
		{"mqf_error", types(0, 1, wasmbin.I64), false}, {"_initialize", types(0, 0, wasmbin.I32), false}}
}

func importTypes() map[string]wasmbin.FuncType {
	return map[string]wasmbin.FuncType{"log": types(3, 0, wasmbin.I32), "metric": types(2, 1, wasmbin.I32), "need_prop": types(3, 1, wasmbin.I32),
		"prop": types(5, 1, wasmbin.I32), "now_ms": types(0, 1, wasmbin.I64)}
}

func (g *guest) body(name string, c *wasmbin.Code) {
	if f := g.code[name]; f != nil {
		f(c)
		return
	}
	switch name {
	case "mqf_buffer":
		c.I32Const(area)
	case "mqf_filter":
		count(c)
	}
}

// count pushes the number of messages in the batch.
func count(c *wasmbin.Code) {
	c.LocalGet(0)
	c.Memory(wasmbin.I32Load, 2, atCount)
}

func args(c *wasmbin.Code, list ...int32) {
	for _, n := range list {
		c.I32Const(n)
	}
}

// module builds it. Defined functions have four i32 and two i64 locals.
func (g *guest) module() *wasmbin.Module {
	m := &wasmbin.Module{Memories: []wasmbin.Limits{g.memory}, Exports: []wasmbin.Export{{Name: "memory", Kind: wasmbin.ExternMemory}}}
	for _, name := range g.imports {
		m.Imports = append(m.Imports, wasmbin.Import{Module: "mqf_v1", Name: name, Type: m.TypeIndex(importTypes()[name])})
	}
	for range g.globals {
		var c wasmbin.Code
		c.I32Const(0)
		c.End()
		m.Globals = append(m.Globals, wasmbin.Global{GlobalType: wasmbin.GlobalType{Type: wasmbin.I32, Mutable: true}, Init: c.Bytes()})
	}
	for _, x := range exports() {
		if !x.must && g.code[x.name] == nil || slices.Contains(g.drop, x.name) {
			continue
		}
		var c wasmbin.Code
		g.body(x.name, &c)
		c.End()
		m.Exports = append(m.Exports, wasmbin.Export{Name: x.name, Kind: wasmbin.ExternFunc, Index: uint32(m.FuncCount())})
		m.Functions = append(m.Functions, m.TypeIndex(x.t))
		m.Bodies = append(m.Bodies, wasmbin.Body{Locals: []wasmbin.Locals{{Count: 4, Type: wasmbin.I32}, {Count: 2, Type: wasmbin.I64}}, Code: c.Bytes()})
	}
	if g.manifest != nil {
		m.Customs = []wasmbin.Custom{{Name: "mqf.manifest", Data: must(json.Marshal(g.manifest))}}
	}
	if g.change != nil {
		g.change(m)
	}
	return m
}

func (g *guest) build() []byte { return g.module().Encode() }

// must is for what can't fail.
func must[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Sprint("wasmtest: ", err))
	}
	return v
}

func (g *guest) with(fields map[string]any) *guest {
	maps.Copy(g.manifest, fields)
	return g
}

func (g *guest) pure() *guest { return g.with(map[string]any{"purity": "pure"}) }

// filtering sets the body of mqf_filter. Locals 0 to 2 are batch, length and out, 3 to 6 and 7 to 8 are free.
func (g *guest) filtering(f func(c *wasmbin.Code)) *guest { return g.coding("mqf_filter", f) }

func (g *guest) coding(name string, f func(c *wasmbin.Code)) *guest {
	g.code[name] = f
	return g
}

func (g *guest) importing(names ...string) *guest {
	g.imports = names
	return g
}

func (g *guest) changing(f func(m *wasmbin.Module)) *guest {
	g.change = f
	return g
}

// forever repeats what body does.
func forever(body func(c *wasmbin.Code)) func(c *wasmbin.Code) {
	return func(c *wasmbin.Code) {
		c.Loop(wasmbin.NoValue)
		body(c)
		c.Br(0)
		c.End()
		c.Op(wasmbin.Unreachable)
	}
}

func endless(c *wasmbin.Code) { forever(func(*wasmbin.Code) {})(c) }

func trapping(c *wasmbin.Code) { c.Op(wasmbin.Unreachable) }

// eachMessage runs judge for message number local 3, whose value of property a judge finds in local 7, and sets the message's
// bit to what judge pushes.
func eachMessage(judge func(c *wasmbin.Code)) func(c *wasmbin.Code) {
	return func(c *wasmbin.Code) {
		c.Loop(wasmbin.NoValue)
		c.LocalGet(0) // the typed column of slot 0
		c.LocalGet(0)
		c.LocalGet(0)
		c.Memory(wasmbin.I32Load, 2, atDirectory)
		c.Op(wasmbin.I32Add)
		c.Memory(wasmbin.I32Load, 2, 4)
		c.Op(wasmbin.I32Add)
		count(c)
		args(c, 7)
		c.Op(wasmbin.I32Add)
		args(c, -8)
		c.Op(wasmbin.I32And, wasmbin.I32Add)
		c.LocalGet(3)
		args(c, 3)
		c.Op(wasmbin.I32Shl, wasmbin.I32Add)
		c.Memory(wasmbin.I64Load, 3, 0)
		c.LocalSet(7)
		judge(c)
		c.LocalSet(4)
		c.LocalGet(3)
		args(c, 3)
		c.Op(wasmbin.I32ShrU)
		c.LocalGet(2)
		c.Op(wasmbin.I32Add)
		c.LocalTee(5)
		c.LocalGet(5)
		c.Memory(wasmbin.I32Load8U, 0, 0)
		c.LocalGet(4)
		args(c, 1)
		c.Op(wasmbin.I32And)
		c.LocalGet(3)
		args(c, 7)
		c.Op(wasmbin.I32And, wasmbin.I32Shl, wasmbin.I32Or)
		c.Memory(wasmbin.I32Store8, 0, 0)
		c.LocalGet(3)
		args(c, 1)
		c.Op(wasmbin.I32Add)
		c.LocalTee(3)
		count(c)
		c.Op(wasmbin.I32LtU)
		c.BrIf(0)
		c.End()
		count(c)
	}
}
