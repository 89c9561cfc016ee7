package tag

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
)

// randomCodes returns n distinct codes.
func randomCodes(r *rand.Rand, n int) []int32 {
	var list []int32
	for len(list) < n {
		c := int32(r.Uint32())
		if r.IntN(2) == 0 {
			c = int32(r.IntN(100)) // dense ones collide in other ways
		}
		if !slices.Contains(list, c) {
			list = append(list, c)
		}
	}
	return list
}

// TestFilterAgreesWithASlowOne compares every shape of set, at lengths around word boundaries, with a plain search.
// Bits that were clear before stay clear, and bits behind the end stay as they were.
func TestFilterAgreesWithASlowOne(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, 3, 5, 8, 9, 20, 100} {
		for _, length := range []int{0, 1, 63, 64, 65, 127, 200, 1024} {
			for _, addresses := range []bool{false, true} {
				list := randomCodes(r, n)
				s := newSet(false, list)
				codes, keep := randomEntries(r, list, length, addresses)
				before := slices.Clone(keep)
				final := s.filter(codes, keep)
				wantFinal := true
				for i, c := range codes {
					want := filter.HasBit(before, i)
					if c <= message.MaxExtAddress {
						want = want && n > 0
						wantFinal = wantFinal && !want
					} else {
						want = want && slices.Contains(list, int32(c))
					}
					if got := filter.HasBit(keep, i); got != want {
						t.Fatalf("%d codes, entry %d of %d (code %d): got %v", n, i, length, c, got)
					}
					if c > message.MaxExtAddress && s.has(c) != slices.Contains(list, int32(c)) {
						t.Fatalf("has(%d) = %v", c, s.has(c))
					}
				}
				for i := length; i < 64*len(keep); i++ {
					if filter.HasBit(keep, i) != filter.HasBit(before, i) {
						t.Fatalf("bit %d behind the end has changed", i)
					}
				}
				if final != wantFinal {
					t.Fatalf("%d codes, %d entries, addresses %v: final = %v", n, length, addresses, final)
				}
			}
		}
	}
}

// randomEntries returns tags codes, a third of them from list, and random bits to keep.
func randomEntries(r *rand.Rand, list []int32, length int, addresses bool) ([]int64, []uint64) {
	codes := make([]int64, length)
	for i := range codes {
		codes[i] = int64(int32(r.Uint32()))
		switch {
		case len(list) > 0 && r.IntN(3) == 0:
			codes[i] = int64(list[r.IntN(len(list))])
		case r.IntN(10) == 0:
			codes[i] = r.Int64() // only its low half counts
		case addresses && r.IntN(100) == 0:
			codes[i] = message.MaxExtAddress - r.Int64N(1<<40)
		}
	}
	keep := make([]uint64, length/64+1)
	for i := range keep {
		keep[i] = r.Uint64() | r.Uint64()
		if r.IntN(8) == 0 {
			keep[i] = 0
		}
	}
	return codes, keep
}

func TestFewTableFindsPlaces(t *testing.T) {
	for _, list := range [][]int32{{0, 1}, {-1, 1 << 30, -1 << 31}, {0, -1 << 31}, {1, 2, 4, 8, 16, 32, 64, 128},
		{0, 1 << 26, 2 << 26, 3 << 26, 4 << 26, 5 << 26, 6 << 26, 7 << 26}} {
		table := newFewTable(list)
		for _, c := range list {
			if table.has(uint32(c)) != 1 || table.has(uint32(c)^1<<20) == 1 && !slices.Contains(list, c^1<<20) {
				t.Errorf("%v: %d", list, c)
			}
		}
	}
}

func TestFilterDoesNotAllocate(t *testing.T) {
	s := newSet(false, []int32{1})
	codes, keep := make([]int64, 1000), make([]uint64, 16)
	if n := testing.AllocsPerRun(100, func() { s.filter(codes, keep) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkMatchIndex judges batches of 1024 entries, a tenth of which match, and reports entries a second.
func BenchmarkMatchIndex(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 8, 9, 100, 1000} {
		b.Run(fmt.Sprintf("codes=%d", n), func(b *testing.B) {
			list := randomCodes(r, n)
			s := newSet(false, list)
			codes := make([]int64, filter.BatchMax)
			for i := range codes {
				codes[i] = int64(int32(r.Uint32()))
				if r.IntN(10) == 0 {
					codes[i] = int64(list[r.IntN(n)])
				}
			}
			keep := make([]uint64, filter.BatchMax/64)
			for b.Loop() {
				for i := range keep {
					keep[i] = ^uint64(0)
				}
				s.filter(codes, keep)
			}
			b.ReportMetric(float64(b.N)*filter.BatchMax/b.Elapsed().Seconds()/1e6, "Mentries/s")
		})
	}
}
