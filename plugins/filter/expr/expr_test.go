package expr

import (
	"bytes"
	"compress/zlib"
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/filter/filtertest"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/plugin/plugintest"
)

func expression(text string) filter.Expression { return filter.Expression{Type: TypeExpr, Text: text} }

// with is a message with these properties, as name=value.
func with(want filtertest.Outcome, properties ...string) filtertest.Message {
	m := filtertest.Message{Want: want}
	for _, p := range properties {
		name, value, _ := strings.Cut(p, "=")
		if name == message.PropTags {
			m.Tag = value
			continue
		}
		m.Properties = append(m.Properties, name, value)
	}
	return m
}

// withBody is a message with a body.
func withBody(want filtertest.Outcome, body string) filtertest.Message {
	return filtertest.Message{Want: want, Body: []byte(body)}
}

const (
	yes     = filtertest.True
	no      = filtertest.False
	unknown = filtertest.Unknown
	raise   = filtertest.Raise
)

func TestConformance(t *testing.T) {
	order := []filtertest.Message{
		with(yes, "amount=150", "region=eu"), with(no, "amount=150", "region=us"), with(no, "amount=99.5", "region=eu"),
		with(unknown, "region=eu"), with(no, "region=us"), with(no, "amount=1"), with(unknown, "amount=150.5", "x=1", "amount="),
		with(raise, "amount=lots", "region=eu"), {NoRecord: true, Want: filtertest.Undecided},
	}
	order[5].Want = no // the amount decides
	order[6].Want = no // the region is missing, and a missing one equals nothing
	cases := []filtertest.Case{
		{Name: "order", Expression: expression(`num("amount") > 100 and str("region") == "eu"`), Messages: order},
		{Name: "order, otherwise written", Expression: expression(" (num('amount')>100)&&str(`region`)=='eu' // large"), Messages: order, SameKey: "order"},
		{Name: "machine", Expression: expression(`num("amount") - 100 > 0 and str("region") + "" == "eu"`), Messages: []filtertest.Message{
			with(yes, "amount=150", "region=eu"), with(unknown, "region=eu"), with(no, "region=us"), with(no, "amount=1"), with(raise, "amount=lots"),
			with(no, "amount=150"),
		}},
		{Expression: expression(`tags == "a" or "k2" in keys`), Messages: []filtertest.Message{
			with(yes, "TAGS=a"), with(no, "TAGS=b"), with(yes, "KEYS=k1 k2"), with(no, "KEYS=k1 k22"), with(no),
		}},
		{Expression: expression(`json("a.b.1") >= 2 and any(json("list"), .price > 10 and .kind == "x")`), Messages: []filtertest.Message{
			withBody(yes, `{"z":[{"b":1}],"a":{"b":[1,2]},"list":[{"price":5,"kind":"x"},{"price":11,"kind":"x"}]}`),
			withBody(no, `{"a":{"b":[1,2]},"list":[{"price":5,"kind":"x"},{"price":11}]}`),
			withBody(no, `{"a":{"b":[1,2]},"list":[{"kind":"x"}]}`),
			withBody(unknown, `{"a":{"b":[1,2]}}`), withBody(no, `{"a":{"b":[1,1]}}`), withBody(no, `{"list":[]}`),
			withBody(raise, `{"a":{"b":[1,"2"]}}`), withBody(raise, `not JSON`), withBody(raise, ``),
			withBody(raise, `{"a":{"b":[1,2]},"list":"x"}`),
		}},
		{Expression: expression(`body startsWith "<order" and len(body) < 20`), Messages: []filtertest.Message{
			withBody(yes, "<order/>"), withBody(no, "<other/>"), withBody(no, "<order                   />"), withBody(no, ""),
		}},
		{Name: "always", Expression: expression("true"), Messages: []filtertest.Message{with(yes)}, Warnings: 1},
		{Name: "never", Expression: expression("false"), Messages: []filtertest.Message{with(no)}, Warnings: 1},
		{Expression: expression(`str("a") == "" or true`), Messages: []filtertest.Message{with(yes)}, Warnings: 2},
		{Expression: expression("now() > date('2024-01-01')"),
			Error: "compile EXPR expression: line 1, column 1: the function now isn't available in filters: a verdict must be the same for ever; compare with born or stored"},
		{Expression: expression("tags ==\n  nme"), Error: `compile EXPR expression: line 2, column 3: unknown name nme; a property is read by str("nme") or num("nme")`},
		{Expression: expression(`num("a") + 1`), Error: "compile EXPR expression: it gives a value of type float64, and a filter must give true or false"},
	}
	filtertest.Run(t, filtertest.Suite{Factory: Factory{}, Cases: cases})
}

