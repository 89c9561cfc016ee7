package verdict

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/internal/vfs/errorfs"
	"github.com/weirmq/weir/core/message"
)

const firstFile = "/store/weir/verdicts/T/3/0102030000000000000000000000000000000000000000000000000000000000/00000000000000000000"

// written puts 200 verdicts, saves them, and returns the file's bytes.
func written(t testing.TB, fs vfs.FS, x *fakeIndex) []byte {
	t.Helper()
	cs := openCovers(t, fs, x)
	put(cs.Cover(testQueue, testKey), x, 0, 200, multiplesOf(3))
	cs.Close()
	data, err := vfs.ReadFile(fs, firstFile, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The bytes of a file are those that the package comment draws.
func TestFileFormat(t *testing.T) {
	x := &fakeIndex{high: 1000, start: 5000, shift: 77}
	data := written(t, vfs.NewMem(nil), x)
	be := binary.BigEndian
	var want []byte
	want = append(want, "WEIRVRDT"...)
	want = be.AppendUint32(want, 1)
	want = append(want, data[12:16]...)
	want = append(want, testKey[:]...)
	want = be.AppendUint64(want, 0)
	want = be.AppendUint32(want, 3)
	want = be.AppendUint32(want, 0)
	for _, v := range []uint64{0, 5000, 77, 191, 5000 + 19100, 191 + 77} {
		want = be.AppendUint64(want, v)
	}
	want = append(want, make([]byte, 16)...)
	want = be.AppendUint64(want, 0b111)
	want = append(want, make([]byte, 15*8)...)
	for _, hexWord := range []string{"9249249249249249", "4924924924924924", "2492492492492492"} {
		b, _ := hex.DecodeString(hexWord)
		want = append(want, b...)
	}
	want = append(want, make([]byte, 8448-len(want))...)
	if !bytes.Equal(data, want) {
		for i := range want {
			if i >= len(data) || data[i] != want[i] {
				t.Fatalf("%d bytes, want %d; the first that differs is at %d", len(data), len(want), i)
			}
		}
	}
	if got := be.Uint32(data[12:]); got != checksum(data) || got == 0 {
		t.Errorf("checksum %x", got)
	}
}

// A file of which any byte has changed, or a part is missing, doesn't count, and is removed.
func TestDamagedFile(t *testing.T) {
	x := &fakeIndex{high: BlockEntries + 10}
	fs := vfs.NewMem(nil)
	good := written(t, fs, x)
	refuse := func(what string, data []byte) {
		t.Helper()
		f, err := fs.Open(firstFile, vfs.Create|vfs.Truncate)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt(data, 0); err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		cs := openCovers(t, fs, x)
		got, end := matches(cs.Cover(testQueue, testKey), 0, 192)
		if bytes.Equal(data, good) {
			if len(got) != 64 || end != 192 {
				t.Errorf("%s: %d matches up to %d", what, len(got), end)
			}
			return
		}
		if end != 0 || cs.Stats().Refused != 1 {
			t.Errorf("%s: counts up to %d", what, end)
		}
		if ok, _ := vfs.Exists(fs, firstFile); ok {
			t.Errorf("%s: the file is still there", what)
		}
	}
	refuse("whole", good)
	for at := 0; at < len(good); at++ {
		if at > 400 && at%97 != 0 {
			continue
		}
		data := slices.Clone(good)
		data[at] ^= 1 << (at % 8)
		refuse(fmt.Sprintf("byte %d", at), data)
	}
	for _, n := range []int{0, 1, 15, 128, 8447} {
		refuse(fmt.Sprintf("%d bytes", n), good[:n])
	}
	refuse("a byte more", append(slices.Clone(good), 0))
}

// Files with a good checksum that make no sense are refused with the reason.
func TestParseRefuses(t *testing.T) {
	x := &fakeIndex{high: 1000}
	good := written(t, vfs.NewMem(nil), x)
	put64 := func(at int, v uint64) func([]byte) {
		return func(b []byte) { binary.BigEndian.PutUint64(b[at:], v) }
	}
	for _, c := range []struct {
		what   string
		change func([]byte)
		want   string
	}{
		{"version", func(b []byte) { b[11] = 2 }, "the file has version 2, want 1"},
		{"key", func(b []byte) { b[20]++ }, "the file is another program's"},
		{"offset", put64(48, BlockEntries), "the file is another block's"},
		{"queue", func(b []byte) { b[59] = 4 }, "the file is another block's"},
		{"bits of an undecided word", put64(bitsAt+8*5, 1), "word 5 has verdicts and isn't decided"},
		{"nothing decided", func(b []byte) { clear(b[decidedAt:]) }, "the marks don't fit the decided words"},
		{"last mark", put64(88, 190), "the marks don't fit the decided words"},
		{"first mark", put64(64, 192), "the marks don't fit the decided words"},
		{"negative first mark", put64(64, 1<<63), "the marks don't fit the decided words"},
	} {
		t.Run(c.what, func(t *testing.T) {
			data := slices.Clone(good)
			c.change(data)
			binary.BigEndian.PutUint32(data[12:], checksum(data))
			b := &block{}
			if err := b.parse(data, testKey, testQueue.ID); err == nil || err.Error() != c.want {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
}

// FuzzParse reads anything as a block's file. What is taken is written again as it was.
func FuzzParse(f *testing.F) {
	x := &fakeIndex{high: 1000}
	good := written(f, vfs.NewMem(nil), x)
	f.Add(good)
	f.Add(good[:100])
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == blockSize {
			data = slices.Clone(data)
			binary.BigEndian.PutUint32(data[12:], checksum(data))
		}
		b := &block{}
		if b.parse(data, testKey, testQueue.ID) != nil {
			return
		}
		again := b.append(nil, testKey, testQueue.ID)
		binary.BigEndian.PutUint32(data[60:], 0) // not looked at
		clear(data[112:decidedAt])
		binary.BigEndian.PutUint32(data[12:], checksum(data))
		if !bytes.Equal(again, data) {
			t.Error("the block is written otherwise than it was read")
		}
	})
}

// A stored block counts only while its marks are the queue's.
func TestCheckedWhenLoaded(t *testing.T) {
	for _, c := range []struct {
		what   string
		change func(*fakeIndex)
		counts bool
	}{
		{"nothing", func(*fakeIndex) {}, true},
		{"the queue has grown", func(x *fakeIndex) { x.high = 2000 }, true},
		{"the first entry has gone", func(x *fakeIndex) { x.low = 50 }, true},
		{"the last entry has gone", func(x *fakeIndex) { x.low = 195 }, false},
		{"other positions", func(x *fakeIndex) { x.start = 7 }, false},
		{"other store times", func(x *fakeIndex) { x.shift++ }, false},
		{"no store times", func(x *fakeIndex) { x.timeless = true }, false},
		{"no queue", func(x *fakeIndex) { x.gone = true }, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			fs := vfs.NewMem(nil)
			x := &fakeIndex{high: 1000}
			written(t, fs, x)
			cs := openCovers(t, fs, x) // as it was
			c.change(x)
			u := Cursor{}
			u.Begin(cs.Cover(testQueue, testKey))
			_, what := u.Find(101, 192, 5)
			if counts := what == Match; counts != c.counts {
				t.Errorf("counts: %v", counts)
			}
		})
	}
}

// Open removes, durably and before it returns, what goes beyond the queue or lies in front of it, what has no queue, and
// what isn't a cover's.
func TestOpenCuts(t *testing.T) {
	const topic = "/store/weir/verdicts/T"
	queueDir := topic + "/3"
	coverDir := queueDir + "/" + hex.EncodeToString(testKey[:])
	name := func(block int) string { return fmt.Sprintf("%s/%020d", coverDir, block*BlockEntries) }
	for _, c := range []struct {
		what  string
		x     *fakeIndex
		extra string // a file or, ending with /, a directory
		want  []string
	}{
		{"all is in the queue", &fakeIndex{high: 3 * BlockEntries}, "", []string{name(0), name(1), name(2)}},
		{"the end is behind what is decided", &fakeIndex{high: 2*BlockEntries + 128}, "", []string{name(0), name(1), name(2)}},
		{"the end is in what is decided", &fakeIndex{high: 2*BlockEntries + 127}, "", []string{name(0), name(1)}},
		{"the end is a block's", &fakeIndex{high: 2 * BlockEntries}, "", []string{name(0), name(1)}},
		{"the end is in a whole block", &fakeIndex{high: BlockEntries + 1}, "", []string{name(0)}},
		{"the queue is empty", &fakeIndex{}, "", nil},
		{"the queue has lost its beginning", &fakeIndex{low: BlockEntries, high: 3 * BlockEntries}, "", []string{name(1), name(2)}},
		{"there is no queue", &fakeIndex{gone: true}, "", nil},
		{"another topic's", &fakeIndex{high: 3 * BlockEntries}, "/store/weir/verdicts/U/0/x", []string{name(0), name(1), name(2)}},
		{"another queue's", &fakeIndex{high: 3 * BlockEntries}, topic + "/4/x", []string{name(0), name(1), name(2)}},
		{"no queue's name", &fakeIndex{high: 3 * BlockEntries}, topic + "/+3/x", []string{name(0), name(1), name(2)}},
		{"no key", &fakeIndex{high: 3 * BlockEntries}, queueDir + "/0102/x", []string{name(0), name(1), name(2)}},
		{"no offset", &fakeIndex{high: 3 * BlockEntries}, coverDir + "/00000000000000000001", []string{name(0), name(1), name(2)}},
		{"a short offset", &fakeIndex{high: 3 * BlockEntries}, coverDir + "/65536", []string{name(0), name(1), name(2)}},
		{"a file of nobody", &fakeIndex{high: 3 * BlockEntries}, "/store/weir/verdicts/README", []string{name(0), name(1), name(2)}},
		{"a file in place of a block's directory", &fakeIndex{high: 3 * BlockEntries}, coverDir + "/00000000000000196608/x", []string{name(0), name(1), name(2)}},
	} {
		t.Run(c.what, func(t *testing.T) {
			fs := vfs.NewMem(nil)
			before := &fakeIndex{high: 3 * BlockEntries}
			cs := openCovers(t, fs, before)
			cover := cs.Cover(testQueue, testKey)
			put(cover, before, 0, 2*BlockEntries+128, multiplesOf(5))
			cs.Close()
			if c.extra != "" {
				if err := fs.MkdirAll(filepath.Dir(c.extra)); err != nil {
					t.Fatal(err)
				}
				f, err := fs.Open(c.extra, vfs.Create)
				if err != nil {
					t.Fatal(err)
				}
				_ = f.Close()
			}
			syncAll(t, fs, "/")
			openCovers(t, fs, c.x)
			if got := files(t, fs.CrashClone(vfs.Crash{}), "/store/weir/verdicts"); !slices.Equal(got, c.want) {
				t.Errorf("files after a power cut:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

func syncAll(t *testing.T, fs vfs.FS, dir string) {
	t.Helper()
	list, err := fs.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		path := filepath.Join(dir, f.Name)
		if f.IsDir {
			syncAll(t, fs, path)
			continue
		}
		file, err := fs.Open(path, vfs.ReadWrite)
		if err == nil {
			err = errors.Join(file.Sync(), file.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := fs.SyncDir(dir); err != nil {
		t.Fatal(err)
	}
}

// What Open can't remove it refuses to live with.
func TestOpenCantCut(t *testing.T) {
	mem := vfs.NewMem(nil)
	x := &fakeIndex{high: 1000}
	written(t, mem, x)
	x.high = 100
	for _, kind := range []errorfs.Kind{errorfs.Remove, errorfs.SyncDir} {
		set := Settings{FS: errorfs.Wrap(mem.KillClone(), errorfs.OnKind(kind, syscall.EIO)), Dir: "/store/weir/verdicts", Index: x, CacheSize: 1, DiskSize: 1 << 20}
		_, err := Open(set)
		if err == nil || !strings.HasPrefix(err.Error(), "cut the verdicts in /store/weir/verdicts to their queues; remove that directory, nothing is lost by it: ") {
			t.Errorf("%v: %v", kind, err)
		}
	}
}

// Verdicts survive a restart, and eviction from a cache that is too small, by their files.
func TestSavedAndEvicted(t *testing.T) {
	fs := vfs.NewMem(nil)
	x := &fakeIndex{high: 5 * BlockEntries}
	small := func(s *Settings) { s.CacheSize = 2 * blockMemory }
	cs := openCovers(t, fs, x, small)
	put(cs.Cover(testQueue, testKey), x, 0, 5*BlockEntries, multiplesOf(1000))
	check := func(cs *Covers) {
		t.Helper()
		got, end := matches(cs.Cover(testQueue, testKey), 0, 5*BlockEntries)
		if len(got) != (5*BlockEntries+999)/1000 || end != 5*BlockEntries {
			t.Errorf("%d matches up to %d", len(got), end)
		}
		if s := cs.Stats(); s.Blocks > 2 || s.Refused != 0 {
			t.Errorf("%+v", s)
		}
	}
	check(cs)
	cs.Close()
	check(openCovers(t, fs, x, small))
	if n := len(files(t, fs, "/store/weir/verdicts")); n != 5 {
		t.Errorf("%d files, want 5", n)
	}
}

// Blocks that the queue has lost are removed, and covers whose queue is gone.
func TestExpire(t *testing.T) {
	fs := vfs.NewMem(nil)
	x := &fakeIndex{high: 3 * BlockEntries}
	cs := openCovers(t, fs, x)
	c := cs.Cover(testQueue, testKey)
	put(c, x, 0, 3*BlockEntries, multiplesOf(7))
	for _, step := range []struct {
		change func()
		files  int
	}{
		{func() {}, 3},
		{func() { x.low = BlockEntries - 1 }, 3},
		{func() { x.low = BlockEntries }, 2},
		{func() { x.low = 3 * BlockEntries }, 0},
	} {
		x.set(step.change)
		cs.Maintain()
		if n := len(files(t, fs, "/store/weir/verdicts")); n != step.files || int64(n) != cs.Stats().Files {
			t.Errorf("low %d: %d files, counted %d, want %d", x.low, n, cs.Stats().Files, step.files)
		}
	}
	x.set(func() { x.gone = true })
	cs.Maintain()
	if cs.Stats().Covers != 0 || c.Alive() {
		t.Error("the cover of a queue that is gone is alive")
	}
}

// A full disk costs nothing but the cover of what isn't in memory; after a while files are written again.
func TestFullDisk(t *testing.T) {
	mem := vfs.NewMem(nil)
	fs := errorfs.Wrap(mem, nil)
	x := &fakeIndex{high: 3 * BlockEntries}
	cs := openCovers(t, fs, x, func(s *Settings) { s.CacheSize = blockMemory })
	fs.Set(errorfs.OnKind(errorfs.Write, syscall.ENOSPC))
	c := cs.Cover(testQueue, testKey)
	put(c, x, 0, BlockEntries, multiplesOf(2))
	cs.Maintain()
	if got, end := matches(c, 0, 3*BlockEntries); end != BlockEntries || len(got) != BlockEntries/2 {
		t.Errorf("in memory: %d matches up to %d", len(got), end)
	}
	if s := cs.Stats(); s.Failed != 1 || s.Files != 0 || len(files(t, mem, "/store")) != 0 {
		t.Errorf("%+v, files %v", s, files(t, mem, "/store"))
	}
	fs.Set(nil)
	cs.Maintain()
	if s := cs.Stats(); s.Written != 0 {
		t.Errorf("written at once: %+v", s)
	}
	for range pauseTicks {
		cs.Maintain()
	}
	if s := cs.Stats(); s.Written != 1 || s.Files != 1 {
		t.Errorf("after a while: %+v", s)
	}
	put(c, x, BlockEntries, BlockEntries, multiplesOf(2)) // the first block is evicted
	if got, end := matches(c, 0, 3*BlockEntries); end != 2*BlockEntries || len(got) != BlockEntries {
		t.Errorf("from the file: %d matches up to %d", len(got), end)
	}
}

// There are never more files than allowed; those of the covers that were used least recently make room.
func TestDiskSize(t *testing.T) {
	fs := vfs.NewMem(nil)
	x := &fakeIndex{high: 20 * BlockEntries}
	cs := openCovers(t, fs, x, func(s *Settings) { s.DiskSize = 8 * blockSize })
	for i := range byte(4) {
		put(cs.Cover(testQueue, filter.Key{i + 1}), x, 0, 3*BlockEntries, multiplesOf(2))
		cs.Maintain()
		if n := len(files(t, fs, "/store/weir/verdicts")); n > 8 || int64(n) != cs.Stats().Files {
			t.Fatalf("%d files, counted %d", n, cs.Stats().Files)
		}
	}
	if cs.Stats().Full == 0 {
		t.Error("nothing was refused")
	}
	kept := files(t, fs, "/store/weir/verdicts")
	if len(kept) == 0 || strings.Contains(kept[0], "/0100") {
		t.Errorf("kept %v: the oldest cover should have gone first", kept)
	}
}

// Forget ends a topic's covers, and what is on the disk of them, durably, until Allow.
func TestForget(t *testing.T) {
	fs := vfs.NewMem(nil)
	x := &fakeIndex{high: 1000}
	cs := openCovers(t, fs, x)
	c := cs.Cover(testQueue, testKey)
	put(c, x, 0, 640, multiplesOf(2))
	cs.Maintain()
	syncAll(t, fs, "/")
	var u Cursor
	u.Begin(c)
	if err := cs.Forget("T"); err != nil {
		t.Fatal(err)
	}
	if c.Alive() || u.Open() || cs.Cover(testQueue, testKey) != nil {
		t.Error("there is a cover")
	}
	put(c, x, 640, 64, multiplesOf(2))
	cs.Maintain()
	if list := files(t, fs.CrashClone(vfs.Crash{}), "/store/weir"); len(list) != 0 {
		t.Errorf("files are left after a power cut: %v", list)
	}
	other := message.QueueKey{Topic: "U"}
	if cs.Cover(other, testKey) == nil {
		t.Error("another topic has no cover")
	}
	cs.Allow("T")
	c = cs.Cover(testQueue, testKey)
	if _, end := matches(c, 0, 1000); end != 0 {
		t.Error("old verdicts are back")
	}
}

// Remove removes everything, and doesn't mind when there is nothing.
func TestRemove(t *testing.T) {
	fs := vfs.NewMem(nil)
	written(t, fs, &fakeIndex{high: 1000})
	syncAll(t, fs, "/")
	for range 2 {
		if err := Remove(fs, "/store/weir/verdicts"); err != nil {
			t.Fatal(err)
		}
	}
	if list := files(t, fs.CrashClone(vfs.Crash{}), "/store"); len(list) != 0 {
		t.Error(list)
	}
}

// There are never more covers than allowed; those that were used least recently make room.
func TestCoversMax(t *testing.T) {
	x := &fakeIndex{high: 1000}
	cs := openCovers(t, vfs.NewMem(nil), x)
	cs.coversMax = 8
	for i := range byte(8) {
		put(cs.Cover(testQueue, filter.Key{i + 1}), x, 0, 64, multiplesOf(2))
		cs.tick.Add(1)
	}
	if cs.Cover(testQueue, filter.Key{9}) != nil {
		t.Error("there is a ninth cover")
	}
	cs.Maintain()
	if n := cs.Stats().Covers; n != 6 {
		t.Errorf("%d covers are left, want 6", n)
	}
	if _, end := matches(cs.Cover(testQueue, filter.Key{8}), 0, 64); end != 64 {
		t.Error("the newest cover has gone")
	}
	if _, end := matches(cs.Cover(testQueue, filter.Key{1}), 0, 64); end != 0 {
		t.Error("the oldest cover hasn't gone")
	}
}
