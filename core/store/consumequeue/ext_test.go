package consumequeue

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/internal/vfs/errorfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/store/segment"
)

// openExtended opens the files of a queue whose entries get units, in files of a size in bytes.
func openExtended(t *testing.T, fsys vfs.FS, size int64) *Queue {
	t.Helper()
	q, err := Open(fsys, "/store", key, Layout{PerFile: 10, ExtSize: size, WriteExt: true})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// seen is the units that a queue shows.
type seen map[int]message.ExtUnit

func (s seen) Unit(i int, u message.ExtUnit) {
	u.Bitmap = append([]byte(nil), u.Bitmap...)
	s[i] = u
}

type extUnit struct {
	TagsCode, StoreTime int64
	Bitmap              *string
	Size                int
}

func (u extUnit) unit(t *testing.T) message.ExtUnit {
	t.Helper()
	x := message.ExtUnit{TagsCode: u.TagsCode, StoreTimestamp: u.StoreTime}
	if u.Bitmap != nil {
		var err error
		if x.Bitmap, err = hex.DecodeString(*u.Bitmap); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

type extVectors struct {
	Puts []struct {
		What    string
		Address int64
		extUnit
	}
	Files []struct{ Name, Bytes string }
	Reads []struct {
		Address int64
		Unit    json.RawMessage
	}
	Truncate []struct {
		Address               int64
		MaxAfterRecover       int64
		MaxAfterTruncateByMax int64
		MinAfterTruncateByMin int64
	}
}

func readExtVectors(t *testing.T) (v extVectors) {
	t.Helper()
	data, err := os.ReadFile("testdata/queue-ext.json")
	if err == nil {
		err = json.Unmarshal(data, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// fillExtended does the puts of the vectors, an entry each.
func (v extVectors) fill(t *testing.T, q *Queue) {
	t.Helper()
	for i, p := range v.Puts {
		u := p.unit(t)
		switch p.What {
		case "bitmap of 32760 bytes":
			u.Bitmap = make([]byte, 32760)
		case "unit of 252 bytes":
			u = message.ExtUnit{TagsCode: 1, StoreTimestamp: 1, Bitmap: make([]byte, 232)}
		}
		at := message.Offset(i)
		q.Add(message.Entry{Position: message.Position(100 * i), Size: 100, TagsCode: u.TagsCode}, at, u.StoreTimestamp)
		q.Extend(at, u)
		if err := q.Commit(); err != nil {
			t.Fatal(err)
		}
		want := p.Address
		if want == 1 { // refused: the entry keeps its tags code
			want = u.TagsCode
		}
		if e, err := q.Entry(at); err != nil || e.TagsCode != want {
			t.Fatalf("entry %d (%s) has the tags code %d, %v, want %d", i, p.What, e.TagsCode, err, want)
		}
	}
}

func (v extVectors) checkFiles(t *testing.T, fsys vfs.FS) {
	t.Helper()
	list, err := fsys.ReadDir(ExtDir("/store", key))
	if err != nil || len(list) != len(v.Files) {
		t.Fatalf("%d files, %v, want %d", len(list), err, len(v.Files))
	}
	for i, f := range v.Files {
		got, err := vfs.ReadFile(fsys, filepath.Join(ExtDir("/store", key), f.Name), 1000)
		if err != nil || list[i].Name != f.Name || hex.EncodeToString(got) != f.Bytes {
			t.Errorf("%s: %v\n got %x\nwant %s", f.Name, err, got, f.Bytes)
		}
	}
}

// Units are put where RocketMQ puts them, and its files are found and read.
func TestExtVectors(t *testing.T) {
	v := readExtVectors(t)
	fsys := vfs.NewMem(nil)
	q := openExtended(t, fsys, 256)
	v.fill(t, q)
	v.checkFiles(t, fsys)
	if size, err := FindExtSize(fsys, "/store"); err != nil || size != 256 {
		t.Fatalf("size %d, %v", size, err)
	}
	for _, r := range v.Reads {
		got := seen{}
		q.Units([]int64{5, r.Address}, got)
		var want extUnit
		if err := json.Unmarshal(r.Unit, &want); err != nil || want.Size == 0 { // nothing, or an exception
			if len(got) != 0 {
				t.Errorf("%d: %+v", r.Address, got)
			}
			continue
		}
		if u, ok := got[1]; !ok || len(got) != 1 || hex.EncodeToString(message.AppendExtUnit(nil, u)) != hex.EncodeToString(message.AppendExtUnit(nil, want.unit(t))) {
			t.Errorf("%d: %+v, want %+v", r.Address, got, want)
		}
	}
}

// A queue that is cut at an entry goes on behind that entry's unit, where RocketMQ does; and what expires is what does there.
func TestExtCuts(t *testing.T) {
	v := readExtVectors(t)
	fsys := vfs.NewMem(nil)
	v.fill(t, openExtended(t, fsys, 256))
	for _, c := range v.Truncate {
		i := 0
		for ; v.Puts[i].Address != c.Address; i++ {
		}
		left := fsys.KillClone()
		q := openExtended(t, left, 256)
		if ok, err := q.Recover(message.Position(100*(i+1)), nil); !ok || err != nil {
			t.Fatalf("cut behind %d: %v, %v", i, ok, err)
		}
		if err := q.Finish(true); err != nil {
			t.Fatal(err)
		}
		if got := message.ExtAddress(q.ext.end.Load()); got != c.MaxAfterTruncateByMax {
			t.Errorf("cut behind %d: ends at %d, want %d", i, got, c.MaxAfterTruncateByMax)
		}
		q = openExtended(t, fsys.KillClone(), 256)
		if ok, err := q.RecoverAll(nil); !ok || err != nil {
			t.Fatal(err)
		}
		if got := message.ExtAddress(q.ext.end.Load()); got != c.MaxAfterRecover {
			t.Errorf("recovered to %d, want %d", got, c.MaxAfterRecover)
		}
		if err := q.CorrectMin(message.Position(100 * i)); err != nil {
			t.Fatal(err)
		}
		if _, err := q.Expire(); err != nil {
			t.Fatal(err)
		}
		if got := message.ExtAddress(q.ext.files.Min()); got != c.MinAfterTruncateByMin {
			t.Errorf("expired before %d: begins at %d, want %d", i, got, c.MinAfterTruncateByMin)
		}
	}
}

// addAll adds the entries of the vectors again, as they come from the log, and ends recovery.
func (v extVectors) addAll(t *testing.T, q *Queue) {
	t.Helper()
	for i, p := range v.Puts[:14] {
		q.Add(message.Entry{Position: message.Position(100 * i), Size: 100, TagsCode: p.TagsCode}, message.Offset(i), p.StoreTime)
	}
	if err := errors.Join(q.Commit(), q.Finish(true)); err != nil {
		t.Fatal(err)
	}
}

// Recovery keeps the units that are there, and writes nothing.
func TestKnownUnitsAreNotWritten(t *testing.T) {
	v := readExtVectors(t)
	v.Puts, v.Files = v.Puts[:14], v.Files[:2]
	fsys := errorfs.Wrap(vfs.NewMem(nil), nil)
	v.fill(t, openExtended(t, fsys, 256))
	for _, cut := range []message.Position{0, 300, 700, 1400} {
		q := openExtended(t, fsys, 256)
		if ok, err := q.Recover(cut, nil); !ok || err != nil {
			t.Fatal(err)
		}
		writes := fsys.Count(errorfs.Write)
		v.addAll(t, q)
		if n := fsys.Count(errorfs.Write) - writes; n > 1 { // the mark at the end of the last file, which nothing follows
			t.Errorf("cut at %d: %d writes", cut, n)
		}
		for i, p := range v.Puts {
			if e, err := q.Entry(message.Offset(i)); err != nil || e.TagsCode != p.Address {
				t.Errorf("cut at %d: entry %d: %+v, %v, want the code %d", cut, i, e, err, p.Address)
			}
		}
	}
}

// A unit that isn't the right one any more is replaced, by one without a bitmap; those that were right stay.
func TestWrongUnitsAreReplaced(t *testing.T) {
	v := readExtVectors(t)
	v.Puts = v.Puts[:14]
	for _, c := range []struct {
		what   string
		change []byte
		next   int // bytes of the next one's bitmap
	}{{"lost", make([]byte, 34), 0}, {"another's", []byte{0, 20, 0, 0, 0, 0, 0, 0x27, 0xa8, 0x99}, 14}} {
		t.Run(c.what, func(t *testing.T) {
			mem := vfs.NewMem(nil)
			v.fill(t, openExtended(t, mem, 256))
			f, err := mem.Open(filepath.Join(ExtDir("/store", key), segment.FileName(0)), vfs.ReadWrite)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteAt(c.change, 34*3); err != nil { // of entry 3, which has 20 bytes, and a part of the next one's
				t.Fatal(err)
			}
			q := openExtended(t, mem, 256)
			if ok, err := q.Recover(200, nil); !ok || err != nil {
				t.Fatal(err)
			}
			v.addAll(t, q)
			checkUnits(t, q, v)
			got := seen{}
			q.Units(codesOf(t, q, 14), got)
			if len(got[2].Bitmap) != 14 || len(got[3].Bitmap) != 0 || len(got[4].Bitmap) != c.next {
				t.Errorf("bitmaps of entries 2 and 4: %x and %x", got[2].Bitmap, got[4].Bitmap)
			}
			checkJava(t, mem, q)
		})
	}
}

func codesOf(t *testing.T, q *Queue, n int) (codes []int64) {
	t.Helper()
	for i := range n {
		e, err := q.Entry(message.Offset(i))
		if err != nil {
			t.Fatal(err)
		}
		codes = append(codes, e.TagsCode)
	}
	return codes
}

// checkUnits compares what the units say with the messages.
func checkUnits(t *testing.T, q *Queue, v extVectors) {
	t.Helper()
	got := seen{}
	q.Units(codesOf(t, q, len(v.Puts)), got)
	for i, p := range v.Puts {
		if u, ok := got[i]; !ok || u.TagsCode != p.TagsCode || u.StoreTimestamp != p.StoreTime {
			t.Errorf("unit %d: %+v, %v, want the code %d and the time %d", i, u, ok, p.TagsCode, p.StoreTime)
		}
	}
}

// checkJava follows the units as RocketMQ's recovery does (ConsumeQueueExt.recover): each file up to a size below 1, then
// the next. Where that ends it goes on writing, so every address has to be before.
func checkJava(t *testing.T, fsys vfs.FS, q *Queue) {
	t.Helper()
	list, err := fsys.ReadDir(ExtDir("/store", key))
	if err != nil {
		t.Fatal(err)
	}
	starts, end := map[int64]bool{}, int64(0)
	for i, f := range list {
		b, err := vfs.ReadFile(fsys, filepath.Join(ExtDir("/store", key), f.Name), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		end = int64(i) * int64(len(b))
		for len(b) >= 2 {
			size := int(int16(uint16(b[0])<<8 | uint16(b[1])))
			if size <= 0 {
				break
			}
			starts[end] = true
			b, end = b[size:], end+int64(size)
		}
	}
	_, n := q.Bounds()
	for i, code := range codesOf(t, q, int(n)) {
		if at, ok := message.ExtOffset(code); ok && !starts[at] {
			t.Errorf("entry %d: RocketMQ finds no unit at %d", i, at)
		}
	}
	if end != q.ext.end.Load() {
		t.Errorf("RocketMQ goes on at %d, we at %d", end, q.ext.end.Load())
	}
}

// Units that are lost behind what an entry names are never given to other entries: without a place that is known to be
// free none are written.
func TestLostUnits(t *testing.T) {
	v := readExtVectors(t)
	v.Puts = v.Puts[:14]
	mem := vfs.NewMem(nil)
	v.fill(t, openExtended(t, mem, 256))
	if err := mem.Remove(filepath.Join(ExtDir("/store", key), segment.FileName(256))); err != nil {
		t.Fatal(err)
	}
	q := openExtended(t, mem, 256)
	if ok, err := q.RecoverAll(nil); !ok || err != nil {
		t.Fatal(err)
	}
	if err := q.Finish(true); err != nil {
		t.Fatal(err)
	}
	q.Add(message.Entry{Position: 1400, Size: 100, TagsCode: 77}, 14, 1)
	q.Extend(14, message.ExtUnit{TagsCode: 77, StoreTimestamp: 1})
	if err := q.Commit(); err != nil {
		t.Fatal(err)
	}
	codes := codesOf(t, q, 15)
	got := seen{}
	q.Units(codes, got)
	if codes[14] != 77 || len(got) != 7 {
		t.Errorf("the new entry has the code %d; %d units are found", codes[14], len(got))
	}
}

// Commit can be repeated after a full disk, and no reader sees an entry before its unit.
func TestCommitUnitsAgain(t *testing.T) {
	v := readExtVectors(t)
	v.Puts, v.Files = v.Puts[:14], nil
	fsys := errorfs.Wrap(vfs.NewMem(nil), nil)
	q := openExtended(t, fsys, 256)
	for i, p := range v.Puts {
		u := p.unit(t)
		q.Add(message.Entry{Position: message.Position(100 * i), Size: 100, TagsCode: p.TagsCode}, message.Offset(i), p.StoreTime)
		q.Extend(message.Offset(i), u)
	}
	for n := range 4 {
		fsys.Set(errorfs.From(int64(n)+1, errorfs.OnKind(errorfs.Write, syscall.ENOSPC)))
		if err := q.Commit(); n < 3 && !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("write %d: %v", n, err)
		}
		if _, end := q.Bounds(); n < 3 && end != 0 {
			t.Fatalf("readers see %d entries", end)
		}
	}
	fsys.Set(nil)
	if err := q.Commit(); err != nil {
		t.Fatal(err)
	}
	checkUnits(t, q, v)
}

// A removed queue begins anew, units and all; one whose extension can't be opened does without.
func TestExtGoesWithQueue(t *testing.T) {
	v := readExtVectors(t)
	v.Puts = v.Puts[:14]
	mem := vfs.NewMem(nil)
	q := openExtended(t, mem, 256)
	v.fill(t, q)
	codes := codesOf(t, q, 14)
	if err := q.Reset(); err != nil {
		t.Fatal(err)
	}
	got := seen{}
	if q.Units(codes, got); len(got) != 0 {
		t.Errorf("%d units are left", len(got))
	}
	if list, _ := mem.ReadDir(ExtDir("/store", key)); len(list) != 0 {
		t.Errorf("%d files are left", len(list))
	}
	v.fill(t, q)
	checkUnits(t, q, v)

	f, err := mem.Open(filepath.Join(ExtDir("/store", key), "odd"), vfs.Create)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	q = openExtended(t, mem, 256)
	if ok, err := q.RecoverAll(nil); !ok || err != nil || q.ExtError() == nil {
		t.Fatalf("%v, %v; the extension: %v", ok, err, q.ExtError())
	}
	q.Add(message.Entry{Position: 1400, Size: 100, TagsCode: 77}, 14, 1)
	q.Extend(14, message.ExtUnit{TagsCode: 77})
	if err := q.Commit(); err != nil {
		t.Fatal(err)
	}
	if q.Units(codes, got); len(got) != 0 {
		t.Errorf("%d units", len(got))
	}
}
