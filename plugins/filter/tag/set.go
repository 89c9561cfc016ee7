package tag

import "github.com/weirmq/weir/core/message"

// set decides which tags codes match. Only the low 32 bits of a code count, as in RocketMQ.
//
// It has a shape for each size. One code is compared with. Up to fewMax codes lie in a table in which each has a place
// of its own, found by multiplying, so that every look-up is one multiplication and one comparison without a branch.
// More lie in a sparse table with linear probing. A Go map, at 10 to 20 ns a look-up, was too slow for any of them.
type set struct {
	all   bool
	count int
	one   int32      // the code, when count is 1
	few   *fewTable  // when count is 2 to fewMax
	many  *manyTable // when count is more
}

const fewMax = 8

func newSet(all bool, codes []int32) set {
	s := set{all: all, count: len(codes)}
	switch {
	case len(codes) == 1:
		s.one = codes[0]
	case len(codes) > fewMax:
		s.many = newManyTable(codes)
	case len(codes) > 1:
		s.few = newFewTable(codes)
	}
	return s
}

// has says whether one code, which must not be an address, matches.
func (s *set) has(code int64) bool {
	switch {
	case s.all:
		return true
	case s.count == 0:
		return false
	case s.count == 1:
		return int32(code) == s.one
	case s.few != nil:
		return s.few.has(uint32(code)) != 0
	default:
		return s.many.has(uint32(code)) != 0
	}
}

// filter clears in keep the bits of the entries that can't match and says whether the others do for certain.
func (s *set) filter(codes []int64, keep []uint64) (final bool) {
	if s.all {
		return true
	}
	final = true
	for len(codes) > 0 {
		n := min(64, len(codes))
		if keep[0] != 0 {
			final = s.filterWord(codes[:n], &keep[0]) && final
		}
		codes, keep = codes[n:], keep[1:]
	}
	return final
}

// filterWord does up to 64 codes. Bits of keep behind them stay as they are.
func (s *set) filterWord(codes []int64, keep *uint64) (final bool) {
	block := codes
	if len(codes) < 64 {
		block = make([]int64, 64) // on the stack
		copy(block, codes)
	}
	word, addresses := s.word((*[64]int64)(block))
	at := uint64(0)
	if addresses {
		at = addressBits(codes)
	}
	*keep &= word | at | ^uint64(0)<<len(codes)
	return *keep&at == 0
}

// word judges 64 codes by their low 32 bits, and says whether addresses are among them.
func (s *set) word(c *[64]int64) (word uint64, addresses bool) {
	switch {
	case s.count == 1:
		return wordOne(c, s.one)
	case s.few != nil:
		return s.few.word(c)
	case s.many != nil:
		return s.many.word(c)
	}
	return 0, false // nothing matches, whatever its tag is
}

// Adding aboveAddress to a code gives a negative number exactly if the code is an address. So the sign of all sums or'ed
// together tells, at the cost of two instructions an entry, whether any is.
const aboveAddress = -(message.MaxExtAddress + 1)

// addressBits returns a bit for each code that is an address.
func addressBits(codes []int64) (bits uint64) {
	for i, c := range codes {
		bits |= bit(c <= message.MaxExtAddress) << i
	}
	return bits
}

// bit is compiled to one instruction without a branch.
func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// wordOne compares 64 codes with one.
func wordOne(c *[64]int64, one int32) (word uint64, addresses bool) {
	var sum int64
	for i := 0; i < 64; i += 8 {
		c0, c1, c2, c3 := c[i], c[i+1], c[i+2], c[i+3]
		c4, c5, c6, c7 := c[i+4], c[i+5], c[i+6], c[i+7]
		sum |= (c0 + aboveAddress) | (c1 + aboveAddress) | (c2 + aboveAddress) | (c3 + aboveAddress) |
			(c4 + aboveAddress) | (c5 + aboveAddress) | (c6 + aboveAddress) | (c7 + aboveAddress)
		b := bit(int32(c0) == one) | bit(int32(c1) == one)<<1 | bit(int32(c2) == one)<<2 | bit(int32(c3) == one)<<3 |
			bit(int32(c4) == one)<<4 | bit(int32(c5) == one)<<5 | bit(int32(c6) == one)<<6 | bit(int32(c7) == one)<<7
		word |= b << (i & 63)
	}
	return word, sum < 0
}
