package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/store/consumequeue"
	"github.com/weirmq/weir/core/store/segment"
)

// recoveryVectors is what RocketMQ 4.9.7 makes of a small damaged store.
type recoveryVectors struct {
	Log, Queue0, Queue1, Checkpoint string
	Damage                          []struct {
		What, Mode string
		Outcome    json.RawMessage
	}
	Truncated, Zeroed, Flipped []struct {
		Mode      string
		Positions [2]int
		Outcome   recoveryOutcome
	}
}

type recoveryOutcome struct {
	LogEnd int64
	Queues [2]message.Offset
}

// small writes the clean store of the vectors.
type small struct {
	t            *testing.T
	fs           *vfs.Mem
	log, q0, q1  []byte
	check        []byte
	noLog, noQ0  bool
	noQ1, noCkpt bool
}

func (v *recoveryVectors) store(t *testing.T) *small {
	unhex := func(s string, size int) []byte {
		b, err := hex.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return append(b, make([]byte, size-len(b))...)
	}
	return &small{t: t, fs: vfs.NewMem(nil), log: unhex(v.Log, 4096), q0: unhex(v.Queue0, 2000), q1: unhex(v.Queue1, 2000),
		check: unhex(v.Checkpoint, 4096)}
}

func (m *small) write(path string, data []byte) {
	m.t.Helper()
	path = filepath.Join("/store", path)
	err := vfs.MkdirAllSync(m.fs, filepath.Dir(path))
	if err == nil {
		var f vfs.File
		if f, err = m.fs.Open(path, vfs.Create); err == nil {
			_, err = f.WriteAt(data, 0)
		}
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *small) config() Config {
	cfg := tinyConfig(FlushAsync)
	cfg.SegmentSize, cfg.ConsumeQueueEntries = 4096, 100
	return cfg
}

func (m *small) open(mode string) (*Store, error) {
	m.t.Helper()
	name := segment.FileName(0)
	if !m.noLog {
		m.write("commitlog/"+name, m.log)
	}
	if !m.noQ0 {
		m.write("consumequeue/T/0/"+name, m.q0)
	}
	if !m.noQ1 {
		m.write("consumequeue/T/1/"+name, m.q1)
	}
	if !m.noCkpt {
		m.write("checkpoint", m.check)
	}
	if mode == "unclean" {
		m.write("abort", nil)
	}
	return Open(context.Background(), Options{FS: m.fs, Dir: "/store", Config: m.config(), Logger: testLogger(m.t)})
}

func outcome(s *Store) recoveryOutcome {
	o := recoveryOutcome{LogEnd: int64(s.End())}
	for i := range o.Queues {
		_, o.Queues[i], _ = s.Bounds(message.QueueKey{Topic: "T", ID: message.QueueID(i)})
	}
	return o
}

// whole is the outcome without loss.
var whole = recoveryOutcome{575, [2]message.Offset{3, 2}}

// Damage that RocketMQ was tried with, and what becomes of it here. Where we do better than RocketMQ the table says so.
func TestRecoveryVectors(t *testing.T) {
	var v recoveryVectors
	readJSON(t, "testdata/vectors/store-recovery.json", &v)
	record := func(b []byte, at int) []byte { return b[at*message.EntrySize:] }
	damage := map[string]func(m *small){
		"none":                              func(m *small) {},
		"consume queue 0 removed":           func(m *small) { m.noQ0 = true },
		"both consume queues removed":       func(m *small) { m.noQ0, m.noQ1 = true, true },
		"queue 0: second entry zeroed":      func(m *small) { clear(record(m.q0, 1)[:20]) },
		"queue 0: last entry zeroed":        func(m *small) { clear(record(m.q0, 2)[:20]) },
		"queue 0: first entry size 0":       func(m *small) { clear(m.q0[8:12]) },
		"queue 1: first entry phy negative": func(m *small) { m.q1[0] = 0x80 },
		"queue 0: last entry points past the log end": func(m *small) {
			binary.BigEndian.PutUint64(record(m.q0, 2), 1000)
		},
		"queue 0: extra entry past the log end": func(m *small) {
			copy(record(m.q0, 3), message.AppendEntry(nil, message.Entry{Position: 1000, Size: 115, TagsCode: 1}))
		},
		"log removed":                         func(m *small) { m.noLog = true },
		"checkpoint removed":                  func(m *small) { m.noCkpt = true },
		"checkpoint zero":                     func(m *small) { clear(m.check) },
		"checkpoint in the future":            func(m *small) { m.check[0], m.check[8] = 1, 1 },
		"index removed":                       func(m *small) {},
		"empty last segment of length 0":      func(m *small) { m.write("commitlog/"+segment.FileName(4096), nil) },
		"zero-filled pre-allocated segment":   func(m *small) { m.write("commitlog/"+segment.FileName(4096), make([]byte, 4096)) },
		"foreign file in the log directory":   func(m *small) { m.write("commitlog/x", []byte("x")) },
		"foreign file in the queue directory": func(m *small) { m.write("consumequeue/T/0/x", []byte("x")) },
		"queue directory named x":             func(m *small) { m.write("consumequeue/T/x/y", []byte("x")) },
		"file in place of a topic directory":  func(m *small) { m.write("consumequeue/U", []byte("x")) },
		"stale whole record behind the end":   func(m *small) { copy(m.log[575:], m.log[:115]) },
		"garbage behind the end":              func(m *small) { copy(m.log[575:], bytes.Repeat([]byte{0xab}, 200)) },
		"blank marker behind the end":         func(m *small) { message.AppendBlank(m.log[:575], 4096-575) },
	}
	// Where we differ: lost entries are made again from the log, and an empty last file is no reason not to start.
	better := []string{"consume queue 0 removed", "both consume queues removed", "queue 0: second entry zeroed",
		"queue 0: last entry zeroed", "queue 0: first entry size 0", "queue 1: first entry phy negative",
		"queue 0: last entry points past the log end", "empty last segment of length 0", "stale whole record behind the end"}
	for _, d := range v.Damage {
		t.Run(d.Mode+"/"+d.What, func(t *testing.T) {
			m := v.store(t)
			damage[d.What](m)
			s, err := m.open(d.Mode)
			want := whole
			if !slices.Contains(better, d.What) {
				if string(d.Outcome) == `"load refused"` {
					var layout *segment.LayoutError
					if !errors.As(err, &layout) || !strings.Contains(err.Error(), "move it away") {
						t.Fatalf("error %v", err)
					}
					return
				}
				if err := json.Unmarshal(d.Outcome, &want); err != nil {
					t.Fatal(err)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			defer s.letGo()
			if got := outcome(s); got != want {
				t.Fatalf("got %+v, want %+v", got, want)
			}
		})
	}
	for what, list := range map[string][]struct {
		Mode      string
		Positions [2]int
		Outcome   recoveryOutcome
	}{"truncated": v.Truncated, "zeroed": v.Zeroed, "flipped": v.Flipped} {
		for _, d := range list {
			for at := d.Positions[0]; at <= d.Positions[1]; at++ {
				m := v.store(t)
				was := m.log[at]
				switch what {
				case "truncated":
					clear(m.log[at:])
				case "zeroed":
					m.log[at] = 0
				case "flipped":
					m.log[at] ^= 0xff
				}
				want := d.Outcome
				if what != "truncated" && at >= 258 && at < 266 && was != m.log[at] {
					want = recoveryOutcome{230, [2]message.Offset{1, 1}} // we look at the position in a record too
				}
				s, err := m.open(d.Mode)
				if err != nil {
					t.Errorf("%s %d %s: %v", what, at, d.Mode, err)
					continue
				}
				if got := outcome(s); got != want {
					t.Errorf("%s %d %s: got %+v, want %+v", what, at, d.Mode, got, want)
				}
				s.letGo()
			}
		}
	}
}

// damagedStore stores messages, stops cleanly or not, and returns the file system.
func damagedStore(t *testing.T, cfg Config, clean bool) (*vfs.Mem, *ledger) {
	t.Helper()
	mem := vfs.NewMem(nil)
	l := &ledger{}
	s, err := Open(context.Background(), Options{FS: mem, Dir: "/store", Config: cfg})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	workload(t, s, l, 40)
	if err := s.flushQueues(0); err != nil {
		t.Fatal(err)
	}
	left := mem.KillClone()
	if err := s.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if clean {
		return mem, l
	}
	return left, l
}

func flip(t *testing.T, fsys vfs.FS, path string, at int64) {
	t.Helper()
	f, err := fsys.Open(path, vfs.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b [1]byte
	f.ReadAt(b[:], at)
	b[0] ^= 0xff
	f.WriteAt(b[:], at)
}

// content is every file below a directory, to see that nothing was changed.
func content(t *testing.T, fsys vfs.FS, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	list, err := fsys.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range list {
		path := filepath.Join(dir, info.Name)
		if info.IsDir {
			for p, c := range content(t, fsys, path) {
				files[p] = c
			}
			continue
		}
		data, err := vfs.ReadFile(fsys, path, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		files[path] = string(data)
	}
	return files
}

// A bad record below the noted flushed position is interior damage: the store doesn't open, says where and what to do, and
// has changed nothing. Without the note it is cut there, as RocketMQ does.
func TestInteriorDamage(t *testing.T) {
	cfg := tinyConfig(FlushSync)
	mem, l := damagedStore(t, cfg, false)
	last := l.acked[len(l.acked)-1]
	file := "/store/commitlog/" + segment.FileName(int64(last.pos)/2048*2048)
	s, err := Open(context.Background(), Options{FS: mem, Dir: "/store", Config: cfg})
	if err != nil {
		t.Fatal(err)
	}
	n := note{sequence: 1 << 40, flushed: int64(s.End())} // as if the queues had not been flushed
	s.letGo()
	if err := writeInPlace(mem, "/store/weir/flushed", noteFileSize, n.append(nil), 0, true); err != nil {
		t.Fatal(err)
	}
	flip(t, mem, file, int64(last.pos)%2048+90)
	before := content(t, mem, "/store")
	_, err = Open(context.Background(), Options{FS: mem, Dir: "/store", Config: cfg})
	var damage *DamageError
	if !errors.As(err, &damage) || damage.Position != last.pos || damage.Path != file {
		t.Fatalf("error %v", err)
	}
	for _, want := range []string{file, fmt.Sprintf("at position %d", last.pos), "body checksum differs",
		fmt.Sprintf("position %d had been flushed", n.flushed), "remove /store/weir/flushed"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	for path, data := range content(t, mem, "/store") {
		if before[path] != data {
			t.Errorf("%s was changed", path)
		}
	}
	mem.Remove("/store/weir/flushed")
	s, err = Open(context.Background(), Options{FS: mem, Dir: "/store", Config: cfg})
	if err != nil {
		t.Fatal(err)
	}
	defer s.letGo()
	if s.End() != last.pos {
		t.Fatalf("cut at %d, want %d", s.End(), last.pos)
	}
}

// A log that is shorter than what was flushed is refused too.
func TestMissingSegments(t *testing.T) {
	cfg := tinyConfig(FlushSync)
	mem, _ := damagedStore(t, cfg, true)
	list, _ := mem.ReadDir("/store/commitlog")
	mem.Remove("/store/commitlog/" + list[len(list)-1].Name)
	_, err := Open(context.Background(), Options{FS: mem, Dir: "/store", Config: cfg})
	var damage *DamageError
	if !errors.As(err, &damage) {
		t.Fatalf("error %v", err)
	}
}

// Queues are made again from the log, whatever is missing of them, and however far the others are.
func TestQueuesAreRebuilt(t *testing.T) {
	cfg := tinyConfig(FlushSync)
	for _, clean := range []bool{true, false} {
		cases := map[string]func(mem *vfs.Mem){
			"all removed": func(mem *vfs.Mem) { removeAll(t, mem, "/store/consumequeue") },
		}
		if !clean {
			cases["one removed"] = func(mem *vfs.Mem) { removeAll(t, mem, "/store/consumequeue/T0/0") }
			cases["newest file of one removed"] = func(mem *vfs.Mem) {
				list, _ := mem.ReadDir("/store/consumequeue/T1/0")
				mem.Remove("/store/consumequeue/T1/0/" + list[len(list)-1].Name)
			}
			cases["hole in one"] = func(mem *vfs.Mem) { zero(t, mem, "/store/consumequeue/T0/0/"+segment.FileName(0), 40, 60) }
			cases["garbage in one"] = func(mem *vfs.Mem) { flip(t, mem, "/store/consumequeue/T0/0/"+segment.FileName(0), 47) }
		}
		for name, damage := range cases {
			t.Run(fmt.Sprintf("clean=%v/%s", clean, name), func(t *testing.T) {
				mem, l := damagedStore(t, cfg, clean)
				damage(mem)
				if !clean { // something of each queue has to be dispatched again for a gap to show
					mem.Remove("/store/weir/flushed")
					mem.Remove("/store/checkpoint")
				}
				verifySurvivor(t, name, mem, cfg, l.snapshot())
			})
		}
	}
}

func removeAll(t *testing.T, fsys vfs.FS, dir string) {
	t.Helper()
	list, err := fsys.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range list {
		path := filepath.Join(dir, info.Name)
		if info.IsDir {
			removeAll(t, fsys, path)
			continue
		}
		if err := fsys.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := fsys.Remove(dir); err != nil {
		t.Fatal(err)
	}
}

func zero(t *testing.T, fsys vfs.FS, path string, from, to int64) {
	t.Helper()
	f, err := fsys.Open(path, vfs.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(make([]byte, to-from), from); err != nil {
		t.Fatal(err)
	}
}

// A queue that lost entries while others are ahead is completed from in front of where the others begin (RocketMQ
// issues 7355 and 1434).
func TestGapBeforeTheTrustedPosition(t *testing.T) {
	cfg := tinyConfig(FlushSync)
	mem, l := damagedStore(t, cfg, false)
	s, err := Open(context.Background(), Options{FS: mem, Dir: "/store", Config: cfg})
	if err != nil {
		t.Fatal(err)
	}
	key := message.QueueKey{Topic: "T0", ID: 0}
	_, end, _ := s.Bounds(key)
	e, err := s.queues.find("T0", 0).Entry(end - 1)
	if err != nil {
		t.Fatal(err)
	}
	s.letGo()
	// All is said to be flushed up to the queue's last record, and its three entries before that are not there.
	n := note{sequence: 1 << 40, flushed: int64(e.Position), queued: int64(e.Position)}
	if err := writeInPlace(mem, "/store/weir/flushed", noteFileSize, n.append(nil), 0, true); err != nil {
		t.Fatal(err)
	}
	per := message.Offset(cfg.ConsumeQueueEntries)
	for at := end - 4; at < end; at++ {
		file := filepath.Join(consumequeue.Dir("/store", key), segment.FileName(int64(at/per*per)*message.EntrySize))
		zero(t, mem, file, int64(at%per)*20, int64(at%per)*20+20)
	}
	verifySurvivor(t, "gap", mem, cfg, l.snapshot())
}

func TestOpenRefuses(t *testing.T) {
	cfg := tinyConfig(FlushAsync)
	cases := []struct {
		name   string
		damage func(mem *vfs.Mem, cfg *Config)
		want   []string
	}{
		{"wrong segment size", func(_ *vfs.Mem, c *Config) { c.SegmentSize = 4096 },
			[]string{"commitlog", "has 2048 bytes", "set store.segment_size to 2048"}},
		{"wrong queue size", func(_ *vfs.Mem, c *Config) { c.ConsumeQueueEntries = 20 },
			[]string{"consumequeue", "has 200 bytes", "store.consume_queue_entries"}},
		{"odd file", func(mem *vfs.Mem, _ *Config) {
			f, _ := mem.Open("/store/commitlog/"+segment.FileName(2048), vfs.ReadWrite)
			f.Truncate(2000)
		}, []string{segment.FileName(2048), "has 2000 bytes"}},
		{"missing segment", func(mem *vfs.Mem, _ *Config) { mem.Remove("/store/commitlog/" + segment.FileName(2048)) },
			[]string{segment.FileName(4096), "bytes 2048 to 4096 are missing"}},
		{"locked", func(mem *vfs.Mem, _ *Config) { mem.Lock("/store/lock") }, []string{"lock /store/lock"}},
		{"newer note", func(mem *vfs.Mem, _ *Config) {
			b := note{sequence: 1 << 40}.append(nil)
			b[11] = 9
			writeInPlace(mem, "/store/weir/flushed", noteFileSize, b, 0, true)
		}, []string{"/store/weir/flushed", "newer version of weir"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			mem, _ := damagedStore(t, cfg, true)
			cfg := cfg
			c.damage(mem, &cfg)
			before := content(t, mem, "/store")
			_, err := Open(context.Background(), Options{FS: mem, Dir: "/store", Config: cfg})
			if err == nil {
				t.Fatal("opened")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in: %v", want, err)
				}
			}
			for path, data := range content(t, mem, "/store") {
				if before[path] != data {
					t.Errorf("%s was changed", path)
				}
			}
		})
	}
}

// After a clean stop nothing is walked over and no file of ours or RocketMQ's is left that shouldn't be.
func TestCleanStop(t *testing.T) {
	cfg := tinyConfig(FlushAsync)
	mem, l := damagedStore(t, cfg, true)
	if ok, _ := vfs.Exists(mem, "/store/abort"); ok {
		t.Error("abort is there")
	}
	s := newStore(context.Background(), Options{FS: mem, Dir: "/store", Config: cfg})
	f, err := s.inspect()
	if err != nil {
		t.Fatal(err)
	}
	if f.unclean || f.from != f.end || f.note.flushed != f.end || !f.note.clean {
		t.Errorf("%+v", f)
	}
	list, err := mem.ReadDir("/store/commitlog")
	if err != nil {
		t.Fatal(err)
	}
	if want := segment.FileName(f.end / 2048 * 2048); list[len(list)-1].Name != want {
		t.Errorf("the last segment is %s, want %s", list[len(list)-1].Name, want)
	}
	verifySurvivor(t, "clean stop", mem, cfg, l.snapshot())
}

// A log whose only segment is empty, and doesn't begin at 0, goes on where it is after clean stops: here the older segments
// have expired and the last was lost.
func TestCleanStopOfAnEmptyLog(t *testing.T) {
	cfg := tinyConfig(FlushSync)
	mem := vfs.NewMem(nil)
	s := openTest(t, mem, "/store", cfg)
	for i := range 50 {
		put(t, s, text("T", 0, fmt.Sprintf("body %d", i)))
	}
	if err := s.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	list, err := mem.ReadDir("/store/commitlog")
	if err != nil {
		t.Fatal(err)
	}
	last := list[len(list)-1].Name
	for _, f := range list {
		if err := mem.Remove("/store/commitlog/" + f.Name); err != nil {
			t.Fatal(err)
		}
	}
	f, err := mem.Open("/store/commitlog/"+last, vfs.Create|vfs.ReadWrite)
	if err == nil {
		err = errors.Join(f.Truncate(int64(cfg.SegmentSize)), f.Close(), mem.Remove("/store/weir/flushed"))
	}
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		s = openTest(t, mem, "/store", cfg)
		if got := segment.FileName(int64(s.End())); got != last || s.Begin() != s.End() {
			t.Fatalf("start %d: the log is from %d to %d, want nothing at %s", i, s.Begin(), s.End(), last)
		}
		if err := s.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	s = openTest(t, mem, "/store", cfg)
	if b := put(t, s, text("T", 0, "next")); b.Messages[0].Code != message.Success || segment.FileName(int64(b.Messages[0].Position)) != last {
		t.Errorf("%+v", b.Messages[0])
	}
}
