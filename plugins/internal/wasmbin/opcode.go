package wasmbin

import "fmt"

// Op is an instruction's opcode. Those with a prefix byte have it in the high half: 0xfc08 is memory.init.
type Op uint16

// The opcodes that code here and in the fuel pass speaks of by name.
const (
	Unreachable    Op = 0x00
	Nop            Op = 0x01
	BlockOp        Op = 0x02
	LoopOp         Op = 0x03
	IfOp           Op = 0x04
	ElseOp         Op = 0x05
	EndOp          Op = 0x0b
	BrOp           Op = 0x0c
	BrIfOp         Op = 0x0d
	BrTableOp      Op = 0x0e
	ReturnOp       Op = 0x0f
	CallOp         Op = 0x10
	CallIndirectOp Op = 0x11
	Drop           Op = 0x1a
	Select         Op = 0x1b
	SelectTyped    Op = 0x1c
	LocalGetOp     Op = 0x20
	LocalSetOp     Op = 0x21
	LocalTeeOp     Op = 0x22
	GlobalGetOp    Op = 0x23
	GlobalSetOp    Op = 0x24
	TableGet       Op = 0x25
	TableSet       Op = 0x26
	I32Load        Op = 0x28
	I64Load        Op = 0x29
	F64Load        Op = 0x2b
	I32Load8U      Op = 0x2d
	I32Load16U     Op = 0x2f
	I32Store       Op = 0x36
	I64Store       Op = 0x37
	F64Store       Op = 0x39
	I32Store8      Op = 0x3a
	I64Store32     Op = 0x3e
	MemorySize     Op = 0x3f
	MemoryGrow     Op = 0x40
	I32ConstOp     Op = 0x41
	I64ConstOp     Op = 0x42
	F32ConstOp     Op = 0x43
	F64ConstOp     Op = 0x44
	I32Eqz         Op = 0x45
	I32Eq          Op = 0x46
	I32Ne          Op = 0x47
	I32LtS         Op = 0x48
	I32LtU         Op = 0x49
	I32GtS         Op = 0x4a
	I32GtU         Op = 0x4b
	I32LeS         Op = 0x4c
	I32LeU         Op = 0x4d
	I32GeS         Op = 0x4e
	I32GeU         Op = 0x4f
	I64Eqz         Op = 0x50
	I64Eq          Op = 0x51
	I64Ne          Op = 0x52
	I64LtS         Op = 0x53
	I64LtU         Op = 0x54
	I64GtS         Op = 0x55
	I64GtU         Op = 0x56
	I64LeS         Op = 0x57
	I64LeU         Op = 0x58
	I64GeS         Op = 0x59
	I64GeU         Op = 0x5a
	I32Add         Op = 0x6a
	I32Sub         Op = 0x6b
	I32Mul         Op = 0x6c
	I32DivS        Op = 0x6d
	I32RemU        Op = 0x70
	I32And         Op = 0x71
	I32Or          Op = 0x72
	I32Xor         Op = 0x73
	I32Shl         Op = 0x74
	I32ShrS        Op = 0x75
	I32ShrU        Op = 0x76
	I64Ctz         Op = 0x7a
	I64Add         Op = 0x7c
	I64Sub         Op = 0x7d
	I64Mul         Op = 0x7e
	I64DivS        Op = 0x7f
	I64DivU        Op = 0x80
	I64RemU        Op = 0x82
	I64And         Op = 0x83
	I64Or          Op = 0x84
	I64Xor         Op = 0x85
	I64Shl         Op = 0x86
	I64ShrS        Op = 0x87
	I64ShrU        Op = 0x88
	F32Div         Op = 0x95
	F64Sqrt        Op = 0x9f
	F64Div         Op = 0xa3
	I32WrapI64     Op = 0xa7
	I64ExtendI32S  Op = 0xac
	I64ExtendI32U  Op = 0xad
	RefNull        Op = 0xd0
	RefIsNull      Op = 0xd1
	RefFunc        Op = 0xd2
	MemoryInit     Op = 0xfc08
	DataDrop       Op = 0xfc09
	MemoryCopy     Op = 0xfc0a
	MemoryFill     Op = 0xfc0b
	TableInit      Op = 0xfc0c
	ElemDrop       Op = 0xfc0d
	TableCopy      Op = 0xfc0e
	TableGrow      Op = 0xfc0f
	TableSize      Op = 0xfc10
	TableFill      Op = 0xfc11
	V128Const      Op = 0xfd0c
	I8x16Shuffle   Op = 0xfd0d

	prefixMisc = 0xfc
	prefixVec  = 0xfd
)

// imm says which immediates follow an opcode.
type imm uint8

