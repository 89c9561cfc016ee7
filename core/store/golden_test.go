package store

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/plugin"
	"github.com/weirmq/weir/core/store/storetest"
	"github.com/weirmq/weir/core/transport"
)

// goldenKinds are the stores that a real RocketMQ 4.9.7 broker has written; see testdata/stores/README.md.
var goldenKinds = []string{"batch", "compressed", "delayed", "ipv6", "killed", "multi-segment", "plain",
	"property-filter", "retry-dlq", "tagged-keyed", "transaction"}

// unpackGolden unpacks a recorded store with its modification times and returns its directory and configuration.
func unpackGolden(t testing.TB, kind string) (dir string, cfg Config, levels []time.Duration) {
	t.Helper()
	root := storetest.Unpack(t, filepath.Join("testdata", "stores", kind+".tar.gz"))
	cfg, levels = goldenConfig(t, filepath.Join(root, kind, "broker.conf"))
	return filepath.Join(root, kind), cfg, levels
}

func goldenConfig(t testing.TB, path string) (Config, []time.Duration) {
	t.Helper()
	conf := storetest.ReadConf(t, path)
	cfg, levels := DefaultConfig(), DefaultDelayLevels()
	cfg.MaxMessageSize = 32 * plugin.KiB
	segment := int(cfg.SegmentSize)
	conf.Set(&segment, "mappedFileSizeCommitLog", 1)
	cfg.SegmentSize = plugin.Size(segment)
	conf.Set(&cfg.ConsumeQueueEntries, "mappedFileSizeConsumeQueue", message.EntrySize)
	conf.Set(&cfg.Index.Slots, "maxHashSlotNum", 1)
	conf.Set(&cfg.Index.Entries, "maxIndexNum", 1)
	if _, ok := conf["messageDelayLevel"]; ok {
		levels[17] = 36500 * 24 * time.Hour
	}
	return cfg, levels
}

type drained struct {
	Topic           string
	QueueID         message.QueueID
	QueueOffset     message.Offset
	Flag            int32
	Properties      map[string]string
	BodySha256      string
	BornTimestamp   int64
	StoreTimestamp  int64
	StoreHost       string
	CommitLogOffset message.Position
	StoreSize       int
	SysFlag         int32
	BodyCRC         int32
	ReconsumeTimes  int32
}

