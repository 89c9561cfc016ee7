package readonly_test

import (
	"bytes"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/plugin"
	"github.com/weirmq/weir/core/store"
	"github.com/weirmq/weir/core/store/readonly"
	"github.com/weirmq/weir/core/store/storetest"
	"github.com/weirmq/weir/core/transport"
)

// TestSameAsStore reads directories that a real RocketMQ 4.9.7 broker has written, and compares each queue and record with what the opened store has.
func TestSameAsStore(t *testing.T) {
	for _, kind := range []string{"plain", "multi-segment", "delayed", "transaction", "tagged-keyed"} {
		t.Run(kind, func(t *testing.T) {
			root := filepath.Join(storetest.Unpack(t, filepath.Join("..", "testdata", "stores", kind+".tar.gz")), kind)
			dir := filepath.Join(root, "store")
			d, err := readonly.Open(nil, dir)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			cfg := store.DefaultConfig()
			cfg.ConsumeQueueEntries, cfg.Index.Enabled, cfg.MaxMessageSize = 1000, false, 32*plugin.KiB
			conf, segment := storetest.ReadConf(t, filepath.Join(root, "broker.conf")), 0
			conf.Set(&segment, "mappedFileSizeCommitLog", 1)
			conf.Set(&cfg.ConsumeQueueEntries, "mappedFileSizeConsumeQueue", message.EntrySize)
			cfg.SegmentSize = plugin.Size(segment)
			type queue struct {
				low, high message.Offset
				raw       [][]byte
			}
			seen := map[message.QueueKey]queue{}
			topics, err := filepath.Glob(filepath.Join(dir, "consumequeue", "*", "*"))
			if err != nil || len(topics) == 0 {
				t.Fatal(topics, err)
			}
			for _, path := range topics {
				id, _ := strconv.Atoi(filepath.Base(path))
				key := message.QueueKey{Topic: filepath.Base(filepath.Dir(path)), ID: message.QueueID(id)}
				low, high, _ := d.Bounds(key)
				q := queue{low: low, high: high}
				for at := low; at < high; at++ {
					raw, _, err := d.Entries(key, at, 1)
					if err != nil {
						t.Fatal(err)
					}
					var r transport.Records
					if n, err := d.Lend([]message.Entry{message.DecodeEntry(raw)}, &r); n != 1 {
						t.Fatal(key, at, err)
					}
					q.raw = append(q.raw, bytes.Clone(r.Chunks[0]))
				}
				seen[key] = q
			}
			s, err := store.Open(t.Context(), store.Options{Dir: dir, Config: cfg})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := s.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}()
			for key, q := range seen {
				low, high, _ := s.Bounds(key)
				if low != q.low || high != q.high {
					t.Errorf("%v: %d to %d, the store has %d to %d", key, q.low, q.high, low, high)
					continue
				}
				for i, want := range q.raw {
					raw, ref, err := s.Entries(key, low+message.Offset(i), 1)
					if err != nil {
						t.Fatal(err)
					}
					var r transport.Records
					if n, err := s.Lend([]message.Entry{message.DecodeEntry(raw)}, &r); n != 1 || !bytes.Equal(r.Chunks[0], want) {
						t.Errorf("%v: record %d differs, %v", key, i, err)
					}
					r.Release()
					ref.Release()
				}
			}
			if d.SegmentSize != int64(cfg.SegmentSize) || len(d.Strange) > 0 {
				t.Errorf("segments of %d bytes; strange: %v", d.SegmentSize, d.Strange)
			}
		})
	}
	if _, err := readonly.Open(nil, t.TempDir()); err != nil {
		t.Error(err)
	}
}
