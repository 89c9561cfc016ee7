package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/internal/vfs/errorfs"
	"github.com/weirmq/weir/core/message"
)

// tinyConfig rolls over every few messages.
func tinyConfig(flush string) Config {
	c := DefaultConfig()
	c.Flush = flush
	c.SegmentSize = 2048
	c.ConsumeQueueEntries = 10
	c.MaxMessageSize = 1024
	return c
}

// ledger is what producers were told.
type ledger struct {
	mu    sync.Mutex
	acked []ackedMessage // guarded by mu
}

type ackedMessage struct {
	key  message.QueueKey
	at   message.Offset
	pos  message.Position
	body string
}

// Appended implements Completer.
func (l *ledger) Appended(b *Batch) {
	l.mu.Lock()
	for i := range b.Messages {
		if m := &b.Messages[i]; m.Code == message.Success {
			l.acked = append(l.acked, ackedMessage{message.QueueKey{Topic: m.Topic, ID: m.Queue}, m.QueueOffset, m.Position, string(m.Body)})
		}
	}
	l.mu.Unlock()
}

func (l *ledger) snapshot() []ackedMessage {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.acked[:len(l.acked):len(l.acked)]
}

// verifySurvivor opens a store on what a crash has left. Every acknowledged message has to be at its place, every queue
// has to be dense, and the store has to go on.
func verifySurvivor(t *testing.T, what string, fsys vfs.FS, cfg Config, acked []ackedMessage) {
	t.Helper()
	s, err := Open(context.Background(), Options{FS: fsys, Dir: "/store", Config: cfg, Logger: testLogger(t)})
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if err := s.Start(context.Background()); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	defer s.Close(context.Background())
	found := map[message.QueueKey][]message.Record{}
	for _, key := range s.Queues() {
		first, _, _ := s.Bounds(key)
		recs := append(make([]message.Record, first), read(t, s, key, first)...) // nil where deleted
		for i, rec := range recs {
			if rec == nil {
				continue
			}
			if rec.QueueOffset() != message.Offset(i) || rec.QueueID() != key.ID || string(rec.Topic()) != key.Topic {
				t.Fatalf("%s: %v: record %d of %s@%d at offset %d", what, key, rec.QueueOffset(), rec.Topic(), rec.QueueID(), i)
			}
		}
		found[key] = recs
	}
	for _, m := range acked {
		if m.pos < s.Begin() {
			continue
		}
		recs := found[m.key]
		if int(m.at) >= len(recs) {
			t.Fatalf("%s: %v has %d messages, acknowledged offset %d at %d is lost", what, m.key, len(recs), m.at, m.pos)
		}
		if rec := recs[m.at]; rec == nil || rec.Position() != m.pos || string(rec.Body()) != m.body {
			t.Fatalf("%s: %v offset %d is %q at %d, want %q at %d", what, m.key, m.at, rec.Body(), rec.Position(), m.body, m.pos)
		}
	}
	for key, recs := range found {
		b := put(t, s, text(key.Topic, int(key.ID), "after"))
		if m := b.Messages[0]; m.Code != message.Success || int(m.QueueOffset) != len(recs) {
			t.Fatalf("%s: append to %v: code %v offset %d, want %d", what, key, m.Code, m.QueueOffset, len(recs))
		}
	}
}

// workload stores messages of several queues, singly and as batches, and makes the maintenance's flushes come in between.
func workload(t *testing.T, s *Store, l *ledger, n int) {
	t.Helper()
	w := newWaiter()
	for i := range n {
		b := &Batch{Wait: true, Done: both{l, w}}
		for j := range 1 + i%3 {
			b.Messages = append(b.Messages, text("T"+strconv.Itoa(i%2), j, fmt.Sprintf("body %d %d %0*d", i, j, i*7%200, 0)))
		}
		if i%5 == 0 {
			b.Messages[0].Unit = int32(len(b.Messages))
		}
		s.Append(b)
		<-w.done
		if i%4 == 3 {
			if err := s.dispatchAll(); err != nil {
				t.Fatal(err)
			}
			s.flushQueues(0)
		}
	}
}

type both [2]Completer

func (c both) Appended(b *Batch) { c[0].Appended(b); c[1].Appended(b) }

// crashPoints runs a workload and, before every operation that changes the disk, calls at with a description.
func crashPoints(t *testing.T, mem *vfs.Mem, cfg Config, n int, at func(op errorfs.Op, acked []ackedMessage), change ...func(*Options)) {
	t.Helper()
	var mu sync.Mutex // one point at a time
	l := &ledger{}
	fsys := errorfs.Wrap(mem, func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.Write, errorfs.Datasync, errorfs.Sync, errorfs.SyncDir, errorfs.Create, errorfs.Remove,
			errorfs.Rename, errorfs.Truncate, errorfs.MkdirAll:
			mu.Lock()
			defer mu.Unlock()
			at(op, l.snapshot())
		}
		return nil
	})
	o := Options{FS: fsys, Dir: "/store", Config: cfg}
	for _, f := range change {
		f(&o)
	}
	s, err := Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	workload(t, s, l, n)
	if err := s.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	at(errorfs.Op{}, l.snapshot())
}

