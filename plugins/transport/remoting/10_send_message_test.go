package remoting

import (
	"bytes"
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
)

func TestSendIsAnsweredInItsEncoding(t *testing.T) {
	for _, typ := range []wire.Type{wire.JSON, wire.Binary} {
		t.Run(typ.String(), func(t *testing.T) {
			sender := newFakeSender()
			e := start(t, transport.Handlers{Sender: sender}, nil)
			p := dial(t, e)
			p.write(frame(t, typ, wire.CodeSendMessageV2, -7, 0, sendExt("T"), []byte("body")))
			a := p.read()
			want := map[string]string{"MSG_REGION": "DefaultRegion", "TRACE_ON": "true", "queueId": "1", "queueOffset": "0",
				"msgId": "7F00000100002A9F0000000000000000"}
			if !maps.Equal(a.fields, want) {
				t.Errorf("fields %v, want %v", a.fields, want)
			}
			if a.Type != typ || a.Code != 0 || a.Opaque != -7 || a.Flag != wire.FlagResponse || a.Version != 407 || a.Remark != nil || a.body != nil {
				t.Errorf("header %+v", a.Header)
			}
			s := sender.sent()[0]
			if string(s.Topic) != "T" || string(s.ProducerGroup) != "pg" || string(s.DefaultTopic) != "TBW102" ||
				s.DefaultTopicQueueNums != 4 || s.QueueID != 1 || s.BornTimestamp != 1796090566863 || s.Batch ||
				string(s.Properties) != "TAGS\x01TagA\x02KEYS\x01k" || string(s.Body) != "body" || s.HasMaxReconsumeTimes || s.OneWay {
				t.Errorf("send %+v", s)
			}
		})
	}
}

func TestSendsThatArriveTogetherAreOneBatch(t *testing.T) {
	sender := newFakeSender()
	e := start(t, transport.Handlers{Sender: sender}, nil)
	p := dial(t, e)
	var all []byte
	for i := range 5 {
		flag := int32(0)
		if i == 2 {
			flag = wire.FlagOneway
		}
		all = append(all, frame(t, wire.JSON, wire.CodeSendMessageV2, int32(i), flag, sendExt("T"), []byte{byte('0' + i)})...)
	}
	p.write(all)
	for _, want := range []int32{0, 1, 3, 4} {
		if a := p.read(); a.Opaque != want || a.fields["queueOffset"] != strconv.Itoa(int(want)) {
			t.Errorf("opaque %d with %v, want %d", a.Opaque, a.fields, want)
		}
	}
	sender.mu.Lock()
	defer sender.mu.Unlock()
	if len(sender.batches) != 1 || sender.batches[0] != 5 {
		t.Errorf("batches %v, want one of 5", sender.batches)
	}
	for i, s := range sender.sends {
		if string(s.Body) != strconv.Itoa(i) {
			t.Errorf("send %d has body %q", i, s.Body)
		}
	}
}

func TestHalfFramesByteByByte(t *testing.T) {
	sender := newFakeSender()
	e := start(t, transport.Handlers{Sender: sender}, nil)
	p := dial(t, e)
	all := frame(t, wire.JSON, wire.CodeSendMessageV2, 1, 0, sendExt("T"), []byte("one"))
	all = append(all, frame(t, wire.Binary, wire.CodeSendMessageV2, 2, 0, sendExt("T"), []byte("two"))...)
	for i := range all {
		p.write(all[i : i+1])
	}
	if a := p.read(); a.Opaque != 1 {
		t.Errorf("first answer is to %d", a.Opaque)
	}
	if a := p.read(); a.Opaque != 2 {
		t.Errorf("second answer is to %d", a.Opaque)
	}
}

func TestSendRefusals(t *testing.T) {
	without := func(k string) map[string]string { m := sendExt("T"); delete(m, k); return m }
	with := func(k, v string) map[string]string { m := sendExt("T"); m[k] = v; return m }
	for _, tt := range []struct {
		name   string
		ext    map[string]string
		remark string
	}{
		{"no topic", without("b"), "the request has no field b (topic)"},
		{"no born timestamp", without("g"), "the request has no field g (bornTimestamp)"},
		{"queue id is text", with("e", "one"), `the request's field e is "one", want an integer`},
		{"flag beyond 32 bits", with("h", "2147483648"), `the request's field h is "2147483648", want an integer`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sender := newFakeSender()
			e := start(t, transport.Handlers{Sender: sender}, nil)
			p := dial(t, e)
			p.write(frame(t, wire.JSON, wire.CodeSendMessageV2, 9, 0, tt.ext, nil))
			a := p.read()
			if a.Code != int32(message.SystemError) || string(a.Remark) != tt.remark || a.fields["TRACE_ON"] != "true" || a.fields["MSG_REGION"] == "" {
				t.Errorf("answer %d %q %v", a.Code, a.Remark, a.fields)
			}
			if len(sender.sent()) != 0 {
				t.Error("the send was handed over")
			}
		})
	}
}

func TestBatchSendListsAllIDs(t *testing.T) {
	sender := newFakeSender()
	sender.hook = func(b *transport.SendBatch) bool {
		b.Sends[0].Positions = []message.Position{0x8BC, 0x995, 0xA6E}
		return false
	}
	e := start(t, transport.Handlers{Sender: sender}, nil)
	p := dial(t, e)
	ext := sendExt("T")
	ext["m"] = "TRUE"
	p.write(frame(t, wire.Binary, wire.CodeSendBatchMessage, 9, 0, ext, []byte("x")))
	want := "7F00000100002A9F00000000000008BC,7F00000100002A9F0000000000000995,7F00000100002A9F0000000000000A6E"
	if a := p.read(); a.fields["msgId"] != want {
		t.Errorf("msgId %q, want %q", a.fields["msgId"], want)
	}
	if !sender.sent()[0].Batch {
		t.Error("batch flag lost")
	}
}

func TestSendPanicIsAnswered(t *testing.T) {
	sender := newFakeSender()
	first := true
	sender.hook = func(*transport.SendBatch) bool {
		if first {
			first = false
			panic("boom")
		}
		return false
	}
	e := start(t, transport.Handlers{Sender: sender}, nil)
	p := dial(t, e)
	p.write(frame(t, wire.JSON, wire.CodeSendMessageV2, 1, 0, sendExt("T"), nil))
	if a := p.read(); a.Code != 1 || !strings.Contains(string(a.Remark), "boom") || a.fields["TRACE_ON"] != "true" {
		t.Errorf("answer %d %q", a.Code, a.Remark)
	}
	p.write(frame(t, wire.JSON, wire.CodeSendMessageV2, 2, 0, sendExt("T"), nil))
	if a := p.read(); a.Code != 0 || a.Opaque != 2 {
		t.Errorf("the next send: %d %q", a.Code, a.Remark)
	}
}

func TestSendAnswerTextIsTheSameFrame(t *testing.T) {
	cfg := defaultConfig()
	cfg.Region = "zone \"a\" <1>"
	text := newSendAnswer(cfg)
	s := &transport.Send{Code: message.FlushDiskTimeout, AnsweredQueueID: 3, QueueOffset: 12345678901}
	got := text.append([]byte("before"), -5, s, []byte("7F00"))
	var h wire.Header
	h.Reply(&wire.Header{Opaque: -5}, 10)
	h.SetTrace(cfg.Region, true)
	h.SetString("msgId", "7F00")
	h.SetInt("queueId", 3)
	h.SetInt("queueOffset", 12345678901)
	want, err := wire.AppendFrame([]byte("before"), &h, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
