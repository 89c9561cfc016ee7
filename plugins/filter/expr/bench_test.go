package expr

import (
	"fmt"
	"testing"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
)

// benchmarks are typical expressions, from cheap to dear.
var benchmarks = []struct{ name, text string }{
	{"number", `num("amount") > 500`},
	{"two", `num("amount") > 500 and str("region") == "eu"`},
	{"in ten", `str("region") in ["a", "b", "c", "d", "e", "f", "g", "eu", "us", "jp"]`},
	{"six", `num("amount") > 500 and str("region") == "eu" or has("vip") and int("level") >= 3 or tags == "t3" or "k7" in keys`},
	{"missing", `num("nosuch") > 500 and str("region") == "eu"`},
	{"raise", `num("region") > 500`},
	{"arithmetic", `num("amount") * num("price") > 5000`},
	{"text functions", `lower(str("region")) startsWith "e" and len(str("user")) > 3`},
	{"machine, two", `(num("amount") + 0) > 500 and (str("region") + "") == "eu"`},
	{"machine, missing", `num("nosuch") * 2 > 500 and str("region") == "eu"`},
	{"machine, raise", `num("region") * 2 > 500`},
	{"json", `json("order.total") > 500`},
	{"json, loop", `any(json("order.items"), .price > 90)`},
	{"body", `body contains "\"total\":7"`},
}

// backlog is a batch of messages with six properties and a JSON body of 200 bytes.
func backlog(tb testing.TB) *filter.Batch {
	b := &filter.Batch{}
	for i := range filter.BatchMax {
		b.TagsCodes = append(b.TagsCodes, 0)
		b.Records = append(b.Records, record(tb, func(m *message.Message) {
			m.Body = fmt.Appendf(nil, `{"id":%d,"customer":{"name":"Somebody Or Other","city":"Berlin"},"order":{"items":[{"sku":"a1","price":%d},{"sku":"b2","price":%d}],"total":%d},"note":"%050d"}`, i, i%97, i%89, i, i)
		}, fmt.Sprintf("amount=%d.5", i), "region="+[]string{"eu", "us", "jp", "cn"}[i%4], fmt.Sprintf("price=%d", i%50), fmt.Sprintf("user=u%d", i*7919),
			fmt.Sprintf("level=%d", i%5), fmt.Sprintf("KEYS=k%d o%d", i%16, i), fmt.Sprintf("TAGS=t%d", i%8)))
	}
	return b
}

func BenchmarkMatch(b *testing.B) {
	batch := backlog(b)
	for _, x := range benchmarks {
		b.Run(x.name, func(b *testing.B) {
			p := compile(b, x.text)
			var v filter.Verdicts
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				v.Reset(batch.Len())
				if err := p.Match(b.Context(), batch, &v); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batch.Len()), "ns/record")
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	c := newCompiler(b, nil)
	for _, x := range benchmarks[:8] {
		b.Run(x.name, func(b *testing.B) {
			for range b.N {
				if _, err := c.Compile(b.Context(), expression(x.text)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestAllocations wants at most two allocations for a message, and none for plain comparisons.
func TestAllocations(t *testing.T) {
	if raceDetector {
		t.Skip("under the race detector pools drop what they hold, and so nothing is reused")
	}
	batch := backlog(t)
	for _, x := range benchmarks {
		p := compile(t, x.text)
		var v filter.Verdicts
		per := testing.AllocsPerRun(5, func() {
			v.Reset(batch.Len())
			if err := p.Match(t.Context(), batch, &v); err != nil {
				t.Fatal(err)
			}
		}) / float64(batch.Len())
		most := map[string]float64{"text functions": 5, "machine, two": 5, "machine, missing": 1, "machine, raise": 2, "json, loop": 25}[x.name]
		t.Log(x.name, per)
		if per > most+0.01 { // the first round fills the pool
			t.Errorf("%s: %.2f allocations a message, at most %v", x.name, per, most)
		}
	}
}
