package wasmbin

import (
	"bytes"
	"strings"
	"testing"
)

func TestNumbers(t *testing.T) {
	for _, n := range []int64{0, 1, -1, 63, 64, -64, -65, 127, 128, 1<<31 - 1, -1 << 31, 1<<63 - 1, -1 << 63} {
		r := reader{b: AppendS64(nil, n)}
		if got := r.signed(64); got != n || r.err != nil || !r.done() {
			t.Errorf("%d is read as %d, %v", n, got, r.err)
		}
		r = reader{b: AppendS64(nil, n)}
		if got := r.signed(32); (n == int64(int32(n))) != (r.err == nil) || r.err == nil && got != n {
			t.Errorf("%d in 32 bits is read as %d, %v", n, got, r.err)
		}
	}
	for _, n := range []uint32{0, 1, 127, 128, 1<<32 - 1} {
		b := AppendU32(nil, n)
		r := reader{b: b}
		if got := r.u32(); got != n || r.err != nil || sizeU32(n) != len(b) {
			t.Errorf("%d is read as %d, %v", n, got, r.err)
		}
	}
	for _, b := range []string{"\xff\xff\xff\xff\x1f", "\x80\x80\x80\x80\x80\x00", "\x80", ""} {
		r := reader{b: []byte(b)}
		if r.u32(); r.err == nil {
			t.Errorf("%x is no number of 32 bits", b)
		}
	}
	for b, ok := range map[string]bool{"\x80\x80\x80\x80\x78": true, "\xff\xff\xff\xff\x07": true, "\xff\xff\xff\xff\x0f": false,
		"\x80\x80\x80\x80\x70": false, "\x80\x80\x80\x80\x80\x00": false, "\x80": false} {
		r := reader{b: []byte(b)}
		if n := r.signed(32); ok != (r.err == nil) {
			t.Errorf("%x is read as %d, %v", b, n, r.err)
		}
	}
}

// sample has one of everything.
func sample() *Module {
	var body, zero Code
	body.Block(OneValue(I32))
	body.I32Const(-5)
	body.LocalGet(0)
	body.BrTable(0, 0, 0)
	body.End()
	body.Op(V128Const)
	body.Raw(make([]byte, 16))
	body.Op(0xfd15, Drop) // i8x16.extract_lane_s needs its lane
	body.bytes[len(body.bytes)-1] = 3
	body.Op(Drop)
	body.F64Const(1.5)
	body.Op(Drop)
	body.CallIndirect(0, 0)
	body.End()
	zero.I64Const(7)
	zero.End()
	start := uint32(1)
	return &Module{
		Types:     []FuncType{{Params: []ValType{I32}, Results: []ValType{I32}}, {}},
		Imports:   []Import{{Module: "mqf_v1", Name: "log", Kind: ExternFunc, Type: 1}},
		Functions: []uint32{0},
		Tables:    []Table{{Elem: FuncRef, Limits: Limits{Min: 1, Max: 2, HasMax: true}}},
		Memories:  []Limits{{Min: 1}},
		Globals:   []Global{{GlobalType: GlobalType{Type: I64, Mutable: true}, Init: zero.Bytes()}},
		Exports:   []Export{{Name: "f", Kind: ExternFunc, Index: 1}, {Name: "memory", Kind: ExternMemory}},
		Start:     &start,
		Elements:  []Segment{ActiveElements(0, 1)},
		DataCount: true,
		Bodies:    []Body{{Locals: []Locals{{Count: 2, Type: F64}}, Code: body.Bytes()}},
		Data:      []Segment{ActiveData(3, []byte("abc")), PassiveData([]byte("xyz"))},
		Customs:   []Custom{{Name: "mqf.manifest", Data: []byte("{}")}},
	}
}

