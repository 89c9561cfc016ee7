package sql92

import (
	"context"
	"strings"
	"testing"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/filter/filtertest"
)

// TestStrict is the strict dialect by example. A message is name=value, separated by blanks; no text has one here.
func TestStrict(t *testing.T) {
	const (
		T = filtertest.True
		F = filtertest.False
		U = filtertest.Unknown
	)
	tests := []struct {
		text, message string
		want          filtertest.Outcome
	}{
		// Numbers by value, on whatever side and of whatever size.
		{"a > 3", "a=3.5", T}, {"a > 3", "a=1700000000000", T}, {"3 < a", "a=4", T}, {"a = 3", "a=3.0", T}, {"a = 3", "a=3e0", T},
		{"a = 3.0", "a=3", T}, {"a > 3", "a=x", U}, {"a > 3", "", U}, {"3 < a", "", U}, {"a = 0.0", "a=0", T}, {"a = 0", "a=-0.0", T},
		{"a > 3", "a=NaN", U}, {"a > 3", "a=Infinity", U}, {"a > 3", "a=0x10", U}, {"a > 3", "a=5d", U}, {"a = 9007199254740993", "a=9007199254740992.0", F},
		{"a = 9007199254740992", "a=9007199254740992.0", T}, {"a < 9223372036854775807", "a=9223372036854775808", F}, {"a >= 9223372036854775808", "a=9223372036854775807", F},
		{"a = -9223372036854775808", "a=-9223372036854775808", T}, {"a > 1e3", "a=1001", T},
		// Missing on either side is unknown; so is NOT of it.
		{"a = b", "", U}, {"a = b", "a=1", U}, {"a = b", "b=1", U}, {"a <> b", "b=1", U}, {"NOT a = 1", "", U}, {"'x' = a", "", U},
		// NOT is below comparison.
		{"NOT a = 1", "a=2", T}, {"NOT a = 1", "a=1", F}, {"NOT a > 1 AND b = 2", "a=1 b=2", T}, {"NOT NOT a = 1", "a=1", T},
		// Two properties are numbers if both are.
		{"a = b", "a=3 b=3.0", T}, {"a < b", "a=9 b=10", T}, {"a < b", "a=9 b=10x", F}, {"a = b", "a=x b=x", T},
		// Texts.
		{"a = '3'", "a=3.0", F}, {"a < 'b'", "a=abc", T}, {"a <> 'x'", "a=y", T}, {"a != 'x'", "a=y", T}, {"a BETWEEN 'a' AND 'c'", "a=b", T},
		{"a IN ('x', 3)", "a=3.0", T}, {"a IN ('x', 3)", "a=x", T}, {"a NOT IN (3, 4)", "a=x", T}, {"a NOT IN (3)", "", U}, {"a IN (-1)", "a=-1", T},
		// LIKE.
		{"a LIKE 'x%'", "a=xyz", T}, {"a LIKE 'x%'", "a=ax", F}, {"a LIKE '_x_'", "a=axb", T}, {"a LIKE '_x_'", "a=中x文", T}, {"a LIKE '%b%d'", "a=abcbcd", T},
		{"a LIKE '%b%d'", "a=abcb", F}, {"a LIKE 'x!%%' ESCAPE '!'", "a=x%y", T}, {"a LIKE 'x!%' ESCAPE '!'", "a=xy", F}, {"a NOT LIKE 'x%'", "a=y", T},
		{"a NOT LIKE 'x%'", "", U}, {"a LIKE '%'", "a=x", T}, {"a LIKE ''", "a=x", F}, {"a LIKE '%%a%%b%%'", "a=xxaxxbxx", T},
		{"a CONTAINS 'x'", "a=axb", T}, {"a NOT STARTSWITH 'x'", "a=axb", T}, {"a ENDSWITH 'b'", "a=axb", T}, {"a CONTAINS 'x'", "", U}, {"a CONTAINS ''", "a=b", T},
		// Arithmetic.
		{"a + 1 > 5", "a=5", T}, {"a * 2 = b - 1", "a=3 b=7", T}, {"a / 2 = 2.5", "a=5", T}, {"a / 2 = 2", "a=4", T}, {"a % 3 = 1", "a=7", T},
		{"a / 0 = 1", "a=7", U}, {"a % 0 = 1", "a=7", U}, {"a + 1 > 5", "a=x", U}, {"-a = 3", "a=-3", T}, {"2 + 3 * 4 = 14", "", T}, {"(2 + 3) * 4 = 20", "", T},
		{"a + 1 > 9223372036854775807", "a=9223372036854775807", T}, {"a * a > 0", "a=9223372036854775807", T}, {"a - b < 0", "a=-9223372036854775808 b=1", T},
		{"a + 1 IS NULL", "a=x", T}, {"a + 1 IS NOT NULL", "a=1", T}, {"a % 2 = 0.5", "a=2.5", T},
		// Booleans.
		{"a", "a=true", T}, {"a", "a=TRUE", T}, {"a", "a=false", F}, {"a", "a=x", U}, {"NOT a", "a=false", T}, {"a = FALSE", "a=false", T}, {"a <> TRUE", "a=false", T},
		{"TRUE = a", "a=true", T}, {"TRUE", "", T}, {"FALSE OR a = 1", "a=1", T},
		{"a IS NULL", "", T}, {"a IS NOT NULL", "a=1", T}, {"(a) IS NULL", "a=1", F}, {"a BETWEEN 1 AND 5", "a=2.5", T}, {"a NOT BETWEEN 1 AND 5", "a=x", U},
		{"a = 1 -- the rest is a comment", "a=1", T},
	}
	for _, engine := range engines {
		c := compilerOf(engine, "strict")
		for _, tt := range tests {
			p, err := c.Compile(context.Background(), filter.Expression{Type: filter.TypeSQL92, Text: tt.text})
			if err != nil {
				t.Errorf("%q: %v", tt.text, err)
				continue
			}
			props := map[string]string{}
			for _, item := range strings.Fields(tt.message) {
				name, value, _ := strings.Cut(item, "=")
				props[name] = value
			}
			b := &filter.Batch{TagsCodes: []int64{0}, Records: [][]byte{recordOf(props)}}
			if got := judgeAll(t, p, b)[0]; got != tt.want {
				t.Errorf("%s: %q of %q: %s, want %s: %s", engine, tt.text, tt.message, got, tt.want, treeOf(t, tt.text, c))
			}
		}
	}
}

