package expr

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/filter/filtertest"
	"github.com/weirmq/weir/core/message"
)

// TestBodiesAreReadLast counts the bodies that are read, of 100 messages of which 10 pass the cheap condition: in whatever
// order the author writes them.
func TestBodiesAreReadLast(t *testing.T) {
	var records []message.Record
	b := &filter.Batch{}
	for i := range 100 {
		raw := record(t, func(m *message.Message) { m.Body = fmt.Appendf(nil, `{"n": %d}`, i) }, fmt.Sprintf("a=%d", i/10))
		rec, _, err := message.ViewRecord(raw)
		if err != nil {
			t.Fatal(err)
		}
		records, b.Records, b.TagsCodes = append(records, rec), append(b.Records, raw), append(b.TagsCodes, 0)
	}
	for _, tt := range []struct {
		text         string
		read, passed int
	}{
		{`int("a") == 3 and json("n") > 34`, 10, 10},
		{`json("n") > 34 and int("a") == 3`, 10, 10},
		{`json("n") > 34 and (body contains "3" and int("a") == 3)`, 10, 10},
		{`any([1, 3], # == int("a") and json("n") > 34) and int("a") == 3`, 10, 10},
		{`json("n") > 34 and any([3, 7], # == int("a")) and int("a") < 5`, 10, 10}, // the cheap ones run in the machine
		{`json("n") > 34 and num("b") > 1`, 0, 0},                                  // unknown isn't true either
		{`json("n") > 34 or int("a") == 3`, 100, 100},
		{`not (json("n") > 34 and int("a") == 3)`, 100, 100},
		{`json("n") > 34`, 100, 100},
	} {
		for _, machineOnly := range []bool{false, true} {
			c := newCompiler(t, nil).(*compiler)
			c.machineOnly = machineOnly
			compiled, err := c.Compile(t.Context(), expression(tt.text))
			if err != nil {
				t.Fatalf("%s: %v", tt.text, err)
			}
			p := compiled.(*program)
			e, read := newEval(p.code), 0
			for _, rec := range records {
				if e.judge(rec); e.body.read {
					read++
				}
			}
			keep := []uint64{^uint64(0), ^uint64(0) >> 28}
			p.MatchCheap(b, keep)
			passed := 0
			for i := range 100 {
				if filter.HasBit(keep, i) {
					passed++
				}
			}
			if read != tt.read || passed != tt.passed {
				t.Errorf("%s: %d bodies are read, %d pass the cheap part; want %d and %d", tt.text, read, passed, tt.read, tt.passed)
			}
		}
	}
}

// TestStagesDeliverTheSame compares conjunctions with the same in another order: what is true is the same.
func TestStagesDeliverTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	list := []string{`num("a") > 1`, `has("b")`, `json("n") > 3`, `json("x.y") == nil`, `body contains "7"`, `str("b") == "7"`, `any([1, 7], # == num("a"))`,
		`num("c") + num("a") > 2`, `(json("n") > 1 or num("a") > 1)`, `not (num("b") > 2 and json("n") > 2)`, `json("ok")`}
	g := &generator{r: r}
	matched := 0
	for range 300 {
		var operands []string
		for range 2 + r.IntN(3) {
			operands = append(operands, list[r.IntN(len(list))])
		}
		p := compile(t, strings.Join(operands, " and "))
		nothing := compile(t, "("+strings.Join(operands, " and ")+") ?? false") // the outermost operator isn't and
		for range 10 {
			body := g.pick(`{"n": 7, "ok": true}`, `{"n": 2, "ok": 1}`, `{"x": {"y": 1}}`, `no`, ``)
			rec := record(t, func(m *message.Message) { m.Body = []byte(body) }, g.properties()...)
			got, want := judge(t, p, rec), judge(t, nothing, rec)
			if (got == filtertest.True) != (want == filtertest.True) {
				t.Fatalf("%q of %s: %s, in the author's order %s", operands, body, got, want)
			}
			if got == filtertest.True {
				matched++
			}
		}
	}
	if matched < 100 {
		t.Errorf("only %d matched", matched)
	}
}

// TestIndexOfTags wants entries ruled out by their tag's code where the expression demands a tag.
func TestIndexOfTags(t *testing.T) {
	codes := []int64{message.TagsCode("A"), message.TagsCode("B"), message.TagsCode("C"), 0, message.MaxExtAddress}
	for _, tt := range []struct {
		text string
		keep uint64
	}{
		{`tags == "A" and num("a") > 1`, 0b10001},
		{`json("x") == 1 and "B" == str("TAGS")`, 0b10010},
		{`tags in ["A", "B", 3]`, 0b10011},
		{`(tags == "A" or tags == "C") and tags in ["A", "B", "C"]`, 0b10101},
		{`tags == "A" or num("a") > 1`, 0b11111},
		{`not (tags == "A")`, 0b11111},
		{`tags != "A"`, 0b11111},
		{`str("tags") == "A"`, 0b11111},
	} {
		p := compile(t, tt.text)
		keep := []uint64{0b11111}
		if final := p.(filter.IndexMatcher).MatchIndex(codes, keep); final || keep[0] != tt.keep {
			t.Errorf("%s: %05b, want %05b; final %v", tt.text, keep[0], tt.keep, final)
		}
	}
}

// TestDescribe wants the tree, what is read, and the parts as they are judged.
func TestDescribe(t *testing.T) {
	p := compile(t, `json("customer.vip") == true && (num("total") > 99.5 or not has("note")) && tags == "paid" && born > 0`)
	d := p.(filter.Describer).Describe()
	for _, x := range []struct{ got, want string }{
		{strings.Join(d.Tree, "\n"), `all of
├─ json("customer.vip") == true
├─ any of
│  ├─ num("total") > 99.5
│  └─ not
│     └─ has("note")
├─ tags == "paid"
└─ born > 0`},
		{strings.Join(d.Reads, ", "), `json("customer.vip"), num("total"), has("note"), tags, born`},
		{d.Index, "the tag's code has to be 3433164"},
		{d.Parts[0].Name + ": " + strings.Join(d.Parts[0].Conditions, "; "), `conditions: num("total") > 99.5 or not has("note"); tags == "paid"; born > 0`},
		{d.Parts[1].Name + ": " + strings.Join(d.Parts[1].Conditions, "; "), `body: json("customer.vip") == true`},
		{d.Engine, "direct calls"},
	} {
		if x.got != x.want {
			t.Errorf("%s\nwant\n%s", x.got, x.want)
		}
	}
}
