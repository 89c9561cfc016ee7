package index

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
)

// vectors are what RocketMQ's classes did, see testdata.
type vectors struct {
	ServiceStore struct {
		Slots, EntriesPerFile int
		IndexFiles            int
		Records               []struct {
			UniqKey, Keys string
			Phy           int64
		}
	}
	Files []struct {
		Slots, Entries  int
		PreviousEndPhy  int64
		PreviousEndTime int64
		Puts            [][]any
		Full            bool
		File            string
		Matches         [][]any
		Queries         []struct {
			Query []any
			Found []int64
		}
	}
	Service []struct {
		Topic, Key string
		MaxNum     int
		Range      string
		Found      any
	}
}

func readVectors(t *testing.T) (v vectors) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "store-index.json"))
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func number(v any) int64 {
	n, _ := v.(json.Number).Int64()
	return n
}

// TestVectorsOfFiles puts what was put into RocketMQ's files and compares every byte, and asks what they were asked.
func TestVectorsOfFiles(t *testing.T) {
	for i, v := range readVectors(t).Files {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			fsys := vfs.NewMem(nil)
			if err := fsys.MkdirAll("/index"); err != nil {
				t.Fatal(err)
			}
			l := Layout{v.Slots, v.Entries}
			f, err := createFile(fsys, "/index", "x", l, header{endTime: v.PreviousEndTime, endPos: v.PreviousEndPhy})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range v.Puts {
				if accepted := p[3].(bool); accepted == f.full() {
					t.Fatalf("put %v: the file is full: %v", p, f.full())
				} else if accepted {
					if err := f.put(hashOf(p[0].(string)), number(p[1]), number(p[2])); err != nil {
						t.Fatal(err)
					}
				}
			}
			ask := func(when string) {
				for _, q := range v.Queries {
					got, err := reader{new(sync.RWMutex), f, f.header}.find(nil, hashOf(q.Query[0].(string)), min(int(number(q.Query[1])), QueryMax), number(q.Query[2]), number(q.Query[3]))
					if err != nil || !slices.Equal(got, q.Found) {
						t.Errorf("%s: %v finds %v, %v, want %v", when, q.Query, got, err, q.Found)
					}
				}
			}
			for _, m := range v.Matches {
				if got := f.header.overlaps(number(m[0]), number(m[1])); got != m[2].(bool) {
					t.Errorf("overlaps %v: %v", m, got)
				}
			}
			ask("in memory")
			if err := f.finish(); err != nil {
				t.Fatal(err)
			}
			if err := f.sync(); err != nil {
				t.Fatal(err)
			}
			want, _ := hex.DecodeString(v.File)
			got, err := vfs.ReadFile(fsys, "/index/x", l.size())
			if err != nil || int64(len(got)) != l.size() {
				t.Fatalf("%d bytes, %v", len(got), err)
			}
			if rest := got[min(len(want), len(got)):]; !bytes.Equal(got[:min(len(want), len(got))], want) || slices.ContainsFunc(rest, func(b byte) bool { return b != 0 }) {
				t.Errorf("the file is\n%x, want\n%x", got, want)
			}
			f.slots = nil
			ask("from the file")
		})
	}
}

// hashOf hashes a whole key, topic included.
func hashOf(key string) int32 { return hashKey(0, []byte(key)) }

