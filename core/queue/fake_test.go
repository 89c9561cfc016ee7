package queue

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/netip"
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
	"github.com/weirmq/weir/core/transport"
)

// fakeLog is a store in memory: records one behind the other, and an index for each queue.
type fakeLog struct {
	mu         sync.Mutex
	bytes      []byte
	oldest     message.Position
	hotFrom    message.Position // records before it are cold
	unreadable message.Position // records from it on can't be had
	perFile    int              // index entries per file, 0 for no end
	queues     map[message.QueueKey]*fakeQueue
	lends      atomic.Int64
	lent       atomic.Int64 // references out
	entryErr   error
	shared     *fakeRef
	onBounds   func() // called before each look at a queue's bounds
}

type fakeQueue struct {
	raw     []byte // all entries from offset 0 on
	units   []byte // the extension file
	low     message.Offset
	missing func(message.Offset) bool
}

func newFakeLog() *fakeLog {
	l := &fakeLog{unreadable: math.MaxInt64, queues: map[message.QueueKey]*fakeQueue{}}
	l.shared = &fakeRef{l}
	return l
}

// noEntries is the error for a missing index file. The next one begins at its value.
type noEntries message.Offset

func (e noEntries) Error() string        { return "no entries" }
func (e noEntries) Next() message.Offset { return message.Offset(e) }

type fakeRef struct{ l *fakeLog }

func (r *fakeRef) Release() { r.l.lent.Add(-1) }

func (l *fakeLog) ref() transport.Ref {
	l.lent.Add(1)
	return l.shared
}

func (l *fakeLog) put(m *message.Message, storeTime int64) message.Arrival {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, err := message.AppendRecord(nil, m)
	if err != nil {
		panic(err)
	}
	q := message.QueueKey{Topic: m.Topic, ID: m.QueueID}
	fq := l.queueLocked(q)
	at := message.Position(len(l.bytes))
	offset := message.Offset(len(fq.raw) / message.EntrySize)
	message.Record(b).Place(offset, at, storeTime)
	l.bytes = append(l.bytes, b...)
	var code int64
	if tag, ok := m.Properties.Get(message.PropTags); ok {
		code = message.TagsCode(tag)
	}
	e := message.Entry{Position: at, Size: int32(len(b)), TagsCode: code}
	fq.raw = message.AppendEntry(fq.raw, e)
	return message.Arrival{Queue: q, Offset: offset, Entry: e, StoreTimestamp: storeTime, Record: b}
}

func (l *fakeLog) queueLocked(q message.QueueKey) *fakeQueue {
	fq := l.queues[q]
	if fq == nil {
		fq = &fakeQueue{}
		l.queues[q] = fq
	}
	return fq
}

// send stores a message with a tag.
func (l *fakeLog) send(topic string, id message.QueueID, tag, body string) message.Arrival {
	m := &message.Message{Topic: topic, QueueID: id, Body: []byte(body), BornHost: testHost, StoreHost: testHost}
	if tag != "" {
		m.Properties = message.AppendProperty(nil, message.PropTags, tag)
	}
	return l.put(m, int64(len(l.bytes)))
}

var testHost = netip.MustParseAddrPort("127.0.0.1:10911")

// forget empties the queues of a topic, as deleting it does.
func (l *fakeLog) forget(topic string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for q := range l.queues {
		if q.Topic == topic {
			delete(l.queues, q)
		}
	}
}

func (l *fakeLog) setEntry(q message.QueueKey, o message.Offset, e message.Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	message.AppendEntry(l.queueLocked(q).raw[:int(o)*message.EntrySize], e)
}

func (l *fakeLog) Bounds(q message.QueueKey) (low, high message.Offset, ok bool) {
	if l.onBounds != nil {
		l.onBounds()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fq := l.queues[q]
	if fq == nil {
		return 0, 0, false
	}
	return fq.low, message.Offset(len(fq.raw) / message.EntrySize), true
}

func (l *fakeLog) Entries(q message.QueueKey, from message.Offset, n int) ([]byte, transport.Ref, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fq := l.queues[q]
	if l.entryErr != nil {
		return nil, nil, l.entryErr
	}
	if fq == nil || from < 0 || int(from)*message.EntrySize >= len(fq.raw) || fq.missing != nil && fq.missing(from) {
		return nil, nil, noEntries(from + 1)
	}
	if l.perFile > 0 {
		n = min(n, l.perFile-int(from)%l.perFile)
	}
	end := min(len(fq.raw), (int(from)+n)*message.EntrySize)
	return fq.raw[int(from)*message.EntrySize : end], l.ref(), nil
}

func (l *fakeLog) Units(q message.QueueKey, codes []int64, v message.ExtVisitor) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fq := l.queues[q]
	for i, code := range codes {
		if at, ok := message.ExtOffset(code); ok && fq != nil && at < int64(len(fq.units)) {
			if u, _, ok := message.DecodeExtUnit(fq.units[at:]); ok {
				v.Unit(i, u)
			}
		}
	}
}

