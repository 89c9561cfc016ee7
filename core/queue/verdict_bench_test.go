package queue

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/queue/verdict"
	"github.com/weirmq/weir/core/transport"
)

// longLog is a queue of many messages of 256 bytes that takes no memory: all have the same record.
type longLog struct {
	Log
	n      message.Offset
	record []byte
	raw    []byte // room for entries
}

type noRef struct{}

func (noRef) Release() {}

func (l *longLog) Bounds(message.QueueKey) (low, high message.Offset, ok bool) { return 0, l.n, true }
func (l *longLog) Begin() message.Position                                     { return 0 }
func (l *longLog) InMemory(message.Position) bool                              { return true }
func (l *longLog) StoreTime(e message.Entry) (int64, error)                    { return int64(e.Position), nil }

func (l *longLog) Entries(_ message.QueueKey, from message.Offset, n int) ([]byte, transport.Ref, error) {
	n = int(min(message.Offset(n), l.n-from))
	raw := l.raw[:n*message.EntrySize]
	for i := range n {
		binary.BigEndian.PutUint64(raw[i*message.EntrySize:], uint64(from+message.Offset(i))*256)
		binary.BigEndian.PutUint32(raw[i*message.EntrySize+8:], 256)
	}
	return raw, noRef{}, nil
}

func (l *longLog) Lend(entries []message.Entry, r *transport.Records) (int, error) {
	for range entries {
		r.Add(l.record, 1, noRef{})
	}
	return len(entries), nil
}

type longMarks message.Offset

func (from longMarks) Mark(i int) (verdict.Mark, bool) {
	o := message.Offset(from) + message.Offset(i)
	return verdict.Mark{Offset: o, Position: message.Position(o) * 256, Time: int64(o) * 256}, true
}

// coveredWorld has a queue of n messages of which the program accepts one of every, all known.
func coveredWorld(t testing.TB, n message.Offset, every int, cache int64) (*world, *longLog, *verdict.Covers, *transport.Pull) {
	w := newWorld(t, nil)
	w.topic("T0", 1)
	w.groups.set(plainGroup("g"))
	m := message.Message{Topic: "T0", Body: make([]byte, 150), BornHost: testHost, StoreHost: testHost}
	record, err := message.AppendRecord(nil, &m)
	if err != nil {
		t.Fatal(err)
	}
	log := &longLog{n: n, record: record, raw: make([]byte, 1024*message.EntrySize)}
	covers, err := verdict.Open(verdict.Settings{FS: vfs.NewMem(nil), Dir: "/verdicts", Index: log, Logger: quiet(), CacheSize: cache, DiskSize: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	set := w.pulls.set
	set.Log, set.Verdicts = log, covers
	set.Programs = NewPrograms(CompilerMap{"NUMBER": &numberCompiler{}}, set.Config, quiet())
	w.pulls = NewPulls(set)
	expr := fmt.Sprintf("every=%d", max(1, every))
	prog, err := set.Programs.get(context.Background(), filter.Expression{Type: "NUMBER", Text: expr})
	if err != nil {
		t.Fatal(err)
	}
	cover := covers.Cover(queueT0, prog.key)
	yes := make([]uint64, verdict.BlockEntries/64)
	for from := message.Offset(0); from < n; from += verdict.BlockEntries {
		clear(yes)
		for i := range verdict.BlockEntries {
			if every > 0 && (int(from)+i)%every == 0 {
				filter.SetBit(yes, i)
			}
		}
		cover.Put(from, int(min(verdict.BlockEntries, n-from)), yes, nil, longMarks(from))
	}
	prog.release()
	p := numberPull(expr, 0, 32)
	p.Reply = discard{}
	return w, log, covers, p
}

// TestCoveredJump walks over five million messages that are known not to match in a handful of pulls, whatever the limits
// of a scan say, and finds the one that does.
func TestCoveredJump(t *testing.T) {
	const n = 5_000_000
	w, _, _, p := coveredWorld(t, n, 0, 1<<30)
	jumps := 0
	for p.Offset < n-64 {
		w.pulls.Pull(context.Background(), p)
		if p.Code != message.PullRetryImmediately || p.Remark != statusNoMatch {
			t.Fatalf("code %v %s", p.Code, p.Remark)
		}
		if jumps++; jumps > 2 || p.NextBeginOffset-p.Offset < 500_000 {
			t.Fatalf("pull %d went from %d to %d", jumps, p.Offset, p.NextBeginOffset)
		}
		p.Offset = p.NextBeginOffset
	}
	w, _, _, p = coveredWorld(t, n, 3_000_000, 1<<30)
	p.Offset = 1
	w.pulls.Pull(context.Background(), p)
	if p.Code != message.Success || p.NextBeginOffset <= 3_000_000 {
		t.Errorf("code %v %s, next %d", p.Code, p.Remark, p.NextBeginOffset)
	}
}

// TestCoveredPullAllocations holds a pull over known verdicts to the allocations of one without a filter.
func TestCoveredPullAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	w, _, _, p := coveredWorld(t, 200_000, 100, 1<<30)
	allocs := testing.AllocsPerRun(100, func() {
		p.Offset = 12345
		w.pulls.Pull(context.Background(), p)
	})
	if allocs > 1 {
		t.Errorf("%v allocations for each pull", allocs)
	}
}

// BenchmarkCoveredScan pulls through a queue whose verdicts are known, 32 messages at a time.
func BenchmarkCoveredScan(b *testing.B) {
	const n = 1 << 24
	for _, c := range []struct {
		name  string
		every int
		cache int64
	}{
		{"no match", 0, 1 << 30}, {"one of 100000", 100_000, 1 << 30}, {"one of 1000", 1000, 1 << 30}, {"one of 100", 100, 1 << 30},
		{"one of 10", 10, 1 << 30}, {"all", 1, 1 << 30}, {"no match, from files", 0, 1},
	} {
		b.Run(c.name, func(b *testing.B) {
			w, _, covers, p := coveredWorld(b, n, c.every, c.cache)
			covers.Maintain()
			matches := 0
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				for p.Offset = 0; p.Offset < n; p.Offset = p.NextBeginOffset {
					w.pulls.Pull(context.Background(), p)
					if p.Code == message.Success {
						matches += 32
					}
				}
			}
			b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mentries/s")
			if matches > 0 {
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(matches), "ns/match")
			}
		})
	}
}

