package wasmtest

import (
	"bytes"
	"slices"

	"github.com/weirmq/weir/plugins/internal/wasmbin"
)

// Case is a module, and what the broker has to say to it.
type Case struct {
	Name   string
	Binary []byte
	// Refused is a part of the error that a push gets; empty if the module is taken in.
	Refused string
	// Says is a part of the error that a pull gets; empty if the module judges.
	Says string
	// True says what it judges a message with this value of a to be; nil for none true.
	True func(a int64) bool
	// Poison says at which messages it fails although it judges others; nil for none.
	Poison func(a int64) bool
	// Any says that its verdicts may be anything, but that it has some.
	Any bool
}

// Corpus lists modules of all kinds of hostility. Those that are taken in read the property a, an int64.
func Corpus() []Case {
	list := slices.Concat(refusedAtOnce(), refusedAtStart(), bombs(), malformed(), failing(), judging())
	for i := range list {
		if list[i].Binary == nil {
			panic("wasmtest: no module for " + list[i].Name)
		}
	}
	return list
}

func refused(name string, g *Guest, text string) Case {
	return Case{Name: name, Binary: g.Build(), Refused: text}
}

// refusedAtOnce are modules that ask for what they don't get, or lie.
func refusedAtOnce() []Case {
	exporting := func(name string, kind wasmbin.ExternKind, index uint32) *Guest {
		return NewGuest().changing(func(m *wasmbin.Module) {
			m.Exports = append(m.Exports, wasmbin.Export{Name: name, Kind: kind, Index: index})
		})
	}
	imported := func(module, name string) *Guest {
		return NewGuest().changing(func(m *wasmbin.Module) {
			for i := range m.Exports {
				if m.Exports[i].Kind == wasmbin.ExternFunc {
					m.Exports[i].Index++
				}
			}
			m.Imports = []wasmbin.Import{{Module: module, Name: name, Type: 0}}
		})
	}
	dropping := func(name string) *Guest {
		g := NewGuest()
		g.Drop = []string{name}
		return g
	}
	manifest := func(name string, value any) *Guest { return NewGuest().With(map[string]any{name: value}) }
	bare := NewGuest()
	bare.Manifest = nil
	return []Case{
		refused("imports a socket", imported("wasi_snapshot_preview1", "sock_open"), "the module imports what a filter doesn't get"),
		refused("imports a file system", imported("wasi_snapshot_preview1", "path_open"), "wasi_snapshot_preview1.path_open"),
		refused("imports something unknown", imported("mqf_v1", "drop_topic"), "mqf_v1.drop_topic"),
		refused("imports with another type", imported("mqf_v1", "log"), "mqf_v1.log as () → ()"),
		refused("exports nothing to judge with", dropping("mqf_filter"), "mqf_filter is missing"),
		refused("exports no marker", dropping("mqf_abi_1"), "mqf_abi_1 is missing"),
		refused("exports the same name twice", exporting("mqf_filter", wasmbin.ExternFunc, 0), "mqf_filter"),
		refused("exports the host's fuel", exporting("mqf_fuel", wasmbin.ExternFunc, 0), "mqf_fuel"),
		refused("exports the host's stack", exporting("mqf_stack", wasmbin.ExternFunc, 0), "mqf_stack"),
		refused("exports the host's start", exporting("mqf_start", wasmbin.ExternFunc, 0), "mqf_start"),
		refused("exports a function that isn't", exporting("x", wasmbin.ExternFunc, 99), "the module isn't valid"),
		refused("is a command", exporting("_start", wasmbin.ExternFunc, 0), "it is a command"),
		refused("sets the fuel", NewGuest().Filtering(func(c *wasmbin.Code) {
			c.I64Const(1 << 60)
			c.GlobalSet(0)
			Count(c)
		}), "there is no global 0"),
		refused("calls the host's helpers", NewGuest().Filtering(func(c *wasmbin.Code) {
			Args(c, 0)
			c.Call(3)
		}), "there is no function 3"),
		refused("has no manifest", bare, "the module's manifest is missing or wrong"),
		refused("has a manifest that is no JSON", NewGuest().changing(func(m *wasmbin.Module) { m.Customs[0].Data = []byte("{{{{") }), "invalid character"),
		refused("has a manifest of nested lists", NewGuest().changing(func(m *wasmbin.Module) {
			m.Customs[0].Data = bytes.Repeat([]byte("["), 60_000)
		}), "the module's manifest is missing or wrong"),
		refused("has a manifest of a megabyte", NewGuest().changing(func(m *wasmbin.Module) {
			m.Customs[0].Data = bytes.Repeat([]byte(" "), 1<<20)
		}), "the manifest has 1048576 bytes"),
		refused("lies about what it exports", manifest("kind", []string{"filter", "functions"}), "kind and functions contradict"),
		refused("lies about its state", manifest("stateless", false).pure(), "stateless isn't true"),
		refused("lies about the clock", NewGuest().pure().importing("now_ms"), "imports mqf_v1.now_ms"),
		refused("lies about its memory", manifest("memory_pages", 1), "declares 4 pages"),
		refused("wants all memory", manifest("memory_pages", 60_000), "limits.memory allows"),
		refused("wants negative fuel", manifest("fuel_per_record", -1), "fuel_per_record is negative"),
		refused("wants a thousand properties", manifest("props", make([]map[string]string, 1000)), "1000 props; at most 64"),
		refused("wants a later broker", manifest("abi", "1.9"), "abi 1.9 isn't served here"),
		refused("lies in its tests", manifest("tests", []map[string]any{{"props": map[string]string{"a": "1"}, "want": "true"}}), "is false, want true"),
	}
}

