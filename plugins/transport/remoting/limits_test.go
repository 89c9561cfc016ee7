package remoting

import (
	"bytes"
	"context"
	"encoding/binary"
	"log/slog"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/plugin"
	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
)

// logBuffer is a log that a test reads.
type logBuffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func withLog(l *logBuffer) func(*plugin.Settings) {
	return func(s *plugin.Settings) { s.Logger = slog.New(slog.NewTextHandler(l, nil)) }
}

func withClock(c clock.Clock) func(*plugin.Settings) {
	return func(s *plugin.Settings) { s.Clock = c }
}

func TestBadFramesEndTheConnection(t *testing.T) {
	good := frame(t, wire.JSON, wire.CodeSendMessageV2, 1, 0, sendExt("T"), nil)
	header := func(text string) []byte {
		b := binary.BigEndian.AppendUint32(nil, uint32(4+len(text)))
		b = binary.BigEndian.AppendUint32(b, uint32(len(text)))
		return append(b, text...)
	}
	for _, tt := range []struct {
		name string
		b    []byte
		say  string
	}{
		{"longer than max_frame", []byte{0x7F, 0, 0, 0}, "a frame of 2130706432 bytes, want 4 to 1048572"},
		{"negative length", []byte{0xFF, 0xFF, 0xFF, 0xFF}, "a frame of -1 bytes"},
		{"length 0", []byte{0, 0, 0, 0}, "a frame of 0 bytes"},
		{"HTTP", []byte("GET / HTTP/1.1\r\n\r\n"), "a frame of 1195725856 bytes"},
		{"TLS", []byte{0x16, 3, 1, 2, 0, 1, 0, 1}, "a frame of"},
		{"header type 2", []byte{0, 0, 0, 4, 2, 0, 0, 0}, "header type 2"},
		{"header longer than the frame", []byte{0, 0, 0, 8, 0, 0, 0, 9}, "9 header bytes"},
		{"header of 300 KiB", []byte{0, 8, 0, 0, 0, 5, 0, 0}, "327680 header bytes"},
		{"no JSON", header("hello"), "JSON header"},
		{"code beyond 32 bits", header(`{"code":99999999999}`), "JSON header"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log logBuffer
			sender := newFakeSender()
			e := start(t, transport.Handlers{Sender: sender}, func(c *Config) { c.MaxFrame = plugin.MiB }, withLog(&log))
			p := dial(t, e)
			p.write(append(bytes.Clone(good), tt.b...))
			if a := p.read(); a.Opaque != 1 || a.Code != 0 {
				t.Errorf("the good frame before it: %+v", a.Header)
			}
			p.closed()
			waitFor(t, func() bool { return e.metrics.connections.Load() == 0 })
			if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, tt.say) {
				t.Errorf("log: %q, want one line with %q", got, tt.say)
			}
			if n := e.metrics.malformedFrames.Load(); n != 1 {
				t.Errorf("%d malformed frames counted", n)
			}
		})
	}
}

func TestOneLogLineASecond(t *testing.T) {
	var log logBuffer
	manual := clock.NewManual(time.Unix(1000, 0))
	e := start(t, transport.Handlers{}, nil, withLog(&log), withClock(manual))
	flood := func() {
		for range 50 {
			p := dial(t, e)
			p.write([]byte("GET / HTTP/1.1"))
			p.closed()
		}
		waitFor(t, func() bool { return e.metrics.malformedFrames.Load()%50 == 0 && e.metrics.connections.Load() == 0 })
	}
	flood()
	if n := strings.Count(log.String(), "\n"); n != 1 {
		t.Errorf("%d lines within one second", n)
	}
	manual.Advance(time.Second)
	flood()
	if got := log.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, "left_out=49") {
		t.Errorf("log %s", got)
	}
}

func TestUnknownCodesAreRefusedEvenOneWay(t *testing.T) {
	e := start(t, transport.Handlers{}, nil)
	p := dial(t, e)
	for _, flag := range []int32{0, wire.FlagOneway} {
		for _, typ := range []wire.Type{wire.JSON, wire.Binary} {
			p.write(frame(t, typ, wire.CodeEndTransaction, 5, flag, nil, nil))
			a := p.read()
			if a.Code != int32(message.CodeNotSupported) || a.Opaque != 5 || a.Type != typ ||
				string(a.Remark) != "request code 37 (END_TRANSACTION) is not supported here" {
				t.Errorf("answer %+v %q", a.Header, a.Remark)
			}
		}
	}
	p.write(frame(t, wire.JSON, wire.CodeSendMessageV2, 6, 0, sendExt("T"), nil))
	if a := p.read(); a.Code != int32(message.CodeNotSupported) {
		t.Errorf("send without a Sender: %d", a.Code)
	}
}

