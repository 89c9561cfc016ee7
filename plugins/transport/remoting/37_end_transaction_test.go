package remoting

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
)

// fakeTransactor notes how many decisions come together, and answers with code 1 those that are neither commit nor rollback.
type fakeTransactor struct {
	transport.Transactor
	panics bool

	mu      sync.Mutex // guards all below
	batches []int
	groups  []string
}

func (f *fakeTransactor) EndTransactions(_ context.Context, b *transport.EndBatch) {
	if f.panics {
		panic("a bug")
	}
	f.mu.Lock()
	f.batches = append(f.batches, len(b.Ends))
	for i := range b.Ends {
		e := &b.Ends[i]
		f.groups = append(f.groups, string(e.ProducerGroup))
		if e.Decision == 0 {
			e.Code, e.Remark = message.SystemError, "undecided"
		}
	}
	f.mu.Unlock()
	b.Reply.EndsDone(b)
}

func endExt(group, decision string) map[string]string {
	return map[string]string{"producerGroup": group, "tranStateTableOffset": "3", "commitLogOffset": "4096", "commitOrRollback": decision, "msgId": "x"}
}

// TestEndsThatArriveTogetherAreOneBatch has sends, a one-way decision and one that can't be read between them.
func TestEndsThatArriveTogetherAreOneBatch(t *testing.T) {
	for _, typ := range []wire.Type{wire.JSON, wire.Binary} {
		sender, trans := newFakeSender(), &fakeTransactor{}
		e := start(t, transport.Handlers{Sender: sender, Trans: trans}, nil)
		p := dial(t, e)
		bad := endExt("g", "8")
		delete(bad, "commitLogOffset")
		var all []byte
		for i, f := range []struct {
			code, flag int32
			ext        map[string]string
		}{
			{wire.CodeSendMessageV2, 0, sendExt("T")},
			{wire.CodeEndTransaction, 0, endExt("g1", "8")},
			{wire.CodeSendMessageV2, 0, sendExt("T")},
			{wire.CodeEndTransaction, wire.FlagOneway, endExt("g2", "12")},
			{wire.CodeEndTransaction, 0, bad},
			{wire.CodeEndTransaction, wire.FlagOneway, bad},
			{wire.CodeEndTransaction, 0, endExt("g3", "0")},
		} {
			all = append(all, frame(t, typ, f.code, int32(i), f.flag, f.ext, nil)...)
		}
		p.write(all)
		got := map[int32]string{}
		for range 5 {
			a := p.read()
			if a.Type != typ {
				t.Errorf("answer in %v, want %v", a.Type, typ)
			}
			got[a.Opaque] = message.Code(a.Code).String() + " " + string(a.Remark)
		}
		for opaque, want := range map[int32]string{
			0: "SUCCESS ", 1: "SUCCESS ", 2: "SUCCESS ", 4: "SYSTEM_ERROR the request has no field commitLogOffset", 6: "SYSTEM_ERROR undecided",
		} {
			if got[opaque] != want {
				t.Errorf("%v: answer %d is %q, want %q", typ, opaque, got[opaque], want)
			}
		}
		trans.mu.Lock()
		if len(trans.batches) != 1 || trans.batches[0] != 3 || strings.Join(trans.groups, " ") != "g1 g2 g3" {
			t.Errorf("%v: batches %v of groups %v, want one of g1, g2 and g3", typ, trans.batches, trans.groups)
		}
		trans.mu.Unlock()
		sender.mu.Lock()
		if len(sender.batches) != 1 || sender.batches[0] != 2 {
			t.Errorf("%v: batches of sends %v, want one of 2", typ, sender.batches)
		}
		sender.mu.Unlock()
	}
}

func TestEndThatPanicsIsAnswered(t *testing.T) {
	e := start(t, transport.Handlers{Trans: &fakeTransactor{panics: true}}, nil)
	p := dial(t, e)
	for opaque := range int32(2) { // the connection lives on
		p.write(frame(t, wire.JSON, wire.CodeEndTransaction, opaque, 0, endExt("g", "8"), nil))
		a := p.read()
		if a.Opaque != opaque || a.Code != int32(message.SystemError) || string(a.Remark) != "ending the transaction failed inside the broker: a bug" {
			t.Errorf("answer %+v %q", a.Header, a.Remark)
		}
	}
	if e.metrics.panics.Load() != 2 {
		t.Errorf("%d panics counted", e.metrics.panics.Load())
	}
}
