package segment

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/internal/vfs/errorfs"
)

func TestCreateAndEnsure(t *testing.T) {
	each(t, func(t *testing.T, fsys vfs.FS, dir string) {
		f := open(t, fsys, dir, 4096, Options{})
		s, err := f.Ensure(4096*3 + 17) // the first segment may begin anywhere
		if err != nil || s.Start() != 4096*3 || s.End() != 4096*4 || s.Path() != filepath.Join(dir, FileName(4096*3)) {
			t.Fatalf("%+v, %v", s, err)
		}
		again, err := f.Ensure(4096 * 3)
		if err != nil || again != s {
			t.Fatalf("a second Ensure made another segment, %v", err)
		}
		if next, err := f.Create(4096 * 4); err != nil || f.Last() != next || f.First() != s {
			t.Fatalf("create: %v", err)
		}
		refused := []struct {
			call func() (*Segment, error)
			want string
		}{
			{func() (*Segment, error) { return f.Create(4096 * 6) }, "create segment 24576: the next one begins at 20480, a gap is not allowed"},
			{func() (*Segment, error) { return f.Create(4096 * 2) }, "create segment 8192: the next one begins at 20480, a gap is not allowed"},
			{func() (*Segment, error) { return f.Ensure(4096 * 6) }, "create segment 24576: the next one begins at 20480, a gap is not allowed"},
			{func() (*Segment, error) { return f.Create(5000) }, "create segment 5000: not a multiple of the segment size 4096"},
			{func() (*Segment, error) { return f.Create(-4096) }, "create segment -4096: not a multiple of the segment size 4096"},
			{func() (*Segment, error) { return f.Ensure(-1) }, "create a segment for position -1: no segment holds this position"},
			{func() (*Segment, error) { return f.Ensure(math.MaxInt64) }, "create segment 9223372036854771712: not a multiple of the segment size 4096"},
		}
		for _, c := range refused {
			if _, err := c.call(); err == nil || err.Error() != c.want {
				t.Errorf("error %v, want %q", err, c.want)
			}
		}
		if got := f.Stats(); got != (Stats{Segments: 2, Bytes: 8192}) {
			t.Errorf("stats %+v", got)
		}
	})
}

func TestReadOnlyAndClosed(t *testing.T) {
	each(t, func(t *testing.T, fsys vfs.FS, dir string) {
		create(t, open(t, fsys, dir, 4096, Options{}), 2)
		ro := open(t, fsys, dir, 4096, Options{ReadOnly: true})
		closed := open(t, fsys, dir, 4096, Options{})
		if err := errors.Join(closed.Close(), closed.Close()); err != nil {
			t.Fatal(err)
		}
		for f, want := range map[*Files]error{ro: ErrReadOnly, closed: ErrClosed} {
			_, createErr := f.Create(f.End())
			_, removeErr := f.RemoveBefore(4096)
			for name, err := range map[string]error{"Create": createErr, "RemoveBefore": removeErr, "TruncateTo": f.TruncateTo(0), "DropFrom": f.DropFrom(0)} {
				if !errors.Is(err, want) {
					t.Errorf("%s: %v, want %v", name, err, want)
				}
			}
		}
		if err := ro.WriteAt(0, []byte("x")); !errors.Is(err, ErrReadOnly) {
			t.Errorf("write: %v", err)
		}
		if err := closed.WriteAt(0, []byte("x")); !errors.Is(err, ErrNotFound) {
			t.Errorf("write after close: %v", err)
		}
		if _, err := closed.View(0, 1); !errors.Is(err, ErrNotFound) {
			t.Errorf("view after close: %v", err)
		}
	})
}

