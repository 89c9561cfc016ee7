package wasm

import (
	"context"
	"errors"
	"math/bits"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/plugins/filter/wasm/wasmtest"
	"github.com/weirmq/weir/plugins/internal/wasmbin"
)

func countSet(list []uint64) (n int) {
	for _, w := range list {
		n += bits.OnesCount64(w)
	}
	return n
}

// TestHostileGuests judges with modules that do what they can against the broker. It wants every message to be undecided,
// the error that is named for the deed, and all of that soon. All calls of one Match, the halving included, have a bound.
func TestHostileGuests(t *testing.T) {
	soon := 10 * time.Second // under the race detector, on a busy machine; each takes some milliseconds
	import1 := func(name string, f func(c *wasmbin.Code)) *wasmtest.Guest {
		x := newGuest().Filtering(f)
		x.Imports = []string{name}
		return x
	}
	tests := []struct {
		name  string
		guest *wasmtest.Guest
		kind  error
		text  string
	}{
		{"endless loop", newGuest().Filtering(wasmtest.Spin), ErrFuel, "an endless loop"},
		{"endless recursion", newGuest().Filtering(func(c *wasmbin.Code) {
			c.LocalGet(0)
			c.LocalGet(1)
			c.LocalGet(2)
			c.Call(2)
		}), nil, "recursion"}, // or fuel: calls for one message have little
		{"exponential recursion", newGuest().Filtering(func(c *wasmbin.Code) {
			c.LocalGet(1)
			c.I32Const(1 << 20)
			c.Op(wasmbin.I32GtU)
			c.If(wasmbin.OneValue(wasmbin.I32))
			c.I32Const(0)
			c.Else()
			for range 2 {
				c.LocalGet(0)
				c.LocalGet(1)
				c.I32Const(10000)
				c.Op(wasmbin.I32Add)
				c.LocalGet(2)
				c.Call(2)
			}
			c.Op(wasmbin.I32Add)
			c.End()
		}), ErrFuel, "too much work"},
		{"trap", newGuest().Filtering(trapping), ErrTrap, "unreachable"},
		{"division by zero", newGuest().Filtering(func(c *wasmbin.Code) {
			wasmtest.Args(c, 1, 0)
			c.Op(wasmbin.I32DivS)
		}), ErrTrap, "integer divide by zero"},
		{"reading outside", newGuest().Filtering(func(c *wasmbin.Code) {
			wasmtest.Args(c, -1)
			c.Memory(wasmbin.I32Load, 2, 1<<31)
		}), ErrTrap, "out of bounds memory access"},
		{"growing memory", newGuest().Filtering(wasmtest.Forever(func(c *wasmbin.Code) {
			wasmtest.Args(c, 1)
			c.Op(wasmbin.MemoryGrow)
			c.Index(0)
			c.Op(wasmbin.Drop)
		})), ErrFuel, ""},
		{"filling memory", newGuest().Filtering(wasmtest.Forever(func(c *wasmbin.Code) {
			wasmtest.Args(c, 0, 1, 4*pageSize)
			c.Op(wasmbin.MemoryFill)
			c.Index(0)
		})), ErrFuel, ""},
		{"too few results", newGuest().Filtering(func(c *wasmbin.Code) {
			wasmtest.Count(c)
			wasmtest.Args(c, 1)
			c.Op(wasmbin.I32Sub)
		}), ErrResultCount, "results for"},
		{"too many results", newGuest().Filtering(func(c *wasmbin.Code) { wasmtest.Args(c, 1<<30) }), ErrResultCount, "1073741824 results for"},
		{"error code", newGuest().Filtering(func(c *wasmbin.Code) { wasmtest.Args(c, -5) }), ErrCode, "mqf_filter returned -5, out of memory"},
		{"logging without end", import1("log", wasmtest.Forever(func(c *wasmbin.Code) {
			wasmtest.Args(c, 0, 0, 1<<30)
			c.Call(0)
		})), ErrFuel, ""},
		{"log outside of the memory", import1("log", func(c *wasmbin.Code) {
			wasmtest.Args(c, 0, -1, 100)
			c.Call(0)
			wasmtest.Args(c, 0)
		}), ErrImportUse, "outside of the memory"},
		{"metric at the wrong time", import1("metric", func(c *wasmbin.Code) {
			wasmtest.Args(c, 0, 0)
			c.Call(0)
		}), ErrImportUse, "metric is for mqf_init"},
		{"metric that isn't", import1("metric_add", func(c *wasmbin.Code) {
			wasmtest.Args(c, 99)
			c.I64Const(1)
			c.Call(0)
			wasmtest.Args(c, 0)
		}), ErrImportUse, "there is no metric 99"},
		{"need_prop at the wrong time", import1("need_prop", func(c *wasmbin.Code) {
			wasmtest.Args(c, 0, 0, 0)
			c.Call(0)
		}), ErrImportUse, "need_prop is for mqf_init"},
		{"record that isn't", import1("prop", func(c *wasmbin.Code) {
			wasmtest.Args(c, 5000, 0, 1, 0, 0)
			c.Call(0)
		}), ErrImportUse, "there is no record 5000"},
		{"entropy without end", import1("random_get", wasmtest.Forever(func(c *wasmbin.Code) {
			wasmtest.Args(c, 0, 4*pageSize)
			c.Call(0)
			c.Op(wasmbin.Drop)
		})), ErrFuel, "in an import"},
		{"writing without end", import1("fd_write", func(c *wasmbin.Code) {
			wasmtest.Args(c, 1, 0, -1, 0)
			c.Call(0)
		}), ErrFuel, "in an import"},
		{"polling without end", import1("poll_oneoff", func(c *wasmbin.Code) {
			wasmtest.Args(c, 0, 0, -1, 0)
			c.Call(0)
		}), ErrFuel, "in an import"},
		{"exit", import1("proc_exit", func(c *wasmbin.Code) {
			wasmtest.Args(c, 2)
			c.Call(0)
			wasmtest.Args(c, 0)
		}), ErrTrap, "it exited with code 2"},
	}
	for _, x := range tests {
		t.Run(x.name, func(t *testing.T) {
			p := compiled(t, x.guest.Build(), clock.NewManual(time.Unix(1e9, 0)))
			v, took := match(t, p, messages(t, 300))
			if n := countSet(v.Undecided); n != 300 {
				t.Errorf("%d of 300 messages are undecided", n)
			}
			err := p.Fault()
			if x.kind == nil && (errors.Is(err, ErrStack) || errors.Is(err, ErrFuel)) {
				x.kind, x.text = err, ""
			}
			if !errors.Is(err, x.kind) || !strings.Contains(err.Error(), x.text) || !strings.HasPrefix(err.Error(), "WASM module guest: ") {
				t.Errorf("got %v, want %v … %s", err, x.kind, x.text)
			}
			if took > soon {
				t.Errorf("it took %v", took)
			}
			t.Logf("%v: %v", took, p.Fault())
		})
	}
}