// With sync flush no acknowledged message is lost by a power cut before any operation on the disk, whatever part of what
// was not synced survives.
func TestPowerCutSync(t *testing.T) {
	cfg := tinyConfig(FlushSync)
	mem := vfs.NewMem(nil)
	seed, points := uint64(0), 0
	if s := os.Getenv("WEIR_TEST_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	crashPoints(t, mem, cfg, 40, func(op errorfs.Op, acked []ackedMessage) {
		points++
		name := fmt.Sprintf("before %v %s +%d", op.Kind, op.Path, op.Offset)
		verifySurvivor(t, "power cut "+name, mem.CrashClone(vfs.Crash{}), cfg, acked)
		for range 3 {
			seed++
			verifySurvivor(t, fmt.Sprintf("power cut, seed %d, %s", seed, name), mem.CrashClone(vfs.RandomCrash(seed)), cfg, acked)
		}
	})
	t.Logf("%d crash points", points)
}

// In either mode no acknowledged message is lost when the process is killed before any operation on the disk.
func TestKill(t *testing.T) {
	for _, flush := range []string{FlushAsync, FlushSync} {
		t.Run(flush, func(t *testing.T) {
			cfg := tinyConfig(flush)
			mem := vfs.NewMem(nil)
			crashPoints(t, mem, cfg, 40, func(op errorfs.Op, acked []ackedMessage) {
				verifySurvivor(t, fmt.Sprintf("kill before %v %s +%d", op.Kind, op.Path, op.Offset), mem.KillClone(), cfg, acked)
			})
		})
	}
}

// The system stops a write that a kill interrupts between two pages. A record of which only the first page was written, body
// and all, isn't there after that: its body's checksum would be right and its properties cut off.
func TestKillWithinAWrite(t *testing.T) {
	cfg := tinyConfig(FlushAsync)
	cfg.SegmentSize, cfg.MaxMessageSize = 16<<10, 8<<10
	mem := vfs.NewMem(nil)
	fsys := errorfs.Wrap(mem, nil)
	s := openTest(t, fsys, "/store", cfg)
	l := &ledger{}
	l.Appended(put(t, s, text("T", 0, strings.Repeat("x", 3800))))

	entered, leave := make(chan struct{}), make(chan struct{})
	writes := 0
	fsys.Set(errorfs.OnPath("commitlog", func(op errorfs.Op) error {
		if op.Kind != errorfs.Write {
			return nil
		}
		switch writes++; writes {
		case 1:
			return &errorfs.ShortWrite{N: pageSize - int(op.Offset), Err: syscall.EINTR}
		case 2:
			close(entered)
			<-leave
		}
		return nil
	}))
	torn := text("T", 0, "short")
	torn.Properties = []byte("TAGS\x01" + strings.Repeat("y", 400)) // the page ends within
	done := make(chan *Batch)
	go func() { done <- put(t, s, torn) }()
	<-entered
	left := mem.KillClone()
	close(leave)
	if m := (<-done).Messages[0]; m.Code != message.ServiceNotAvailable {
		t.Fatalf("%+v", m)
	}
	verifySurvivor(t, "kill within a write", left.KillClone(), cfg, l.snapshot())
	survivor := openTest(t, left, "/store", cfg)
	if recs := read(t, survivor, message.QueueKey{Topic: "T"}, 0); len(recs) != 1 {
		t.Fatalf("%d records, the last with the properties %q", len(recs), recs[len(recs)-1].Properties())
	}
}

// A power cut with async flush may lose the newest messages, but leaves a store that opens and is dense, and what was
// flushed is there.
func TestPowerCutAsync(t *testing.T) {
	cfg := tinyConfig(FlushAsync)
	mem := vfs.NewMem(nil)
	seed := uint64(1000)
	crashPoints(t, mem, cfg, 40, func(op errorfs.Op, acked []ackedMessage) {
		seed++
		name := fmt.Sprintf("power cut, seed %d, before %v %s +%d", seed, op.Kind, op.Path, op.Offset)
		verifySurvivor(t, name, mem.CrashClone(vfs.RandomCrash(seed)), cfg, nil)
	})
}

