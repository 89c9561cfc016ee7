package wasmtest

import (
	"math/rand/v2"

	"github.com/weirmq/weir/plugins/internal/wasmbin"
	"github.com/weirmq/weir/plugins/internal/wasmgen"
)

// Generated makes a random filter. It is valid, has no state, and says of each message what its export
// judge, (i64) → i64, says of the property a: true if the result is odd.
func Generated(seed uint64) []byte {
	m := wasmgen.Forgetful(seed)
	m.Exports = m.Exports[1:] // run
	m.Memories = []wasmbin.Limits{{Min: 4}}
	i64 := []wasmbin.ValType{wasmbin.I64}
	judge := uint32(m.FuncCount())
	m.Functions = append(m.Functions, m.TypeIndex(wasmbin.FuncType{Params: i64, Results: i64}))
	m.Exports = append(m.Exports, wasmbin.Export{Name: "judge", Kind: wasmbin.ExternFunc, Index: judge})
	var c wasmbin.Code
	Args(&c, 0, 0, pageSize) // forget
	c.Op(wasmbin.MemoryFill)
	c.Index(0)
	Args(&c, 470) // of 500 entries
	c.GlobalSet(0)
	Args(&c, 3)
	c.LocalGet(0)
	c.Call(0)
	c.End()
	m.Bodies = append(m.Bodies, wasmbin.Body{Code: c.Bytes()})
	g := NewGuest().pure().Filtering(EachMessage(func(c *wasmbin.Code) {
		c.LocalGet(7)
		c.Call(judge)
		c.Op(wasmbin.I32WrapI64)
	}))
	whole := g.module()
	for i, x := range exports() {
		if !x.must {
			continue
		}
		e, _ := whole.Export(x.name)
		m.Exports = append(m.Exports, wasmbin.Export{Name: exports()[i].name, Kind: wasmbin.ExternFunc, Index: uint32(m.FuncCount())})
		m.Functions = append(m.Functions, m.TypeIndex(x.t))
		m.Bodies = append(m.Bodies, whole.Bodies[e.Index])
	}
	m.Customs = whole.Customs
	return m.Encode()
}

// Mutated is Generated with some bytes changed, taken out or put in. It may be valid, and may do anything.
func Mutated(seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 13))
	bin := Generated(seed)
	for range 1 + r.IntN(4) {
		at := r.IntN(len(bin))
		switch r.IntN(5) {
		case 0, 1:
			bin[at] ^= 1 << r.IntN(8)
		case 2:
			bin[at] = byte(r.IntN(256))
		case 3:
			bin = append(bin[:at:at], bin[at+1:]...)
		case 4:
			bin = append(bin[:at:at], append([]byte{byte(r.IntN(256))}, bin[at:]...)...)
		}
	}
	return bin
}
