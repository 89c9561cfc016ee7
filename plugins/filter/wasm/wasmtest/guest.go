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

// Area is where the guests' batches lie: 192 KiB behind the first page.
const Area = pageSize

// Places in a batch: see the layout in plugins/filter/wasm.
const (
	atCount     = 12
	atDirectory = 20
)

// Guest builds a module. That of NewGuest is, without change, a sound filter that finds nothing true.
type Guest struct {
	Memory  wasmbin.Limits
	Imports []string // function i is import i
	// Signature says from which module an import is, and its type. Without it all are of mqf_v1.
	Signature func(name string) (module string, t wasmbin.FuncType)
	Globals   int                              // mutable i32
	Code      map[string]func(c *wasmbin.Code) // by export; others do what is sound
	Drop      []string                         // exports that it lacks
	Manifest  map[string]any                   // nil for none
	Change    func(m *wasmbin.Module)          // at the end
}

// NewGuest returns a sound filter.
func NewGuest() *Guest {
	return &Guest{Memory: wasmbin.Limits{Min: 4}, Code: map[string]func(c *wasmbin.Code){}, Manifest: map[string]any{
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
		{"mqf_call", types(5, 1, wasmbin.I32), false}, {"mqf_error", types(0, 1, wasmbin.I64), false}, {"_initialize", types(0, 0, wasmbin.I32), false}}
}

func ofHost(name string) (module string, t wasmbin.FuncType) { return "mqf_v1", importTypes()[name] }

func importTypes() map[string]wasmbin.FuncType {
	return map[string]wasmbin.FuncType{"log": types(3, 0, wasmbin.I32), "metric": types(2, 1, wasmbin.I32), "need_prop": types(3, 1, wasmbin.I32),
		"prop": types(5, 1, wasmbin.I32), "now_ms": types(0, 1, wasmbin.I64)}
}

func (g *Guest) body(name string, c *wasmbin.Code) {
	if f := g.Code[name]; f != nil {
		f(c)
		return
	}
	switch name {
	case "mqf_buffer":
		c.I32Const(Area)
	case "mqf_filter":
		Count(c)
	}
}

// Count pushes the number of messages in the batch.
func Count(c *wasmbin.Code) {
	c.LocalGet(0)
	c.Memory(wasmbin.I32Load, 2, atCount)
}

// Args pushes constants.
func Args(c *wasmbin.Code, list ...int32) {
	for _, n := range list {
		c.I32Const(n)
	}
}

// module builds it. Defined functions have four i32 and two i64 locals.
func (g *Guest) module() *wasmbin.Module {
	m := &wasmbin.Module{Memories: []wasmbin.Limits{g.Memory}, Exports: []wasmbin.Export{{Name: "memory", Kind: wasmbin.ExternMemory}}}
	signature := ofHost
	if g.Signature != nil {
		signature = g.Signature
	}
	for _, name := range g.Imports {
		module, t := signature(name)
		m.Imports = append(m.Imports, wasmbin.Import{Module: module, Name: name, Type: m.TypeIndex(t)})
	}
	for range g.Globals {
		var c wasmbin.Code
		c.I32Const(0)
		c.End()
		m.Globals = append(m.Globals, wasmbin.Global{GlobalType: wasmbin.GlobalType{Type: wasmbin.I32, Mutable: true}, Init: c.Bytes()})
	}
	for _, x := range exports() {
		if !x.must && g.Code[x.name] == nil || slices.Contains(g.Drop, x.name) {
			continue
		}
		var c wasmbin.Code
		g.body(x.name, &c)
		c.End()
		m.Exports = append(m.Exports, wasmbin.Export{Name: x.name, Kind: wasmbin.ExternFunc, Index: uint32(m.FuncCount())})
		m.Functions = append(m.Functions, m.TypeIndex(x.t))
		m.Bodies = append(m.Bodies, wasmbin.Body{Locals: []wasmbin.Locals{{Count: 4, Type: wasmbin.I32}, {Count: 2, Type: wasmbin.I64}}, Code: c.Bytes()})
	}
	if g.Manifest != nil {
		m.Customs = []wasmbin.Custom{{Name: "mqf.manifest", Data: must(json.Marshal(g.Manifest))}}
	}
	if g.Change != nil {
		g.Change(m)
	}
	return m
}

// Build returns the module's bytes.
func (g *Guest) Build() []byte { return g.module().Encode() }

// must is for what can't fail.
func must[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Sprint("wasmtest: ", err))
	}
	return v
}

