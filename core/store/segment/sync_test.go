package segment

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/internal/vfs/errorfs"
)

func TestDatasyncOnlyWhatWasWrittenInRange(t *testing.T) {
	fsys := errorfs.Wrap(vfs.NewMem(nil), nil)
	f := open(t, fsys, "/d", 4096, Options{})
	create(t, f, 4)
	expect := func(from, to, want int64) {
		t.Helper()
		before := fsys.Count(errorfs.Datasync)
		if err := f.Datasync(from, to); err != nil {
			t.Fatal(err)
		}
		if got := fsys.Count(errorfs.Datasync) - before; got != want {
			t.Fatalf("Datasync(%d, %d): %d files synced, want %d", from, to, got, want)
		}
	}
	expect(0, 16384, 0)
	write(t, f, 0, "a")
	write(t, f, 4096, "b")
	write(t, f, 12288, "c")
	expect(8192, 12288, 0) // nothing written in the third
	expect(4096, 4097, 1)
	expect(4096, 4097, 0) // once is enough
	expect(0, 16384, 2)
	write(t, f, 8000, "d")
	expect(0, 4096, 0)
	expect(20000, 30000, 0)
	expect(-10, 1<<40, 1)
}

func TestFirstSyncErrorIsFinal(t *testing.T) {
	each(t, func(t *testing.T, inner vfs.FS, dir string) {
		fsys := errorfs.Wrap(inner, nil)
		f := open(t, fsys, dir, 4096, Options{})
		create(t, f, 2)
		write(t, f, 0, "a")
		fsys.Set(errorfs.Nth(1, errorfs.OnKind(errorfs.Datasync, syscall.EIO)))
		first := f.Datasync(0, 10)
		want := "sync segment " + f.First().Path() + ": datasync " + f.First().Path() + ": input/output error"
		if !errors.Is(first, syscall.EIO) || first.Error() != want {
			t.Fatalf("error %v, want %q", first, want)
		}
		write(t, f, 4096, "writing goes on, and is of no use")
		for range 2 {
			if err := f.Datasync(4096, 8192); err != first {
				t.Fatalf("later error %v", err)
			}
		}
		if err := f.SyncErr(); err != first {
			t.Fatalf("SyncErr %v", err)
		}
		if n := fsys.Count(errorfs.Datasync); n != 1 {
			t.Fatalf("%d syncs were tried", n)
		}
	})
}

// TestDatasyncWaitsForTheOneUnderWay starts more Datasyncs while the first one is in the kernel. They find nothing dirty,
// and must still not return before the first one's data is safe.
func TestDatasyncWaitsForTheOneUnderWay(t *testing.T) {
	entered, let := make(chan struct{}), make(chan struct{})
	fsys := errorfs.Wrap(vfs.NewMem(nil), nil)
	f := open(t, fsys, "/d", 4096, Options{})
	create(t, f, 1)
	write(t, f, 0, "a")
	fsys.Set(func(op errorfs.Op) error {
		if op.Kind == errorfs.Datasync {
			close(entered)
			<-let
		}
		return nil
	})
	var safe atomic.Bool
	var wg sync.WaitGroup
	call := func() {
		if err := f.Datasync(0, 1); err != nil || !safe.Load() {
			t.Errorf("Datasync returned %v; data safe: %v", err, safe.Load())
		}
	}
	wg.Go(call)
	<-entered
	for range 4 {
		wg.Go(call)
	}
	for range 1000 {
		runtime.Gosched() // a chance for a wrong one to return
	}
	safe.Store(true)
	close(let)
	wg.Wait()
	if n := fsys.Count(errorfs.Datasync); n != 1 {
		t.Fatalf("%d syncs for five callers", n)
	}
}

func TestWriteErrorsLeaveTheRestAlone(t *testing.T) {
	each(t, func(t *testing.T, inner vfs.FS, dir string) {
		fsys := errorfs.Wrap(inner, nil)
		f := open(t, fsys, dir, 4096, Options{})
		create(t, f, 1)
		write(t, f, 0, "before")
		fsys.Set(errorfs.Nth(1, errorfs.OnKind(errorfs.Write, &errorfs.ShortWrite{N: 3, Err: syscall.ENOSPC})))
		err := f.WriteAt(6, []byte("record"))
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("error %v", err)
		}
		buf := make([]byte, 13)
		if err := f.ReadAt(0, buf); err != nil || string(buf) != "beforerec\x00\x00\x00\x00" {
			t.Fatalf("after the failed write: %q, %v", buf, err)
		}
		write(t, f, 6, "record")
		if err := f.ReadAt(0, buf); err != nil || string(buf) != "beforerecord\x00" {
			t.Fatalf("after the second try: %q, %v", buf, err)
		}
		if err := f.Datasync(0, 12); err != nil {
			t.Fatalf("a failed write must not spoil syncing: %v", err)
		}
	})
}

func TestRangeErrors(t *testing.T) {
	each(t, func(t *testing.T, fsys vfs.FS, dir string) {
		f := open(t, fsys, dir, 4096, Options{})
		if _, err := f.Ensure(4096); err != nil {
			t.Fatal(err)
		}
		create(t, f, 1)
		cases := []struct {
			name string
			pos  int64
			n    int
			want error
			clip int // length of ViewUpTo, -1 for an error
		}{
			{"whole segment", 4096, 4096, nil, 4096},
			{"empty", 5000, 0, nil, 0},
			{"last byte", 12287, 1, nil, 1},
			{"before the first", 4095, 1, ErrNotFound, -1},
			{"negative", -1, 1, ErrNotFound, -1},
			{"behind the last", 12288, 0, ErrNotFound, -1},
			{"over the end of a segment", 8000, 193, ErrCrossing, 192},
			{"over the end of all", 12287, 2, ErrCrossing, 1},
		}
		for _, c := range cases {
			v, err := f.View(c.pos, c.n)
			if !errors.Is(err, c.want) || (c.want == nil) != (err == nil) || (err == nil && (len(v.Bytes()) != c.n || v.Pos() != c.pos)) {
				t.Errorf("%s: view of %d bytes, %v, want %v", c.name, len(v.Bytes()), err, c.want)
			}
			v.Release()
			v, err = f.ViewUpTo(c.pos, c.n)
			if (err != nil) != (c.clip < 0) || (err == nil && len(v.Bytes()) != c.clip) {
				t.Errorf("%s: clipped view of %d bytes, %v", c.name, len(v.Bytes()), err)
			}
			v.Release()
			if err := f.ReadAt(c.pos, make([]byte, c.n)); !errors.Is(err, c.want) || (c.want == nil) != (err == nil) {
				t.Errorf("%s: read: %v, want %v", c.name, err, c.want)
			}
			if err := f.WriteAt(c.pos, make([]byte, c.n)); !errors.Is(err, c.want) || (c.want == nil) != (err == nil) {
				t.Errorf("%s: write: %v, want %v", c.name, err, c.want)
			}
		}
		if _, err := f.View(5000, -1); !errors.Is(err, ErrCrossing) {
			t.Errorf("negative length: %v", err)
		}
	})
}
