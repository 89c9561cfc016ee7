package vfs_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/weirmq/weir/core/internal/vfs"
)

// nothing is the crash that loses all that may be lost, everything the one that loses nothing.
var (
	nothing    = vfs.Crash{}
	everything = vfs.Crash{KeepWrite: 1, KeepName: 1}
)

// TestCrashKeepsWhatWasSynced walks through what each step of writing a file promises.
func TestCrashKeepsWhatWasSynced(t *testing.T) {
	m := vfs.NewMem(nil)
	expect := func(step, hard, soft string) {
		t.Helper()
		for name, c := range map[string]struct{ got, want string }{
			"losing all":  {m.CrashClone(nothing).String(), hard},
			"losing none": {m.CrashClone(everything).String(), soft},
			"killed":      {m.KillClone().String(), soft},
			"both":        {m.KillClone().CrashClone(nothing).String(), hard},
		} {
			if c.got != c.want {
				t.Fatalf("%s, %s:\n%swant:\n%s", step, name, c.got, c.want)
			}
		}
	}
	must(t, m.MkdirAll("/d"))
	expect("mkdir", "/\n", "/\n/d\n")
	must(t, m.SyncDir("/"))
	f, err := m.Open("/d/f", vfs.Create)
	must(t, err)
	must(t, f.Truncate(7))
	expect("create", "/\n/d\n", "/\n/d\n/d/f 7\n")
	must(t, m.SyncDir("/d"))
	expect("sync directory", "/\n/d\n/d/f 0\n", "/\n/d\n/d/f 7\n")
	must(t, f.Datasync())
	expect("sync size", "/\n/d\n/d/f 7\n", "/\n/d\n/d/f 7\n")
	must(t, m.Rename("/d/f", "/d/g"))
	expect("rename", "/\n/d\n/d/f 7\n", "/\n/d\n/d/g 7\n")
	must(t, m.SyncDir("/d"))
	must(t, m.Remove("/d/g"))
	expect("remove", "/\n/d\n/d/g 7\n", "/\n/d\n")
	must(t, m.SyncDir("/d"))
	expect("sync removal", "/\n/d\n", "/\n/d\n")
}

func TestCrashTakesBackOverwritesAndCuts(t *testing.T) {
	m := vfs.NewMem(nil)
	put(t, m, "/f", "0123456789")
	f, err := m.Open("/f", vfs.ReadWrite)
	must(t, err)
	must(t, f.Sync())
	must(t, m.SyncDir("/"))
	_, err = f.WriteAt([]byte("abc"), 8) // over the end
	must(t, err)
	must(t, f.Truncate(4))
	_, err = f.WriteAt([]byte("xy"), 6) // leaves a hole
	must(t, err)
	must(t, f.Truncate(9))
	if got, want := get(t, m.CrashClone(nothing), "/f"), "0123456789"; got != want {
		t.Errorf("losing all: %q, want %q", got, want)
	}
	if got, want := get(t, m.CrashClone(everything), "/f"), "0123\x00\x00xy\x00"; got != want {
		t.Errorf("losing none: %q, want %q", got, want)
	}
	if got, want := get(t, m, "/f"), "0123\x00\x00xy\x00"; got != want {
		t.Errorf("the original: %q, want %q", got, want)
	}
}

func TestRenameIsKeptOrLostWhole(t *testing.T) {
	m := vfs.NewMem(nil)
	for _, name := range []string{"/new", "/old"} {
		f, err := m.Open(name, vfs.Create)
		must(t, err)
		_, err = f.WriteAt([]byte(name), 0)
		must(t, err)
		must(t, f.Sync())
	}
	must(t, m.SyncDir("/"))
	must(t, m.Rename("/new", "/old"))
	seen := map[string]bool{}
	for seed := range uint64(40) {
		seen[m.CrashClone(vfs.RandomCrash(seed)).String()] = true
	}
	if want := map[string]bool{"/\n/new 4\n/old 4\n": true, "/\n/old 4\n": true}; fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Fatalf("outcomes %v, want %v", seen, want)
	}
}