// extend gives the entry of a message that was put a unit with its bitmap.
func (l *fakeLog) extend(a *message.Arrival) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fq := l.queues[a.Queue]
	e := a.Entry
	e.TagsCode = message.ExtAddress(int64(len(fq.units)))
	fq.units = message.AppendExtUnit(fq.units, message.ExtUnit{TagsCode: a.TagsCode, StoreTimestamp: a.StoreTimestamp, Bitmap: a.Bitmap})
	message.AppendEntry(fq.raw[:int(a.Offset)*message.EntrySize], e)
}

func (l *fakeLog) Lend(entries []message.Entry, r *transport.Records) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lends.Add(1)
	var end message.Position = -1
	for i, e := range entries {
		if e.Position < l.oldest || int(e.Position)+int(e.Size) > len(l.bytes) {
			return i, errors.New("no record there")
		}
		if e.Position >= l.unreadable {
			return i, errors.New("not readable yet")
		}
		if e.Position == end {
			r.Extend(int(e.Size), 1)
		} else {
			r.Add(l.bytes[e.Position:][:e.Size], 1, l.ref())
		}
		end = e.Position + message.Position(e.Size)
	}
	return len(entries), nil
}

func (l *fakeLog) Record(p message.Position, r *transport.Records) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p < l.oldest || int(p) >= len(l.bytes) {
		return errors.New("no record there")
	}
	rec, _, err := message.ParseRecord(l.bytes[p:])
	if err == nil {
		r.Add(rec, 1, nil)
	}
	return err
}

func (l *fakeLog) InMemory(p message.Position) bool { return p >= l.hotFrom }
func (l *fakeLog) Begin() message.Position          { return l.oldest }
func (l *fakeLog) End() message.Position            { return message.Position(len(l.bytes)) }

func (l *fakeLog) StoreTime(e message.Entry) (int64, error) {
	var r transport.Records
	if err := l.Record(e.Position, &r); err != nil {
		return 0, err
	}
	return message.Record(r.Chunks[0]).StoreTimestamp(), nil
}

func (l *fakeLog) OffsetByTime(q message.QueueKey, ts int64, _ transport.Boundary) (message.Offset, error) {
	low, high, _ := l.Bounds(q)
	for o := low; o < high; o++ {
		e, _, _ := entryAt(l, q, o)
		if t, _ := l.StoreTime(e); t >= ts {
			return o, nil
		}
	}
	return max(high-1, 0), nil
}

func (l *fakeLog) EarliestStoreTime(q message.QueueKey) int64 {
	low, high, _ := l.Bounds(q)
	if low == high {
		return -1
	}
	e, _, _ := entryAt(l, q, low)
	t, err := l.StoreTime(e)
	if err != nil {
		return -1
	}
	return t
}

// fakeTopics and fakeGroups are the tables of core/topic.
type fakeTopics struct {
	mu sync.Mutex
	m  map[string]transport.TopicConfig
}

func (t *fakeTopics) Topic(name string) (transport.TopicConfig, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, ok := t.m[name]
	return c, ok
}

func (t *fakeTopics) set(c transport.TopicConfig) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.m[c.Name] = c
}

type fakeGroups struct {
	mu sync.Mutex
	m  map[string]transport.GroupConfig
}

func (g *fakeGroups) Group(name string) (transport.GroupConfig, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c, ok := g.m[name]
	return c, ok
}

func (g *fakeGroups) set(c transport.GroupConfig) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.m[c.Name] = c
}

func plainGroup(name string) transport.GroupConfig {
	return transport.GroupConfig{Name: name, ConsumeEnable: true, ConsumeFromMinEnable: true, ConsumeBroadcastEnable: true,
		RetryQueues: 1, RetryMaxTimes: 16, WhichBrokerWhenConsumeSlowly: 1, NotifyConsumerIDsChanged: true}
}

// fakeSession is a connection that remembers its notices.
type fakeSession struct {
	remote  netip.AddrPort
	dead    atomic.Bool
	mu      sync.Mutex
	notices []transport.Notice
	closed  string
}

func (s *fakeSession) Remote() netip.AddrPort { return s.remote }
func (s *fakeSession) Notify(n transport.Notice) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notices = append(s.notices, n)
	return nil
}
func (s *fakeSession) Call(context.Context, transport.ClientCall) (transport.ClientReply, error) {
	return transport.ClientReply{}, transport.ErrSessionClosed
}
func (s *fakeSession) Close(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = reason
	s.dead.Store(true)
}
func (s *fakeSession) Alive() bool { return !s.dead.Load() }

