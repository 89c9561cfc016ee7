package remoting

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"testing"

	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
)

// skipFrames reads n frames without looking at them, allocating nothing.
func skipFrames(tb testing.TB, nc net.Conn, buf []byte, n int) {
	have := 0
	for {
		at := 0
		for n > 0 && have-at >= 4 {
			size := 4 + int(binary.BigEndian.Uint32(buf[at:]))
			if have-at < size {
				break
			}
			at += size
			n--
		}
		have = copy(buf, buf[at:have])
		if n == 0 {
			return
		}
		m, err := nc.Read(buf[have:])
		if err != nil && !errors.Is(err, io.EOF) {
			tb.Fatal(err)
		}
		have += m
	}
}

func benchSender() *fakeSender {
	s := newFakeSender()
	s.record = false
	return s
}

// roundTrips writes a window of n requests and reads their answers, rounds times.
func roundTrips(tb testing.TB, nc net.Conn, window []byte, n, rounds int, buf []byte) {
	for range rounds {
		if _, err := nc.Write(window); err != nil {
			tb.Fatal(err)
		}
		skipFrames(tb, nc, buf, n)
	}
}

func windowOf(tb testing.TB, n int, one func(opaque int32) []byte) []byte {
	var all []byte
	for i := range n {
		all = append(all, one(int32(i))...)
	}
	return all
}

func BenchmarkSend(b *testing.B) {
	for _, w := range []struct {
		name string
		n    int
	}{{"one", 1}, {"64 in flight", 64}, {"1024 in flight", 1024}} {
		for _, typ := range []wire.Type{wire.JSON, wire.Binary} {
			b.Run(w.name+"/"+typ.String(), func(b *testing.B) {
				e := start(b, transport.Handlers{Sender: benchSender()}, nil)
				p := dial(b, e)
				body := make([]byte, 1024)
				window := windowOf(b, w.n, func(o int32) []byte {
					return frame(b, typ, wire.CodeSendMessageV2, o, 0, sendExt("BenchmarkTopic"), body)
				})
				buf := make([]byte, 1<<20)
				b.ReportAllocs()
				b.ResetTimer()
				roundTrips(b, p.nc, window, w.n, (b.N+w.n-1)/w.n, buf)
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
			})
		}
	}
}

func BenchmarkPull(b *testing.B) {
	for _, s := range []struct {
		name  string
		chunk int
	}{{"3 KiB copied", 3 << 10}, {"13 KiB lent", 13 << 10}, {"256 KiB lent", 256 << 10}} {
		b.Run(s.name, func(b *testing.B) {
			puller := &fakePuller{chunks: [][]byte{make([]byte, s.chunk)}}
			e := start(b, transport.Handlers{Puller: puller}, nil)
			p := dial(b, e)
			request := frame(b, wire.JSON, wire.CodePullMessage, 1, 0, pullExt("BenchmarkTopic"), nil)
			buf := make([]byte, 1<<20)
			b.ReportAllocs()
			b.SetBytes(int64(s.chunk))
			b.ResetTimer()
			roundTrips(b, p.nc, request, 1, b.N, buf)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pull/s")
		})
	}
}

// allocs returns how many allocations one of n operations cost, all goroutines of the process together.
func allocs(n int, run func()) float64 {
	run() // warm the pools
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run()
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / float64(n)
}

// TestAllocations: sending and pulling cost less than one allocation for a message, client included (which has none).
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, typ := range []wire.Type{wire.JSON, wire.Binary} {
		for _, n := range []int{1, 64} {
			e := start(t, transport.Handlers{Sender: benchSender()}, nil)
			p := dial(t, e)
			window := windowOf(t, n, func(o int32) []byte {
				return frame(t, typ, wire.CodeSendMessageV2, o, 0, sendExt("T"), make([]byte, 100))
			})
			buf := make([]byte, 1<<20)
			got := allocs(2000*n, func() { roundTrips(t, p.nc, window, n, 2000, buf) })
			t.Logf("send, %v, window %d: %.3f allocations a message", typ, n, got)
			if got > 0.2 {
				t.Errorf("send, %v, window %d: %.3f allocations a message", typ, n, got)
			}
		}
	}
	for _, size := range []int{100, 64 << 10} {
		puller := &fakePuller{chunks: [][]byte{make([]byte, size)}}
		e := start(t, transport.Handlers{Puller: puller}, nil)
		p := dial(t, e)
		request := frame(t, wire.JSON, wire.CodePullMessage, 1, 0, pullExt("T"), nil)
		buf := make([]byte, 1<<20)
		got := allocs(2000, func() { roundTrips(t, p.nc, request, 1, 2000, buf) })
		t.Logf("pull of %d bytes: %.3f allocations", size, got)
		if got > 0.2 {
			t.Errorf("pull of %d bytes: %.3f allocations", size, got)
		}
	}
}
