package consumequeue

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/internal/vfs/errorfs"
	"github.com/weirmq/weir/core/message"
)

var key = message.QueueKey{Topic: "T", ID: 0}

type bounds struct{ Min, Max, PhyEnd int64 }

func (q *Queue) bounds() bounds {
	first, end := q.Bounds()
	return bounds{int64(first), int64(end), int64(q.LogEnd())}
}

func open(t *testing.T, fsys vfs.FS) *Queue {
	t.Helper()
	q, err := Open(fsys, "/store", key, Layout{PerFile: 10, ExtSize: DefaultExtSize})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// reopen opens the files again, cut at a position.
func reopen(t *testing.T, fsys vfs.FS, cut message.Position) *Queue {
	t.Helper()
	q := open(t, fsys)
	if ok, err := q.Recover(cut, nil); err != nil || !ok {
		t.Fatalf("recover at %d: %v, %v", cut, ok, err)
	}
	if err := q.Finish(true); err != nil {
		t.Fatal(err)
	}
	if err := q.CorrectMin(0); err != nil {
		t.Fatal(err)
	}
	return q
}

type vector struct {
	What  string
	Puts  [][4]int64
	After bounds
	Files []struct {
		Name    string
		Entries [][3]int64
	}
	CorrectMin [][2]int64
	Truncate   [][2]json.RawMessage
}

// Appends to a queue leave the files that RocketMQ leaves, but where it writes an entry at a wrong place.
func TestAppendVectors(t *testing.T) {
	var v struct{ Appends []vector }
	data, err := os.ReadFile("testdata/queue-append.json")
	if err == nil {
		err = json.Unmarshal(data, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	// RocketMQ misaligns these; here the last entry is refused.
	refused := map[string]Outcome{"gap in offsets": Gap, "offset 0 again, newer phy": Again}
	for _, x := range v.Appends {
		t.Run(x.What, func(t *testing.T) {
			fsys := vfs.NewMem(nil)
			q := open(t, fsys)
			var last Outcome
			for _, p := range x.Puts {
				last = q.Add(message.Entry{Position: message.Position(p[0]), Size: int32(p[1]), TagsCode: p[2]}, message.Offset(p[3]), 0)
				if err := q.Commit(); err != nil {
					t.Fatal(err)
				}
			}
			want := x.After
			if outcome, ok := refused[x.What]; ok {
				if last != outcome {
					t.Fatalf("outcome %v, want %v", last, outcome)
				}
				want = bounds{0, 3, 300}
				x.Files[0].Entries = x.Files[0].Entries[:3]
			}
			if got := q.bounds(); got != want {
				t.Fatalf("bounds %+v, want %+v", got, want)
			}
			checkFiles(t, fsys, x)
			checkMin(t, q, x)
			checkCuts(t, fsys, x, want)
		})
	}
}

func checkFiles(t *testing.T, fsys vfs.FS, x vector) {
	t.Helper()
	list, err := fsys.ReadDir(Dir("/store", key))
	if err != nil || len(list) != len(x.Files) {
		t.Fatalf("%d files, %v, want %d", len(list), err, len(x.Files))
	}
	for i, f := range x.Files {
		if list[i].Name != f.Name {
			t.Fatalf("file %d is %s, want %s", i, list[i].Name, f.Name)
		}
		want := make([]byte, 0, 200)
		for _, e := range f.Entries {
			want = message.AppendEntry(want, message.Entry{Position: message.Position(e[0]), Size: int32(e[1]), TagsCode: e[2]})
		}
		want = want[:200]
		got, err := vfs.ReadFile(fsys, filepath.Join(Dir("/store", key), f.Name), 1000)
		if err != nil || string(got) != string(want) {
			t.Fatalf("%s: %v\n got %x\nwant %x", f.Name, err, got, want)
		}
	}
}

// checkMin compares the minimum for a beginning of the log. RocketMQ counts fillers and leaves the minimum alone when no
// entry of the first file qualifies; we skip fillers and go on to the next file.
func checkMin(t *testing.T, q *Queue, x vector) {
	t.Helper()
	first, end := q.Bounds()
	for _, c := range x.CorrectMin {
		want := end
		for at := first; at < end; at++ {
			if e, _, _ := q.raw(at); int64(e.Position) >= c[0] {
				want = at
				break
			}
		}
		if err := q.CorrectMin(message.Position(c[0])); err != nil {
			t.Fatal(err)
		}
		if got, _ := q.Bounds(); got != want {
			t.Errorf("minimum for %d is %d, want %d", c[0], got, want)
		}
		if c[1] > int64(first) && int64(want) != c[1] && len(x.Files) == 1 {
			t.Errorf("minimum for %d is %d, RocketMQ has %d", c[0], want, c[1])
		}
		q.min.Store(int64(first))
	}
}

// checkCuts cuts at positions as RocketMQ's truncation does, on copies.
func checkCuts(t *testing.T, fsys *vfs.Mem, x vector, whole bounds) {
	t.Helper()
	for _, c := range x.Truncate {
		var cut message.Position
		var want bounds
		if err := errors.Join(json.Unmarshal(c[0], &cut), json.Unmarshal(c[1], &want)); err != nil {
			t.Fatal(err)
		}
		if want.PhyEnd == fillerSize || whole.Min > 0 { // RocketMQ counts fillers
			continue
		}
		want.Max = min(want.Max, whole.Max)
		if want.PhyEnd = min(want.PhyEnd, whole.PhyEnd); want.Max == 0 {
			want.PhyEnd = 0
		}
		if got := reopen(t, fsys.KillClone(), cut).bounds(); got != want {
			t.Errorf("cut at %d: %+v, want %+v", cut, got, want)
		}
	}
}

// A queue that begins in the middle of a file comes back with its minimum, filler and all.
func TestFillerComesBack(t *testing.T) {
	fsys := vfs.NewMem(nil)
	q := open(t, fsys)
	q.Add(message.Entry{Position: 1000, Size: 100}, 25, 0)
	if err := q.Commit(); err != nil {
		t.Fatal(err)
	}
	if got, want := reopen(t, fsys.KillClone(), maxPosition).bounds(), (bounds{25, 26, 1100}); got != want {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	q = reopen(t, fsys.KillClone(), 500) // its only entry is cut away: the next message still gets number 25
	if got, want := q.bounds(), (bounds{25, 25, 0}); got != want || q.Next() != 25 {
		t.Fatalf("got %+v, next %d, want %+v", got, q.Next(), want)
	}
}

// What stays behind a cut is zeroed, so that it can't be taken for entries later.
func TestFinishZeroesStaleEntries(t *testing.T) {
	fsys := vfs.NewMem(nil)
	q := open(t, fsys)
	for i := range message.Offset(25) {
		q.Add(message.Entry{Position: message.Position(100 * i), Size: 100}, i, 0)
	}
	if err := q.Commit(); err != nil {
		t.Fatal(err)
	}
	q = reopen(t, fsys, 1450)
	if got, want := q.bounds(), (bounds{0, 15, 1500}); got != want {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	list, _ := fsys.ReadDir(Dir("/store", key))
	if len(list) != 2 {
		t.Fatalf("%d files are left", len(list))
	}
	data, _ := vfs.ReadFile(fsys, filepath.Join(Dir("/store", key), list[1].Name), 1000)
	for i, b := range data[100:] {
		if b != 0 {
			t.Fatalf("byte %d behind the cut is not zero", i)
		}
	}
}

// Recovery writes nothing where the right entries are already. An address in the extension file without the right unit
// gives way to the tags code.
func TestKnownEntriesAreNotWritten(t *testing.T) {
	fsys := errorfs.Wrap(vfs.NewMem(nil), nil)
	q := open(t, fsys)
	q.Add(message.Entry{Position: 0, Size: 100, TagsCode: 7}, 0, 1)
	q.Add(message.Entry{Position: 100, Size: 100, TagsCode: 8}, 1, 2)
	q.Add(message.Entry{Position: 200, Size: 100, TagsCode: message.ExtAddress(34)}, 2, 3)
	if err := q.Commit(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int64{1, 0} {
		q = open(t, fsys)
		if ok, err := q.Recover(0, nil); err != nil || !ok {
			t.Fatal(err)
		}
		writes := fsys.Count(errorfs.Write)
		for i := range message.Offset(3) {
			q.Add(message.Entry{Position: message.Position(100 * i), Size: 100, TagsCode: 7 + int64(i)}, i, 1+int64(i))
		}
		if err := errors.Join(q.Commit(), q.Finish(false)); err != nil {
			t.Fatal(err)
		}
		if n := fsys.Count(errorfs.Write) - writes; n != want {
			t.Errorf("%d writes, want %d", n, want)
		}
		if e, err := q.Entry(2); err != nil || e.TagsCode != 9 {
			t.Errorf("entry 2: %+v, %v", e, err)
		}
	}
}

// Commit can be repeated after a full disk, also when it was done in part.
func TestCommitAgain(t *testing.T) {
	fsys := errorfs.Wrap(vfs.NewMem(nil), nil)
	q := open(t, fsys)
	for i := range message.Offset(25) {
		q.Add(message.Entry{Position: message.Position(100 * i), Size: 100}, i, 0)
	}
	fsys.Set(errorfs.From(2, errorfs.OnKind(errorfs.Write, syscall.ENOSPC)))
	for range 3 {
		if err := q.Commit(); !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		if _, end := q.Bounds(); end != 0 {
			t.Fatalf("readers see %d entries", end)
		}
	}
	fsys.Set(nil)
	if err := q.Commit(); err != nil {
		t.Fatal(err)
	}
	for i := range message.Offset(25) {
		if e, err := q.Entry(i); err != nil || e.Position != message.Position(100*i) {
			t.Fatalf("entry %d: %+v, %v", i, e, err)
		}
	}
	if _, _, err := q.View(25, 1); !errors.Is(err, ErrNoEntries) {
		t.Fatal(err)
	}
	raw, seg, err := q.View(8, 10)
	if err != nil || len(raw) != 40 {
		t.Fatalf("%d bytes, %v: entries end with their file", len(raw), err)
	}
	seg.Release()
}

// The minimum follows the log, over files, and files below it go.
func TestExpire(t *testing.T) {
	q := open(t, vfs.NewMem(nil))
	for i := range message.Offset(35) {
		q.Add(message.Entry{Position: message.Position(100 * i), Size: 100}, i, 0)
	}
	if err := q.Commit(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		begin   message.Position
		min     message.Offset
		removed int
	}{{0, 0, 0}, {950, 10, 1}, {2000, 20, 1}, {2001, 21, 0}, {9999, 35, 1}} {
		if err := q.CorrectMin(c.begin); err != nil {
			t.Fatal(err)
		}
		n, err := q.Expire()
		if first, end := q.Bounds(); err != nil || first != c.min || end != 35 || n != c.removed {
			t.Errorf("begin %d: bounds %d %d, %d files removed, %v", c.begin, first, end, n, err)
		}
	}
}
