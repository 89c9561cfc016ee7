package wasmtest

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/weirmq/weir/plugins/internal/wasmbin"
)

// bombs are modules that would take the broker's memory or time when it reads or compiles them.
func bombs() []Case {
	module := func(f func(m *wasmbin.Module)) *Guest { return NewGuest().changing(f) }
	code := func(f func(c *wasmbin.Code)) *Guest {
		return NewGuest().Filtering(func(c *wasmbin.Code) {
			f(c)
			Args(c, 0)
		})
	}
	times := func(n int, f func()) {
		for range n {
			f()
		}
	}
	wide := module(func(m *wasmbin.Module) {
		list := slices.Repeat([]wasmbin.ValType{wasmbin.I64}, 1000)
		t := m.TypeIndex(wasmbin.FuncType{Params: list, Results: list})
		f := uint32(len(m.Functions))
		m.Functions = append(m.Functions, t)
		var same, many wasmbin.Code
		for i := range 1000 {
			same.LocalGet(uint32(i))
		}
		same.End()
		times(1000, func() { many.I64Const(1) })
		times(1000, func() { many.Call(f) })
		times(1000, func() { many.Op(wasmbin.Drop) })
		many.I32Const(0)
		many.End()
		m.Bodies[len(m.Bodies)-1].Code = many.Bytes()
		m.Bodies = append(m.Bodies, wasmbin.Body{Code: same.Bytes()})
	})
	const complexText = "is too complex to compile"
	return []Case{
		refused("nested blocks", code(func(c *wasmbin.Code) {
			times(300_000, func() { c.Block(wasmbin.NoValue) })
			times(300_000, c.End)
		}), complexText),
		refused("nested loops", code(func(c *wasmbin.Code) {
			times(5000, func() { c.Loop(wasmbin.NoValue) })
			times(5000, c.End)
		}), complexText),
		refused("a branch after the other", code(func(c *wasmbin.Code) {
			c.Block(wasmbin.NoValue)
			times(300_000, func() {
				c.LocalGet(0)
				c.BrIf(0)
			})
			c.End()
		}), complexText),
		refused("a jump table with a million labels", code(func(c *wasmbin.Code) {
			c.Block(wasmbin.NoValue)
			c.LocalGet(0)
			c.BrTable(make([]uint32, 1_000_000)...)
			c.End()
		}), complexText),
		refused("calls with a thousand values", wide, complexText),
		refused("locals times branches", module(func(m *wasmbin.Module) {
			b := &m.Bodies[len(m.Bodies)-1]
			var c wasmbin.Code
			times(4000, func() {
				c.LocalGet(0)
				c.If(wasmbin.NoValue)
				c.End()
			})
			c.I32Const(0)
			c.End()
			b.Locals, b.Code = []wasmbin.Locals{{Count: 9000, Type: wasmbin.V128}}, c.Bytes()
		}), complexText),
		refused("a thousand million locals", module(func(m *wasmbin.Module) {
			m.Bodies[0].Locals = []wasmbin.Locals{{Count: 1 << 30, Type: wasmbin.I64}}
		}), "1073741824 locals"),
		refused("a thousand million locals in small portions", module(func(m *wasmbin.Module) {
			m.Bodies[0].Locals = slices.Repeat([]wasmbin.Locals{{Count: 1 << 20, Type: wasmbin.I64}}, 1000)
		}), "locals"),
		refused("thirty thousand functions", module(func(m *wasmbin.Module) {
			for range 30_000 {
				m.Functions, m.Bodies = append(m.Functions, 0), append(m.Bodies, m.Bodies[0])
			}
		}), "functions; at most 20000"),
		refused("twenty thousand types", module(func(m *wasmbin.Module) {
			m.Types = append(m.Types, make([]wasmbin.FuncType, 20_000)...)
		}), "types; at most 10000"),
		refused("a body of three megabytes", code(func(c *wasmbin.Code) {
			times(3<<20, func() { c.Op(wasmbin.Nop) })
		}), "the module isn't valid WebAssembly 2.0"),
		refused("a table of a thousand million entries", module(func(m *wasmbin.Module) {
			m.Tables = []wasmbin.Table{{Elem: wasmbin.FuncRef, Limits: wasmbin.Limits{Min: 1 << 30}}}
		}), "1073741824 table entries; at most 20000"),
		refused("a memory of four gigabytes", module(func(m *wasmbin.Module) { m.Memories[0].Min = 65536 }), "the module exceeds a limit"),
		refused("data of six megabytes", module(func(m *wasmbin.Module) {
			m.Data = []wasmbin.Segment{wasmbin.PassiveData(make([]byte, 6<<20))}
		}), "bytes of data; at most 4194304"),
		refused("two hundred thousand segments", module(func(m *wasmbin.Module) {
			m.Data = slices.Repeat([]wasmbin.Segment{wasmbin.PassiveData(nil)}, 200_000)
		}), "data segments; at most 100000"),
		{Name: "more than eight megabytes", Binary: padded(NewGuest().Build(), 8<<20+1), Refused: "filters.wasm.limits.size allows 8MiB"},
	}
}

// malformed are bytes that are no module.
func malformed() []Case {
	sound := NewGuest().Build()
	header := sound[:8]
	section := func(id byte, content ...byte) []byte {
		return append(append(bytes.Clone(header), id, byte(len(content))), content...)
	}
	huge := binary.AppendUvarint(nil, 1<<32-1)
	list := []Case{
		{Name: "one byte", Binary: []byte{0}},
		{Name: "text", Binary: []byte("#!/bin/sh\nrm -rf /\n")},
		{Name: "header only", Binary: bytes.Clone(header), Refused: "the module"},
		{Name: "another version", Binary: []byte("\x00asm\x02\x00\x00\x00")},
		{Name: "a component", Binary: []byte("\x00asm\x0d\x00\x01\x00")},
		{Name: "zeros", Binary: make([]byte, 1<<20)},
		{Name: "cut in the middle", Binary: bytes.Clone(sound[:len(sound)/2])},
		{Name: "cut at the end", Binary: bytes.Clone(sound[:len(sound)-1])},
		{Name: "a section that never ends", Binary: append(bytes.Clone(header), 1, 0xff, 0xff, 0xff, 0xff, 0x7f)},
		{Name: "a length of six bytes", Binary: append(bytes.Clone(header), 1, 0x80, 0x80, 0x80, 0x80, 0x80, 0)},
		{Name: "an unknown section", Binary: section(99, 0)},
		{Name: "sections out of order", Binary: append(section(3, 0), section(1, 0)[8:]...)},
		{Name: "a section twice", Binary: append(section(1, 0), section(1, 0)[8:]...)},
	}
	for id := byte(1); id <= 12; id++ {
		if id != 8 {
			list = append(list, Case{Name: "four thousand million in section " + string('a'+rune(id)), Binary: section(id, huge...)})
		}
	}
	for i := range list {
		if list[i].Refused == "" {
			list[i].Refused = "the module isn't valid WebAssembly 2.0"
		}
	}
	return list
}
