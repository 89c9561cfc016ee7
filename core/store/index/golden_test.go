package index

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/store/storetest"
)

// TestFilesAsJava puts the records of stores that a real RocketMQ 4.9.7 broker has written, and compares the files with those of that broker: they are equal byte
// for byte, but for their names, which are times.
func TestFilesAsJava(t *testing.T) {
	for _, kind := range []string{"plain", "tagged-keyed", "batch", "multi-segment", "transaction", "delayed", "retry-dlq"} {
		t.Run(kind, func(t *testing.T) {
			root := filepath.Join(storetest.Unpack(t, filepath.Join("..", "testdata", "stores", kind+".tar.gz")), kind)
			conf, l := storetest.ReadConf(t, filepath.Join(root, "broker.conf")), Layout{}
			conf.Set(&l.Slots, "maxHashSlotNum", 1)
			conf.Set(&l.Entries, "maxIndexNum", 1)
			fs := vfs.NewMem(nil)
			manual := clock.NewManual(time.UnixMilli(1_700_000_000_000))
			x, err := Open(Settings{FS: fs, Dir: "/", Layout: l, Clock: manual, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
			if err != nil {
				t.Fatal(err)
			}
			eachRecord(t, filepath.Join(root, "store", "commitlog"), func(rec message.Record) {
				manual.Advance(time.Millisecond) // files are named by the time
				x.Begin()
				defer x.Done()
				if err := x.Put(rec); err != nil {
					t.Fatal(err)
				}
			})
			if err := errors.Join(x.Finish(), x.Close()); err != nil {
				t.Fatal(err)
			}
			java, err := filepath.Glob(filepath.Join(root, "store", "index", "*"))
			if err != nil {
				t.Fatal(err)
			}
			ours, err := fs.ReadDir("/index")
			if err != nil || len(ours) != len(java) || len(java) == 0 {
				t.Fatalf("%d files, Java has %d, %v", len(ours), len(java), err)
			}
			for i, path := range java {
				want, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				got, err := vfs.ReadFile(fs, filepath.Join("/index", ours[i].Name), int64(len(want)))
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got, want) {
					at := 0
					for at < len(got) && got[at] == want[at] {
						at++
					}
					t.Errorf("file %d of %d differs from byte %d on: % x, Java has % x", i, len(java), at, got[at:min(at+40, len(got))], want[at:min(at+40, len(want))])
				}
			}
		})
	}
}

// eachRecord calls f with each record of a log.
func eachRecord(t *testing.T, dir string, f func(message.Record)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for {
			rec, n, err := message.ParseRecord(b)
			if err != nil {
				break // the blank at the end
			}
			f(rec)
			b = b[n:]
		}
	}
}
