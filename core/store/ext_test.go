package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/internal/vfs/errorfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/store/consumequeue"
)

// bitmapOf is the bitmap that these tests give a message: it can be told from the record.
func bitmapOf(rec message.Record) []byte {
	return []byte{byte(rec.QueueOffset()), byte(rec.QueueID()), byte(rec.CRC()), byte(rec.CRC() >> 8)}
}

func setBitmaps(batch []message.Arrival) {
	for i := range batch {
		batch[i].Bitmap = bitmapOf(batch[i].Record)
	}
}

func extended(o *Options) { o.Bitmaps = setBitmaps }

// units is what a queue's extension file says of its entries.
type units map[int]message.ExtUnit

func (u units) Unit(i int, x message.ExtUnit) {
	x.Bitmap = bytes.Clone(x.Bitmap)
	u[i] = x
}

// checkExt compares every unit with the record: none is another message's, and none is missing where all is true. It
// returns how many units have a bitmap. Then it follows the files as RocketMQ's recovery does, which goes on writing where
// its walk ends, so every address has to be before.
func checkExt(t *testing.T, what string, s *Store, fsys vfs.FS, all bool) (bitmaps int) {
	t.Helper()
	for _, key := range s.Queues() {
		first, end, _ := s.Bounds(key)
		recs := read(t, s, key, first)
		var codes []int64
		for at := first; at < end; {
			raw, ref, err := s.Entries(key, at, int(end-at))
			if err != nil {
				t.Fatal(err)
			}
			for ; len(raw) > 0; raw = raw[message.EntrySize:] {
				codes = append(codes, message.DecodeEntry(raw).TagsCode)
				at++
			}
			ref.Release()
		}
		got := units{}
		s.Units(key, codes, got)
		for i, code := range codes {
			rec := recs[i]
			u, ok := got[i]
			switch {
			case ok && (u.TagsCode != s.tagsCode(rec, rec.Topic()) || u.StoreTimestamp != rec.StoreTimestamp()):
				t.Fatalf("%s: %v offset %d: the unit %+v isn't of %q", what, key, int(first)+i, u, rec.Body())
			case ok && len(u.Bitmap) > 0 && !bytes.Equal(u.Bitmap, bitmapOf(rec)):
				t.Fatalf("%s: %v offset %d: bitmap %x, want %x", what, key, int(first)+i, u.Bitmap, bitmapOf(rec))
			case !ok && all:
				t.Fatalf("%s: %v offset %d has no unit, but the code %d", what, key, int(first)+i, code)
			}
			if len(u.Bitmap) > 0 {
				bitmaps++
			}
		}
		starts := javaUnits(t, fsys, key)
		for i, code := range codes {
			if at, ok := message.ExtOffset(code); ok && !starts[at] {
				t.Fatalf("%s: %v offset %d: RocketMQ finds no unit at %d", what, key, int(first)+i, at)
			}
		}
	}
	return bitmaps
}

