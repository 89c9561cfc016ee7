package segment

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weirmq/weir/core/internal/vfs"
)

// TestHammerReadersAgainstChanges lets readers take views all over the run while one writer appends, a cleaner removes
// from the front, and the writer now and then cuts the tail and writes it anew. Every word that was written holds its
// own position, so a reader can tell whether it sees the right bytes; with unmapped memory it would die.
func TestHammerReadersAgainstChanges(t *testing.T) {
	each(t, func(t *testing.T, fsys vfs.FS, dir string) {
		const size, readers, rolls = 1 << 14, 4, 60
		f := open(t, fsys, dir, size, Options{})
		var end atomic.Int64 // what is written, as the store's committed end
		var stop atomic.Bool
		var seen, missed atomic.Int64
		var wg sync.WaitGroup
		for id := range readers {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(uint64(id), 4))
				for !stop.Load() {
					read(t, f, r, end.Load(), &seen, &missed)
				}
			})
		}
		wg.Go(func() { // the cleaner keeps about four segments
			for !stop.Load() {
				if _, err := f.RemoveBefore(end.Load() - 4*size); err != nil {
					t.Error(err)
					return
				}
			}
		})
		wg.Go(func() { // the flusher
			for !stop.Load() {
				if err := f.Datasync(0, f.End()); err != nil {
					t.Error(err)
					return
				}
			}
		})
		chunk := make([]byte, 512)
		for pos := int64(0); pos < rolls*size; pos += int64(len(chunk)) {
			if _, err := f.Ensure(pos); err != nil {
				t.Fatal(err)
			}
			for i := 0; i < len(chunk); i += 8 {
				binary.BigEndian.PutUint64(chunk[i:], uint64(pos)+uint64(i))
			}
			if err := f.WriteAt(pos, chunk); err != nil {
				t.Fatal(err)
			}
			end.Store(pos + int64(len(chunk)))
			if pos%(8*size) == 5*size && pos > 0 { // a prepared segment that is not wanted after all
				if _, err := f.Create(f.End()); err != nil {
					t.Fatal(err)
				}
				if err := f.TruncateTo(end.Load()); err != nil {
					t.Fatal(err)
				}
			}
		}
		stop.Store(true)
		wg.Wait()
		if seen.Load() == 0 {
			t.Fatal("no reader ever saw anything")
		}
		if got := f.Stats(); got.Held != 0 || got.Mapped > got.Segments {
			t.Fatalf("left over: %+v", got)
		}
		t.Logf("%d reads, %d came too late", seen.Load(), missed.Load())
	})
}

// read takes one view below end and checks it, one word at a time and again after others had time to remove it.
func read(t *testing.T, f *Files, r *rand.Rand, end int64, seen, missed *atomic.Int64) {
	oldest := f.Min()
	if end <= oldest {
		return
	}
	pos := (oldest + r.Int64N(end-oldest)) &^ 7
	v, err := f.ViewUpTo(pos, int(min(256, end-pos)))
	if errors.Is(err, ErrNotFound) {
		missed.Add(1)
		return
	}
	if err != nil {
		t.Error(err)
		return
	}
	defer v.Release()
	seen.Add(1)
	for i := 0; i+8 <= len(v.Bytes()); i += 8 {
		if got := int64(binary.BigEndian.Uint64(v.Bytes()[i:])); got != pos+int64(i) {
			t.Errorf("the word at %d says %d", pos+int64(i), got)
			return
		}
	}
}

// TestHammerFirstUse opens and maps one fresh segment from many goroutines at once while it is removed.
func TestHammerFirstUse(t *testing.T) {
	each(t, func(t *testing.T, fsys vfs.FS, dir string) {
		create(t, open(t, fsys, dir, 4096, Options{}), 40)
		f := open(t, fsys, dir, 4096, Options{})
		for f.List()[0] != f.Last() {
			pos := f.Min()
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					v, err := f.View(pos, 16)
					if err != nil && !errors.Is(err, ErrNotFound) {
						t.Errorf("view: %v", err)
					}
					v.Release()
					if err := f.ReadAt(pos, make([]byte, 4)); err != nil && !errors.Is(err, ErrNotFound) {
						t.Errorf("read: %v", err)
					}
				})
			}
			if n, err := f.RemoveBefore(pos + 4096); n != 1 || err != nil {
				t.Fatalf("removed %d, %v", n, err)
			}
			wg.Wait()
		}
		if got := f.Stats(); got.Held != 0 || got.Mapped > 1 {
			t.Fatalf("left over: %+v", got)
		}
	})
}
