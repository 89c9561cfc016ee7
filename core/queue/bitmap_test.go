package queue

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

var t0 = message.QueueKey{Topic: "T0"}

// A message gets the bits of each filter of its topic that accepts it or can't tell, of dead ones too; and of none that a
// Java broker doesn't have.
func TestBitmapBits(t *testing.T) {
	w := newBitmapWorld(t, nil)
	defer w.close()
	w.send(t0, 5, 1) // before there is a filter
	texts := map[string]string{"g0": "every=3", "g1": "every=2 raise=5 unknown=7", "g2": "every=4 late=6", "g3": "own every=1"}
	for _, g := range bitmapGroups {
		w.subscribe(g, texts[g], 1)
	}
	w.leave("g0") // dead
	w.send(t0, 200, 100)
	shape := defaultBloom
	for i, s := range w.all(t0) {
		if i < 5 {
			if s.unit.StoreTimestamp != s.rec.StoreTimestamp() || len(s.unit.Bitmap) > 0 {
				t.Fatalf("message %d has the unit %+v", i, s.unit)
			}
			continue
		}
		want := make([]byte, shape.bits/8)
		for _, g := range []string{"g0", "g1", "g2"} {
			if w.accepts(texts[g], s.rec) || g == "g2" && s.number%6 == 0 {
				for _, p := range shape.positions(g, "T0") {
					want[p/8] |= 1 << (p % 8)
				}
			}
		}
		if !bytes.Equal(s.unit.Bitmap, want) || s.unit.TagsCode != message.TagsCode("A") {
			t.Fatalf("number %d: unit %+v, want the bitmap %x", s.number, s.unit, want)
		}
	}
}

// What a filter's bits are not in is passed over unread, from its birth on; by pulls without kept verdicts, and with them
// where there are none. A pull with its own text reads everything.
func TestPrefilter(t *testing.T) {
	w := newBitmapWorld(t, nil)
	w.send(t0, 100, 1)
	w.subscribe("g0", "every=10", 1)
	w.subscribe("g1", "own every=10", 1)
	w.send(t0, 400, 101)
	want := w.expected(t0, "every=10")
	after := 0
	for _, d := range want {
		if d.at >= 100 {
			after++
		}
	}
	before := w.compiler.judged.Load()
	if got := w.consume(w.off, "g0", t0); !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	// Those stored before the birth are judged, and those that have the bits, which no other group has here. Some are
	// judged for a pull that is full before, and again for the next.
	if n := int(w.compiler.judged.Load() - before); n < 100+after || n > 100+after+judgeBlock {
		t.Errorf("%d messages were judged, want %d", n, 100+after)
	}
	if n := w.off.verdicts.RuledOut.Load(); n != int64(400-after) {
		t.Errorf("%d messages were ruled out, want %d", n, 400-after)
	}
	for name, r := range map[string]*transport.Pull{
		"its own text": {Group: "g0", HasSubscription: true, Expression: filter.Expression{Type: filter.TypeSQL92, Text: "every=10"}},
		"own language": {Group: "g1"},
	} {
		before, ruled := w.compiler.judged.Load(), w.off.verdicts.RuledOut.Load()
		r.Reply, r.Topic, r.MaxNum, r.Offset = &replies{}, "T0", 32, 100
		w.off.Pull(context.Background(), r)
		if r.Code != message.Success {
			t.Fatalf("%s: %v %s", name, r.Code, r.Remark)
		}
		if r.Records.Release(); w.compiler.judged.Load() == before || w.off.verdicts.RuledOut.Load() != ruled {
			t.Errorf("a pull by %s was ruled by the bitmaps", name)
		}
	}
	w.close()

	// Another start, the kept verdicts gone: the cover is empty, and the bitmaps spare the reading.
	w.forget()
	w.open()
	defer w.close()
	before = w.compiler.judged.Load()
	if got := w.consume(w.on, "g0", t0); !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if w.on.verdicts.RuledOut.Load() == 0 || w.compiler.judged.Load()-before >= 400 {
		t.Errorf("%d messages were ruled out, %d judged", w.on.verdicts.RuledOut.Load(), w.compiler.judged.Load()-before)
	}
	// Another group by the same text, born now, has no bits: nothing of what was ruled out is kept for it.
	w.subscribe("g2", "every=10", 5)
	if got := w.consume(w.on, "g2", t0); !slices.Equal(got, want) {
		t.Errorf("g2 got %v, want %v", got, want)
	}
}

