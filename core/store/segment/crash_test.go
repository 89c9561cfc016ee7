package segment

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/internal/vfs/errorfs"
)

// TestCrashAtEveryOperation runs random histories of appends, syncs, cuts and removals, cuts the power before every
// single operation on the disk, and checks what the next process finds:
//
//	must survive: an openable directory without gaps, and every byte that a finished Datasync covered, unless a removal
//	              of its segment has begun since
//	may be lost:  everything else
func TestCrashAtEveryOperation(t *testing.T) {
	for _, opts := range []Options{{}, {DeferNames: true}, {Allocate: true}} {
		for seed := range uint64(30) {
			history(t, opts, seed)
		}
	}
}

// history is one run. Its model is the synced bytes: safe[i] is byte base+i, valid below the end of safe.
func history(t *testing.T, opts Options, seed uint64) {
	const size = 64
	r := rand.New(rand.NewPCG(seed, 3))
	mem := vfs.NewMem(nil)
	crashes := seed << 20
	written := []byte{}                    // all bytes from position 0 to the append position
	safeFrom, safeTo := int64(0), int64(0) // what must survive
	mayCut := int64(1 << 40)               // a cut to here is under way
	check := func(step string, clone *vfs.Mem) {
		f, err := OpenDir(clone, "/store/queue", size, opts)
		if err != nil {
			t.Fatalf("%+v seed %d, crash %d %s: %v\n%s", opts, seed, crashes, step, err, clone)
		}
		defer f.Close()
		from, to := safeFrom, min(safeTo, mayCut)
		if from >= to {
			return
		}
		if f.Min() > from || f.End() < to {
			t.Fatalf("%+v seed %d, crash %d %s: covers %d to %d, safe were %d to %d", opts, seed, crashes, step, f.Min(), f.End(), from, to)
		}
		for pos := from; pos < to; {
			v, err := f.ViewUpTo(pos, int(to-pos))
			if err != nil || !bytes.Equal(v.Bytes(), written[pos:pos+int64(len(v.Bytes()))]) {
				t.Fatalf("%+v seed %d, crash %d %s: bytes at %d differ, %v", opts, seed, crashes, step, pos, err)
			}
			pos += int64(len(v.Bytes()))
			v.Release()
		}
	}
	fsys := errorfs.Wrap(mem, func(op errorfs.Op) error {
		crashes++
		check("before "+op.Kind.String()+" "+op.Path, mem.CrashClone(vfs.RandomCrash(crashes)))
		return nil
	})
	f := open(t, fsys, "/store/queue", size, opts)
	for range 40 {
		switch r.IntN(6) {
		case 0, 1, 2:
			n := 1 + r.IntN(40)
			if int64(len(written))/size != int64(len(written)+n-1)/size { // fill up with what the owner would call a blank
				n = size - len(written)%size
			}
			if _, err := f.Ensure(int64(len(written))); err != nil {
				t.Fatal(err)
			}
			b := bytes.Repeat([]byte{byte(1 + r.IntN(255))}, n)
			if err := f.WriteAt(int64(len(written)), b); err != nil {
				t.Fatal(err)
			}
			written = append(written, b...)
			if r.IntN(3) == 0 && f.End()-int64(len(written)) < size { // prepare the next one
				if _, err := f.Create(f.End()); err != nil {
					t.Fatal(err)
				}
			}
		case 3:
			if err := f.Datasync(safeTo, int64(len(written))); err != nil {
				t.Fatal(err)
			}
			safeTo = int64(len(written))
		case 4:
			if r.IntN(2) == 0 || f.Last() == nil {
				continue
			}
			mayCut = safeFrom + r.Int64N(int64(len(written))-safeFrom+1)
			if err := f.TruncateTo(mayCut); err != nil {
				t.Fatal(err)
			}
			written = written[:mayCut]
			safeTo = min(safeTo, mayCut)
			mayCut = 1 << 40
		case 5:
			if r.IntN(3) > 0 || f.Last() == nil {
				continue
			}
			pos := f.Min() + r.Int64N(int64(len(written))-f.Min()+1)
			for _, s := range f.List()[:len(f.List())-1] {
				if s.End() <= pos {
					safeFrom = s.End()
				}
			}
			if _, err := f.RemoveBefore(pos); err != nil {
				t.Fatal(err)
			}
		}
		crashes++
		check("between operations", mem.CrashClone(vfs.Crash{}))
		check("killed", mem.KillClone())
	}
}

// TestDeferredNamesCost counts syncs: a creation makes none, and the first Datasync makes names and parents durable.
func TestDeferredNamesCost(t *testing.T) {
	fsys := errorfs.Wrap(vfs.NewMem(nil), nil)
	f := open(t, fsys, "/store/consumequeue/topic/0", 4096, Options{DeferNames: true})
	counts := func() [3]int64 {
		return [3]int64{fsys.Count(errorfs.Sync), fsys.Count(errorfs.Datasync), fsys.Count(errorfs.SyncDir)}
	}
	expect := func(step string, want [3]int64) {
		t.Helper()
		if got := counts(); got != want {
			t.Fatalf("%s: %v syncs, datasyncs, directory syncs, want %v", step, got, want)
		}
	}
	create(t, f, 1)
	write(t, f, 0, "entry")
	expect("creation", [3]int64{})
	for range 2 {
		if err := f.Datasync(0, 5); err != nil {
			t.Fatal(err)
		}
		expect("first sync", [3]int64{0, 1, 5}) // four parents and the directory
	}
	create(t, f, 1)
	expect("second creation", [3]int64{0, 1, 5})
	create(t, f, 1)
	expect("third creation makes the second durable", [3]int64{0, 2, 6})
	if err := f.Datasync(0, 5); err != nil {
		t.Fatal(err)
	}
	expect("sync of old bytes makes the third durable", [3]int64{0, 3, 7})
}
