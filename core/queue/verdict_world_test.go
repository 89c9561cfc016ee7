package queue

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/plugin"
	"github.com/weirmq/weir/core/queue/verdict"
	"github.com/weirmq/weir/core/store"
	"github.com/weirmq/weir/core/transport"
)

// numberCompiler compiles NUMBER expressions about the number with which a message's body begins, for instance
// "every=7 raise=11 unknown=5 late=13 trap=3 tag=A impure". A late message is undecided when it is looked at for the first
// time; a trapping program fails at every n-th call. A message with poison can't be judged by anybody, and act says what
// becomes of it: the number of a filter.FailureAction. A program with "module" takes every message that the compiler's version
// says, and is stale when that has changed.
type numberCompiler struct {
	plugin.Component
	judged  atomic.Int64 // messages, by all programs
	calls   atomic.Int64
	version atomic.Int64
}

func (*numberCompiler) ExpressionTypes() []string { return []string{"NUMBER"} }

func (c *numberCompiler) Compile(_ context.Context, e filter.Expression) (filter.Program, error) {
	p := &numberProgram{c: c, every: 1, key: filter.Key{2}, seen: map[uint64]bool{}}
	copy(p.key[1:], e.Text)
	for _, word := range bytes.Fields([]byte(e.Text)) {
		name, value, _ := bytes.Cut(word, []byte("="))
		var n uint64
		for _, d := range value {
			n = n*10 + uint64(d-'0')
		}
		switch string(name) {
		case "every":
			p.every = n
		case "raise":
			p.raise = n
		case "unknown":
			p.unknown = n
		case "late":
			p.late = n
		case "poison":
			p.poison = n
		case "act":
			p.act = filter.FailureAction(n)
		case "trap":
			p.trap = int64(n)
		case "tag":
			p.tag = message.TagsCode(string(value))
		case "impure":
			p.impure = true
		case "module":
			p.module, p.version = true, c.version.Load()
			p.every = 2 + uint64(p.version)%5
			p.key[len(p.key)-1] = byte(p.version)
		default:
			return nil, fmt.Errorf("unknown word %q", word)
		}
	}
	return p, nil
}

type numberProgram struct {
	c                           *numberCompiler
	key                         filter.Key
	every, raise, unknown, late uint64
	poison                      uint64
	act                         filter.FailureAction
	trap                        int64
	tag                         int64
	impure                      bool
	module                      bool
	version                     int64 // of the module

	caught atomic.Bool // being impure

	mu   sync.Mutex
	seen map[uint64]bool // late messages that were looked at
}

func (p *numberProgram) Key() filter.Key     { return p.key }
func (p *numberProgram) Needs() filter.Needs { return filter.Needs{Record: true, Body: true} }
func (p *numberProgram) Pure() bool          { return !p.impure && !p.caught.Load() }
func (p *numberProgram) Warnings() []string  { return nil }
func (p *numberProgram) Close() error        { return nil }
func (p *numberProgram) Stale() bool         { return p.module && p.version != p.c.version.Load() }

func (p *numberProgram) MatchIndex(codes []int64, keep []uint64) bool {
	if p.tag == 0 {
		return false
	}
	any := false
	for i, c := range codes {
		if c > message.MaxExtAddress && c != p.tag {
			filter.ClearBit(keep, i)
		}
		any = any || filter.HasBit(keep, i)
	}
	return !any
}

// accepts is what the program comes to in the end.
func (p *numberProgram) accepts(rec message.Record) bool {
	v := binary.BigEndian.Uint64(rec.Body())
	tag, _ := rec.Properties().Get(message.PropTags)
	if p.tag != 0 && message.TagsCode(tag) != p.tag {
		return false
	}
	if p.poison > 0 && v%p.poison == 0 {
		return p.act == filter.Pass
	}
	return p.outcome(v) == 1
}

func (p *numberProgram) OnPoison() filter.FailureAction { return p.act }
func (p *numberProgram) OnFault() filter.FailureAction  { return filter.Hold }

