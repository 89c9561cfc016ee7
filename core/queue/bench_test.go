package queue

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// pullWorld is a world with n messages of 256 bytes in topic T, every hundredth with tag A, and one member of group g
// that subscribes what tags says.
func pullWorld(t testing.TB, n int, tags string) (*world, *fakeSession) {
	w := newWorld(t, nil)
	w.topic("T", 1)
	w.groups.set(plainGroup("g"))
	s := session(1)
	w.heartbeat(t, s, "c", consumer("g", sub("T", tags)))
	body := string(make([]byte, 256))
	for i := range n {
		tag := "B"
		if i%100 == 99 {
			tag = "A"
		}
		w.log.send("T", 0, tag, body)
	}
	return w, s
}

type discard struct{}

func (discard) PullDone(p *transport.Pull) { p.Records.Release() }

// TestPullAllocations holds the pull path to at most one allocation for a pull, whatever it scans and delivers.
func TestPullAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, tags := range []string{"*", "A", "B||C"} {
		t.Run(tags, func(t *testing.T) {
			w, s := pullWorld(t, 4096, tags)
			p := &transport.Pull{Caller: transport.Caller{Session: s}, Reply: discard{}, Group: "g", Topic: "T", MaxNum: 1024, Commit: true}
			allocs := testing.AllocsPerRun(200, func() {
				w.pulls.Pull(context.Background(), p)
				p.CommitOffset++
			})
			if allocs > 1 {
				t.Errorf("%v allocations for each pull", allocs)
			}
		})
	}
}

// TestHoldAllocations holds a held and woken pull to two: the holder, and what the answer's first chunk takes.
func TestHoldAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	w, s := pullWorld(t, 1, "*")
	p := &transport.Pull{Caller: transport.Caller{Session: s}, Reply: discard{}, Group: "g", Topic: "T", Offset: 1, MaxNum: 1,
		Suspend: true, SuspendTimeout: time.Minute}
	arrival := []message.Arrival{{Queue: queueOf(p), Offset: 1}}
	w.pulls.Pull(context.Background(), p)
	if w.pulls.Held() != 1 {
		t.Fatal("not held")
	}
	w.pulls.Arrived(arrival)
	allocs := testing.AllocsPerRun(200, func() {
		w.pulls.Pull(context.Background(), p)
		w.pulls.Arrived(arrival)
	})
	if allocs > 4 {
		t.Errorf("%v allocations for each held pull", allocs)
	}
}

// BenchmarkTagScan pulls through a queue in which one message of a hundred, or none, matches.
func BenchmarkTagScan(b *testing.B) {
	for _, tags := range []string{"A", "none", "none||other||third"} {
		b.Run(tags, func(b *testing.B) {
			const n = 1 << 18
			w, s := pullWorld(b, n, tags)
			p := &transport.Pull{Caller: transport.Caller{Session: s}, Reply: discard{}, Group: "g", Topic: "T", MaxNum: 32}
			scanned, pulls := int64(0), 0
			b.ResetTimer()
			for range b.N {
				for p.Offset = 0; p.Offset < n; p.Offset = p.NextBeginOffset {
					w.pulls.Pull(context.Background(), p)
					pulls++
				}
				scanned += n
			}
			b.ReportMetric(float64(scanned)/b.Elapsed().Seconds()/1e6, "Mentries/s")
			b.ReportMetric(float64(scanned)/float64(pulls), "entries/pull")
		})
	}
}

// BenchmarkDrain pulls everything, 32 messages at a time.
func BenchmarkDrain(b *testing.B) {
	const n = 1 << 16
	w, s := pullWorld(b, n, "*")
	p := &transport.Pull{Caller: transport.Caller{Session: s}, Reply: discard{}, Group: "g", Topic: "T", MaxNum: 32}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		for p.Offset = 0; p.Offset < n; p.Offset = p.NextBeginOffset {
			w.pulls.Pull(context.Background(), p)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mmsg/s")
}

// BenchmarkHeldWakeUp holds pulls of many groups on one queue and wakes them all with one message.
func BenchmarkHeldWakeUp(b *testing.B) {
	for _, held := range []int{1, 8, 1000} {
		b.Run(fmt.Sprint(held), func(b *testing.B) {
			w, s := pullWorld(b, 1, "*")
			done := make(chan struct{}, held)
			w.pulls.Start()
			defer w.pulls.Stop(context.Background())
			ps := make([]transport.Pull, held)
			for i := range ps {
				ps[i] = transport.Pull{Caller: transport.Caller{Session: s}, Reply: signal(done), Group: "g", Topic: "T", Offset: 1,
					MaxNum: 1, Suspend: true, SuspendTimeout: time.Minute}
			}
			arrival := []message.Arrival{{Queue: queueOf(&ps[0]), Offset: 1}}
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				for i := range ps {
					w.pulls.Pull(context.Background(), &ps[i])
				}
				w.pulls.Arrived(arrival)
				for range ps {
					<-done
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*held), "ns/pull")
		})
	}
}

type signal chan struct{}

func (s signal) PullDone(*transport.Pull) { s <- struct{}{} }

// BenchmarkArrivedNobodyThere is the cost of dispatching to queues without a waiting pull, while another queue has one.
func BenchmarkArrivedNobodyThere(b *testing.B) {
	w, s := pullWorld(b, 1, "*")
	w.topic("T", 4)
	p := &transport.Pull{Caller: transport.Caller{Session: s}, Reply: discard{}, Group: "g", Topic: "T", Offset: 1, MaxNum: 1,
		Suspend: true, SuspendTimeout: time.Minute}
	w.pulls.Pull(context.Background(), p)
	batch := make([]message.Arrival, 64)
	for i := range batch {
		batch[i] = message.Arrival{Queue: message.QueueKey{Topic: "T", ID: message.QueueID(1 + i%3)}, Offset: message.Offset(i)}
	}
	b.ReportAllocs()
	for b.Loop() {
		w.pulls.Arrived(batch)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(batch)), "ns/message")
}

func BenchmarkCommit(b *testing.B) {
	w := newWorld(b, nil)
	q := message.QueueKey{Topic: "SomeTopicName", ID: 3}
	b.ReportAllocs()
	o := message.Offset(0)
	for b.Loop() {
		o++
		if err := w.offsets.Commit("some-consumer-group", q, o); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkProgramsGet(b *testing.B) {
	w := newWorld(b, nil)
	e := filter.Expression{Type: filter.TypeTag, Text: "A||B"}
	b.ReportAllocs()
	for b.Loop() {
		p, err := w.programs.get(context.Background(), e)
		if err != nil {
			b.Fatal(err)
		}
		p.release()
	}
}