// BenchmarkArrivedPrograms dispatches rounds of messages with a number of live programs that look at a number in the body.
func BenchmarkArrivedPrograms(b *testing.B) {
	for _, programs := range []int{0, 1, 16, 64} {
		for _, queues := range []int{1, 8} {
			b.Run(fmt.Sprintf("programs %d, queues %d", programs, queues), func(b *testing.B) {
				w := newWorld(b, nil)
				log := &longLog{n: 1 << 40, raw: make([]byte, 1024*message.EntrySize)}
				covers, err := verdict.Open(verdict.Settings{FS: vfs.NewMem(nil), Dir: "/verdicts", Index: log, Logger: quiet(), CacheSize: 1 << 30, DiskSize: 1 << 30})
				if err != nil {
					b.Fatal(err)
				}
				set := w.pulls.set
				set.Verdicts = covers
				set.Programs = NewPrograms(CompilerMap{"NUMBER": &numberCompiler{}}, set.Config, quiet())
				p := NewPulls(set)
				for i := range programs {
					prog, err := set.Programs.get(context.Background(), filter.Expression{Type: "NUMBER", Text: fmt.Sprintf("every=%d", i+2)})
					if err != nil {
						b.Fatal(err)
					}
					p.live.touch("T", prog, p.set.Clock.Now())
				}
				m := message.Message{Topic: "T", Body: make([]byte, 150), BornHost: testHost, StoreHost: testHost}
				record, _ := message.AppendRecord(nil, &m)
				const n = 3000
				batch := make([]message.Arrival, n)
				for i := range batch {
					batch[i] = message.Arrival{Queue: message.QueueKey{Topic: "T", ID: message.QueueID(i % queues)}, Record: record}
				}
				at := message.Offset(0)
				b.ReportAllocs()
				for b.Loop() {
					for i := range batch {
						o := at + message.Offset(i/queues)
						batch[i].Offset, batch[i].Position = o, message.Position(o)*256
					}
					at += message.Offset(n / queues)
					p.Arrived(batch)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n*b.N), "ns/message")
			})
		}
	}
}