// refusedAtStart are modules that fail before they are asked to judge.
func refusedAtStart() []Case {
	start := func(f func(c *wasmbin.Code)) *Guest {
		return NewGuest().changing(func(m *wasmbin.Module) {
			var c wasmbin.Code
			f(&c)
			c.End()
			n := uint32(m.FuncCount())
			m.Functions, m.Bodies, m.Start = append(m.Functions, 0), append(m.Bodies, wasmbin.Body{Code: c.Bytes()}), &n
		})
	}
	buffer := func(n int32) *Guest {
		return NewGuest().coding("mqf_buffer", func(c *wasmbin.Code) { Args(c, n) })
	}
	return []Case{
		refused("endless start section", start(Spin), "the module ran out of fuel"),
		refused("trap in the start section", start(trapping), "the module trapped"),
		refused("endless _initialize", NewGuest().coding("_initialize", Spin), "the module ran out of fuel"),
		refused("endless mqf_init", NewGuest().coding("mqf_init", Spin), "the module ran out of fuel"),
		refused("endless mqf_buffer", NewGuest().coding("mqf_buffer", Spin), "the module ran out of fuel"),
		refused("trap in mqf_buffer", NewGuest().coding("mqf_buffer", trapping), "the module trapped"),
		refused("recursion in mqf_buffer", NewGuest().coding("mqf_buffer", func(c *wasmbin.Code) {
			c.LocalGet(0)
			c.Call(1)
		}), "nested too deeply"),
		refused("mqf_init fails", NewGuest().coding("mqf_init", func(c *wasmbin.Code) { Args(c, -5) }), "mqf_init returned -5, out of memory"),
		refused("error text out of bounds", NewGuest().coding("mqf_init", func(c *wasmbin.Code) { Args(c, -1) }).
			coding("mqf_error", func(c *wasmbin.Code) { c.I64Const(-1) }), "mqf_init returned -1"),
		refused("endless error text", NewGuest().coding("mqf_init", func(c *wasmbin.Code) { Args(c, -1) }).coding("mqf_error", Spin), "mqf_init returned -1"),
		refused("gives no area", buffer(0), "mqf_buffer(16384) returned 0"),
		refused("gives an area outside", buffer(-8), "returned 4294967288"),
		refused("gives an area that isn't aligned", buffer(Area+1), "returned 65537"),
		refused("asks for properties without end", NewGuest().importing("need_prop").coding("mqf_init", Forever(func(c *wasmbin.Code) {
			Args(c, 0, 1, 0)
			c.Call(0)
			c.Op(wasmbin.Drop)
		})), "the module"),
		refused("data outside of the memory", NewGuest().changing(func(m *wasmbin.Module) {
			m.Data = []wasmbin.Segment{wasmbin.ActiveData(1<<30, []byte("x"))}
		}), "the module doesn't start"),
	}
}

