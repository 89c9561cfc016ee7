package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/internal/vfs/errorfs"
	"github.com/weirmq/weir/core/message"
)

// hold stops the first call of a kind on a path until leave is closed, and has it end with err.
func hold(path string, kind errorfs.Kind, entered, leave chan struct{}, err error) errorfs.Injector {
	var first sync.Once
	return errorfs.OnPath(path, func(op errorfs.Op) (result error) {
		if op.Kind == kind {
			first.Do(func() {
				close(entered)
				<-leave
				result = err
			})
		}
		return result
	})
}

// A full disk refuses messages with the reason, gives their queue offsets to the next ones, keeps on reading, and heals by
// itself. What a failed write has left of refused messages doesn't come back after a crash.
func TestDiskFull(t *testing.T) {
	for _, flush := range []string{FlushAsync, FlushSync} {
		for _, short := range []int{0, 1, 50, 150} {
			t.Run(fmt.Sprintf("%s/%d", flush, short), func(t *testing.T) {
				cfg := tinyConfig(flush)
				mem := vfs.NewMem(nil)
				fsys := errorfs.Wrap(mem, nil)
				c := clock.NewManual(time.UnixMilli(1700000000000))
				s := openTest(t, fsys, "/store", cfg, func(o *Options) { o.Clock = c })
				l := &ledger{}
				l.Appended(put(t, s, text("T", 0, "one")))
				full := errorfs.OnPath("commitlog", errorfs.OnKind(errorfs.Write, &errorfs.ShortWrite{N: short, Err: syscall.ENOSPC}))
				fsys.Set(full)
				for i := range 3 {
					b := put(t, s, text("T", 0, "lost lost lost lost lost"), text("T", 1, "lost too"))
					for _, m := range b.Messages {
						if m.Code != message.ServiceNotAvailable || !strings.Contains(m.Remark, "no space left on device") {
							t.Fatalf("attempt %d: %v %q", i, m.Code, m.Remark)
						}
					}
					c.Advance(failRetry)
				}
				if ok, reason := s.Writable(); !ok {
					t.Fatalf("not to be tried again: %s", reason)
				}
				if recs := read(t, s, message.QueueKey{Topic: "T"}, 0); flush == FlushSync && len(recs) > 1 {
					t.Fatalf("%d records", len(recs))
				}
				verifySurvivor(t, "kill while full", mem.KillClone(), cfg, l.snapshot())
				fsys.Set(nil)
				b := put(t, s, text("T", 0, "two"), text("T", 1, "first"))
				if m := b.Messages; m[0].QueueOffset != 1 || m[1].QueueOffset != 0 || m[0].Position != 104 {
					t.Fatalf("%+v", m)
				}
				l.Appended(b)
				left := mem.KillClone()
				verifySurvivor(t, "kill after", left, cfg, l.snapshot())
				survivor, err := Open(context.Background(), Options{FS: mem.KillClone(), Dir: "/store", Config: cfg})
				if err != nil {
					t.Fatal(err)
				}
				defer survivor.letGo()
				if survivor.End() != s.End() {
					t.Fatalf("after the kill the log ends at %d, want %d", survivor.End(), s.End())
				}
			})
		}
	}
}

// Messages that were appended behind a failing write are refused with it, as their places depend on it.
func TestDiskFullTakesThoseBehind(t *testing.T) {
	mem := vfs.NewMem(nil)
	fsys := errorfs.Wrap(mem, nil)
	s := openTest(t, fsys, "/store", tinyConfig(FlushAsync))
	put(t, s, text("T", 0, "one"))
	entered, leave := make(chan struct{}), make(chan struct{})
	fsys.Set(hold("commitlog", errorfs.Write, entered, leave, syscall.ENOSPC))
	w := newWaiter()
	go s.Append(&Batch{Messages: []Message{text("T", 0, "a")}, Done: w})
	<-entered
	s.Append(&Batch{Messages: []Message{text("T", 0, "b"), text("U", 0, "c")}, Done: w})
	close(leave)
	for range 2 {
		if b := <-w.done; b.Messages[0].Code != message.ServiceNotAvailable {
			t.Fatalf("%+v", b.Messages[0])
		}
	}
	fsys.Set(nil)
	var b *Batch
	for { // the retry time passes
		if b = put(t, s, text("T", 0, "two"), text("U", 0, "first")); b.Messages[0].Code == message.Success {
			break
		}
	}
	if m := b.Messages; m[0].QueueOffset != 1 || m[1].QueueOffset != 0 {
		t.Fatalf("%+v", m)
	}
}

