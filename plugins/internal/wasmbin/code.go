package wasmbin

import (
	"encoding/binary"
	"math"
)

// Code assembles the instructions of a body or a constant expression. It checks nothing. The zero Code is empty.
type Code struct{ bytes []byte }

// Bytes returns what was assembled. It is c's own.
func (c *Code) Bytes() []byte { return c.bytes }

// Len returns the number of bytes so far.
func (c *Code) Len() int { return len(c.bytes) }

// Reset empties c and keeps its memory.
func (c *Code) Reset() { c.bytes = c.bytes[:0] }

// Raw appends bytes as they are.
func (c *Code) Raw(b []byte) { c.bytes = append(c.bytes, b...) }

// Op appends instructions without immediates, and the opcodes of those whose immediates follow by Index.
func (c *Code) Op(ops ...Op) {
	for _, op := range ops {
		if op > 0xff {
			c.bytes = AppendU32(append(c.bytes, byte(op>>8)), uint32(op&0xff))
			continue
		}
		c.bytes = append(c.bytes, byte(op))
	}
}

// Index appends indices or other unsigned immediates.
func (c *Code) Index(list ...uint32) {
	for _, i := range list {
		c.bytes = AppendU32(c.bytes, i)
	}
}

func (c *Code) opIndex(op Op, list ...uint32) {
	c.Op(op)
	c.Index(list...)
}

// Block begins a block.
func (c *Code) Block(t BlockType) { c.open(BlockOp, t) }

// Loop begins a loop.
func (c *Code) Loop(t BlockType) { c.open(LoopOp, t) }

// If begins a branch; Else and End follow.
func (c *Code) If(t BlockType) { c.open(IfOp, t) }

func (c *Code) open(op Op, t BlockType) {
	c.Op(op)
	c.bytes = AppendS64(c.bytes, int64(t))
}

// Else begins the other branch.
func (c *Code) Else() { c.Op(ElseOp) }

// End ends a block, loop, branch, body or constant expression.
func (c *Code) End() { c.Op(EndOp) }

// Br jumps to a label, counted from the innermost block.
func (c *Code) Br(label uint32) { c.opIndex(BrOp, label) }

// BrIf jumps when the top of the stack isn't 0.
func (c *Code) BrIf(label uint32) { c.opIndex(BrIfOp, label) }

// BrTable jumps to one of the labels by index, or to the last.
func (c *Code) BrTable(labels ...uint32) {
	c.opIndex(BrTableOp, uint32(len(labels)-1))
	c.Index(labels...)
}

// Call calls a function.
func (c *Code) Call(f uint32) { c.opIndex(CallOp, f) }

// CallIndirect calls a function of a signature through a table.
func (c *Code) CallIndirect(signature, table uint32) { c.opIndex(CallIndirectOp, signature, table) }

// LocalGet pushes a local.
func (c *Code) LocalGet(i uint32) { c.opIndex(LocalGetOp, i) }

// LocalSet pops into a local.
func (c *Code) LocalSet(i uint32) { c.opIndex(LocalSetOp, i) }

// LocalTee sets a local and keeps the value.
func (c *Code) LocalTee(i uint32) { c.opIndex(LocalTeeOp, i) }

// GlobalGet pushes a global.
func (c *Code) GlobalGet(i uint32) { c.opIndex(GlobalGetOp, i) }

// GlobalSet pops into a global.
func (c *Code) GlobalSet(i uint32) { c.opIndex(GlobalSetOp, i) }

// I32Const pushes a number.
func (c *Code) I32Const(n int32) {
	c.Op(I32ConstOp)
	c.bytes = AppendS64(c.bytes, int64(n))
}

// I64Const pushes a number.
func (c *Code) I64Const(n int64) {
	c.Op(I64ConstOp)
	c.bytes = AppendS64(c.bytes, n)
}

// F64Const pushes a number.
func (c *Code) F64Const(f float64) {
	c.Op(F64ConstOp)
	c.bytes = binary.LittleEndian.AppendUint64(c.bytes, math.Float64bits(f))
}

// Memory appends a load or store with its alignment as a power of two and its constant offset.
func (c *Code) Memory(op Op, align, offset uint32) { c.opIndex(op, align, offset) }