// TestScribbler writes all over its memory, batch and results included. The verdicts may be anything, but bits behind the
// last message don't count, and raise wins.
func TestScribbler(t *testing.T) {
	p := compiled(t, newGuest().Filtering(func(c *wasmbin.Code) {
		wasmtest.Count(c)
		c.LocalSet(3)
		wasmtest.Args(c, 0, 0xff, 4*pageSize)
		c.Op(wasmbin.MemoryFill)
		c.Index(0)
		c.LocalGet(3)
	}).Build(), nil)
	v, _ := match(t, p, messages(t, 300))
	if countSet(v.Raise) != 300 || countSet(v.True)+countSet(v.Unknown)+countSet(v.Undecided) != 0 {
		t.Errorf("%d raise, %d true, %d unknown, %d undecided", countSet(v.Raise), countSet(v.True), countSet(v.Unknown), countSet(v.Undecided))
	}
}

// TestGrowingStops grows the memory in every batch. It never has more than its limit, and an instance that came close to
// it is replaced.
func TestGrowingStops(t *testing.T) {
	p := compiled(t, newGuest().Filtering(func(c *wasmbin.Code) {
		wasmtest.Args(c, 1)
		c.Op(wasmbin.MemoryGrow)
		c.Index(0)
		c.Op(wasmbin.Drop)
		wasmtest.Count(c)
	}).Build(), nil)
	b := messages(t, 10)
	for range 50 {
		v, _ := match(t, p, b)
		if countSet(v.Undecided) != 0 {
			t.Fatal(p.Fault())
		}
		for _, in := range p.pool.idle {
			if size := in.mod.Memory().Size(); size > pagesDefault*pageSize*3/4 {
				t.Fatalf("an idle instance has %d bytes", size)
			}
		}
	}
}

