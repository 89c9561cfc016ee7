package wasmbin

import (
	"bytes"
	"fmt"
)

const header = "\x00asm\x01\x00\x00\x00"

// Bounds limit what Parse accepts, beside the length of the module, which is the caller's to check. A zero is no bound.
type Bounds struct {
	Functions    int // defined and imported
	Imports      int
	Types        int
	Globals      int
	Exports      int
	TableEntries int // of all tables together, as declared
	Segments     int // of elements and data each
	DataBytes    int
	Locals       int // of one function, parameters excluded
	BodyBytes    int // of one function
}

// The ids of sections.
const (
	secCustom = iota
	secType
	secImport
	secFunction
	secTable
	secMemory
	secGlobal
	secExport
	secStart
	secElement
	secCode
	secData
	secDataCount
)

var sectionNames = [...]string{"custom", "type", "import", "function", "table", "memory", "global", "export", "start",
	"element", "code", "data", "data count"}

// sectionRank is the order in which sections stand.
var sectionRank = [...]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 10}

// Parse reads a module. The result borrows b. An error is a *FormatError.
func Parse(b []byte, bounds Bounds) (*Module, error) {
	p := parser{reader: reader{b: b}, m: &Module{FuncRefs: map[uint32]bool{}}, bounds: bounds}
	if !bytes.HasPrefix(b, []byte(header)) {
		return nil, &FormatError{Text: "no WebAssembly module: it begins with neither the magic number nor version 1"}
	}
	p.at = len(header)
	last := 0
	for !p.done() {
		at := p.at
		id := int(p.u8())
		size := p.u32()
		if p.err == nil && id >= len(sectionNames) {
			p.fail(at, "section %d isn't WebAssembly 2.0", id)
		}
		start := p.at
		data := p.bytes(int(size))
		if p.err != nil {
			return nil, p.err
		}
		if id != secCustom {
			if sectionRank[id] <= last {
				p.fail(at, "the %s section is out of order", sectionNames[id])
				return nil, p.err
			}
			last = sectionRank[id]
		}
		s := parser{reader: reader{b: data, base: start}, m: p.m, bounds: bounds}
		s.section(id)
		if s.err == nil && !s.done() {
			s.fail(s.at, "%d bytes too many in the %s section", len(data)-s.at, sectionNames[id])
		}
		if s.err != nil {
			return nil, s.err
		}
		p.dataCount = max(p.dataCount, s.dataCount)
	}
	if err := p.m.check(p.dataCount); err != nil {
		return nil, err
	}
	return p.m, nil
}

// parser reads one section into m.
type parser struct {
	reader
	m         *Module
	bounds    Bounds
	dataCount int
}

func (p *parser) section(id int) {
	switch id {
	case secCustom:
		name := p.name()
		p.m.Customs = append(p.m.Customs, Custom{Name: name, Data: p.bytes(len(p.b) - p.at)})
	case secType:
		p.types()
	case secImport:
		p.imports()
	case secFunction:
		p.functions()
	case secTable:
		for range p.count("tables") {
			p.m.Tables = append(p.m.Tables, p.table())
		}
		p.checkTables()
	case secMemory:
		for range p.count("memories") {
			p.m.Memories = append(p.m.Memories, p.limits(1<<16, "memory"))
		}
	case secGlobal:
		p.globals()
	case secExport:
		p.exports()
	case secStart:
		i := p.index(p.m.FuncCount(), "function")
		p.m.Start = &i
	case secElement:
		p.elements()
	case secDataCount:
		p.m.DataCount = true
		p.dataCount = int(p.u32())
	case secCode:
		p.code()
	case secData:
		p.data()
	}
}

func (p *parser) most(n, bound int, what string) {
	if bound > 0 && n > bound {
		p.fail(p.at, "%d %s; at most %d are allowed", n, what, bound)
	}
}

// index reads an index below n.
func (p *parser) index(n int, what string) uint32 {
	at := p.at
	i := p.u32()
	if p.err == nil && int64(i) >= int64(n) {
		p.fail(at, "there is no %s %d", what, i)
		return 0
	}
	return i
}

func (p *parser) types() {
	n := p.count("types")
	p.most(n, p.bounds.Types, "types")
	for range n {
		at := p.at
		if form := p.u8(); p.err == nil && form != 0x60 {
			p.fail(at, "type form 0x%02x isn't WebAssembly 2.0", form)
		}
		t := FuncType{Params: p.valTypes(), Results: p.valTypes()}
		if p.err != nil {
			return
		}
		p.m.Types = append(p.m.Types, t)
	}
}

func (p *parser) imports() {
	n := p.count("imports")
	p.most(n, p.bounds.Imports, "imports")
	for range n {
		i := Import{Module: p.name(), Name: p.name()}
		at := p.at
		i.Kind = ExternKind(p.u8())
		switch i.Kind {
		case ExternFunc:
			i.Type = p.index(len(p.m.Types), "type")
		case ExternTable:
			i.Table = p.table()
		case ExternMemory:
			i.Memory = p.limits(1<<16, "memory")
		case ExternGlobal:
			i.Global = p.globalType()
		default:
			p.fail(at, "import of kind %d isn't WebAssembly 2.0", i.Kind)
		}
		if p.err != nil {
			return
		}
		p.m.Imports = append(p.m.Imports, i)
	}
	p.checkTables()
}