func TestTruncateTo(t *testing.T) {
	cases := []struct {
		name string
		cut  func(f *Files) error
		end  int64
	}{
		{"inside the second", func(f *Files) error { return f.TruncateTo(4097) }, 8192},
		{"at the start of the third", func(f *Files) error { return f.TruncateTo(8192) }, 12288},
		{"behind all", func(f *Files) error { return f.TruncateTo(1 << 40) }, 16384},
		{"largest position", func(f *Files) error { return f.TruncateTo(math.MaxInt64) }, 16384},
		{"to nothing written", func(f *Files) error { return f.TruncateTo(0) }, 4096},
		{"drop at the start of the third", func(f *Files) error { return f.DropFrom(8192) }, 8192},
		{"drop inside the third", func(f *Files) error { return f.DropFrom(8193) }, 12288},
		{"drop all", func(f *Files) error { return f.DropFrom(0) }, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, fsys vfs.FS, dir string) {
				f := open(t, fsys, dir, 4096, Options{})
				create(t, f, 4)
				for pos := int64(0); pos < 16384; pos += 4096 {
					write(t, f, pos, strings.Repeat("w", 4096))
				}
				old := time.Now().Add(-72 * time.Hour).Truncate(time.Second)
				for _, s := range f.List() {
					setTime(t, fsys, s.Path(), old)
				}
				if err := c.cut(f); err != nil {
					t.Fatal(err)
				}
				if f.End() != c.end {
					t.Fatalf("ends at %d, want %d", f.End(), c.end)
				}
				var want []string
				for _, s := range f.List() {
					want = append(want, FileName(s.Start()))
					buf := make([]byte, 4096)
					if err := f.ReadAt(s.Start(), buf); err != nil || !bytes.Equal(buf, bytes.Repeat([]byte("w"), 4096)) {
						t.Errorf("bytes of %s changed, %v", s.Path(), err)
					}
					if mod, err := s.ModTime(); err != nil || !mod.Equal(old) {
						t.Errorf("modification time of %s changed to %v, %v", s.Path(), mod, err)
					}
				}
				if got := names(t, fsys, dir); got != strings.Join(want, " ") {
					t.Errorf("directory holds %s", got)
				}
			})
		})
	}
}

