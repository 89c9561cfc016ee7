package wasm

import (
	"context"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/weirmq/weir/core/filter"
)

// benchMessages are what the threshold and geo examples judge: six properties and a body of 256 bytes; one in ten matches.
func benchMessages(b *testing.B, n int) *filter.Batch {
	b.Helper()
	batch := &filter.Batch{Topic: "bench"}
	for i := range n {
		x := Test{Props: map[string]string{"amount": fmt.Sprint(i % 111), "region": "eu", "lat": "52.5", "lon": fmt.Sprint(13 + i%10),
			"UNIQ_KEY": "7F000001000018B4AAC2123456780000", "WAIT": "true"}, Body: string(make([]byte, 256))}
		rec, err := x.record()
		if err != nil {
			b.Fatal(err)
		}
		batch.Records, batch.TagsCodes = append(batch.Records, rec), append(batch.TagsCodes, 0)
	}
	return batch
}

// BenchmarkMatch judges batches as the queue does: layout, call, verdicts. It reports the time of a message.
func BenchmarkMatch(b *testing.B) {
	for _, example := range []struct{ name, config string }{{"threshold", "limit=100"}, {"geo", "south=52&west=13&north=53&east=13.5"}} {
		for language, path := range guests(b, example.name) {
			for _, n := range []int{1, 256, 1024} {
				b.Run(fmt.Sprintf("%s/%s/batch=%d", example.name, language, n), func(b *testing.B) {
					bin, err := os.ReadFile(path)
					if err != nil {
						b.Fatal(err)
					}
					c, err := open(b, bin, nil)
					if err != nil {
						b.Fatal(err)
					}
					p, err := c.Compile(context.Background(), expr("guest?"+example.config))
					if err != nil {
						b.Fatal(err)
					}
					batch := benchMessages(b, n)
					var v filter.Verdicts
					b.ReportAllocs()
					for b.Loop() {
						v.Reset(n)
						if err := p.Match(context.Background(), batch, &v); err != nil {
							b.Fatal(err)
						}
					}
					if countSet(v.Undecided) > 0 {
						b.Fatal(p.(*program).Fault())
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/message")
				})
			}
		}
	}
}

// BenchmarkOverhead calls the examples with and without counting, on one batch of 1024 messages that lies ready, and
// reports how many times longer the call takes with it.
func BenchmarkOverhead(b *testing.B) {
	for _, example := range []string{"threshold", "geo", "json"} {
		for language, path := range guests(b, example) {
			b.Run(example+"/"+language, func(b *testing.B) {
				bin, err := os.ReadFile(path)
				if err != nil {
					b.Fatal(err)
				}
				o := newOverhead(b, bin, example)
				for b.Loop() {
					o.round(b)
				}
				b.ReportMetric(o.best[0], "ns/message-plain")
				b.ReportMetric(o.best[1], "ns/message-metered")
				b.ReportMetric(o.best[1]/o.best[0], "times")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// BenchmarkCall calls the functions of places as SQL92 does: layout of the arguments, call, values, 64 messages at a time. It
// reports the time of a message.
func BenchmarkCall(b *testing.B) {
	for language, path := range guests(b, "places") {
		for _, name := range []string{"within", "apart", "share"} {
			b.Run(name+"/"+language, func(b *testing.B) {
				bin, err := os.ReadFile(path)
				if err != nil {
					b.Fatal(err)
				}
				c, err := open(b, bin, nil)
				if err != nil {
					b.Fatal(err)
				}
				f, err := c.Function(context.Background(), name)
				if err != nil {
					b.Fatal(err)
				}
				call := &filter.Call{Want: ^uint64(0), Batch: &filter.Batch{Topic: "bench"}, Args: make([]filter.Argument, len(f.Arguments())), Kinds: f.Arguments()}
				for k := range call.Args {
					for i := range filter.ColumnsMax {
						call.Args[k].Texts[i] = []byte("customer-0001")
						call.Args[k].Numbers[i] = int64(math.Float64bits(float64(10*k) + float64(i)))
					}
				}
				last := &call.Args[len(call.Args)-1] // the literal
				switch last.Constant = true; name {
				case "within":
					last.Texts[0] = []byte("berlin")
				case "share":
					last.Numbers[0] = 100
				}
				var r filter.Values
				b.ReportAllocs()
				for b.Loop() {
					r.Reset()
					if err := f.Call(context.Background(), call, &r); err != nil {
						b.Fatal(err)
					}
				}
				if r.Failed|r.Raise|r.Unknown != 0 {
					b.Fatalf("%+v: %v", r, f.Fault())
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/filter.ColumnsMax, "ns/message")
			})
		}
	}
}
