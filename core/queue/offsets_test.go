package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/internal/vfs/errorfs"
	"github.com/weirmq/weir/core/message"
)

// reopen loads a table of its own from the file that o saves.
func reopen(t *testing.T, o *Offsets) *Offsets {
	t.Helper()
	again := NewOffsets(o.set)
	if err := again.Load(); err != nil {
		t.Fatal(err)
	}
	return again
}

func sameOffsets(t *testing.T, got, want *Offsets) {
	t.Helper()
	g, w := got.All(), want.All()
	if !maps.EqualFunc(g, w, maps.Equal) {
		t.Errorf("got  %v\nwant %v", g, w)
	}
}

// TestOffsetsFileOfJava reads the file that a real 4.9.7 broker wrote, and writes it byte for byte.
func TestOffsetsFileOfJava(t *testing.T) {
	text, err := os.ReadFile("testdata/consumerOffset.json")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, nil)
	if err := w.offsets.decode(text); err != nil {
		t.Fatal(err)
	}
	q := message.QueueKey{Topic: "%RETRY%golden-retry-group", ID: 0}
	if o, ok := w.offsets.Committed("golden-retry-group", q); !ok || o != 30 {
		t.Errorf("offset %d %v, want 30", o, ok)
	}
	if got, err := w.offsets.encode(); err != nil || !bytes.Equal(got, text) {
		t.Errorf("%v: wrote\n%s\nwant\n%s", err, got, text)
	}
	empty, err := newWorld(t, nil).offsets.encode()
	if want := "{\n\t\"offsetTable\":{}\n}"; err != nil || string(empty) != want {
		t.Errorf("empty: %v %q, want %q", err, empty, want)
	}
}

func TestOffsetsDecode(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"quoted keys", `{"offsetTable":{"T@g":{"0":5,"1":6}}}`, "map[T@g:map[0:5 1:6]]"},
		{"unknown members", `{"dataVersion":{"x":[1]},"offsetTable":{"T@g":{0:5}},"z":null}`, "map[T@g:map[0:5]]"},
		{"order of keys", `{"offsetTable":{"T@g":{3:1,0:2}}}`, "map[T@g:map[0:2 3:1]]"},
		{"name without group", `{"offsetTable":{"T":{0:5},"T@g":{0:6}}}`, "map[T@g:map[0:6]]"},
		{"null table", `{"offsetTable":null}`, "map[]"},
		{"nothing stored for a queue", `{"offsetTable":{"T@g":{0:-1,1:3}}}`, "map[T@g:map[1:3]]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, nil)
			if err := w.offsets.decode([]byte(c.text)); err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(w.offsets.All()); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	if err := newWorld(t, nil).offsets.decode([]byte(`{"offsetTable":{"T@g":{0:5}`)); err == nil {
		t.Error("a file cut short was accepted")
	}
}

