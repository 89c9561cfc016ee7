package queue

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// bloomShape is the size of RocketMQ's Bloom bitmap of the filters that accept a message: one for the whole broker. Java
// writes the positions of each filter's bits to consumerFilter.json, and refuses the whole file when one doesn't fit.
type bloomShape struct {
	bits   int // of the bitmap: m
	probes int // bits of each filter: k
}

// newBloomShape works the size out as Java does, from an error rate in percent and the number of filters expected.
func newBloomShape(errorRate, filters int) bloomShape {
	log := func(base, n float64) float64 { return math.Log(n) / math.Log(base) }
	rate := float64(errorRate) / 100
	k := int(math.Ceil(log(0.5, rate)))
	m := int(math.Ceil(float64(filters) * log(2, 1/rate) * log(2, math.E)))
	return bloomShape{bits: (m + 7) / 8 * 8, probes: k}
}

// defaultBloom is what a Java broker has that doesn't configure it: 20 % and 32 filters.
var defaultBloom = newBloomShape(20, 32)

// positions returns the bits of a group's filter of a topic.
func (b bloomShape) positions(group, topic string) []int32 {
	h := murmur3([]byte(group + "#" + topic))
	h1, h2 := int32(h), int32(h>>32)
	list := make([]int32, b.probes)
	for i := range list {
		c := h1 + int32(i+1)*h2
		if c < 0 {
			c = ^c
		}
		list[i] = c % int32(b.bits)
	}
	return list
}

// murmur3 returns the first 64 bits of MurmurHash3_x64_128 with seed 0.
func murmur3(data []byte) uint64 {
	const c1, c2 = 0x87c37b91114253d5, 0x4cf5ad432745937f
	var h1, h2 uint64
	n := uint64(len(data))
	mix1 := func(k uint64) uint64 { return bits.RotateLeft64(k*c1, 31) * c2 }
	mix2 := func(k uint64) uint64 { return bits.RotateLeft64(k*c2, 33) * c1 }
	for ; len(data) >= 16; data = data[16:] {
		h1 ^= mix1(binary.LittleEndian.Uint64(data))
		h1 = (bits.RotateLeft64(h1, 27)+h2)*5 + 0x52dce729
		h2 ^= mix2(binary.LittleEndian.Uint64(data[8:]))
		h2 = (bits.RotateLeft64(h2, 31)+h1)*5 + 0x38495ab5
	}
	var tail [16]byte
	copy(tail[:], data)
	h2 ^= mix2(binary.LittleEndian.Uint64(tail[8:]))
	h1 ^= mix1(binary.LittleEndian.Uint64(tail[:]))
	h1 ^= n
	h2 ^= n
	h1 += h2
	h2 += h1
	h1 = murmurFinal(h1)
	h2 = murmurFinal(h2)
	return h1 + h2
}

func murmurFinal(k uint64) uint64 {
	k ^= k >> 33
	k *= 0xff51afd7ed558ccd
	k ^= k >> 33
	k *= 0xc4ceb9fe1a85ec53
	return k ^ k>>33
}
