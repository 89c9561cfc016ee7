package remoting

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"net"
	"testing"

	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
	"github.com/weirmq/weir/sdk/wire/sealed"
)

// recordCounter counts the TLS records that are read through it.
type recordCounter struct {
	net.Conn
	head    []byte
	skip    int
	records int
}

func (r *recordCounter) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	for b := p[:n]; len(b) > 0; {
		if r.skip > 0 {
			k := min(r.skip, len(b))
			r.skip -= k
			b = b[k:]
			continue
		}
		r.head = append(r.head, b[0])
		b = b[1:]
		if len(r.head) == 5 {
			r.skip, r.head = int(binary.BigEndian.Uint16(r.head[3:])), r.head[:0]
			r.records++
		}
	}
	return n, err
}

// secured dials e with TLS the way our own clients do.
func secured(tb testing.TB, e *endpoint) (*sealed.Conn, *recordCounter) {
	tb.Helper()
	nc, err := net.Dial("tcp", e.Addr().String())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = nc.Close() })
	below := &recordCounter{Conn: nc}
	t, err := sealed.Client(context.Background(), below, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // nobody has signed it
	if err != nil {
		tb.Fatal(err)
	}
	return t, below
}

// TestTLSRecords: what is answered together leaves in as few records as it fits into, whether it is many answers or many short messages.
func TestTLSRecords(t *testing.T) {
	var chunks [][]byte
	for range 500 {
		chunks = append(chunks, make([]byte, 1000))
	}
	e := start(t, transport.Handlers{Sender: newFakeSender(), Puller: &fakePuller{chunks: chunks}}, nil)
	p, below := secured(t, e)
	buf := make([]byte, 1<<20)
	window := windowOf(t, 64, func(o int32) []byte {
		return frame(t, wire.JSON, wire.CodeSendMessageV2, o, 0, sendExt("T"), make([]byte, 100))
	})
	roundTrips(t, p, window, 64, 1, buf) // the records of the handshake are read with it
	for _, c := range []struct {
		name   string
		window []byte
		n, max int
	}{
		{"64 sends", window, 64, 6}, // the window of 30 KiB may arrive in parts
		{"a pull of 500 messages", frame(t, wire.JSON, wire.CodePullMessage, 1, 0, pullExt("T"), nil), 1, 500_000/sealed.RecordSize + 9},
	} {
		before := below.records
		roundTrips(t, p, c.window, c.n, 1, buf)
		if n := below.records - before; n > c.max {
			t.Errorf("%s: %d records, want %d at most", c.name, n, c.max)
		}
	}
}

// TestTLSSlowReader answers more than the kernel takes before anything is read. All of it arrives, in order.
func TestTLSSlowReader(t *testing.T) {
	body := make([]byte, 300<<10)
	for i := range body {
		body[i] = byte(i >> 8)
	}
	puller := &fakePuller{chunks: [][]byte{body[:100], body[100:20_000], body[20_000:200_000], body[200_000:200_001], body[200_001:]}}
	e := start(t, transport.Handlers{Puller: puller}, func(cfg *Config) { cfg.WriteQueue = 64 << 20 })
	c, _ := secured(t, e)
	const pulls = 60
	if _, err := c.Write(windowOf(t, pulls, func(o int32) []byte {
		return frame(t, wire.JSON, wire.CodePullMessage, o, 0, pullExt("T"), nil)
	})); err != nil {
		t.Fatal(err)
	}
	p := &peer{tb: t, nc: c}
	for i := range pulls {
		a, err := p.tryRead()
		if err != nil {
			t.Fatal(err)
		}
		if a.Opaque != int32(i) || !bytes.Equal(a.body, body) {
			t.Fatalf("answer %d: opaque %d, %d bytes", i, a.Opaque, len(a.body))
		}
	}
}

// TestTLSAllocations: TLS allocates for its records, one or two each, and nothing for a message.
func TestTLSAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	const n = 64
	e := start(t, transport.Handlers{Sender: benchSender()}, nil)
	p, _ := secured(t, e)
	window := windowOf(t, n, func(o int32) []byte {
		return frame(t, wire.Binary, wire.CodeSendMessageV2, o, 0, sendExt("T"), make([]byte, 100))
	})
	buf := make([]byte, 1<<20)
	got := allocs(1000*n, func() { roundTrips(t, p, window, n, 1000, buf) })
	t.Logf("%.3f allocations a message", got)
	if got > 0.4 {
		t.Errorf("%.3f allocations a message", got)
	}
}

func BenchmarkTLSSend(b *testing.B) {
	const n = 64
	e := start(b, transport.Handlers{Sender: benchSender()}, nil)
	p, _ := secured(b, e)
	body := make([]byte, 1024)
	window := windowOf(b, n, func(o int32) []byte {
		return frame(b, wire.JSON, wire.CodeSendMessageV2, o, 0, sendExt("BenchmarkTopic"), body)
	})
	buf := make([]byte, 1<<20)
	b.ReportAllocs()
	b.ResetTimer()
	roundTrips(b, p, window, n, (b.N+n-1)/n, buf)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
}

// BenchmarkTLSPull pulls 32 messages of a KiB, as they lie beside each other in the store and as they don't.
func BenchmarkTLSPull(b *testing.B) {
	apart := make([][]byte, 32)
	for i := range apart {
		apart[i] = make([]byte, 1200)
	}
	for name, chunks := range map[string][][]byte{"apart": apart, "together": {make([]byte, 32*1200)}} {
		b.Run(name, func(b *testing.B) {
			e := start(b, transport.Handlers{Puller: &fakePuller{chunks: chunks}}, nil)
			p, _ := secured(b, e)
			request := frame(b, wire.JSON, wire.CodePullMessage, 1, 0, pullExt("BenchmarkTopic"), nil)
			buf := make([]byte, 1<<20)
			b.ReportAllocs()
			b.SetBytes(32 * 1200)
			b.ResetTimer()
			roundTrips(b, p, request, 1, b.N, buf)
		})
	}
}