func FuzzOffsetsDecode(f *testing.F) {
	for _, s := range []string{`{"offsetTable":{"T@g":{0:5,1:6}}}`, "{\n\t\"offsetTable\":{}\n}", `{"offsetTable":{"T@g":{"0":-1}}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		w := newWorld(t, nil)
		if w.offsets.decode(data) != nil {
			return
		}
		text, err := w.offsets.encode()
		if err != nil {
			t.Fatal(err)
		}
		again := newWorld(t, nil)
		if err := again.offsets.decode(text); err != nil {
			t.Fatalf("%v in what was written: %q", err, text)
		}
	})
}

// TestOffsetsAreSaved shows saving at the interval, only when something changed, at Stop, and the backup.
func TestOffsetsAreSaved(t *testing.T) {
	w := newWorld(t, nil)
	count := errorfs.Wrap(w.fs, nil)
	w.offsets.set.FS = count
	o := w.offsets
	o.Start()
	w.clock.BlockUntil(1)
	q := message.QueueKey{Topic: "T", ID: 1}
	mustCommit(t, o, "g", q, 7)
	w.clock.Advance(5 * time.Second)
	w.clock.BlockUntil(1) // the loop is waiting again
	sameOffsets(t, reopen(t, o), o)
	renames := count.Count(errorfs.Rename)
	mustCommit(t, o, "g", q, 7)
	w.clock.Advance(5 * time.Second)
	w.clock.BlockUntil(1)
	if n := count.Count(errorfs.Rename); n != renames {
		t.Errorf("saved %d times more without a change", n-renames)
	}
	mustCommit(t, o, "g", q, 8)
	if err := o.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	sameOffsets(t, reopen(t, o), o)

	// A file that is cut short counts as none, and the backup has what was there before.
	f, err := w.fs.Open(o.set.Path, vfs.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(10); err != nil {
		t.Fatal(err)
	}
	if got, ok := reopen(t, o).Committed("g", q); !ok || got != 7 {
		t.Errorf("from the backup: %d %v, want 7", got, ok)
	}
}

func mustCommit(t testing.TB, o *Offsets, group string, q message.QueueKey, at message.Offset) {
	t.Helper()
	if err := o.Commit(group, q, at); err != nil {
		t.Fatal(err)
	}
}

// TestOffsetsSurviveAFullDisk shows that offsets which can't be saved stay, are complained about once a minute, and are
// saved when there is room again, although nothing changes any more.
func TestOffsetsSurviveAFullDisk(t *testing.T) {
	w := newWorld(t, nil)
	full := errorfs.Wrap(w.fs, nil)
	var log bytes.Buffer
	w.offsets.set.FS, w.offsets.set.Logger = full, slog.New(slog.NewTextHandler(&log, nil))
	o := w.offsets
	q := message.QueueKey{Topic: "T"}
	mustCommit(t, o, "g", q, 3)
	full.Set(errorfs.OnKind(errorfs.Write, syscall.ENOSPC))
	if err := o.Save(); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("error %v", err)
	}
	o.Start()
	for range 24 { // two minutes
		w.clock.BlockUntil(1)
		w.clock.Advance(5 * time.Second)
	}
	w.clock.BlockUntil(1)
	if n := strings.Count(log.String(), "consumer offsets stay in memory"); n != 2 {
		t.Errorf("%d log lines in two minutes, want 2:\n%s", n, log.String())
	}
	full.Set(nil)
	w.clock.Advance(5 * time.Second)
	if err := o.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	sameOffsets(t, reopen(t, o), o)
}

// TestOffsetsCrash cuts the power after saves: what is loaded then is one of the tables that were saved, whole.
func TestOffsetsCrash(t *testing.T) {
	w := newWorld(t, nil)
	mem := w.fs.(*vfs.Mem)
	for i := range 20 {
		for q := range 3 {
			mustCommit(t, w.offsets, "g", message.QueueKey{Topic: "T", ID: message.QueueID(q)}, message.Offset(i))
		}
		if err := w.offsets.Save(); err != nil {
			t.Fatal(err)
		}
		set := w.offsets.set
		set.FS = mem.CrashClone(vfs.RandomCrash(uint64(i)))
		after := NewOffsets(set)
		if err := after.Load(); err != nil {
			t.Fatal(err)
		}
		sameOffsets(t, after, w.offsets)
	}
}

func TestOffsetsOfGroups(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.OffsetsMax = 8 })
	o := w.offsets
	mustCommit(t, o, "g", message.QueueKey{Topic: "T", ID: 0}, 1)
	mustCommit(t, o, "g", message.QueueKey{Topic: "T", ID: 2}, 3)
	mustCommit(t, o, "g", message.QueueKey{Topic: "U", ID: 0}, 5)
	mustCommit(t, o, "h", message.QueueKey{Topic: "T", ID: 0}, 9)
	if got := fmt.Sprint(o.Topics("g"), o.Groups("T"), o.Groups("U"), o.Topics("none")); got != "[T U] [g h] [g] []" {
		t.Errorf("names %s", got)
	}
	if err := o.Clone("g", "copy", "", func(topic string) bool { return topic != "U" }); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(o.Progress("copy", "T"), o.Progress("copy", "U")); got != "map[0:1 2:3] map[]" {
		t.Errorf("copied %s", got)
	}
	mustCommit(t, o, "x", message.QueueKey{Topic: "T", ID: 0}, 0)
	mustCommit(t, o, "x", message.QueueKey{Topic: "T", ID: 1}, 0)
	var refused *message.Error
	if err := o.Commit("x", message.QueueKey{Topic: "T", ID: 2}, 0); !errors.As(err, &refused) || refused.Code != message.SystemBusy {
		t.Errorf("one too many: %v", err)
	}
	mustCommit(t, o, "x", message.QueueKey{Topic: "T", ID: 1}, 4) // those that are there still move
	o.Remove("g")
	if got := o.Topics("g"); len(got) != 0 {
		t.Errorf("removed group still has %v", got)
	}
	mustCommit(t, o, "x", message.QueueKey{Topic: "T", ID: 2}, 0)
}

// TestHammerOffsets commits, saves, removes and lists from many goroutines; the last commits are what is loaded.
func TestHammerOffsets(t *testing.T) {
	w := newWorld(t, nil)
	o := w.offsets
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 2000 {
				q := message.QueueKey{Topic: fmt.Sprint("T", i%7), ID: message.QueueID(i % 3)}
				if err := o.Commit(fmt.Sprint("g", g), q, message.Offset(i)); err != nil {
					t.Error(err)
				}
				o.Committed("g0", q)
				if i%500 == 0 {
					o.Remove("g3")
					o.All()
					if err := o.Save(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	if err := o.Save(); err != nil {
		t.Fatal(err)
	}
	sameOffsets(t, reopen(t, o), o)
	if o, ok := o.Committed("g1", message.QueueKey{Topic: "T5", ID: 1}); !ok || o != 1993 {
		t.Errorf("last commit %d, want 1993", o)
	}
}
