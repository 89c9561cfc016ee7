package broker

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// halves sends n half messages to T and returns commits of them.
func (n *node) halves(count int) []transport.EndTransaction {
	n.t.Helper()
	done := make(sendDone, 1)
	b := newBatch(count, done)
	for i := range b.Sends {
		b.Sends[i].SysFlag = message.FlagPrepared
		b.Sends[i].Properties = props("TRAN_MSG", "true", "PGROUP", "g", "UNIQ_KEY", fmt.Sprintf("key-%d", i))
	}
	n.h.Sender.Send(context.Background(), b)
	ends := make([]transport.EndTransaction, count)
	for i, s := range (<-done).Sends {
		if s.Code != message.Success {
			n.t.Fatal(s.Code, s.Remark)
		}
		ends[i] = transport.EndTransaction{ProducerGroup: []byte("g"), Offset: s.QueueOffset, Position: s.Positions[0], Decision: message.FlagCommit}
	}
	return ends
}

// TestEndsOfABatch decides about several half messages at once: each gets its own answer, and nothing is stored twice.
func TestEndsOfABatch(t *testing.T) {
	n := newWorld().start(t)
	n.putTopic("T", 1)
	ends := n.halves(5)
	ends[1].Decision = message.FlagRollback
	ends[2].ProducerGroup = []byte("thieves")
	ends[3].Decision = 0 // unknown: it will be asked
	again := ends[0]
	gone := ends[0]
	gone.Position = 1 << 40
	ends = append(ends, again, gone)
	done := make(endDone, 1)
	b := &transport.EndBatch{Reply: done, Ends: ends}
	n.h.Trans.EndTransactions(context.Background(), b)
	<-done
	for i, want := range []string{"", "", "is of producer group g, not thieves", "", "", "", "there is no message at position"} {
		if e := &b.Ends[i]; (e.Code == message.Success) != (want == "") || !strings.Contains(e.Remark, want) {
			t.Errorf("decision %d: %v %q, want %q", i, e.Code, e.Remark, want)
		}
	}
	n.eventuallyVisible("T", 0, 2)
	op := message.QueueKey{Topic: message.TopicTransOp}
	if _, end, _ := n.b.handler.store.Bounds(op); end != 3 {
		t.Errorf("%d op messages, want 3", end)
	}
	b.Ends = []transport.EndTransaction{ends[1], ends[2]} // a late commit of what was rolled back, and of what nobody has decided
	b.Ends[0].Decision, b.Ends[1].ProducerGroup = message.FlagCommit, []byte("g")
	n.h.Trans.EndTransactions(context.Background(), b)
	<-done
	n.eventuallyVisible("T", 0, 3)
	if ids := fmt.Sprint(n.ids("T", 0)); ids != "[key-0 key-4 key-2]" {
		t.Errorf("committed are %s", ids)
	}
}

// TestTransactionsAllocateNothing sends 64 half messages at a time and commits them together, and counts the allocations of the whole process.
func TestTransactionsAllocateNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	n := fastWorld(t).start(t)
	n.putTopic("T", 1)
	const size = 64
	sent, done := make(sendDone, 1), make(endDone, 1)
	b := newBatch(size, sent)
	for i := range b.Sends {
		b.Sends[i].SysFlag = message.FlagPrepared
		b.Sends[i].Properties = message.AppendProperties(props("TRAN_MSG", "true", "PGROUP", "g"), typicalProperties)
	}
	ends := &transport.EndBatch{Reply: done, Ends: make([]transport.EndTransaction, size)}
	group := []byte("g")
	round := func() {
		n.h.Sender.Send(context.Background(), b)
		<-sent
		for i := range ends.Ends {
			s := &b.Sends[i]
			ends.Ends[i] = transport.EndTransaction{ProducerGroup: group, Offset: s.QueueOffset, Position: s.Positions[0], Decision: message.FlagCommit}
		}
		n.h.Trans.EndTransactions(context.Background(), ends)
		<-done
		if e := &ends.Ends[size-1]; e.Code != message.Success {
			t.Fatal(e.Code, e.Remark)
		}
	}
	for range 50 {
		round()
	}
	each := testing.AllocsPerRun(200, round) / size
	t.Logf("%.3f allocations per transaction", each)
	if each > 0.25 {
		t.Errorf("%.3f allocations per transaction, at most 0.25 are allowed", each)
	}
	if got := n.b.handler.transactions.Figures.Committed.Load(); got < 200*size {
		t.Errorf("%d committed", got)
	}
}
