package verdict

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
)

// Verdicts come in runs of any size, in order or with gaps, some of them open. Whatever a cover tells is what was put, and
// it tells of all words that were put whole, and of the newest entries that were put in order.
func TestCoverTellsWhatWasPut(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		x := &fakeIndex{high: 4 * BlockEntries}
		c := openCovers(t, vfs.NewMem(nil), x).Cover(testQueue, testKey)
		base := message.Offset(r.IntN(2)) * (BlockEntries - 500)
		const n = 1500
		accepted, put, sure := make([]bool, n), make([]bool, n), make([]bool, n)
		for i := range accepted {
			accepted[i] = r.IntN(5) == 0
		}
		at := r.IntN(100)
		for at < n {
			k := min(1+r.IntN(150), n-at)
			yes, open := make([]uint64, (k+63)/64), make([]uint64, (k+63)/64)
			hasOpen := r.IntN(6) == 0
			for i := range k {
				put[at+i] = true
				if accepted[at+i] {
					filter.SetBit(yes, i)
				}
				if hasOpen && r.IntN(40) == 0 {
					filter.SetBit(open, i)
					put[at+i] = false
				}
			}
			from := base + message.Offset(at)
			c.Put(from, k, yes, open, run{x, from})
			for i := 0; i < k; {
				size := min(64-int((from+message.Offset(i))&63), k-i)
				if size == 64 && extract(open, i, 64) == 0 {
					for j := range 64 {
						sure[at+i+j] = true
					}
				}
				i += size
			}
			at += k
			if r.IntN(4) == 0 {
				at += r.IntN(100) // a gap
			}
		}
		var u Cursor
		u.Begin(c)
		keep := make([]uint64, (n+63)/64)
		for from := 0; from < n; from++ {
			m := u.Load(base+message.Offset(from), n-from, keep)
			if m == 0 && sure[from] {
				t.Fatalf("seed %d: entry %d was put in a whole word and isn't decided", seed, from)
			}
			for i := range m {
				if !put[from+i] {
					t.Fatalf("seed %d: entry %d is decided and was never put", seed, from+i)
				}
				if filter.HasBit(keep, i) != accepted[from+i] {
					t.Fatalf("seed %d: loaded from %d: entry %d is %v", seed, from, from+i, !accepted[from+i])
				}
			}
			found, what := u.Find(base+message.Offset(from), base+n, 10)
			i := int(found - base)
			for j := from; j < i; j++ {
				if !put[j] || accepted[j] {
					t.Fatalf("seed %d: found %d from %d, past %d", seed, i, from, j)
				}
			}
			if what == Match && (!put[i] || !accepted[i]) || what == Undecided && (sure[i] || m > 0 && i < from+m) || what == Nothing && i != n {
				t.Fatalf("seed %d: from %d found %d: %v", seed, from, i, what)
			}
		}
	}
}

// The tail of a queue is known although its word isn't whole, and becomes a word when it is.
func TestTail(t *testing.T) {
	x := &fakeIndex{high: 1000}
	c := openCovers(t, vfs.NewMem(nil), x).Cover(testQueue, testKey)
	even := multiplesOf(2)
	for o := range message.Offset(70) {
		put(c, x, o, 1, even)
		if got, end := matches(c, 0, 1000); end != o+1 || len(got) != int(o+2)/2 {
			t.Fatalf("after %d: %d matches up to %d", o, len(got), end)
		}
	}
	put(c, x, 72, 8, even) // 70 and 71 are missing
	if _, end := matches(c, 0, 1000); end != 64 {
		t.Fatalf("decided up to %d, want 64: the tail begins at 72", end)
	}
	if got, end := matches(c, 72, 1000); end != 80 || !slices.Equal(got, []message.Offset{72, 74, 76, 78}) {
		t.Fatalf("%v up to %d", got, end)
	}
	put(c, x, 80, 48, even)
	if got, end := matches(c, 127, 1000); end != 128 || len(got) != 0 {
		t.Fatalf("%v up to %d", got, end)
	}
	if _, end := matches(c, 64, 1000); end != 64 {
		t.Fatal("a word whose first entries were never judged is decided")
	}
	put(c, x, 64, 64, even)
	if _, end := matches(c, 0, 1000); end != 128 {
		t.Fatalf("decided up to %d", end)
	}
}

// A queue that begins anew without anybody telling ends the cover: at the next walk, and at the next verdict.
func TestQueueBeginsAnew(t *testing.T) {
	for _, how := range []string{"walk", "put", "put the same word"} {
		t.Run(how, func(t *testing.T) {
			fs := vfs.NewMem(nil)
			x := &fakeIndex{high: 1000}
			cs := openCovers(t, fs, x)
			c := cs.Cover(testQueue, testKey)
			put(c, x, 0, 640, multiplesOf(1))
			cs.Maintain()
			x.set(func() { x.start, x.high = 1_000_000, 700 })
			switch how {
			case "walk":
				if got, end := matches(c, 0, 700); len(got) != 0 || end != 0 {
					t.Errorf("%d matches up to %d", len(got), end)
				}
			case "put":
				put(c, x, 0, 64, multiplesOf(1))
			case "put the same word":
				put(c, x, 576, 64, multiplesOf(1))
			}
			if c.Alive() {
				t.Error("the cover is alive")
			}
			if list := files(t, fs, "/store/weir/verdicts"); len(list) != 0 {
				t.Errorf("files are left: %v", list)
			}
			c = cs.Cover(testQueue, testKey)
			put(c, x, 0, 128, multiplesOf(64))
			if got, end := matches(c, 0, 700); !slices.Equal(got, []message.Offset{0, 64}) || end != 128 {
				t.Errorf("afterwards: %v up to %d", got, end)
			}
		})
	}
}

// Many goroutines put, walk, save, evict, forget and expire. The race detector watches, and nobody is told anything wrong.
func TestCoverHammer(t *testing.T) {
	x := &fakeIndex{high: 3 * BlockEntries}
	cs := openCovers(t, vfs.NewMem(nil), x, func(s *Settings) { s.CacheSize = 3 * blockMemory })
	keys := []filter.Key{{1}, {2}, {3}}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 3))
			for range 2000 {
				k := r.IntN(len(keys))
				c := cs.Cover(testQueue, keys[k])
				if c == nil {
					continue // being forgotten
				}
				from := message.Offset(r.Int64N(3*BlockEntries - 700))
				if g < 2 {
					put(c, x, from, 1+r.IntN(600), multiplesOf(message.Offset(k+2)))
					continue
				}
				got, end := matches(c, from, from+600)
				for _, o := range got {
					if o%message.Offset(k+2) != 0 {
						t.Errorf("program %d is said to accept %d", k, o)
						return
					}
				}
				if c.Alive() && end > from && len(got) < int(end-from)/(k+2) {
					t.Errorf("program %d: %d matches in [%d, %d)", k, len(got), from, end)
					return
				}
			}
		})
	}
	wg.Go(func() {
		for i := range 60 {
			cs.Maintain()
			if i%10 == 9 {
				if err := cs.Forget("T"); err != nil {
					t.Error(err)
				}
				cs.Allow("T")
			}
		}
	})
	wg.Wait()
	cs.Close()
	if n := cs.Stats().Blocks; n > 3 {
		t.Errorf("%d blocks in memory, 3 are allowed", n)
	}
}