// poisonous traps at every message whose a is 77, and says true to all others.
func poisonous() *wasmtest.Guest {
	return newGuest().With(map[string]any{"props": []map[string]string{{"name": "a", "type": "int64"}}}).Filtering(wasmtest.EachMessage(func(c *wasmbin.Code) {
		c.LocalGet(7)
		c.I64Const(77)
		c.Op(wasmbin.I64Eq)
		c.If(wasmbin.NoValue)
		c.Op(wasmbin.Unreachable)
		c.End()
		c.I32Const(1)
	}))
}

// TestPoisonIsIsolated has one message in 256, then two, that the module traps at: only they are undecided.
func TestPoisonIsIsolated(t *testing.T) {
	for _, poison := range [][]int{{0}, {255}, {131}, {17, 18}, {3, 200}} {
		p := compiled(t, poisonous().Build(), nil)
		b := messages(t, 256)
		for i := range b.Records {
			x := Test{Props: map[string]string{"a": "5"}}
			for _, k := range poison {
				if i == k {
					x.Props["a"] = "77"
				}
			}
			b.Records[i], _ = x.record()
		}
		v, _ := match(t, p, b)
		for i := range 256 {
			bad := i == poison[0] || i == poison[len(poison)-1]
			if filter.HasBit(v.Undecided, i) != bad || filter.HasBit(v.True, i) == bad {
				t.Fatalf("poison %v: message %d: true %v, undecided %v: %v", poison, i, filter.HasBit(v.True, i), filter.HasBit(v.Undecided, i), p.Fault())
			}
			if filter.HasBit(v.Poison, i) != bad {
				t.Fatalf("poison %v: message %d: it is poison: %v", poison, i, !bad)
			}
		}
	}
}

// TestABrokenModuleHasNoPoison has messages at all of which the module traps: none is to blame, none is dropped. Once the
// module has judged a message, a single one that fails is to blame; the next that fails, with no success between, isn't.
func TestABrokenModuleHasNoPoison(t *testing.T) {
	p := compiled(t, poisonous().Build(), clock.NewManual(time.Unix(1e9, 0)))
	bad, _ := (&Test{Props: map[string]string{"a": "77"}}).record()
	batch := func(n int) *filter.Batch {
		b := messages(t, n)
		for i := range b.Records {
			b.Records[i] = bad
		}
		return b
	}
	for _, n := range []int{1, 2, 64} {
		if v, _ := match(t, p, batch(n)); countSet(v.Poison) != 0 || countSet(v.Undecided) != n {
			t.Errorf("%d messages: %d are poison, %d undecided", n, countSet(v.Poison), countSet(v.Undecided))
		}
	}
	good := batch(1)
	good.Records[0], _ = (&Test{Props: map[string]string{"a": "5"}}).record()
	if v, _ := match(t, p, good); countSet(v.True) != 1 {
		t.Fatal("a sound message isn't judged")
	}
	for i, want := range []int{1, 0} {
		if v, _ := match(t, p, batch(1)); countSet(v.Poison) != want || countSet(v.Undecided) != 1 {
			t.Errorf("failure %d after a success: %d are poison, %d undecided", i+1, countSet(v.Poison), countSet(v.Undecided))
		}
	}
}

// TestATrialFindsPoison has the breaker open with poison in front of the queue: the trial tells it from the others, which
// would wait for ever otherwise.
func TestATrialFindsPoison(t *testing.T) {
	ck := clock.NewManual(time.Unix(1e9, 0))
	p := compiled(t, poisonous().Build(), ck)
	for range breakerFailures {
		p.breaker.failed(ck.Now())
	}
	ck.Advance(breakerOpen)
	b := messages(t, 64)
	for i := range b.Records {
		b.Records[i], _ = (&Test{Props: map[string]string{"a": "5"}}).record()
	}
	b.Records[0], _ = (&Test{Props: map[string]string{"a": "77"}}).record()
	v, _ := match(t, p, b)
	if countSet(v.Poison) != 1 || !filter.HasBit(v.Poison, 0) || countSet(v.True) != 63 {
		t.Errorf("%d are poison, %d true", countSet(v.Poison), countSet(v.True))
	}
}

