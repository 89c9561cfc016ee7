package sql92

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"testing"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/filter/filtertest"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/plugins/internal/sqltree"
)

var host = netip.MustParseAddrPort("127.0.0.1:10911")

// recordOf encodes a message with properties.
func recordOf(props map[string]string) []byte {
	var p message.Properties
	for _, name := range slices.Sorted(maps.Keys(props)) {
		p = message.AppendProperty(p, name, props[name])
	}
	return recordWith(p)
}

func recordWith(p message.Properties) []byte {
	b, err := message.AppendRecord(nil, &message.Message{Topic: "T", BornHost: host, StoreHost: host, Properties: p})
	if err != nil {
		panic(err)
	}
	return b
}

func judgeAll(t testing.TB, p filter.Program, b *filter.Batch) []filtertest.Outcome {
	var v filter.Verdicts
	v.Reset(b.Len())
	if err := p.Match(context.Background(), b, &v); err != nil {
		t.Fatal(err)
	}
	out := make([]filtertest.Outcome, b.Len())
	for i := range out {
		for o, bits := range map[filtertest.Outcome][]uint64{
			filtertest.True: v.True, filtertest.Unknown: v.Unknown, filtertest.Raise: v.Raise, filtertest.Undecided: v.Undecided,
		} {
			if filter.HasBit(bits, i) {
				if out[i] != filtertest.False {
					t.Fatalf("message %d is both %s and %s", i, out[i], o)
				}
				out[i] = o
			}
		}
	}
	return out
}

func treeOf(t testing.TB, text string, c *compiler) *sqltree.Tree {
	tree, err := sqltree.Parse(context.Background(), text, sqltree.Dialect(c.cfg.Dialect), c.cfg.limits())
	if err != nil {
		t.Fatal(err)
	}
	return tree
}
