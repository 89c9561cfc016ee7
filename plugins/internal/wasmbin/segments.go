package wasmbin

// elements reads the element section. A segment is one of eight forms, told by a flag: bit 0 passive or declared, bit 1
// with a table index (or declared), bit 2 with expressions in place of function indices.
func (p *parser) elements() {
	n := p.count("element segments")
	p.most(n, p.bounds.Segments, "element segments")
	total := 0
	for range n {
		start := p.at
		size := p.element()
		if p.err != nil {
			return
		}
		total += size
		p.m.Elements = append(p.m.Elements, Segment{Raw: p.b[start:p.at:p.at], Size: size})
	}
	p.most(total, p.bounds.TableEntries, "table entries")
}

func (p *parser) element() (size int) {
	at := p.at
	flag := p.u32()
	if flag > 7 {
		p.fail(at, "element segment of kind %d isn't WebAssembly 2.0", flag)
		return 0
	}
	if flag&1 == 0 { // active
		if flag&2 != 0 {
			p.index(p.tables(), "table")
		}
		p.constant()
	}
	switch {
	case flag&3 == 0: // functions for table 0, nothing to say
	case flag&4 == 0:
		at = p.at
		if kind := p.u8(); p.err == nil && kind != 0 {
			p.fail(at, "element kind %d isn't WebAssembly 2.0", kind)
		}
	default:
		p.valType()
	}
	size = p.count("elements")
	for range size {
		if flag&4 != 0 {
			p.constant()
		} else {
			at = p.at
			p.refer(at, p.u32())
		}
		if p.err != nil {
			return 0
		}
	}
	return size
}

func (p *parser) tables() int { return p.m.ImportedCount(ExternTable) + len(p.m.Tables) }

// data reads the data section: active for memory 0, passive, or active with the memory's index.
func (p *parser) data() {
	n := p.count("data segments")
	p.most(n, p.bounds.Segments, "data segments")
	total := 0
	for range n {
		start := p.at
		switch flag := p.u32(); flag {
		case 0:
			p.constant()
		case 1:
		case 2:
			p.index(p.m.ImportedCount(ExternMemory)+len(p.m.Memories), "memory")
			p.constant()
		default:
			p.fail(start, "data segment of kind %d isn't WebAssembly 2.0", flag)
		}
		size := p.count("bytes of data")
		p.bytes(size)
		if p.err != nil {
			return
		}
		total += size
		p.m.Data = append(p.m.Data, Segment{Raw: p.b[start:p.at:p.at], Size: size})
	}
	p.most(total, p.bounds.DataBytes, "bytes of data")
}

// ActiveElements is a segment that writes functions into table 0 from entry at on when the module is instantiated.
func ActiveElements(at int32, functions ...uint32) Segment {
	var c Code
	c.I32Const(at)
	c.End()
	raw := append([]byte{0}, c.bytes...)
	raw = AppendU32(raw, uint32(len(functions)))
	for _, f := range functions {
		raw = AppendU32(raw, f)
	}
	return Segment{Raw: raw, Size: len(functions)}
}

// ActiveData is a segment that writes data into the memory from address at on when the module is instantiated.
func ActiveData(at int32, data []byte) Segment {
	var c Code
	c.I32Const(at)
	c.End()
	raw := append([]byte{0}, c.bytes...)
	raw = AppendU32(raw, uint32(len(data)))
	return Segment{Raw: append(raw, data...), Size: len(data)}
}

// PassiveData is a segment for memory.init.
func PassiveData(data []byte) Segment {
	return Segment{Raw: append(AppendU32([]byte{1}, uint32(len(data))), data...), Size: len(data)}
}