// TestBreaker fails until the module isn't called any more, waits, fails the trial, waits again, and succeeds.
func TestBreaker(t *testing.T) {
	ck := clock.NewManual(time.Unix(1e9, 0))
	p := compiled(t, poisonous().Build(), ck)
	bad, good := messages(t, 1), messages(t, 1)
	bad.Records[0], _ = (&Test{Props: map[string]string{"a": "77"}}).record()
	step := func(what string, b *filter.Batch, decided, called bool) {
		t.Helper()
		v, _ := match(t, p, b)
		if got := countSet(v.Undecided) == 0; got != decided {
			t.Errorf("%s: decided is %v: %v", what, got, p.Fault())
		}
		if got := errors.Is(p.Fault(), ErrOpen); !decided && got == called {
			t.Errorf("%s: %v", what, p.Fault())
		}
	}
	step("sound", good, true, true)
	for range breakerFailures {
		step("failing", bad, false, true)
		ck.Advance(time.Second)
	}
	step("open", good, false, false)
	ck.Advance(breakerOpen - 2*time.Second)
	step("still open", good, false, false)
	ck.Advance(time.Second)
	step("trial that fails", bad, false, true)
	step("open again", good, false, false)
	ck.Advance(breakerOpen)
	step("trial that succeeds", good, true, true)
	step("closed", good, true, true)
	for range 20 { // seldom enough
		step("a failure now and then", bad, false, true)
		step("in between", good, true, true)
		ck.Advance(breakerWindow / 3)
	}
}

// TestTrialThatIsGivenUp waits for the right to call with a context that ends. The next caller may try.
func TestTrialThatIsGivenUp(t *testing.T) {
	ck := clock.NewManual(time.Unix(1e9, 0))
	p := compiled(t, poisonous().Build(), ck)
	for range breakerFailures {
		p.breaker.failed(ck.Now())
	}
	ck.Advance(breakerOpen)
	for range cap(p.permits.work) {
		p.permits.work <- struct{}{}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var v filter.Verdicts
	v.Reset(1)
	if err := p.Match(ctx, messages(t, 1), &v); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	for range cap(p.permits.work) {
		<-p.permits.work
	}
	if w, _ := match(t, p, messages(t, 1)); countSet(w.Undecided) != 0 {
		t.Errorf("nobody may try: %v", p.Fault())
	}
}

// forgetful says true to every batch but those that the instance judges at certain times: it has state.
func forgetful() *wasmtest.Guest {
	g := newGuest().Filtering(func(c *wasmbin.Code) {
		c.GlobalGet(0)
		wasmtest.Args(c, 1)
		c.Op(wasmbin.I32Add)
		c.GlobalSet(0)
		c.LocalGet(2)
		c.GlobalGet(0)
		wasmtest.Args(c, 1)
		c.Op(wasmbin.I32GtU)
		c.Memory(wasmbin.I32Store8, 0, 0)
		wasmtest.Count(c)
	})
	g.Globals = 1
	return g
}

// TestProbe judges until a probe finds out that a module which says it is pure remembers. From then on it isn't pure, and
// its key is another one.
func TestProbe(t *testing.T) {
	p := compiled(t, forgetful().Build(), nil, func(c *Config) { c.Dispatch = true })
	if !p.Pure() {
		t.Fatal("not pure from the beginning")
	}
	key, b := p.Key(), messages(t, 1)
	for range probeEvery + 1 {
		match(t, p, b)
	}
	if p.Pure() || p.Key() == key {
		t.Errorf("pure %v, key changed %v", p.Pure(), p.Key() != key)
	}
}

// TestPureOnlyWhenAllowed shows who decides.
func TestPureOnlyWhenAllowed(t *testing.T) {
	impure := newGuest().With(map[string]any{"purity": "impure"})
	clocked := newGuest().With(map[string]any{"purity": "impure"})
	clocked.Imports = []string{"now_ms"}
	for _, x := range []struct {
		name     string
		guest    *wasmtest.Guest
		dispatch bool
		want     bool
	}{{"pure and wanted", newGuest(), true, true}, {"pure and not wanted", newGuest(), false, false},
		{"impure", impure, true, false}, {"with a clock", clocked, true, false}} {
		p := compiled(t, x.guest.Build(), nil, func(c *Config) { c.Dispatch = x.dispatch })
		if p.Pure() != x.want {
			t.Errorf("%s: pure is %v", x.name, p.Pure())
		}
	}
}

// TestFreshInstances has a guest with state judge on a new instance each time.
func TestFreshInstances(t *testing.T) {
	p := compiled(t, forgetful().Build(), nil, func(c *Config) { c.Isolation = isolationFresh })
	for range 3 {
		if v, _ := match(t, p, messages(t, 1)); countSet(v.True) != 0 {
			t.Error("the guest remembers")
		}
	}
	if len(p.pool.idle) != 0 {
		t.Errorf("%d idle instances", len(p.pool.idle))
	}
}

// TestHammerMatch judges on many goroutines and closes the program meanwhile. No more instances stay than may be called.
func TestHammerMatch(t *testing.T) {
	p := compiled(t, poisonous().Build(), nil)
	b := messages(t, 200)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				var v filter.Verdicts
				v.Reset(b.Len())
				if err := p.Match(context.Background(), b, &v); err != nil {
					t.Error(err)
				}
				if countSet(v.True)+countSet(v.Undecided) != 200 {
					t.Error("messages without a verdict")
				}
			}
		})
	}
	wg.Wait()
	if n := len(p.pool.idle); n > cap(p.permits.work) {
		t.Errorf("%d idle instances", n)
	}
}

