package tag

import "math/bits"

// fewBits is chosen so that 8 codes have places of their own for two multipliers in three.
const fewBits = 6

// fewTable holds up to fewMax codes, each in the place that its product with factor names. Places without a code hold one
// that belongs elsewhere, so that a code found in its place is always a match.
type fewTable struct {
	factor uint32
	codes  [1 << fewBits]uint32
}

func (t *fewTable) place(code uint32) uint32 { return code * t.factor >> (32 - fewBits) }

// newFewTable makes the table of 2 to fewMax distinct codes. It tries factors until no two codes share a place; each try
// succeeds with a chance of 64% or more.
func newFewTable(list []int32) *fewTable {
	t := &fewTable{factor: 0x9E3779B1}
	for !t.fill(list) {
		t.factor += 0x3C6EF372 // even, so the factor stays odd; it comes back after 2^31 steps
	}
	return t
}

func (t *fewTable) fill(list []int32) bool {
	var used [1 << fewBits]bool
	for _, c := range list {
		p := t.place(uint32(c))
		if used[p] {
			return false
		}
		used[p] = true
		t.codes[p] = uint32(c)
	}
	first, second := uint32(list[0]), uint32(list[1])
	for p := range t.codes {
		if used[p] {
			continue
		}
		t.codes[p] = first
		if t.place(first) == uint32(p) {
			t.codes[p] = second
		}
	}
	return true
}

func (t *fewTable) has(code uint32) uint64 { return bit(t.codes[t.place(code)] == code) }

// word judges 64 codes.
func (t *fewTable) word(c *[64]int64) (word uint64, addresses bool) {
	var sum int64
	for i := 0; i < 64; i += 4 {
		c0, c1, c2, c3 := c[i], c[i+1], c[i+2], c[i+3]
		sum |= (c0 + aboveAddress) | (c1 + aboveAddress) | (c2 + aboveAddress) | (c3 + aboveAddress)
		b := t.has(uint32(c0)) | t.has(uint32(c1))<<1 | t.has(uint32(c2))<<2 | t.has(uint32(c3))<<3
		word |= b << (i & 63)
	}
	return word, sum < 0
}

// manyTable holds any number of codes in at least four times as many places. A code that finds its place taken has
// the next free one.
type manyTable struct {
	shift  uint8
	mask   uint32
	places []int64 // the code, or free
}

// free is no code: those have 32 bits.
const free = 1 << 62

func newManyTable(list []int32) *manyTable {
	n := bits.Len(uint(4*len(list) - 1))
	t := &manyTable{shift: uint8(32 - n), mask: 1<<n - 1, places: make([]int64, 1<<n)}
	for i := range t.places {
		t.places[i] = free
	}
	for _, c := range list {
		p := t.place(uint32(c))
		for t.places[p] != free {
			p = (p + 1) & t.mask
		}
		t.places[p] = int64(uint32(c))
	}
	return t
}

func (t *manyTable) place(code uint32) uint32 { return code * 0x9E3779B1 >> t.shift }

func (t *manyTable) has(code uint32) uint64 {
	for p := t.place(code); ; p = (p + 1) & t.mask {
		switch t.places[p] {
		case int64(code):
			return 1
		case free:
			return 0
		}
	}
}

// word judges 64 codes.
func (t *manyTable) word(c *[64]int64) (word uint64, addresses bool) {
	var sum int64
	for i, code := range c {
		sum |= code + aboveAddress
		word |= t.has(uint32(code)) << i
	}
	return word, sum < 0
}