func TestTimeouts(t *testing.T) {
	half := frame(t, wire.JSON, wire.CodeSendMessageV2, 1, 0, sendExt("T"), nil)[:50]
	manual := clock.NewManual(time.Unix(1000, 0))
	e := start(t, transport.Handlers{Sender: newFakeSender()}, func(c *Config) {
		c.IdleTimeout, c.FrameTimeout = 20*time.Second, 5*time.Second
	}, withClock(manual))
	idle, slow, busy := dial(t, e), dial(t, e), dial(t, e)
	one := frame(t, wire.JSON, wire.CodeSendMessageV2, 1, 0, sendExt("T"), nil)
	for _, p := range []*peer{idle, slow, busy} { // they are all being served
		p.write(one)
		p.read()
	}
	second := func() {
		manual.BlockUntil(1)
		manual.Advance(time.Second)
		manual.BlockUntil(1) // the sweep is over
	}
	open := func() int {
		e.mu.Lock()
		defer e.mu.Unlock()
		return len(e.conns)
	}
	trickle := 0
	for i := range 30 {
		if trickle < 5 {
			slow.write(half[trickle : trickle+1])
			trickle++
			waitFor(t, func() bool { return anyFrameBegun(e) })
		}
		busy.write(one)
		busy.read()
		second()
		switch {
		case i == 2 && open() != 3:
			t.Fatalf("%d connections after 3 s, want 3", open())
		case i == 10:
			waitFor(t, func() bool { return open() == 2 })
			slow.closed()
		}
	}
	waitFor(t, func() bool { return open() == 1 })
	idle.closed()
	busy.write(one)
	busy.read()
}

func anyFrameBegun(e *endpoint) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for c := range e.conns {
		if c.frameBegun.Load() > 0 && c.reading.Load() {
			return true
		}
	}
	return false
}

// waitFor waits for something that other goroutines bring about soon.
func waitFor(t *testing.T, is func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !is(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal("it doesn't come about")
		}
	}
}

// TestAnnouncedBytesCostNothing opens connections that announce large frames and send little of them.
func TestAnnouncedBytesCostNothing(t *testing.T) {
	e := start(t, transport.Handlers{Sender: newFakeSender()}, nil)
	const n, sent = 64, 70 << 10
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range n {
		p := dial(t, e)
		b := make([]byte, sent)
		copy(b, []byte{0, 0xFF, 0xFF, 0xF0, 0, 0, 1, 0})
		p.write(b)
	}
	waitFor(t, func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		got := 0
		for c := range e.conns {
			if c.reading.Load() && c.frameBegun.Load() > 0 {
				got++
			}
		}
		return got == n
	})
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > n*(sent+64<<10+40<<10) {
		t.Errorf("%d connections that sent %d bytes each hold %d bytes each", n, sent, grown/n)
	}
}

func TestLargeFrames(t *testing.T) {
	sender := newFakeSender()
	e := start(t, transport.Handlers{Sender: sender}, nil)
	p := dial(t, e)
	sizes := []int{1, 4 << 10, 64 << 10, 200 << 10, 256 << 10, 300 << 10, 1 << 20, 4 << 20, 7, 15 << 20, 3}
	go func() {
		for i, n := range sizes {
			body := bytes.Repeat([]byte{byte(i)}, n)
			if _, err := p.nc.Write(frame(t, wire.JSON, wire.CodeSendMessageV2, int32(i), 0, sendExt("T"), body)); err != nil {
				t.Errorf("write %d bytes: %v", n, err)
			}
		}
	}()
	for i := range sizes {
		if a := p.read(); a.Code != 0 || a.Opaque != int32(i) {
			t.Errorf("answer %d: %+v", i, a.Header)
		}
	}
	for i, s := range sender.sent() {
		if len(s.Body) != sizes[i] || bytes.Count(s.Body, []byte{byte(i)}) != sizes[i] {
			t.Errorf("body %d of %d bytes is damaged or has %d", i, sizes[i], len(s.Body))
		}
	}
}