func newCompiler(t testing.TB, change func(*Config)) filter.Compiler {
	t.Helper()
	cfg := Factory{}.DefaultConfig().(*Config)
	if change != nil {
		change(cfg)
	}
	c, err := Factory{}.NewCompiler(plugintest.Settings(t, Type), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func compile(t testing.TB, text string) filter.Program {
	t.Helper()
	p, err := newCompiler(t, nil).Compile(context.Background(), expression(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return p
}

// record encodes a message.
func record(t testing.TB, change func(*message.Message), properties ...string) []byte {
	t.Helper()
	host := netip.MustParseAddrPort("127.0.0.1:10911")
	m := message.Message{Topic: "Orders", BornHost: host, StoreHost: host}
	for _, p := range properties {
		name, value, _ := strings.Cut(p, "=")
		m.Properties = message.AppendProperty(m.Properties, name, value)
	}
	if change != nil {
		change(&m)
	}
	b, err := message.AppendRecord(nil, &m)
	if err != nil {
		t.Fatal(err)
	}
	message.Record(b).Place(77, 1<<20, 2500)
	return b
}

// judge returns what a program says of one record, and wants the same when it judges by columns.
func judge(t testing.TB, p filter.Program, rec []byte) filtertest.Outcome {
	t.Helper()
	var v filter.Verdicts
	v.Reset(1)
	if err := p.Match(context.Background(), &filter.Batch{TagsCodes: []int64{0}, Records: [][]byte{rec}}, &v); err != nil {
		t.Fatal(err)
	}
	word := filter.Word{True: v.True[0], Unknown: v.Unknown[0], Raise: v.Raise[0], Undecided: v.Undecided[0]}
	if m, ok := p.(filter.ColumnMatcher); ok {
		l := filter.NewLayout(filter.Union([]filter.Column{{Property: "other"}}, m.Columns()))
		c := filter.NewColumns(l)
		c.Load([][]byte{nil, rec})
		at, _ := l.Bind(m.Columns())
		w := m.MatchColumns(c, at, 3)
		if w != (filter.Word{True: word.True << 1, Unknown: word.Unknown << 1, Raise: word.Raise << 1, Undecided: word.Undecided<<1 | 1}) {
			t.Errorf("by columns %+v, by record %+v", w, word)
		}
	}
	switch {
	case word.True != 0:
		return yes
	case word.Unknown != 0:
		return unknown
	case word.Raise != 0:
		return raise
	case word.Undecided != 0:
		return filtertest.Undecided
	}
	return no
}

// TestLanguage checks single expressions on one message with all kinds of content.
func TestLanguage(t *testing.T) {
	body := `{"id": 9007199254740993, "big": 1e400, "pi": 3.14, "ok": true, "off": false, "none": null, "name": "Müller \"x\" \u00e9",
		"tags": ["a", "b"], "nums": [1, 2, 3.5], "empty": [], "mixed": [1, "a", null], "o": {"p": {"q": [10, {"r": 5}]}}, "0": "zero", "a.b": 1, "id": 1}`
	rec := record(t, func(m *message.Message) {
		m.Body, m.QueueID, m.BornTimestamp, m.ReconsumeTimes, m.Flag = []byte(body), 3, 1000, 2, 9
	}, "n=42", "f=-1.5e3", "t=hello", "big=99999999999999999999", "sp= 7", "nan=NaN", "KEYS=k1  k2", "TAGS=paid", "bad=1_000", "hex=0x10", "long=9223372036854775807")
	cases := []struct {
		text string
		want filtertest.Outcome
	}{
		// Properties.
		{`num("n") == 42`, yes}, {`num("n") == 42.0`, yes}, {`int("n") == 42`, yes}, {`int("n") < 42.5`, yes}, {`42 < num("n")`, no}, {`41 < num("n")`, yes},
		{`num("f") == -1500`, yes}, {`int("f") == -1500`, raise}, {`num("t") > 1`, raise}, {`num("big") > 1e19`, yes}, {`int("big") > 1`, raise},
		{`num("nan") > 1 or num("nan") <= 1 or num("nan") == num("nan")`, no}, {`num("nan") != num("nan")`, yes},
		{`num("bad") > 1`, raise}, {`num("hex") > 1`, raise}, {`num("sp") == 7`, yes}, {`int("sp") == 7`, raise}, {`int("long") == 9223372036854775807`, yes},
		{`str("t") == "hello"`, yes}, {`str("t") >= "hello"`, yes}, {`str("t") > "hello"`, no}, {`str("t") < "help" and "hell" <= str("t")`, yes}, {`str("n") == "42"`, yes},
		{`has("t")`, yes}, {`has("x")`, no}, {`not has("x")`, yes}, {`!has("t")`, no},
		{`tags == "paid"`, yes}, {`"k1" in keys and "k2" in keys`, yes}, {`"" in keys`, no}, {`len(keys) == 2`, yes}, {`keys[1] == "k2"`, yes}, {`all(keys, # startsWith "k")`, yes},
		{`topic == "Orders"`, yes}, {`queue == 3 and offset == 77 and born == 1000 and stored - born == 1500 and retries == 2 and flag == 9`, yes},
		// Missing ones.
		{`num("x") > 1`, unknown}, {`num("x") + 1 > 1`, unknown}, {`1 < -num("x")`, unknown}, {`str("x") == "a"`, no}, {`str("x") != "a"`, yes}, {`str("x") == nil`, yes},
		{`num("x") == nil and int("x") == nil and tags != nil`, yes}, {`str("x") < "a"`, unknown}, {`str("x") contains "a"`, no}, {`not (str("x") contains "a")`, yes},
		{`str("x") in ["a"]`, no}, {`num("x") in [1]`, no}, {`int("x") in 1..3`, no}, {`str("x") matches "a"`, no}, {`(num("x") ?? 5) == 5`, yes}, {`(num("x") ?? 5) > 3`, yes},
		{`str("x") == str("y")`, yes}, {`len(str("x")) > 1`, unknown}, {`upper(str("x")) == "A"`, no}, {`type(str("x")) == "nil"`, yes}, {`str("x")[0:1] == "a"`, no},
		{`json("x")`, unknown}, {`json("o.x.y") == nil`, yes}, {`json("x").y.z == nil`, yes}, {`json("x")?.y > 1`, unknown}, {`count(json("x"), true) > 1`, unknown}, {`any(json("x"), # == 1)`, unknown},
		// Three values.
		{`num("x") > 1 and false`, no}, {`false and num("x") > 1`, no}, {`num("x") > 1 and has("t")`, unknown}, {`has("t") and num("x") > 1`, unknown},
		{`num("x") > 1 or has("t")`, yes}, {`num("x") > 1 or has("x")`, unknown}, {`not (num("x") > 1)`, unknown}, {`not (num("x") > 1 and has("x"))`, yes},
		{`num("x") + 1 > 1 and has("x")`, no}, {`has("x") or num("x") + 1 > 1`, unknown}, {`num("x") + 1 > 1 or has("t")`, yes}, {`not (num("x") + 1 > 1)`, unknown},
		{`not (num("x") + 1 > 1 and has("x"))`, yes}, {`(num("x") + 1 > 1 or has("x")) and (num("x") + 1 > 2 or has("t"))`, unknown},
		{`not (num("n") + 1 > 1)`, no}, {`not (num("n") + 1 < 1)`, yes}, {`(num("x") + 1 > 1 or num("n") + 1 > 1) and num("n") + 2 > 1`, yes},
		{`(num("x") > 1) == nil`, yes}, {`num("x") > 1 ? true : has("t")`, yes}, {`num("x") + 1 > 1 ? true : has("t")`, yes}, {`has("t") ? num("x") > 1 : true`, unknown},
		{`if has("t") { num("n") > 1 } else { false }`, yes}, {`nil ?? json("x")`, unknown}, {`let n = num("n"); n > 1 and n < 50`, yes}, {`let n = num("x"); n > 1`, unknown},
		{`num("t") > 1 and false`, raise}, {`false and num("t") > 1`, no}, {`true or num("t") > 1`, yes}, {`num("x") > 1 and num("t") > 1`, raise}, {`has("x") and num("t") + 1 > 1`, no},
		// Numbers and texts.
		{`int(num("n")) % 10 == 2`, yes}, {`int("n") % 10 == 2`, yes}, {`int("n") % 0 == 2`, raise}, {`int("n") / 4 == 10.5`, yes}, {`num("n") ** 2 == 1764`, yes}, {`2 ^ 3 == 8`, yes},
		{`abs(num("f")) > 1000`, yes}, {`max(int("n"), 50) == 50`, yes}, {`min(1, num("n")) == 1`, yes}, {`round(2.5) == 3`, yes}, {`bitand(flag, 8) == 8`, yes},
		{`int("7") == 1`, no}, {`int(str("n")) == 42`, yes}, {`float(str("f")) == -1500.0`, yes}, {`int(3.7) == 3`, yes}, {`int("n") in 40..45`, yes}, {`num("n") in 43..45`, no}, {`(num("n") + 0) in 40..45`, yes},
		{`int("n") in [1, 42]`, yes}, {`num("n") in [1.5, 42]`, yes}, {`num("n") not in [1, 2]`, yes}, {`str("t") in ["hello", "x"]`, yes}, {`str("t") not in ["x"]`, yes}, {`lower(str("t")) in ["hello"]`, yes},
		{`upper(str("t")) == "HELLO" and trim(" a ") == "a"`, yes}, {`str("t") contains "ell" and str("t") endsWith "lo" and str("t") startsWith "he"`, yes}, {`(str("t") + "!") endsWith "o!"`, yes},
		{`str("t") matches "^h.*o$"`, yes}, {`(str("t") + "") matches "^x"`, no}, {`str("t")[0:2] == "he" and str("t")[-2:] == "lo"`, yes},
		{`split(str("t"), "l")[0] == "he"`, yes}, {`indexOf(str("t"), "l") == 2`, yes}, {`str("t") | upper() == "HELLO"`, yes}, {`hasPrefix(str("t"), "he")`, yes}, {`trimPrefix(str("t"), "he") == "llo"`, yes},
		// JSON.
		{`json("id") == 9007199254740993`, yes}, {`json("pi") > 3.1 and json("pi") < 4`, yes}, {`json("ok")`, yes}, {`json("off")`, no}, {`not json("off")`, yes}, {`json("none")`, unknown}, {`json("none") == nil`, yes},
		{`json("name") == "Müller \"x\" é"`, yes}, {`json("name") > 1`, raise}, {`json("name")`, raise}, {`json("name") and true`, raise}, {`json("pi") == "3.14"`, no}, {`json("big") > 1e300`, yes},
		{`json("o.p.q.0") == 10 and json("o.p.q.1.r") == 5 and json("o.p.q.2") == nil`, yes}, {`json("o").p.q[1].r == 5`, yes}, {`json("o")["p"].q[0] == 10`, yes}, {`json("o").p.q[9] == 5`, raise}, {`json("0") == "zero"`, yes},
		{`"p" in json("o")`, yes}, {`"x" in json("o")`, no}, {`"a" in json("tags")`, yes}, {`1 in json("mixed")`, yes}, {`"a" in json("pi")`, raise}, {`json("tags") == ["a", "b"]`, yes},
		{`len(json("nums")) == 3`, yes}, {`sum(json("nums")) == 6.5`, yes}, {`count(json("nums"), # > 1) == 2`, yes}, {`none(json("nums"), # > 5)`, yes}, {`one(json("nums"), # == 2)`, yes}, {`all(json("empty"), false)`, yes},
		{`filter(json("nums"), # > 1)[0] == 2`, yes}, {`map(json("nums"), # * 2)[2] == 7`, yes}, {`find(json("nums"), # > 5) == nil`, yes}, {`findIndex(json("nums"), # == 2) == 1`, yes}, {`first(json("nums")) == 1 and last(json("nums")) == 3.5`, yes},
		{`any(json("mixed"), # == "a")`, yes}, {`any(json("mixed"), # > 5)`, raise}, {`map(1..3, # + 1)[2] == 4`, yes}, {`sum(json("nums"), # * 2) == 13`, yes},
		{`json("nums") | filter(# > 1) | len() == 2`, yes}, {`any(json("o.p.q"), type(#) == "map" and .r == 5)`, yes}, {`any(json("nums"), any(json("tags"), # == "b"))`, yes},
		// Bodies.
		{`body contains "Müller"`, yes}, {`len(body) > 100`, yes}, {`body matches "\"pi\": 3"`, yes}, {`body == ""`, no}, {`any(split(body, ","), # contains "pi")`, yes},
	}
	for _, c := range cases {
		t.Run(c.text, func(t *testing.T) {
			p := compile(t, c.text)
			for range 2 { // the second message finds the first one's leftovers
				if got := judge(t, p, rec); got != c.want {
					t.Errorf("%s, want %s", got, c.want)
				}
			}
		})
	}
}

func TestErrors(t *testing.T) {
	const at = "compile EXPR expression: line 1, column "
	for text, want := range map[string]string{
		"":                                   at + "1: the expression ends too early",
		`num("a") >`:                         at + "10: the expression ends too early",
		`nil`:                                "compile EXPR expression: it gives a value of type nil, and a filter must give true or false",
		`num("a") > "x"`:                     at + `10: invalid operation: > (mismatched types float64 and string)`,
		`str(tags) == "a"`:                   at + "1: str needs a name in quotes, so that the broker knows what to look for",
		`num("") > 1`:                        at + `5: num(""): no property has an empty name`,
		`json("a..b") == 1`:                  at + `6: json("a..b"): write names of fields and numbers of elements, joined by dots`,
		`tags matches str("p")`:              at + "14: the pattern of matches must be a text in quotes",
		`tags matches "("`:                   at + "14: pattern: error parsing regexp: missing closing ): `(`",
		`tags matches "(a{900}){900}"`:       at + "14: pattern: error parsing regexp: invalid repeat count: `{900}`",
		`tags matches "(a{999}b{999}c{99})"`: at + "14: pattern: it takes 2101 steps for each byte, at most 2000 are allowed: repeat less",
		`queue in 1..offset`:                 at + "11: the ends of a range must be whole numbers, as in 1..10",
		`len(1..2000) > 1`:                   at + "6: a range may have at most 1000 elements",
		`$env["tags"] == "a"`:                at + "1: $env isn't available in filters",
		`repeat("a", 3) == "aaa"`:            at + "1: the function repeat isn't available in filters",
		`sortBy(keys, #)[0] == "a"`:          at + "1: the function sortBy isn't available in filters",
		`len({"a": 1}) == 1`:                 at + "5: objects in braces aren't available in filters",
		`nosuch("a")`:                        at + `1: unknown name nosuch; a property is read by str("nosuch") or num("nosuch")`,
		`tags`:                               "compile EXPR expression: it gives a value of type string, and a filter must give true or false",
		strings.Repeat("(", 300) + "true" + strings.Repeat(")", 300) + " and x": at + "610: " + `unknown name x; a property is read by str("x") or num("x")`,
		strings.Repeat("not ", 300) + "true":                                    at + "801: the expression is nested deeper than 200 levels",
	} {
		_, err := newCompiler(t, nil).Compile(context.Background(), expression(text))
		if err == nil || err.Error() != want {
			t.Errorf("%.60s:\n got %v\nwant %s", text, err, want)
		}
	}
	_, err := newCompiler(t, nil).Compile(context.Background(), expression(strings.Repeat(" ", 20000)))
	if want := "compile EXPR expression: it has 20000 bytes, filters.expr.length_max allows 16384"; err == nil || err.Error() != want {
		t.Errorf("too long: %v", err)
	}
	many := "has('a')" + strings.Repeat(" or queue==1", 490)
	if _, err := newCompiler(t, nil).Compile(context.Background(), expression(many)); err != nil {
		t.Errorf("a long chain: %v", err)
	}
	_, err = newCompiler(t, nil).Compile(context.Background(), expression(many+strings.Repeat(" or queue==1", 50)))
	if err == nil || !strings.HasSuffix(err.Error(), ": the expression has too many parts; the limit is filters.expr.nodes_max") {
		t.Errorf("a chain that is too long: %v", err)
	}
}

// TestCompressedBodies checks that bodies are seen as the producer wrote them.
func TestCompressedBodies(t *testing.T) {
	text := `{"a": 1, "fill": "` + strings.Repeat("x", 5000) + `", "b": 2}`
	pack := func(text string) []byte {
		var b bytes.Buffer
		w := zlib.NewWriter(&b)
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	compressed := func(body []byte, kind int32) []byte {
		return record(t, func(m *message.Message) { m.Body, m.SysFlag = body, message.FlagCompressed|kind })
	}
	p := compile(t, `json("a") == 1 and json("b") == 2`)
	small, err := newCompiler(t, func(c *Config) { c.BodyMax = 1000 }).Compile(context.Background(), expression(`json("a") == 1 and json("b") != 2`))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		p    filter.Program
		rec  []byte
		want filtertest.Outcome
	}{
		"plain":            {p, record(t, func(m *message.Message) { m.Body = []byte(text) }), yes},
		"zlib":             {p, compressed(pack(text), 0), yes},
		"zlib, 5.x":        {p, compressed(pack(text), message.FlagZlib), yes},
		"LZ4":              {p, compressed(pack(text), message.FlagLZ4), raise},
		"cut stream":       {p, compressed(pack(text)[:30], 0), raise},
		"no stream":        {p, compressed([]byte("{}"), 0), raise},
		"empty":            {p, compressed(nil, 0), raise},
		"beyond body_max":  {small, compressed(pack(text), 0), raise},
		"plain beyond max": {small, record(t, func(m *message.Message) { m.Body = []byte(text) }), raise},
		"zlib within max":  {small, compressed(pack(`{"a":1}`), 0), yes},
	} {
		for range 2 {
			if got := judge(t, c.p, c.rec); got != c.want {
				t.Errorf("%s: %s, want %s", name, got, c.want)
			}
		}
	}
}

// TestWorkIsBounded runs what would take for ever, or all memory.
func TestWorkIsBounded(t *testing.T) {
	list := "[" + strings.TrimSuffix(strings.Repeat("1,", 20000), ",") + "]"
	rec := record(t, func(m *message.Message) { m.Body = []byte(`{"l":` + list + `}`) }, "t="+strings.Repeat("ab", 8000))
	double := "let a0 = str('t');"
	for i := range 30 {
		double += fmt.Sprintf("let a%d = a%d + a%d;", i+1, i, i)
	}
	for _, text := range []string{
		`any(json("l"), # == 2)`,
		`any(1..400, any(1..400, any(1..400, # == 1000)))`,
		`any(map(1..1000, str("t")), # contains "aa")`,
		double + `len(a30) == 1`,
		`len(map(1..900, map(1..900, #))) == 1`,
		strings.Repeat(`json("l") == [1] or `, 15) + `2 in json("l") or 3 in json("l") or len(split(str("t"), "")) > 1 and len(split(str("t"), "a")) == 1 and
			len(split(str("t"), "")) + len(split(str("t"), "b")) + len(split(str("t"), "b")) + len(split(str("t"), "b")) + len(split(str("t"), "b")) > 0`,
		`str("t") matches "(a?b?){200}c$"`,
	} {
		if got := judge(t, compile(t, text), rec); got != raise {
			t.Errorf("%.80s: %s", text, got)
		}
	}
}

// TestKeys wants different keys for what differs, however it is printed, and equal ones for what doesn't.
func TestKeys(t *testing.T) {
	seen := map[filter.Key]string{}
	for _, text := range []string{
		`(has("a") ? json("b") : json("c")).d`, `has("a") ? json("b") : json("c").d`, `json("x") == 1`, `json("x") == 1.0`, `json("x") == "1"`, `json("x") == true`,
		`num("a") - (num("b") - 1) > 0`, `num("a") - num("b") - 1 > 0`, `-(num("a") ** 2) > 0`, `(-num("a")) ** 2 > 0`, `str("a b") == "c"`, `str("a") == "b c"`, `not has("a") and has("b")`, `not (has("a") and has("b"))`,
		`json("x").y == 1`, `json("x.y") == 1`, `let a = 1; a == queue`, `let b = 1; b == queue`, `any(keys, # == "a")`, `all(keys, # == "a")`,
	} {
		k := compile(t, text).Key()
		if other, ok := seen[k]; ok {
			t.Errorf("%s and %s have one key", text, other)
		}
		seen[k] = text
	}
	same := []string{`not has("a") || num("b")**2 > 4`, "!has('a') or ((num(`b`) ^ 2)) > 4 /* */"}
	if compile(t, same[0]).Key() != compile(t, same[1]).Key() {
		t.Errorf("%s and %s have two keys", same[0], same[1])
	}
	small, err := newCompiler(t, func(c *Config) { c.BodyMax = 1000 }).Compile(context.Background(), expression(same[0]))
	if err != nil {
		t.Fatal(err)
	}
	if small.Key() == compile(t, same[0]).Key() {
		t.Error("the limits aren't part of the key")
	}
}

func TestNeeds(t *testing.T) {
	for text, want := range map[string]string{
		`num("a") > 1 and str("b") == "x" and int("a") < 5`: "{true false 0 [a b]}",
		`tags == "x" and "k" in keys`:                       "{true false 0 [TAGS KEYS]}",
		`queue == 1`:                                        "{true false 0 []}",
		`json("a") == 1`:                                    "{true true 67584 []}",
		`body == "x" and has("p")`:                          "{true true 67584 [p]}",
	} {
		p := compile(t, text)
		if got := fmt.Sprint(p.Needs()); got != want || p.Needs().Properties == nil {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestConfig(t *testing.T) {
	c := Config{}
	err := c.Validate()
	for _, field := range []string{"length_max", "nodes_max", "body_max", "work_max", "memory_max"} {
		if err == nil || !strings.Contains(err.Error(), field+": must be between ") {
			t.Errorf("%s isn't checked: %v", field, err)
		}
	}
	if _, err := (Factory{}).NewCompiler(plugintest.Settings(t, Type), &c); err == nil {
		t.Error("a compiler with bad limits")
	}
	if _, err := (Factory{}).NewCompiler(plugintest.Settings(t, Type), nil); err == nil {
		t.Error("a compiler without configuration")
	}
}