func (p *numberProgram) Match(_ context.Context, b *filter.Batch, v *filter.Verdicts) error {
	calls := p.c.calls.Add(1)
	if p.trap > 0 && calls%p.trap == 0 {
		return errors.New("trapped")
	}
	p.c.judged.Add(int64(b.Len()))
	for i, rec := range b.Records {
		if p.tag != 0 && b.TagsCodes[i] != p.tag {
			continue
		}
		n := binary.BigEndian.Uint64(message.Record(rec).Body())
		if p.poison > 0 && n%p.poison == 0 {
			filter.SetBit(v.Undecided, i)
			filter.SetBit(v.Poison, i)
			continue
		}
		if p.late > 0 && n%p.late == 0 {
			p.mu.Lock()
			late := !p.seen[n]
			p.seen[n] = true
			p.mu.Unlock()
			if late {
				filter.SetBit(v.Undecided, i)
				continue
			}
		}
		switch p.outcome(n) {
		case 1:
			filter.SetBit(v.True, i)
		case 2:
			filter.SetBit(v.Unknown, i)
		case 3:
			filter.SetBit(v.Raise, i)
		}
	}
	return nil
}

func (p *numberProgram) outcome(n uint64) int {
	h := n * 0x9E3779B97F4A7C15 >> 20
	switch {
	case p.raise > 0 && n%p.raise == 0:
		return 3
	case p.unknown > 0 && n%p.unknown == 0:
		return 2
	case h%p.every == 0:
		return 1
	}
	return 0
}

// tickClock gives a later millisecond each time it is asked, as the machine's does to all who don't hurry like a test.
type tickClock struct {
	clock.Clock
	ms atomic.Int64
}

func newTickClock() *tickClock {
	c := &tickClock{Clock: clock.Real()}
	c.ms.Store(time.Now().Add(24 * time.Hour).UnixMilli())
	return c
}

func (c *tickClock) Now() time.Time { return time.UnixMilli(c.ms.Add(1)) }

// filterWorld is a store with pulls over it, of which one keeps verdicts and the other does not.
type filterWorld struct {
	t        testing.TB
	fs       vfs.FS
	clock    *tickClock
	cfg      Config
	storeCfg store.Config
	compiler *numberCompiler
	verdicts bool // opened with them

	store    *store.Store
	covers   *verdict.Covers
	programs *Programs
	on, off  *Pulls
	topics   *fakeTopics
	groups   *fakeGroups
	sent     map[message.QueueKey]int // to be in the queue

	came comeBy
}

// comeBy counts how verdicts were come by.
type comeBy struct{ arriving, pulling, jumped int64 }

// sum takes over what the pulls that are on have counted.
func (w *filterWorld) sum() {
	if w.on != nil {
		v := w.on.Verdicts()
		w.came.arriving += v.JudgedArriving.Swap(0)
		w.came.pulling += v.JudgedPulling.Swap(0)
		w.came.jumped += v.Jumped.Swap(0)
	}
}

const verdictDir = "/store/weir/verdicts"

func newFilterWorld(t testing.TB, fs vfs.FS, share float64) *filterWorld {
	w := &filterWorld{
		t: t, fs: fs, clock: newTickClock(), cfg: DefaultConfig(), storeCfg: store.DefaultConfig(), compiler: &numberCompiler{},
		topics: &fakeTopics{m: map[string]transport.TopicConfig{}}, groups: &fakeGroups{m: map[string]transport.GroupConfig{}},
		verdicts: true,
	}
	w.cfg.Verdicts.DispatchShare = share
	w.cfg.ScanTimeMax = 100 * time.Millisecond
	w.storeCfg.SegmentSize = 64 << 10
	w.storeCfg.ConsumeQueueEntries = 100
	w.storeCfg.MaxMessageSize = 32 << 10
	w.storeCfg.ReservedTime = time.Hour
	w.storeCfg.DeleteAt = nil
	for _, topic := range []string{"T0", "T1"} {
		w.topics.set(transport.TopicConfig{Name: topic, ReadQueues: 2, WriteQueues: 2, Perm: 6})
	}
	w.groups.set(plainGroup("g"))
	w.open()
	return w
}

