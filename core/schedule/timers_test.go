package schedule

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/schedule/pending"
)

// timerWorld is a Timers whose steps the test does.
type timerWorld struct {
	*Timers
	t     *testing.T
	clock *clock.Manual
	log   *fakeLog
	put   *fakePut
	fs    *vfs.Mem
	out   bytes.Buffer
}

func newTimerWorld(t *testing.T) *timerWorld {
	w := &timerWorld{t: t, clock: clock.NewManual(begin), log: &fakeLog{queue: TimerQueue(), records: map[message.Position][]byte{}}, put: &fakePut{refuse: map[string]error{}}, fs: vfs.NewMem(nil)}
	w.open()
	return w
}

// open does what Start does, but for the loop.
func (w *timerWorld) open() {
	w.t.Helper()
	w.Timers = NewTimers(TimerSettings{Config: DefaultConfig(), Clock: w.clock, Logger: slog.New(slog.NewTextHandler(&w.out, nil)), FS: w.fs, Log: w.log, Put: w.put, Dir: "timers"})
	var err error
	var from message.Offset
	if w.pending, w.passed, from, err = pending.Open(pending.Settings{FS: w.fs, Dir: "timers", Logger: w.set.Logger, Flush: w.log.Flush}); err != nil {
		w.t.Fatal(err)
	}
	w.look = from
	w.checkProgress()
	w.pending.Start()
}

// steps lets the loop's steps happen until there is nothing to do at once.
func (w *timerWorld) steps() {
	for range 100 {
		now := w.clock.Now()
		if next := w.step(now, nil); next.After(now) {
			return
		}
	}
	w.t.Fatal("there is no end to what has to be done at once")
}

// pass lets time pass.
func (w *timerWorld) pass(d time.Duration) {
	for ; d > 0; d -= retryWait {
		w.clock.Advance(min(d, retryWait))
		w.steps()
	}
}

