package filter

import (
	"encoding/binary"
	"math/bits"
)

// TextSet answers whether a text is one of a few. It is immutable.
//
// A text of up to 16 bytes is told from all others by its length and its first and last eight bytes, so that most look-ups
// are one multiplication and three comparisons. Longer ones are compared in full.
type TextSet struct {
	shift   uint8
	mask    uint32
	lengths uint64 // bit min(length, 63) of each member
	places  []member
}

type member struct {
	head, tail uint64
	size       int // 0: a free place
	text       string
}

// NewTextSet makes a set. An empty text is in none.
func NewTextSet(texts ...string) *TextSet {
	n := bits.Len(uint(4 * max(1, len(texts))))
	s := &TextSet{shift: uint8(64 - n), mask: 1<<n - 1, places: make([]member, 1<<n)}
	for _, t := range texts {
		if t == "" || s.Has([]byte(t)) {
			continue
		}
		m := member{size: len(t), text: t}
		m.head, m.tail = ends([]byte(t))
		p := s.place(m.head, m.tail, m.size)
		for s.places[p].size != 0 {
			p = (p + 1) & s.mask
		}
		s.places[p] = m
		s.lengths |= 1 << min(m.size, 63)
	}
	return s
}

func (s *TextSet) place(head, tail uint64, size int) uint32 {
	return uint32((head ^ bits.RotateLeft64(tail, 29) ^ uint64(size)) * 0x9E3779B97F4A7C15 >> s.shift)
}

// Has says whether text is a member.
func (s *TextSet) Has(text []byte) bool {
	if s.lengths>>min(len(text), 63)&1 == 0 {
		return false
	}
	head, tail := ends(text)
	for p := s.place(head, tail, len(text)); ; p = (p + 1) & s.mask {
		m := &s.places[p]
		if m.size == 0 {
			return false
		}
		if m.head == head && m.tail == tail && m.size == len(text) && (len(text) <= 16 || m.text == string(text)) {
			return true
		}
	}
}

// ends returns numbers that, together with its length, tell a text of up to 16 bytes from all others.
func ends(b []byte) (head, tail uint64) {
	switch n := len(b); {
	case n >= 8:
		return binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[n-8:])
	case n >= 4:
		return uint64(binary.LittleEndian.Uint32(b)), uint64(binary.LittleEndian.Uint32(b[n-4:]))
	case n > 0:
		return uint64(b[0]) | uint64(b[n/2])<<8 | uint64(b[n-1])<<16, 0
	}
	return 0, 0
}
