package pending

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
)

// world is a set, the queue that it is made of, and what its owner has dealt with.
type world struct {
	t     *testing.T
	fs    *vfs.Mem
	set   *Set
	queue []Entry // of each offset
	dealt map[message.Position]int
	clock int64
	flush int
}

func newWorld(t *testing.T) *world {
	return &world{t: t, fs: vfs.NewMem(time.Now), dealt: map[message.Position]int{}}
}

// open opens the set, and adds what the queue has from where it says.
func (w *world) open() {
	w.t.Helper()
	set, p, from, err := Open(Settings{
		FS: w.fs, Dir: "timers", Logger: slog.New(slog.DiscardHandler), Flush: func() error { w.flush++; return nil }, MemoryMax: 16, Merge: 3,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.set = set
	set.Start()
	for at := int(from); at < len(w.queue); at++ {
		if e := w.queue[at]; p.Passed(message.Offset(at), e.Mark) {
			set.Skip(behind(at, e))
		} else {
			w.room()
			set.Add(e, behind(at, e))
		}
	}
}

func behind(at int, e Entry) Place {
	return Place{Offset: message.Offset(at + 1), Position: e.Position + message.Position(e.Size)}
}

// room waits until an entry can be added.
func (w *world) room() {
	for w.set.Full() {
		w.settle()
	}
}

// settle lets one step end.
func (w *world) settle() {
	w.t.Helper()
	if err := w.set.Settle(nil); err != nil {
		w.t.Fatal(err)
	}
	if w.set.busy {
		if err := w.set.Settle(<-w.set.Results()); err != nil {
			w.t.Fatal(err)
		}
	}
}

// rest lets all steps end.
func (w *world) rest() {
	for w.settle(); w.set.busy; {
		w.settle()
	}
}

// stop stops the set, twice, as a broker that gives up may.
func (w *world) stop() {
	w.t.Helper()
	for range 2 {
		if err := w.set.Stop(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) add(due int64, kind Kind) {
	at := len(w.queue)
	e := Entry{Mark: Mark{Due: due, Kind: kind, Position: message.Position(100 * (at + 1))}, Size: 100, Key: uint64(at)}
	w.queue = append(w.queue, e)
	w.room()
	w.set.Add(e, behind(at, e))
}

// deal takes out what is due, at most n entries, in order.
func (w *world) deal(n int) {
	w.t.Helper()
	last := Mark{Due: math.MinInt64}
	for range n {
		e, ok, err := w.set.Peek()
		if err != nil {
			w.t.Fatal(err)
		}
		if !ok || e.Due > w.clock {
			return
		}
		if e.Compare(last) < 0 {
			w.t.Fatalf("%v comes behind %v", e.Mark, last)
		}
		last = e.Mark
		w.set.Pop()
		w.set.Done(e.Mark)
		w.dealt[e.Position]++
	}
}

// roll stores again what waits among the first n records.
func (w *world) roll(n int) {
	p := w.set.Progress()
	for at := int(p.Rolled.Offset); at < n; at++ {
		e := w.queue[at]
		if e.Compare(p.Done) >= 0 {
			w.add(e.Due, e.Kind)
			w.dealt[e.Position]++
		}
		w.set.Roll(behind(at, e))
	}
}

// TestOrder: all come out in order, through memory, runs and merged runs, restarts included.
func TestOrder(t *testing.T) {
	w := newWorld(t)
	w.open()
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		w.add(random.Int64N(500), Kind(random.IntN(2)))
		if random.IntN(3) == 0 {
			w.settle()
		}
	}
	w.rest()
	if n := len(w.set.sources.items); n > 12 {
		t.Errorf("%d runs are left of 125", n)
	}
	w.clock = 250
	w.deal(1 << 20)
	w.set.Save()
	w.rest()
	w.stop()
	before := len(w.dealt)
	w.open()
	if got, want := w.set.Len(), int64(2000-before); got < want || got > want+10 { // recalls of the last time are there again
		t.Errorf("%d wait, want %d", got, want)
	}
	w.clock = 500
	w.deal(1 << 20)
	for i, e := range w.queue {
		if n := w.dealt[e.Position]; n != 1 && !(e.Kind == Recall && n == 2 && e.Due == 250) {
			t.Errorf("record %d, due %d: %d times", i, e.Due, n)
		}
	}
	w.set.Save()
	w.rest()
	w.stop()
	if files, err := w.fs.ReadDir("timers"); err != nil || len(files) > 2 {
		t.Errorf("left over: %v, %v", files, err)
	}
}

// TestCrash cuts the power at random moments, stops, rolls and puts back: nothing that waits is lost.
func TestCrash(t *testing.T) {
	for seed := range uint64(60) {
		w := newWorld(t)
		random := rand.New(rand.NewPCG(seed, 0))
		w.open()
		for range 12 {
			for range random.IntN(120) {
				w.add(w.clock+random.Int64N(200)-20, Kind(random.IntN(4)/3^1))
				switch random.IntN(8) {
				case 0:
					w.clock += 5
					w.deal(random.IntN(40))
				case 1:
					w.set.Save()
				case 2:
					w.settle()
				case 3:
					if e, ok, _ := w.set.Peek(); ok && e.Due < w.clock {
						w.set.Pop()
						w.set.Return(e)
					}
				case 4:
					if random.IntN(10) == 0 {
						w.roll(random.IntN(len(w.queue)))
					}
				}
			}
			switch random.IntN(3) {
			case 0:
				w.stop()
				w.open()
			case 1:
				w.crash(vfs.RandomCrash(random.Uint64()))
			}
		}
		w.clock = 1 << 40
		w.deal(1 << 20)
		for i, e := range w.queue {
			if w.dealt[e.Position] == 0 {
				t.Fatalf("seed %d: record %d, due %d, never came", seed, i, e.Due)
			}
		}
		w.stop()
	}
}

func (w *world) crash(c vfs.Crash) {
	w.fs = w.fs.CrashClone(c)
	_ = w.set.Stop(w.t.Context()) // of the old file system
	w.open()
}

// TestDamage: a block that isn't what was written is noticed when it is read; the set is made anew from the queue.
func TestDamage(t *testing.T) {
	for name, hurt := range map[string]func(f vfs.File) error{
		"a byte":   func(f vfs.File) error { _, err := f.WriteAt([]byte{77}, 40); return err },
		"a number": func(f vfs.File) error { _, err := f.WriteAt([]byte{1}, 15); return err },
		"cut":      func(f vfs.File) error { return f.Truncate(100) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.open()
			for i := range 16 {
				w.add(int64(i+1), Deliver)
			}
			w.rest()
			w.stop()
			run := w.set.saved.Runs[0]
			f, err := w.fs.Open(filepath.Join("timers", run.Name), vfs.ReadWrite)
			if err := errors.Join(err, hurt(f), f.Close()); err != nil {
				t.Fatal(err)
			}
			w.open()
			w.clock = 20
			w.deal(100)
			if len(w.dealt) != 16 {
				t.Errorf("%d of 16 came", len(w.dealt))
			}
			w.stop()
		})
	}
	w := newWorld(t)
	w.open()
	for i := range 400 {
		w.add(int64(i), Deliver)
	}
	w.rest()
	src := w.set.sources.items[0]
	f, _ := w.fs.Open(filepath.Join("timers", src.run.Name), vfs.ReadWrite)
	_, err := f.WriteAt([]byte{1, 2, 3}, blockSize+100)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	for range 400 {
		if _, ok, err := w.set.Peek(); err != nil {
			if !errors.Is(err, errDamaged) {
				t.Error(err)
			}
			w.set.Reset()
			if _, ok, err := w.set.Peek(); ok || err != nil {
				t.Errorf("after the reset: %v, %v", ok, err)
			}
			return
		} else if ok {
			w.set.Pop()
		}
	}
	t.Error("nobody noticed")
}

// TestState: a state of another version is refused, with what to do.
func TestState(t *testing.T) {
	w := newWorld(t)
	w.open()
	w.stop()
	f, err := w.fs.Open(filepath.Join("timers", stateFile), vfs.Create|vfs.Truncate)
	if err == nil {
		_, err = f.WriteAt([]byte(`{"version":2}`), 0)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	_, _, _, err = Open(w.set.set)
	const want = "load the progress of timed messages: "
	if err == nil || err.Error()[:len(want)] != want {
		t.Error(err)
	}
}

func TestBlockFormat(t *testing.T) {
	fs := vfs.NewMem(time.Now)
	w, err := newWriter(fs, ".", "x.run")
	if err != nil {
		t.Fatal(err)
	}
	e := Entry{Mark: Mark{Due: 0x0102030405060708, Kind: Deliver, Position: 0x1112131415161718}, Size: 0x21222324, Key: 0x3132333435363738}
	if err := w.add(&e); err != nil {
		t.Fatal(err)
	}
	r, f, err := w.finish()
	if err != nil || r != (run{"x.run", 1}) {
		t.Fatal(r, err)
	}
	raw := make([]byte, blockSize)
	if _, err := f.ReadAt(raw, 0); err != nil {
		t.Fatal(err)
	}
	want := "77656972746d7231" + "%s" + "00000001" + "00000000000000000000000000000000" + "0102030405060708" + "1112131415161718" + "21222324" + "00000001" + "3132333435363738"
	if got := fmt.Sprintf("%x", raw[:64]); got != fmt.Sprintf(want, got[16:24]) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	back, err := readBlock(nil, f, 0, 1, raw)
	if err != nil || !slices.Equal(back, []Entry{e}) {
		t.Errorf("%+v, %v", back, err)
	}
}

func FuzzReadBlock(f *testing.F) {
	f.Add(make([]byte, blockSize), int64(1))
	f.Fuzz(func(t *testing.T, raw []byte, n int64) {
		fs := vfs.NewMem(time.Now)
		file, _ := fs.Open("x", vfs.Create)
		if _, err := file.WriteAt(raw, 0); err != nil {
			t.Skip()
		}
		_, _ = readBlock(nil, file, 0, n, make([]byte, blockSize))
	})
}

func BenchmarkAddPop(b *testing.B) {
	s, _, _, err := Open(Settings{FS: vfs.OS{}, Dir: b.TempDir(), Logger: slog.New(slog.DiscardHandler), Flush: func() error { return nil }})
	if err != nil {
		b.Fatal(err)
	}
	s.Start()
	random := rand.New(rand.NewPCG(1, 2))
	at := 0
	b.ReportAllocs()
	for b.Loop() {
		if s.Full() {
			if err := s.Settle(nil); err != nil {
				b.Fatal(err)
			}
			if s.busy {
				if err := s.Settle(<-s.Results()); err != nil {
					b.Fatal(err)
				}
			}
		}
		at++
		s.Add(Entry{Mark: Mark{Due: random.Int64N(1 << 40), Kind: Deliver, Position: message.Position(at)}}, Place{Offset: message.Offset(at)})
		_ = s.Settle(nil)
	}
	for {
		if _, ok, err := s.Peek(); err != nil {
			b.Fatal(err)
		} else if !ok {
			break
		}
		s.Pop()
	}
	if err := s.Stop(b.Context()); err != nil {
		b.Fatal(err)
	}
}
