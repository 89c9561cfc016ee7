package fuel

import "github.com/weirmq/weir/plugins/internal/wasmbin"

// Costs in units of fuel, about the time of one simple instruction each.
const (
	costCall     = 4
	costIndirect = 8
	costDivide   = 8
	costBulk     = 16 // with an operand of 0
	// Bulk operations pay for their operand: a unit for so many bytes or for one table entry, and so many units for a page.
	bytesPerUnit = 16
	unitsPerPage = 4096
)

// costOf returns what executing op costs, besides what it costs by its operand.
func costOf(op wasmbin.Op) int64 {
	switch op {
	case wasmbin.EndOp, wasmbin.ElseOp, wasmbin.Nop:
		return 0
	case wasmbin.CallOp:
		return costCall
	case wasmbin.CallIndirectOp:
		return costIndirect
	}
	if _, ok := helperOf(op); ok {
		return costBulk
	}
	switch {
	case op >= wasmbin.I32DivS && op <= wasmbin.I32RemU, op >= wasmbin.I64DivS && op <= wasmbin.I64RemU,
		op == wasmbin.F64Div, op == wasmbin.F64Sqrt, op == wasmbin.F32Div, op == 0x91, // f32.sqrt
		op == 0xfde3, op == 0xfde7, op == 0xfdef, op == 0xfdf3: // the same on vectors
		return costDivide
	}
	return 1
}

// helper says which of the added functions charges for op's operand, which is on top of the stack.
func helperOf(op wasmbin.Op) (h helper, ok bool) {
	switch op {
	case wasmbin.MemoryFill, wasmbin.MemoryCopy, wasmbin.MemoryInit:
		return chargeBytes, true
	case wasmbin.TableFill, wasmbin.TableCopy, wasmbin.TableInit, wasmbin.TableGrow:
		return chargeEntries, true
	case wasmbin.MemoryGrow:
		return chargePages, true
	}
	return 0, false
}

// helper is one of the added functions. Each takes a number and gives it back, after it has charged for it.
type helper int

const (
	chargeBytes helper = iota
	chargeEntries
	chargePages
	helperCount
)
