package sealed

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	mathrand "math/rand/v2"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirmq/weir/sdk/wire/sealed/sealedtest"
)

// counted counts the calls that would be system calls.
type counted struct {
	net.Conn
	reads, writes atomic.Int64
}

func (c *counted) Read(p []byte) (int, error)  { c.reads.Add(1); return c.Conn.Read(p) }
func (c *counted) Write(p []byte) (int, error) { c.writes.Add(1); return c.Conn.Write(p) }

// pair makes both ends of a connection.
func pair(tb testing.TB, version uint16) (client, server *Conn, below *counted) {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	dialled, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		tb.Fatal(err)
	}
	accepted, err := l.Accept()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { dialled.Close(); accepted.Close() })
	ours := sealedtest.New(tb, "ours")
	cert, err := tls.LoadX509KeyPair(ours.Sign(tb, "server", "127.0.0.1"))
	if err != nil {
		tb.Fatal(err)
	}
	cc := &tls.Config{RootCAs: ours.Pool, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}
	sc := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, MaxVersion: version}
	below = &counted{Conn: accepted}
	done := make(chan error, 1)
	go func() {
		var err error
		server, err = Server(tb.Context(), below, sc)
		done <- err
	}()
	client, err = Client(tb.Context(), dialled, cc)
	if err := errors.Join(err, <-done); err != nil {
		tb.Fatal(err)
	}
	if v := client.State().Version; v != version {
		tb.Fatalf("TLS %x, want %x", v, version)
	}
	below.reads.Store(0)
	below.writes.Store(0)
	return client, server, below
}

var versions = map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}

// TestHammer writes and reads pieces of all sizes in both directions at once.
func TestHammer(t *testing.T) {
	for name, version := range versions {
		t.Run(name, func(t *testing.T) {
			client, server, _ := pair(t, version)
			var wg sync.WaitGroup
			for i, way := range []struct{ from, to *Conn }{{client, server}, {server, client}} {
				random := mathrand.New(mathrand.NewPCG(uint64(i), uint64(version)))
				data := make([]byte, 4<<20)
				for i := range data {
					data[i] = byte(random.Uint32())
				}
				wg.Go(func() {
					for rest := data; len(rest) > 0; {
						n := min(len(rest), 1+random.IntN(1<<random.IntN(19)))
						if m, err := way.from.Write(rest[:n]); m != n || err != nil {
							t.Errorf("write %d: %d, %v", n, m, err)
							return
						}
						rest = rest[n:]
					}
				})
				wg.Go(func() {
					random := mathrand.New(mathrand.NewPCG(uint64(i), 7))
					got := make([]byte, 0, len(data))
					for len(got) < len(data) {
						n := min(len(data)-len(got), 1+random.IntN(1<<random.IntN(19)))
						m, err := way.to.Read(got[len(got) : len(got)+n])
						if err != nil {
							t.Errorf("read after %d: %v", len(got), err)
							return
						}
						got = got[:len(got)+m]
					}
					if !bytes.Equal(got, data) {
						t.Error("what arrived isn't what was sent")
					}
				})
			}
			wg.Wait()
		})
	}
}

// TestSystemCalls counts what a megabyte costs: a write for four records, and with all of it there fewer reads than records.
func TestSystemCalls(t *testing.T) {
	client, server, below := pair(t, tls.VersionTLS13)
	const size, records = 1 << 20, 1 << 20 / RecordSize
	data := make([]byte, size)
	received := make(chan error, 1)
	go func() {
		_, err := io.ReadFull(client, make([]byte, size))
		received <- err
	}()
	if n, err := server.Write(data); n != size || err != nil {
		t.Fatal(n, err)
	}
	if n := below.writes.Load(); n != records/4 {
		t.Errorf("%d writes for %d records", n, records)
	}
	if err := <-received; err != nil {
		t.Fatal(err)
	}

	go client.Write(data)
	largest := 0
	for have := 0; have < size; {
		n, err := server.Read(data)
		if err != nil {
			t.Fatal(err)
		}
		have, largest = have+n, max(largest, n)
	}
	if n := below.reads.Load(); n > records {
		t.Errorf("%d reads for %d records", n, records)
	}
	if largest <= RecordSize {
		t.Errorf("no read brought more than %d bytes", largest)
	}
}

