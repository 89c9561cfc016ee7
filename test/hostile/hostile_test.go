package hostile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/plugins/filter/wasm/wasmtest"
	"github.com/weirmq/weir/sdk/client"
	"github.com/weirmq/weir/test/internal/ports"
	"github.com/weirmq/weir/test/internal/sut"
)

func TestMain(m *testing.M) { sut.Main(m) }

const config = `
service: {filters: [tag, sql92, wasm]}
filters:
  wasm:
    push: {enabled: true}
    dispatch: true
    on_poison: hold
telemetry: {prometheus: {listen: "%s"}}
`

// How long the innocent topic is measured alone, before and after, and the bounds of what it may notice.
const (
	aloneTime   = 5 * time.Second
	corpusEvery = 50 * time.Millisecond // so that there are enough innocent messages meanwhile
	// noise is what the 99th percentile may grow by even if that is more than twice. Compiling takes a core, and Go gives a
	// core to somebody else after 10 ms; on two cores that are busy the test's own clients wait for them too.
	noise = 10 * time.Millisecond
	// crowdedNoise is noise beside the tests of other packages (make test runs two at a time), which load one phase and not another.
	crowdedNoise = 40 * time.Millisecond
	// busyShare is how many pauses may be longer than 10 ms: a call of a module takes 3 ms of a processor that nobody else has.
	busyShare   = 0.01
	growthMax   = 64 << 20  // of the heap, and
	residentMax = 600 << 20 // of the process, at any time
)

// world is the broker, and everybody at it.
type world struct {
	t       *testing.T
	broker  *sut.Broker
	metrics string
	admin   *client.Client
	queue   client.Queue // of the messages that the corpus judges
	peak    float64
}

// TestHostile has the whole corpus and many generated modules pushed, subscribed to and removed, while a few pests run all the
// time, and while somebody else's messages go through a topic of their own.
func TestHostile(t *testing.T) {
	if sut.Default() != sut.Weir {
		t.Skip("only weir runs modules")
	}
	w := &world{t: t, metrics: ports.Addr(ports.Must(t))}
	w.broker = sut.Start(t, sut.Options{WeirConfig: fmt.Sprintf(config, w.metrics)})
	w.admin = newClient(t, w.broker.NameServer())
	w.queue = w.send("Corpus", 10)

	other := &innocent{warm: make(chan struct{})}
	other.phase.Store(unmeasured)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var load sync.WaitGroup
	load.Go(func() { other.run(ctx, t, w.broker.NameServer()) })
	select {
	case <-other.warm:
	case <-time.After(time.Minute):
		t.Fatalf("%d innocent messages came within a minute", other.got.Load())
	}
	other.phase.Store(alone)
	time.Sleep(aloneTime)
	before := w.look()

	other.phase.Store(onlyPests)
	began := time.Now()
	pests := w.releasePests()
	time.Sleep(aloneTime)
	other.phase.Store(withCorpus)
	w.corpus()
	other.phase.Store(withGenerated)
	modules := w.generated()
	pests()
	took := time.Since(began)
	during := w.look()
	other.phase.Store(unmeasured)

	after := w.settle(before)
	other.phase.Store(alone)
	time.Sleep(aloneTime)
	stop()
	load.Wait()
	w.judge(other, modules, took, before, during, after)
}

// judge looks at the figures.
func (w *world) judge(other *innocent, modules int, took time.Duration, before, during, after figures) {
	t := w.t
	t.Logf("%d cases and %d generated modules in %v", len(wasmtest.Corpus()), modules, took.Round(time.Second))
	allowed := crowdedNoise
	if os.Getenv("WEIR_MODULES") != "" { // make hostile, which runs alone
		allowed = noise
	}
	for phase, name := range phaseNames() {
		n, p50, p99, most := other.quantiles(phase)
		t.Logf("innocent messages %-18s %6d, median %8v, 99th percentile %8v, longest %8v", name+":", n, p50.Round(time.Microsecond), p99.Round(time.Microsecond), most.Round(time.Microsecond))
		_, _, base, _ := other.quantiles(alone)
		if p99 > max(2*base, base+allowed) {
			t.Errorf("the 99th percentile of innocent messages went from %v to %v", base, p99)
		}
	}
	if sent, got := other.sent.Load(), other.got.Load(); sent != got {
		t.Errorf("%d innocent messages were sent, %d came", sent, got)
	}
	all1, long1 := before.stalls(t)
	all2, long2 := during.stalls(t)
	t.Logf("collections: %.0f pauses, of which %.0f of 10 ms or longer; alone before %.0f and %.0f", all2-all1, long2-long1, all1, long1)
	if long2-long1 > (all2-all1)*busyShare {
		t.Errorf("%.0f of %.0f pauses took 10 ms or longer", long2-long1, all2-all1)
	}
	const mib = 1 << 20
	t.Logf("memory: heap %.0f, then %.0f, then %.0f MiB; resident %.0f, at most %.0f, then %.0f MiB",
		before.heap()/mib, during.heap()/mib, after.heap()/mib, before.resident()/mib, w.peak/mib, after.resident()/mib)
	if after.heap() > before.heap()+growthMax {
		t.Error("the heap hasn't come back")
	}
	if w.peak > residentMax {
		t.Errorf("the process had %.0f MiB", w.peak/mib)
	}
}

// look fetches the figures, and notes how much memory there was.
func (w *world) look() figures {
	f := fetch(w.t, w.metrics)
	f["anonymous"] = anonymous(w.t, w.broker.Pid())
	w.peak = max(w.peak, f.resident())
	return f
}