// A disk that fills up under the queue entries stops the sends too, and nothing is missing when there is room again.
func TestDiskFullQueues(t *testing.T) {
	mem := vfs.NewMem(nil)
	fsys := errorfs.Wrap(mem, nil)
	c := clock.NewManual(time.UnixMilli(1700000000000))
	a := newArrivals()
	s := openTest(t, fsys, "/store", tinyConfig(FlushAsync), func(o *Options) { o.Clock, o.OnArrival = c, a.add })
	pending := 3 // timers of the flush and maintenance loops, and of the dispatcher's next try
	fsys.Set(errorfs.OnPath("consumequeue", errorfs.OnKind(errorfs.Write, syscall.ENOSPC)))
	put(t, s, text("T", 0, "one"), text("T", 1, "two"))
	c.BlockUntil(pending)
	if ok, reason := s.Writable(); ok || !strings.Contains(reason, "queue entries could not be written: no space left on device") {
		t.Fatalf("writable: %v %q", ok, reason)
	}
	if b := put(t, s, text("T", 0, "three")); b.Messages[0].Code != message.ServiceNotAvailable {
		t.Fatalf("%+v", b.Messages[0])
	}
	fsys.Set(nil)
	c.Advance(dispatchRetry)
	a.wait(t, 2)
	for {
		if b := put(t, s, text("T", 0, "three")); b.Messages[0].Code == message.Success {
			break
		}
	}
	a.wait(t, 3)
	if recs := read(t, s, message.QueueKey{Topic: "T"}, 0); len(recs) != 2 || string(recs[1].Body()) != "three" {
		t.Fatalf("%d records", len(recs))
	}
}

// The first failed fdatasync is final: nothing is acknowledged after it, not even when the next one would work, the broker
// is told once, and the next start recovers.
func TestFirstFailedSyncIsFinal(t *testing.T) {
	for _, flush := range []string{FlushAsync, FlushSync} {
		t.Run(flush, func(t *testing.T) {
			cfg := tinyConfig(flush)
			cfg.FlushInterval = time.Millisecond
			mem := vfs.NewMem(nil)
			fsys := errorfs.Wrap(mem, nil)
			fatal := make(chan error, 10)
			s := openTest(t, fsys, "/store", cfg, func(o *Options) { o.OnFatal = func(err error) { fatal <- err } })
			put(t, s, text("T", 0, "one"))
			fsys.Set(errorfs.OnPath("commitlog", errorfs.Nth(1, errorfs.OnKind(errorfs.Datasync, syscall.EIO))))
			b := put(t, s, text("T", 0, "two"))
			if flush == FlushSync && b.Messages[0].Code != message.ServiceNotAvailable {
				t.Fatalf("%+v", b.Messages[0])
			}
			if err := <-fatal; !errors.Is(err, syscall.EIO) {
				t.Fatal(err)
			}
			for range 3 {
				b := put(t, s, text("T", 0, "three"))
				if m := b.Messages[0]; m.Code != message.ServiceNotAvailable || m.Remark != fatalRemark {
					t.Fatalf("%+v", m)
				}
			}
			if err := s.Close(context.Background()); err == nil {
				t.Fatal("closed cleanly")
			}
			if len(fatal) != 0 {
				t.Fatal("told more than once")
			}
			if ok, _ := vfs.Exists(mem, "/store/abort"); !ok {
				t.Fatal("abort was removed")
			}
		})
	}
}

// When the disk doesn't take the bytes, appending waits for room in the write buffer, and then refuses as busy.
func TestBackPressure(t *testing.T) {
	cfg := tinyConfig(FlushAsync)
	cfg.SegmentSize, cfg.MaxMessageSize, cfg.WriteBuffer = 1<<20, 64<<10, 64<<10
	fsys := errorfs.Wrap(vfs.NewMem(nil), nil)
	c := clock.NewManual(time.UnixMilli(1700000000000))
	s := openTest(t, fsys, "/store", cfg, func(o *Options) { o.Clock = c })
	put(t, s, text("T", 0, "one"))
	entered, leave := make(chan struct{}), make(chan struct{})
	fsys.Set(hold("commitlog", errorfs.Write, entered, leave, nil))
	w := newWaiter()
	go s.Append(&Batch{Messages: []Message{text("T", 0, "held")}, Done: w})
	<-entered
	big := strings.Repeat("x", 60<<10)
	s.Append(&Batch{Messages: []Message{text("T", 0, big)}, Done: w}) // fills the buffer
	go s.Append(&Batch{Messages: []Message{text("T", 0, big)}, Done: w})
	c.BlockUntil(3) // flush, maintenance, and the one who waits
	c.Advance(cfg.WriteWait)
	if m := (<-w.done).Messages[0]; m.Code != message.SystemBusy || !strings.Contains(m.Remark, "write buffer of 64KiB was full for 1s") {
		t.Fatalf("%v %q", m.Code, m.Remark)
	}
	go s.Append(&Batch{Messages: []Message{text("T", 0, big)}, Done: w})
	c.BlockUntil(3)
	close(leave)
	for i := range 3 {
		if m := (<-w.done).Messages[0]; m.Code != message.Success {
			t.Fatalf("%d: %+v", i, m.Code)
		}
	}
}
