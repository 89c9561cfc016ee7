package remoting

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	metricnoop "go.opentelemetry.io/otel/metric/noop"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/plugin"
	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
)

// settings returns the settings of a test's plugin, with a log that goes nowhere unless it is given.
func settings(tb testing.TB, c clock.Clock, log *slog.Logger) plugin.Settings {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return plugin.Settings{
		ID: plugin.ID{Type: Type}, Logger: log, MeterProvider: metricnoop.NewMeterProvider(),
		TracerProvider: tracenoop.NewTracerProvider(), Clock: c, DataDir: tb.TempDir(),
	}
}

type noHost struct{}

func (noHost) Fatal(plugin.ID, error) {}

// start serves h on a free port until the test ends.
func start(tb testing.TB, h transport.Handlers, change func(*Config), options ...func(*plugin.Settings)) *endpoint {
	tb.Helper()
	cfg := defaultConfig()
	cfg.Listen = "127.0.0.1:0"
	if change != nil {
		change(cfg)
	}
	if err := cfg.Validate(); err != nil {
		tb.Fatal(err)
	}
	set := settings(tb, clock.Real(), nil)
	for _, o := range options {
		o(&set)
	}
	e, err := newEndpoint(set, cfg, h, "transports.remoting.listen")
	if err != nil {
		tb.Fatal(err)
	}
	if err := e.Start(context.Background(), noHost{}); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := e.Stop(ctx); err != nil {
			tb.Errorf("Stop: %v", err)
		}
	})
	return e
}

// peer is the other end of a connection, speaking frames.
type peer struct {
	tb  testing.TB
	nc  net.Conn
	buf []byte
}

func dial(tb testing.TB, e *endpoint) *peer {
	tb.Helper()
	nc, err := net.Dial("tcp", e.Addr().String())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = nc.Close() })
	return &peer{tb: tb, nc: nc}
}

// write sends bytes as they are.
func (p *peer) write(b []byte) {
	p.tb.Helper()
	if _, err := p.nc.Write(b); err != nil {
		p.tb.Fatalf("write: %v", err)
	}
}

// answer is a received frame, copied.
type answer struct {
	wire.Header
	fields map[string]string
	body   []byte
	raw    []byte
}

// read returns the next frame.
func (p *peer) read() *answer {
	p.tb.Helper()
	a, err := p.tryRead()
	if err != nil {
		p.tb.Fatalf("read frame: %v", err)
	}
	return a
}

func (p *peer) tryRead() (*answer, error) {
	_ = p.nc.SetReadDeadline(time.Now().Add(10 * time.Second))
	for {
		frame, n, err := wire.NextFrame(p.buf)
		if err != nil {
			return nil, err
		}
		if frame != nil {
			a := &answer{raw: append([]byte(nil), frame...), fields: map[string]string{}}
			if a.body, err = a.Decode(a.raw); err != nil {
				return nil, err
			}
			for _, f := range a.Ext {
				a.fields[string(f.Key)] = string(f.Value)
			}
			p.buf = append([]byte(nil), p.buf[n:]...)
			return a, nil
		}
		chunk := make([]byte, 64<<10)
		m, err := p.nc.Read(chunk)
		p.buf = append(p.buf, chunk[:m]...)
		if err != nil {
			return nil, err
		}
	}
}

// closed waits until the other end has closed the connection.
func (p *peer) closed() {
	p.tb.Helper()
	for {
		if _, err := p.tryRead(); err != nil {
			var timeout net.Error
			if errors.As(err, &timeout) && timeout.Timeout() {
				p.tb.Fatal("the connection is still open")
			}
			return
		}
	}
}

