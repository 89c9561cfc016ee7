package errorfs_test

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"

	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/internal/vfs/errorfs"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func create(t *testing.T, fsys vfs.FS, path string) vfs.File {
	t.Helper()
	f, err := fsys.Open(path, vfs.Create)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func TestInjectors(t *testing.T) {
	sync := errorfs.OnKind(errorfs.Datasync, syscall.EIO)
	cases := []struct {
		name string
		in   errorfs.Injector
		want [4]bool // which of four datasyncs of /a fail
	}{
		{"none", nil, [4]bool{}},
		{"all", sync, [4]bool{true, true, true, true}},
		{"other kind", errorfs.OnKind(errorfs.Sync, syscall.EIO), [4]bool{}},
		{"second", errorfs.Nth(2, sync), [4]bool{false, true, false, false}},
		{"from the third", errorfs.From(3, sync), [4]bool{false, false, true, true}},
		{"path", errorfs.OnPath("/a", sync), [4]bool{true, true, true, true}},
		{"other path", errorfs.OnPath("/b", sync), [4]bool{}},
		{"any", errorfs.Any(errorfs.Nth(1, sync), errorfs.Nth(2, sync)), [4]bool{true, false, true, false}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			fsys := errorfs.Wrap(vfs.NewMem(nil), c.in)
			f := create(t, fsys, "/a")
			for i, want := range c.want {
				err := f.Datasync()
				if (err != nil) != want {
					t.Errorf("datasync %d: %v, want failure %v", i+1, err, want)
				}
				var path *fs.PathError
				if want && (!errors.Is(err, syscall.EIO) || !errors.As(err, &path) || path.Path != "/a" || path.Op != "datasync") {
					t.Errorf("datasync %d: error %v", i+1, err)
				}
			}
			if n := fsys.Count(errorfs.Datasync); n != 4 {
				t.Errorf("%d datasyncs counted", n)
			}
		})
	}
}

func TestFailedWriteWritesNothingOrAPart(t *testing.T) {
	mem := vfs.NewMem(nil)
	fsys := errorfs.Wrap(mem, nil)
	f := create(t, fsys, "/a")
	fsys.Set(errorfs.OnKind(errorfs.Write, syscall.ENOSPC))
	if n, err := f.WriteAt([]byte("abc"), 0); n != 0 || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("wrote %d, %v", n, err)
	}
	fsys.Set(errorfs.OnKind(errorfs.Write, &errorfs.ShortWrite{N: 2, Err: syscall.ENOSPC}))
	if n, err := f.WriteAt([]byte("xyz"), 0); n != 2 || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("wrote %d, %v", n, err)
	}
	if got, err := vfs.ReadFile(mem, "/a", 10); err != nil || string(got) != "xy" {
		t.Fatalf("file holds %q, %v", got, err)
	}
}

func TestOpTellsKindRangeAndCount(t *testing.T) {
	var ops []errorfs.Op
	fsys := errorfs.Wrap(vfs.NewMem(nil), func(op errorfs.Op) error { ops = append(ops, op); return nil })
	f := create(t, fsys, "/a")
	for range 2 {
		_, err := f.WriteAt([]byte("abc"), 7)
		must(t, err)
	}
	_, err := f.ReadAt(make([]byte, 2), 8)
	must(t, err)
	must(t, fsys.Rename("/a", "/b"))
	want := []errorfs.Op{
		{Kind: errorfs.Create, Path: "/a", N: 1},
		{Kind: errorfs.Write, Path: "/a", Offset: 7, Length: 3, N: 1},
		{Kind: errorfs.Write, Path: "/a", Offset: 7, Length: 3, N: 2},
		{Kind: errorfs.Read, Path: "/a", Offset: 8, Length: 2, N: 1},
		{Kind: errorfs.Rename, Path: "/a", N: 1},
	}
	if len(ops) != len(want) {
		t.Fatalf("operations %+v", ops)
	}
	for i := range want {
		if ops[i] != want[i] {
			t.Errorf("operation %d is %+v, want %+v", i, ops[i], want[i])
		}
	}
}

// TestEveryCallCanFail calls everything once with everything failing.
func TestEveryCallCanFail(t *testing.T) {
	fsys := errorfs.Wrap(vfs.NewMem(nil), nil)
	f := create(t, fsys, "/a")
	must(t, f.Truncate(10))
	boom := errors.New("boom")
	fsys.Set(func(errorfs.Op) error { return boom })
	calls := map[string]func() error{
		"open":      func() error { _, err := fsys.Open("/a", 0); return err },
		"create":    func() error { _, err := fsys.Open("/b", vfs.Create); return err },
		"remove":    func() error { return fsys.Remove("/a") },
		"rename":    func() error { return fsys.Rename("/a", "/b") },
		"mkdirall":  func() error { return fsys.MkdirAll("/d") },
		"readdir":   func() error { _, err := fsys.ReadDir("/"); return err },
		"stat":      func() error { _, err := fsys.Stat("/a"); return err },
		"syncdir":   func() error { return fsys.SyncDir("/") },
		"lock":      func() error { _, err := fsys.Lock("/lock"); return err },
		"diskusage": func() error { _, err := fsys.DiskUsage("/"); return err },
		"read":      func() error { _, err := f.ReadAt(make([]byte, 1), 0); return err },
		"write":     func() error { _, err := f.WriteAt([]byte("x"), 0); return err },
		"sync":      f.Sync,
		"datasync":  f.Datasync,
		"truncate":  func() error { return f.Truncate(3) },
		"allocate":  func() error { return f.Allocate(0, 1) },
		"map":       func() error { _, err := f.Map(10); return err },
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, boom) || fsys.Count(kind(t, name)) == 0 {
			t.Errorf("%s: %v, counted %d", name, err, fsys.Count(kind(t, name)))
		}
	}
	if err := f.Close(); !errors.Is(err, boom) {
		t.Errorf("close: %v", err)
	}
	fsys.Set(nil)
	if _, err := f.Stat(); !errors.Is(err, vfs.ErrClosed) {
		t.Errorf("a failed close left the file open: %v", err)
	}
}

func kind(t *testing.T, name string) errorfs.Kind {
	for k := errorfs.Open; k <= errorfs.Close; k++ {
		if k.String() == name {
			return k
		}
	}
	t.Fatalf("no kind %q", name)
	return 0
}
