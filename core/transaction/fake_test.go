package transaction

import (
	"errors"
	"io"
	"log/slog"
	"net/netip"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

var host = netip.MustParseAddrPort("127.0.0.1:10911")

// fakeStore is a log in memory: Log, Appender and Offsets.
type fakeStore struct {
	clock clock.Clock

	mu      sync.Mutex // guards all below
	records map[message.Position]message.Record
	queues  map[message.QueueKey][]message.Entry
	end     message.Position
	begin   message.Position
	offsets map[message.QueueKey]message.Offset
	refuse  error
	before  func() // called by Put, unlocked
}

func newFakeStore(c clock.Clock) *fakeStore {
	return &fakeStore{clock: c, records: map[message.Position]message.Record{}, queues: map[message.QueueKey][]message.Entry{}, offsets: map[message.QueueKey]message.Offset{}}
}

func (s *fakeStore) Bounds(q message.QueueKey) (low, high message.Offset, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list, ok := s.queues[q]
	for low < message.Offset(len(list)) && list[low].Position < s.begin {
		low++
	}
	return low, message.Offset(len(list)), ok
}

type noRef struct{}

func (noRef) Release() {}

func (s *fakeStore) Entries(q message.QueueKey, from message.Offset, n int) (raw []byte, _ transport.Ref, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.queues[q]
	for _, e := range list[from:min(int(from)+n, len(list))] {
		raw = message.AppendEntry(raw, e)
	}
	return raw, noRef{}, nil
}

func (s *fakeStore) Lend(entries []message.Entry, r *transport.Records) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range entries {
		if e.Position < s.begin {
			return n, errors.New("gone")
		}
		r.Add(s.records[e.Position], 1, nil)
		n++
	}
	return n, nil
}

func (s *fakeStore) Begin() message.Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begin
}

func (s *fakeStore) Put(messages []message.Message, _ []int) (out []Stored) {
	if s.before != nil {
		s.before()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range messages {
		if s.refuse != nil {
			out = append(out, Stored{Err: s.refuse})
			continue
		}
		out = append(out, s.addLocked(&messages[i]))
	}
	return out
}

func (s *fakeStore) addLocked(m *message.Message) Stored {
	b, err := message.AppendRecord(nil, m)
	if err != nil {
		panic(err)
	}
	q := message.QueueKey{Topic: m.Topic, ID: m.QueueID}
	at := Stored{Offset: message.Offset(len(s.queues[q])), Position: s.end, Time: s.clock.Now().UnixMilli()}
	message.Record(b).Place(at.Offset, at.Position, at.Time)
	s.records[s.end], s.queues[q] = b, append(s.queues[q], message.Entry{Position: s.end, Size: int32(len(b))})
	s.end += message.Position(len(b))
	return at
}

func (s *fakeStore) Committed(_ string, q message.QueueKey) (message.Offset, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.offsets[q]
	return at, ok
}

func (s *fakeStore) Commit(_ string, q message.QueueKey, o message.Offset) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offsets[q] = o
	return nil
}

// bodies returns what is in a queue.
func (s *fakeStore) bodies(q message.QueueKey) (list []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.queues[q] {
		list = append(list, string(s.records[e.Position].Body()))
	}
	return list
}

// record returns the record at an offset.
func (s *fakeStore) record(q message.QueueKey, o message.Offset) message.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.records[s.queues[q][o].Position]
}

// producer is a session that notes what it is asked about.
type producer struct {
	transport.Session
	mu    sync.Mutex // guards all below
	dead  bool
	busy  error
	asked []transport.CheckTransaction
}

func (p *producer) Alive() bool { return !p.dead }

func (p *producer) Notify(n transport.Notice) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy != nil {
		return p.busy
	}
	p.asked = append(p.asked, n.(transport.CheckTransaction))
	return nil
}

type world struct {
	*Keeper
	t        *testing.T
	clock    *clock.Manual
	store    *fakeStore
	producer *producer
	parkable error
}

func newWorld(t *testing.T) *world {
	t.Helper()
	c := clock.NewManual(time.UnixMilli(1_700_000_000_000))
	w := &world{t: t, clock: c, store: newFakeStore(c), producer: &producer{}}
	w.restart()
	return w
}

// restart makes a new Keeper of what is stored.
func (w *world) restart() {
	w.t.Helper()
	w.Keeper = New(Settings{Config: DefaultConfig(), Clock: w.clock, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Log: w.store, Put: w.store, Offsets: w.store,
		Producers:    func(string) []transport.Session { return []transport.Session{w.producer} },
		Host:         func() (netip.AddrPort, bool) { return host, true },
		Reserved:     72 * time.Hour,
		EnsureParked: func() error { return w.parkable },
	})
	if err := w.load(); err != nil {
		w.t.Fatal(err)
	}
}

var target = message.QueueKey{Topic: "T", ID: 1}

// half stores a half message and returns its offset.
func (w *world) half(body string) message.Offset {
	p := message.Properties("PGROUP\x01g\x02UNIQ_KEY\x01" + body)
	m := message.Message{Topic: message.TopicTransHalf, Body: []byte(body), BornTimestamp: w.clock.Now().UnixMilli(), BornHost: host, StoreHost: host,
		Properties: Redirect(nil, p, target.Topic, target.ID)}
	return w.store.Put([]message.Message{m}, []int{0})[0].Offset
}

// end decides about a half message and says whether that caused something.
func (w *world) end(o message.Offset, d Decision) bool {
	w.t.Helper()
	x := &Ending{}
	ok, err := w.End(w.store.record(HalfQueue, o), End{Group: []byte("g"), Offset: o, Decision: d}, x)
	if err != nil {
		w.t.Fatal(err)
	}
	if !ok {
		return false
	}
	for _, s := range w.store.Put(x.Messages, make([]int, len(x.Messages))) {
		ok = ok && s.Err == nil
	}
	x.Done(ok)
	return ok
}

// rounds lets the check come n times, a minute apart.
func (w *world) rounds(n int) {
	for range n {
		w.clock.Advance(time.Minute)
		w.check()
	}
}

func (w *world) want(what string, got, want any) {
	w.t.Helper()
	if g, v := text(got), text(want); g != v {
		w.t.Errorf("%s: %s, want %s", what, g, v)
	}
}

func text(v any) string {
	switch v := v.(type) {
	case []string:
		return strconv.Quote(join(v))
	case message.Offset:
		return v.String()
	case int64:
		return strconv.FormatInt(v, 10)
	case int:
		return strconv.Itoa(v)
	case bool:
		return strconv.FormatBool(v)
	}
	return "?"
}

func join(list []string) (s string) {
	for i, v := range list {
		if i > 0 {
			s += " "
		}
		s += v
	}
	return s
}
