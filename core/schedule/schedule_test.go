package schedule

import (
	"bytes"
	"errors"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

func TestParseLevels(t *testing.T) {
	l, err := ParseLevels(DefaultLevels)
	if err != nil || len(l) != message.MaxDelayLevel || l.Delay(1) != time.Second || l.Delay(18) != 2*time.Hour || l.Clamp(19) != 18 || l.Clamp(3) != 3 {
		t.Fatalf("%v, %v", l, err)
	}
	if l, err := ParseLevels("  2d 36500d\t1s "); err != nil || !slices.Equal(l, Levels{48 * time.Hour, 36500 * 24 * time.Hour, time.Second}) {
		t.Fatalf("%v, %v", l, err)
	}
	for text, want := range map[string]string{
		"": "0 delay levels", "  ": "0 delay levels", "1s 2": `"2"`, "s": `"s"`, "1s 0s": `"0s"`, "-1s": `"-1s"`, "1.5s": `"1.5s"`, "1w": `"1w"`,
		"9223372036854775807d": `"9223372036854775807d"`, strings.Repeat("1s ", 1001): "1001 delay levels",
	} {
		if _, err := ParseLevels(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", text, err, want)
		}
	}
}

func TestRedirect(t *testing.T) {
	l, _ := ParseLevels("1s 5s")
	for _, c := range []struct {
		name  string
		props message.Properties
		level int
		queue message.QueueID
		want  map[string]string
	}{
		{"none", nil, 1, 0, map[string]string{"REAL_TOPIC": "T", "REAL_QID": "7"}},
		{"as it is", message.Properties("A\x01b\x02DELAY\x012"), 2, 1, map[string]string{"A": "b", "DELAY": "2", "REAL_TOPIC": "T", "REAL_QID": "7"}},
		{"too high", message.Properties("DELAY\x0112\x02A\x01b"), 12, 1, map[string]string{"A": "b", "DELAY": "2", "REAL_TOPIC": "T", "REAL_QID": "7"}},
		{"forged", message.Properties("REAL_TOPIC\x01X\x02REAL_QID\x011\x02DELAY\x011"), 1, 0, map[string]string{"DELAY": "1", "REAL_TOPIC": "T", "REAL_QID": "7"}},
	} {
		q, p := l.Redirect(nil, c.props, c.level, "T", 7)
		if q != (message.QueueKey{Topic: message.TopicSchedule, ID: c.queue}) || !maps.Equal(p.Map(), c.want) || strings.Count(string(p), "REAL_TOPIC") != 1 {
			t.Errorf("%s: %v %q", c.name, q, p)
		}
	}
}

// fakeLog is one queue of records, some of which can't be had.
type fakeLog struct {
	queue   message.QueueKey
	entries []message.Entry
	records map[message.Position][]byte
	units   map[int64]message.ExtUnit // by address
	begin   message.Position
	fail    error // of Entries
	sick    error // of Flush
}

func (l *fakeLog) Bounds(q message.QueueKey) (low, high message.Offset, ok bool) {
	if q != l.queue {
		return 0, 0, false
	}
	return 0, message.Offset(len(l.entries)), true
}

func (l *fakeLog) Entries(_ message.QueueKey, from message.Offset, n int) (raw []byte, _ transport.Ref, err error) {
	for _, e := range l.entries[from:min(int(from)+n, len(l.entries))] {
		raw = message.AppendEntry(raw, e)
	}
	return raw, nil, l.fail
}

func (l *fakeLog) Units(_ message.QueueKey, codes []int64, v message.ExtVisitor) {
	if u, ok := l.units[codes[0]]; ok {
		v.Unit(0, u)
	}
}

func (l *fakeLog) Lend(entries []message.Entry, r *transport.Records) (n int, err error) {
	for _, e := range entries {
		b, ok := l.records[e.Position]
		if !ok {
			return n, errors.New("input/output error")
		}
		r.Add(b, 1, nil)
		n++
	}
	return n, nil
}

func (l *fakeLog) Begin() message.Position { return l.begin }
func (l *fakeLog) Flush() error            { return l.sick }

// add stores a message that is due at a time.
func (l *fakeLog) add(t *testing.T, body string, p message.Properties, due time.Time) {
	t.Helper()
	host := netip.MustParseAddrPort("127.0.0.1:1")
	rec, err := message.AppendRecord(nil, &message.Message{Topic: message.TopicSchedule, Body: []byte(body), BornHost: host, StoreHost: host, Properties: p})
	if err != nil {
		t.Fatal(err)
	}
	at := message.Position(1000 * (len(l.entries) + 1))
	l.records[at] = rec
	l.entries = append(l.entries, message.Entry{Position: at, Size: int32(len(rec)), TagsCode: due.UnixMilli()})
}

// fakePut notes what is stored, and refuses what it is told to.
type fakePut struct {
	stored []string // topic/queue/body
	refuse map[string]error
}

func (p *fakePut) Put(messages []message.Message, errs []error) {
	for i, m := range messages {
		if errs[i] = p.refuse[string(m.Body)]; errs[i] == nil {
			p.stored = append(p.stored, m.Topic+"/"+m.QueueID.String()+"/"+string(m.Body))
		}
	}
}

type world struct {
	*Delays
	clock *clock.Manual
	log   *fakeLog
	put   *fakePut
	out   bytes.Buffer
}

// begin is later than every level's delay, so that nothing looks as if the clock had been set back.
var begin = time.UnixMilli(1_700_000_000_000)

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{clock: clock.NewManual(begin), log: &fakeLog{queue: Queue(2), records: map[message.Position][]byte{}}, put: &fakePut{refuse: map[string]error{}}}
	var err error
	w.Delays, err = New(Settings{Config: DefaultConfig(), Clock: w.clock, Logger: slog.New(slog.NewTextHandler(&w.out, nil)), FS: vfs.NewMem(nil),
		Log: w.log, Put: w.put, Path: "/config/delayOffset.json"})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func place(topic, queue string) message.Properties {
	return message.Properties("REAL_TOPIC\x01" + topic + "\x02REAL_QID\x01" + queue)
}

// TestDeliver has a line for each way in which a message in the middle of three can be no ordinary one. Each line says what is stored at
// once, where the level stands then, when it is looked at again, and what is there two minutes later.
func TestDeliver(t *testing.T) {
	const all, without = "T/1/a T/1/b T/1/c", "T/1/a T/1/c"
	for _, c := range []struct {
		name   string
		change func(*world)
		stored string
		next   int64
		again  time.Duration
		later  string
		logged string
	}{
		{"ordinary", nil, all, 3, sleepMax, all, ""},
		{"not due yet", func(w *world) { w.log.entries[1].TagsCode = begin.Add(300 * time.Millisecond).UnixMilli() }, "T/1/a", 1, 300 * time.Millisecond, all, ""},
		{"due in a millisecond", func(w *world) { w.log.entries[1].TagsCode++ }, "T/1/a", 1, time.Millisecond, all, ""},
		{"later than the level can be: the clock was set back", func(w *world) { w.log.entries[1].TagsCode = begin.Add(5001 * time.Millisecond).UnixMilli() },
			all, 3, sleepMax, all, ""},
		{"gone from the log", func(w *world) { delete(w.log.records, 2000); w.log.begin = 2001 }, without, 3, sleepMax, without, "the log doesn't have it any more"},
		{"unreadable", func(w *world) { delete(w.log.records, 2000) }, "T/1/a", 1, retryWait, without, "input/output error"},
		{"filler", func(w *world) { w.log.entries[1] = message.Entry{Size: 0x7FFFFFFF} }, without, 3, sleepMax, without, ""},
		{"damaged", func(w *world) { w.log.records[2000][84] = 0x7F }, without, 3, sleepMax, without, "its record is damaged"},
		{"without a topic", replace("x\x01y"), without, 3, sleepMax, without, "it has no REAL_TOPIC"},
		{"without a queue", replace("REAL_TOPIC\x01T\x02REAL_QID\x01x"), without, 3, sleepMax, without, "its REAL_QID is no number"},
		{"half message", replace(string(place(message.TopicTransHalf, "0"))), without, 3, sleepMax, without, "a half message can't be delayed"},
		{"refused for good", func(w *world) { w.put.refuse["b"] = &message.Error{Code: message.MessageIllegal, Remark: "too long"} },
			without, 3, sleepMax, without, "too long"},
		{"can't be stored now", func(w *world) {
			w.put.refuse["b"] = &message.Error{Code: message.ServiceNotAvailable, Remark: "disk full"}
		},
			"T/1/a T/1/c", 1, retryWait, "", "disk full"},
		{"the queue can't be read", func(w *world) { w.log.fail = errors.New("disk gone") }, "", 0, retryWait, "", "disk gone"},
		{"its time is in a unit", func(w *world) {
			w.log.entries[1].TagsCode = message.ExtAddress(0)
			w.log.units = map[int64]message.ExtUnit{message.ExtAddress(0): {TagsCode: begin.Add(300 * time.Millisecond).UnixMilli()}}
		}, "T/1/a", 1, 300 * time.Millisecond, all, ""},
		{"its time is in its record", func(w *world) { w.log.entries[1].TagsCode = message.MaxExtAddress }, all, 3, sleepMax, all, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			for _, body := range []string{"a", "b", "c"} {
				w.log.add(t, body, place("T", "1"), begin)
			}
			if c.change != nil {
				c.change(w)
			}
			next := w.advance()
			if got := strings.Join(w.put.stored, " "); got != c.stored || w.lanes[1].next.Load() != c.next || next.Sub(begin) != c.again {
				t.Fatalf("stored %q, next is %d, again after %v", got, w.lanes[1].next.Load(), next.Sub(begin))
			}
			for range 120 * 2 {
				w.clock.Advance(sleepMax)
				w.advance()
			}
			if got := strings.Join(w.put.stored, " "); c.later != "" && got != c.later {
				t.Errorf("two minutes later %q is stored", got)
			}
			if logged := w.out.String(); !strings.Contains(logged, c.logged) || c.logged == "" && logged != "" || strings.Count(logged, "\n") > 4 {
				t.Errorf("logged %s", logged)
			}
		})
	}
}