// frame encodes a request.
func frame(tb testing.TB, t wire.Type, code, opaque, flag int32, ext map[string]string, body []byte) []byte {
	tb.Helper()
	var h wire.Header
	h.Request(code, opaque)
	h.Type, h.Flag = t, flag
	for k, v := range ext {
		h.SetString(k, v)
	}
	b, err := wire.AppendFrame(nil, &h, body)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func sendExt(topic string) map[string]string {
	return map[string]string{"a": "pg", "b": topic, "c": "TBW102", "d": "4", "e": "1", "f": "0", "g": "1796090566863",
		"h": "0", "i": "TAGS\x01TagA\x02KEYS\x01k", "j": "0", "k": "false", "m": "false", "n": "broker-a"}
}

func pullExt(topic string) map[string]string {
	return map[string]string{"consumerGroup": "cg", "topic": topic, "queueId": "1", "queueOffset": "5", "maxMsgNums": "32",
		"sysFlag": "3", "commitOffset": "4", "suspendTimeoutMillis": "15000", "subVersion": "7", "expressionType": "TAG"}
}

// fakeSender stores nothing: it copies what it is sent and answers with places that follow one another.
type fakeSender struct {
	host netip.AddrPort
	hook func(b *transport.SendBatch) bool // true: it answers itself

	mu      sync.Mutex
	batches []int
	sends   []transport.Send // with copied bytes
	next    int64
	record  bool
}

func newFakeSender() *fakeSender {
	return &fakeSender{host: netip.MustParseAddrPort("127.0.0.1:10911"), record: true}
}

func (f *fakeSender) Send(_ context.Context, b *transport.SendBatch) {
	b.StoreHost = f.host
	b.Positions = b.Positions[:0]
	f.mu.Lock()
	for i := range b.Sends {
		s := &b.Sends[i]
		at := len(b.Positions)
		b.Positions = append(b.Positions, message.Position(f.next*100))
		s.Positions = b.Positions[at : at+1 : at+1]
		s.Code, s.AnsweredQueueID, s.QueueOffset = message.Success, s.QueueID, message.Offset(f.next)
		f.next++
		if f.record {
			c := *s
			for _, p := range []*[]byte{&c.ProducerGroup, &c.Topic, &c.DefaultTopic, &c.Properties, &c.Body} {
				*p = append([]byte(nil), *p...)
			}
			f.sends = append(f.sends, c)
		}
	}
	if f.record {
		f.batches = append(f.batches, len(b.Sends))
	}
	f.mu.Unlock()
	if f.hook != nil && f.hook(b) {
		return
	}
	b.Reply.SendsDone(b)
}

// fakePuller answers at once with the records it has, or keeps the pull.
type fakePuller struct {
	mu     sync.Mutex
	chunks [][]byte
	hold   bool
	held   chan *transport.Pull
	seen   []transport.Pull
	freed  int
	record bool
}

func (f *fakePuller) Release() {
	f.mu.Lock()
	f.freed++
	f.mu.Unlock()
}

func (f *fakePuller) Pull(_ context.Context, p *transport.Pull) {
	f.mu.Lock()
	if f.record {
		f.seen = append(f.seen, *p)
	}
	hold := f.hold
	f.mu.Unlock()
	if hold {
		f.held <- p
		return
	}
	f.answer(p)
}

func (f *fakePuller) answer(p *transport.Pull) {
	p.MinOffset, p.MaxOffset, p.NextBeginOffset, p.Remark = 0, 99, p.Offset+1, "FOUND"
	if len(f.chunks) == 0 {
		p.Code, p.Remark = message.PullNotFound, "OFFSET_OVERFLOW_ONE"
	}
	for _, c := range f.chunks {
		p.Records.Add(c, 1, f)
	}
	p.Reply.PullDone(p)
}

var _ io.Closer = (*peer)(nil)

func (p *peer) Close() error { return p.nc.Close() }

func (f *fakeSender) sent() []transport.Send {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]transport.Send(nil), f.sends...)
}

func (f *fakePuller) pulls() []transport.Pull {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]transport.Pull(nil), f.seen...)
}

func (f *fakePuller) released() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.freed
}

// callerPuller looks at who pulls.
type callerPuller struct {
	fakePuller
	check func(*transport.Caller)
}

func (c *callerPuller) Pull(ctx context.Context, p *transport.Pull) {
	c.check(&p.Caller)
	c.fakePuller.Pull(ctx, p)
}