// TestTornWrite shows that a torn write mixes old and new bytes in order and touches nothing else.
func TestTornWrite(t *testing.T) {
	m := vfs.NewMem(nil)
	before := bytes.Repeat([]byte("o"), 8192)
	f, err := m.Open("/f", vfs.Create)
	must(t, err)
	_, err = f.WriteAt(before, 0)
	must(t, err)
	must(t, f.Sync())
	must(t, m.SyncDir("/"))
	_, err = f.WriteAt(bytes.Repeat([]byte("n"), 5000), 1000)
	must(t, err)
	outcomes := map[string]bool{}
	for seed := range uint64(200) {
		c := vfs.Crash{Rand: rand.New(rand.NewPCG(seed, 1)), TearWrite: 1}
		got := get(t, m.CrashClone(c), "/f")
		if len(got) != 8192 || bytes.Contains([]byte(got[:1000]+got[6000:]), []byte("n")) {
			t.Fatalf("seed %d: bytes outside the write changed", seed)
		}
		outcomes[got] = true
		again := vfs.Crash{Rand: rand.New(rand.NewPCG(seed, 1)), TearWrite: 1}
		if get(t, m.CrashClone(again), "/f") != got {
			t.Fatalf("seed %d gives two results", seed)
		}
	}
	if len(outcomes) < 150 {
		t.Fatalf("only %d different outcomes", len(outcomes))
	}
}

// TestRandomOperationsAgainstModel does random writes, cuts and syncs, keeping for each byte every value it may have
// after a crash, and checks random crashes against that.
func TestRandomOperationsAgainstModel(t *testing.T) {
	const size = 2000
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 2))
		m := vfs.NewMem(nil)
		f, err := m.Open("/f", vfs.Create)
		must(t, err)
		must(t, f.Truncate(size))
		must(t, f.Sync())
		must(t, m.SyncDir("/"))
		now := make([]byte, size)
		possible := make([]map[byte]bool, size)
		for i := range possible {
			possible[i] = map[byte]bool{0: true}
		}
		for step := range 30 {
			if r.IntN(5) == 0 {
				must(t, f.Datasync())
				for i := range possible {
					possible[i] = map[byte]bool{now[i]: true}
				}
				continue
			}
			off := r.IntN(size)
			n := 1 + r.IntN(size-off)
			_, err := f.WriteAt(bytes.Repeat([]byte{byte(step + 1)}, n), int64(off))
			must(t, err)
			for i := off; i < off+n; i++ {
				now[i] = byte(step + 1)
				possible[i][byte(step+1)] = true
			}
			for crash := range uint64(4) {
				got := get(t, m.CrashClone(vfs.RandomCrash(seed<<16|uint64(step)<<4|crash)), "/f")
				for i := range got {
					if !possible[i][got[i]] {
						t.Fatalf("seed %d step %d crash %d: byte %d is %d, possible are %v", seed, step, crash, i, got[i], possible[i])
					}
				}
			}
			if got := get(t, m.KillClone(), "/f"); got != string(now) {
				t.Fatalf("seed %d step %d: a killed process lost writes", seed, step)
			}
		}
	}
}

func TestClonesAreIndependent(t *testing.T) {
	m := vfs.NewMem(nil)
	put(t, m, "/f", "one")
	clones := []*vfs.Mem{m.CrashClone(everything), m.KillClone()}
	put(t, m, "/f", "two")
	must(t, m.MkdirAll("/d"))
	for i, c := range clones {
		if got := get(t, c, "/f"); got != "one" {
			t.Errorf("clone %d holds %q", i, got)
		}
		put(t, c, "/f", "three")
		if got := get(t, m, "/f"); got != "two" {
			t.Errorf("clone %d wrote %q into the original", i, got)
		}
	}
}

// TestLostSizeHidesLaterWrites grows a file without syncing and writes inside it: if the growth is lost, the write cannot
// make a file of another size.
func TestLostSizeHidesLaterWrites(t *testing.T) {
	m := vfs.NewMem(nil)
	f, err := m.Open("/f", vfs.Create)
	must(t, err)
	must(t, m.SyncDir("/"))
	must(t, f.Truncate(4096))
	_, err = f.WriteAt([]byte("inside"), 1000)
	must(t, err)
	seen := map[int]bool{}
	for seed := range uint64(60) {
		seen[len(get(t, m.CrashClone(vfs.RandomCrash(seed)), "/f"))] = true
	}
	if len(seen) != 2 || !seen[0] || !seen[4096] {
		t.Fatalf("sizes after a crash: %v", seen)
	}
}
