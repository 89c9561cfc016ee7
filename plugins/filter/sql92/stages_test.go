package sql92

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/filter/filtertest"
	"github.com/weirmq/weir/plugins/internal/sqltree"
)

// TestCheapConjunctsComeFirst counts for how many messages of 640 a call is made, when 64 pass the cheap condition: in whatever
// order the author writes them.
func TestCheapConjunctsComeFirst(t *testing.T) {
	b := &filter.Batch{}
	for i := range 640 {
		m := map[string]string{"a": fmt.Sprint(i), "b": "y"}
		switch i % 10 {
		case 0:
			m["b"] = "x"
		case 1:
			delete(m, "b") // unknown isn't true either
		}
		b.Records, b.TagsCodes = append(b.Records, recordOf(m)), append(b.TagsCodes, 0)
	}
	tests := []struct {
		text          string
		called, cheap int // messages
	}{
		{"b = 'x' AND wasm.big(a)", 64, 64},
		{"wasm.big(a) AND b = 'x'", 64, 64},
		{"wasm.big(a) AND (wasm.length(b) = 1 AND b = 'x')", 64, 64},
		{"(wasm.big(a) OR wasm.m.big(a) IS NULL) AND NOT (b <> 'x')", 64, 64},
		{"NOT (wasm.big(a) OR b <> 'x')", 64, 64},
		{"NOT (wasm.big(a) OR wasm.length(b) = 7) AND b = 'x'", 64, 64},
		{"b = 'z' OR (wasm.big(a) AND b = 'x')", 64, 640},  // the last member of an OR
		{"(wasm.big(a) AND b = 'x') OR b = 'z'", 640, 640}, // a raise would hide what is behind it
		{"NOT (wasm.big(a) AND b = 'x')", 640, 640},
		{"wasm.big(a) OR b = 'x'", 640, 640},
		{"wasm.big(a)", 640, 640},
	}
	for _, tt := range tests {
		g := &goFunctions{called: map[string]int{}}
		c := compilerOf(engineAuto, "rocketmq")
		c.UseFunctions(g)
		p, err := c.Compile(context.Background(), sql(tt.text))
		if err != nil {
			t.Fatal(err)
		}
		judgeAll(t, p, b)
		if g.called["big"] != tt.called {
			t.Errorf("%s: called for %d messages, want %d", tt.text, g.called["big"], tt.called)
		}
		keep := slices.Repeat([]uint64{^uint64(0)}, 10)
		clear(g.called)
		p.(filter.Prefilter).MatchCheap(b, keep)
		if n := countBits(keep); n != tt.cheap || len(g.called) > 0 {
			t.Errorf("%s: the cheap part lets %d through, want %d; called %v", tt.text, n, tt.cheap, g.called)
		}
	}
}

func countBits(words []uint64) (n int) {
	for i := range 64 * len(words) {
		if filter.HasBit(words, i) {
			n++
		}
	}
	return n
}

// TestStagesDeliverTheSame compares random conditions with calls, that raise, fail and are unknown, with the same in the
// author's order: what is true is the same, and nothing becomes undecided.
func TestStagesDeliverTheSame(t *testing.T) {
	rounds := 3000
	if testing.Short() {
		rounds = 500
	}
	r := rand.New(rand.NewPCG(7, 11))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	b := &filter.Batch{}
	for range 128 {
		m := map[string]string{}
		for name, values := range map[string][]string{"a": {"", "20", "5", "77", "z", "3"}, "b": {"", "x", "abcd"}, "c": {"", "1", "8", "y"}} {
			if v := pick(values...); v != "" {
				m[name] = v
			}
		}
		b.Records, b.TagsCodes = append(b.Records, recordOf(m)), append(b.TagsCodes, 0)
	}
	var condition func(depth int) string
	condition = func(depth int) string {
		switch n := r.IntN(10); {
		case depth == 0 || n < 3:
			return pick("b = 'x'", "c > 3", "a < 50", "c IS NULL", "wasm.big(a)", "wasm.half(c) > 1", "wasm.length(b) = 1", "wasm.big(a) IS NULL", "b IN ('x', 'abcd')")
		case n < 6:
			return "(" + condition(depth-1) + " AND " + condition(depth-1) + " AND " + condition(depth-1) + ")"
		case n < 8:
			return "(" + condition(depth-1) + " OR " + condition(depth-1) + ")"
		}
		return "(NOT (" + condition(depth-1) + "))"
	}
	reordered, matched, saved := 0, 0, 0
	for range rounds {
		text := condition(3)
		g := &goFunctions{called: map[string]int{}}
		c := compilerOf(engineAuto, "rocketmq")
		c.UseFunctions(g)
		tree, err := sqltree.ParseCalls(context.Background(), text, sqltree.RocketMQ, c.cfg.limits(), c.resolver(context.Background()))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if len(tree.Functions) == 0 {
			continue
		}
		p := newCallProgram(base{root: tree.Root}, tree)
		exact := callProgramOf(base{root: tree.Root}, tree, (*vectorizer).node)
		got := judgeAll(t, p, b)
		calls := g.total()
		want := judgeAll(t, exact, b)
		if calls > g.total()-calls {
			t.Fatalf("%s: %d messages given to functions, in the author's order %d", text, calls, g.total()-calls)
		}
		saved += g.total() - 2*calls
		for i := range got {
			if (got[i] == filtertest.True) != (want[i] == filtertest.True) || got[i] == filtertest.Undecided && want[i] != filtertest.Undecided {
				t.Fatalf("%s of message %d: %s, in the author's order %s", text, i, got[i], want[i])
			}
			if got[i] != want[i] {
				reordered++
			}
			if got[i] == filtertest.True {
				matched++
			}
		}
	}
	if reordered < rounds || matched < rounds || saved < 10*rounds {
		t.Errorf("%d other outcomes, %d matches, %d calls saved: the test tries too little", reordered, matched, saved)
	}
	t.Logf("%d messages matched, %d had another outcome that isn't delivered either, %d calls for a message were saved", matched, reordered, saved)
}

func (g *goFunctions) total() (n int) {
	for _, k := range g.called {
		n += k
	}
	return n
}

// TestDescribeParts wants the parts as they are judged, and what the index rules out.
func TestDescribeParts(t *testing.T) {
	g := &goFunctions{called: map[string]int{}}
	c := compilerOf(engineAuto, "rocketmq")
	c.UseFunctions(g)
	for _, tt := range []struct{ text, index, parts string }{
		{"wasm.big(a) AND TAGS = 'A' AND (b = 'x' OR NOT (c > 1.5))", "the tag's code has to be 65",
			"conditions: TAGS = 'A'; b = 'x' or not (c > 1.5 (double)) | calls: wasm.big(a)"},
		{"TAGS = 'A' OR TAGS IN ('B', 'C')", "the tag's code has to be one of 65, 66, 67", "conditions: TAGS = 'A' or TAGS in 'B', 'C'"},
		{"wasm.big(a)", "", "calls: wasm.big(a)"},
		{"TAGS = 'A' OR a = 1", "", "conditions: TAGS = 'A' or a = 1 (int32)"},
	} {
		p, err := c.Compile(context.Background(), sql(tt.text))
		if err != nil {
			t.Fatal(err)
		}
		d := p.(filter.Describer).Describe()
		var parts []string
		for _, x := range d.Parts {
			parts = append(parts, x.Name+": "+strings.Join(x.Conditions, "; "))
		}
		if got := strings.Join(parts, " | "); got != tt.parts || d.Index != tt.index {
			t.Errorf("%s: %s, index %q", tt.text, got, d.Index)
		}
	}
}