func (w *filterWorld) open() {
	w.t.Helper()
	w.sum()
	var on atomic.Pointer[Pulls]
	st, err := store.Open(context.Background(), store.Options{
		FS: w.fs, Dir: "/store", Config: w.storeCfg, Clock: w.clock, Logger: w.logger(),
		OnArrival: func(a []message.Arrival) {
			if p := on.Load(); p != nil {
				p.Arrived(a)
			}
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.store, w.covers = st, nil
	if w.verdicts {
		w.covers, err = verdict.Open(verdict.Settings{FS: w.fs, Dir: verdictDir, Index: st, Logger: w.logger(), CacheSize: 1, DiskSize: 1 << 30})
		if err != nil {
			w.t.Fatal(err)
		}
	}
	w.programs = NewPrograms(CompilerMap{"NUMBER": w.compiler}, w.cfg, quiet())
	counters := NewCounters(w.cfg, w.clock)
	clients := NewClients(ClientSettings{Config: w.cfg, Clock: w.clock, Logger: quiet(), Programs: w.programs, Groups: w.groups,
		EnsureRetryTopic: func(string, transport.GroupConfig, bool) error { return nil }})
	set := PullSettings{
		Config: w.cfg, Clock: w.clock, Logger: quiet(), Log: st, Topics: w.topics, Groups: w.groups, Clients: clients,
		Programs: w.programs, Counters: counters, Filters: NewFilters(FilterSettings{Config: w.cfg, Clock: w.clock, Logger: quiet(),
			FS: w.fs, Programs: w.programs, Path: "/store/config/consumerFilter.json", OwnPath: "/store/weir/filters.json"}), Perm: func() message.Perm { return message.PermRW }, Cluster: "C",
		Offsets: NewOffsets(OffsetSettings{Config: w.cfg, Clock: w.clock, Logger: quiet(), FS: w.fs, Path: "/store/config/offsets.json", Log: st}),
	}
	w.off = NewPulls(set)
	set.Verdicts = w.covers
	w.on = NewPulls(set)
	if w.covers != nil {
		on.Store(w.on)
	}
	if err := st.Start(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	w.sent = map[message.QueueKey]int{}
	for _, q := range st.Queues() {
		_, high, _ := st.Bounds(q)
		w.sent[q] = int(high)
	}
}

func (w *filterWorld) logger() *slog.Logger {
	if os.Getenv("WEIR_TEST_LOG") == "" {
		return quiet()
	}
	return slog.New(slog.NewTextHandler(w.t.Output(), nil))
}

func (w *filterWorld) close() {
	w.t.Helper()
	if err := w.store.Close(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	if w.covers != nil {
		w.covers.Close()
	}
}

type appended chan struct{}

func (a appended) Appended(*store.Batch) { close(a) }

// send stores n messages whose bodies begin with numbers from first on, and waits until they can be pulled.
func (w *filterWorld) send(q message.QueueKey, n int, first uint64, tags ...string) {
	w.t.Helper()
	w.append(q, n, first, tags...)
	w.awaitDispatch(q)
}

// append is send that doesn't wait for the dispatcher.
func (w *filterWorld) append(q message.QueueKey, n int, first uint64, tags ...string) {
	w.t.Helper()
	done := make(appended)
	b := &store.Batch{Wait: true, Done: done}
	for i := range n {
		body := binary.BigEndian.AppendUint64(nil, first+uint64(i))
		m := store.Message{Topic: q.Topic, Queue: q.ID, BornHost: testHost, StoreHost: testHost, Body: body}
		if len(tags) > 0 {
			m.Properties = message.AppendProperty(nil, message.PropTags, tags[i%len(tags)])
		}
		b.Messages = append(b.Messages, m)
	}
	w.store.Append(b)
	<-done
	for i := range b.Messages {
		if b.Messages[i].Code != message.Success {
			w.t.Fatalf("send: %v %s", b.Messages[i].Code, b.Messages[i].Remark)
		}
	}
	w.sent[q] += n
}

func (w *filterWorld) awaitDispatch(q message.QueueKey) {
	w.t.Helper()
	for waited := 0; ; {
		_, high, _ := w.store.Bounds(q)
		if int(high) >= w.sent[q] {
			return
		}
		if waited++; waited > 1_000_000 {
			w.t.Fatalf("%s has %d messages, want %d", q, high, w.sent[q])
		}
		runtime.Gosched() // the dispatcher has no event for a test
	}
}

// delivery is a message that was delivered.
type delivery struct {
	at     message.Offset
	number uint64
}

// deliveries takes the messages out of an answer and gives its records back.
func deliveries(t testing.TB, r *transport.Records) (list []delivery) {
	t.Helper()
	eachRecord(t, r, func(rec message.Record) {
		list = append(list, delivery{rec.QueueOffset(), binary.BigEndian.Uint64(rec.Body())})
	})
	r.Release()
	return list
}

// consume pulls everything from an offset up to the queue's end, answers of at most maxNum messages.
func (w *filterWorld) consume(p *Pulls, q message.QueueKey, expr string, from message.Offset, maxNum int32) (list []delivery, pulls int) {
	w.t.Helper()
	_, high, ok := w.store.Bounds(q)
	if !ok {
		return nil, 0
	}
	for failures := 0; from < high; pulls++ {
		got := &replies{}
		r := &transport.Pull{Reply: got, Group: "g", Topic: q.Topic, QueueID: q.ID, Offset: from, MaxNum: maxNum,
			HasSubscription: true, Expression: filter.Expression{Type: "NUMBER", Text: expr}}
		p.Pull(context.Background(), r)
		if len(got.take()) != 1 {
			w.t.Fatal("the pull wasn't answered")
		}
		if r.Code == message.SystemError { // undecided, or trapped: the client comes again
			if failures++; failures > 100_000 {
				w.t.Fatalf("%s: %v %s", q, r.Code, r.Remark)
			}
			continue
		}
		list = append(list, deliveries(w.t, &r.Records)...)
		if r.NextBeginOffset <= from && r.Code != message.PullOffsetMoved || r.NextBeginOffset > high {
			w.t.Fatalf("%s at %d of %d: code %v %s, next %d", q, from, high, r.Code, r.Remark, r.NextBeginOffset)
		}
		from = r.NextBeginOffset
	}
	return list, pulls
}

// expected asks the program's definition about every message in the queue, entry by entry.
func (w *filterWorld) expected(q message.QueueKey, expr string, from message.Offset) (list []delivery) {
	w.t.Helper()
	compiled, err := w.compiler.Compile(context.Background(), filter.Expression{Text: expr})
	if err != nil {
		w.t.Fatal(err)
	}
	low, high, _ := w.store.Bounds(q)
	var r transport.Records
	for o := max(low, from); o < high; o++ {
		e, ok, err := entryAt(w.store, q, o)
		if err != nil {
			w.t.Fatal(err)
		}
		if !ok || e.Position < w.store.Begin() {
			continue
		}
		if _, err := w.store.Lend([]message.Entry{e}, &r); err != nil {
			w.t.Fatal(err)
		}
		if rec := message.Record(r.Chunks[0]); compiled.(*numberProgram).accepts(rec) {
			list = append(list, delivery{o, binary.BigEndian.Uint64(rec.Body())})
		}
		r.Release()
	}
	return list
}

// verify compares what is delivered with and without kept verdicts with what should be, and returns how many verdicts that
// compares.
func (w *filterWorld) verify(what string, q message.QueueKey, expr string, from message.Offset, maxNum int32) int {
	w.t.Helper()
	want := w.expected(q, expr, from)
	_, high, _ := w.store.Bounds(q)
	for _, p := range []*Pulls{w.on, w.off} {
		got, _ := w.consume(p, q, expr, from, maxNum)
		if !slices.Equal(got, want) {
			i := 0
			for i < len(got) && i < len(want) && got[i] == want[i] {
				i++
			}
			w.t.Fatalf("%s: %s from %d by %q, kept verdicts %v: %d messages, want %d; the first that differs is number %d: %v, want %v",
				what, q, from, expr, p == w.on, len(got), len(want), i, got[i:min(i+3, len(got))], want[i:min(i+3, len(want))])
		}
	}
	return int(high - from)
}

// allQueues lists the queues that the tests use.
func allQueues() []message.QueueKey {
	return []message.QueueKey{{Topic: "T0", ID: 0}, {Topic: "T0", ID: 1}, {Topic: "T1", ID: 0}, {Topic: "T1", ID: 1}}
}

// verdictFiles lists the files of covers.
func verdictFiles(t testing.TB, fs vfs.FS, dir string) (files []string) {
	list, err := fs.ReadDir(dir)
	if errors.Is(err, vfs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		path := filepath.Join(dir, f.Name)
		if f.IsDir {
			files = append(files, verdictFiles(t, fs, path)...)
		} else {
			files = append(files, path)
		}
	}
	return files
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }
