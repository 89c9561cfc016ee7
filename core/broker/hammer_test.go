package broker

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/queue"
	"github.com/weirmq/weir/core/transport"
)

// TestHammer does everything at once: producers send to topics that stay and to one that is deleted again and again,
// consumers join, wait for messages and leave in the middle of it, operators look and change. Afterwards every message that
// was acknowledged in a topic that stayed is there, in dense offsets, and a restart finds the same.
func TestHammer(t *testing.T) {
	const rounds, producers, consumers = 60, 4, 4
	w := newWorld()
	n := w.start(t)
	n.putTopic("Stays", 2)
	ctx := context.Background()
	var acknowledged [2]atomic.Int64 // by queue
	var all sync.WaitGroup
	for p := range producers {
		all.Go(func() {
			done := make(sendDone, 1)
			s := newSession(fmt.Sprintf("10.0.1.%d:1", p))
			b := &transport.SendBatch{Session: s, Reply: done}
			for i := range rounds {
				b.Sends = b.Sends[:0]
				for j := range 8 {
					topic := "Stays"
					if j == 7 {
						topic = "Goes"
					}
					one := newSend(topic, fmt.Sprintf("%d %d %d", p, i, j))
					one.QueueID = message.QueueID(j % 2)
					b.Sends = append(b.Sends, one)
				}
				n.h.Sender.Send(ctx, b)
				got := await(t, done)
				for j := range got.Sends {
					switch d := &got.Sends[j]; {
					case d.Code == message.Success && j != 7:
						acknowledged[d.AnsweredQueueID].Add(1)
					case d.Code != message.Success && j != 7:
						t.Errorf("send: %v %s", d.Code, d.Remark)
					}
				}
			}
		})
	}
	for k := range consumers {
		all.Go(func() {
			for i := range rounds {
				s := newSession(fmt.Sprintf("10.0.2.%d:%d", k, i+1))
				n.heartbeat(s, fmt.Sprintf("c%d-%d", k, i))
				for _, topic := range []string{"Stays", "T", "Goes"} {
					done := make(pullDone, 1)
					p := &transport.Pull{Caller: *caller(s), Reply: done, Group: "g", Topic: topic, Offset: message.Offset(i), MaxNum: 8,
						Suspend: true, SuspendTimeout: time.Minute, HasSubscription: true, Commit: true, CommitOffset: message.Offset(i)}
					p.Expression.Type, p.Expression.Text = "TAG", "*"
					n.h.Puller.Pull(ctx, p)
					select {
					case p := <-done:
						p.Records.Release()
					default: // it waits
					}
				}
				if i%2 == 0 {
					_ = n.h.Groups.Unregister(ctx, caller(s), "", "", "g")
				}
				n.h.Sessions.SessionClosed(s)
			}
		})
	}
	all.Go(func() {
		c := caller(newSession("10.0.3.1:1"))
		for i := range rounds {
			_ = n.h.Topics.DeleteTopic(ctx, c, "Goes")
			_, _ = n.h.Broker.RuntimeInfo(ctx, c)
			_ = n.h.Broker.UpdateConfig(ctx, c, map[string]string{"brokerPermission": "6"})
			_, _ = n.h.Stats.TopicStats(ctx, c, "Goes")
			_, _ = n.h.Stats.ConsumeStats(ctx, c, "g", "")
			_, _ = w.names.h.Router.Route(ctx, c, "Goes")
			_ = n.h.GroupAd.PutGroup(ctx, c, transport.GroupConfig{Name: fmt.Sprint("g", i), ConsumeEnable: true})
			_, _ = n.h.GroupAd.ResetOffsets(ctx, c, "Stays", "g", -1, true, false)
			_, _ = n.h.Stats.Counter(ctx, c, string(queue.TopicPutNums), "Stays")
		}
	})
	all.Wait()
	select {
	case err := <-n.b.Done():
		t.Fatalf("the broker failed: %v", err)
	default:
	}
	check := func() {
		t.Helper()
		for id := range acknowledged {
			want := message.Offset(acknowledged[id].Load())
			n.eventuallyVisible("Stays", message.QueueID(id), 1)
			for from := message.Offset(0); from < want; {
				p := n.pull("checker", "Stays", message.QueueID(id), from)
				if p.Code == message.PullNotFound { // it is on its way
					continue
				}
				if p.Code != message.Success || p.NextBeginOffset != from+message.Offset(p.Records.Count) {
					t.Fatalf("queue %d from %d: %v %s, next %d", id, from, p.Code, p.Remark, p.NextBeginOffset)
				}
				from = p.NextBeginOffset
				p.Records.Release()
			}
			if end, err := n.h.Querier.MaxOffset(ctx, caller(newSession("10.0.3.1:1")), message.QueueKey{Topic: "Stays", ID: message.QueueID(id)}); end != want || err != nil {
				t.Errorf("queue %d ends at %d, %v; %d messages were acknowledged", id, end, err, want)
			}
		}
	}
	check()
	n = n.restart()
	check()
}
