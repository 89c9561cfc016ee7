package store

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
)

// A deleted topic is gone, begins anew at 0, and its old messages don't come back, whatever happens to the queues.
func TestDeleteTopic(t *testing.T) {
	cfg := tinyConfig(FlushSync)
	mem := vfs.NewMem(nil)
	s := openTest(t, mem, "/store", cfg)
	for i := range 15 {
		put(t, s, text("Gone", i%2, "old"), text("Stays", 0, "stays"))
	}
	if err := s.dispatchAll(); err != nil {
		t.Fatal(err)
	}
	raw, ref, err := s.Entries(message.QueueKey{Topic: "Gone"}, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	before := message.DecodeEntry(raw)
	put(t, s, text("Gone", 1, "stored, maybe not dispatched"))
	if err := s.DeleteTopic("Gone"); err != nil {
		t.Fatal(err)
	}
	if e := message.DecodeEntry(raw); e != before {
		t.Fatalf("a lent entry has changed: %+v", e)
	}
	ref.Release()
	if err := s.DeleteTopic("Gone"); err != nil {
		t.Fatal(err)
	}
	if _, _, ok := s.Bounds(message.QueueKey{Topic: "Gone", ID: 1}); ok || len(s.QueuesOf("Gone")) != 0 || len(s.Queues()) != 1 {
		t.Fatalf("queues %v", s.Queues())
	}
	if ok, _ := vfs.Exists(mem, "/store/consumequeue/Gone"); ok {
		t.Fatal("its directory is still there")
	}
	check := func(what string, fsys vfs.FS, want int) {
		t.Helper()
		s := openTest(t, fsys, "/store", cfg)
		defer s.Close(context.Background())
		recs := read(t, s, message.QueueKey{Topic: "Gone", ID: 0}, 0)
		if len(recs) != want || want > 0 && string(recs[0].Body()) != "new" {
			t.Fatalf("%s: %d messages, want %d", what, len(recs), want)
		}
		if recs := read(t, s, message.QueueKey{Topic: "Stays", ID: 0}, 0); len(recs) != 15 {
			t.Fatalf("%s: %d other messages", what, len(recs))
		}
	}
	rebuild := func() vfs.FS { // everything is made again from the log
		left := mem.KillClone()
		left.Remove("/store/weir/flushed")
		left.Remove("/store/checkpoint")
		removeAll(t, left, "/store/consumequeue")
		return left
	}
	check("kill", mem.KillClone(), 0)
	check("power cut", mem.CrashClone(vfs.Crash{}), 0)
	check("rebuilt", rebuild(), 0)
	if b := put(t, s, text("Gone", 0, "new")); b.Messages[0].QueueOffset != 0 {
		t.Fatalf("%+v", b.Messages[0])
	}
	if len(s.QueuesOf("Gone")) == 0 {
		t.Fatal("the topic is not back")
	}
	check("kill, topic back", mem.KillClone(), 1)
	check("rebuilt, topic back", rebuild(), 1)
}

// Expired segments go with the entries that point into them; a full disk refuses messages, and makes unexpired ones go.
func TestRetention(t *testing.T) {
	cfg := tinyConfig(FlushSync)
	cfg.DeleteAt = nil
	start := time.Date(2026, 1, 2, 3, 0, 0, 0, time.Local)
	c := clock.NewManual(start)
	mem := vfs.NewMem(c.Now)
	s := openTest(t, mem, "/store", cfg, func(o *Options) { o.Clock = c })
	for i := range 100 {
		put(t, s, text("T", 0, fmt.Sprintf("body %d", i)))
		c.Advance(time.Hour)
	}
	if err := s.dispatchAll(); err != nil {
		t.Fatal(err)
	}
	usage := func(ratio float64) {
		mem.SetDiskUsage(vfs.DiskUsage{Total: 1000, Free: uint64(1000 - 1000*ratio), Available: uint64(1000 - 1000*ratio)})
	}
	usage(0.5)
	if err := s.retain(c.Now()); err != nil || s.Begin() != 0 {
		t.Fatalf("begin %d, %v: it isn't the hour", s.Begin(), err)
	}
	s.cfg.DeleteAt = []int{c.Now().Hour()}
	if err := s.retain(c.Now()); err != nil || s.Begin() != 2048 {
		t.Fatalf("begin %d, %v: one segment is older than 72 hours", s.Begin(), err)
	}
	key := message.QueueKey{Topic: "T"}
	first, end, _ := s.Bounds(key)
	if first == 0 || end != 100 {
		t.Fatalf("bounds %d %d", first, end)
	}
	if e, err := s.queues.find("T", 0).Entry(first); err != nil || e.Position < 2048 || e.Position > 2048+200 {
		t.Fatalf("%+v, %v", e, err)
	}
	usage(0.92)
	if err := s.retain(c.Now()); err != nil || s.Begin() <= 2048 {
		t.Fatalf("begin %d, %v", s.Begin(), err)
	}
	b := put(t, s, text("T", 0, "refused"))
	if m := b.Messages[0]; m.Code != message.ServiceNotAvailable ||
		m.Remark != "the broker's disk is 92.0% full, messages are refused above 90.0% (store.disk_refuse)" {
		t.Fatalf("%v %q", m.Code, m.Remark)
	}
	usage(0.3)
	if err := s.retain(c.Now()); err != nil {
		t.Fatal(err)
	}
	if b := put(t, s, text("T", 0, "accepted")); b.Messages[0].QueueOffset != 100 {
		t.Fatalf("%+v", b.Messages[0])
	}
	if err := s.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	s = openTest(t, mem, "/store", cfg)
	first, end, _ = s.Bounds(key)
	if e, err := s.queues.find("T", 0).Entry(first); err != nil || e.Position < s.Begin() || end != 101 {
		t.Fatalf("bounds %d %d, %+v, %v", first, end, e, err)
	}
}

// A topic is deleted when the log's end is not on the disk yet, and a power cut takes that end. What is then sent to the
// topic lies in front of the position that the deletion has noted, and counts all the same, also after a restart.
func TestDeletedThenLogLost(t *testing.T) {
	cfg := testConfig()
	cfg.FlushInterval = time.Hour
	mem := vfs.NewMem(nil)
	s := openTest(t, mem, "/store", cfg)
	put(t, s, text("Gone", 0, "lost"), text("T", 0, "lost"), text("T", 0, "lost"))
	if err := s.DeleteTopic("Gone"); err != nil {
		t.Fatal(err)
	}
	left := mem.CrashClone(vfs.Crash{})
	s = openTest(t, left, "/store", cfg)
	if end := s.End(); end != 0 {
		t.Fatalf("the log has %d bytes, want none", end)
	}
	put(t, s, text("Gone", 0, "new"))
	for _, what := range []string{"at once", "after a restart"} {
		if err := s.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		s = openTest(t, left, "/store", cfg)
		recs := read(t, s, message.QueueKey{Topic: "Gone"}, 0)
		if len(recs) != 1 || string(recs[0].Body()) != "new" {
			t.Fatalf("%s: %d messages", what, len(recs))
		}
	}
}
