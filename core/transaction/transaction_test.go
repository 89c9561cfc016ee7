package transaction

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// TestACheckThatIsNotSentDoesNotCount has a producer that doesn't take what it is sent: its message is stored anew each time, and never put aside.
func TestACheckThatIsNotSentDoesNotCount(t *testing.T) {
	w := newWorld(t)
	w.half("a")
	w.producer.busy = transport.ErrSessionBusy
	w.rounds(40)
	w.want("put aside", w.Figures.Parked.Load(), int64(0))
	w.producer.busy = nil
	w.rounds(1)
	w.want("asked", len(w.producer.asked), 1)
	rec := w.store.record(HalfQueue, w.producer.asked[0].Offset)
	if times, _ := rec.Properties().Get(message.PropCheckTimes); string(times) != "1" {
		t.Errorf("it counts %s checks", times)
	}
	w.rounds(20)
	w.want("put aside", w.Figures.Parked.Load(), int64(1))
	w.want("asked", len(w.producer.asked), 15)
	w.want("aside", w.store.bodies(message.QueueKey{Topic: message.TopicTransCheckMax}), []string{"a"})
}

// TestNobodyToAsk leaves a message where it is for an hour, then moves it without counting.
func TestNobodyToAsk(t *testing.T) {
	w := newWorld(t)
	w.half("a")
	w.producer.dead = true
	w.rounds(59)
	w.want("half messages", len(w.store.bodies(HalfQueue)), 1)
	w.rounds(2)
	w.want("half messages", len(w.store.bodies(HalfQueue)), 2)
	w.want("cursor", w.store.offsets[HalfQueue], message.Offset(1))
	w.want("asked", len(w.producer.asked), 0)
	w.producer.dead = false
	w.rounds(1)
	w.want("asked about", w.producer.asked[0].Offset, message.Offset(2))
	w.want("decided", w.end(0, Commit), true)
	w.want("decided again", w.end(2, Rollback), false)
	w.want("visible", w.store.bodies(target), []string{"a"})
}

// TestFailures refuses what is stored for a while: nothing is lost and nothing is done twice.
func TestFailures(t *testing.T) {
	w := newWorld(t)
	a, b := w.half("a"), w.half("b")
	w.store.refuse = errors.New("disk full")
	w.want("commit", w.end(a, Commit), false)
	w.rounds(3)
	w.want("asked", len(w.producer.asked), 0)
	w.store.refuse = nil
	w.want("commit", w.end(a, Commit), true)
	w.rounds(1)
	w.want("asked about", w.producer.asked[0].Offset, message.Offset(2))
	w.want("rollback", w.end(b, Rollback), true)
	w.rounds(3)
	w.want("asked", len(w.producer.asked), 1)
	w.want("visible", w.store.bodies(target), []string{"a"})
	w.want("ops", w.store.bodies(OpQueue), []string{"0", "1", "2"})
	w.want("cursor", w.store.offsets[HalfQueue], message.Offset(3))

	w.parkable = errors.New("no more topics")
	w.half("c")
	w.rounds(20)
	w.want("put aside", w.Figures.Parked.Load(), int64(0))
	w.parkable = nil
	w.rounds(1)
	w.want("put aside", w.Figures.Parked.Load(), int64(1))
}

// TestDecidedWhileItIsStoredAnew commits a half message in the moment in which the check stores its copy.
func TestDecidedWhileItIsStoredAnew(t *testing.T) {
	w := newWorld(t)
	a := w.half("a")
	w.store.before = func() {
		w.store.before = nil
		w.want("commit", w.end(a, Commit), true)
	}
	w.rounds(1)
	w.want("asked", len(w.producer.asked), 0)
	w.want("half messages", len(w.store.bodies(HalfQueue)), 2)
	w.rounds(2)
	w.want("asked", len(w.producer.asked), 0)
	w.want("visible", w.store.bodies(target), []string{"a"})
	w.want("cursor", w.store.offsets[HalfQueue], message.Offset(2))
	w.want("the copy is decided", w.end(1, Rollback), false)
}

// TestRestartKnowsCopies decides about the first copy after the second was made and the broker was restarted.
func TestRestartKnowsCopies(t *testing.T) {
	w := newWorld(t)
	a := w.half("a")
	w.rounds(2)
	w.want("half messages", len(w.store.bodies(HalfQueue)), 3)
	w.restart()
	w.want("commit of the copy between", w.end(a+1, Commit), true)
	w.want("commit of the first", w.end(a, Commit), false)
	w.restart()
	w.rounds(5)
	w.want("asked", len(w.producer.asked), 2)
	w.want("the last copy is decided", w.end(2, Rollback), false)
}

