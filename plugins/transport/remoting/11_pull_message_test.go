package remoting

import (
	"bytes"
	"maps"
	"testing"
	"time"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
)

func TestPullIsAnsweredWithRecords(t *testing.T) {
	small, large := bytes.Repeat([]byte("s"), 100), bytes.Repeat([]byte("L"), 200<<10)
	for _, tt := range []struct {
		name   string
		chunks [][]byte
	}{
		{"copied", [][]byte{small, small}},
		{"lent", [][]byte{large}},
		{"mixed", [][]byte{small, large, small, large, large, small}},
	} {
		for _, code := range []int32{wire.CodePullMessage, wire.CodeLitePullMessage} {
			t.Run(tt.name, func(t *testing.T) {
				puller := &fakePuller{chunks: tt.chunks, record: true}
				e := start(t, transport.Handlers{Puller: puller}, nil)
				p := dial(t, e)
				p.write(frame(t, wire.JSON, code, 3, 0, pullExt("T"), nil))
				a := p.read()
				want := map[string]string{"maxOffset": "99", "minOffset": "0", "nextBeginOffset": "6", "suggestWhichBrokerId": "0"}
				if !maps.Equal(a.fields, want) || a.Code != 0 || string(a.Remark) != "FOUND" || a.Opaque != 3 {
					t.Errorf("answer %+v %v", a.Header, a.fields)
				}
				if !bytes.Equal(a.body, bytes.Join(tt.chunks, nil)) {
					t.Errorf("body of %d bytes differs", len(a.body))
				}
				got := puller.pulls()[0]
				if got.Group != "cg" || got.Topic != "T" || got.QueueID != 1 || got.Offset != 5 || got.MaxNum != 32 || !got.Commit ||
					!got.Suspend || got.HasSubscription || got.CommitOffset != 4 || got.SuspendTimeout != 15*time.Second ||
					got.SubVersion != 7 || got.Expression != (filter.Expression{Type: "TAG"}) || got.MaxBytes != 0 {
					t.Errorf("pull %+v", got)
				}
				ctx := t.Context()
				_ = e.Stop(ctx)
				if puller.released() != len(tt.chunks) {
					t.Errorf("%d references released, want %d", puller.released(), len(tt.chunks))
				}
			})
		}
	}
}

func TestHeldPullIsAnsweredLater(t *testing.T) {
	puller := &fakePuller{hold: true, held: make(chan *transport.Pull, 1), chunks: [][]byte{[]byte("record")}}
	e := start(t, transport.Handlers{Puller: puller, Sender: newFakeSender()}, nil)
	p := dial(t, e)
	p.write(frame(t, wire.Binary, wire.CodePullMessage, 3, 0, pullExt("T"), nil))
	held := <-puller.held
	p.write(frame(t, wire.JSON, wire.CodeSendMessageV2, 4, 0, sendExt("T"), nil))
	if a := p.read(); a.Opaque != 4 {
		t.Fatalf("answer to %d, want the send's", a.Opaque)
	}
	puller.answer(held)
	if a := p.read(); a.Opaque != 3 || a.Type != wire.Binary || string(a.body) != "record" {
		t.Errorf("answer %+v %q", a.Header, a.body)
	}
}

func TestPullRefusals(t *testing.T) {
	e := start(t, transport.Handlers{Puller: &fakePuller{hold: true, held: make(chan *transport.Pull, 4)}}, func(c *Config) { c.MaxPulls = 1 })
	p := dial(t, e)
	ext := pullExt("T")
	delete(ext, "subVersion")
	p.write(frame(t, wire.JSON, wire.CodePullMessage, 1, 0, ext, nil))
	if a := p.read(); a.Code != 1 || string(a.Remark) != "the request has no field subVersion" {
		t.Errorf("answer %d %q", a.Code, a.Remark)
	}
	p.write(frame(t, wire.JSON, wire.CodePullMessage, 2, 0, pullExt("T"), nil))
	p.write(frame(t, wire.JSON, wire.CodePullMessage, 3, 0, pullExt("T"), nil))
	if a := p.read(); a.Opaque != 3 || a.Code != int32(message.SystemBusy) {
		t.Errorf("answer to %d: %d %q", a.Opaque, a.Code, a.Remark)
	}
}

func TestRecordsOfAClosedConnectionAreReleased(t *testing.T) {
	puller := &fakePuller{hold: true, held: make(chan *transport.Pull, 1), chunks: [][]byte{make([]byte, 8<<10)}}
	e := start(t, transport.Handlers{Puller: puller}, nil)
	p := dial(t, e)
	p.write(frame(t, wire.JSON, wire.CodePullMessage, 1, 0, pullExt("T"), nil))
	held := <-puller.held
	held.Caller.Session.Close("test")
	p.closed()
	puller.answer(held)
	if puller.released() != 1 {
		t.Errorf("%d references released, want 1", puller.released())
	}
}
