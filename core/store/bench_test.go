package store

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// inFlight is a Completer that lets a benchmark keep a number of batches under way.
type inFlight struct{ free chan *Batch }

func (f inFlight) Appended(b *Batch) { f.free <- b }

func newInFlight(batches, messages, size int) inFlight {
	f := inFlight{make(chan *Batch, batches)}
	for i := range batches {
		b := &Batch{Wait: true, Done: f}
		for j := range messages {
			m := text("TopicTest", (i+j)%4, "")
			m.Body = make([]byte, size)
			b.Messages = append(b.Messages, m)
		}
		f.free <- b
	}
	return f
}

func benchAppend(b *testing.B, flush string, batches, messages int) {
	cfg := DefaultConfig()
	cfg.Flush = flush
	cfg.DiskRefuse = 1
	s := openTest(b, nil, b.TempDir(), cfg)
	f := newInFlight(batches, messages, 1024)
	b.SetBytes(1024)
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; n += messages {
		s.Append(<-f.free)
	}
	for range batches {
		<-f.free
	}
	b.StopTimer()
	if s.stats.refused.Load() > 0 {
		b.Fatalf("%d messages were refused", s.stats.refused.Load())
	}
}

// One operation is one message of 1 KiB; batches are under way at the same time.
func BenchmarkAppend(b *testing.B) {
	for _, flush := range []string{FlushAsync, FlushSync} {
		for _, c := range [][2]int{{1, 1}, {64, 1}, {4, 16}, {4, 64}} {
			b.Run(fmt.Sprintf("%s/batches=%d/messages=%d", flush, c[0], c[1]), func(b *testing.B) {
				benchAppend(b, flush, c[0], c[1])
			})
		}
	}
}

// The disk's own rate: what one sync sender is measured against.
func BenchmarkRawDatasync(b *testing.B) {
	f, err := vfs.CreateSized(vfs.OS{}, filepath.Join(b.TempDir(), "raw"), 1<<30)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	p := make([]byte, 1100)
	for i := range b.N {
		if _, err := f.WriteAt(p, int64(i)*int64(len(p))); err != nil {
			b.Fatal(err)
		}
		if err := f.Datasync(); err != nil {
			b.Fatal(err)
		}
	}
}

// filled returns a store with n messages of size bytes in one queue.
func filled(b testing.TB, n, size int) *Store {
	cfg := DefaultConfig()
	cfg.DiskRefuse = 1
	s := openTest(b, nil, b.TempDir(), cfg)
	f := newInFlight(4, 1, size)
	for range n {
		batch := <-f.free
		batch.Messages[0].Queue = 0
		s.Append(batch)
	}
	for range 4 {
		<-f.free
	}
	if err := s.dispatchAll(); err != nil {
		b.Fatal(err)
	}
	return s
}

// One operation is one entry of a scan over a queue.
func BenchmarkEntries(b *testing.B) {
	s := filled(b, 100000, 16)
	key := message.QueueKey{Topic: "TopicTest"}
	_, end, _ := s.Bounds(key)
	var sum int64
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; {
		for from := message.Offset(0); from < end; {
			raw, ref, err := s.Entries(key, from, 4096)
			if err != nil {
				b.Fatal(err)
			}
			for i := 0; i < len(raw); i += message.EntrySize {
				sum += message.DecodeEntry(raw[i:]).TagsCode
			}
			from += message.Offset(len(raw) / message.EntrySize)
			n += len(raw) / message.EntrySize
			ref.Release()
		}
	}
	_ = sum
}

// One operation is one record of 1 KiB, lent in pulls of 32; neighbours in the log, or every other one.
func BenchmarkLend(b *testing.B) {
	s := filled(b, 20000, 1024)
	key := message.QueueKey{Topic: "TopicTest"}
	raw, ref, err := s.Entries(key, 0, 20000)
	if err != nil {
		b.Fatal(err)
	}
	defer ref.Release()
	for _, step := range []int{1, 2} {
		b.Run(fmt.Sprintf("step=%d", step), func(b *testing.B) {
			var list []message.Entry
			for i := 0; i < len(raw); i += step * message.EntrySize {
				list = append(list, message.DecodeEntry(raw[i:]))
			}
			var r transport.Records
			b.ReportAllocs()
			b.ResetTimer()
			for n := 0; n < b.N; n += 32 {
				at := n % (len(list) - 32)
				if _, err := s.Lend(list[at:at+32], &r); err != nil {
					b.Fatal(err)
				}
				r.Release()
			}
		})
	}
}

