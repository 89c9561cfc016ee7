package remoting

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/weirmq/weir/core/plugin"
	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
)

// connected returns a served connection and the broker's side of it.
func connected(t *testing.T, change func(*Config)) (*peer, transport.Session) {
	t.Helper()
	sessions := make(chan transport.Session, 1)
	sender := newFakeSender()
	sender.hook = func(b *transport.SendBatch) bool { sessions <- b.Session; return false }
	e := start(t, transport.Handlers{Sender: sender}, change)
	p := dial(t, e)
	p.write(frame(t, wire.Binary, wire.CodeSendMessageV2, 1, 0, sendExt("T"), nil))
	p.read()
	return p, <-sessions
}

func TestNotices(t *testing.T) {
	p, s := connected(t, nil)
	offsets := []transport.QueueOffset{
		{Queue: transport.BrokerQueue{Topic: "T", Broker: "broker-a", ID: 0}, Offset: 12},
		{Queue: transport.BrokerQueue{Topic: "T", Broker: "broker-a", ID: 1}, Offset: 7},
	}
	reset := transport.ResetOffsets{Topic: "T", Group: "G", Timestamp: -1, Offsets: offsets}
	list := reset
	list.ListForm = true
	for _, tt := range []struct {
		name   string
		notice transport.Notice
		header string
		body   string
	}{
		{"consumers changed", transport.ConsumersChanged{Group: "G"},
			`{"code":40,"extFields":{"consumerGroup":"G"},"flag":2,"language":"GO","opaque":1,"serializeTypeCurrentRPC":"JSON","version":407}`, ""},
		{"reset", reset,
			`{"code":220,"extFields":{"group":"G","isForce":"false","timestamp":"-1","topic":"T"},"flag":2,"language":"GO","opaque":2,"serializeTypeCurrentRPC":"JSON","version":407}`,
			`{"offsetTable":{{"brokerName":"broker-a","queueId":0,"topic":"T"}:12,{"brokerName":"broker-a","queueId":1,"topic":"T"}:7}}`},
		{"reset for C++", list,
			`{"code":220,"extFields":{"group":"G","isForce":"false","timestamp":"-1","topic":"T"},"flag":2,"language":"GO","opaque":3,"serializeTypeCurrentRPC":"JSON","version":407}`,
			`{"offsetTable":[{"brokerName":"broker-a","offset":12,"queueId":0,"topic":"T"},{"brokerName":"broker-a","offset":7,"queueId":1,"topic":"T"}]}`},
	} {
		if err := s.Notify(tt.notice); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		a := p.read()
		if got := string(a.raw[8 : len(a.raw)-len(a.body)]); got != tt.header {
			t.Errorf("%s: header\ngot  %s\nwant %s", tt.name, got, tt.header)
		}
		if string(a.body) != tt.body {
			t.Errorf("%s: body\ngot  %s\nwant %s", tt.name, a.body, tt.body)
		}
	}
}

func TestCalls(t *testing.T) {
	p, s := connected(t, nil)
	type result struct {
		reply transport.ClientReply
		err   error
	}
	call := func(c transport.ClientCall) chan result {
		done := make(chan result, 1)
		go func() {
			r, err := s.Call(t.Context(), c)
			done <- result{r, err}
		}()
		return done
	}
	answer := func(a *answer, code int32, body string) {
		var h wire.Header
		h.Reply(&a.Header, code)
		h.SetRemark("said the client")
		b, err := wire.AppendFrame(nil, &h, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		p.write(b)
	}
	for _, tt := range []struct {
		call   transport.ClientCall
		code   int32
		fields map[string]string
		body   string
	}{
		{transport.RunningInfoCall{Group: "G", ClientID: "c", Stacks: true}, 307, map[string]string{"consumerGroup": "G", "clientId": "c", "jstackEnable": "true"}, ""},
		{transport.ConsumeDirectlyCall{Group: "G", ClientID: "c", MessageID: "7F", Broker: "broker-a", Record: []byte("record")}, 309,
			map[string]string{"consumerGroup": "G", "clientId": "c", "msgId": "7F", "brokerName": "broker-a"}, "record"},
		{transport.ConsumerStatusCall{Topic: "T", Group: "G"}, 221, map[string]string{"topic": "T", "group": "G"}, ""},
	} {
		done := call(tt.call)
		a := p.read()
		if a.Code != tt.code || a.IsOneway() || a.IsResponse() || a.Type != wire.JSON || string(a.body) != tt.body {
			t.Errorf("%T arrived as %+v %q", tt.call, a.Header, a.body)
		}
		for k, v := range tt.fields {
			if a.fields[k] != v {
				t.Errorf("%T: field %s is %q, want %q", tt.call, k, a.fields[k], v)
			}
		}
		answer(a, 1, "body")
		if r := <-done; r.err != nil || r.reply.Code != 1 || r.reply.Remark != "said the client" || string(r.reply.Body) != "body" {
			t.Errorf("%T: %+v", tt.call, r)
		}
		answer(a, 0, "again") // late, and nobody waits
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Call(ctx, transport.ConsumerStatusCall{}); !errors.Is(err, context.Canceled) {
		t.Errorf("call with a cancelled context: %v", err)
	}
	p.read()
	done := call(transport.ConsumerStatusCall{})
	p.read()
	_ = p.nc.Close()
	if r := <-done; !errors.Is(r.err, transport.ErrSessionClosed) {
		t.Errorf("call of a client that hung up: %v", r.err)
	}
}

func TestNoticesToAPeerThatDoesNotReadAreRefused(t *testing.T) {
	_, s := connected(t, func(c *Config) { c.WriteQueue = 64 * plugin.KiB })
	notice := transport.ConsumersChanged{Group: string(make([]byte, 1000))}
	for end := time.Now().Add(10 * time.Second); ; {
		err := s.Notify(notice)
		if errors.Is(err, transport.ErrSessionBusy) {
			return
		}
		if err != nil || time.Now().After(end) {
			t.Fatalf("notify: %v", err)
		}
	}
}

func TestTooManyCalls(t *testing.T) {
	_, s := connected(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	for range callsMax {
		go func() { _, _ = s.Call(ctx, transport.ConsumerStatusCall{}) }()
	}
	c := s.(*conn)
	waitFor(t, func() bool {
		c.calls.mu.Lock()
		defer c.calls.mu.Unlock()
		return len(c.calls.waiting) == callsMax
	})
	if _, err := s.Call(ctx, transport.ConsumerStatusCall{}); !errors.Is(err, transport.ErrSessionBusy) {
		t.Errorf("one call too many: %v", err)
	}
	cancel()
	waitFor(t, func() bool {
		c.calls.mu.Lock()
		defer c.calls.mu.Unlock()
		return len(c.calls.waiting) == 0
	})
}
