package sql92

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
)

// backlog makes messages of 256 bytes of body and 6 properties of their own, with those that the client and the broker add.
func backlog(n int) *filter.Batch {
	r := rand.New(rand.NewPCG(1, 2))
	b := &filter.Batch{Topic: "T", TagsCodes: make([]int64, n)}
	regions := []string{"eu-north", "eu-west", "us-east", "us-west", "ap-south", "sa-east", "af-south", "me-central", "ca-central", "eu-south"}
	for i := range n {
		var p message.Properties
		p = message.AppendProperty(p, "region", regions[r.IntN(len(regions))])
		p = message.AppendProperty(p, "UNIQ_KEY", fmt.Sprintf("7F0000010EA818B4AAC20B1A2C3D%04X", i))
		p = message.AppendProperty(p, "CLUSTER", "DefaultCluster")
		p = message.AppendProperty(p, "amount", fmt.Sprint(r.IntN(1000)))
		p = message.AppendProperty(p, "customer", fmt.Sprintf("customer-%d", r.IntN(10_000)))
		p = message.AppendProperty(p, "price", fmt.Sprintf("%d.%02d", r.IntN(100), r.IntN(100)))
		p = message.AppendProperty(p, "TAGS", "TagA")
		p = message.AppendProperty(p, "kind", "order")
		p = message.AppendProperty(p, "seq", fmt.Sprint(i))
		rec, err := message.AppendRecord(nil, &message.Message{Topic: "BenchTopic", BornHost: host, StoreHost: host, Body: make([]byte, 256), Properties: p})
		if err != nil {
			panic(err)
		}
		b.Records = append(b.Records, rec)
	}
	return b
}

// BenchmarkMatch judges a batch and reports nanoseconds a record.
func BenchmarkMatch(b *testing.B) {
	for _, x := range []struct{ name, text string }{
		{"one text", "region = 'eu-west'"},
		{"two predicates", "amount > 990 AND region = 'eu-west'"},
		{"two predicates, ten percent", "amount > 899 AND price < 100.5"},
		{"between and text", "amount BETWEEN 100 AND 200 AND kind = 'order'"},
		{"in of ten", "region IN ('eu-north','eu-1','eu-2','us-3','us-4','ap-5','sa-6','af-7','me-8','ca-9')"},
		{"missing", "nothing = 'here'"},
	} {
		for _, engine := range engines {
			b.Run(x.name+"/"+engine, func(b *testing.B) {
				p, err := compilerOf(engine, "rocketmq").Compile(context.Background(), filter.Expression{Type: filter.TypeSQL92, Text: x.text})
				if err != nil {
					b.Fatal(err)
				}
				batch := backlog(filter.BatchMax)
				var v filter.Verdicts
				b.ReportAllocs()
				for b.Loop() {
					v.Reset(batch.Len())
					if err := p.Match(context.Background(), batch, &v); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/filter.BatchMax, "ns/record")
			})
		}
	}
}