// failing are modules that start and never judge.
func failing() []Case {
	says := func(name string, g *Guest, text string) Case { return Case{Name: name, Binary: g.Build(), Says: text} }
	filter := func(f func(c *wasmbin.Code)) *Guest { return NewGuest().Filtering(f) }
	list := []Case{
		says("endless loop", filter(Spin), "the module ran out of fuel"),
		says("endless loop, said to be pure", filter(Spin).pure(), "the module ran out of fuel"),
		says("exponential recursion", filter(func(c *wasmbin.Code) {
			c.LocalGet(1)
			Args(c, 1<<20)
			c.Op(wasmbin.I32GtU)
			c.If(wasmbin.OneValue(wasmbin.I32))
			Args(c, 0)
			c.Else()
			for range 2 {
				c.LocalGet(0)
				c.LocalGet(1)
				Args(c, 10_000)
				c.Op(wasmbin.I32Add)
				c.LocalGet(2)
				c.Call(2)
			}
			c.Op(wasmbin.I32Add)
			c.End()
		}), "the module ran out of fuel"),
		says("endless recursion", filter(func(c *wasmbin.Code) {
			c.LocalGet(0)
			c.LocalGet(1)
			c.LocalGet(2)
			c.Call(2)
		}), "the module"),
		says("trap", filter(trapping), "the module trapped: unreachable"),
		says("trap, said to be pure", filter(trapping).pure(), "the module trapped: unreachable"),
		says("division by zero", filter(func(c *wasmbin.Code) {
			Args(c, 1, 0)
			c.Op(wasmbin.I32DivS)
		}), "integer divide by zero"),
		says("reads outside", filter(func(c *wasmbin.Code) {
			Args(c, -1)
			c.Memory(wasmbin.I32Load, 2, 1<<31)
		}), "out of bounds memory access"),
		says("grows its memory for ever", filter(Forever(func(c *wasmbin.Code) {
			Args(c, 1)
			c.Op(wasmbin.MemoryGrow)
			c.Index(0)
			c.Op(wasmbin.Drop)
		})), "the module ran out of fuel"),
		says("fills its memory for ever", filter(Forever(func(c *wasmbin.Code) {
			Args(c, 0, 1, 4*pageSize)
			c.Op(wasmbin.MemoryFill)
			c.Index(0)
		})), "the module ran out of fuel"),
		says("grows a table for ever", filter(Forever(func(c *wasmbin.Code) {
			c.Op(wasmbin.RefNull)
			c.Index(uint32(wasmbin.FuncRef))
			Args(c, 1000)
			c.Op(wasmbin.TableGrow)
			c.Index(0)
			c.Op(wasmbin.Drop)
		})).changing(func(m *wasmbin.Module) {
			m.Tables = []wasmbin.Table{{Elem: wasmbin.FuncRef, Limits: wasmbin.Limits{Min: 1}}}
		}), "the module ran out of fuel"),
		says("too few results", filter(func(c *wasmbin.Code) {
			Count(c)
			Args(c, 1)
			c.Op(wasmbin.I32Sub)
		}), "the module returned a wrong number of results"),
		says("too many results", filter(func(c *wasmbin.Code) { Args(c, 1<<30) }), "1073741824 results for"),
		says("an error code", filter(func(c *wasmbin.Code) { Args(c, -2) }), "mqf_filter returned -2, bad batch"),
		says("a code of its own", filter(func(c *wasmbin.Code) { Args(c, -1<<31) }), "mqf_filter returned -2147483648"),
		says("logs for ever", filter(Forever(func(c *wasmbin.Code) {
			Args(c, 0, 0, 1<<10)
			c.Call(0)
		})).importing("log"), "the module ran out of fuel"),
		says("logs what it doesn't have", filter(func(c *wasmbin.Code) {
			Args(c, 0, -1, 100, 0)
			c.Op(wasmbin.Drop)
			c.Call(0)
			Count(c)
		}).importing("log"), "outside of the memory"),
		says("asks for a message that isn't", filter(func(c *wasmbin.Code) {
			Args(c, 5000, 0, 1, 0, 0)
			c.Call(0)
		}).importing("prop"), "there is no record 5000"),
		says("registers metrics too late", filter(func(c *wasmbin.Code) {
			Args(c, 0, 0)
			c.Call(0)
		}).importing("metric"), "metric is for mqf_init"),
	}
	return append(list, says("fails when it has a clock", filter(func(c *wasmbin.Code) {
		c.Call(0)
		c.I64Const(0)
		c.Op(wasmbin.I64Ne)
		c.If(wasmbin.NoValue)
		c.Op(wasmbin.Unreachable)
		c.End()
		Count(c)
	}).importing("now_ms"), "the module trapped: unreachable"))
}

// Threshold is what messages are compared with by modules that judge.
const Threshold = 5

