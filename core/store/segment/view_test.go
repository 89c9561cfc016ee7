package segment

import (
	"bytes"
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/internal/vfs/errorfs"
)

// TestHeldBytesOutliveTheirSegment removes segments in every way while they are held, and checks when they are let go.
func TestHeldBytesOutliveTheirSegment(t *testing.T) {
	ways := map[string]func(f *Files) error{
		"RemoveBefore": func(f *Files) error { _, err := f.RemoveBefore(4096); return err },
		"DropFrom":     func(f *Files) error { return f.DropFrom(0) },
		"Close":        (*Files).Close,
	}
	for name, remove := range ways {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, inner vfs.FS, dir string) {
				fsys := errorfs.Wrap(inner, nil)
				f := open(t, fsys, dir, 4096, Options{})
				create(t, f, 2)
				write(t, f, 10, "held")
				v, err := f.View(10, 4)
				if err != nil {
					t.Fatal(err)
				}
				s := v.Segment()
				if !s.Retain() {
					t.Fatal("a listed segment could not be retained")
				}
				fsys.Set(nil)
				closes := fsys.Count(errorfs.Close)
				if err := remove(f); err != nil {
					t.Fatal(err)
				}
				if s.Retain() {
					t.Fatal("a removed segment could be retained")
				}
				if _, err := f.View(10, 4); !errors.Is(err, ErrNotFound) {
					t.Fatalf("view of a removed position: %v", err)
				}
				if got := f.Stats(); got.Mapped != 1 || got.Held != 1 {
					t.Fatalf("while held: %+v", got)
				}
				v.Release()
				whole, err := s.Bytes()
				if err != nil || len(whole) != 4096 || !bytes.Equal(whole[8:16], []byte("\x00\x00held\x00\x00")) {
					t.Fatalf("the second holder reads %q, %v", whole[8:16], err)
				}
				before := fsys.Count(errorfs.Close)
				s.Release()
				if got := f.Stats(); got.Mapped != 0 || got.Held != 0 {
					t.Fatalf("after the last release: %+v", got)
				}
				if s.Retain() {
					t.Fatal("a closed segment could be retained")
				}
				if n := fsys.Count(errorfs.Close) - before; n != 1 {
					t.Fatalf("the last release closed %d files (%d in all)", n, fsys.Count(errorfs.Close)-closes)
				}
			})
		})
	}
}

// TestHeldButNeverOpened retains a segment that nobody has opened, and removes its file.
func TestHeldButNeverOpened(t *testing.T) {
	each(t, func(t *testing.T, fsys vfs.FS, dir string) {
		create(t, open(t, fsys, dir, 4096, Options{}), 2)
		f := open(t, fsys, dir, 4096, Options{})
		s := f.First()
		if !s.Retain() {
			t.Fatal("not retained")
		}
		if _, err := f.RemoveBefore(4096); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Bytes(); !errors.Is(err, ErrNotFound) {
			t.Fatalf("bytes of a file that is gone: %v", err)
		}
		s.Release()
	})
}

func TestReleasedTooOftenPanics(t *testing.T) {
	f := open(t, vfs.NewMem(nil), "/d", 4096, Options{})
	create(t, f, 1)
	s := f.First()
	defer func() {
		got, _ := recover().(string)
		if want := "weir bug: segment /d/00000000000000000000: released more often than retained"; got != want {
			t.Fatalf("panic %q, want %q", got, want)
		}
		s.refs.Store(1)
	}()
	s.Release()
}

func TestZeroView(t *testing.T) {
	var v View
	v.Prefetch()
	v.Release()
	if len(v.Bytes()) != 0 || v.Segment() != nil || !v.Resident() {
		t.Fatalf("zero view %+v", v)
	}
}

func TestResidentAndPrefetch(t *testing.T) {
	each(t, func(t *testing.T, fsys vfs.FS, dir string) {
		f := open(t, fsys, dir, 1<<20, Options{})
		create(t, f, 1)
		write(t, f, 5000, strings.Repeat("x", 9000))
		v, err := f.View(5000, 9000)
		if err != nil {
			t.Fatal(err)
		}
		defer v.Release()
		v.Prefetch()
		if !v.Resident() {
			t.Fatal("what was just written is not resident")
		}
	})
}

