package sql92

import (
	"context"
	"os"
	"strconv"
	"testing"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/filter/filtertest"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/plugins/filter/sql92/sql92test"
)

// TestEnginesAgree judges random messages with random expressions on every engine: a million pairs, a tenth with -short and
// under the race detector,
// WEIR_FILTER_PAIRS of them if that is set.
// Each expression judges a batch of an odd number of messages, as a program and through columns that several programs
// share.
func TestEnginesAgree(t *testing.T) {
	pairs := 1_000_000
	if testing.Short() || raceEnabled {
		pairs = 100_000
	}
	if text := os.Getenv("WEIR_FILTER_PAIRS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("WEIR_FILTER_PAIRS=%s: want a number", text)
		}
		pairs = n
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
	var compilers []*compiler
	for _, engine := range engines {
		compilers = append(compilers, compilerOf(engine, dialect))
	}
	seen := map[filtertest.Outcome]int{}
	compiled, refused, indexed := 0, 0, 0
	for done := 0; done < pairs; done += messages {
		text := next()
		programs := compileAll(t, compilers, text)
		if programs == nil {
			refused++
			continue
		}
		compiled++
		b := &filter.Batch{}
		for range messages {
			p := g.Properties()
			b.Records = append(b.Records, recordOf(p))
			b.TagsCodes = append(b.TagsCodes, message.TagsCode(p[message.PropTags]))
		}
		want := judgeAll(t, programs[len(programs)-1], b)
		for e, p := range programs {
			got, shared := judgeAll(t, p, b), judgeShared(p, b)
			for i := range want {
				if got[i] != want[i] || shared[i] != want[i] {
					t.Fatalf("%q of %q: %s says %s, through columns %s, the reference %s\n%s",
						text, b.Records[i], engines[e], got[i], shared[i], want[i], treeOf(t, text, compilers[e]))
				}
			}
		}
		indexed += checkIndex(t, text, programs[0], b, want)
		for _, o := range want {
			seen[o]++
			if dialect == "strict" && o == filtertest.Raise {
				t.Fatalf("%q raises", text)
			}
		}
		closeAll(t, programs)
	}
	t.Logf("%d expressions compiled, %d refused; outcomes %v; %d messages ruled out by their tag", compiled, refused, seen, indexed)
	if indexed == 0 {
		t.Error("no message was ruled out by its tag")
	}
	if len(seen) != 4 && dialect != "strict" || refused == 0 || refused > compiled {
		t.Errorf("the generator covers too little: %d compiled, %d refused, outcomes %v", compiled, refused, seen)
	}
}

// checkIndex wants no message ruled out by its tag that matches, and returns how many were ruled out.
func checkIndex(t *testing.T, text string, p filter.Program, b *filter.Batch, want []filtertest.Outcome) (out int) {
	t.Helper()
	keep := []uint64{^uint64(0), ^uint64(0)}
	if p.(filter.IndexMatcher).MatchIndex(b.TagsCodes, keep) {
		t.Fatalf("%q: the tag alone decides", text)
	}
	for i, o := range want {
		if filter.HasBit(keep, i) {
			continue
		}
		if out++; o == filtertest.True {
			t.Fatalf("%q of %q: ruled out by its tag, but it matches", text, b.Records[i])
		}
	}
	return out
}

// compileAll compiles a text on every engine; nil when all refuse it, with the same words.
func compileAll(t testing.TB, compilers []*compiler, text string) (programs []filter.Program) {
	t.Helper()
	refusals := map[string]bool{}
	for i, c := range compilers {
		p, err := c.Compile(context.Background(), filter.Expression{Type: filter.TypeSQL92, Text: text})
		if err != nil {
			refusals[err.Error()] = true
			continue
		}
		if len(programs) < i {
			t.Fatalf("%q is refused by %s's predecessor: %v", text, engines[i], refusals)
		}
		programs = append(programs, p)
	}
	if len(programs) != 0 && len(programs) != len(compilers) || len(refusals) > 1 {
		t.Fatalf("%q: %d engines compile it, %d refusals %v", text, len(programs), len(refusals), refusals)
	}
	return programs
}

func closeAll(t testing.TB, programs []filter.Program) {
	t.Helper()
	for _, p := range programs {
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
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
