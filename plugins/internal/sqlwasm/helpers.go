package sqlwasm

import "github.com/weirmq/weir/plugins/internal/wasmbin"

// The functions of every module.
const (
	sameFunction   = iota // (a, b, size) → whether size bytes are the same
	findFunction          // (text, size, needle, needle's size) → whether the needle, which isn't empty, is in the text
	findInFunction        // (text, size, table, mask) → whether the text is in the table
	judgeFunction
)

const (
	fnvBasis = 2166136261
	fnvPrime = 16777619
)

type helper struct {
	signature wasmbin.FuncType
	body      wasmbin.Body
}

func helpers() []helper {
	return []helper{
		{signature(3), wasmbin.Body{Code: sameCode()}},
		{signature(4), wasmbin.Body{Locals: i32s(1), Code: findCode()}},
		{signature(4), wasmbin.Body{Locals: i32s(3), Code: findInCode()}},
	}
}

// signature takes i32 parameters and returns an i32.
func signature(params int) wasmbin.FuncType {
	t := wasmbin.FuncType{Results: []wasmbin.ValType{wasmbin.I32}}
	for range params {
		t.Params = append(t.Params, wasmbin.I32)
	}
	return t
}

func i32s(n uint32) []wasmbin.Locals { return []wasmbin.Locals{{Count: n, Type: wasmbin.I32}} }

// add adds a number to a local.
func add(c *wasmbin.Code, local uint32, n int32) {
	c.LocalGet(local)
	c.I32Const(n)
	c.Op(wasmbin.I32Add)
	c.LocalSet(local)
}

// sameCode compares eight bytes at a time as long as there are so many.
func sameCode() []byte {
	const a, b, size = 0, 1, 2
	var c wasmbin.Code
	for _, step := range []struct {
		load, differ wasmbin.Op
		bytes        int32
	}{{wasmbin.I64Load, wasmbin.I64Ne, 8}, {wasmbin.I32Load8U, wasmbin.I32Ne, 1}} {
		c.Block(none)
		c.Loop(none)
		c.LocalGet(size)
		c.I32Const(step.bytes)
		c.Op(wasmbin.I32LtU)
		c.BrIf(1)
		c.LocalGet(a)
		c.Memory(step.load, 0, 0)
		c.LocalGet(b)
		c.Memory(step.load, 0, 0)
		c.Op(step.differ)
		returnIf(&c, 0)
		add(&c, a, step.bytes)
		add(&c, b, step.bytes)
		add(&c, size, -step.bytes)
		c.Br(0)
		c.End()
		c.End()
	}
	c.I32Const(1)
	c.End()
	return c.Bytes()
}

// returnIf leaves the function with n if the number on the stack isn't 0.
func returnIf(c *wasmbin.Code, n int32) {
	c.If(none)
	c.I32Const(n)
	c.Op(wasmbin.ReturnOp)
	c.End()
}

// findCode tries one place after the other, as long as enough is left.
func findCode() []byte {
	const text, size, needle, length, first = 0, 1, 2, 3, 4
	var c wasmbin.Code
	c.LocalGet(needle)
	c.Memory(wasmbin.I32Load8U, 0, 0)
	c.LocalSet(first)
	c.Loop(none)
	c.LocalGet(size)
	c.LocalGet(length)
	c.Op(wasmbin.I32LtU)
	returnIf(&c, 0)
	c.LocalGet(text)
	c.Memory(wasmbin.I32Load8U, 0, 0)
	c.LocalGet(first)
	c.Op(wasmbin.I32Eq)
	c.If(none)
	c.LocalGet(text)
	c.LocalGet(needle)
	c.LocalGet(length)
	c.Call(sameFunction)
	returnIf(&c, 1)
	c.End()
	add(&c, text, 1)
	add(&c, size, -1)
	c.Br(0)
	c.End()
	c.Op(wasmbin.Unreachable)
	c.End()
	return c.Bytes()
}

// findInCode hashes the text and looks at one entry after the other until one is the text, or empty.
func findInCode() []byte {
	const text, size, table, mask, h, at, entry = 0, 1, 2, 3, 4, 5, 6
	var c wasmbin.Code
	c.I32Const(fnvBasisSigned)
	c.LocalSet(h)
	c.LocalGet(text)
	c.LocalSet(at)
	c.Block(none)
	c.Loop(none)
	c.LocalGet(at)
	c.LocalGet(text)
	c.LocalGet(size)
	c.Op(wasmbin.I32Add, wasmbin.I32Eq)
	c.BrIf(1)
	c.LocalGet(h)
	c.LocalGet(at)
	c.Memory(wasmbin.I32Load8U, 0, 0)
	c.Op(wasmbin.I32Xor)
	c.I32Const(fnvPrime)
	c.Op(wasmbin.I32Mul)
	c.LocalSet(h)
	add(&c, at, 1)
	c.Br(0)
	c.End()
	c.End()
	c.Loop(none)
	c.LocalGet(table)
	c.LocalGet(h)
	c.LocalGet(mask)
	c.Op(wasmbin.I32And)
	c.I32Const(3)
	c.Op(wasmbin.I32Shl, wasmbin.I32Add)
	c.LocalTee(entry)
	c.Memory(wasmbin.I32Load, 2, 4)
	c.Op(wasmbin.I32Eqz)
	returnIf(&c, 0)
	c.LocalGet(entry)
	c.Memory(wasmbin.I32Load, 2, 4)
	c.LocalGet(size)
	c.Op(wasmbin.I32Eq)
	c.If(none)
	c.LocalGet(text)
	c.LocalGet(entry)
	c.Memory(wasmbin.I32Load, 2, 0)
	c.LocalGet(size)
	c.Call(sameFunction)
	returnIf(&c, 1)
	c.End()
	add(&c, h, 1)
	c.Br(0)
	c.End()
	c.Op(wasmbin.Unreachable)
	c.End()
	return c.Bytes()
}

// fnvBasisSigned is the basis as a signed number.
const fnvBasisSigned = fnvBasis - 1<<32