func readJSON(t testing.TB, path string, v any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// checkDrained says whether every message that Java read from a store is at its place.
func checkDrained(t *testing.T, s *Store, dir string) int {
	t.Helper()
	var list []drained
	readJSON(t, filepath.Join(dir, "drain.json"), &list)
	if len(list) == 0 {
		t.Fatal("drain.json is empty")
	}
	for _, d := range list {
		key := message.QueueKey{Topic: d.Topic, ID: d.QueueID}
		raw, ref, err := s.Entries(key, d.QueueOffset, 1)
		if err != nil {
			t.Fatalf("%v offset %d: %v", key, d.QueueOffset, err)
		}
		e := message.DecodeEntry(raw)
		ref.Release()
		if e.Position != d.CommitLogOffset || int(e.Size) != d.StoreSize {
			t.Fatalf("%v offset %d: entry %+v, want position %d, size %d", key, d.QueueOffset, e, d.CommitLogOffset, d.StoreSize)
		}
		var r transport.Records
		if _, err := s.Lend([]message.Entry{e}, &r); err != nil {
			t.Fatalf("%v offset %d: %v", key, d.QueueOffset, err)
		}
		rec, _, err := message.ParseRecord(r.Chunks[0])
		if err != nil {
			t.Fatal(err)
		}
		if rec.Position() != d.CommitLogOffset || rec.QueueOffset() != d.QueueOffset || string(rec.Topic()) != d.Topic ||
			rec.QueueID() != d.QueueID || rec.Flag() != d.Flag || rec.StoreTimestamp() != d.StoreTimestamp ||
			rec.BornTimestamp() != d.BornTimestamp || rec.CRC() != d.BodyCRC || rec.ReconsumeTimes() != d.ReconsumeTimes {
			t.Fatalf("record at %d differs from %+v", rec.Position(), d)
		}
		if got := rec.Properties().Map(); !maps.Equal(got, d.Properties) {
			t.Fatalf("record at %d: properties %v, want %v", rec.Position(), got, d.Properties)
		}
		if sum, ok := bodySum(t, rec); ok && sum != d.BodySha256 {
			t.Fatalf("record at %d: body differs", rec.Position())
		}
		r.Release()
	}
	return len(list)
}

// bodySum hashes the body as the producer sent it; ok is false where we can't inflate it here.
func bodySum(t *testing.T, rec message.Record) (sum string, ok bool) {
	body := rec.Body()
	if flag := rec.SysFlag(); flag&message.FlagCompressed != 0 {
		if c := flag & message.FlagCompressionMask; c != 0 && c != message.FlagZlib {
			return "", false
		}
		z, err := zlib.NewReader(bytes.NewReader(body))
		if err == nil {
			body, err = io.ReadAll(z)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	h := sha256.Sum256(body)
	return hex.EncodeToString(h[:]), true
}

// Every store that a Java broker has written opens, and each message that Java could read is found at its place; again
// after our clean stop, and again after our own crash.
func TestGoldenStores(t *testing.T) {
	for _, kind := range goldenKinds {
		t.Run(kind, func(t *testing.T) {
			dir, cfg, levels := unpackGolden(t, kind)
			root := filepath.Join(dir, "store")
			set := func(o *Options) { o.DelayLevels = levels }
			before := entryFiles(t, root)
			s := openTest(t, nil, root, cfg, set)
			n := checkDrained(t, s, dir)
			checkQueries(t, s, dir)
			if err := s.Close(context.Background()); err != nil {
				t.Fatal(err)
			}
			for path, data := range before {
				if after, _ := os.ReadFile(path); !bytes.Equal(after, data) {
					t.Errorf("%s has changed", path)
				}
			}
			s = openTest(t, nil, root, cfg, set)
			checkDrained(t, s, dir)
			key := s.Queues()[0]
			_, end, _ := s.Bounds(key)
			b := put(t, s, Message{Topic: key.Topic, Queue: key.ID, Body: []byte("ours"), StoreHost: storeHost})
			if m := b.Messages[0]; m.Code != message.Success || m.QueueOffset != end {
				t.Fatalf("append to %v: %+v, want offset %d", key, m, end)
			}
			t.Logf("%d messages, log %d to %d", n, s.Begin(), s.End())
		})
	}
}

// entryFiles returns the contents of all consume queue files of a store that was stopped cleanly.
func entryFiles(t *testing.T, root string) map[string][]byte {
	files := map[string][]byte{}
	if _, err := os.Stat(filepath.Join(root, "abort")); err == nil {
		return files
	}
	err := filepath.WalkDir(filepath.Join(root, "consumequeue"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[path], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

type query struct {
	Ask               string
	Topic             string
	QueueID           message.QueueID
	Min, Max          message.Offset
	EarliestStoreTime int64
	Time              int64
	Offset            message.Offset
	OffsetMsgID       string
}

// checkQueries compares with Java's answers about queues, and with its search by time where it doesn't pick a wrong file.
func checkQueries(t *testing.T, s *Store, dir string) {
	t.Helper()
	var list []query
	readJSON(t, filepath.Join(dir, "queries.json"), &list)
	for _, q := range list {
		key := message.QueueKey{Topic: q.Topic, ID: q.QueueID}
		switch q.Ask {
		case "queue":
			first, end, _ := s.Bounds(key)
			if first != q.Min || end != q.Max {
				t.Errorf("%v: bounds %d %d, want %d %d", key, first, end, q.Min, q.Max)
			}
			if at := s.EarliestStoreTime(key); at != q.EarliestStoreTime {
				t.Errorf("%v: earliest store time %d, want %d", key, at, q.EarliestStoreTime)
			}
		case "offsetByTime":
			at, err := s.OffsetByTime(key, q.Time, transport.Nearest)
			if err != nil {
				t.Fatal(err)
			}
			if at != q.Offset && !nearEnough(t, s, key, q, at) {
				t.Errorf("%v: offset at %d is %d, want %d", key, q.Time, at, q.Offset)
			}
		case "id":
			b, err := hex.DecodeString(q.OffsetMsgID)
			if err != nil {
				t.Fatal(err)
			}
			var pos message.Position
			for _, c := range b[len(b)-8:] {
				pos = pos<<8 | message.Position(c)
			}
			var r transport.Records
			if err := s.Record(pos, &r); err != nil {
				t.Errorf("record %s: %v", q.OffsetMsgID, err)
			}
			r.Release()
		}
	}
}

// nearEnough says whether our answer is at least as near to the asked time as Java's: it takes the first of equal times,
// and isn't misled by modification times.
func nearEnough(t *testing.T, s *Store, key message.QueueKey, q query, at message.Offset) bool {
	t.Helper()
	distance := func(at message.Offset) int64 {
		d, err := s.timeAt(s.queues.find(key.Topic, key.ID), at)
		if err != nil {
			t.Fatal(err)
		}
		return max(d-q.Time, q.Time-d)
	}
	return distance(at) <= distance(q.Offset)
}
