// Package sqlwasm makes WebAssembly modules of SQL92 conditions.
//
// # The module
//
// It imports nothing, and exports its memory and a function "judge" whose parameter says which of up to 64 messages to
// judge, a bit for each. The function has one loop, over those bits. What it reads of a message stands in columns in the
// memory, at places that are known when the module is made; it writes the outcomes as three words at the memory's
// beginning. There is no other loop but over the bytes of a text, no recursion, and no growing: the module needs no fuel.
//
//	    0  true u64 | unknown u64 | raise u64           written by judge, little endian as everything
//	   24  columns, one after the other:
//	         presence  present u64
//	         numbers   present u64 | read u64 | 64 numbers i64, as filter.OrderDouble orders doubles
//	         texts     present u64 | 64 times at u32, size u32
//	         hosted    true u64 | unknown u64 | raise u64
//	    …  literals and tables
//	Arena  bytes of the texts, to the end
//
// # What the host does
//
// It fills the columns. Number columns are read by the rules of Java, which are the host's. Conditions that depend on
// things that generated code would have to bring along (Java's idea of malformed bytes, the strict dialect's arithmetic
// and LIKE) are hosted: the host judges them for all messages, and the module looks the outcome up if it comes to them.
package sqlwasm

import (
	"errors"
	"math/bits"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/plugins/internal/sqltree"
	"github.com/weirmq/weir/plugins/internal/wasmbin"
)

// The places of the outcomes.
const (
	TrueAt    = 0
	UnknownAt = 8
	RaiseAt   = 16

	columnsAt = 24
)

// Sizes of columns, in bytes, without what is in front of the 64 items.
const itemSize = 8

// Shape says what a column holds.
type Shape uint8

// The shapes.
const (
	Presence Shape = iota
	Numbers
	Texts
)

// Column is a property as the module reads it.
type Column struct {
	Property string
	Kind     filter.Kind // of numbers
	Shape    Shape
	At       uint32 // its place in the memory
}

// Present is the place of the word that says which messages have the property.
func (c *Column) Present() uint32 { return c.At }

// Read is the place of the word that says in which messages the property is a number.
func (c *Column) Read() uint32 { return c.At + 8 }

// Items is the place of the 64 numbers, or of the texts' places and sizes.
func (c *Column) Items() uint32 {
	if c.Shape == Numbers {
		return c.At + 16
	}
	return c.At + 8
}

func (c *Column) size() uint32 {
	if c.Shape == Presence {
		return 8
	}
	return c.Items() - c.At + filter.ColumnsMax*itemSize
}

// Hosted is a condition that the host judges.
type Hosted struct {
	Cond sqltree.Cond
	At   uint32 // of its three words
}

// Program is a generated module with the places in its memory.
type Program struct {
	Binary  []byte
	Columns []Column
	Hosted  []Hosted
	// Arena is where texts are put, up to End, the size of the memory. There is room for the properties of one message at least.
	Arena, End uint32
}

// Bounds of what is generated. Compiling takes time and memory in proportion to the code.
const (
	codeMax  = 256 << 10
	arenaMin = message.MaxPropertiesLength + itemSize
	pageSize = 64 << 10
	pagesMax = 64
)

// ErrTooLarge says that the condition is beyond what is sensibly made a module of.
var ErrTooLarge = errors.New("the expression is too large for a WebAssembly module")

// Generate makes the module of a condition.
func Generate(root sqltree.Cond) (*Program, error) {
	g := &generator{program: &Program{}, next: columnsAt, columns: map[key]int{}}
	g.collect(root)
	g.layOut()
	g.judge(root)
	if g.tooLarge {
		return nil, ErrTooLarge
	}
	p := g.program
	p.Arena = (g.next + uint32(len(g.literals)) + itemSize - 1) &^ (itemSize - 1)
	pages := (p.Arena + arenaMin + pageSize - 1) / pageSize
	if pages > pagesMax {
		return nil, ErrTooLarge
	}
	p.End = pages * pageSize
	p.Binary = g.module(pages).Encode()
	return p, nil
}

// module puts the parts together. Helper functions stand before judge, in a fixed order, whether they are called or not.
func (g *generator) module(pages uint32) *wasmbin.Module {
	m := &wasmbin.Module{
		Memories: []wasmbin.Limits{{Min: pages, Max: pages, HasMax: true}},
		Exports:  []wasmbin.Export{{Name: "memory", Kind: wasmbin.ExternMemory}, {Name: "judge", Kind: wasmbin.ExternFunc, Index: judgeFunction}},
	}
	for _, h := range helpers() {
		m.Functions = append(m.Functions, m.TypeIndex(h.signature))
		m.Bodies = append(m.Bodies, h.body)
	}
	m.Functions = append(m.Functions, m.TypeIndex(wasmbin.FuncType{Params: []wasmbin.ValType{wasmbin.I64}}))
	m.Bodies = append(m.Bodies, wasmbin.Body{
		Locals: []wasmbin.Locals{{Count: i64Locals, Type: wasmbin.I64}, {Count: i32Locals + uint32(2*g.deepest), Type: wasmbin.I32}},
		Code:   g.code.Bytes(),
	})
	if len(g.literals) > 0 {
		m.Data = []wasmbin.Segment{wasmbin.ActiveData(int32(g.next), g.literals)}
	}
	return m
}

// nextPower returns the least power of two that isn't less than n.
func nextPower(n int) int { return 1 << bits.Len(uint(n-1)) }