// One operation is one message of 100 bytes that is appended and dispatched, with and without a unit in the queue's
// extension file.
func BenchmarkDispatchExt(b *testing.B) {
	bitmap := make([]byte, 14)
	for _, c := range []struct {
		name   string
		ext    bool
		bitmap []byte
	}{{"off", false, nil}, {"on", true, nil}, {"on with bitmaps", true, bitmap}} {
		b.Run(c.name, func(b *testing.B) {
			cfg := DefaultConfig()
			cfg.DiskRefuse, cfg.ConsumeQueueExt = 1, c.ext
			s := openTest(b, nil, b.TempDir(), cfg, func(o *Options) {
				o.OnArrival = func([]message.Arrival) {}
				o.Bitmaps = func(a []message.Arrival) {
					for i := range a {
						a[i].Bitmap = c.bitmap
					}
				}
			})
			f := newInFlight(4, 64, 100)
			b.ReportAllocs()
			b.ResetTimer()
			for n := 0; n < b.N; n += 64 {
				s.Append(<-f.free)
			}
			for range 4 {
				<-f.free
			}
			if err := s.dispatchAll(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// unitCount counts units.
type unitCount int

func (n *unitCount) Unit(int, message.ExtUnit) { *n++ }

// Reading units allocates nothing.
func TestUnitAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	cfg := testConfig()
	cfg.ConsumeQueueExt = true
	s := openTest(t, nil, t.TempDir(), cfg, extended)
	for range 50 {
		put(t, s, text("T", 0, "body"))
	}
	if err := s.dispatchAll(); err != nil {
		t.Fatal(err)
	}
	key := message.QueueKey{Topic: "T"}
	raw, ref, err := s.Entries(key, 0, 50)
	if err != nil {
		t.Fatal(err)
	}
	defer ref.Release()
	var codes [50]int64
	for i := range codes {
		codes[i] = message.DecodeEntry(raw[i*message.EntrySize:]).TagsCode
	}
	count := new(unitCount)
	s.Units(key, codes[:], count)
	if n := testing.AllocsPerRun(100, func() { s.Units(key, codes[:], count) }); n > 0 || *count%50 != 0 || *count == 0 {
		t.Errorf("%.2f allocations for 50 units, %d were read in all", n, *count)
	}
}

// Appending allocates nothing for a message.
func TestAppendAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, c := range []struct {
		flush string
		ext   bool
	}{{FlushAsync, false}, {FlushSync, false}, {FlushAsync, true}} {
		flush := c.flush
		cfg := DefaultConfig()
		cfg.Flush, cfg.ConsumeQueueExt = flush, c.ext
		var seen atomic.Int64
		cfg.SegmentSize = 64 << 20
		bitmap := make([]byte, 14)
		s := openTest(t, nil, t.TempDir(), cfg, func(o *Options) {
			o.OnArrival = func(a []message.Arrival) { seen.Add(int64(len(a))) }
			o.Bitmaps = func(a []message.Arrival) {
				for i := range a {
					a[i].Bitmap = bitmap
				}
			}
		})
		f := newInFlight(1, 16, 100)
		put := func() {
			s.Append(<-f.free)
			b := <-f.free
			f.free <- b
		}
		for range 100 {
			put()
		}
		n := testing.AllocsPerRun(500, put)
		if perMessage := n / 16; perMessage > 0.5 {
			t.Errorf("%s: %.2f allocations for a batch of 16", flush, n)
		}
	}
}

// Pulling allocates nothing for a record.
func TestLendAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	s := filled(t, 1000, 100)
	key := message.QueueKey{Topic: "TopicTest"}
	var r transport.Records
	var list [32]message.Entry
	n := testing.AllocsPerRun(500, func() {
		raw, ref, err := s.Entries(key, 100, 32)
		if err != nil {
			t.Fatal(err)
		}
		for i := range list {
			list[i] = message.DecodeEntry(raw[i*message.EntrySize:])
		}
		ref.Release()
		if _, err := s.Lend(list[:], &r); err != nil {
			t.Fatal(err)
		}
		r.Release()
	})
	if n > 0 {
		t.Errorf("%.2f allocations for a pull of 32", n)
	}
}