// javaUnits returns where RocketMQ's recovery finds units: in each file up to a size below 1.
func javaUnits(t *testing.T, fsys vfs.FS, key message.QueueKey) map[int64]bool {
	t.Helper()
	starts := map[int64]bool{}
	dir := consumequeue.ExtDir("/store", key)
	list, _ := fsys.ReadDir(dir)
	for _, f := range list {
		b, err := vfs.ReadFile(fsys, filepath.Join(dir, f.Name), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		at, err := strconv.ParseInt(f.Name, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		for len(b) >= 2 {
			size := int(int16(uint16(b[0])<<8 | uint16(b[1])))
			if size <= 0 {
				break
			}
			starts[at] = true
			b, at = b[size:], at+int64(size)
		}
	}
	return starts
}

// smallExt makes extension files of 256 bytes, as if a Java broker had begun them.
func smallExt(t testing.TB, mem *vfs.Mem) {
	t.Helper()
	dir := consumequeue.ExtDir("/store", message.QueueKey{Topic: "Other"})
	if err := vfs.MkdirAllSync(mem, dir); err != nil {
		t.Fatal(err)
	}
	f, err := vfs.CreateSized(mem, filepath.Join(dir, "00000000000000000000"), 256)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := mem.SyncDir(dir); err != nil {
		t.Fatal(err)
	}
}

// reopenExt opens what a crash has left, checks messages and units, and has the store go on.
func reopenExt(t *testing.T, what string, left *vfs.Mem, cfg Config, acked []ackedMessage) {
	t.Helper()
	s, err := Open(context.Background(), Options{FS: left, Dir: "/store", Config: cfg, Bitmaps: setBitmaps})
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if err := s.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, key := range s.Queues() {
		for range 3 {
			put(t, s, text(key.Topic, int(key.ID), "after"))
		}
	}
	if err := s.dispatchAll(); err != nil {
		t.Fatal(err)
	}
	checkExt(t, what, s, left, cfg.ConsumeQueueExt)
	if err := s.Close(context.Background()); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	verifySurvivor(t, what, left, cfg, acked)
}

func extConfig(flush string) Config {
	cfg := tinyConfig(flush)
	cfg.ConsumeQueueExt = true
	return cfg
}

// Whatever a kill leaves, no entry has another message's unit, and both RocketMQ and we go on behind all units.
func TestKillWithExt(t *testing.T) {
	cfg, mem, points := extConfig(FlushAsync), vfs.NewMem(nil), 0
	smallExt(t, mem)
	crashPointsExt(t, mem, cfg, 30, func(op errorfs.Op, acked []ackedMessage) {
		points++
		reopenExt(t, fmt.Sprintf("kill before %v %s +%d", op.Kind, op.Path, op.Offset), mem.KillClone(), cfg, acked)
	})
	t.Logf("%d crash points", points)
}

// The same after power cuts, whatever part of what was not synced survives.
func TestPowerCutWithExt(t *testing.T) {
	for _, flush := range []string{FlushSync, FlushAsync} {
		t.Run(flush, func(t *testing.T) {
			cfg, mem, seed := extConfig(flush), vfs.NewMem(nil), uint64(9000)
			if s := os.Getenv("WEIR_TEST_SEED"); s != "" {
				seed, _ = strconv.ParseUint(s, 10, 64)
			}
			smallExt(t, mem)
			crashPointsExt(t, mem, cfg, 25, func(op errorfs.Op, acked []ackedMessage) {
				seed++
				if flush == FlushAsync {
					acked = nil
				}
				name := fmt.Sprintf("power cut, seed %d, before %v %s +%d", seed, op.Kind, op.Path, op.Offset)
				reopenExt(t, name, mem.CrashClone(vfs.RandomCrash(seed)), cfg, acked)
			})
		})
	}
}

// crashPointsExt is crashPoints with bitmaps.
func crashPointsExt(t *testing.T, mem *vfs.Mem, cfg Config, n int, at func(errorfs.Op, []ackedMessage)) {
	t.Helper()
	crashPoints(t, mem, cfg, n, at, extended)
}

// The switch is thrown at any start: entries keep what they have.
func TestExtSwitched(t *testing.T) {
	mem := vfs.NewMem(nil)
	smallExt(t, mem)
	want, sent := 0, 0
	for i, on := range []bool{false, true, false, true, true} {
		cfg := tinyConfig(FlushAsync)
		cfg.ConsumeQueueExt = on
		s, err := Open(context.Background(), Options{FS: mem, Dir: "/store", Config: cfg, Bitmaps: setBitmaps})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Start(context.Background()); err != nil {
			t.Fatal(err)
		}
		for j := range 25 {
			put(t, s, text("T", j%2, fmt.Sprintf("body %d %d", i, j)))
			if sent++; on {
				want++
			}
		}
		if err := s.dispatchAll(); err != nil {
			t.Fatal(err)
		}
		if got := checkExt(t, fmt.Sprint("start ", i), s, mem, false); got != want {
			t.Errorf("start %d: %d of %d messages have a bitmap, want %d", i, got, sent, want)
		}
		if err := s.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// The extension files of a deleted topic go with it, and those of expired messages with them.
func TestExtDeleted(t *testing.T) {
	mem := vfs.NewMem(nil)
	smallExt(t, mem)
	s := openTest(t, mem, "/store", extConfig(FlushAsync), extended)
	for i := range 60 {
		put(t, s, text("T", 0, fmt.Sprint("body ", i)), text("U", 0, fmt.Sprint("body ", i)))
	}
	if err := s.dispatchAll(); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteTopic("U"); err != nil {
		t.Fatal(err)
	}
	if list, err := mem.ReadDir(filepath.Join("/store", consumequeue.ExtDirName)); err != nil || len(list) != 2 {
		t.Fatalf("%d directories of topics, %v, want those of T and Other", len(list), err)
	}
	dir := consumequeue.ExtDir("/store", message.QueueKey{Topic: "T"})
	before, _ := mem.ReadDir(dir)
	if err := s.flushLog(); err != nil {
		t.Fatal(err)
	}
	if err := s.deleteExpired(s.clock.Now(), true); err != nil {
		t.Fatal(err)
	}
	after, _ := mem.ReadDir(dir)
	if len(after) >= len(before) || len(after) == 0 || after[0].Name == before[0].Name {
		t.Errorf("%d extension files before messages expired, %d after", len(before), len(after))
	}
	put(t, s, text("U", 0, "anew"))
	if err := s.dispatchAll(); err != nil {
		t.Fatal(err)
	}
	checkExt(t, "after deleting", s, mem, true)
}

// When the last message with a unit has expired, after the units were switched off, their files go, all but the last.
func TestExtExpiresAfterSwitch(t *testing.T) {
	mem := vfs.NewMem(nil)
	smallExt(t, mem)
	dir := consumequeue.ExtDir("/store", message.QueueKey{Topic: "T"})
	for i, on := range []bool{true, false} {
		cfg := tinyConfig(FlushAsync)
		cfg.ConsumeQueueExt = on
		s, err := Open(context.Background(), Options{FS: mem, Dir: "/store", Config: cfg, Bitmaps: setBitmaps})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Start(context.Background()); err != nil {
			t.Fatal(err)
		}
		for j := range 60 {
			put(t, s, text("T", 0, fmt.Sprintf("body %d %d", i, j)))
		}
		if err := errors.Join(s.dispatchAll(), s.flushLog()); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			before, _ := mem.ReadDir(dir)
			if len(before) < 2 && on || len(before) == 0 {
				t.Fatalf("%d extension files", len(before))
			}
			if on {
				break
			}
			if err := s.deleteExpired(s.clock.Now(), true); err != nil {
				t.Fatal(err)
			}
		}
		if after, _ := mem.ReadDir(dir); !on && len(after) != 1 {
			first, end, _ := s.Bounds(message.QueueKey{Topic: "T"})
			t.Errorf("%d extension files are left, the queue has %d to %d", len(after), first, end)
		}
		checkExt(t, "after expiring", s, mem, on)
		if err := s.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}