// With sets fields of the manifest.
func (g *Guest) With(fields map[string]any) *Guest {
	maps.Copy(g.Manifest, fields)
	return g
}

func (g *Guest) pure() *Guest { return g.With(map[string]any{"purity": "pure"}) }

// Filtering sets the body of mqf_filter. Locals 0 to 2 are batch, length and out, 3 to 6 and 7 to 8 are free.
func (g *Guest) Filtering(f func(c *wasmbin.Code)) *Guest { return g.coding("mqf_filter", f) }

func (g *Guest) coding(name string, f func(c *wasmbin.Code)) *Guest {
	g.Code[name] = f
	return g
}

func (g *Guest) importing(names ...string) *Guest {
	g.Imports = names
	return g
}

func (g *Guest) changing(f func(m *wasmbin.Module)) *Guest {
	g.Change = f
	return g
}

// Forever repeats what body does.
func Forever(body func(c *wasmbin.Code)) func(c *wasmbin.Code) {
	return func(c *wasmbin.Code) {
		c.Loop(wasmbin.NoValue)
		body(c)
		c.Br(0)
		c.End()
		c.Op(wasmbin.Unreachable)
	}
}

// Spin never ends.
func Spin(c *wasmbin.Code) { Forever(func(*wasmbin.Code) {})(c) }

func trapping(c *wasmbin.Code) { c.Op(wasmbin.Unreachable) }

// EachMessage runs judge for message number local 3, whose value of property a judge finds in local 7, and sets the message's
// bit to what judge pushes.
func EachMessage(judge func(c *wasmbin.Code)) func(c *wasmbin.Code) {
	return func(c *wasmbin.Code) {
		c.Loop(wasmbin.NoValue)
		c.LocalGet(0) // the typed column of slot 0
		c.LocalGet(0)
		c.LocalGet(0)
		c.Memory(wasmbin.I32Load, 2, atDirectory)
		c.Op(wasmbin.I32Add)
		c.Memory(wasmbin.I32Load, 2, 4)
		c.Op(wasmbin.I32Add)
		Count(c)
		Args(c, 7)
		c.Op(wasmbin.I32Add)
		Args(c, -8)
		c.Op(wasmbin.I32And, wasmbin.I32Add)
		c.LocalGet(3)
		Args(c, 3)
		c.Op(wasmbin.I32Shl, wasmbin.I32Add)
		c.Memory(wasmbin.I64Load, 3, 0)
		c.LocalSet(7)
		judge(c)
		c.LocalSet(4)
		c.LocalGet(3)
		Args(c, 3)
		c.Op(wasmbin.I32ShrU)
		c.LocalGet(2)
		c.Op(wasmbin.I32Add)
		c.LocalTee(5)
		c.LocalGet(5)
		c.Memory(wasmbin.I32Load8U, 0, 0)
		c.LocalGet(4)
		Args(c, 1)
		c.Op(wasmbin.I32And)
		c.LocalGet(3)
		Args(c, 7)
		c.Op(wasmbin.I32And, wasmbin.I32Shl, wasmbin.I32Or)
		c.Memory(wasmbin.I32Store8, 0, 0)
		c.LocalGet(3)
		Args(c, 1)
		c.Op(wasmbin.I32Add)
		c.LocalTee(3)
		Count(c)
		c.Op(wasmbin.I32LtU)
		c.BrIf(0)
		c.End()
		Count(c)
	}
}
