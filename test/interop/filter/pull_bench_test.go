package filter

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/sdk/brokertest"
	"github.com/weirmq/weir/sdk/client"
)

// BenchmarkPull reads a backlog of messages with 256 bytes and six properties by pulls, through a broker of its own, until
// the queue ends, and reports entries looked at a second and the processor's time for each, the client's share included:
// once with a broker that asks the filters at each pull, and once with one that keeps their verdicts, where all but the
// first reading walks over bits.
func BenchmarkPull(b *testing.B) {
	for _, keep := range []string{"false", "true"} {
		b.Run("kept="+keep, func(b *testing.B) { benchmarkPull(b, keep) })
	}
}

func benchmarkPull(b *testing.B, keep string) {
	const backlog = 200_000
	br := brokertest.Start(b, brokertest.Set("store.segment_size", "256MiB"), brokertest.Set("queues.verdicts.enabled", keep))
	c := client.New(client.Options{NameServers: []string{br.NameServer()}, Timeout: 30 * time.Second})
	defer c.Close()
	q := fill(b, c, br.Addr(), backlog)
	for _, x := range []struct{ name, kind, text string }{
		{"everything", message.ExpressionTag, "*"},
		{"tag/0%", message.ExpressionTag, "nothing"},
		{"two predicates/0%", message.ExpressionSQL92, "amount > 999 AND region = 'eu-west'"},
		{"two predicates/1%", message.ExpressionSQL92, "amount >= 900 AND region = 'eu-west'"},
		{"two predicates/10%", message.ExpressionSQL92, "amount >= 0 AND region = 'eu-west'"},
		{"a tag that nothing has, and a predicate", message.ExpressionSQL92, "TAGS = 'TagZ' AND amount >= 900"},
		{"in of ten/0%", message.ExpressionSQL92, "region IN ('eu-0','eu-1','eu-2','us-3','us-4','ap-5','sa-6','af-7','me-8','ca-9')"},
		{"in of ten/10%", message.ExpressionSQL92, "region IN ('eu-west','eu-1','eu-2','us-3','us-4','ap-5','sa-6','af-7','me-8','ca-9')"},
	} {
		b.Run(x.name, func(b *testing.B) {
			sub := &client.Subscription{Topic: q.Topic, Type: x.kind, Expression: x.text}
			cpu, matched := cpuTime(b), 0
			for b.Loop() {
				matched = 0
				for offset := int64(0); offset < backlog; {
					r, err := c.Pull(context.Background(), client.PullRequest{Queue: q, Group: "bench", Offset: offset, Max: 1024, Commit: -1, Subscription: sub})
					if err != nil {
						b.Fatal(err)
					}
					matched += len(r.Messages)
					offset = r.Next
				}
			}
			scanned := float64(b.N) * backlog
			b.ReportMetric(scanned/b.Elapsed().Seconds()/1e6, "Mentries/s")
			b.ReportMetric(float64((cpuTime(b)-cpu).Nanoseconds())/scanned, "cpu-ns/entry")
			b.ReportMetric(float64(matched)/backlog*100, "%matched")
		})
	}
}

func fill(b *testing.B, c *client.Client, addr string, n int) client.Queue {
	r := rand.New(rand.NewPCG(1, 2))
	regions := []string{"eu-north", "eu-west", "us-east", "us-west", "ap-south", "sa-east", "af-south", "me-central", "ca-central", "eu-south"}
	p := c.Producer("bench")
	q := client.Queue{Topic: "BenchFilter", Broker: "broker-a", Addr: addr}
	for sent := 0; sent < n; {
		var batch []*client.Message
		for range min(200, n-sent) {
			batch = append(batch, &client.Message{Topic: q.Topic, Tag: "TagA", QueueKey: "one", Body: make([]byte, 256), Properties: map[string]string{
				"region": regions[r.IntN(len(regions))], "amount": fmt.Sprint(r.IntN(1000)), "customer": fmt.Sprint("customer-", r.IntN(10_000)),
				"price": fmt.Sprintf("%d.%02d", r.IntN(100), r.IntN(100)), "kind": "order", "seq": fmt.Sprint(sent),
			}})
		}
		res, err := p.SendBatch(context.Background(), batch)
		if err != nil {
			b.Fatal(err)
		}
		q.ID = res.Queue.ID
		sent += len(batch)
	}
	return q
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
