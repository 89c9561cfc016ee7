package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirmq/weir/sdk/wire"
)

// peer is the other end of a connection: it hands each request to answer and writes what comes back.
func peer(t *testing.T, o ConnOptions, answer func(h *wire.Header, body []byte) []byte) *Conn {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		nc, err := ln.Accept()
		if err != nil {
			return
		}
		defer nc.Close()
		buf := make([]byte, 0, 1<<20)
		for {
			n, err := nc.Read(buf[len(buf):cap(buf)])
			if err != nil {
				return
			}
			buf = buf[:len(buf)+n]
			rest := buf
			for {
				frame, n, err := wire.NextFrame(rest)
				if err != nil || frame == nil {
					break
				}
				var h wire.Header
				body, err := h.Decode(frame)
				if err != nil {
					return
				}
				out := answer(&h, body)
				if out == nil {
					out = []byte{}
				}
				if _, err := nc.Write(out); err != nil {
					return
				}
				rest = rest[n:]
			}
			buf = buf[:copy(buf, rest)]
		}
	}()
	c, err := Dial(context.Background(), ln.Addr().String(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// echo answers with the request's body and code 0.
func echo(h *wire.Header, body []byte) []byte {
	var r wire.Header
	r.Reply(h, 0)
	r.SetString("k", "v")
	out, _ := wire.AppendFrame(nil, &r, body)
	return out
}

func TestCall(t *testing.T) {
	for _, typ := range []wire.Type{wire.JSON, wire.Binary} {
		c := peer(t, ConnOptions{}, echo)
		h := request(wire.CodeGetMaxOffset, &wire.QueueHeader{Topic: "T", QueueID: 1})
		h.Type = typ
		r, err := c.Call(context.Background(), h, []byte("hello"), time.Minute)
		if err != nil || string(r.Body) != "hello" || r.Ext["k"] != "v" || r.Err() != nil {
			t.Errorf("%s: %+v, %v", typ, r, err)
		}
	}
}

// TestUnusualJSON answers with headers that the quick scan doesn't know: blanks, other orders, texts that look like keys.
func TestUnusualJSON(t *testing.T) {
	for _, form := range []string{
		`{ "opaque" : %d , "flag" : 1 , "code" : 7 }`,
		`{"remark":"\"opaque\":1,\"flag\":0,\"code\":9","opaque":%d,"flag":1,"code":7}`,
		`{"code":7,"extFields":{"x":"\"code\":3"},"flag":1,"opaque":%d}`,
		`{"code":"7","flag":"1","opaque":"%d"}`,
	} {
		c := peer(t, ConnOptions{}, func(h *wire.Header, _ []byte) []byte {
			head := fmt.Sprintf(form, h.Opaque)
			n := len(head)
			return append([]byte{0, 0, byte((n + 4) >> 8), byte(n + 4), 0, 0, byte(n >> 8), byte(n)}, head...)
		})
		r, err := c.Call(context.Background(), request(34, nil), nil, time.Minute)
		if err != nil || r.Code != 7 {
			t.Errorf("%s: %+v, %v", form, r, err)
		}
	}
}

// counter counts replies and keeps a number of requests in flight.
type counter struct {
	conn  *Conn
	frame *Frame
	left  int
	err   error
	done  chan struct{}
}

func (k *counter) Reply(token uint64, r *Reply) {
	if err := r.Failure(); err != nil && k.err == nil {
		k.err = err
	}
	if k.left--; k.left <= 0 {
		if k.left == 0 {
			close(k.done)
		}
		return
	}
	if err := k.conn.SubmitFrame(k.frame, k, token, time.Minute); err != nil {
		k.err = err
		close(k.done)
	}
}

// TestPipeline sends frames made in advance, many in flight, each reply sending the next.
func TestPipeline(t *testing.T) {
	for _, typ := range []wire.Type{wire.JSON, wire.Binary} {
		c := peer(t, ConnOptions{Window: 64}, echo)
		h := request(wire.CodeSendMessageV2, nil)
		h.Type = typ
		f, err := NewFrame(h, make([]byte, 3000))
		if err != nil {
			t.Fatal(err)
		}
		k := &counter{conn: c, frame: f, left: 20_000, done: make(chan struct{})}
		c.Hold()
		for i := range uint64(64) {
			if err := c.SubmitFrame(f, k, i, time.Minute); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.SubmitFrame(f, k, 64, time.Minute); !errors.Is(err, ErrWindowFull) {
			t.Errorf("request 65 of 64: %v, want ErrWindowFull", err)
		}
		c.Release()
		<-k.done
		if k.err != nil {
			t.Errorf("%s: %v", typ, k.err)
		}
	}
}

// TestLargeReplies gets replies far larger than the read buffer, between small ones.
func TestLargeReplies(t *testing.T) {
	c := peer(t, ConnOptions{}, func(h *wire.Header, _ []byte) []byte {
		n := 10
		if h.Code == 2 {
			n = 3 << 20
		}
		return echo(h, make([]byte, n))
	})
	for i, code := range []int32{1, 2, 1, 1, 2, 2, 1} {
		r, err := c.Call(context.Background(), request(code, nil), nil, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if want := map[int32]int{1: 10, 2: 3 << 20}[code]; len(r.Body) != want {
			t.Errorf("reply %d has %d bytes, want %d", i, len(r.Body), want)
		}
	}
}

func TestTimeout(t *testing.T) {
	c := peer(t, ConnOptions{}, func(*wire.Header, []byte) []byte { return nil })
	_, err := c.Call(context.Background(), request(1, nil), nil, 10*time.Millisecond)
	if !errors.Is(err, ErrTimeout) {
		t.Errorf("no reply: %v, want ErrTimeout", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.Call(ctx, request(1, nil), nil, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.free) != len(c.slots) || c.inFlight != 0 {
		t.Errorf("%d of %d slots are free, %d bytes in flight: the requests were not given up", len(c.free), len(c.slots), c.inFlight)
	}
}

// TestLateReply gets the answer to a request that was given up while another one waits in the same slot.
func TestLateReply(t *testing.T) {
	var mu sync.Mutex
	var late []byte
	c := peer(t, ConnOptions{Window: 1}, func(h *wire.Header, body []byte) []byte {
		mu.Lock()
		defer mu.Unlock()
		if late == nil {
			late = echo(h, []byte("late"))
			return nil
		}
		return append(late, echo(h, []byte("mine"))...)
	})
	if _, err := c.Call(context.Background(), request(1, nil), nil, time.Millisecond); !errors.Is(err, ErrTimeout) {
		t.Fatal(err)
	}
	r, err := c.Call(context.Background(), request(1, nil), nil, time.Minute)
	if err != nil || string(r.Body) != "mine" {
		t.Errorf("got %+v, %v; want the second answer", r, err)
	}
}

// TestPeerGone ends what is in flight when the connection is lost or talks nonsense.
func TestPeerGone(t *testing.T) {
	for name, answer := range map[string]func(*wire.Header, []byte) []byte{
		"bad length": func(*wire.Header, []byte) []byte { return []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0} },
		"bad type":   func(*wire.Header, []byte) []byte { return []byte{0, 0, 0, 8, 9, 0, 0, 4, 1, 2, 3, 4} },
		"bad header": func(*wire.Header, []byte) []byte { return []byte{0, 0, 0, 8, 0, 0, 0, 4, '{', '{', '}', '}'} },
	} {
		c := peer(t, ConnOptions{}, answer)
		if _, err := c.Call(context.Background(), request(1, nil), nil, time.Minute); !errors.Is(err, wire.ErrMalformed) {
			t.Errorf("%s: %v, want ErrMalformed", name, err)
		}
		if _, err := c.Call(context.Background(), request(1, nil), nil, time.Minute); !errors.Is(err, wire.ErrMalformed) {
			t.Errorf("%s: afterwards %v, want the reason why it is closed", name, err)
		}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		nc, _ := ln.Accept()
		_, _ = io.ReadFull(nc, make([]byte, 8))
		nc.Close()
	}()
	c, err := Dial(context.Background(), ln.Addr().String(), ConnOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Call(context.Background(), request(1, nil), nil, time.Minute); err == nil {
		t.Error("a lost connection gave no error")
	}
}

func TestClose(t *testing.T) {
	c := peer(t, ConnOptions{}, func(*wire.Header, []byte) []byte { return nil })
	k := &counter{left: 1, done: make(chan struct{})}
	if err := c.Submit(request(1, nil), nil, k, 0, 0); err != nil {
		t.Fatal(err)
	}
	c.Close()
	<-k.done
	if !errors.Is(k.err, ErrClosed) {
		t.Errorf("in flight at Close: %v, want ErrClosed", k.err)
	}
	c.Close()
}

// TestHammerConn has many goroutines call, send one-way and give up at once.
func TestHammerConn(t *testing.T) {
	c := peer(t, ConnOptions{Window: 16}, func(h *wire.Header, body []byte) []byte {
		if h.IsOneway() {
			return nil
		}
		return echo(h, body)
	})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 300 {
				body := fmt.Sprintf("%d-%d", g, i)
				switch i % 5 {
				case 0:
					if err := c.OneWay(request(1, nil), []byte(body)); err != nil {
						t.Error(err)
					}
				case 1:
					ctx, cancel := context.WithCancel(context.Background())
					cancel()
					_, _ = c.Call(ctx, request(1, nil), []byte(body), time.Minute)
				default:
					r, err := c.Call(context.Background(), request(1, nil), []byte(body), time.Minute)
					if errors.Is(err, ErrWindowFull) {
						continue
					}
					if err != nil || string(r.Body) != body {
						t.Errorf("%s: %+v, %v", body, r, err)
					}
				}
			}
		})
	}
	wg.Wait()
}

// quiet is a Handler that signals.
type quiet struct{ ch chan struct{} }

func (q *quiet) Reply(uint64, *Reply) { q.ch <- struct{}{} }

// TestAllocations sends frames made in advance without allocating.
func TestAllocations(t *testing.T) {
	fixed := []byte(nil)
	c := peer(t, ConnOptions{}, func(h *wire.Header, _ []byte) []byte {
		fixed = fixed[:0]
		var r wire.Header
		r.Reply(h, 0)
		fixed, _ = wire.AppendFrame(fixed, &r, nil)
		return fixed
	})
	f, err := NewFrame(request(wire.CodeSendMessageV2, nil), make([]byte, 1024))
	if err != nil {
		t.Fatal(err)
	}
	q := &quiet{make(chan struct{}, 1)}
	// The peer of the test runs in this process and decodes; what it allocates is known by doing it alone.
	n := testing.AllocsPerRun(200, func() {
		if err := c.SubmitFrame(f, q, 0, time.Minute); err != nil {
			t.Fatal(err)
		}
		<-q.ch
	})
	if n > 10 {
		t.Errorf("%v allocations for a request and its reply, peer included", n)
	}
}

func TestAllocate(t *testing.T) {
	queues := func(n int) []Queue {
		var qs []Queue
		for i := range n {
			qs = append(qs, Queue{Topic: "T", Broker: "b", ID: int32(i)})
		}
		return qs
	}
	// Computed with RocketMQ's AllocateMessageQueueAveragely.
	for _, c := range []struct {
		queues  int
		members []string
		want    [][]int32
	}{
		{8, []string{"a", "b", "c"}, [][]int32{{0, 1, 2}, {3, 4, 5}, {6, 7}}},
		{4, []string{"a", "b"}, [][]int32{{0, 1}, {2, 3}}},
		{2, []string{"a", "b", "c"}, [][]int32{{0}, {1}, nil}},
		{3, []string{"a", "b", "c"}, [][]int32{{0}, {1}, {2}}},
		{10, []string{"c", "a", "d", "b"}, [][]int32{{0, 1, 2}, {3, 4, 5}, {6, 7}, {8, 9}}},
		{0, []string{"a"}, [][]int32{nil}},
	} {
		for i, me := range []string{"a", "b", "c", "d"}[:len(c.members)] {
			var got []int32
			for _, q := range allocate(queues(c.queues), c.members, me) {
				got = append(got, q.ID)
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want[i]) {
				t.Errorf("%d queues, %v: %s gets %v, want %v", c.queues, c.members, me, got, c.want[i])
			}
		}
	}
	if got := allocate(queues(4), []string{"a"}, "stranger"); got != nil {
		t.Errorf("who isn't a member gets %v", got)
	}
}

// FuzzScan compares the quick scan of a reply with the real decoder.
func FuzzScan(f *testing.F) {
	for _, typ := range []wire.Type{wire.JSON, wire.Binary} {
		h := request(34, &wire.TopicHeader{Topic: `"opaque":5`})
		h.Type, h.Flag, h.Opaque = typ, wire.FlagResponse, 77
		h.SetRemark(`"code":3,`)
		b, err := wire.AppendFrame(nil, h, []byte("body"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		frame, _, err := wire.NextFrame(b)
		if err != nil || frame == nil {
			return
		}
		var h wire.Header
		body, err := h.Decode(frame)
		if err != nil {
			return // the scan may be more lenient; nobody sends this
		}
		var r Reply
		r.reset(frame)
		opaque, response, err := r.scan()
		if err != nil {
			t.Fatalf("scan: %v of a frame that decodes", err)
		}
		if wire.Type(frame[4]) == wire.JSON && repeatedKeys(frame) {
			return // which of them counts is the decoder's business
		}
		if opaque != h.Opaque || response != h.IsResponse() || r.Code() != h.Code || string(r.Body()) != string(body) {
			t.Fatalf("scan: opaque %d response %v code %d; decoder: %d %v %d in %q", opaque, response, r.Code(), h.Opaque, h.IsResponse(), h.Code, frame)
		}
	})
}

// repeatedKeys says that the frame is no plain header: keys that the scan looks for come twice or in another spelling.
func repeatedKeys(frame []byte) bool {
	text := strings.ToLower(string(frame))
	for _, k := range []string{"opaque", "flag", "code"} {
		if strings.Count(text, k) != 1 {
			return true
		}
	}
	return false
}
