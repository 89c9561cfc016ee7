package broker

import (
	"context"
	"testing"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// fastWorld is a world on the real disk, as allocations in the fake one don't count.
func fastWorld(t testing.TB) *world {
	w := newWorld()
	w.fs, w.cfg.DataDir = vfs.OS{}, t.TempDir()
	w.sec.Store.SegmentSize = 256 << 20
	w.sec.Store.ConsumeQueueEntries = 300_000
	w.sec.Store.DiskRefuse, w.sec.Store.DiskClean, w.sec.Store.DiskMaxUsed = 1, 1, 1
	return w
}

// typicalProperties are what a Java producer sends along with a message that has a tag and a key.
var typicalProperties = props("KEYS", "order-4711", "UNIQ_KEY", "7F00000142F44E0E2F2A007B78B00000", "WAIT", "true", "TAGS", "paid")

// newBatch makes a batch of n sends as a transport would keep it for a connection.
func newBatch(n int, reply transport.SendReply) *transport.SendBatch {
	b := &transport.SendBatch{Session: newSession("10.0.0.2:50000"), Reply: reply, Sends: make([]transport.Send, n)}
	body := make([]byte, 1024)
	for i := range b.Sends {
		b.Sends[i] = newSend("T", "")
		b.Sends[i].Body, b.Sends[i].Properties = body, typicalProperties
	}
	return b
}

// TestSendsAllocateNothing sends batches of 64, as they are found together in a busy connection's buffer, and counts the
// allocations of the whole process meanwhile: dispatching and flushing, too.
func TestSendsAllocateNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	n := fastWorld(t).start(t)
	n.putTopic("T", 1)
	done := make(sendDone, 1)
	const size = 64
	b := newBatch(size, done)
	round := func() {
		n.h.Sender.Send(context.Background(), b)
		if s := &(<-done).Sends[size-1]; s.Code != message.Success {
			t.Fatal(s.Code, s.Remark)
		}
	}
	for range 50 { // pools, the arena and the first segments
		round()
	}
	perMessage := testing.AllocsPerRun(200, round) / size
	t.Logf("%.3f allocations per message", perMessage)
	if perMessage > 0.25 {
		t.Errorf("%.3f allocations per message, at most 1 is allowed and there were hardly any", perMessage)
	}
}

// TestSingleSendsAllocateLittle is the same for a producer that waits for each answer.
func TestSingleSendsAllocateLittle(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	n := fastWorld(t).start(t)
	n.putTopic("T", 1)
	done := make(sendDone, 1)
	b := newBatch(1, done)
	round := func() {
		n.h.Sender.Send(context.Background(), b)
		if s := &(<-done).Sends[0]; s.Code != message.Success {
			t.Fatal(s.Code, s.Remark)
		}
	}
	for range 200 {
		round()
	}
	if got := testing.AllocsPerRun(500, round); got > 1 {
		t.Errorf("%.3f allocations per message, at most 1 is allowed", got)
	}
}

// TestPullsAllocateLittle pulls 32 messages at a time, by the group's subscription and by one that comes with the pull.
func TestPullsAllocateLittle(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, own := range []bool{false, true} {
		n := fastWorld(t).start(t)
		n.putTopic("T", 1)
		done := make(sendDone, 1)
		for range 10 {
			n.h.Sender.Send(context.Background(), newBatch(64, done))
			<-done
		}
		n.eventuallyVisible("T", 0, 640)
		s := newSession("10.0.0.3:50001")
		n.heartbeat(s, "a")
		answered := make(pullDone, 1)
		p := &transport.Pull{Caller: *caller(s), Reply: answered, Group: "g", Topic: "T", MaxNum: 32, SubVersion: 1,
			HasSubscription: own, Expression: filter.Expression{Type: filter.TypeTag, Text: "paid || unpaid"}}
		round := func() {
			p.Code = 0
			n.h.Puller.Pull(context.Background(), p)
			if got := <-answered; got.Code != message.Success || got.Records.Count != 32 {
				t.Fatal(got.Code, got.Remark, got.Records.Count)
			}
			p.Records.Release()
		}
		for range 50 {
			round()
		}
		perMessage := testing.AllocsPerRun(200, round) / 32
		t.Logf("own subscription %v: %.3f allocations per message", own, perMessage)
		if perMessage > 0.25 {
			t.Errorf("own subscription %v: %.3f allocations per message", own, perMessage)
		}
	}
}

// BenchmarkSend is the way of a batch of 64 messages of 1 KiB through the broker, without a transport.
func BenchmarkSend(b *testing.B) {
	n := fastWorld(b).start(b)
	n.t = b
	if err := n.h.Topics.PutTopic(context.Background(), caller(newSession("10.0.0.1:1")),
		transport.TopicConfig{Name: "T", ReadQueues: 1, WriteQueues: 1, Perm: 6}); err != nil {
		b.Fatal(err)
	}
	done := make(sendDone, 1)
	batch := newBatch(64, done)
	b.ReportAllocs()
	b.SetBytes(64 * 1024)
	for b.Loop() {
		n.h.Sender.Send(context.Background(), batch)
		<-done
	}
}
