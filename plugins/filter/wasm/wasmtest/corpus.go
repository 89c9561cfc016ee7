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

func refused(name string, g *guest, text string) Case {
	return Case{Name: name, Binary: g.build(), Refused: text}
}

// refusedAtOnce are modules that ask for what they don't get, or lie.
func refusedAtOnce() []Case {
	exporting := func(name string, kind wasmbin.ExternKind, index uint32) *guest {
		return newGuest().changing(func(m *wasmbin.Module) {
			m.Exports = append(m.Exports, wasmbin.Export{Name: name, Kind: kind, Index: index})
		})
	}
	imported := func(module, name string) *guest {
		return newGuest().changing(func(m *wasmbin.Module) {
			for i := range m.Exports {
				if m.Exports[i].Kind == wasmbin.ExternFunc {
					m.Exports[i].Index++
				}
			}
			m.Imports = []wasmbin.Import{{Module: module, Name: name, Type: 0}}
		})
	}
	dropping := func(name string) *guest {
		g := newGuest()
		g.drop = []string{name}
		return g
	}
	manifest := func(name string, value any) *guest { return newGuest().with(map[string]any{name: value}) }
	bare := newGuest()
	bare.manifest = nil
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
		refused("sets the fuel", newGuest().filtering(func(c *wasmbin.Code) {
			c.I64Const(1 << 60)
			c.GlobalSet(0)
			count(c)
		}), "there is no global 0"),
		refused("calls the host's helpers", newGuest().filtering(func(c *wasmbin.Code) {
			args(c, 0)
			c.Call(3)
		}), "there is no function 3"),
		refused("has no manifest", bare, "the module's manifest is missing or wrong"),
		refused("has a manifest that is no JSON", newGuest().changing(func(m *wasmbin.Module) { m.Customs[0].Data = []byte("{{{{") }), "invalid character"),
		refused("has a manifest of nested lists", newGuest().changing(func(m *wasmbin.Module) {
			m.Customs[0].Data = bytes.Repeat([]byte("["), 60_000)
		}), "the module's manifest is missing or wrong"),
		refused("has a manifest of a megabyte", newGuest().changing(func(m *wasmbin.Module) {
			m.Customs[0].Data = bytes.Repeat([]byte(" "), 1<<20)
		}), "the manifest has 1048576 bytes"),
		refused("lies about what it exports", manifest("kind", []string{"filter", "functions"}), "kind and functions contradict"),
		refused("lies about its state", manifest("stateless", false).pure(), "stateless isn't true"),
		refused("lies about the clock", newGuest().pure().importing("now_ms"), "imports mqf_v1.now_ms"),
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
	start := func(f func(c *wasmbin.Code)) *guest {
		return newGuest().changing(func(m *wasmbin.Module) {
			var c wasmbin.Code
			f(&c)
			c.End()
			n := uint32(m.FuncCount())
			m.Functions, m.Bodies, m.Start = append(m.Functions, 0), append(m.Bodies, wasmbin.Body{Code: c.Bytes()}), &n
		})
	}
	buffer := func(n int32) *guest {
		return newGuest().coding("mqf_buffer", func(c *wasmbin.Code) { args(c, n) })
	}
	return []Case{
		refused("endless start section", start(endless), "the module ran out of fuel"),
		refused("trap in the start section", start(trapping), "the module trapped"),
		refused("endless _initialize", newGuest().coding("_initialize", endless), "the module ran out of fuel"),
		refused("endless mqf_init", newGuest().coding("mqf_init", endless), "the module ran out of fuel"),
		refused("endless mqf_buffer", newGuest().coding("mqf_buffer", endless), "the module ran out of fuel"),
		refused("trap in mqf_buffer", newGuest().coding("mqf_buffer", trapping), "the module trapped"),
		refused("recursion in mqf_buffer", newGuest().coding("mqf_buffer", func(c *wasmbin.Code) {
			c.LocalGet(0)
			c.Call(1)
		}), "nested too deeply"),
		refused("mqf_init fails", newGuest().coding("mqf_init", func(c *wasmbin.Code) { args(c, -5) }), "mqf_init returned -5, out of memory"),
		refused("error text out of bounds", newGuest().coding("mqf_init", func(c *wasmbin.Code) { args(c, -1) }).
			coding("mqf_error", func(c *wasmbin.Code) { c.I64Const(-1) }), "mqf_init returned -1"),
		refused("endless error text", newGuest().coding("mqf_init", func(c *wasmbin.Code) { args(c, -1) }).coding("mqf_error", endless), "mqf_init returned -1"),
		refused("gives no area", buffer(0), "mqf_buffer(16384) returned 0"),
		refused("gives an area outside", buffer(-8), "returned 4294967288"),
		refused("gives an area that isn't aligned", buffer(area+1), "returned 65537"),
		refused("asks for properties without end", newGuest().importing("need_prop").coding("mqf_init", forever(func(c *wasmbin.Code) {
			args(c, 0, 1, 0)
			c.Call(0)
			c.Op(wasmbin.Drop)
		})), "the module"),
		refused("data outside of the memory", newGuest().changing(func(m *wasmbin.Module) {
			m.Data = []wasmbin.Segment{wasmbin.ActiveData(1<<30, []byte("x"))}
		}), "the module doesn't start"),
	}
}

