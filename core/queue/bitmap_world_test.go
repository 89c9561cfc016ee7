package queue

import (
	"context"
	"encoding/binary"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weirmq/weir/core/fastjson"
	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/queue/verdict"
	"github.com/weirmq/weir/core/store"
	"github.com/weirmq/weir/core/transport"
)

// javaNumbers compiles NUMBER expressions as SQL92 that a Java broker compiles too, but for those that begin with "own".
type javaNumbers struct {
	numberCompiler
	during func() // called within Compile, once
}

func (c *javaNumbers) ExpressionTypes() []string { return []string{filter.TypeSQL92} }

func (c *javaNumbers) Compile(ctx context.Context, e filter.Expression) (filter.Program, error) {
	if during := c.during; during != nil {
		c.during = nil
		during()
	}
	text, own := strings.CutPrefix(e.Text, "own ")
	p, err := c.numberCompiler.Compile(ctx, filter.Expression{Text: text})
	if err != nil {
		return nil, err
	}
	return &javaNumber{p.(*numberProgram), own}, nil
}

type javaNumber struct {
	*numberProgram
	own bool
}

func (p *javaNumber) Dialect() string { return "test" }
func (p *javaNumber) RocketMQ() bool  { return !p.own }

// bitmapWorld is a store whose messages get bitmaps, with pulls over it, of which one keeps verdicts.
type bitmapWorld struct {
	t        testing.TB
	fs       *vfs.Mem
	clock    *tickClock
	cfg      Config
	storeCfg store.Config
	compiler *javaNumbers
	members  map[string]transport.ConsumerData // by group

	store    *store.Store
	covers   *verdict.Covers
	programs *Programs
	filters  *Filters
	clients  *Clients
	on, off  *Pulls
	sent     map[message.QueueKey]int
}

func newBitmapWorld(t testing.TB, change func(*bitmapWorld)) *bitmapWorld {
	w := &bitmapWorld{t: t, fs: vfs.NewMem(nil), clock: newTickClock(), cfg: DefaultConfig(), storeCfg: store.DefaultConfig(),
		compiler: &javaNumbers{}, members: map[string]transport.ConsumerData{}}
	w.storeCfg.SegmentSize, w.storeCfg.ConsumeQueueEntries, w.storeCfg.MaxMessageSize = 64<<10, 500, 8<<10
	w.storeCfg.ConsumeQueueExt, w.storeCfg.DiskRefuse = true, 1
	w.cfg.Verdicts.DispatchShare = 1000
	if change != nil {
		change(w)
	}
	w.open()
	return w
}