// judging are modules that judge, and do other things besides.
func judging() []Case {
	above := func(c *wasmbin.Code) {
		c.LocalGet(7)
		c.I64Const(Threshold)
		c.Op(wasmbin.I64GtS)
	}
	isAbove := func(a int64) bool { return a > Threshold }
	return []Case{
		{Name: "sound", Binary: NewGuest().Filtering(EachMessage(above)).Build(), True: isAbove},
		{Name: "sound and pure", Binary: NewGuest().pure().Filtering(EachMessage(above)).Build(), True: isAbove},
		{Name: "traps at one message", Binary: NewGuest().Filtering(EachMessage(func(c *wasmbin.Code) {
			c.LocalGet(7)
			c.I64Const(3)
			c.Op(wasmbin.I64Eq)
			c.If(wasmbin.NoValue)
			c.Op(wasmbin.Unreachable)
			c.End()
			above(c)
		})).Build(), True: isAbove, Poison: func(a int64) bool { return a == 3 }},
		{Name: "never ends at one message", Binary: NewGuest().pure().Filtering(EachMessage(func(c *wasmbin.Code) {
			c.LocalGet(7)
			c.I64Const(7)
			c.Op(wasmbin.I64Eq)
			c.If(wasmbin.NoValue)
			Spin(c)
			c.End()
			above(c)
		})).Build(), True: isAbove, Poison: func(a int64) bool { return a == 7 }},
		{Name: "scribbles over everything", Binary: NewGuest().Filtering(func(c *wasmbin.Code) {
			Count(c)
			c.LocalSet(3)
			Args(c, 0, 0xff, 4*pageSize)
			c.Op(wasmbin.MemoryFill)
			c.Index(0)
			c.LocalGet(3)
		}).Build()}, // raise wins
		{Name: "elements outside of the table", Binary: NewGuest().changing(func(m *wasmbin.Module) { // the runtime leaves them out
			m.Tables = []wasmbin.Table{{Elem: wasmbin.FuncRef, Limits: wasmbin.Limits{Min: 1}}}
			m.Elements = []wasmbin.Segment{wasmbin.ActiveElements(1000, 0, 1)}
		}).Build()},
		{Name: "answers out of turn", Binary: NewGuest().pure().forgetful().Build(), Any: true},
		{Name: "behaves for three calls", Binary: NewGuest().after(3, EachMessage(above)).Build(), True: isAbove}, // a fresh instance helps
		{Name: "grows with each call", Binary: NewGuest().Filtering(func(c *wasmbin.Code) {
			Args(c, 1)
			c.Op(wasmbin.MemoryGrow)
			c.Index(0)
			c.Op(wasmbin.Drop)
			EachMessage(above)(c)
		}).Build(), True: isAbove},
		{Name: "eight megabytes", Binary: padded(NewGuest().Filtering(EachMessage(above)).Build(), 8<<20), True: isAbove},
		{Name: "slow", Binary: Slow(false), True: isAbove},
		{Name: "slow and pure", Binary: Slow(true), True: isAbove},
	}
}

// Slow makes a module that judges well, and uses nearly all of its fuel for it.
func Slow(pure bool) []byte {
	g := NewGuest()
	if pure {
		g.pure()
	}
	return g.Filtering(EachMessage(func(c *wasmbin.Code) {
		Args(c, 1800)
		c.LocalSet(6)
		c.Loop(wasmbin.NoValue)
		c.LocalGet(6)
		Args(c, 1)
		c.Op(wasmbin.I32Sub)
		c.LocalTee(6)
		c.BrIf(0)
		c.End()
		c.LocalGet(7)
		c.I64Const(Threshold)
		c.Op(wasmbin.I64GtS)
	})).Build()
}

// Endless makes a module that never judges.
func Endless(pure bool) []byte {
	g := NewGuest().Filtering(Spin)
	if pure {
		g.pure()
	}
	return g.Build()
}

// after does what body does for n calls of an instance, and traps then.
func (g *Guest) after(n int32, body func(c *wasmbin.Code)) *Guest {
	g.Globals = 1
	return g.Filtering(func(c *wasmbin.Code) {
		c.GlobalGet(0)
		Args(c, 1)
		c.Op(wasmbin.I32Add)
		c.GlobalSet(0)
		c.GlobalGet(0)
		Args(c, n)
		c.Op(wasmbin.I32GtU)
		c.If(wasmbin.NoValue)
		c.Op(wasmbin.Unreachable)
		c.End()
		body(c)
	})
}

// forgetful says true to every second call.
func (g *Guest) forgetful() *Guest {
	g.Globals = 1
	return g.Filtering(EachMessage(func(c *wasmbin.Code) {
		c.GlobalGet(0)
		Args(c, 1)
		c.Op(wasmbin.I32Add)
		c.GlobalSet(0)
		c.GlobalGet(0)
	}))
}

// padded appends a custom section so that there are size bytes.
func padded(bin []byte, size int) []byte {
	name := "padding"
	data := size - len(bin) - 1 - 4 - 1 - len(name) // the length takes four bytes
	return wasmbin.AppendCustom(bin, name, make([]byte, data))
}