// failing are modules that start and never judge.
func failing() []Case {
	says := func(name string, g *guest, text string) Case { return Case{Name: name, Binary: g.build(), Says: text} }
	filter := func(f func(c *wasmbin.Code)) *guest { return newGuest().filtering(f) }
	list := []Case{
		says("endless loop", filter(endless), "the module ran out of fuel"),
		says("endless loop, said to be pure", filter(endless).pure(), "the module ran out of fuel"),
		says("exponential recursion", filter(func(c *wasmbin.Code) {
			c.LocalGet(1)
			args(c, 1<<20)
			c.Op(wasmbin.I32GtU)
			c.If(wasmbin.OneValue(wasmbin.I32))
			args(c, 0)
			c.Else()
			for range 2 {
				c.LocalGet(0)
				c.LocalGet(1)
				args(c, 10_000)
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
			args(c, 1, 0)
			c.Op(wasmbin.I32DivS)
		}), "integer divide by zero"),
		says("reads outside", filter(func(c *wasmbin.Code) {
			args(c, -1)
			c.Memory(wasmbin.I32Load, 2, 1<<31)
		}), "out of bounds memory access"),
		says("grows its memory for ever", filter(forever(func(c *wasmbin.Code) {
			args(c, 1)
			c.Op(wasmbin.MemoryGrow)
			c.Index(0)
			c.Op(wasmbin.Drop)
		})), "the module ran out of fuel"),
		says("fills its memory for ever", filter(forever(func(c *wasmbin.Code) {
			args(c, 0, 1, 4*pageSize)
			c.Op(wasmbin.MemoryFill)
			c.Index(0)
		})), "the module ran out of fuel"),
		says("grows a table for ever", filter(forever(func(c *wasmbin.Code) {
			c.Op(wasmbin.RefNull)
			c.Index(uint32(wasmbin.FuncRef))
			args(c, 1000)
			c.Op(wasmbin.TableGrow)
			c.Index(0)
			c.Op(wasmbin.Drop)
		})).changing(func(m *wasmbin.Module) {
			m.Tables = []wasmbin.Table{{Elem: wasmbin.FuncRef, Limits: wasmbin.Limits{Min: 1}}}
		}), "the module ran out of fuel"),
		says("too few results", filter(func(c *wasmbin.Code) {
			count(c)
			args(c, 1)
			c.Op(wasmbin.I32Sub)
		}), "the module returned a wrong number of results"),
		says("too many results", filter(func(c *wasmbin.Code) { args(c, 1<<30) }), "1073741824 results for"),
		says("an error code", filter(func(c *wasmbin.Code) { args(c, -2) }), "mqf_filter returned -2, bad batch"),
		says("a code of its own", filter(func(c *wasmbin.Code) { args(c, -1<<31) }), "mqf_filter returned -2147483648"),
		says("logs for ever", filter(forever(func(c *wasmbin.Code) {
			args(c, 0, 0, 1<<10)
			c.Call(0)
		})).importing("log"), "the module ran out of fuel"),
		says("logs what it doesn't have", filter(func(c *wasmbin.Code) {
			args(c, 0, -1, 100, 0)
			c.Op(wasmbin.Drop)
			c.Call(0)
			count(c)
		}).importing("log"), "outside of the memory"),
		says("asks for a message that isn't", filter(func(c *wasmbin.Code) {
			args(c, 5000, 0, 1, 0, 0)
			c.Call(0)
		}).importing("prop"), "there is no record 5000"),
		says("registers metrics too late", filter(func(c *wasmbin.Code) {
			args(c, 0, 0)
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
		count(c)
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
		{Name: "sound", Binary: newGuest().filtering(eachMessage(above)).build(), True: isAbove},
		{Name: "sound and pure", Binary: newGuest().pure().filtering(eachMessage(above)).build(), True: isAbove},
		{Name: "traps at one message", Binary: newGuest().filtering(eachMessage(func(c *wasmbin.Code) {
			c.LocalGet(7)
			c.I64Const(3)
			c.Op(wasmbin.I64Eq)
			c.If(wasmbin.NoValue)
			c.Op(wasmbin.Unreachable)
			c.End()
			above(c)
		})).build(), True: isAbove, Poison: func(a int64) bool { return a == 3 }},
		{Name: "never ends at one message", Binary: newGuest().pure().filtering(eachMessage(func(c *wasmbin.Code) {
			c.LocalGet(7)
			c.I64Const(7)
			c.Op(wasmbin.I64Eq)
			c.If(wasmbin.NoValue)
			endless(c)
			c.End()
			above(c)
		})).build(), True: isAbove, Poison: func(a int64) bool { return a == 7 }},
		{Name: "scribbles over everything", Binary: newGuest().filtering(func(c *wasmbin.Code) {
			count(c)
			c.LocalSet(3)
			args(c, 0, 0xff, 4*pageSize)
			c.Op(wasmbin.MemoryFill)
			c.Index(0)
			c.LocalGet(3)
		}).build()}, // raise wins
		{Name: "elements outside of the table", Binary: newGuest().changing(func(m *wasmbin.Module) { // the runtime leaves them out
			m.Tables = []wasmbin.Table{{Elem: wasmbin.FuncRef, Limits: wasmbin.Limits{Min: 1}}}
			m.Elements = []wasmbin.Segment{wasmbin.ActiveElements(1000, 0, 1)}
		}).build()},
		{Name: "answers out of turn", Binary: newGuest().pure().forgetful().build(), Any: true},
		{Name: "behaves for three calls", Binary: newGuest().after(3, eachMessage(above)).build(), True: isAbove}, // a fresh instance helps
		{Name: "grows with each call", Binary: newGuest().filtering(func(c *wasmbin.Code) {
			args(c, 1)
			c.Op(wasmbin.MemoryGrow)
			c.Index(0)
			c.Op(wasmbin.Drop)
			eachMessage(above)(c)
		}).build(), True: isAbove},
		{Name: "eight megabytes", Binary: padded(newGuest().filtering(eachMessage(above)).build(), 8<<20), True: isAbove},
		{Name: "slow", Binary: Slow(false), True: isAbove},
		{Name: "slow and pure", Binary: Slow(true), True: isAbove},
	}
}

// Slow makes a module that judges well, and uses nearly all of its fuel for it.
func Slow(pure bool) []byte {
	g := newGuest()
	if pure {
		g.pure()
	}
	return g.filtering(eachMessage(func(c *wasmbin.Code) {
		args(c, 1800)
		c.LocalSet(6)
		c.Loop(wasmbin.NoValue)
		c.LocalGet(6)
		args(c, 1)
		c.Op(wasmbin.I32Sub)
		c.LocalTee(6)
		c.BrIf(0)
		c.End()
		c.LocalGet(7)
		c.I64Const(Threshold)
		c.Op(wasmbin.I64GtS)
	})).build()
}

// Endless makes a module that never judges.
func Endless(pure bool) []byte {
	g := newGuest().filtering(endless)
	if pure {
		g.pure()
	}
	return g.build()
}

// after does what body does for n calls of an instance, and traps then.
func (g *guest) after(n int32, body func(c *wasmbin.Code)) *guest {
	g.globals = 1
	return g.filtering(func(c *wasmbin.Code) {
		c.GlobalGet(0)
		args(c, 1)
		c.Op(wasmbin.I32Add)
		c.GlobalSet(0)
		c.GlobalGet(0)
		args(c, n)
		c.Op(wasmbin.I32GtU)
		c.If(wasmbin.NoValue)
		c.Op(wasmbin.Unreachable)
		c.End()
		body(c)
	})
}

// forgetful says true to every second call.
func (g *guest) forgetful() *guest {
	g.globals = 1
	return g.filtering(eachMessage(func(c *wasmbin.Code) {
		c.GlobalGet(0)
		args(c, 1)
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
