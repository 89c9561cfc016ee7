package remoting

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/weirmq/weir/sdk/wire"
)

// mutate damages a frame in one of the ways in which bytes go wrong.
func mutate(r *rand.Rand, f []byte) []byte {
	b := bytes.Clone(f)
	switch r.IntN(8) {
	case 0: // one bit
		b[r.IntN(len(b))] ^= 1 << r.IntN(8)
	case 1: // several bytes behind the length
		for range 1 + r.IntN(10) {
			b[4+r.IntN(len(b)-4)] = byte(r.Uint32())
		}
	case 2: // the length
		binary.BigEndian.PutUint32(b, r.Uint32()>>r.IntN(32))
	case 3: // the header length
		binary.BigEndian.PutUint32(b[4:], r.Uint32()>>r.IntN(32))
	case 4: // cut short, with a length that fits
		b = b[:8+r.IntN(len(b)-8)]
		binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	case 5: // cut short
		b = b[:r.IntN(len(b))]
	case 6: // a number made extreme
		if i := bytes.Index(b, []byte(`":"0"`)); i > 0 {
			b = append(b[:i+3:i+3], append([]byte("-9223372036854775808"), b[i+4:]...)...)
			binary.BigEndian.PutUint32(b, uint32(len(b)-4))
		}
	case 7: // a piece twice
		i := 8 + r.IntN(len(b)-8)
		n := r.IntN(len(b) - i)
		b = append(b[:i+n:i+n], b[i:]...)
		binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	}
	return b
}

// TestHammerMutatedFrames sends damaged frames, recorded ones and good ones on many connections, which it breaks off with
// RST, and then sees that the endpoint serves as before and has kept nothing. WEIR_HAMMER_FRAMES sets how many; 100,000
// by default.
func TestHammerMutatedFrames(t *testing.T) {
	total := 100_000
	if testing.Short() || raceEnabled {
		total = 10_000
	}
	if s := os.Getenv("WEIR_HAMMER_FRAMES"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("WEIR_HAMMER_FRAMES: %v", err)
		}
		total = n
	}
	var frames [][]byte
	for _, g := range recordedFrames(t) {
		if g.toServer() || len(frames)%10 == 0 {
			frames = append(frames, g.bytes)
		}
	}
	e := start(t, (&allRoles{quiet: true}).handlers(), nil)
	addr := e.Addr().String()
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)

	const workers = 8
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 2))
			buf := make([]byte, 64<<10)
			for sent := 0; sent < total/workers; {
				nc, err := net.Dial("tcp", addr)
				if err != nil {
					t.Errorf("dial: %v", err)
					return
				}
				_ = nc.(*net.TCPConn).SetLinger(0)
				var out []byte
				for range 1 + r.IntN(8) { // after a malformed one nothing is read any more
					f := frames[r.IntN(len(frames))]
					if r.IntN(3) > 0 {
						f = mutate(r, f)
					}
					out = append(out, f...)
					sent++
				}
				if _, err := nc.Write(out); err == nil && r.IntN(4) > 0 {
					// RST takes away what the endpoint hasn't read. There may be no answer at all.
					_ = nc.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
					for err == nil {
						_, err = nc.Read(buf)
					}
				}
				_ = nc.Close()
			}
		})
	}
	wg.Wait()
	waitFor(t, func() bool { return e.metrics.connections.Load() == 0 })
	var after runtime.MemStats
	runtime.GC()
	runtime.GC() // pools need two
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("%d bytes are left of %d frames", grown, total)
	}
	t.Logf("%d frames, %d connections, %d of them malformed, %d requests, %d answers, %d panics; %d MiB from the system",
		total, e.metrics.accepted.Load(), e.metrics.malformedFrames.Load(), e.metrics.requests.Load(), e.metrics.answers.Load(), e.metrics.panics.Load(), after.Sys>>20)
	if n := e.metrics.panics.Load(); n > 0 {
		t.Errorf("%d panics", n)
	}
	p := dial(t, e)
	p.write(frame(t, wire.JSON, wire.CodeSendMessageV2, 1, 0, sendExt("T"), []byte("alive")))
	if a := p.read(); a.Code != 0 {
		t.Errorf("the send after it: %d %s", a.Code, a.Remark)
	}
}