// A store that is killed again and again while it recovers from power cuts keeps what was acknowledged.
func TestCrashWhileRecovering(t *testing.T) {
	cfg := tinyConfig(FlushSync)
	mem := vfs.NewMem(nil)
	seed, nth := uint64(5000), 0
	crashPoints(t, mem, cfg, 12, func(op errorfs.Op, acked []ackedMessage) {
		if nth++; nth%5 != 0 {
			return
		}
		seed++
		left := mem.CrashClone(vfs.RandomCrash(seed))
		var inner []*vfs.Mem
		fsys := errorfs.Wrap(left, func(op errorfs.Op) error {
			switch op.Kind {
			case errorfs.Write, errorfs.Datasync, errorfs.SyncDir, errorfs.Create, errorfs.Remove, errorfs.Truncate:
				seed++
				inner = append(inner, left.CrashClone(vfs.RandomCrash(seed)), left.KillClone())
			}
			return nil
		})
		s, err := Open(context.Background(), Options{FS: fsys, Dir: "/store", Config: cfg})
		if err != nil {
			t.Fatal(err)
		}
		fsys.Set(nil)
		s.letGo()
		for i, m := range inner {
			verifySurvivor(t, fmt.Sprintf("crash %d while recovering, seed %d", i, seed), m, cfg, acked)
		}
	})
}

// What a reader could see after a kill and a restart is on the disk then: a power cut doesn't take it away again.
func TestReadableAfterKillIsDurable(t *testing.T) {
	cfg := tinyConfig(FlushSync)
	mem := vfs.NewMem(nil)
	seed := uint64(9000)
	crashPoints(t, mem, cfg, 20, func(op errorfs.Op, _ []ackedMessage) {
		left := mem.KillClone()
		s, err := Open(context.Background(), Options{FS: left, Dir: "/store", Config: cfg})
		if err != nil {
			t.Fatal(err)
		}
		var seen []ackedMessage
		for _, key := range s.Queues() {
			for i, rec := range read(t, s, key, 0) {
				seen = append(seen, ackedMessage{key, message.Offset(i), rec.Position(), string(rec.Body())})
			}
		}
		s.letGo()
		seed++
		for _, c := range []vfs.Crash{{}, vfs.RandomCrash(seed)} {
			name := fmt.Sprintf("kill, restart and power cut, seed %d, before %v %s +%d", seed, op.Kind, op.Path, op.Offset)
			verifySurvivor(t, name, left.CrashClone(c), cfg, seen)
		}
	})
}

// An error at any operation of recovery loses nothing: the next start without errors has everything.
func TestFaultWhileRecovering(t *testing.T) {
	cfg := tinyConfig(FlushSync)
	mem, l := damagedStore(t, cfg, false)
	mem.Remove("/store/checkpoint")
	mem.Remove("/store/weir/flushed")
	failed := 0
	for n := int64(1); ; n++ {
		left := mem.KillClone()
		var calls atomic.Int64
		fsys := errorfs.Wrap(left, func(op errorfs.Op) error {
			switch op.Kind {
			case errorfs.Lock, errorfs.Close, errorfs.Stat:
				return nil
			}
			if calls.Add(1) == n {
				return syscall.EIO
			}
			return nil
		})
		s, err := Open(context.Background(), Options{FS: fsys, Dir: "/store", Config: cfg})
		if err == nil {
			s.letGo()
		} else if failed++; !errors.Is(err, syscall.EIO) {
			t.Fatalf("call %d: %v", n, err)
		}
		verifySurvivor(t, fmt.Sprintf("error in call %d", n), left, cfg, l.snapshot())
		if calls.Load() < n {
			break
		}
	}
	t.Logf("%d failed starts", failed)
}

// A crash while segments and entry files are being deleted loses only what was to be deleted.
func TestCrashWhileExpiring(t *testing.T) {
	cfg := tinyConfig(FlushSync)
	mem, l := damagedStore(t, cfg, true)
	seed, armed := uint64(7000), false
	acked := l.snapshot()
	fsys := errorfs.Wrap(mem, func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.Write, errorfs.Datasync, errorfs.SyncDir, errorfs.Create, errorfs.Remove:
			if armed {
				seed++
				name := fmt.Sprintf("seed %d, before %v %s", seed, op.Kind, op.Path)
				verifySurvivor(t, "kill, "+name, mem.KillClone(), cfg, acked)
				verifySurvivor(t, "power cut, "+name, mem.CrashClone(vfs.RandomCrash(seed)), cfg, acked)
			}
		}
		return nil
	})
	s := openTest(t, fsys, "/store", cfg)
	armed = true
	for range 3 {
		if err := s.deleteExpired(s.clock.Now(), true); err != nil {
			t.Fatal(err)
		}
	}
	armed = false
	if s.Begin() == 0 {
		t.Fatal("nothing was deleted")
	}
	verifySurvivor(t, "afterwards", mem.KillClone(), cfg, acked)
}