// TestReadTakesWhatIsThere: a read doesn't wait for more than it has, neither when a whole record is there nor when a part of the next one is.
func TestReadTakesWhatIsThere(t *testing.T) {
	client, server, _ := pair(t, tls.VersionTLS13)
	buf := make([]byte, 1<<20)
	if _, err := client.Write([]byte("one")); err != nil {
		t.Fatal(err)
	}
	if n, err := server.Read(buf); string(buf[:n]) != "one" || err != nil {
		t.Fatalf("%q, %v", buf[:n], err)
	}
	if err := errors.Join(client.Seal([]byte("two")), client.Seal([]byte("three"))); err != nil {
		t.Fatal(err)
	}
	out := client.Sealed()
	cut := len(out) - 3
	if _, err := client.Conn.Write(out[:cut]); err != nil {
		t.Fatal(err)
	}
	if n, err := server.Read(buf); string(buf[:n]) != "two" || err != nil {
		t.Fatalf("%q, %v", buf[:n], err)
	}
	// The rest doesn't come in time, and then it does.
	if err := server.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if n, err := server.Read(buf); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("%d, %v", n, err)
	}
	if err := server.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Conn.Write(out[cut:]); err != nil {
		t.Fatal(err)
	}
	client.Sent(len(out))
	if n, err := server.Read(buf); string(buf[:n]) != "three" || err != nil {
		t.Fatalf("%q, %v", buf[:n], err)
	}
	if left := client.Sealed(); len(left) != 0 || client.whole != nil {
		t.Errorf("%d bytes are left", len(left))
	}
	client.Close()
	if n, err := server.Read(buf); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %d, %v", n, err)
	}
}

// TestReplies: what crypto/tls has to say while nobody writes is collected, and bounded.
func TestReplies(t *testing.T) {
	client, _, _ := pair(t, tls.VersionTLS13)
	for range 1 << 20 {
		if _, err := client.under.Write(make([]byte, 40)); err != nil {
			if len(client.Sealed()) < repliesMax {
				t.Errorf("refused after %d bytes", len(client.Sealed()))
			}
			return
		}
	}
	t.Error("there is no bound")
}

// TestRest gives all buffers back once nothing is in them.
func TestRest(t *testing.T) {
	client, server, _ := pair(t, tls.VersionTLS13)
	data := make([]byte, 300<<10)
	go client.Write(data)
	if _, err := io.ReadFull(server, data); err != nil {
		t.Fatal(err)
	}
	_ = server.SetReadDeadline(time.Unix(1, 0))
	if _, err := server.Read(data); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	if server.buf != nil {
		t.Error("the reader holds its buffer")
	}
}

func TestHandshakeFails(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	go func() {
		_, _ = b.Read(make([]byte, 10))
		b.Close()
	}()
	if _, err := Client(context.Background(), a, &tls.Config{ServerName: "x", MinVersion: tls.VersionTLS12}); err == nil {
		t.Error("a peer that hangs up was good enough")
	}
}

// BenchmarkExchange sends a window of data and gets as much back, with tls.Conn and with Conn.
func BenchmarkExchange(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10, 512 << 10} {
		exchange := func(b *testing.B, client, server io.ReadWriter) {
			go func() {
				buf := make([]byte, size)
				for {
					if _, err := io.ReadFull(server, buf); err != nil {
						return
					}
					if _, err := server.Write(buf); err != nil {
						return
					}
				}
			}()
			buf := make([]byte, size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			out, written := make([]byte, size), make(chan error)
			for b.Loop() {
				go func() {
					_, err := client.Write(out)
					written <- err
				}()
				if _, err := io.ReadFull(client, buf); err != nil {
					b.Fatal(err)
				}
				if err := <-written; err != nil {
					b.Fatal(err)
				}
			}
		}
		name := map[int]string{1 << 10: "1KiB", 64 << 10: "64KiB", 512 << 10: "512KiB"}[size]
		b.Run(name+"/tls", func(b *testing.B) {
			client, server, _ := pair(b, tls.VersionTLS13)
			client.collect, server.collect = false, false
			exchange(b, client.tls, server.tls)
			b.StopTimer()
			client.Close()
		})
		b.Run(name+"/sealed", func(b *testing.B) {
			client, server, _ := pair(b, tls.VersionTLS13)
			exchange(b, client, server)
			b.StopTimer()
			client.Close()
		})
	}
}