// TestStrictRefuses wants an error, with a reason, for everything that RocketMQ would take for something else.
func TestStrictRefuses(t *testing.T) {
	c := compilerOf(engineVector, "strict")
	for text, want := range map[string]string{
		"a = 1 b = 2":             "at character 7: expected AND, OR or the end, found \"b\"",
		"a = 1 AMD b = 2":         "at character 7: expected AND, OR or the end",
		"a = 1)":                  "at character 6: expected AND, OR or the end, found \")\"",
		"f(a) = 1":                "at character 2: expected AND, OR or the end, found \"(\"",
		"a = NULL":                "at character 5: NULL can only stand in IS NULL and IS NOT NULL",
		"'x' = 3":                 "at character 7: a text can't be compared with a number",
		"a + 'x' = 3":             "at character 5: only numbers and properties can be calculated with",
		"(a = 1) = TRUE":          "at character 1: a condition can't be compared",
		"a = (b = 1)":             "at character 5: a condition can't be compared",
		"a > TRUE":                "at character 5: TRUE and FALSE can only be compared by = and <>",
		"a = b = c":               "at character 7: expected AND, OR or the end, found \"=\"",
		"a BETWEEN 5 AND 1":       "at character 11: the bounds are in the wrong order",
		"a IN (b)":                "at character 7: the members of IN are texts and numbers",
		"a IN ()":                 "found \")\"",
		"5":                       "at character 1: a condition is needed here",
		"a + 1":                   "at character 1: a condition is needed here",
		"a = 1e400":               "at character 5: 1e400 is too large",
		"1 / 0 = a":               "at character 3: the result is no number",
		"a LIKE 'x!y' ESCAPE '!'": "has to be followed by",
		"a LIKE 'x!' ESCAPE '!'":  "the pattern ends with !",
		"a LIKE 'x' ESCAPE 'ab'":  "ESCAPE needs one character",
		"a NOT = 1":               "found \"=\"",
		"a IS 1":                  "expected NULL or NOT NULL after IS",
		"contains = 1":            "found \"contains\"",
		"a.b = 1":                 "at character 2: \".\" can't be a part of a name",
		"":                        "found the end",
	} {
		p, err := c.Compile(context.Background(), filter.Expression{Type: filter.TypeSQL92, Text: text})
		if err == nil {
			t.Errorf("%q compiles: %s", text, treeOf(t, text, c))
			_ = p.Close()
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