// noticed returns the groups of the ConsumersChanged notices since the last call.
func (s *fakeSession) noticed() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var groups []string
	for _, n := range s.notices {
		if c, ok := n.(transport.ConsumersChanged); ok {
			groups = append(groups, c.Group)
		}
	}
	s.notices = nil
	return groups
}

// tagCompiler compiles tags like plugins/filter/tag does.
type tagCompiler struct{ plugin.Component }

func (tagCompiler) ExpressionTypes() []string { return []string{filter.TypeTag} }
func (tagCompiler) Compile(_ context.Context, e filter.Expression) (filter.Program, error) {
	t, err := message.ParseTags(e.Text)
	if err != nil {
		return nil, err
	}
	return &tagProgram{tags: t}, nil
}

type tagProgram struct {
	tags   message.Tags
	closed atomic.Bool
}

func (p *tagProgram) Key() filter.Key     { return filter.Key{} }
func (p *tagProgram) Needs() filter.Needs { return filter.Needs{} }
func (p *tagProgram) Pure() bool          { return true }
func (p *tagProgram) Warnings() []string  { return nil }
func (p *tagProgram) Close() error        { p.closed.Store(true); return nil }
func (p *tagProgram) Match(_ context.Context, b *filter.Batch, v *filter.Verdicts) error {
	for i, c := range b.TagsCodes {
		if p.tags.Match(c) {
			filter.SetBit(v.True, i)
		}
	}
	return nil
}
func (p *tagProgram) MatchIndex(codes []int64, keep []uint64) bool {
	if p.closed.Load() {
		panic("match after close")
	}
	if len(p.tags.Codes) == 1 {
		want := p.tags.Codes[0]
		for w := range keep {
			block := codes[w*64 : min(len(codes), w*64+64)]
			var bits uint64
			for i, c := range block {
				var b uint64
				if int32(c) == want {
					b = 1
				}
				bits |= b << i
			}
			keep[w] &= bits
		}
		return true
	}
	for i, c := range codes {
		if !p.tags.Match(c) {
			filter.ClearBit(keep, i)
		}
	}
	return true
}

// bodyCompiler compiles BODY expressions: true when the body contains the text, undecided for a body that contains "?",
// raise for one that contains "!".
type bodyCompiler struct{ plugin.Component }

func (bodyCompiler) ExpressionTypes() []string { return []string{"BODY"} }
func (bodyCompiler) Compile(_ context.Context, e filter.Expression) (filter.Program, error) {
	if e.Text == "bad" {
		return nil, errors.New("bad is not a word")
	}
	return &bodyProgram{want: []byte(e.Text)}, nil
}

type bodyProgram struct {
	want   []byte
	judged atomic.Int64
}

func (p *bodyProgram) Key() filter.Key     { return filter.Key{1} }
func (p *bodyProgram) Needs() filter.Needs { return filter.Needs{Record: true, Body: true} }
func (p *bodyProgram) Pure() bool          { return true }
func (p *bodyProgram) Warnings() []string  { return nil }
func (p *bodyProgram) Close() error        { return nil }
func (p *bodyProgram) Match(_ context.Context, b *filter.Batch, v *filter.Verdicts) error {
	p.judged.Add(int64(b.Len()))
	for i, rec := range b.Records {
		body := message.Record(rec).Body()
		switch {
		case slices.Contains(body, '?'):
			filter.SetBit(v.Undecided, i)
		case slices.Contains(body, '!'):
			filter.SetBit(v.Raise, i)
		case string(body) == string(p.want):
			filter.SetBit(v.True, i)
		}
	}
	return nil
}

// holdsCompiler makes programs that accept bodies which hold a text.
type holdsCompiler struct{ plugin.Component }

func (holdsCompiler) ExpressionTypes() []string { return []string{"HOLDS"} }
func (holdsCompiler) Compile(_ context.Context, e filter.Expression) (filter.Program, error) {
	return &holdsProgram{bodyProgram{want: []byte(e.Text)}}, nil
}

type holdsProgram struct{ bodyProgram }

func (p *holdsProgram) Key() filter.Key { return sha256.Sum256(p.want) }
func (p *holdsProgram) Match(_ context.Context, b *filter.Batch, v *filter.Verdicts) error {
	for i, rec := range b.Records {
		if bytes.Contains(message.Record(rec).Body(), p.want) {
			filter.SetBit(v.True, i)
		}
	}
	return nil
}

