package segment

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/weirmq/weir/core/internal/vfs"
)

// each runs test against the real disk and the one in memory.
func each(t *testing.T, test func(t *testing.T, fsys vfs.FS, dir string)) {
	t.Run("os", func(t *testing.T) { test(t, vfs.OS{}, filepath.Join(t.TempDir(), "store", "commitlog")) })
	t.Run("mem", func(t *testing.T) { test(t, vfs.NewMem(nil), "/store/commitlog") })
}

func open(t *testing.T, fsys vfs.FS, dir string, size int64, opts Options) *Files {
	t.Helper()
	f, err := OpenDir(fsys, dir, size, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func create(t *testing.T, f *Files, n int) {
	t.Helper()
	for range n {
		if _, err := f.Create(f.End()); err != nil {
			t.Fatal(err)
		}
	}
}

func write(t *testing.T, f *Files, pos int64, s string) {
	t.Helper()
	if err := f.WriteAt(pos, []byte(s)); err != nil {
		t.Fatal(err)
	}
}

func TestWriteViewReadReopen(t *testing.T) {
	each(t, func(t *testing.T, fsys vfs.FS, dir string) {
		f := open(t, fsys, dir, 4096, Options{})
		create(t, f, 2)
		write(t, f, 4090, "012345")
		write(t, f, 4096, "next")
		if err := f.Datasync(0, f.End()); err != nil {
			t.Fatal(err)
		}
		check := func(f *Files) {
			t.Helper()
			v, err := f.View(4090, 6)
			if err != nil {
				t.Fatal(err)
			}
			defer v.Release()
			if !bytes.Equal(v.Bytes(), []byte("012345")) || cap(v.Bytes()) != 6 {
				t.Fatalf("view holds %q, cap %d", v.Bytes(), cap(v.Bytes()))
			}
			buf := make([]byte, 5)
			if err := f.ReadAt(4096, buf); err != nil || string(buf) != "next\x00" {
				t.Fatalf("read %q, %v", buf, err)
			}
		}
		check(f)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		check(open(t, fsys, dir, 4096, Options{}))
		check(open(t, fsys, dir, 4096, Options{ReadOnly: true}))
	})
}
