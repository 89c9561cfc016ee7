package wasmbin

// AppendU32 appends an unsigned LEB128 number.
func AppendU32(dst []byte, n uint32) []byte {
	for n >= 0x80 {
		dst = append(dst, byte(n)|0x80)
		n >>= 7
	}
	return append(dst, byte(n))
}

// AppendS64 appends a signed LEB128 number.
func AppendS64(dst []byte, n int64) []byte {
	for {
		c := byte(n & 0x7f)
		n >>= 7
		if n == 0 && c&0x40 == 0 || n == -1 && c&0x40 != 0 {
			return append(dst, c)
		}
		dst = append(dst, c|0x80)
	}
}

func appendName(dst []byte, s string) []byte {
	return append(AppendU32(dst, uint32(len(s))), s...)
}

func appendTypes(dst []byte, types []ValType) []byte {
	dst = AppendU32(dst, uint32(len(types)))
	for _, t := range types {
		dst = append(dst, byte(t))
	}
	return dst
}

func appendLimits(dst []byte, l Limits) []byte {
	if !l.HasMax {
		return AppendU32(append(dst, 0), l.Min)
	}
	return AppendU32(AppendU32(append(dst, 1), l.Min), l.Max)
}

func appendGlobalType(dst []byte, g GlobalType) []byte {
	dst = append(dst, byte(g.Type), 0)
	if g.Mutable {
		dst[len(dst)-1] = 1
	}
	return dst
}

// AppendCustom appends a custom section to an encoded module. Packers use it: no toolchain is needed.
func AppendCustom(module []byte, name string, data []byte) []byte {
	return appendSection(module, secCustom, append(appendName(nil, name), data...))
}

func appendSection(dst []byte, id byte, content []byte) []byte {
	dst = AppendU32(append(dst, id), uint32(len(content)))
	return append(dst, content...)
}

// encoder writes sections; scratch holds the one that is being written.
type encoder struct {
	out, scratch []byte
}

// section writes a vector of n items, unless it is empty.
func (e *encoder) section(id byte, n int, item func(dst []byte, i int) []byte) {
	if n == 0 {
		return
	}
	e.scratch = AppendU32(e.scratch[:0], uint32(n))
	for i := range n {
		e.scratch = item(e.scratch, i)
	}
	e.out = appendSection(e.out, id, e.scratch)
}

// Encode returns m in its binary form, custom sections last.
func (m *Module) Encode() []byte {
	e := encoder{out: []byte(header)}
	e.section(secType, len(m.Types), func(dst []byte, i int) []byte {
		return appendTypes(appendTypes(append(dst, 0x60), m.Types[i].Params), m.Types[i].Results)
	})
	e.section(secImport, len(m.Imports), func(dst []byte, i int) []byte { return appendImport(dst, &m.Imports[i]) })
	e.section(secFunction, len(m.Functions), func(dst []byte, i int) []byte { return AppendU32(dst, m.Functions[i]) })
	e.section(secTable, len(m.Tables), func(dst []byte, i int) []byte {
		return appendLimits(append(dst, byte(m.Tables[i].Elem)), m.Tables[i].Limits)
	})
	e.section(secMemory, len(m.Memories), func(dst []byte, i int) []byte { return appendLimits(dst, m.Memories[i]) })
	e.section(secGlobal, len(m.Globals), func(dst []byte, i int) []byte {
		return append(appendGlobalType(dst, m.Globals[i].GlobalType), m.Globals[i].Init...)
	})
	e.section(secExport, len(m.Exports), func(dst []byte, i int) []byte {
		x := &m.Exports[i]
		return AppendU32(append(appendName(dst, x.Name), byte(x.Kind)), x.Index)
	})
	if m.Start != nil {
		e.out = appendSection(e.out, secStart, AppendU32(nil, *m.Start))
	}
	e.section(secElement, len(m.Elements), func(dst []byte, i int) []byte { return append(dst, m.Elements[i].Raw...) })
	if m.DataCount {
		e.out = appendSection(e.out, secDataCount, AppendU32(nil, uint32(len(m.Data))))
	}
	e.section(secCode, len(m.Bodies), func(dst []byte, i int) []byte { return appendBody(dst, &m.Bodies[i]) })
	e.section(secData, len(m.Data), func(dst []byte, i int) []byte { return append(dst, m.Data[i].Raw...) })
	for _, c := range m.Customs {
		e.out = AppendCustom(e.out, c.Name, c.Data)
	}
	return e.out
}

func appendImport(dst []byte, i *Import) []byte {
	dst = append(appendName(appendName(dst, i.Module), i.Name), byte(i.Kind))
	switch i.Kind {
	case ExternFunc:
		return AppendU32(dst, i.Type)
	case ExternTable:
		return appendLimits(append(dst, byte(i.Table.Elem)), i.Table.Limits)
	case ExternMemory:
		return appendLimits(dst, i.Memory)
	default:
		return appendGlobalType(dst, i.Global)
	}
}

func appendBody(dst []byte, b *Body) []byte {
	size := sizeU32(uint32(len(b.Locals))) + len(b.Code)
	for _, l := range b.Locals {
		size += sizeU32(l.Count) + 1
	}
	dst = AppendU32(AppendU32(dst, uint32(size)), uint32(len(b.Locals)))
	for _, l := range b.Locals {
		dst = append(AppendU32(dst, l.Count), byte(l.Type))
	}
	return append(dst, b.Code...)
}

func sizeU32(n uint32) (size int) {
	for size = 1; n >= 0x80; n >>= 7 {
		size++
	}
	return size
}
