package sqlwasm

import (
	"encoding/binary"
	"strings"
	"unicode/utf8"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/plugins/internal/sqltree"
	"github.com/weirmq/weir/plugins/internal/wasmbin"
)

// The locals of judge. Parameter 0 is what is wanted. Behind them come two for each level of the tree.
const (
	localWant = iota // i64: the messages that are left
	localIndex64
	localTrue
	localUnknown
	localRaise
	localIndex // i32: eight times the message's index
	localVerdict
	localAt   // of a text
	localSize // of a text
	firstLevel

	i64Locals = localRaise
	i32Locals = firstLevel - localIndex
)

const (
	result = wasmbin.BlockType(-1) // i32
	none   = wasmbin.NoValue
)

type key struct {
	property string
	kind     filter.Kind
	shape    Shape
}

// generator writes the code of one condition.
type generator struct {
	program  *Program
	code     wasmbin.Code
	columns  map[key]int
	hosted   int    // how many have been written
	next     uint32 // the first byte behind the columns, which is where literals begin
	literals []byte
	deepest  int
	tooLarge bool
}

// hostedCond says whether the host judges x.
func hostedCond(x sqltree.Cond) bool {
	switch x := x.(type) {
	case *sqltree.EqualText:
		return strings.ContainsRune(x.Text, utf8.RuneError)
	case *sqltree.In:
		return strings.ContainsRune(strings.Join(x.Members, ""), utf8.RuneError)
	case *sqltree.Search:
		return strings.ContainsRune(x.Text, utf8.RuneError)
	case *sqltree.EqualProperties, *sqltree.Test:
		return true
	}
	return false
}

// collect finds the columns.
func (g *generator) collect(root sqltree.Cond) {
	sqltree.Walk(root, func(x sqltree.Cond) {
		if hostedCond(x) {
			g.program.Hosted = append(g.program.Hosted, Hosted{Cond: x})
			return
		}
		switch x := x.(type) {
		case *sqltree.If:
			g.column(key{x.Property, filter.Text, Presence})
		case *sqltree.Compare:
			g.column(key{x.Property, x.Number.Kind, Numbers})
		case *sqltree.CompareProperties:
			g.column(key{x.Left, filter.Double, Numbers})
			g.column(key{x.Right, filter.Double, Numbers})
		default:
			for _, name := range sqltree.PropertiesOf(x) {
				g.column(key{name, filter.Text, Texts})
			}
		}
	})
}

func (g *generator) column(k key) *Column {
	i, ok := g.columns[k]
	if !ok {
		i = len(g.program.Columns)
		g.columns[k] = i
		g.program.Columns = append(g.program.Columns, Column{Property: k.property, Kind: k.kind, Shape: k.shape})
	}
	return &g.program.Columns[i]
}

// layOut gives columns and hosted conditions their places.
func (g *generator) layOut() {
	for i := range g.program.Columns {
		c := &g.program.Columns[i]
		c.At = g.next
		g.next += c.size()
	}
	for i := range g.program.Hosted {
		g.program.Hosted[i].At = g.next
		g.next += 24
	}
}

// literal keeps a text and returns its place.
func (g *generator) literal(text string) uint32 {
	at := g.next + uint32(len(g.literals))
	g.literals = append(g.literals, text...)
	return at
}

// judge writes the function: a loop over the bits of want.
func (g *generator) judge(root sqltree.Cond) {
	c := &g.code
	c.Block(none)
	c.Loop(none)
	c.LocalGet(localWant)
	c.Op(wasmbin.I64Eqz)
	c.BrIf(1)
	c.LocalGet(localWant)
	c.Op(wasmbin.I64Ctz)
	c.LocalTee(localIndex64)
	c.Op(wasmbin.I32WrapI64)
	c.I32Const(3)
	c.Op(wasmbin.I32Shl)
	c.LocalSet(localIndex)
	c.LocalGet(localWant)
	c.LocalGet(localWant)
	c.I64Const(1)
	c.Op(wasmbin.I64Sub, wasmbin.I64And)
	c.LocalSet(localWant)
	g.cond(root, 0)
	c.LocalSet(localVerdict)
	for i, local := range []uint32{localTrue, localUnknown, localRaise} {
		c.LocalGet(local)
		c.LocalGet(localVerdict)
		c.I32Const(int32(i) + 1)
		c.Op(wasmbin.I32Eq, wasmbin.I64ExtendI32U)
		c.LocalGet(localIndex64)
		c.Op(wasmbin.I64Shl, wasmbin.I64Or)
		c.LocalSet(local)
	}
	c.Br(0)
	c.End()
	c.End()
	for i, local := range []uint32{localTrue, localUnknown, localRaise} {
		c.I32Const(0)
		c.LocalGet(local)
		c.Memory(wasmbin.I64Store, 3, uint32(8*i))
	}
	c.End()
}