// Messages are judged once as they arrive: the verdicts of the bitmaps are those that are kept.
func TestBitmapVerdictsAreKept(t *testing.T) {
	w := newBitmapWorld(t, nil)
	defer w.close()
	w.subscribe("g0", "every=3", 1)
	w.on.keepVerdicts() // makes it live
	for i := range 10 {
		w.send(allQueues()[i%4], 1+i%3, uint64(1000*i))
	}
	sent := 0
	for _, n := range w.sent {
		sent += n
	}
	if n := w.compiler.judged.Load(); n != int64(sent) {
		t.Errorf("%d messages were judged as %d arrived", n, sent)
	}
	if n := w.on.verdicts.JudgedArriving.Load(); n != int64(sent) {
		t.Errorf("%d messages are counted", n)
	}
	for _, q := range allQueues() {
		if got, want := w.consume(w.on, "g0", q), w.expected(q, "every=3"); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", q, got, want)
		}
	}
	if n := w.compiler.judged.Load(); n != int64(sent) {
		t.Errorf("%d messages were judged in all, %d pulling", n, n-int64(sent))
	}
}

// Filters that have no time to judge get their bits set.
func TestBitmapOverBudget(t *testing.T) {
	w := newBitmapWorld(t, func(w *bitmapWorld) { w.cfg.Verdicts.DispatchShare = 0 })
	defer w.close()
	w.subscribe("g0", "every=10", 1)
	w.send(t0, 100, 1)
	want := make([]byte, defaultBloom.bits/8)
	setBits(want, defaultBloom.positions("g0", "T0"))
	for _, s := range w.all(t0) {
		if !bytes.Equal(s.unit.Bitmap, want) {
			t.Fatalf("number %d has the bitmap %x", s.number, s.unit.Bitmap)
		}
	}
	if n := w.compiler.judged.Load(); n != 0 || w.on.verdicts.Spared.Load() != 100 {
		t.Errorf("%d messages were judged, %d spared", n, w.on.verdicts.Spared.Load())
	}
}

// A filter's birth is not before any message that it hasn't judged, also when the clock is.
func TestFilterIsBornLate(t *testing.T) {
	w, _ := sqlWorld(t, nil)
	manual := w.clock
	w.filters.set.Bitmaps, w.filters.complete = true, true
	newest := manual.Now().Add(time.Hour).UnixMilli() // the clock was set back
	w.filters.forBitmaps("T", newest)
	s := session(1)
	w.heartbeat(t, s, "c", consumer("g", sqlSub("T", "x", 1)))
	if f, _ := w.filters.get("T", "g"); f.born != newest || f.dead() {
		t.Errorf("born %d, dead %v, want %d", f.born, f.dead(), newest)
	}
	w.clients.Unregister(s, "", "g")
	if f, _ := w.filters.get("T", "g"); !f.dead() {
		t.Error("it is alive after its last member left")
	}
}

// Messages that come while a new filter is on its way into the register have none of its bits, and are older than it.
func TestMessagesBeforeAFilterIsThere(t *testing.T) {
	w := newBitmapWorld(t, nil)
	w.subscribe("g1", "every=2", 1) // so that there are bitmaps
	w.compiler.during = func() { w.send(t0, 50, 1) }
	w.subscribe("g0", "every=3", 1)
	if got, want := w.consume(w.off, "g0", t0), w.expected(t0, "every=3"); len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	w.close()
	filters := w.javaFilters()
	w.open()
	w.checkJava("", filters)
	w.close()
}