func setTime(t *testing.T, fsys vfs.FS, path string, when time.Time) {
	t.Helper()
	err := errors.ErrUnsupported
	switch fsys := fsys.(type) {
	case *vfs.Mem:
		err = fsys.SetModTime(path, when)
	case vfs.OS:
		err = os.Chtimes(path, when, when)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestTruncatedSegmentComesBackEmpty creates again what was cut off.
func TestTruncatedSegmentComesBackEmpty(t *testing.T) {
	each(t, func(t *testing.T, fsys vfs.FS, dir string) {
		f := open(t, fsys, dir, 4096, Options{})
		create(t, f, 2)
		write(t, f, 4096, "stale")
		old, err := f.View(4096, 5)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.TruncateTo(10); err != nil {
			t.Fatal(err)
		}
		if err := f.WriteAt(4096, []byte("x")); !errors.Is(err, ErrNotFound) {
			t.Fatalf("write into the removed segment: %v", err)
		}
		create(t, f, 1)
		buf := make([]byte, 5)
		if err := f.ReadAt(4096, buf); err != nil || string(buf) != "\x00\x00\x00\x00\x00" {
			t.Fatalf("the new segment reads %q, %v", buf, err)
		}
		if string(old.Bytes()) != "stale" {
			t.Fatalf("the held view reads %q", old.Bytes())
		}
		old.Release()
	})
}

func TestRemoveBefore(t *testing.T) {
	cases := []struct {
		pos     int64
		removed int
		start   int64
	}{
		{0, 0, 0}, {4095, 0, 0}, {4096, 1, 4096}, {8191, 1, 4096}, {8192, 2, 8192}, {1 << 40, 3, 12288},
	}
	for _, c := range cases {
		each(t, func(t *testing.T, fsys vfs.FS, dir string) {
			f := open(t, fsys, dir, 4096, Options{})
			create(t, f, 4)
			n, err := f.RemoveBefore(c.pos)
			if err != nil || n != c.removed || f.Min() != c.start || f.End() != 16384 {
				t.Fatalf("before %d: removed %d, %v, now %d to %d", c.pos, n, err, f.Min(), f.End())
			}
			if got := open(t, fsys, dir, 4096, Options{}).Min(); got != c.start {
				t.Fatalf("before %d: opened again from %d", c.pos, got)
			}
		})
	}
}

func TestFailedRemovalKeepsTheSegment(t *testing.T) {
	each(t, func(t *testing.T, inner vfs.FS, dir string) {
		fsys := errorfs.Wrap(inner, nil)
		f := open(t, fsys, dir, 4096, Options{})
		create(t, f, 3)
		write(t, f, 8192, "kept")
		fsys.Set(errorfs.OnKind(errorfs.Remove, syscall.EIO))
		if err := f.TruncateTo(0); !errors.Is(err, syscall.EIO) || f.End() != 12288 {
			t.Fatalf("cut: %v, ends at %d", err, f.End())
		}
		if n, err := f.RemoveBefore(8192); n != 0 || !errors.Is(err, syscall.EIO) || f.Min() != 0 {
			t.Fatalf("remove: %d, %v, begins at %d", n, err, f.Min())
		}
		buf := make([]byte, 4)
		if err := f.ReadAt(8192, buf); err != nil || string(buf) != "kept" {
			t.Fatalf("read %q, %v", buf, err)
		}
		before := fsys.Count(errorfs.Datasync)
		if err := f.Datasync(0, f.End()); err != nil || fsys.Count(errorfs.Datasync) != before+1 {
			t.Fatalf("the write before the failed removal was forgotten: %v", err)
		}
		fsys.Set(nil)
		if n, err := f.RemoveBefore(8192); n != 2 || err != nil {
			t.Fatalf("remove: %d, %v", n, err)
		}
	})
}

// TestFailedCreation fails each step of a creation with a full disk and expects no trace of it, or one that the next
// creation clears.
func TestFailedCreation(t *testing.T) {
	steps := []errorfs.Kind{errorfs.MkdirAll, errorfs.Create, errorfs.Truncate, errorfs.Allocate, errorfs.Sync, errorfs.SyncDir}
	for _, step := range steps {
		for _, removal := range []bool{true, false} {
			each(t, func(t *testing.T, inner vfs.FS, dir string) {
				fsys := errorfs.Wrap(inner, errorfs.OnKind(step, syscall.ENOSPC))
				if !removal {
					fsys.Set(errorfs.Any(errorfs.OnKind(step, syscall.ENOSPC), errorfs.OnKind(errorfs.Remove, syscall.EIO)))
				}
				f := open(t, fsys, dir, 4096, Options{Allocate: true})
				if _, err := f.Ensure(100); !errors.Is(err, syscall.ENOSPC) {
					t.Fatalf("%s: error %v", step, err)
				}
				if f.Last() != nil || (removal && names(t, inner, dir) != "") {
					t.Fatalf("%s: left behind %v and files %q", step, f.Last(), names(t, inner, dir))
				}
				fsys.Set(nil)
				if _, err := f.Ensure(100); err != nil {
					t.Fatalf("%s: second try: %v", step, err)
				}
				write(t, f, 100, "x")
			})
		}
	}
}

func TestModifiedSince(t *testing.T) {
	each(t, func(t *testing.T, fsys vfs.FS, dir string) {
		f := open(t, fsys, dir, 4096, Options{})
		now := time.Now().Truncate(time.Second)
		if s, err := f.ModifiedSince(now); s != nil || err != nil {
			t.Fatalf("with no segment: %v, %v", s, err)
		}
		create(t, f, 3)
		for i, s := range f.List() {
			setTime(t, fsys, s.Path(), now.Add(time.Duration(i)*time.Hour))
		}
		for hours, want := range map[float64]int64{-1: 0, 0: 0, 0.5: 4096, 1: 4096, 2: 8192, 3: 8192} {
			s, err := f.ModifiedSince(now.Add(time.Duration(hours * float64(time.Hour))))
			if err != nil || s.Start() != want {
				t.Errorf("%v hours: %v, %v, want %d", hours, s.Start(), err, want)
			}
		}
	})
}

// A directory that was removed together with its segments, before its names were saved, doesn't stand in the way of the
// next segment.
func TestARemovedDirectoryComesBack(t *testing.T) {
	each(t, func(t *testing.T, fsys vfs.FS, dir string) {
		dir = filepath.Join(dir, "topic", "0")
		f := open(t, fsys, dir, 4096, Options{DeferNames: true})
		create(t, f, 1)
		if err := errors.Join(f.DropFrom(0), fsys.Remove(dir), fsys.Remove(filepath.Dir(dir))); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Ensure(0); err != nil {
			t.Fatal(err)
		}
		if err := f.Datasync(0, 4096); err != nil {
			t.Error(err)
		}
		if err := f.SyncErr(); err != nil {
			t.Error(err)
		}
	})
}