// TestLostHalf has the log cleaned before a producer decides.
func TestLostHalf(t *testing.T) {
	w := newWorld(t)
	w.half("a")
	w.half("b")
	w.store.begin = 1
	w.producer.dead = true
	w.rounds(1)
	w.want("cursor", w.store.offsets[HalfQueue], message.Offset(1))
	w.restart()
	w.producer.dead = false
	w.rounds(1)
	w.want("asked about", w.producer.asked[0].UniqueKey == "b", true)
}

// TestTrim keeps the table small, and what is far back is forgotten.
func TestTrim(t *testing.T) {
	var tab table
	tab.init(0)
	const n = 5 * window
	for o := message.Offset(0); o < n; o++ {
		tab.finish(o)
	}
	if at := tab.advance(0, n+7); at != n {
		t.Fatalf("advanced to %d", at)
	}
	tab.trim(n)
	if len(tab.finished) != window/64 || tab.open(n-1) || !tab.open(n) || !tab.open(n-window-1) {
		t.Errorf("%d words are left", len(tab.finished))
	}
	if _, _, ok := tab.beginEnd(n - window); ok {
		t.Error("a decision within the window counts twice")
	}
}

// TestHammer decides about a thousand half messages from several sides, some twice and differently, while checks store them anew and the store now and then
// refuses. Each that was committed is there once, and no other.
func TestHammer(t *testing.T) {
	w := newWorld(t)
	w.store.before = nil
	const n = 1000
	var offsets []message.Offset
	for i := range n {
		offsets = append(offsets, w.half(fmt.Sprint(i)))
	}
	w.clock.Advance(time.Minute)
	var mu sync.Mutex
	committed := map[string]bool{}
	var wg sync.WaitGroup
	for side := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(side), 1))
			for _, i := range r.Perm(n) {
				rec := w.store.record(HalfQueue, offsets[i])
				d := Commit
				if r.IntN(2) == 0 {
					d = Rollback
				}
				x := &Ending{}
				ok, err := w.End(rec, End{Group: []byte("g"), Offset: offsets[i], Decision: d}, x)
				if err != nil {
					t.Error(err)
					return
				}
				if !ok {
					continue
				}
				if r.IntN(10) == 0 { // the store refuses
					x.Done(false)
					continue
				}
				w.store.Put(x.Messages, make([]int, len(x.Messages)))
				x.Done(true)
				if d == Commit {
					mu.Lock()
					committed[string(rec.Body())] = true
					mu.Unlock()
				}
			}
		})
	}
	for range 5 {
		w.check()
		w.clock.Advance(time.Minute)
	}
	wg.Wait()
	w.rounds(20)
	visible := w.store.bodies(target)
	if len(visible) != len(committed) {
		t.Errorf("%d messages are visible, %d were committed", len(visible), len(committed))
	}
	for _, body := range visible {
		if !committed[body] {
			t.Errorf("%s is visible", body)
		}
	}
	aside := len(w.store.bodies(message.QueueKey{Topic: message.TopicTransCheckMax}))
	if done := len(committed) + int(w.Figures.RolledBack.Load()) + aside; done != n {
		t.Errorf("%d committed, %d rolled back and %d put aside are not %d", len(committed), w.Figures.RolledBack.Load(), aside, n)
	}
}

func decision(group string, o message.Offset, d Decision) End {
	return End{Group: []byte(group), Offset: o, Decision: d}
}

// TestVerify has a line for each decision that isn't one about the message.
func TestVerify(t *testing.T) {
	w := newWorld(t)
	o := w.half("a")
	w.end(w.half("b"), Commit)
	good := w.store.record(HalfQueue, o)
	for _, c := range []struct {
		name string
		rec  message.Record
		end  End
		want string
	}{
		{"no decision", good, decision("g", o, 5), "commitOrRollback is 5"},
		{"no half message", w.store.record(target, 0), decision("g", o, Commit), "is no half message"},
		{"another's", good, decision("h", o, Commit), "is of producer group g, not h"},
		{"another one", good, decision("g", o+1, Rollback), "has offset 0, not 1"},
	} {
		if _, err := w.End(c.rec, c.end, &Ending{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	w.want("refused", w.Figures.Refused.Load(), int64(4))
}