// settle waits until what has been removed is collected.
func (w *world) settle(before figures) (after figures) {
	for range 40 {
		if after = w.look(); after.heap() <= before.heap()+growthMax/2 {
			break
		}
		time.Sleep(500 * time.Millisecond)
	}
	return after
}

// send sends n messages; a is the last digit of the number.
func (w *world) send(topic string, n int) (queue client.Queue) {
	w.t.Helper()
	p := w.admin.Producer("hostile")
	for i := range n {
		sent, err := p.Send(w.t.Context(), &client.Message{Topic: topic, QueueKey: "one", Body: []byte("x"), Properties: map[string]string{"a": fmt.Sprint(i % 10)}})
		if err != nil {
			w.t.Fatal(err)
		}
		queue = sent.Queue
	}
	return queue
}

// outcome is what the walk over a queue has found, by offset.
type outcome struct {
	came   map[int64]bool
	failed map[int64]error
}

// walk pulls a queue to its end. Where the filter fails it notes why, and goes on behind.
func walk(ctx context.Context, c *client.Client, q client.Queue, end int64, expression string) (outcome, error) {
	o := outcome{came: map[int64]bool{}, failed: map[int64]error{}}
	for next := int64(0); next < end; {
		r, err := c.Pull(ctx, client.PullRequest{Queue: q, Group: "hostile", Offset: next, Commit: -1,
			Subscription: &client.Subscription{Topic: q.Topic, Type: "WASM", Expression: expression}})
		var said *message.Error
		switch {
		case errors.As(err, &said) && said.Code == message.SystemError && strings.Contains(said.Remark, "couldn't judge the next message"):
			o.failed[next] = err
			next++
			continue
		case err != nil:
			return o, err
		case r.Next <= next:
			return o, fmt.Errorf("stuck at %d: %v", next, r.Code)
		}
		for _, m := range r.Messages {
			if m.Offset < next || o.came[m.Offset] {
				return o, fmt.Errorf("message %d came after %d", m.Offset, next)
			}
			o.came[m.Offset] = true
		}
		next = r.Next
	}
	return o, nil
}

// corpus tries each case.
func (w *world) corpus() {
	pace := time.NewTicker(corpusEvery)
	defer pace.Stop()
	for i, x := range wasmtest.Corpus() {
		<-pace.C
		name := fmt.Sprintf("case%d", i)
		_, err := w.admin.PushModule(w.t.Context(), w.broker.Addr(), name, x.Binary, false, nil)
		if x.Refused != "" {
			if err == nil || !strings.Contains(err.Error(), x.Refused) {
				w.t.Errorf("%s: got %.300v, want %s", x.Name, err, x.Refused)
			}
			if list, err := w.admin.Modules(w.t.Context(), w.broker.Addr(), name); err == nil {
				w.t.Errorf("%s: it was refused and is there: %v", x.Name, list)
			}
			continue
		}
		if err != nil {
			w.t.Errorf("%s: %.300v", x.Name, err)
			continue
		}
		w.tryCase(&x, name)
		if err := w.admin.RemoveModule(w.t.Context(), w.broker.Addr(), name, 0, true); err != nil {
			w.t.Errorf("%s: remove it: %v", x.Name, err)
		}
		w.look()
	}
}

func (w *world) tryCase(x *wasmtest.Case, name string) {
	if x.Says != "" {
		r, err := w.admin.Pull(w.t.Context(), client.PullRequest{Queue: w.queue, Group: "hostile", Commit: -1,
			Subscription: &client.Subscription{Topic: w.queue.Topic, Type: "WASM", Expression: name}})
		if err == nil || !strings.Contains(err.Error(), x.Says) || !strings.Contains(err.Error(), "couldn't judge the next message") {
			w.t.Errorf("%s: got %+v, %v, want %s", x.Name, r, err, x.Says)
		}
		return
	}
	o, err := walk(w.t.Context(), w.admin, w.queue, 10, name)
	if err != nil {
		w.t.Errorf("%s: %v", x.Name, err)
	}
	for a := range int64(10) {
		poison := x.Poison != nil && x.Poison(a)
		want := !poison && x.True != nil && x.True(a)
		if !x.Any && o.came[a] != want || (o.failed[a] != nil) != poison {
			w.t.Errorf("%s: a = %d: it came: %t, want %t; it failed: %v, want %t", x.Name, a, o.came[a], want, o.failed[a], poison)
		}
	}
}

// count is which generated modules to try, and for how long: WEIR_MODULES from number WEIR_MODULES_FROM on within WEIR_MODULES_WITHIN, or 1000 and a minute.
func (w *world) count() (first, n int, most time.Duration) {
	number := func(name string, usual int) int {
		text := os.Getenv(name)
		if text == "" {
			return usual
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			w.t.Fatalf("%s=%s: want a number", name, text)
		}
		return n
	}
	most = time.Minute
	if os.Getenv("WEIR_MODULES") != "" {
		most = 24 * time.Hour
	}
	if text := os.Getenv("WEIR_MODULES_WITHIN"); text != "" {
		var err error
		if most, err = time.ParseDuration(text); err != nil {
			w.t.Fatalf("WEIR_MODULES_WITHIN=%s: want a time, 10m for example", text)
		}
	}
	return number("WEIR_MODULES_FROM", 0), number("WEIR_MODULES", 1000), most
}
