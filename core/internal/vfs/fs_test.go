package vfs_test

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weirmq/weir/core/internal/vfs"
)

// each runs test against every file system, in an empty directory.
func each(t *testing.T, test func(t *testing.T, fsys vfs.FS, dir string)) {
	t.Run("os", func(t *testing.T) { test(t, vfs.OS{}, t.TempDir()) })
	t.Run("mem", func(t *testing.T) {
		m := vfs.NewMem(nil)
		if err := m.MkdirAll("/tmp/dir"); err != nil {
			t.Fatal(err)
		}
		test(t, m, "/tmp/dir")
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, fsys vfs.FS, path, content string) {
	t.Helper()
	f, err := fsys.Open(path, vfs.Create|vfs.Truncate)
	must(t, err)
	_, err = f.WriteAt([]byte(content), 0)
	must(t, err)
	must(t, f.Close())
}

func get(t *testing.T, fsys vfs.FS, path string) string {
	t.Helper()
	data, err := vfs.ReadFile(fsys, path, 1<<20)
	must(t, err)
	return string(data)
}

func TestOpenFlags(t *testing.T) {
	cases := []struct {
		name    string
		there   bool
		flag    vfs.Flag
		err     error
		size    int64 // after opening
		writing error
	}{
		{"read what is missing", false, vfs.ReadOnly, vfs.ErrNotExist, 0, nil},
		{"write what is missing", false, vfs.ReadWrite, vfs.ErrNotExist, 0, nil},
		{"read only", true, vfs.ReadOnly, nil, 3, syscall.EBADF},
		{"read and write", true, vfs.ReadWrite, nil, 3, nil},
		{"create", false, vfs.Create, nil, 0, nil},
		{"create what is there", true, vfs.Create, nil, 3, nil},
		{"exclusive", false, vfs.Create | vfs.Exclusive, nil, 0, nil},
		{"exclusive when it is there", true, vfs.Create | vfs.Exclusive, vfs.ErrExist, 3, nil},
		{"truncate", true, vfs.Truncate, nil, 0, nil},
		{"create and truncate", true, vfs.Create | vfs.Truncate, nil, 0, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, fsys vfs.FS, dir string) {
				path := filepath.Join(dir, "f")
				if c.there {
					put(t, fsys, path, "abc")
				}
				f, err := fsys.Open(path, c.flag)
				if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
					t.Fatalf("open: %v, want %v", err, c.err)
				}
				if err != nil {
					return
				}
				defer f.Close()
				info, err := f.Stat()
				must(t, err)
				if info.Size != c.size || info.Name != "f" || info.IsDir {
					t.Fatalf("stat: %+v, want size %d", info, c.size)
				}
				if _, err := f.WriteAt([]byte("x"), 0); !errors.Is(err, c.writing) || (err == nil) != (c.writing == nil) {
					t.Fatalf("write: %v, want %v", err, c.writing)
				}
			})
		})
	}
}

func TestReadWriteTruncate(t *testing.T) {
	each(t, func(t *testing.T, fsys vfs.FS, dir string) {
		f, err := fsys.Open(filepath.Join(dir, "f"), vfs.Create)
		must(t, err)
		defer f.Close()
		_, err = f.WriteAt([]byte("end"), 5)
		must(t, err)
		buf := make([]byte, 10)
		n, err := f.ReadAt(buf, 0)
		if n != 8 || !errors.Is(err, io.EOF) || !bytes.Equal(buf[:n], []byte("\x00\x00\x00\x00\x00end")) {
			t.Fatalf("read %d %q, %v", n, buf[:n], err)
		}
		if n, err := f.ReadAt(buf[:3], 5); n != 3 || err != nil {
			t.Fatalf("read to the end: %d, %v", n, err)
		}
		if n, err := f.ReadAt(buf, 8); n != 0 || !errors.Is(err, io.EOF) {
			t.Fatalf("read at the end: %d, %v", n, err)
		}
		must(t, f.Truncate(6))
		must(t, f.Truncate(9))
		n, _ = f.ReadAt(buf, 0)
		if want := "\x00\x00\x00\x00\x00e\x00\x00\x00"; string(buf[:n]) != want {
			t.Fatalf("after cutting and growing: %q, want %q", buf[:n], want)
		}
		if _, err := f.ReadAt(buf, -1); err == nil {
			t.Fatal("a negative offset was accepted")
		}
		if err := f.Allocate(0, 100); err != nil && !errors.Is(err, vfs.ErrUnsupported) {
			t.Fatal(err)
		}
		info, err := f.Stat()
		must(t, err)
		if info.Size != 9 {
			t.Fatalf("Allocate changed the size to %d", info.Size)
		}
		must(t, f.Sync())
		must(t, f.Datasync())
		must(t, f.Close())
		if err := f.Close(); !errors.Is(err, vfs.ErrClosed) {
			t.Fatalf("second close: %v", err)
		}
		if _, err := f.WriteAt([]byte("x"), 0); !errors.Is(err, vfs.ErrClosed) {
			t.Fatalf("write after close: %v", err)
		}
	})
}