func (w *bitmapWorld) open() {
	w.t.Helper()
	var on atomic.Pointer[Pulls]
	st, err := store.Open(context.Background(), store.Options{
		FS: w.fs, Dir: "/store", Config: w.storeCfg, Clock: w.clock, Bitmaps: func(a []message.Arrival) { on.Load().Bitmaps(a) },
		OnArrival: func(a []message.Arrival) { on.Load().Arrived(a) },
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.store = st
	w.covers, err = verdict.Open(verdict.Settings{FS: w.fs, Dir: verdictDir, Index: st, Logger: quiet(), CacheSize: 1 << 20, DiskSize: 1 << 30})
	if err != nil {
		w.t.Fatal(err)
	}
	topics := &fakeTopics{m: map[string]transport.TopicConfig{}}
	for _, q := range allQueues() {
		topics.set(transport.TopicConfig{Name: q.Topic, ReadQueues: 2, WriteQueues: 2, Perm: 6})
	}
	groups := &fakeGroups{m: map[string]transport.GroupConfig{}}
	for _, g := range bitmapGroups {
		groups.set(plainGroup(g))
	}
	w.programs = NewPrograms(CompilerMap{filter.TypeTag: tagCompiler{}, filter.TypeSQL92: w.compiler}, w.cfg, quiet())
	w.filters = NewFilters(FilterSettings{Config: w.cfg, Clock: w.clock, Logger: quiet(), FS: w.fs, Programs: w.programs,
		Path: "/store/config/consumerFilter.json", OwnPath: "/store/weir/filters.json",
		Bitmaps: w.storeCfg.ConsumeQueueExt, Newest: st.LastStoreTime(), Unclean: st.Unclean()})
	w.clients = NewClients(ClientSettings{Config: w.cfg, Clock: w.clock, Logger: quiet(), Programs: w.programs, Filters: w.filters, Groups: groups,
		EnsureRetryTopic: func(string, transport.GroupConfig, bool) error { return nil }, Left: func(string, string) {}})
	set := PullSettings{
		Config: w.cfg, Clock: w.clock, Logger: quiet(), Log: st, Topics: topics, Groups: groups, Clients: w.clients, Filters: w.filters,
		Programs: w.programs, Counters: NewCounters(w.cfg, w.clock), Perm: func() message.Perm { return message.PermRW }, Cluster: "C",
		Offsets: NewOffsets(OffsetSettings{Config: w.cfg, Clock: w.clock, Logger: quiet(), FS: w.fs, Path: "/store/config/offsets.json", Log: st}),
	}
	w.off = NewPulls(set)
	set.Verdicts = w.covers
	w.on = NewPulls(set)
	on.Store(w.on)
	if err := w.filters.Load(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	if err := st.Start(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	w.sent = map[message.QueueKey]int{}
	for _, q := range st.Queues() {
		_, high, _ := st.Bounds(q)
		w.sent[q] = int(high)
	}
	for _, data := range w.members {
		w.heartbeat(data)
	}
}

// close stops as a broker does: the filters before the store.
func (w *bitmapWorld) close() {
	w.t.Helper()
	if err := w.filters.Stop(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	if err := w.store.Close(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	w.covers.Close()
}

// kill leaves things as they are, and goes on with what a killed process leaves.
func (w *bitmapWorld) kill(clone *vfs.Mem) {
	w.t.Helper()
	old := *w
	w.fs = clone
	w.open()
	old.close()
}

// forget removes the kept verdicts of a store that is closed.
func (w *bitmapWorld) forget() {
	for _, f := range verdictFiles(w.t, w.fs, verdictDir) {
		if err := w.fs.Remove(f); err != nil {
			w.t.Fatal(err)
		}
	}
}

var bitmapGroups = []string{"g0", "g1", "g2", "g3"}

func (w *bitmapWorld) heartbeat(data transport.ConsumerData) {
	w.t.Helper()
	c := &transport.Caller{Session: session(int(data.Group[1])), Language: "JAVA", Version: 407}
	if err := w.clients.Heartbeat(context.Background(), c, &transport.Heartbeat{ClientID: data.Group, Consumers: []transport.ConsumerData{data}}); err != nil {
		w.t.Fatal(err)
	}
}

// subscribe has a group's only member subscribe both topics by an expression.
func (w *bitmapWorld) subscribe(group, text string, version int64) {
	w.t.Helper()
	data := consumer(group, sqlSub("T0", text, version), sqlSub("T1", text, version))
	w.members[group] = data
	w.heartbeat(data)
}

// leave has the group's member go.
func (w *bitmapWorld) leave(group string) {
	delete(w.members, group)
	w.clients.Unregister(session(int(group[1])), group, group)
}

// send stores n messages whose bodies begin with numbers from first on, and waits until they can be pulled.
func (w *bitmapWorld) send(q message.QueueKey, n int, first uint64) {
	w.t.Helper()
	done := make(appended)
	b := &store.Batch{Wait: true, Done: done}
	for i := range n {
		b.Messages = append(b.Messages, store.Message{Topic: q.Topic, Queue: q.ID, BornHost: testHost, StoreHost: testHost,
			Body: binary.BigEndian.AppendUint64(nil, first+uint64(i)), Properties: message.AppendProperty(nil, message.PropTags, "A")})
	}
	w.store.Append(b)
	<-done
	w.sent[q] += n
	for waited := 0; ; waited++ {
		if _, high, _ := w.store.Bounds(q); int(high) >= w.sent[q] {
			return
		}
		if waited > 10_000_000 {
			w.t.Fatalf("%s doesn't get %d messages", q, w.sent[q])
		}
		runtime.Gosched() // the dispatcher has no event for a test
	}
}

// stored is a message with what its queue's extension file says of it.
type stored struct {
	delivery
	unit message.ExtUnit // zero when it has none
	rec  message.Record
}

// Unit implements message.ExtVisitor.
func (s *stored) Unit(_ int, u message.ExtUnit) {
	u.Bitmap = append([]byte(nil), u.Bitmap...)
	s.unit = u
}

// all reads a queue.
func (w *bitmapWorld) all(q message.QueueKey) (list []stored) {
	w.t.Helper()
	low, high, _ := w.store.Bounds(q)
	var r transport.Records
	for o := low; o < high; o++ {
		e, ok, err := entryAt(w.store, q, o)
		if err != nil || !ok {
			w.t.Fatalf("%s entry %d: %v, %v", q, o, ok, err)
		}
		if _, err := w.store.Lend([]message.Entry{e}, &r); err != nil {
			w.t.Fatal(err)
		}
		rec := append(message.Record(nil), r.Chunks[0]...)
		r.Release()
		s := stored{delivery: delivery{o, binary.BigEndian.Uint64(rec.Body())}, rec: rec}
		w.store.Units(q, []int64{e.TagsCode}, &s)
		list = append(list, s)
	}
	return list
}

func (w *bitmapWorld) accepts(text string, rec message.Record) bool {
	p, err := w.compiler.Compile(context.Background(), filter.Expression{Text: text})
	if err != nil {
		w.t.Fatal(err)
	}
	return p.(*javaNumber).accepts(rec)
}

// expected is what a group is to get of a queue.
func (w *bitmapWorld) expected(q message.QueueKey, text string) (list []delivery) {
	for _, s := range w.all(q) {
		if w.accepts(text, s.rec) {
			list = append(list, s.delivery)
		}
	}
	return list
}

// consume pulls a whole queue for a group by its registered filter.
func (w *bitmapWorld) consume(p *Pulls, group string, q message.QueueKey) (list []delivery) {
	w.t.Helper()
	_, high, _ := w.store.Bounds(q)
	failures := 0
	for from := message.Offset(0); from < high; {
		got := &replies{}
		r := &transport.Pull{Reply: got, Group: group, Topic: q.Topic, QueueID: q.ID, Offset: from, MaxNum: 32}
		p.Pull(context.Background(), r)
		if r.Code == message.SystemError && failures < 10_000 { // undecided: the client comes again
			failures++
			continue
		}
		list = append(list, deliveries(w.t, &r.Records)...)
		if r.NextBeginOffset <= from {
			w.t.Fatalf("%s at %d of %d: code %v %s, next %d", q, from, high, r.Code, r.Remark, r.NextBeginOffset)
		}
		from = r.NextBeginOffset
	}
	return list
}

// javaFilters is what a Java broker reads in consumerFilter.json, by topic and group.
func (w *bitmapWorld) javaFilters() map[string]filtersOfTopic {
	w.t.Helper()
	data, err := vfs.ReadFile(w.fs, "/store/config/consumerFilter.json", 1<<20)
	if err != nil {
		return nil
	}
	var f filtersFile
	if err := fastjson.Unmarshal(data, &f); err != nil {
		w.t.Fatal(err)
	}
	return f.Topics
}

// checkJava says, for every message and every filter of the file, whether a Java broker would pass over the message unread
// that the filter accepts. It returns how many it would pass over rightly.
func (w *bitmapWorld) checkJava(what string, filters map[string]filtersOfTopic) (spared int) {
	w.t.Helper()
	for _, q := range w.store.Queues() {
		for _, s := range w.all(q) {
			for group, f := range filters[q.Topic].Groups {
				if s.unit.StoreTimestamp <= f.Born || len(s.unit.Bitmap)*8 != f.Bloom.Bits {
					continue
				}
				hit := true
				for _, p := range f.Bloom.Probes {
					hit = hit && s.unit.Bitmap[p/8]>>(p%8)&1 == 1
				}
				if !hit && w.accepts(f.Expression, s.rec) {
					w.t.Fatalf("%s: %s offset %d, stored at %d: RocketMQ passes it over for %s, born %d, that filters by %q: bitmap %x",
						what, q, s.at, s.unit.StoreTimestamp, group, f.Born, f.Expression, s.unit.Bitmap)
				}
				if !hit {
					spared++
				}
			}
		}
	}
	return spared
}