// cond writes code that pushes x's outcome, the number of it. level counts the conditions around.
func (g *generator) cond(x sqltree.Cond, level int) {
	g.deepest = max(g.deepest, level+1)
	if g.code.Len()+len(g.literals) > codeMax {
		g.tooLarge = true
	}
	if g.tooLarge {
		return
	}
	if hostedCond(x) {
		g.lookUp()
		return
	}
	switch x := x.(type) {
	case *sqltree.Const:
		g.code.I32Const(int32(x.Outcome))
	case *sqltree.Map:
		g.rename(x, level)
	case *sqltree.And:
		g.and(x.List, level)
	case *sqltree.Or:
		g.or(x.List, level)
	case *sqltree.If:
		g.bit(g.column(key{x.Property, filter.Text, Presence}).Present())
		g.code.If(result)
		g.cond(x.Present, level+1)
		g.code.Else()
		g.cond(x.Missing, level+1)
		g.code.End()
	case *sqltree.Equal:
		g.equal(x, level)
	case *sqltree.Compare:
		g.compare(x)
	case *sqltree.CompareProperties:
		g.compareProperties(x)
	case *sqltree.EqualText:
		g.text(x.Property, func() { g.sameAs(x.Text) })
	case *sqltree.In:
		g.text(x.Property, func() { g.in(x.Members) })
	case *sqltree.IsTrue:
		g.text(x.Property, g.isTrue)
	case *sqltree.Search:
		g.text(x.Property, func() { g.search(x) })
	default:
		panic("sqlwasm: unknown kind of condition")
	}
}

// bit pushes the message's bit of a word in the memory.
func (g *generator) bit(at uint32) {
	c := &g.code
	c.I32Const(0)
	c.Memory(wasmbin.I64Load, 3, at)
	c.LocalGet(localIndex64)
	c.Op(wasmbin.I64ShrU, wasmbin.I32WrapI64)
	c.I32Const(1)
	c.Op(wasmbin.I32And)
}

// unless leaves the block around with an outcome when the bit isn't set.
func (g *generator) unless(at uint32, outcome sqltree.Outcome) {
	g.code.I32Const(int32(outcome))
	g.bit(at)
	g.code.Op(wasmbin.I32Eqz)
	g.code.BrIf(0)
	g.code.Op(wasmbin.Drop)
}

// lookUp pushes the outcome of the next hosted condition.
func (g *generator) lookUp() {
	at := g.program.Hosted[g.hosted].At
	g.hosted++
	g.bit(at)
	for i, outcome := range []sqltree.Outcome{sqltree.Unknown, sqltree.Raise} {
		g.bit(at + uint32(8*(i+1)))
		g.code.I32Const(int32(outcome))
		g.code.Op(wasmbin.I32Mul, wasmbin.I32Add)
	}
}

// levelLocals are the two locals of a level.
func levelLocals(level int) (a, b uint32) {
	return uint32(firstLevel + 2*level), uint32(firstLevel + 2*level + 1)
}

// rename looks an outcome up in a table of four two-bit numbers.
func (g *generator) rename(x *sqltree.Map, level int) {
	g.code.I32Const(int32(x.False) | int32(x.True)<<2 | int32(x.Unknown)<<4 | int32(sqltree.Raise)<<6)
	g.cond(x.X, level+1)
	g.code.I32Const(1)
	g.code.Op(wasmbin.I32Shl, wasmbin.I32ShrU)
	g.code.I32Const(3)
	g.code.Op(wasmbin.I32And)
}

// and ends at false and raise, which are the outcomes that become 1 and 0 when 1 is added to their two bits; else it is 1,
// true, and 1 more when a member was unknown.
func (g *generator) and(list []sqltree.Cond, level int) {
	c := &g.code
	g.members(list, level, func() {
		c.I32Const(1)
		c.Op(wasmbin.I32Add)
		c.I32Const(3)
		c.Op(wasmbin.I32And)
		c.I32Const(2)
		c.Op(wasmbin.I32LtU)
		c.BrIf(0)
		c.I32Const(1)
		c.Op(wasmbin.I32ShrU)
	})
	c.I32Const(1)
	c.Op(wasmbin.I32Add)
	c.End()
}

// or ends at true and raise, which are odd; else it is what is left of the others, 0 or 2.
func (g *generator) or(list []sqltree.Cond, level int) {
	c := &g.code
	g.members(list, level, func() {
		c.I32Const(1)
		c.Op(wasmbin.I32And)
		c.BrIf(0)
	})
	c.End()
}

// members begins a block that computes one condition after the other. decide finds an outcome twice on the stack: it leaves
// the block with one of them, or makes one number of the two. In the end these numbers, or-ed, are on the stack.
func (g *generator) members(list []sqltree.Cond, level int, decide func()) {
	c := &g.code
	verdict, unknown := levelLocals(level)
	c.I32Const(0)
	c.LocalSet(unknown)
	c.Block(result)
	for _, x := range list {
		g.cond(x, level+1)
		c.LocalTee(verdict)
		c.LocalGet(verdict)
		decide()
		c.LocalGet(unknown)
		c.Op(wasmbin.I32Or)
		c.LocalSet(unknown)
	}
	c.LocalGet(unknown)
}

// equal compares two outcomes.
func (g *generator) equal(x *sqltree.Equal, level int) {
	c := &g.code
	left, right := levelLocals(level)
	c.Block(result)
	for i, side := range []sqltree.Cond{x.Left, x.Right} {
		local := left + uint32(i)
		c.I32Const(int32(sqltree.Raise))
		g.cond(side, level+1)
		c.LocalTee(local)
		c.I32Const(int32(sqltree.Raise))
		c.Op(wasmbin.I32Eq)
		c.BrIf(0)
		c.Op(wasmbin.Drop)
	}
	c.I32Const(int32(sqltree.True))
	c.I32Const(int32(sqltree.Unknown))
	c.I32Const(int32(sqltree.False))
	c.LocalGet(left)
	c.I32Const(int32(sqltree.Unknown))
	c.Op(wasmbin.I32Eq, wasmbin.Select)
	c.LocalGet(left)
	c.LocalGet(right)
	c.Op(wasmbin.I32Eq, wasmbin.Select)
	c.End()
}

var comparisons = map[sqltree.Op]wasmbin.Op{sqltree.EQ: wasmbin.I64Eq, sqltree.LT: wasmbin.I64LtS, sqltree.LE: wasmbin.I64LeS,
	sqltree.GT: wasmbin.I64GtS, sqltree.GE: wasmbin.I64GeS}

// number pushes the message's number in a column.
func (g *generator) number(col *Column) {
	g.code.LocalGet(localIndex)
	g.code.Memory(wasmbin.I64Load, 3, col.Items())
}

func (g *generator) compare(x *sqltree.Compare) {
	col := g.column(key{x.Property, x.Number.Kind, Numbers})
	g.code.Block(result)
	g.unless(col.Present(), sqltree.Unknown)
	g.unless(col.Read(), sqltree.Raise)
	g.number(col)
	g.code.I64Const(x.Number.Ordered)
	g.code.Op(comparisons[x.Op])
	g.code.End()
}

func (g *generator) compareProperties(x *sqltree.CompareProperties) {
	left, right := g.column(key{x.Left, filter.Double, Numbers}), g.column(key{x.Right, filter.Double, Numbers})
	g.code.Block(result)
	g.unless(left.Present(), sqltree.Unknown)
	g.unless(right.Present(), sqltree.Unknown)
	g.unless(left.Read(), sqltree.Raise)
	g.unless(right.Read(), sqltree.Raise)
	g.number(left)
	g.number(right)
	g.code.Op(comparisons[x.Op])
	g.code.End()
}

// text writes a condition over a text, whose place and size are in locals for test.
func (g *generator) text(property string, test func()) {
	col := g.column(key{property, filter.Text, Texts})
	c := &g.code
	c.Block(result)
	g.unless(col.Present(), sqltree.Unknown)
	c.LocalGet(localIndex)
	c.Memory(wasmbin.I32Load, 2, col.Items())
	c.LocalSet(localAt)
	c.LocalGet(localIndex)
	c.Memory(wasmbin.I32Load, 2, col.Items()+4)
	c.LocalSet(localSize)
	test()
	c.End()
}

// inlineMax is the longest literal that is compared without a loop.
const inlineMax = 32

// sameAs pushes whether the text is the literal.
func (g *generator) sameAs(text string) {
	c := &g.code
	c.LocalGet(localSize)
	c.I32Const(int32(len(text)))
	c.Op(wasmbin.I32Eq)
	c.If(result)
	g.sameBytes(text)
	c.Else()
	c.I32Const(0)
	c.End()
}

