package queue

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/queue/verdict"
	"github.com/weirmq/weir/core/transport"
)

// coverWorld is pulls with kept verdicts over a log in memory that tests can twist.
type coverWorld struct {
	*world
	t        *testing.T
	compiler *numberCompiler
	covers   *verdict.Covers
	fs       vfs.FS // of the covers
	onRead   func() // called before index entries are read
}

func newCoverWorld(t *testing.T) *coverWorld {
	w := &coverWorld{world: newWorld(t, nil), t: t, compiler: &numberCompiler{}, fs: vfs.NewMem(nil)}
	w.topic("T0", 1)
	w.groups.set(plainGroup("g"))
	var err error
	w.covers, err = verdict.Open(verdict.Settings{FS: w.fs, Dir: "/verdicts", Index: w.log, Logger: quiet(), CacheSize: 1 << 20, DiskSize: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	set := w.pulls.set
	set.Log, set.Verdicts = hookedLog{w.log, w}, w.covers
	set.Config.Verdicts.DispatchShare = 1
	set.Programs = NewPrograms(CompilerMap{"NUMBER": w.compiler}, set.Config, quiet())
	w.pulls = NewPulls(set)
	return w
}

type hookedLog struct {
	*fakeLog
	w *coverWorld
}

func (l hookedLog) Entries(q message.QueueKey, from message.Offset, n int) ([]byte, transport.Ref, error) {
	if f := l.w.onRead; f != nil {
		f()
	}
	if low, _, _ := l.Bounds(q); from < low {
		return nil, nil, noEntries(low)
	}
	return l.fakeLog.Entries(q, from, n)
}

func (w *coverWorld) put(n, first int, tags ...string) (all []message.Arrival) {
	for i := range n {
		m := &message.Message{Topic: "T0", Body: binary.BigEndian.AppendUint64(nil, uint64(first+i)), BornHost: testHost, StoreHost: testHost}
		if len(tags) > 0 {
			m.Properties = message.AppendProperty(nil, message.PropTags, tags[i%len(tags)])
		}
		all = append(all, w.log.put(m, int64(len(w.log.bytes))))
	}
	return all
}

// pull delivers everything from an offset on; numbers are those of the bodies.
func (w *coverWorld) pull(expr string, from message.Offset) (numbers []int) {
	w.t.Helper()
	_, high, _ := w.log.Bounds(queueT0)
	for from < high {
		p := numberPull(expr, from, 32)
		w.pulls.Pull(context.Background(), p)
		if p.NextBeginOffset <= from {
			w.t.Fatalf("at %d: code %v %s, next %d", from, p.Code, p.Remark, p.NextBeginOffset)
		}
		for _, b := range bodies(w.t, &p.Records) {
			numbers = append(numbers, int(binary.BigEndian.Uint64([]byte(b))))
		}
		p.Records.Release()
		from = p.NextBeginOffset
	}
	return numbers
}

func (w *coverWorld) numbers(expr string, list ...[]message.Arrival) (numbers []int) {
	p, _ := w.compiler.Compile(context.Background(), filter.Expression{Text: expr})
	for _, a := range slices.Concat(list...) {
		if p.(*numberProgram).accepts(a.Record) {
			numbers = append(numbers, int(binary.BigEndian.Uint64(message.Record(a.Record).Body())))
		}
	}
	return numbers
}

func (w *coverWorld) check(what, expr string, from message.Offset, list ...[]message.Arrival) {
	w.t.Helper()
	if got, want := w.pull(expr, from), w.numbers(expr, list...); !slices.Equal(got, want) {
		w.t.Fatalf("%s: by %q %d messages, want %d:\n%v\n%v", what, expr, len(got), len(want), got, want)
	}
}

// A word whose first messages have gone is decided all the same: they won't come back.
func TestCoveredAfterLow(t *testing.T) {
	w := newCoverWorld(t)
	all := w.put(320, 0)
	w.log.queues[queueT0].low = 70
	w.log.oldest = all[70].Position
	w.check("first", "every=3", 70, all[70:])
	judged := w.compiler.judged.Load()
	if judged != 250 {
		t.Errorf("%d messages were judged, want 250", judged)
	}
	w.check("again", "every=3", 70, all[70:])
	if again := w.compiler.judged.Load() - judged; again != 0 {
		t.Errorf("%d messages were judged again", again)
	}
}

// A filler entry has no message, so it gets no verdict: when the queue is made again from the log it may have one.
func TestCoveredFiller(t *testing.T) {
	w := newCoverWorld(t)
	all := w.put(256, 0)
	w.log.setEntry(queueT0, 100, message.Entry{Size: fillerSize})
	w.check("with filler", "every=1", 0, all[:100], all[101:])
	w.log.setEntry(queueT0, 100, all[100].Entry)
	w.check("made again", "every=1", 0, all)
}

// An entry whose tags code is an address in RocketMQ's extension file is judged by its record's tag, at arrival and at the
// pull, also beside entries that are ruled out by their codes.
func TestCoveredExtAddresses(t *testing.T) {
	for _, arrive := range []bool{false, true} {
		t.Run(fmt.Sprintf("arrive %v", arrive), func(t *testing.T) {
			w := newCoverWorld(t)
			prog, err := w.pulls.set.Programs.get(context.Background(), filter.Expression{Type: "NUMBER", Text: "every=2 tag=A"})
			if err != nil {
				t.Fatal(err)
			}
			defer prog.release()
			if arrive {
				w.pulls.live.touch("T0", prog, w.clock.Now())
			}
			all := w.put(256, 0, "B")
			all = append(all, w.put(64, 256, "A", "B")...)
			for i := range all {
				if i%3 == 0 {
					all[i].TagsCode = message.MaxExtAddress - int64(i)
					w.log.setEntry(queueT0, message.Offset(i), all[i].Entry)
				}
			}
			if arrive {
				w.pulls.Arrived(all)
			}
			for range 2 {
				w.check("ext", "every=2 tag=A", 0, all)
			}
			if n := w.pulls.Verdicts().JudgedPulling.Load(); arrive && n != 0 {
				t.Errorf("%d messages were judged again", n)
			}
		})
	}
}

// The topic is deleted and made anew between a pull's look at the verdicts and its look at the queue. The old verdicts
// aren't taken for the new messages.
func TestCoveredTopicMadeAnew(t *testing.T) {
	for _, expr := range []string{"every=1", "every=7"} {
		w := newCoverWorld(t)
		old := w.put(128, 0)
		w.check("before", expr, 0, old)
		var fresh []message.Arrival
		reads := 0
		w.onRead = func() {
			if reads++; reads != 1 {
				return
			}
			if err := w.covers.Forget("T0"); err != nil {
				t.Fatal(err)
			}
			w.log.mu.Lock()
			w.log.queues[queueT0].raw = nil
			w.log.mu.Unlock()
			w.covers.Allow("T0")
			fresh = w.put(128, 1001)
		}
		got := w.pull(expr, 0)
		if want := w.numbers(expr, fresh); reads == 0 || !slices.Equal(got, want) {
			t.Errorf("by %q: %v, want %v", expr, got, want)
		}
		w.check("afterwards", expr, 0, fresh)
	}
}

// Arrivals whose offsets have a gap, or come in turns from several queues, are noted each at its place.
func TestArrivalsInTurns(t *testing.T) {
	w := newCoverWorld(t)
	prog, err := w.pulls.set.Programs.get(context.Background(), filter.Expression{Type: "NUMBER", Text: "every=3"})
	if err != nil {
		t.Fatal(err)
	}
	defer prog.release()
	w.pulls.live.touch("T0", prog, w.clock.Now())
	all := w.put(640, 0)
	var batch []message.Arrival
	for i, a := range all {
		if i < 192 || i >= 250 { // the gap
			batch = append(batch, a)
		}
		if i%2 == 0 {
			other := a
			other.Queue.ID = 1
			other.Offset = message.Offset(i / 2)
			batch = append(batch, other)
		}
	}
	w.pulls.Arrived(batch)
	w.check("in turns", "every=3", 0, all)
	if n := w.pulls.Verdicts().JudgedPulling.Load(); n != 64 {
		t.Errorf("%d messages were judged by pulls, want the 64 of the word with the gap", n)
	}
}