func (p *parser) functions() {
	n := p.count("functions")
	p.most(n+p.m.FuncCount(), p.bounds.Functions, "functions")
	for range n {
		t := p.index(len(p.m.Types), "type")
		if p.err != nil {
			return
		}
		p.m.Functions = append(p.m.Functions, t)
	}
}

func (p *parser) checkTables() {
	total := 0
	for _, t := range p.m.Tables {
		total += int(t.Min)
	}
	for _, i := range p.m.Imports {
		if i.Kind == ExternTable {
			total += int(i.Table.Min)
		}
	}
	p.most(total, p.bounds.TableEntries, "table entries")
}

func (p *parser) globals() {
	n := p.count("globals")
	p.most(n, p.bounds.Globals, "globals")
	for range n {
		g := Global{GlobalType: p.globalType()}
		g.Init = p.constant()
		if p.err != nil {
			return
		}
		p.m.Globals = append(p.m.Globals, g)
	}
}

// constant reads a constant expression up to its end.
func (p *parser) constant() []byte {
	start := p.at
	w := Walker{r: p.reader}
	var in Instr
	for w.Next(&in) {
		at := in.Start
		switch in.Op {
		case EndOp:
			p.at = w.r.at
			return p.b[start:p.at:p.at]
		case I32ConstOp, I64ConstOp, F32ConstOp, F64ConstOp, V128Const, RefNull:
		case RefFunc:
			p.refer(at, in.A)
		case GlobalGetOp:
			if int(in.A) >= p.m.ImportedCount(ExternGlobal)+len(p.m.Globals) {
				p.fail(at, "there is no global %d", in.A)
			}
		default:
			p.fail(at, "instruction 0x%02x in a constant expression isn't WebAssembly 2.0", int(in.Op))
		}
		if p.err != nil {
			return nil
		}
	}
	if w.r.err != nil {
		p.err, p.at = w.r.err, len(p.b)
	} else {
		p.fail(start, "a constant expression has no end")
	}
	return nil
}

func (p *parser) refer(at int, f uint32) {
	if int64(f) >= int64(p.m.FuncCount()) {
		p.fail(at, "there is no function %d", f)
		return
	}
	p.m.FuncRefs[f] = true
}

func (p *parser) exports() {
	n := p.count("exports")
	p.most(n, p.bounds.Exports, "exports")
	seen := make(map[string]bool, n)
	for range n {
		e := Export{Name: p.name()}
		at := p.at
		e.Kind = ExternKind(p.u8())
		known := map[ExternKind]int{ExternFunc: len(p.m.Functions), ExternTable: len(p.m.Tables),
			ExternMemory: len(p.m.Memories), ExternGlobal: len(p.m.Globals)}
		defined, ok := known[e.Kind]
		if p.err == nil && !ok {
			p.fail(at, "export of kind %d isn't WebAssembly 2.0", e.Kind)
		}
		e.Index = p.index(defined+p.m.ImportedCount(e.Kind), e.Kind.String())
		if p.err == nil && seen[e.Name] {
			p.fail(at, "two exports have the name %q", e.Name)
		}
		if p.err != nil {
			return
		}
		seen[e.Name] = true
		p.m.Exports = append(p.m.Exports, e)
	}
}

func (p *parser) code() {
	n := p.count("bodies")
	if p.err == nil && n != len(p.m.Functions) {
		p.fail(0, "%d function bodies for %d functions", n, len(p.m.Functions))
	}
	for i := range n {
		size := p.count("bytes of a function")
		if p.bounds.BodyBytes > 0 && size > p.bounds.BodyBytes {
			p.fail(p.at, "function %d has %d bytes; at most %d are allowed", i, size, p.bounds.BodyBytes)
		}
		b := parser{reader: reader{base: p.base + p.at}, bounds: p.bounds}
		b.b = p.bytes(size)
		if p.err != nil {
			return
		}
		body := b.body()
		if b.err != nil {
			p.err = b.err
			return
		}
		p.m.Bodies = append(p.m.Bodies, body)
	}
}

func (p *parser) body() (body Body) {
	total := uint64(0)
	for range p.count("locals") {
		at := p.at
		l := Locals{Count: p.u32(), Type: p.valType()}
		if total += uint64(l.Count); p.bounds.Locals > 0 && total > uint64(p.bounds.Locals) || total > 1<<31 {
			p.fail(at, "%d locals in one function; at most %d are allowed", total, p.bounds.Locals)
		}
		if p.err != nil {
			return body
		}
		body.Locals = append(body.Locals, l)
	}
	body.Offset = p.base + p.at
	body.Code = p.bytes(len(p.b) - p.at)
	return body
}

// check is what only the whole module shows.
func (m *Module) check(dataCount int) error {
	switch {
	case len(m.Bodies) != len(m.Functions):
		return &FormatError{Text: fmt.Sprintf("%d function bodies for %d functions", len(m.Bodies), len(m.Functions))}
	case len(m.Memories)+m.ImportedCount(ExternMemory) > 1:
		return &FormatError{Text: "more than one memory isn't WebAssembly 2.0"}
	case m.DataCount && dataCount != len(m.Data):
		return &FormatError{Text: fmt.Sprintf("%d data segments where %d were announced", len(m.Data), dataCount)}
	}
	return nil
}
