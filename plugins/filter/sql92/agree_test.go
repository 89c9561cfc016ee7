package sql92

import (
	"context"
	"testing"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/filter/filtertest"
	"github.com/weirmq/weir/plugins/filter/sql92/sql92test"
)

// TestEnginesAgree judges random messages with random expressions on every engine: a million pairs, a tenth with -short.
// Each expression judges a batch of an odd number of messages, as a program and through columns that several programs
// share.
func TestEnginesAgree(t *testing.T) {
	pairs := 1_000_000
	if testing.Short() {
		pairs = 100_000
	}
	for _, dialect := range []string{"rocketmq", "rocketmq5", "strict"} {
		t.Run(dialect, func(t *testing.T) {
			g := sql92test.New(20260101)
			g.Five = dialect == "rocketmq5"
			next := g.Expression
			if dialect == "strict" {
				next = g.StrictExpression
			}
			agree(t, g, next, dialect, pairs/3)
		})
	}
}

func agree(t *testing.T, g *sql92test.Generator, next func() string, dialect string, pairs int) {
	const messages = 97
	vector, reference := compilerOf(engineVector, dialect), compilerOf(engineClosure, dialect)
	seen := map[filtertest.Outcome]int{}
	compiled, refused := 0, 0
	for done := 0; done < pairs; done += messages {
		text := next()
		e := filter.Expression{Type: filter.TypeSQL92, Text: text}
		p, err := vector.Compile(context.Background(), e)
		q, errQ := reference.Compile(context.Background(), e)
		if (err == nil) != (errQ == nil) {
			t.Fatalf("%q: %v and %v", text, err, errQ)
		}
		if err != nil {
			refused++
			continue
		}
		compiled++
		b := &filter.Batch{}
		for range messages {
			b.Records = append(b.Records, recordOf(g.Properties()))
			b.TagsCodes = append(b.TagsCodes, 0)
		}
		got, want, shared := judgeAll(t, p, b), judgeAll(t, q, b), judgeShared(p, b)
		for i := range want {
			if got[i] != want[i] || shared[i] != want[i] {
				t.Fatalf("%q of %q: vector says %s, through columns %s, closure %s\n%s", text, b.Records[i], got[i], shared[i], want[i], treeOf(t, text, vector))
			}
			seen[want[i]]++
			if dialect == "strict" && want[i] == filtertest.Raise {
				t.Fatalf("%q raises", text)
			}
		}
	}
	t.Logf("%d expressions compiled, %d refused; outcomes %v", compiled, refused, seen)
	if len(seen) != 4 && dialect != "strict" || refused == 0 || refused > compiled {
		t.Errorf("the generator covers too little: %d compiled, %d refused, outcomes %v", compiled, refused, seen)
	}
}

// judgeShared judges by a layout that has other columns too.
func judgeShared(p filter.Program, b *filter.Batch) []filtertest.Outcome {
	m := p.(filter.ColumnMatcher)
	others := []filter.Column{{Property: "zz"}, {Property: "a", Kind: filter.Double}, {Property: "b"}, {Property: "TAGS"}}
	layout := filter.NewLayout(filter.Union(others, m.Columns()))
	at, _ := layout.Bind(m.Columns())
	c := filter.NewColumns(layout)
	out := make([]filtertest.Outcome, 0, b.Len())
	for first := 0; first < b.Len(); first += filter.ColumnsMax {
		records := b.Records[first:min(first+filter.ColumnsMax, b.Len())]
		c.Load(records)
		w := m.MatchColumns(c, at, ^uint64(0)>>(filter.ColumnsMax-len(records)))
		for i := range records {
			switch {
			case w.True>>i&1 != 0:
				out = append(out, filtertest.True)
			case w.Unknown>>i&1 != 0:
				out = append(out, filtertest.Unknown)
			case w.Raise>>i&1 != 0:
				out = append(out, filtertest.Raise)
			default:
				out = append(out, filtertest.False)
			}
		}
	}
	return out
}