func (w *timerWorld) restart() {
	w.t.Helper()
	if err := w.Stop(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	w.open()
}

// add stores a message that waits for a time, in ms after begin.
func (w *timerWorld) add(body string, due int, more ...string) {
	w.t.Helper()
	p := RedirectTimer(nil, props(more...), begin.UnixMilli()+int64(due), "T", 1)
	host := netip.MustParseAddrPort("127.0.0.1:1")
	rec, err := message.AppendRecord(nil, &message.Message{Topic: message.TopicTimer, Body: []byte(body), BornHost: host, StoreHost: host, Properties: p})
	if err != nil {
		w.t.Fatal(err)
	}
	w.addRecord(rec)
}

func (w *timerWorld) addRecord(rec []byte) {
	at := message.Position(1000 * (len(w.log.entries) + 1))
	w.log.records[at] = rec
	w.log.entries = append(w.log.entries, message.Entry{Position: at, Size: int32(len(rec))})
}

func (w *timerWorld) stored() string { return strings.Join(w.put.stored, " ") }

// TestTimersBadRecords has a line for each way in which a message in the middle of three can be no ordinary one: what is stored at its time, and two minutes later.
func TestTimersBadRecords(t *testing.T) {
	const all, without = "T/1/a T/1/b T/1/c", "T/1/a T/1/c"
	host := netip.MustParseAddrPort("127.0.0.1:1")
	record := func(p message.Properties) []byte {
		rec, _ := message.AppendRecord(nil, &message.Message{Topic: message.TopicTimer, Body: []byte("b"), BornHost: host, StoreHost: host, Properties: p})
		return rec
	}
	replaced := func(p message.Properties) func(*timerWorld) {
		return func(w *timerWorld) {
			rec := record(p)
			w.log.records[2000], w.log.entries[1].Size = rec, int32(len(rec))
		}
	}
	due := fmt.Sprint(begin.UnixMilli() + 1000)
	for _, c := range []struct {
		name    string
		early   func(*timerWorld) // before the queue is looked at
		late    func(*timerWorld) // when the messages wait
		atDue   string
		later   string
		lost    int64
		logged  string
		waiting int64
	}{
		{name: "ordinary", atDue: all, later: all},
		{name: "filler", early: func(w *timerWorld) { w.log.entries[1] = message.Entry{Size: 0x7FFFFFFF} }, atDue: without, later: without},
		{name: "gone before", early: func(w *timerWorld) { delete(w.log.records, 2000); w.log.begin = 2001 }, atDue: without, later: without, lost: 1, logged: "the log doesn't have it any more"},
		{name: "gone meanwhile", late: func(w *timerWorld) { delete(w.log.records, 2000); w.log.begin = 2001 }, atDue: without, later: without, lost: 1, logged: "the log doesn't have it any more"},
		{name: "unreadable when looked at", early: func(w *timerWorld) { delete(w.log.records, 2000) }, atDue: "T/1/a", later: without, lost: 1, logged: "input/output error"},
		{name: "unreadable when due", late: func(w *timerWorld) { delete(w.log.records, 2000) }, atDue: without, later: without, lost: 1, logged: "input/output error"},
		{name: "damaged", early: func(w *timerWorld) { w.log.records[2000][84] = 0x7F }, atDue: without, later: without, lost: 1, logged: "its record is damaged"},
		{name: "damaged meanwhile", late: func(w *timerWorld) { w.log.records[2000][84] = 0x7F }, atDue: without, later: without, lost: 1, logged: "its record is damaged"},
		{name: "without a time", early: replaced(props("REAL_TOPIC", "T", "REAL_QID", "1")), atDue: without, later: without, lost: 1, logged: "it has no TIMER_OUT_MS"},
		{name: "without a topic", early: replaced(props("TIMER_OUT_MS", due)), atDue: without, later: without, lost: 1, logged: "it has no REAL_TOPIC"},
		{name: "refused for good", late: func(w *timerWorld) {
			w.put.refuse["b"] = &message.Error{Code: message.MessageIllegal, Remark: "too long"}
		},
			atDue: without, later: without, lost: 1, logged: "too long"},
		{name: "can't be stored now", late: func(w *timerWorld) {
			w.put.refuse["b"] = &message.Error{Code: message.ServiceNotAvailable, Remark: "disk full"}
		}, atDue: without, later: without, logged: "disk full", waiting: 1},
		{name: "the queue can't be read", early: func(w *timerWorld) { w.log.fail = errors.New("disk gone") }, logged: "disk gone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newTimerWorld(t)
			for _, body := range []string{"a", "b", "c"} {
				w.add(body, 1000)
			}
			if c.early != nil {
				c.early(w)
			}
			w.steps()
			if c.late != nil {
				c.late(w)
			}
			w.pass(999 * time.Millisecond)
			if w.stored() != "" {
				t.Fatalf("stored %q early", w.stored())
			}
			w.pass(time.Millisecond)
			if w.stored() != c.atDue {
				t.Errorf("stored %q, want %q", w.stored(), c.atDue)
			}
			w.pass(2 * time.Minute)
			if w.stored() != c.later || w.Figures.Lost.Load() != c.lost || w.Pending() != c.waiting {
				t.Errorf("two minutes later %q is stored, %d lost, %d wait", w.stored(), w.Figures.Lost.Load(), w.Pending())
			}
			logged := w.out.String()
			if !strings.Contains(logged, c.logged) || c.logged == "" && logged != "" || strings.Count(logged, "\n") > 4 {
				t.Errorf("logged %s", logged)
			}
			if err := w.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTimersProgress: what was delivered isn't again after a stop; without the progress it is, with a warning; a queue that is shorter than the progress says is read anew.
func TestTimersProgress(t *testing.T) {
	w := newTimerWorld(t)
	w.add("a", 1000)
	w.add("b", 2000)
	w.add("c", 3000)
	w.steps()
	w.pass(2 * time.Second)
	w.restart()
	w.steps()
	w.pass(2 * time.Second)
	if w.stored() != "T/1/a T/1/b T/1/c" {
		t.Fatalf("stored %q", w.stored())
	}
	if err := w.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"state.json", "state.json.bak"} {
		if err := w.fs.Remove("timers/" + name); err != nil && !errors.Is(err, vfs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	w.open()
	w.steps()
	if w.stored() != "T/1/a T/1/b T/1/c T/1/a T/1/b T/1/c" || !strings.Contains(w.out.String(), "no progress says which were delivered") {
		t.Fatalf("stored %q; logged %s", w.stored(), w.out.String())
	}
	w.put.stored = nil
	w.add("d", 60_000)
	w.steps()
	w.restart()
	// The log was cut behind b, and another message came.
	if err := w.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.log.entries = w.log.entries[:2]
	w.open()
	w.add("e", 5000)
	w.steps()
	w.pass(2 * time.Minute)
	if w.stored() != "T/1/e" || !strings.Contains(w.out.String(), "isn't that of their queue, which is read again") {
		t.Fatalf("stored %q; logged %s", w.stored(), w.out.String())
	}
	if err := w.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestTimersFlush: progress is not saved while what was delivered can't be made durable.
func TestTimersFlush(t *testing.T) {
	w := newTimerWorld(t)
	w.add("a", 1000)
	w.steps()
	w.pass(time.Second)
	w.log.sick = errors.New("input/output error")
	if err := w.Stop(t.Context()); !errors.Is(err, w.log.sick) {
		t.Fatal(err)
	}
	w.log.sick = nil
	w.open()
	w.steps()
	if w.stored() != "T/1/a T/1/a" {
		t.Errorf("stored %q", w.stored())
	}
	if err := w.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestTimersRecallsOfOneTime: of many messages of one millisecond, more than a batch, exactly the recalled ones don't come, also when storing fails between.
func TestTimersRecallsOfOneTime(t *testing.T) {
	w := newTimerWorld(t)
	want := 0
	for i := range 1000 {
		w.add(fmt.Sprint(i), 1000, "UNIQ_KEY", fmt.Sprint(i))
		if i%3 == 0 {
			h := message.RecallHandle{Topic: "T", Broker: "b", Time: begin.UnixMilli() + 1001, Key: fmt.Sprint(i)}
			rec, err := message.AppendRecord(nil, &message.Message{Topic: message.TopicTimer, Body: []byte("0"), BornHost: netip.MustParseAddrPort("127.0.0.1:1"),
				StoreHost: netip.MustParseAddrPort("127.0.0.1:1"), Properties: Tombstone(nil, &h, "g")})
			if err != nil {
				t.Fatal(err)
			}
			w.addRecord(rec)
		} else {
			want++
		}
	}
	w.add("other", 1000, "UNIQ_KEY", "T+0")
	w.steps()
	w.restart()
	w.steps()
	w.put.refuse["500"] = &message.Error{Code: message.ServiceNotAvailable, Remark: "disk full"}
	w.pass(time.Second)
	w.pass(time.Second)
	delete(w.put.refuse, "500")
	w.pass(time.Second)
	w.restart()
	w.steps()
	seen := map[string]bool{}
	for _, s := range w.put.stored {
		if seen[s] {
			t.Errorf("%s came twice", s)
		}
		var i int
		if n, _ := fmt.Sscanf(s, "T/1/%d", &i); n == 1 && i%3 == 0 {
			t.Errorf("%s came and was recalled", s)
		}
		seen[s] = true
	}
	if len(seen) != want+1 {
		t.Errorf("%d came, want %d", len(seen), want+1)
	}
	if err := w.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}
