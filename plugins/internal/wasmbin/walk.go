package wasmbin

// Instr is one instruction of a body.
type Instr struct {
	Op Op
	// Start and End are its place in the body's Code.
	Start, End int
	// A is the first immediate that is an index: label, function, type, local, global, table or segment.
	A uint32
	// B is the second: the table of call_indirect, table.init or table.copy.
	B uint32
	// Block is the type of a block, loop or if.
	Block BlockType
	// Labels are the targets of br_table, the default last. They are valid until the next instruction.
	Labels []uint32
}

// BlockType is the type of a block: no value, one value, or a signature of the module.
type BlockType int64

// NoValue is the type of a block that leaves nothing.
const NoValue BlockType = -0x40

// OneValue is the type of a block that leaves one value.
func OneValue(t ValType) BlockType { return BlockType(int64(t) - 0x80) }

// SignatureType is the type of a block with the signature that has index i in the module.
func SignatureType(i uint32) BlockType { return BlockType(i) }

// Signature returns the index of the block's signature, if it has one.
func (t BlockType) Signature() (uint32, bool) { return uint32(t), t >= 0 }

// Walker walks over the instructions of a body or a constant expression, one at a time.
type Walker struct {
	r      reader
	labels []uint32
}

// Reset makes w walk over b.Code from its begin. It keeps w's memory.
func (w *Walker) Reset(b Body) { w.r = reader{b: b.Code, base: b.Offset} }

// Err returns what stopped the walk, nil at the end of the code.
func (w *Walker) Err() error { return w.r.err }

// Next decodes the next instruction into in. It returns false at the end of the code and at what is no instruction.
func (w *Walker) Next(in *Instr) bool {
	r := &w.r
	if r.done() {
		return false
	}
	in.Start = r.at
	op, ok := w.opcode()
	if !ok {
		return false
	}
	in.Op, in.A, in.B = op, 0, 0
	w.immediates(in)
	in.End = r.at
	return r.err == nil
}

func (w *Walker) opcode() (Op, bool) {
	r, at := &w.r, w.r.at
	c := r.u8()
	op, sub := Op(c), uint32(0)
	switch c {
	case prefixMisc, prefixVec, 0xfb, 0xfe:
		sub = r.u32()
		if r.err != nil {
			return 0, false
		}
		op = Op(c)<<8 | Op(sub&0xff)
		if sub > 0xff {
			op = 0xff00
		}
	}
	if immOf(op) == immBad {
		r.fail(at, "%s isn't WebAssembly 2.0", unknownName(c, sub))
		return 0, false
	}
	return op, true
}

func (w *Walker) immediates(in *Instr) {
	r := &w.r
	switch immOf(in.Op) {
	case immNone:
	case immBlock:
		in.Block = w.blockType()
	case immLabel, immFunc, immLocal, immGlobal, immTable, immElem, immData:
		in.A = r.u32()
	case immBrTable:
		n := r.count("labels")
		w.labels = w.labels[:0]
		for range n + 1 {
			w.labels = append(w.labels, r.u32())
		}
		in.Labels = w.labels
	case immIndirect, immElemTable, immTableTable:
		in.A, in.B = r.u32(), r.u32()
	case immTypes:
		for range r.count("types") {
			r.valType()
		}
	case immMemArg:
		w.memArg()
	case immZero:
		w.zero()
	case immZeroZero:
		w.zero()
		w.zero()
	case immDataZero:
		in.A = r.u32()
		w.zero()
	case immI32:
		r.signed(32)
	case immI64:
		r.signed(64)
	case immF32:
		r.bytes(4)
	case immF64:
		r.bytes(8)
	case immV128:
		r.bytes(16)
	case immRefType:
		at := r.at
		if t := r.valType(); r.err == nil && !t.isRef() {
			r.fail(at, "%s is no reference type", t)
		}
	case immLane:
		r.u8()
	case immMemArgLane:
		w.memArg()
		r.u8()
	}
}

func (w *Walker) memArg() {
	at := w.r.at
	if align := w.r.u32(); align > 4 {
		w.r.fail(at, "alignment 2^%d", align)
	}
	w.r.u32()
}

func (w *Walker) zero() {
	at := w.r.at
	if w.r.u8() != 0 {
		w.r.fail(at, "more than one memory isn't WebAssembly 2.0")
	}
}

func (w *Walker) blockType() BlockType {
	at := w.r.at
	n := w.r.signed(33)
	if n >= 0 {
		return BlockType(n)
	}
	if t := BlockType(n); t == NoValue {
		return t
	}
	if t := ValType(n + 0x80); n < -0x40 || !t.isNum() && !t.isRef() {
		w.r.fail(at, "impossible block type")
	}
	return BlockType(n)
}