// TestAPeerThatDoesNotReadIsNotReadFrom fills the way to a peer and sees that pulls are refused, sends wait, and nothing
// is lost once it reads again.
func TestAPeerThatDoesNotReadIsNotReadFrom(t *testing.T) {
	puller := &fakePuller{chunks: [][]byte{make([]byte, 256<<10)}}
	sender := newFakeSender()
	e := start(t, transport.Handlers{Puller: puller, Sender: sender}, func(c *Config) { c.WriteQueue = plugin.MiB })
	p := dial(t, e)
	pull := frame(t, wire.JSON, wire.CodePullMessage, 1, 0, pullExt("T"), nil)
	last := frame(t, wire.JSON, wire.CodePullMessage, 2, 0, pullExt("T"), nil)
	stop := make(chan struct{})
	go func() {
		for {
			select {
			case <-stop:
				_, _ = p.nc.Write(last)
				return
			default:
			}
			if _, err := p.nc.Write(pull); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	waitFor(t, func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		for c := range e.conns {
			c.out.mu.Lock()
			full := c.out.waiting && c.out.fullLocked() && c.out.pending < 4<<20
			c.out.mu.Unlock()
			if full {
				return true
			}
		}
		return false
	})
	close(stop)
	got, busy := 0, 0
	for end := false; !end; {
		a := p.read()
		switch {
		case a.Code == int32(message.SystemBusy):
			busy++
		case len(a.body) == 256<<10:
			got++
		default:
			t.Fatalf("answer %+v with %d bytes", a.Header, len(a.body))
		}
		end = a.Opaque == 2
	}
	if got == 0 {
		t.Error("no pull was answered with records")
	}
	waitFor(t, func() bool { return puller.released() == got+busy })
	t.Logf("%d pulls got records, %d were told that the connection is busy", got, busy)
}

func TestAStuckPeerIsDisconnected(t *testing.T) {
	var log logBuffer
	puller := &fakePuller{chunks: [][]byte{make([]byte, 256<<10)}}
	e := start(t, transport.Handlers{Puller: puller}, func(c *Config) { c.WriteTimeout = 50 * time.Millisecond }, withLog(&log))
	p := dial(t, e)
	pull := frame(t, wire.JSON, wire.CodePullMessage, 1, 0, pullExt("T"), nil)
	for {
		if _, err := p.nc.Write(pull); err != nil {
			break
		}
	}
	waitFor(t, func() bool { return e.metrics.connections.Load() == 0 })
	if !strings.Contains(log.String(), "too slow") {
		t.Errorf("log %q", log.String())
	}
	puller.mu.Lock()
	defer puller.mu.Unlock()
	if puller.freed == 0 {
		t.Error("no records came back")
	}
}

func TestInflightBoundStopsReading(t *testing.T) {
	sender := newFakeSender()
	batches := make(chan *transport.SendBatch, 100)
	sender.hook = func(b *transport.SendBatch) bool { batches <- b; return true }
	e := start(t, transport.Handlers{Sender: sender}, func(c *Config) { c.MaxInflight = 2 })
	p := dial(t, e)
	one := func(o int32) []byte { return frame(t, wire.JSON, wire.CodeSendMessageV2, o, 0, sendExt("T"), nil) }
	p.write(one(1))
	first := <-batches
	p.write(one(2))
	second := <-batches
	p.write(one(3))
	waitFor(t, func() bool {
		second.Session.(*conn).out.mu.Lock()
		defer second.Session.(*conn).out.mu.Unlock()
		return second.Session.(*conn).out.waiting
	})
	if len(batches) != 0 {
		t.Error("a third send was handed over")
	}
	first.Reply.SendsDone(first)
	third := <-batches
	second.Reply.SendsDone(second)
	third.Reply.SendsDone(third)
	for _, o := range []int32{1, 2, 3} {
		if a := p.read(); a.Opaque != o {
			t.Errorf("answer to %d, want %d", a.Opaque, o)
		}
	}
}

func TestTooManyConnections(t *testing.T) {
	e := start(t, transport.Handlers{Sender: newFakeSender()}, func(c *Config) { c.MaxConnections = 2 })
	one := frame(t, wire.JSON, wire.CodeSendMessageV2, 1, 0, sendExt("T"), nil)
	a, b := dial(t, e), dial(t, e)
	for _, p := range []*peer{a, b} {
		p.write(one)
		p.read()
	}
	dial(t, e).closed()
	_ = a.nc.Close()
	waitFor(t, func() bool { return e.metrics.connections.Load() == 1 })
	c := dial(t, e)
	c.write(one)
	c.read()
}

func TestPortInUseNamesItsHolder(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cfg := defaultConfig()
	cfg.Listen = l.Addr().String()
	cfg.FastListen = fastOff
	tr, err := Factory{}.NewTransport(settings(t, clock.Real(), nil), cfg, transport.Handlers{})
	if err != nil {
		t.Fatal(err)
	}
	err = tr.Start(context.Background(), noHost{})
	if err == nil {
		t.Fatal("it started")
	}
	for _, want := range []string{cfg.Listen, "the port is in use", "set transports.remoting.listen to another address"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q doesn't say %q", err, want)
		}
	}
	if name, rerr := os.ReadFile("/proc/self/comm"); rerr == nil && !strings.Contains(err.Error(), strings.TrimSpace(string(name))) {
		t.Errorf("error %q doesn't name this process, %s", err, name)
	}
	if tr.Addr() != nil {
		t.Error("it has an address")
	}
	if err := tr.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestFastListenerServesTheSame(t *testing.T) {
	e := start(t, transport.Handlers{Puller: &fakePuller{}}, func(c *Config) { c.FastListen = "127.0.0.1:0" })
	nc, err := net.Dial("tcp", e.listeners[1].Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	p := &peer{tb: t, nc: nc}
	p.write(frame(t, wire.JSON, wire.CodePullMessage, 1, 0, pullExt("T"), nil))
	if a := p.read(); a.Code != int32(message.PullNotFound) {
		t.Errorf("answer %d", a.Code)
	}
}
