package wasmbin

import "slices"

// ValType is the type of a value.
type ValType byte

// The value types of WebAssembly 2.0.
const (
	I32       ValType = 0x7f
	I64       ValType = 0x7e
	F32       ValType = 0x7d
	F64       ValType = 0x7c
	V128      ValType = 0x7b
	FuncRef   ValType = 0x70
	ExternRef ValType = 0x6f
)

// String returns the type's name in the text format.
func (t ValType) String() string {
	switch t {
	case I32:
		return "i32"
	case I64:
		return "i64"
	case F32:
		return "f32"
	case F64:
		return "f64"
	case V128:
		return "v128"
	case FuncRef:
		return "funcref"
	case ExternRef:
		return "externref"
	}
	return "unknown type"
}

func (t ValType) isRef() bool { return t == FuncRef || t == ExternRef }
func (t ValType) isNum() bool { return t >= V128 && t <= I32 }

// FuncType is a function's signature.
type FuncType struct{ Params, Results []ValType }

// Equal says whether two signatures are the same.
func (t FuncType) Equal(o FuncType) bool {
	return slices.Equal(t.Params, o.Params) && slices.Equal(t.Results, o.Results)
}

// String formats t as (i32, i32) → i64.
func (t FuncType) String() string { return list(t.Params) + " → " + list(t.Results) }

func list(types []ValType) string {
	if len(types) == 1 {
		return types[0].String()
	}
	s := "("
	for i, t := range types {
		if i > 0 {
			s += ", "
		}
		s += t.String()
	}
	return s + ")"
}

// ExternKind says what is imported or exported.
type ExternKind byte

// The kinds of imports and exports.
const (
	ExternFunc   ExternKind = 0
	ExternTable  ExternKind = 1
	ExternMemory ExternKind = 2
	ExternGlobal ExternKind = 3
)

// String returns the kind's name in the text format.
func (k ExternKind) String() string {
	switch k {
	case ExternFunc:
		return "func"
	case ExternTable:
		return "table"
	case ExternMemory:
		return "memory"
	case ExternGlobal:
		return "global"
	}
	return "unknown kind"
}

// Limits are the bounds of a memory, in pages of 64 KiB, or of a table, in entries.
type Limits struct {
	Min    uint32
	Max    uint32 // when HasMax
	HasMax bool
}

// Import is something that a module wants from outside.
type Import struct {
	Module, Name string
	Kind         ExternKind
	Type         uint32     // of a function: index into Types
	Table        Table      // of a table
	Memory       Limits     // of a memory
	Global       GlobalType // of a global
}

// Table is the type of a table.
type Table struct {
	Elem ValType
	Limits
}

// GlobalType is the type of a global.
type GlobalType struct {
	Type    ValType
	Mutable bool
}

// Global is a global that the module defines. Init is a constant expression with its end.
type Global struct {
	GlobalType
	Init []byte
}

// Export names something for the outside. Index counts what is of its kind, imports first.
type Export struct {
	Name  string
	Kind  ExternKind
	Index uint32
}

// Segment is an element or data segment as it is encoded. Size is how many entries or bytes it holds.
type Segment struct {
	Raw  []byte
	Size int
}

// Locals is a run of locals of one type.
type Locals struct {
	Count uint32
	Type  ValType
}

// Body is the body of a function that the module defines.
type Body struct {
	Locals []Locals
	Code   []byte // the instructions with the last end
	Offset int    // of Code in the module it was parsed from
}

// Custom is a custom section.
type Custom struct {
	Name string
	Data []byte
}

// Module is a WebAssembly module.
type Module struct {
	Types     []FuncType
	Imports   []Import
	Functions []uint32 // of each defined function: index into Types
	Tables    []Table
	Memories  []Limits // at most one, imports included
	Globals   []Global
	Exports   []Export
	Start     *uint32
	Elements  []Segment
	// DataCount says that the module has a data count section, which memory.init and data.drop need.
	DataCount bool
	Bodies    []Body // as many as Functions
	Data      []Segment
	Customs   []Custom

	// FuncRefs marks the functions that elements and ref.func instructions outside of bodies refer to.
	FuncRefs map[uint32]bool
}

// ImportedCount returns the number of imports of a kind.
func (m *Module) ImportedCount(k ExternKind) (n int) {
	for i := range m.Imports {
		if m.Imports[i].Kind == k {
			n++
		}
	}
	return n
}

// FuncCount returns the number of functions, imports included.
func (m *Module) FuncCount() int { return m.ImportedCount(ExternFunc) + len(m.Functions) }

// FuncType returns the signature of function i, where imports count first.
func (m *Module) FuncType(i uint32) (FuncType, bool) {
	for k := range m.Imports {
		if m.Imports[k].Kind != ExternFunc {
			continue
		}
		if i == 0 {
			return m.Types[m.Imports[k].Type], true
		}
		i--
	}
	if int(i) >= len(m.Functions) {
		return FuncType{}, false
	}
	return m.Types[m.Functions[i]], true
}

// Export returns the export of a name.
func (m *Module) Export(name string) (Export, bool) {
	for _, e := range m.Exports {
		if e.Name == name {
			return e, true
		}
	}
	return Export{}, false
}

// Custom returns the first custom section of a name.
func (m *Module) Custom(name string) ([]byte, bool) {
	for _, c := range m.Customs {
		if c.Name == name {
			return c.Data, true
		}
	}
	return nil, false
}

// TypeIndex returns the index of a signature, which it adds when the module has none like it.
func (m *Module) TypeIndex(t FuncType) uint32 {
	for i := range m.Types {
		if m.Types[i].Equal(t) {
			return uint32(i)
		}
	}
	m.Types = append(m.Types, t)
	return uint32(len(m.Types) - 1)
}

// IsExportedFunc says whether function i is exported under any name.
func (m *Module) IsExportedFunc(i uint32) bool {
	for _, e := range m.Exports {
		if e.Kind == ExternFunc && e.Index == i {
			return true
		}
	}
	return false
}
