package filter

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/sdk/brokertest"
	"github.com/weirmq/weir/sdk/client"
)

// BenchmarkSend sends batches of 100 messages with 256 bytes and six properties to a topic for which a number of filters
// are live, so that each message is judged when it is dispatched. It reports messages a second and the processor's time for
// each, the client's share included.
func BenchmarkSend(b *testing.B) {
	for _, filters := range []int{0, 1, 16, 64} {
		b.Run(fmt.Sprintf("filters=%d", filters), func(b *testing.B) {
			br := brokertest.Start(b, brokertest.Set("store.segment_size", "256MiB"))
			c := client.New(client.Options{NameServers: []string{br.NameServer()}, Timeout: 30 * time.Second})
			defer c.Close()
			q := fill(b, c, br.Addr(), 200)
			for i := range filters {
				sub := &client.Subscription{Topic: q.Topic, Type: message.ExpressionSQL92, Expression: fmt.Sprintf("amount > %d AND region = 'eu-west'", 900+i)}
				if _, err := c.Pull(context.Background(), client.PullRequest{Queue: q, Group: "bench", Max: 32, Commit: -1, Subscription: sub}); err != nil {
					b.Fatal(err)
				}
			}
			var batch []*client.Message
			for i := range 100 {
				batch = append(batch, &client.Message{Topic: q.Topic, Tag: "TagA", QueueKey: "one", Body: make([]byte, 256), Properties: map[string]string{
					"region": "eu-west", "amount": fmt.Sprint(i * 10), "customer": "customer-1234", "price": "12.34", "kind": "order", "seq": fmt.Sprint(i),
				}})
			}
			p := c.Producer("bench")
			cpu := cpuTime(b)
			b.SetParallelism(8)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := p.SendBatch(context.Background(), batch); err != nil {
						b.Error(err)
						return
					}
				}
			})
			n := float64(b.N * len(batch))
			b.ReportMetric(n/b.Elapsed().Seconds()/1e3, "kmsg/s")
			b.ReportMetric(float64((cpuTime(b)-cpu).Nanoseconds())/n, "cpu-ns/msg")
		})
	}
}
