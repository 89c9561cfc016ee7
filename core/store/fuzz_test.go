package store

import (
	"context"
	"encoding/binary"
	"errors"
	"path/filepath"
	"testing"

	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/store/segment"
	"github.com/weirmq/weir/core/transport"
)

// FuzzOpen changes bytes of a small store and opens it, after a clean stop or a crash, with our note or without. Whatever
// the bytes are: it opens or refuses, and what opens can be read, appended to, and opened again.
//
// data is a list of changes: which file, where, what.
func FuzzOpen(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 1, 10, 2, 0}, true, true)
	f.Add([]byte{0, 1, 0, 255, 3, 0, 9, 7, 2, 0, 1, 1}, false, false)
	f.Add([]byte{3, 0, 12, 0, 4, 0, 3, 9}, false, true)
	f.Add([]byte{6, 0, 1, 3, 6, 0, 40, 0, 7, 0, 0, 255}, false, true)
	cfg := tinyConfig(FlushSync)
	cfg.ConsumeQueueExt = true
	mem := vfs.NewMem(nil)
	smallExt(f, mem)
	s, err := Open(context.Background(), Options{FS: mem, Dir: "/store", Config: cfg, Bitmaps: setBitmaps})
	if err != nil {
		f.Fatal(err)
	}
	if err := s.Start(context.Background()); err != nil {
		f.Fatal(err)
	}
	for i := range 30 {
		put(f, s, text("T", i%2, "body of some length, with a tag"))
	}
	if err := s.Close(context.Background()); err != nil {
		f.Fatal(err)
	}
	files := []string{"commitlog/" + segment.FileName(0), "commitlog/" + segment.FileName(2048),
		"consumequeue/T/0/" + segment.FileName(0), "consumequeue/T/1/" + segment.FileName(200), "checkpoint", "weir/flushed",
		"consumequeue_ext/T/0/" + segment.FileName(0), "consumequeue_ext/T/1/" + segment.FileName(256)}
	f.Fuzz(func(t *testing.T, data []byte, clean, note bool) {
		left := mem.KillClone()
		for ; len(data) >= 4; data = data[4:] {
			file, err := left.Open(filepath.Join("/store", files[int(data[0])%len(files)]), vfs.ReadWrite)
			if err != nil {
				t.Fatal(err)
			}
			info, _ := file.Stat()
			file.WriteAt(data[3:4], int64(binary.BigEndian.Uint16(data[1:]))%info.Size)
			file.Close()
		}
		if !clean {
			file, _ := left.Open("/store/abort", vfs.Create)
			file.Close()
		}
		if !note {
			left.Remove("/store/weir/flushed")
		}
		tryOpen(t, left, cfg)
	})
}

// tryOpen opens what may be damaged, reads all, appends, and opens again.
func tryOpen(t *testing.T, fsys vfs.FS, cfg Config) {
	t.Helper()
	for round := range 2 {
		s, err := Open(context.Background(), Options{FS: fsys, Dir: "/store", Config: cfg, Logger: testLogger(t)})
		if err != nil {
			var damage *DamageError // of what was trusted at first, and is needed now
			if round > 0 && !errors.As(err, &damage) {
				t.Fatalf("opened once and then refused: %v", err)
			}
			return
		}
		if err := s.Start(context.Background()); err != nil {
			t.Fatal(err)
		}
		for _, key := range s.Queues() {
			at, end, _ := s.Bounds(key)
			for ; at < end; at++ {
				raw, ref, err := s.Entries(key, at, 1)
				if err != nil {
					t.Fatalf("%v offset %d of %d: %v", key, at, end, err)
				}
				var r transport.Records
				if _, err := s.Lend([]message.Entry{message.DecodeEntry(raw)}, &r); err == nil {
					r.Release()
				}
				ref.Release()
			}
		}
		b := put(t, s, text("T", 0, "after"), text("New", 0, "after"))
		if m := b.Messages[0]; m.Code != message.Success {
			t.Fatalf("%v %s", m.Code, m.Remark)
		}
		if err := s.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// FuzzNote reads slots of the note.
func FuzzNote(f *testing.F) {
	f.Add(note{sequence: 7, clean: true, flushed: 100, queued: 90, queues: 3, entries: 4}.append(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		n, ok, err := parseNote(data)
		if err != nil || !ok {
			return
		}
		if again, ok, err := parseNote(n.append(nil)); err != nil || !ok || again != n {
			t.Fatalf("%+v comes back as %+v", n, again)
		}
	})
}

// The note's bytes on the disk.
func TestNoteBytes(t *testing.T) {
	n := note{sequence: 7, clean: true, flushed: 100, queued: 90, queues: 3, entries: 4}
	b := n.append(nil)
	const want = "WEIRFLSH\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00\x64" +
		"\x00\x00\x00\x00\x00\x00\x00\x5a\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x04"
	if len(b) != noteSize || string(b[:56]) != want {
		t.Fatalf("%x", b)
	}
	for i := range b { // a torn slot doesn't count
		torn := append([]byte(nil), b...)
		torn[i] ^= 1
		if got, ok, err := parseNote(torn); ok && err == nil {
			t.Fatalf("byte %d changed, still %+v", i, got)
		}
	}
}