func TestEncodeParse(t *testing.T) {
	bin := sample().Encode()
	m, err := Parse(bin, Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	if again := m.Encode(); !bytes.Equal(again, bin) {
		t.Errorf("encoded again it differs:\n%x\n%x", again, bin)
	}
	if typ, ok := m.FuncType(1); !ok || typ.String() != "i32 → i32" {
		t.Errorf("function 1: %v %v", typ, ok)
	}
	if typ, ok := m.FuncType(0); !ok || typ.String() != "() → ()" {
		t.Errorf("function 0: %v %v", typ, ok)
	}
	if _, ok := m.FuncType(2); ok || m.FuncCount() != 2 || !m.FuncRefs[1] || m.FuncRefs[0] {
		t.Errorf("%d functions, references %v", m.FuncCount(), m.FuncRefs)
	}
	if data, ok := m.Custom("mqf.manifest"); !ok || string(data) != "{}" {
		t.Errorf("custom section %q %v", data, ok)
	}
	var w Walker
	w.Reset(m.Bodies[0])
	var in Instr
	var ops []Op
	for w.Next(&in) {
		ops = append(ops, in.Op)
	}
	if w.Err() != nil || len(ops) != 12 || in.End != len(m.Bodies[0].Code) {
		t.Errorf("%d instructions %x, %v", len(ops), ops, w.Err())
	}
}

// TestParseErrors changes a sound module, or its bytes, and wants the error to name what is wrong.
func TestParseErrors(t *testing.T) {
	change := func(f func(m *Module)) []byte {
		m := sample()
		f(m)
		return m.Encode()
	}
	bin := sample().Encode()
	tests := []struct {
		name   string
		bin    []byte
		bounds Bounds
		want   string
	}{
		{"empty", nil, Bounds{}, "no WebAssembly module"},
		{"text", []byte("(module)"), Bounds{}, "no WebAssembly module"},
		{"cut", bin[:len(bin)-3], Bounds{}, "bytes wanted"},
		{"unknown section", append(bytes.Clone(bin), 13, 0), Bounds{}, "section 13 isn't WebAssembly 2.0"},
		{"section twice", append(bytes.Clone(bin), 11, 1, 0), Bounds{}, "the data section is out of order"},
		{"bytes behind", append(bytes.Clone(bin[:8]), 1, 2, 0, 0), Bounds{}, "1 bytes too many in the type section"},
		{"huge count", append(bytes.Clone(bin[:8]), 1, 5, 0xff, 0xff, 0xff, 0xff, 0x0f), Bounds{}, "don't fit into the rest"},
		{"type index", change(func(m *Module) { m.Functions[0] = 9 }), Bounds{}, "there is no type 9"},
		{"export index", change(func(m *Module) { m.Exports[0].Index = 2 }), Bounds{}, "there is no func 2"},
		{"export twice", change(func(m *Module) { m.Exports[1].Name = "f" }), Bounds{}, `two exports have the name "f"`},
		{"start index", change(func(m *Module) { *m.Start = 5 }), Bounds{}, "there is no function 5"},
		{"element index", change(func(m *Module) { m.Elements[0] = ActiveElements(0, 4) }), Bounds{}, "there is no function 4"},
		{"two memories", change(func(m *Module) { m.Memories = append(m.Memories, Limits{}) }), Bounds{}, "more than one memory"},
		{"bodies", change(func(m *Module) { m.Bodies = nil }), Bounds{}, "0 function bodies for 1 functions"},
		{"memory limits", change(func(m *Module) { m.Memories[0].Min = 1<<16 + 1 }), Bounds{}, "impossible limits of a memory"},
		{"data count", change(func(m *Module) { m.Data = m.Data[:1] }), Bounds{}, ""},
		{"extended constant", change(func(m *Module) { m.Globals[0].Init = []byte{0x42, 0, 0x42, 0, 0x7c, 0x0b} }), Bounds{}, "constant expression isn't WebAssembly 2.0"},
		{"constant without end", change(func(m *Module) { m.Globals[0].Init = []byte{0x42, 0} }), Bounds{}, "a constant expression has no end"},
		{"locals", change(func(m *Module) { m.Bodies[0].Locals[0].Count = 2000 }), Bounds{Locals: 1000}, "2000 locals in one function; at most 1000"},
		{"functions", bin, Bounds{Functions: 1}, "2 functions; at most 1 are allowed"},
		{"table entries", change(func(m *Module) { m.Tables[0].Limits = Limits{Min: 1 << 31} }), Bounds{TableEntries: 20000}, "2147483648 table entries; at most 20000"},
		{"data bytes", bin, Bounds{DataBytes: 5}, "6 bytes of data; at most 5"},
		{"globals", change(func(m *Module) { m.Globals = append(m.Globals, m.Globals[0]) }), Bounds{Globals: 1}, "2 globals; at most 1"},
	}
	for _, x := range tests {
		t.Run(x.name, func(t *testing.T) {
			_, err := Parse(x.bin, x.bounds)
			if x.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("got %v, want %s", err, x.want)
			}
		})
	}
}

// FuzzParse reads bytes of any kind. What is read can be written and read again.
func FuzzParse(f *testing.F) {
	f.Add(sample().Encode())
	f.Fuzz(func(t *testing.T, bin []byte) {
		m, err := Parse(bin, Bounds{})
		if err != nil {
			return
		}
		again, err := Parse(m.Encode(), Bounds{})
		if err != nil {
			t.Fatalf("encoded again: %v", err)
		}
		if !bytes.Equal(again.Encode(), m.Encode()) {
			t.Error("encoded twice it differs")
		}
		var w Walker
		var in Instr
		for _, b := range m.Bodies {
			w.Reset(b)
			for w.Next(&in) {
				if in.End <= in.Start {
					t.Fatal("an instruction without length")
				}
			}
		}
	})
}