func TestNames(t *testing.T) {
	each(t, func(t *testing.T, fsys vfs.FS, dir string) {
		a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
		put(t, fsys, b, "bb")
		put(t, fsys, a, "a")
		must(t, fsys.MkdirAll(filepath.Join(dir, "c", "d")))
		must(t, fsys.MkdirAll(filepath.Join(dir, "c", "d")))
		entries, err := fsys.ReadDir(dir)
		must(t, err)
		var names []string
		for _, e := range entries {
			names = append(names, e.Name)
		}
		if strings.Join(names, " ") != "a b c" || entries[1].Size != 2 || entries[1].IsDir || !entries[2].IsDir {
			t.Fatalf("entries %+v", entries)
		}
		old, err := fsys.Open(b, vfs.ReadOnly)
		must(t, err)
		defer old.Close()
		must(t, fsys.Rename(a, b))
		if got := get(t, fsys, b); got != "a" {
			t.Fatalf("b holds %q after the rename", got)
		}
		if _, err := fsys.Stat(a); !errors.Is(err, vfs.ErrNotExist) {
			t.Fatalf("a after the rename: %v", err)
		}
		buf := make([]byte, 2)
		if _, err := old.ReadAt(buf, 0); err != nil || string(buf) != "bb" {
			t.Fatalf("the replaced file reads %q, %v", buf, err)
		}
		must(t, fsys.SyncDir(dir))

		failing := []struct {
			name string
			err  error
			want error
		}{
			{"remove a directory that is not empty", fsys.Remove(filepath.Join(dir, "c")), syscall.ENOTEMPTY},
			{"remove what is missing", fsys.Remove(a), vfs.ErrNotExist},
			{"rename what is missing", fsys.Rename(a, b), vfs.ErrNotExist},
			{"make a directory over a file", fsys.MkdirAll(b), syscall.ENOTDIR},
			{"sync a missing directory", fsys.SyncDir(a), vfs.ErrNotExist},
		}
		for _, c := range failing {
			if !errors.Is(c.err, c.want) {
				t.Errorf("%s: %v, want %v", c.name, c.err, c.want)
			}
		}
		if _, err := fsys.ReadDir(a); !errors.Is(err, vfs.ErrNotExist) {
			t.Errorf("list a missing directory: %v", err)
		}
		if _, err := fsys.Open(filepath.Join(dir, "x", "y"), vfs.Create); !errors.Is(err, vfs.ErrNotExist) {
			t.Errorf("create in a missing directory: %v", err)
		}
		must(t, fsys.Remove(filepath.Join(dir, "c", "d")))
		must(t, fsys.Remove(filepath.Join(dir, "c")))
	})
}