const (
	immBad imm = iota // not an instruction of WebAssembly 2.0
	immNone
	immBlock
	immLabel
	immBrTable
	immFunc
	immIndirect // type, table
	immTypes    // of a typed select
	immLocal
	immGlobal
	immTable
	immMemArg
	immZero // the one memory
	immI32
	immI64
	immF32
	immF64
	immRefType
	immDataZero // memory.init
	immData
	immZeroZero   // memory.copy
	immElemTable  // table.init
	immElem       // elem.drop
	immTableTable // table.copy
	immV128
	immLane
	immMemArgLane
)

// immOf returns the immediates of op. It is a decision by ranges and not a table, since a table would have to be built
// when the program starts.
func immOf(op Op) imm {
	switch op >> 8 {
	case prefixMisc:
		return immOfMisc(op & 0xff)
	case prefixVec:
		return immOfVec(op & 0xff)
	}
	switch {
	case op >= 0x45 && op <= 0xc4: // all the plain arithmetic
		return immNone
	case op >= LocalGetOp && op <= LocalTeeOp:
		return immLocal
	case op >= I32Load && op <= I64Store32:
		return immMemArg
	}
	switch op {
	case Unreachable, Nop, ElseOp, EndOp, ReturnOp, Drop, Select, RefIsNull:
		return immNone
	case BlockOp, LoopOp, IfOp:
		return immBlock
	case BrOp, BrIfOp:
		return immLabel
	case BrTableOp:
		return immBrTable
	case CallOp, RefFunc:
		return immFunc
	case CallIndirectOp:
		return immIndirect
	case SelectTyped:
		return immTypes
	case GlobalGetOp, GlobalSetOp:
		return immGlobal
	case TableGet, TableSet:
		return immTable
	case MemorySize, MemoryGrow:
		return immZero
	case I32ConstOp:
		return immI32
	case I64ConstOp:
		return immI64
	case F32ConstOp:
		return immF32
	case F64ConstOp:
		return immF64
	case RefNull:
		return immRefType
	}
	return immBad
}

func immOfMisc(sub Op) imm {
	switch {
	case sub < 8: // saturating conversions
		return immNone
	case sub > 17:
		return immBad
	}
	return [...]imm{immDataZero, immData, immZeroZero, immZero, immElemTable, immElem, immTableTable, immTable, immTable, immTable}[sub-8]
}

func immOfVec(sub Op) imm {
	switch {
	case sub <= 0x0b || sub == 0x5c || sub == 0x5d:
		return immMemArg
	case sub == 0x0c || sub == 0x0d:
		return immV128
	case sub >= 0x15 && sub <= 0x22:
		return immLane
	case sub >= 0x54 && sub <= 0x5b:
		return immMemArgLane
	}
	switch sub { // unassigned
	case 0x9a, 0xa2, 0xa5, 0xa6, 0xaf, 0xb0, 0xb2, 0xb3, 0xb4, 0xbb, 0xc2, 0xc5, 0xc6, 0xcf, 0xd0, 0xd2, 0xd3, 0xd4, 0xe2, 0xee:
		return immBad
	}
	return immNone
}

// unknownName names an instruction that isn't WebAssembly 2.0, with the proposal that it belongs to.
func unknownName(op byte, sub uint32) string {
	switch op {
	case 0x06, 0x07, 0x09, 0x18, 0x19:
		return fmt.Sprintf("instruction 0x%02x (legacy exceptions)", op)
	case 0x08:
		return "instruction throw (exceptions)"
	case 0x0a:
		return "instruction throw_ref (exceptions)"
	case 0x1f:
		return "instruction try_table (exceptions)"
	case 0x12:
		return "instruction return_call (tail calls)"
	case 0x13:
		return "instruction return_call_indirect (tail calls)"
	case 0x14:
		return "instruction call_ref (typed function references)"
	case 0x15:
		return "instruction return_call_ref (tail calls)"
	case 0xd3:
		return "instruction ref.eq (garbage collection)"
	case 0xd4, 0xd5, 0xd6:
		return fmt.Sprintf("instruction 0x%02x (typed function references)", op)
	case 0xfb:
		return fmt.Sprintf("instruction 0xfb %d (garbage collection)", sub)
	case 0xfe:
		return fmt.Sprintf("instruction 0xfe %d (threads and atomics)", sub)
	case prefixMisc:
		return fmt.Sprintf("instruction 0xfc %d", sub)
	case prefixVec:
		if sub >= 0x100 {
			return fmt.Sprintf("instruction 0xfd %d (relaxed SIMD)", sub)
		}
		return fmt.Sprintf("instruction 0xfd %d", sub)
	}
	return fmt.Sprintf("instruction 0x%02x", op)
}
