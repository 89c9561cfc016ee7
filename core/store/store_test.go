package store

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

var (
	bornHost  = netip.MustParseAddrPort("127.0.0.1:50000")
	storeHost = netip.MustParseAddrPort("192.168.1.10:10911")
)

// testConfig has small files, so that everything rolls over soon.
func testConfig() Config {
	c := DefaultConfig()
	c.SegmentSize = 64 << 10
	c.ConsumeQueueEntries = 100
	c.MaxMessageSize = 32 << 10
	return c
}

// waiter is a Completer that a test waits for.
type waiter struct{ done chan *Batch }

func newWaiter() waiter            { return waiter{make(chan *Batch, 1024)} }
func (w waiter) Appended(b *Batch) { w.done <- b }

// openTest opens and starts a store that the test closes.
func openTest(t testing.TB, fsys vfs.FS, dir string, cfg Config, change ...func(*Options)) *Store {
	t.Helper()
	o := Options{FS: fsys, Dir: dir, Config: cfg, Logger: testLogger(t)}
	for _, f := range change {
		f(&o)
	}
	s, err := Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(context.Background()) })
	return s
}

func testLogger(t testing.TB) *slog.Logger {
	if os.Getenv("WEIR_TEST_LOG") == "" {
		return nil
	}
	return slog.New(slog.NewTextHandler(t.Output(), nil))
}

// put appends messages as one batch and returns it answered.
func put(t testing.TB, s *Store, messages ...Message) *Batch {
	t.Helper()
	w := newWaiter()
	b := &Batch{Messages: messages, Wait: true, Done: w}
	s.Append(b)
	return <-w.done
}

func text(topic string, queue int, body string) Message {
	return Message{Topic: topic, Queue: message.QueueID(queue), BornTimestamp: 1700000000000, BornHost: bornHost,
		StoreHost: storeHost, Body: []byte(body), Properties: []byte("TAGS\x01TagA")}
}

// arrivals waits until the dispatcher has announced a number of messages.
type arrivals struct {
	mu   sync.Mutex
	more chan struct{}
	list []message.Arrival
}

func newArrivals() *arrivals { return &arrivals{more: make(chan struct{}, 1)} }

func (a *arrivals) add(list []message.Arrival) {
	a.mu.Lock()
	for _, x := range list {
		x.Record = append([]byte(nil), x.Record...)
		a.list = append(a.list, x)
	}
	a.mu.Unlock()
	select {
	case a.more <- struct{}{}:
	default:
	}
}

func (a *arrivals) wait(t testing.TB, n int) []message.Arrival {
	t.Helper()
	for {
		a.mu.Lock()
		list := a.list
		a.mu.Unlock()
		if len(list) >= n {
			return list
		}
		select {
		case <-a.more:
		case <-time.After(20 * time.Second):
			t.Fatalf("%d messages have arrived, want %d", len(list), n)
		}
	}
}

// read returns the records of a queue from an offset on.
func read(t testing.TB, s *Store, key message.QueueKey, from message.Offset) (recs []message.Record) {
	t.Helper()
	_, end, _ := s.Bounds(key)
	for from < end {
		raw, ref, err := s.Entries(key, from, 32)
		if err != nil {
			t.Fatalf("entries of %v from %d: %v", key, from, err)
		}
		var entries []message.Entry
		for i := 0; i < len(raw); i += message.EntrySize {
			entries = append(entries, message.DecodeEntry(raw[i:]))
		}
		ref.Release()
		var r transport.Records
		if n, err := s.Lend(entries, &r); err != nil || n != len(entries) {
			t.Fatalf("lend %d entries of %v from %d: %d, %v", len(entries), key, from, n, err)
		}
		for _, c := range r.Chunks {
			for len(c) > 0 {
				rec, n, err := message.ParseRecord(c)
				if err != nil {
					t.Fatal(err)
				}
				recs = append(recs, message.Record(append([]byte(nil), rec...)))
				c = c[n:]
			}
		}
		if r.Count != len(entries) {
			t.Fatalf("lent %d records for %d entries", r.Count, len(entries))
		}
		r.Release()
		from += message.Offset(len(entries))
	}
	return recs
}

func TestAppendDispatchRead(t *testing.T) {
	for _, flush := range []string{FlushAsync, FlushSync} {
		t.Run(flush, func(t *testing.T) {
			cfg := testConfig()
			cfg.Flush = flush
			dir := t.TempDir()
			a := newArrivals()
			s := openTest(t, nil, dir, cfg, func(o *Options) { o.OnArrival = a.add })
			const n = 1000
			for i := range n {
				b := put(t, s, text("TopicTest", i%3, fmt.Sprintf("body-%d", i)))
				m := &b.Messages[0]
				if m.Code != message.Success || m.QueueOffset != message.Offset(i/3) {
					t.Fatalf("message %d: %+v", i, m)
				}
			}
			list := a.wait(t, n)
			for i, x := range list {
				if x.Offset != message.Offset(i/3) || x.Queue.ID != message.QueueID(i%3) ||
					string(message.Record(x.Record).Body()) != fmt.Sprintf("body-%d", i) {
					t.Fatalf("arrival %d: %+v", i, x)
				}
			}
			check := func(s *Store) {
				t.Helper()
				for q := range 3 {
					recs := read(t, s, message.QueueKey{Topic: "TopicTest", ID: message.QueueID(q)}, 0)
					if want := (n - q + 2) / 3; len(recs) != want {
						t.Fatalf("queue %d has %d messages, want %d", q, len(recs), want)
					}
					for i, rec := range recs {
						if string(rec.Body()) != fmt.Sprintf("body-%d", 3*i+q) || rec.QueueOffset() != message.Offset(i) {
							t.Fatalf("queue %d offset %d: %q", q, i, rec.Body())
						}
					}
				}
			}
			check(s)
			if err := s.Close(context.Background()); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(dir + "/abort"); err == nil {
				t.Fatal("abort is there after a clean stop")
			}
			s = openTest(t, nil, dir, cfg)
			check(s)
			b := put(t, s, text("TopicTest", 0, "again"))
			if m := b.Messages[0]; m.QueueOffset != 334 {
				t.Fatalf("%+v", m)
			}
		})
	}
}