// TestMapFailure has no address space left: the view fails, pread goes on, and a later view works.
func TestMapFailure(t *testing.T) {
	fsys := errorfs.Wrap(vfs.NewMem(nil), nil)
	f := open(t, fsys, "/d", 4096, Options{})
	create(t, f, 1)
	write(t, f, 0, "abc")
	fsys.Set(errorfs.Nth(1, errorfs.OnKind(errorfs.Map, syscall.ENOMEM)))
	if _, err := f.View(0, 3); !errors.Is(err, syscall.ENOMEM) {
		t.Fatalf("view: %v", err)
	}
	buf := make([]byte, 3)
	if err := f.ReadAt(0, buf); err != nil || string(buf) != "abc" {
		t.Fatalf("read %q, %v", buf, err)
	}
	v, err := f.View(0, 3)
	if err != nil || string(v.Bytes()) != "abc" {
		t.Fatalf("second view: %q, %v", v.Bytes(), err)
	}
	v.Release()
}

// TestFileChangedUnderUs cuts a file behind the store's back before it is opened: mapping it would be a fault later.
func TestFileChangedUnderUs(t *testing.T) {
	each(t, func(t *testing.T, fsys vfs.FS, dir string) {
		create(t, open(t, fsys, dir, 4096, Options{}), 1)
		f := open(t, fsys, dir, 4096, Options{})
		file, err := fsys.Open(f.First().Path(), vfs.ReadWrite)
		if err == nil {
			err = errors.Join(file.Truncate(100), file.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.View(0, 1)
		want := "segment " + f.First().Path() + " has 100 bytes now; it was changed while the store uses it"
		if err == nil || err.Error() != want {
			t.Fatalf("view: %v, want %q", err, want)
		}
	})
}

func TestReadingDoesNotAllocate(t *testing.T) {
	each(t, func(t *testing.T, fsys vfs.FS, dir string) {
		f := open(t, fsys, dir, 1<<16, Options{})
		create(t, f, 4)
		buf, sum := make([]byte, 100), 0
		if n := testing.AllocsPerRun(1000, func() {
			v, err := f.View(1<<16+50, 1000)
			if err != nil {
				t.Fatal(err)
			}
			sum += len(v.Bytes())
			if !v.Resident() && sum < 0 {
				t.Fatal("never")
			}
			v.Release()
			if _, err := f.View(1<<40, 1); err != ErrNotFound {
				t.Fatal(err)
			}
			if err := f.ReadAt(3<<16, buf); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Fatalf("%v allocations", n)
		}
	})
}

func BenchmarkView(b *testing.B) {
	f := benchFiles(b)
	b.Run("one reader", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			v, err := f.View(1<<20, 1024)
			if err != nil {
				b.Fatal(err)
			}
			v.Release()
		}
	})
	b.Run("all processors", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				v, err := f.View(1<<20, 1024)
				if err != nil {
					b.Fatal(err)
				}
				v.Release()
			}
		})
	})
	b.Run("resident 32 KiB", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			v, err := f.View(0, 32<<10)
			if err != nil || !v.Resident() {
				b.Fatal(err)
			}
			v.Release()
		}
	})
}

func BenchmarkReadAt(b *testing.B) {
	f := benchFiles(b)
	buf := make([]byte, 4096)
	b.ReportAllocs()
	b.SetBytes(int64(len(buf)))
	for b.Loop() {
		if err := f.ReadAt(8192, buf); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWriteAt(b *testing.B) {
	f := benchFiles(b)
	buf := make([]byte, 4096)
	b.ReportAllocs()
	b.SetBytes(int64(len(buf)))
	pos := int64(0)
	for b.Loop() {
		if err := f.WriteAt(pos, buf); err != nil {
			b.Fatal(err)
		}
		pos = (pos + 4096) % f.End()
	}
}

func benchFiles(b *testing.B) *Files {
	b.Helper()
	f, err := OpenDir(vfs.OS{}, b.TempDir(), 1<<20, Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	for range 4 {
		s, err := f.Create(f.End())
		if err == nil {
			err = f.WriteAt(s.Start(), make([]byte, 1<<20))
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	return f
}