// sameBytes pushes whether the text, which is as long as the literal at least, begins with it.
func (g *generator) sameBytes(text string) {
	c := &g.code
	if len(text) > inlineMax {
		c.LocalGet(localAt)
		c.I32Const(int32(g.literal(text)))
		c.I32Const(int32(len(text)))
		c.Call(sameFunction)
		return
	}
	c.I32Const(1)
	at := uint32(0)
	for rest := []byte(text); len(rest) > 0; {
		c.LocalGet(localAt)
		n := 1
		switch {
		case len(rest) >= 8:
			n = 8
			c.Memory(wasmbin.I64Load, 0, at)
			c.I64Const(int64(binary.LittleEndian.Uint64(rest)))
			c.Op(wasmbin.I64Eq)
		case len(rest) >= 4:
			n = 4
			c.Memory(wasmbin.I32Load, 0, at)
			c.I32Const(int32(binary.LittleEndian.Uint32(rest)))
			c.Op(wasmbin.I32Eq)
		case len(rest) >= 2:
			n = 2
			c.Memory(wasmbin.I32Load16U, 0, at)
			c.I32Const(int32(binary.LittleEndian.Uint16(rest)))
			c.Op(wasmbin.I32Eq)
		default:
			c.Memory(wasmbin.I32Load8U, 0, at)
			c.I32Const(int32(rest[0]))
			c.Op(wasmbin.I32Eq)
		}
		c.Op(wasmbin.I32And)
		rest, at = rest[n:], at+uint32(n)
	}
}

// chainMax is how many members are compared one after the other.
const chainMax = 16

// in pushes whether the text is one of the members.
func (g *generator) in(members []string) {
	c := &g.code
	if len(members) > chainMax {
		at, mask := g.table(members)
		c.LocalGet(localAt)
		c.LocalGet(localSize)
		c.I32Const(int32(at))
		c.I32Const(int32(mask))
		c.Call(findInFunction)
		return
	}
	c.Block(result)
	for size := range inlineLengths(members) {
		c.LocalGet(localSize)
		c.I32Const(int32(size))
		c.Op(wasmbin.I32Eq)
		c.If(none)
		c.I32Const(0)
		for _, m := range members {
			if len(m) == size {
				g.sameBytes(m)
				c.Op(wasmbin.I32Or)
			}
		}
		c.Br(1)
		c.End()
	}
	c.I32Const(0)
	c.End()
}

// inlineLengths yields the distinct lengths of members, in the members' order.
func inlineLengths(members []string) func(func(int) bool) {
	return func(yield func(int) bool) {
		seen := map[int]bool{}
		for _, m := range members {
			if seen[len(m)] {
				continue
			}
			seen[len(m)] = true
			if !yield(len(m)) {
				return
			}
		}
	}
}

// table makes a hash table of texts: a power of two of entries of place and size, at least half of them empty, searched one
// after the other from a text's hash on. An empty entry has size 0: no property is an empty text.
func (g *generator) table(members []string) (at uint32, mask uint32) {
	n := nextPower(2 * len(members))
	entries := make([]byte, n*itemSize)
	for _, m := range members {
		if m == "" {
			continue
		}
		i := int(hash(m)) & (n - 1)
		for binary.LittleEndian.Uint32(entries[i*itemSize+4:]) != 0 {
			i = (i + 1) & (n - 1)
		}
		binary.LittleEndian.PutUint32(entries[i*itemSize:], g.literal(m))
		binary.LittleEndian.PutUint32(entries[i*itemSize+4:], uint32(len(m)))
	}
	return g.literal(string(entries)), uint32(n - 1)
}

// hash is FNV-1a, as findIn computes it.
func hash(text string) uint32 {
	h := uint32(fnvBasis)
	for i := range len(text) {
		h = (h ^ uint32(text[i])) * fnvPrime
	}
	return h
}

// isTrue pushes whether the text spells true. Setting bit 5 makes small letters of its letters, and of nothing else.
func (g *generator) isTrue() {
	c := &g.code
	c.LocalGet(localSize)
	c.I32Const(4)
	c.Op(wasmbin.I32Eq)
	c.If(result)
	c.LocalGet(localAt)
	c.Memory(wasmbin.I32Load, 0, 0)
	c.I32Const(0x20202020)
	c.Op(wasmbin.I32Or)
	c.I32Const(int32(binary.LittleEndian.Uint32([]byte("true"))))
	c.Op(wasmbin.I32Eq)
	c.Else()
	c.I32Const(0)
	c.End()
}

// search pushes whether the text has the other at its place.
func (g *generator) search(x *sqltree.Search) {
	c := &g.code
	if x.Where == sqltree.Anywhere {
		c.LocalGet(localAt)
		c.LocalGet(localSize)
		c.I32Const(int32(g.literal(x.Text)))
		c.I32Const(int32(len(x.Text)))
		c.Call(findFunction)
		return
	}
	c.LocalGet(localSize)
	c.I32Const(int32(len(x.Text)))
	c.Op(wasmbin.I32GeU)
	c.If(result)
	if x.Where == sqltree.AtEnd {
		c.LocalGet(localAt)
		c.LocalGet(localSize)
		c.Op(wasmbin.I32Add)
		c.I32Const(int32(len(x.Text)))
		c.Op(wasmbin.I32Sub)
		c.LocalSet(localAt)
	}
	g.sameBytes(x.Text)
	c.Else()
	c.I32Const(0)
	c.End()
}