// replace gives the message in the middle other properties.
func replace(p string) func(*world) {
	return func(w *world) {
		e := &w.log.entries[1]
		host := netip.MustParseAddrPort("127.0.0.1:1")
		rec, _ := message.AppendRecord(nil, &message.Message{Topic: message.TopicSchedule, Body: []byte("b"), BornHost: host, StoreHost: host, Properties: message.Properties(p)})
		w.log.records[e.Position], e.Size = rec, int32(len(rec))
	}
}

// TestOffsetsFile reads what RocketMQ has written, and writes the same.
func TestOffsetsFile(t *testing.T) {
	const java = "{\n\t\"offsetTable\":{2:1,40:7\n\t}\n}"
	w := newWorld(t)
	for _, body := range []string{"a", "b"} {
		w.log.add(t, body, place("T", "1"), begin)
	}
	write := func(text string) {
		if err := errors.Join(vfs.MkdirAllSync(w.set.FS, "/config"), vfs.WriteFileAtomic(w.set.FS, w.set.Path, []byte(text))); err != nil {
			t.Fatal(err)
		}
	}
	write(java)
	if err := w.load(); err != nil {
		t.Fatal(err)
	}
	w.advance()
	w.log.sick = errors.New("input/output error") // what was delivered may be lost: it isn't said to be done
	if err := w.Save(); !errors.Is(err, w.log.sick) {
		t.Errorf("saved: %v", err)
	}
	if data, err := vfs.ReadFile(w.set.FS, w.set.Path, 1<<20); err != nil || string(data) != java {
		t.Errorf("saved %q, %v", data, err)
	}
	w.log.sick = nil
	if err := w.Save(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(w.put.stored, " "); got != "T/1/b" {
		t.Errorf("delivered %q", got)
	}
	if data, err := vfs.ReadFile(w.set.FS, w.set.Path, 1<<20); err != nil || string(data) != strings.Replace(java, "2:1", "2:2", 1) {
		t.Errorf("saved %q, %v", data, err)
	}
	// Offsets that the queue doesn't have are corrected.
	w.lanes[1].next.Store(99)
	w.advance()
	if w.lanes[1].next.Load() != 2 || !strings.Contains(w.out.String(), "outside of its queue") {
		t.Errorf("next is %d: %s", w.lanes[1].next.Load(), w.out.String())
	}
	write("{broken")
	write("{broken")
	if err := w.load(); err == nil || !strings.Contains(err.Error(), "remove the file to deliver again what is still in the queues of SCHEDULE_TOPIC_XXXX") {
		t.Errorf("a broken file: %v", err)
	}
}