// TestReloads loads and closes a module often. Memory comes back to where it was.
func TestReloads(t *testing.T) {
	count := 200
	if os.Getenv("WEIR_REQUIRE_ALL") == "1" {
		count = 1000
	}
	bin := poisonous().Build()
	b := messages(t, 10)
	round := func() {
		c, err := open(t, bin, nil)
		if err != nil {
			t.Fatal(err)
		}
		p, err := c.Compile(context.Background(), expr("guest"))
		if err != nil {
			t.Fatal(err)
		}
		match(t, p.(*program), b)
		if err := errors.Join(p.Close(), c.Stop(context.Background())); err != nil {
			t.Fatal(err)
		}
	}
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for range 5 {
		round()
	}
	before := heap()
	for range count {
		round()
	}
	if after := heap(); after > before+8<<20 {
		t.Errorf("%d reloads, and the heap has grown from %d to %d bytes", count, before, after)
	} else {
		t.Logf("%d reloads: heap %d, then %d bytes", count, before, after)
	}
}

func TestMatchDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	p := compiled(t, poisonous().Build(), nil)
	b := messages(t, 256)
	for i := range b.Records {
		b.Records[i], _ = (&Test{Props: map[string]string{"a": "5"}}).record()
	}
	var v filter.Verdicts
	v.Reset(256)
	if n := testing.AllocsPerRun(100, func() {
		v.Reset(256)
		if err := p.Match(context.Background(), b, &v); err != nil {
			t.Error(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
	if countSet(v.True) != 256 {
		t.Errorf("%d true: %v", countSet(v.True), p.Fault())
	}
}

// TestHaste judges for somebody who can't wait: a batch that fails is called for once, not in halves, and while another module
// is called nothing is judged. The messages are left to a pull, and none is said to be poison.
func TestHaste(t *testing.T) {
	hasty := filter.WithHaste(context.Background())
	p := compiled(t, poisonous().Build(), nil)
	b := messages(t, 100) // one in ten has a = 77
	judge := func(ctx context.Context) *filter.Verdicts {
		t.Helper()
		var v filter.Verdicts
		v.Reset(b.Len())
		if err := p.Match(ctx, b, &v); err != nil {
			t.Fatal(err)
		}
		return &v
	}
	calls := p.module.figures.calls.Load()
	if v := judge(hasty); countSet(v.Undecided) != 100 || countSet(v.Poison) != 0 || p.module.figures.calls.Load() != calls+1 {
		t.Errorf("%d undecided, %d poison after %d calls", countSet(v.Undecided), countSet(v.Poison), p.module.figures.calls.Load()-calls)
	}
	if v := judge(context.Background()); countSet(v.True) == 0 || countSet(v.Poison) == 0 {
		t.Errorf("with time: %d true, %d poison", countSet(v.True), countSet(v.Poison))
	}
	b = messages(t, 7)
	for range cap(p.permits.work) {
		p.permits.work <- struct{}{}
	}
	if v := judge(hasty); countSet(v.Undecided) != 7 {
		t.Errorf("%d undecided while others are called", countSet(v.Undecided))
	}
	for range cap(p.permits.work) {
		<-p.permits.work
	}
	if v := judge(hasty); countSet(v.True) != 7 {
		t.Errorf("%d true", countSet(v.True))
	}
}