// A saved filter keeps its birth only when it has judged everything since: it was RocketMQ's all the time, with these bits,
// and the broker was stopped.
func TestSavedFilterIsBornAgain(t *testing.T) {
	const born = 1_600_000_000_000
	now := testStart.UnixMilli()
	java := func(bits, positions string) string {
		return `{"filterDataByTopic":{"T":{"groupFilterData":{"g":{"bloomFilterData":{"bitNum":` + bits + `,"bitPos":[` + positions + `]},"bornTime":1600000000000,
			"clientVersion":1,"consumerGroup":"g","deadTime":0,"expression":"x","expressionType":"SQL92","topic":"T"}},"topic":"T"}}}`
	}
	for _, c := range []struct {
		what, java, own string
		unclean         bool
		want            int64
	}{
		{"RocketMQ's", java("112", "1,2,3"), "", false, born},
		{"RocketMQ's, killed", java("112", "1,2,3"), "", true, now},
		{"bits outside", java("112", "1,2,112"), "", false, now},
		{"of the other language before", "", `{"version":1,"filters":[{"group":"g","topic":"T","type":"SQL92","expression":"x","born":1600000000000,"client_version":1}]}`, false, now},
		{"of the other language", "", `{"version":1,"filters":[{"group":"g","topic":"T","type":"SQL92","expression":"own","born":1600000000000,"died":1600000000001,"client_version":1}]}`, false, born},
	} {
		w, _ := sqlWorld(t, nil)
		w.filters.set.Unclean = c.unclean
		for path, text := range map[string]string{"/store/config/consumerFilter.json": c.java, "/store/weir/filters.json": c.own} {
			if text == "" {
				continue
			}
			if err := w.filters.writeFile(path, []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.filters.Load(context.Background()); err != nil {
			t.Fatal(err)
		}
		f, ok := w.filters.get("T", "g")
		if !ok || f.born != c.want || !f.dead() {
			t.Errorf("%s: %+v, %v, want it born at %d, and dead", c.what, f, ok, c.want)
		}
		if w.filters.dirty != (c.want != born) {
			t.Errorf("%s: to be saved: %v", c.what, w.filters.dirty)
		}
	}
}

// While filters are missing, before all are loaded and after they have been stopped, messages get no bitmap: each missing
// filter's bits would be missing too.
func TestNoBitmapWithoutAllFilters(t *testing.T) {
	w := newBitmapWorld(t, nil)
	w.subscribe("g0", "every=3", 1)
	w.filters.mu.Lock()
	w.filters.complete = false
	w.filters.mu.Unlock()
	w.send(t0, 3, 1)
	w.filters.mu.Lock()
	w.filters.complete = true
	w.filters.mu.Unlock()
	w.send(t0, 3, 4)
	if err := w.filters.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	w.send(t0, 3, 7)
	for i, s := range w.all(t0) {
		if has, want := len(s.unit.Bitmap) > 0, i/3 == 1; has != want || s.unit.TagsCode == 0 {
			t.Errorf("message %d has the unit %+v", i, s.unit)
		}
	}
	w.close()
}

// arrivalsOf makes a batch of messages of two queues.
func (w *bitmapWorld) arrivalsOf(n int) (batch []message.Arrival) {
	log := newFakeLog()
	for i := range n {
		m := &message.Message{Topic: "T0", QueueID: message.QueueID(i / 16 % 2), BornHost: testHost, StoreHost: testHost,
			Body: binary.BigEndian.AppendUint64(nil, uint64(i))}
		batch = append(batch, log.put(m, int64(i)))
	}
	return batch
}

// A bitmap takes no allocation.
func TestBitmapAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	w := newBitmapWorld(t, nil)
	defer w.close()
	for i, g := range bitmapGroups {
		w.subscribe(g, fmt.Sprintf("every=%d", 2+i), 1)
	}
	batch := w.arrivalsOf(128)
	w.on.Bitmaps(batch)
	if n := testing.AllocsPerRun(100, func() { w.on.Bitmaps(batch) }); n > 0 {
		t.Errorf("%.2f allocations for %d messages", n, len(batch))
	}
}

// One operation is one message that gets its bitmap from a number of filters.
func BenchmarkBitmaps(b *testing.B) {
	for _, filters := range []int{0, 1, 4} {
		b.Run(fmt.Sprintf("filters=%d", filters), func(b *testing.B) {
			w := newBitmapWorld(b, nil)
			defer w.close()
			for i, g := range bitmapGroups[:filters] {
				w.subscribe(g, fmt.Sprintf("every=%d", 2+i), 1)
			}
			batch := w.arrivalsOf(1024)
			b.ReportAllocs()
			b.ResetTimer()
			for n := 0; n < b.N; n += len(batch) {
				w.on.Bitmaps(batch)
			}
		})
	}
}

// Filters come, change and go while messages arrive; no message lacks the bits of a filter that is older than it.
func TestBitmapsHammer(t *testing.T) {
	w := newBitmapWorld(t, nil)
	var done sync.WaitGroup
	for i, g := range bitmapGroups[:3] {
		done.Go(func() {
			for v := range int64(200) {
				w.filters.Register(context.Background(), g, []transport.Subscription{sqlSub("T0", fmt.Sprintf("every=%d", 2+(int64(i)+v)%3), 1+v)})
				if v%7 == 6 {
					w.filters.Unregister(g)
				}
			}
		})
	}
	for i := range 200 {
		w.send(t0, 1+i%5, uint64(10*i))
	}
	done.Wait()
	w.send(t0, 20, 10_000)
	w.close()
	filters := w.javaFilters()
	if n := len(filters["T0"].Groups); n != 3 {
		t.Fatalf("%d filters are saved", n)
	}
	w.open()
	if n := w.checkJava("hammer", filters); n < 20 {
		t.Errorf("a Java broker is spared %d readings", n)
	}
	w.close()
}

// Whatever happens to filters and store, every group gets what its filter accepts, with kept verdicts and without; and
// what is on the disk after a stop lets a Java broker pass over nothing that one of its filters accepts.
func TestBitmapsMetamorphic(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("WEIR_TEST_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	t.Logf("WEIR_TEST_SEED=%d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	w := newBitmapWorld(t, func(w *bitmapWorld) { w.cfg.Verdicts.DispatchShare = pick(r, []float64{0.01, 1, 1000}) })
	texts := []string{"every=2", "every=3 raise=4", "every=5 unknown=3", "every=2 late=7", "own every=2", "every=7", "every=1 tag=A", "every=1 tag=B"}
	current, version, number, spared := map[string]string{}, int64(1), uint64(1), 0
	for step := range 400 {
		what := fmt.Sprintf("seed %d step %d", seed, step)
		switch r.IntN(12) {
		case 0, 1:
			g := pick(r, bitmapGroups)
			if current[g] == "" || r.IntN(2) == 0 {
				current[g] = pick(r, texts)
				version++
			}
			w.subscribe(g, current[g], version)
		case 2:
			w.leave(pick(r, bitmapGroups))
		case 3:
			w.close()
			filters := w.javaFilters()
			if r.IntN(4) == 0 {
				w.storeCfg.ConsumeQueueExt = !w.storeCfg.ConsumeQueueExt
			}
			if r.IntN(3) == 0 {
				w.forget()
			}
			members := w.members
			w.members = nil
			w.open()
			spared += w.checkJava(what, filters)
			w.members = members
			for _, data := range members {
				w.heartbeat(data)
			}
		case 4:
			if r.IntN(3) == 0 {
				w.kill(w.fs.KillClone())
			}
		case 5:
			w.on.keepVerdicts()
		default:
			w.send(pick(r, allQueues()), 1+r.IntN(40), number)
			number += 40
		}
		if step%10 != 9 {
			continue
		}
		for g := range w.members {
			q := pick(r, allQueues())
			want := w.expected(q, current[g])
			for _, p := range []*Pulls{w.off, w.on} {
				if got := w.consume(p, g, q); !slices.Equal(got, want) {
					t.Fatalf("%s: %s of %s by %q, kept verdicts %v: got %d messages, want %d", what, g, q, current[g], p == w.on, len(got), len(want))
				}
			}
		}
	}
	w.close()
	t.Logf("a Java broker is spared %d readings", spared)
}