// world is a whole package under test.
type world struct {
	clock    *clock.Manual
	log      *fakeLog
	topics   *fakeTopics
	groups   *fakeGroups
	programs *Programs
	filters  *Filters
	clients  *Clients
	offsets  *Offsets
	counters *Counters
	locks    *Locks
	pulls    *Pulls
	fs       vfs.FS
	perm     message.Perm
	mu       sync.Mutex // guards retried
	retried  []string   // groups whose retry topic was asked for
}

var testStart = time.UnixMilli(1_700_000_000_000)

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func newWorld(t testing.TB, change func(*Config)) *world {
	t.Helper()
	cfg := DefaultConfig()
	if change != nil {
		change(&cfg)
	}
	w := &world{
		clock: clock.NewManual(testStart), log: newFakeLog(), fs: vfs.NewMem(time.Now), perm: message.PermRW,
		topics: &fakeTopics{m: map[string]transport.TopicConfig{}}, groups: &fakeGroups{m: map[string]transport.GroupConfig{}},
	}
	compilers := CompilerMap{filter.TypeTag: tagCompiler{}, "BODY": bodyCompiler{}, "HOLDS": holdsCompiler{}}
	w.programs = NewPrograms(compilers, cfg, quiet())
	w.locks = NewLocks(cfg, w.clock)
	w.counters = NewCounters(cfg, w.clock)
	w.filters = newFilters(w, cfg)
	w.clients = NewClients(ClientSettings{
		Config: cfg, Clock: w.clock, Logger: quiet(), Programs: w.programs, Filters: w.filters, Groups: w.groups, Left: w.locks.Leave,
		EnsureRetryTopic: func(group string, _ transport.GroupConfig, _ bool) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.retried = append(w.retried, group)
			return nil
		},
	})
	w.offsets = NewOffsets(OffsetSettings{Config: cfg, Clock: w.clock, Logger: quiet(), FS: w.fs, Path: "/store/config/consumerOffset.json", Log: w.log})
	w.pulls = NewPulls(PullSettings{
		Config: cfg, Clock: w.clock, Logger: quiet(), Log: w.log, Topics: w.topics, Groups: w.groups, Clients: w.clients,
		Programs: w.programs, Filters: w.filters, Offsets: w.offsets, Counters: w.counters, Perm: func() message.Perm { return w.perm },
		Cluster: "DefaultCluster",
	})
	return w
}

func newFilters(w *world, cfg Config) *Filters {
	return NewFilters(FilterSettings{
		Config: cfg, Clock: w.clock, Logger: quiet(), FS: w.fs, Programs: w.programs,
		Path: "/store/config/consumerFilter.json", OwnPath: "/store/weir/filters.json", End: w.log.End,
	})
}

func (w *world) topic(name string, queues int32) {
	w.topics.set(transport.TopicConfig{Name: name, ReadQueues: queues, WriteQueues: queues, Perm: 6})
}

func session(n int) *fakeSession {
	return &fakeSession{remote: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, 1}), uint16(1000+n))}
}

func (w *world) heartbeat(t testing.TB, s *fakeSession, clientID string, data ...transport.ConsumerData) {
	t.Helper()
	c := &transport.Caller{Session: s, Language: "JAVA", Version: 407}
	if err := w.clients.Heartbeat(context.Background(), c, &transport.Heartbeat{ClientID: clientID, Consumers: data}); err != nil {
		t.Fatal(err)
	}
}

func consumer(group string, subs ...transport.Subscription) transport.ConsumerData {
	return transport.ConsumerData{Group: group, Type: transport.ConsumePassively, Model: transport.Clustering, Subscriptions: subs}
}

func sub(topic, tags string) transport.Subscription {
	return transport.Subscription{Topic: topic, Expression: filter.Expression{Type: filter.TypeTag, Text: tags}, Version: 1}
}

// replies collects answered pulls.
type replies struct {
	mu   sync.Mutex
	done []*transport.Pull
}

func (r *replies) PullDone(p *transport.Pull) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done = append(r.done, p)
}

func (r *replies) take() []*transport.Pull {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.done
	r.done = nil
	return d
}

// eachRecord calls f for every record of an answer.
func eachRecord(t testing.TB, r *transport.Records, f func(message.Record)) {
	t.Helper()
	for _, c := range r.Chunks {
		for len(c) > 0 {
			rec, n, err := message.ParseRecord(c)
			if err != nil {
				t.Fatal(err)
			}
			f(rec)
			c = c[n:]
		}
	}
}

// bodies returns the bodies of the records in an answer.
func bodies(t testing.TB, r *transport.Records) (all []string) {
	t.Helper()
	eachRecord(t, r, func(rec message.Record) { all = append(all, string(rec.Body())) })
	return all
}