func TestHash(t *testing.T) {
	for _, text := range []string{"", "a", "T#k", "polygenelubricants", "键2", "T#\xff\xfe", "😀x", "a\xe4\xb8"} {
		want := message.JavaHash("topic#" + text)
		if want < 0 {
			want = max(-want, 0)
		}
		if got := hashKey(topicSum([]byte("topic")), []byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	at := time.Date(2026, 12, 31, 23, 59, 59, 7_000_000, time.UTC)
	if got := fileName(at); got != "20261231235959007" {
		t.Error(got)
	}
	for _, c := range [][2]string{{"20261231235959006", "20261231235959007"}, {"20261231235959007", "20261231235959008"}, {"20271231235959999", "20271231235960000"}} {
		if got := after(at, c[0]); got != c[1] || !validName(got) {
			t.Errorf("after %s comes %s, want %s", c[0], got, c[1])
		}
	}
	for _, name := range []string{"", "2026123123595900", "202612312359590077", "2026123123595900x", ".DS_Store"} {
		if validName(name) {
			t.Errorf("%q is valid", name)
		}
	}
}

// world is an index on a disk in memory, and the records that were put.
type world struct {
	*Index
	t       testing.TB
	fs      vfs.FS
	clock   *clock.Manual
	layout  Layout
	records []message.Record
}

func newWorld(t testing.TB, l Layout) *world {
	t.Helper()
	w := &world{t: t, fs: vfs.NewMem(nil), clock: clock.NewManual(time.UnixMilli(1_700_000_000_000)), layout: l}
	w.open(w.fs, 0, true)
	return w
}

func (w *world) open(fsys vfs.FS, before message.Position, clean bool) {
	w.t.Helper()
	x, err := Open(Settings{FS: fsys, Dir: "/", Layout: w.layout, Clock: w.clock, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		w.t.Fatal(err)
	}
	w.fs, w.Index = fsys, x
	err = x.Recover(before, clean, func(p message.Position) (int64, bool) {
		for _, r := range w.records {
			if r.Position() == p {
				return r.StoreTimestamp(), true
			}
		}
		return 0, false
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

var host = netip.MustParseAddrPort("127.0.0.1:1")

func record(t testing.TB, topic, unique, keys string, at message.Position, stored int64) message.Record {
	t.Helper()
	var p message.Properties
	if keys != "" {
		p = message.AppendProperty(p, message.PropKeys, keys)
	}
	if unique != "" {
		p = message.AppendProperty(p, message.PropUniqKey, unique)
	}
	b, err := message.AppendRecord(nil, &message.Message{Topic: topic, BornHost: host, StoreHost: host, Properties: p})
	if err != nil {
		t.Fatal(err)
	}
	message.Record(b).Place(0, at, stored)
	return b
}

func (w *world) put(rec message.Record) {
	w.t.Helper()
	w.Begin()
	defer w.Done()
	if err := w.Put(rec); err != nil {
		w.t.Fatal(err)
	}
}

// add stores a message a second after the last.
func (w *world) add(topic, unique, keys string) message.Position {
	w.t.Helper()
	w.clock.Advance(time.Second)
	at := message.Position(100 * (len(w.records) + 1))
	rec := record(w.t, topic, unique, keys, at, w.clock.Now().UnixMilli())
	w.records = append(w.records, rec)
	w.put(rec)
	return at
}

func (w *world) find(topic, key string) []int64 {
	w.t.Helper()
	got, err := w.Query(topic, key, QueryMax, 0, math.MaxInt64)
	if err != nil {
		w.t.Fatal(err)
	}
	return got
}

// TestVectorsOfService asks a whole index what RocketMQ's was asked.
func TestVectorsOfService(t *testing.T) {
	v := readVectors(t)
	w := newWorld(t, Layout{v.ServiceStore.Slots, v.ServiceStore.EntriesPerFile})
	first := w.clock.Now().UnixMilli()
	for _, r := range v.ServiceStore.Records {
		w.put(record(t, "T", r.UniqKey, r.Keys, message.Position(r.Phy), first+1))
	}
	if len(w.files) != v.ServiceStore.IndexFiles {
		t.Errorf("%d files, want %d", len(w.files), v.ServiceStore.IndexFiles)
	}
	for _, q := range v.Service {
		begin, end := int64(0), int64(math.MaxInt64)
		switch q.Range {
		case "after the last":
			begin = first + 3_600_000
		case "before the first":
			end = first - 3_600_000
		}
		want, ok := q.Found.([]any)
		if !ok { // an exception
			continue
		}
		got, err := w.Query(q.Topic, q.Key, q.MaxNum, begin, end)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(got)
		var positions []int64
		for _, p := range want {
			positions = append(positions, number(p))
		}
		if !slices.Equal(got, positions) {
			t.Errorf("%s of %s, %d, %s: %v, want %v", q.Key, q.Topic, q.MaxNum, q.Range, got, positions)
		}
	}
}

// TestCrashes kills and cuts the power after each message, with a flush after each third, and recovers from the flushed position. Putting again what came behind it, each message is found once.
func TestCrashes(t *testing.T) {
	for _, power := range []bool{false, true} {
		for n := 1; n < 40; n++ {
			w := &world{t: t, clock: clock.NewManual(time.UnixMilli(1_700_000_000_000)), layout: Layout{3, 8}}
			mem := vfs.NewMem(nil)
			w.open(mem, 0, true)
			flushed := message.Position(0)
			for i := range n {
				w.add("T", fmt.Sprint("U", i), fmt.Sprintf("all k%d", i%5))
				if i%3 == 2 {
					if err := w.Flush(); err != nil {
						t.Fatal(err)
					}
					flushed = w.records[i].Position() + 1
				}
			}
			var left vfs.FS = mem.KillClone()
			if power {
				left = mem.CrashClone(vfs.RandomCrash(uint64(n)))
			}
			w.open(left, flushed, false)
			for _, rec := range w.records {
				if rec.Position() >= flushed {
					w.put(rec)
				}
			}
			check := func(when string) {
				t.Helper()
				if got := w.find("T", "all"); len(got) != min(n, QueryMax) {
					t.Fatalf("power %v, %d messages, %s: %d are found: %v", power, n, when, len(got), got)
				}
				for i := range n {
					if got := w.find("T", fmt.Sprint("U", i)); !slices.Contains(got, int64(w.records[i].Position())) {
						t.Fatalf("power %v, %d messages, %s: U%d isn't found: %v", power, n, when, i, got)
					}
				}
			}
			check("recovered")
			if err := w.Finish(); err != nil {
				t.Fatal(err)
			}
			w.open(left, math.MaxInt64, true)
			check("after a clean stop")
			w.add("T", "later", "all")
			if got := w.find("T", "later"); len(got) == 0 {
				t.Fatal("it doesn't go on")
			}
		}
	}
}

func TestDeleteBefore(t *testing.T) {
	w := newWorld(t, Layout{4, 5})
	for i := range 12 {
		w.add("T", fmt.Sprint("U", i), "")
	}
	if err := w.DeleteBefore(850); err != nil {
		t.Fatal(err)
	}
	if n := len(w.files); n != 1 || len(w.find("T", "U2")) != 0 || len(w.find("T", "U11")) != 1 {
		t.Errorf("%d files are left", n)
	}
	if err := w.DeleteBefore(math.MaxInt64); err != nil || len(w.files) != 1 {
		t.Errorf("the newest file has to stay: %d, %v", len(w.files), err)
	}
}

func TestWrongSize(t *testing.T) {
	w := newWorld(t, Layout{4, 5})
	w.add("T", "U", "")
	_, err := Open(Settings{FS: w.fs, Dir: "/", Layout: Layout{5, 5}, Clock: w.clock, Logger: slog.Default()})
	if err == nil || !strings.Contains(err.Error(), "has 156 bytes, and store.index.slots and store.index.entries make 160: set them to what the store was made with") {
		t.Errorf("%v", err)
	}
}

// TestRolledBack has no keys, and neither has a message without.
func TestRolledBack(t *testing.T) {
	w := newWorld(t, Layout{4, 5})
	rec := record(t, "T", "U", "k", 100, 1)
	rec[36+3] |= byte(message.FlagRollback)
	w.put(rec)
	w.put(record(t, "T", "", "", 200, 1))
	w.put(record(t, "T", "", "  ", 300, 1))
	if len(w.files) != 0 || w.Puts.Load() != 0 {
		t.Errorf("%d files, %d entries", len(w.files), w.Puts.Load())
	}
}

// BenchmarkPut puts two keys a message into files of RocketMQ's size.
func BenchmarkPut(b *testing.B) {
	w := &world{t: b, clock: clock.NewManual(time.Now()), layout: Layout{5_000_000, 20_000_000}}
	w.fs = vfs.OS{}
	x, err := Open(Settings{FS: w.fs, Dir: b.TempDir(), Layout: w.layout, Clock: w.clock, Logger: slog.Default()})
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	var records []message.Record
	for i := range 4096 {
		records = append(records, record(b, "orders", fmt.Sprintf("0A0B0C0D0E0F101112131415161718%04X", i), fmt.Sprintf("order-%d", i), message.Position(100*i), time.Now().UnixMilli()))
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i += 128 {
		x.Begin()
		for j := range 64 {
			if err := x.Put(records[(i/2+j)%len(records)]); err != nil {
				b.Fatal(err)
			}
		}
		x.Done()
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mputs/s")
}
