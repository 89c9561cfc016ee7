package segment

import (
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/internal/vfs/errorfs"
)

// lay puts files of given sizes into dir; a size of -1 is a directory.
func lay(t *testing.T, fsys vfs.FS, dir string, files map[string]int64) {
	t.Helper()
	if err := fsys.MkdirAll(dir); err != nil {
		t.Fatal(err)
	}
	for name, size := range files {
		path := filepath.Join(dir, name)
		if size < 0 {
			if err := fsys.MkdirAll(path); err != nil {
				t.Fatal(err)
			}
			continue
		}
		f, err := fsys.Open(path, vfs.Create)
		if err == nil {
			err = errors.Join(f.Truncate(size), f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func names(t *testing.T, fsys vfs.FS, dir string) string {
	t.Helper()
	entries, err := fsys.ReadDir(dir)
	if err != nil && !errors.Is(err, vfs.ErrNotExist) {
		t.Fatal(err)
	}
	var n []string
	for _, e := range entries {
		n = append(n, e.Name)
	}
	return strings.Join(n, " ")
}

// changes counts the calls that change a disk.
func changes(f *errorfs.FS) (n int64) {
	for _, k := range []errorfs.Kind{errorfs.Create, errorfs.Remove, errorfs.Rename, errorfs.MkdirAll, errorfs.SyncDir,
		errorfs.Write, errorfs.Sync, errorfs.Datasync, errorfs.Truncate, errorfs.Allocate} {
		n += f.Count(k)
	}
	return n
}

func TestOpenRefusesAndTouchesNothing(t *testing.T) {
	const key = "store.segment_size"
	first, second, third, fourth := FileName(0), FileName(4096), FileName(8192), FileName(12288)
	cases := []struct {
		name  string
		files map[string]int64
		entry string
		want  string
	}{
		{"foreign name", map[string]int64{first: 4096, "README": 4096}, "README",
			"is not a segment (a file named by 20 digits); neither we nor RocketMQ start with it here: move it away"},
		{"temporary file", map[string]int64{first: 4096, second + ".tmp": 4096}, second + ".tmp",
			"is not a segment (a file named by 20 digits); neither we nor RocketMQ start with it here: move it away"},
		{"directory", map[string]int64{first: -1}, first,
			"is not a segment (a file named by 20 digits); neither we nor RocketMQ start with it here: move it away"},
		{"all of another size", map[string]int64{first: 1024, FileName(1024): 1024}, first,
			"has 1024 bytes, a segment must have exactly 4096; if the store was written with that segment size, set store.segment_size to 1024"},
		{"one of another size", map[string]int64{first: 4096, second: 4095}, second,
			"has 4095 bytes, a segment must have exactly 4096; move the file away if it does not belong here (the size is set by store.segment_size)"},
		{"empty before the last", map[string]int64{first: 4096, second: 0, third: 4096}, second,
			"has 0 bytes, a segment must have exactly 4096; move the file away if it does not belong here (the size is set by store.segment_size)"},
		{"two empty at the end", map[string]int64{first: 4096, second: 0, third: 0}, second,
			"has 0 bytes, a segment must have exactly 4096; move the file away if it does not belong here (the size is set by store.segment_size)"},
		{"not at a multiple", map[string]int64{FileName(100): 4096}, FileName(100),
			"does not begin at a multiple of the segment size 4096 (the size is set by store.segment_size)"},
		{"behind the last position", map[string]int64{FileName(math.MaxInt64 - 4095): 4096}, FileName(math.MaxInt64 - 4095),
			"does not begin at a multiple of the segment size 4096 (the size is set by store.segment_size)"},
		{"too large for a position", map[string]int64{"99999999999999999999": 4096}, "99999999999999999999",
			"is not a segment (a file named by 20 digits); neither we nor RocketMQ start with it here: move it away"},
		{"gap", map[string]int64{first: 4096, third: 4096, fourth: 4096}, third,
			"does not follow 00000000000000000000: bytes 4096 to 8192 are missing; bring the missing files back, or move away those on one side of the gap"},
		{"gap and an empty last file", map[string]int64{first: 4096, third: 4096, fourth: 0}, third,
			"does not follow 00000000000000000000: bytes 4096 to 8192 are missing; bring the missing files back, or move away those on one side of the gap"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, fsys vfs.FS, dir string) {
				lay(t, fsys, dir, c.files)
				before := names(t, fsys, dir)
				counted := errorfs.Wrap(fsys, nil)
				_, err := OpenDir(counted, dir, 4096, Options{SizeKey: key})
				var layout *LayoutError
				if !errors.As(err, &layout) || layout.Dir != dir || layout.Name != c.entry || layout.Reason != c.want {
					t.Fatalf("error %v\nwant reason %q for %s", err, c.want, c.entry)
				}
				if want := "open segments in " + dir + ": " + c.entry + " " + c.want; err.Error() != want {
					t.Fatalf("text %q, want %q", err, want)
				}
				if n := changes(counted); n != 0 || names(t, fsys, dir) != before {
					t.Fatalf("%d changes were made: %s", n, names(t, fsys, dir))
				}
			})
		})
	}
}

func TestWrongSizeNamesTheKeyInItsUnit(t *testing.T) {
	cases := []struct {
		size int64
		opts Options
		want string
	}{
		{2000, Options{SizeKey: "store.consume_queue_entries", SizeUnit: 20}, "set store.consume_queue_entries to 100"},
		{2010, Options{SizeKey: "store.consume_queue_entries", SizeUnit: 20}, "open it with that size"},
		{2000, Options{SizeKey: "store.segment_size"}, "set store.segment_size to 2000"},
		{2000, Options{}, "open it with that size"},
	}
	for _, c := range cases {
		m := vfs.NewMem(nil)
		lay(t, m, "/d", map[string]int64{FileName(0): c.size})
		_, err := OpenDir(m, "/d", 6000, c.opts)
		if err == nil || !strings.HasSuffix(err.Error(), "; if the store was written with that segment size, "+c.want) {
			t.Errorf("%d bytes, %+v: %v", c.size, c.opts, err)
		}
	}
}

func TestOpenAccepts(t *testing.T) {
	cases := []struct {
		name       string
		files      map[string]int64
		opts       Options
		after      string // names in the directory
		start, end int64
	}{
		{"nothing", nil, Options{}, "", 0, 0},
		{"one", map[string]int64{FileName(0): 4096}, Options{}, FileName(0), 0, 4096},
		{"old ones removed", map[string]int64{FileName(8192): 4096, FileName(12288): 4096}, Options{},
			FileName(8192) + " " + FileName(12288), 8192, 16384},
		{"empty last", map[string]int64{FileName(0): 4096, FileName(4096): 0}, Options{}, FileName(0), 0, 4096},
		{"only an empty one", map[string]int64{FileName(0): 0}, Options{}, "", 0, 0},
		{"empty last, read-only", map[string]int64{FileName(0): 4096, FileName(4096): 0}, Options{ReadOnly: true},
			FileName(0) + " " + FileName(4096), 0, 4096},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, fsys vfs.FS, dir string) {
				if c.files != nil {
					lay(t, fsys, dir, c.files)
				}
				counted := errorfs.Wrap(fsys, nil)
				f := open(t, counted, dir, 4096, c.opts)
				if f.Min() != c.start || f.End() != c.end {
					t.Errorf("covers %d to %d, want %d to %d", f.Min(), f.End(), c.start, c.end)
				}
				if got := names(t, fsys, dir); got != c.after {
					t.Errorf("directory holds %q, want %q", got, c.after)
				}
				if n := counted.Count(errorfs.Open) + counted.Count(errorfs.Map); n != 0 {
					t.Errorf("%d files were opened or mapped before they were used", n)
				}
			})
		})
	}
}