func TestMapShowsLaterWritesAndOutlivesTheFile(t *testing.T) {
	each(t, func(t *testing.T, fsys vfs.FS, dir string) {
		path := filepath.Join(dir, "f")
		f, err := vfs.CreateSized(fsys, path, 8192)
		must(t, err)
		m, err := f.Map(8192)
		must(t, err)
		_, err = f.WriteAt([]byte("weir"), 4094)
		must(t, err)
		must(t, f.Close())
		must(t, fsys.Remove(path))
		if got := m.Bytes()[4094:4098]; string(got) != "weir" || len(m.Bytes()) != 8192 {
			t.Fatalf("mapping of %d bytes holds %q", len(m.Bytes()), got)
		}
		if !m.Resident(4090, 10) {
			t.Error("bytes just written are not resident")
		}
		if m.Resident(8190, 3) {
			t.Error("bytes outside the mapping are resident")
		}
		must(t, m.Close())
	})
}

func TestMapRefusesMoreThanTheFile(t *testing.T) {
	each(t, func(t *testing.T, fsys vfs.FS, dir string) {
		f, err := vfs.CreateSized(fsys, filepath.Join(dir, "f"), 100)
		must(t, err)
		defer f.Close()
		if _, err := f.Map(101); err == nil || !strings.Contains(err.Error(), "101 bytes asked for, the file has 100") {
			t.Fatalf("map: %v", err)
		}
	})
}

func TestCreateSized(t *testing.T) {
	each(t, func(t *testing.T, fsys vfs.FS, dir string) {
		path := filepath.Join(dir, "f")
		f, err := vfs.CreateSized(fsys, path, 1<<30)
		must(t, err)
		must(t, f.Close())
		info, err := fsys.Stat(path)
		must(t, err)
		if info.Size != 1<<30 || time.Since(info.ModTime) > time.Hour {
			t.Fatalf("%+v", info)
		}
		if _, err := vfs.CreateSized(fsys, path, 5); !errors.Is(err, vfs.ErrExist) {
			t.Fatalf("second creation: %v", err)
		}
	})
}

func TestDiskUsage(t *testing.T) {
	each(t, func(t *testing.T, fsys vfs.FS, dir string) {
		u, err := fsys.DiskUsage(dir)
		must(t, err)
		if u.Total == 0 || u.Free > u.Total || u.Available > u.Free {
			t.Fatalf("%+v", u)
		}
		if _, err := fsys.DiskUsage(filepath.Join(dir, "missing")); !errors.Is(err, vfs.ErrNotExist) {
			t.Fatalf("missing directory: %v", err)
		}
	})
}

func TestUsedRatio(t *testing.T) {
	cases := []struct {
		usage vfs.DiskUsage
		want  float64
	}{
		{vfs.DiskUsage{}, 0},
		{vfs.DiskUsage{Total: 100, Free: 25, Available: 20}, 0.75},
		{vfs.DiskUsage{Total: 100, Free: 100}, 0},
		{vfs.DiskUsage{Total: 100, Free: 101}, 0},
	}
	for _, c := range cases {
		if got := c.usage.UsedRatio(); got != c.want {
			t.Errorf("%+v: %v, want %v", c.usage, got, c.want)
		}
	}
}

func TestReadFileRefusesMoreThanMax(t *testing.T) {
	each(t, func(t *testing.T, fsys vfs.FS, dir string) {
		path := filepath.Join(dir, "f")
		put(t, fsys, path, "12345")
		if _, err := vfs.ReadFile(fsys, path, 4); err == nil || !strings.HasSuffix(err.Error(), "5 bytes are more than the 4 allowed") {
			t.Fatalf("read: %v", err)
		}
		if data, err := vfs.ReadFile(fsys, path, 5); err != nil || string(data) != "12345" {
			t.Fatalf("read: %q, %v", data, err)
		}
	})
}

func TestMkdirAllTellsWhatToSync(t *testing.T) {
	each(t, func(t *testing.T, fsys vfs.FS, dir string) {
		got, err := vfs.MkdirAll(fsys, filepath.Join(dir, "a", "b"))
		must(t, err)
		if len(got) != 2 || got[0] != dir || got[1] != filepath.Join(dir, "a") {
			t.Fatalf("sync %q", got)
		}
		got, err = vfs.MkdirAll(fsys, filepath.Join(dir, "a", "b"))
		if err != nil || len(got) != 0 {
			t.Fatalf("again: sync %q, %v", got, err)
		}
	})
}