func TestOpenRefusesBadSizes(t *testing.T) {
	for _, size := range []int64{0, -1, math.MaxInt32 + 1} {
		if _, err := OpenDir(vfs.NewMem(nil), "/d", size, Options{}); err == nil {
			t.Errorf("size %d was accepted", size)
		}
	}
}

func TestFileName(t *testing.T) {
	cases := map[int64]string{
		0:                "00000000000000000000",
		1 << 30:          "00000000001073741824",
		13 << 30:         "00000000013958643712",
		math.MaxInt64:    "09223372036854775807",
		6_000_000 * 1000: "00000000006000000000",
	}
	for start, want := range cases {
		if got := FileName(start); got != want {
			t.Errorf("FileName(%d) = %s, want %s", start, got, want)
		}
		if got, ok := parseName(want); !ok || got != start {
			t.Errorf("parseName(%s) = %d, %v", want, got, ok)
		}
	}
}

func FuzzParseName(f *testing.F) {
	for _, s := range []string{"00000000001073741824", "0000000000107374182", "+0000000001073741824", "99999999999999999999",
		"09223372036854775808", "0000000000１", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if start, ok := parseName(name); ok && (start < 0 || FileName(start) != name) {
			t.Fatalf("%q parsed as %d, which is named %s", name, start, FileName(start))
		}
	})
}
