package sqltree

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func parse(text string, d Dialect) (*Tree, error) {
	return Parse(context.Background(), text, d, Limits{})
}

// TestTree shows what texts become.
func TestTree(t *testing.T) {
	tests := []struct{ text, want string }{
		{"a = 3", "(= a int32:3)"},
		{"a <> 3", "(not (= a int32:3))"},
		{"3 = a", "(map true false false (= a int32:3))"},
		{"3 <> a", "(map false true true (= a int32:3))"},
		{"3 < a", "(> a int32:3)"},
		{"a >= -2147483648", "(>= a int64:-2147483648)"},
		{"a < 3000000000L", "(< a int64:3000000000)"},
		{"a < 3L", "(< a int32:3)"},
		{"a = 0.5", "(= a double:4602678819172646912)"},
		{"a = 'x'", `(= a "x")`},
		{"a = ''", "(if a false unknown)"},
		{"a = b", "(= a b)"},
		{"a > b", "(> a b)"},
		{"a", "(if a false unknown)"},
		{"NOT a", "(if a true unknown)"},
		{"NOT a = 1", "(if a false unknown)"},
		{"NOT a = 'x'", "(if a raise unknown)"},
		{"a IS NULL", "(if a false true)"},
		{"NOT (a IS NOT NULL)", "(if a false true)"},
		{"a = TRUE", "(istrue a)"},
		{"a = FALSE", "(not (istrue a))"},
		{"TRUE = a", "(if a raise false)"},
		{"-a = 1", "unknown"},
		{"a = -b", "(if a false true)"},
		{"a > -b", "unknown"},
		{"-(a > 1) = b", "(if b (map unknown unknown unknown (> a int32:1)) (map true true true (> a int32:1)))"},
		{"b > -(a > 1)", "(if b (map unknown unknown unknown (> a int32:1)) unknown)"},
		{"(a > 1) = (b > 2)", "(same (> a int32:1) (> b int32:2))"},
		{"(a > 1) = b", "(if b (map raise raise unknown (> a int32:1)) (map false false true (> a int32:1)))"},
		{"b = (a > 1)", "(same (istrue b) (> a int32:1))"},
		{"(a > 1) IS NULL", "(map false false true (> a int32:1))"},
		{"(a > 1) = 5", "(map false false unknown (> a int32:1))"},
		{"'TRUE' = (a > 1)", "(map true false false (> a int32:1))"},
		{"1 = 1", "true"},
		{"'1' = 1", "true"},
		{"'x' = 1", "raise"},
		{"1 = TRUE", "false"},
		{"1 = 1 AND a > 1", "(> a int32:1)"},
		{"a > 1 AND 1 = 2", "(and (> a int32:1) false)"},
		{"a = 'x' AND 1 = 2", "false"},
		{"a > 1 OR 1 = 1 OR b = 2", "(or (> a int32:1) true)"},
		{"a = 'x' OR 1 = 1", "true"},
		{"a BETWEEN 1 AND 5", "(and (>= a int32:1) (<= a int32:5))"},
		{"a NOT BETWEEN 1 AND 5", "(or (< a int32:1) (> a int32:5))"},
		{"a IN ('y', 'x', 'x')", `(in a "x" "y")`},
		{"a NOT IN ('x')", `(not (= a "x"))`},
		{"a IN ('')", "(if a false unknown)"},
		// What can't raise may be in any order; what can, keeps its place.
		{"b = 'y' AND a = 'x'", `(and (= a "x") (= b "y"))`},
		{"b > 1 AND a = 'x'", `(and (> b int32:1) (= a "x"))`},
		{"(a = 'x' AND b = 'y') AND (a = 'x' AND c = 'z')", `(and (= a "x") (= b "y") (= c "z"))`},
		{"a = 'x' OR (b = 'y' OR c = 'z')", `(or (= a "x") (= b "y") (= c "z"))`},
		{"a > 1 AND a > 1", "(> a int32:1)"},
	}
	for _, tt := range tests {
		tree, err := parse(tt.text, RocketMQ)
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
			continue
		}
		if got := tree.String(); got != tt.want {
			t.Errorf("%q:\ngot  %s\nwant %s", tt.text, got, tt.want)
		}
	}
}

func TestErrors(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", "at character 1: expected a property, a number, a text in quotes or (, found the end"},
		{"a = 'x", "at character 5: the text in quotes isn't closed"},
		{"a = 1 /* x", "at character 7: the comment isn't closed"},
		{"a = \"x\"", "at character 5: \"\\\"\" quotes nothing here: names are written bare, texts in single quotes"},
		{"a != 1", "at character 3: \"!\" is no operator: use <> for unequal, AND and OR"},
		{"a.b = 1", "at character 2: \".\" can't be a part of a name"},
		{"a * 2 = 4", "at character 3: \"*\" can't stand in an expression"},
		{"中 = 1", "at character 1: \"中\" can't stand in an expression"},
		{"5", "at character 1: a condition is needed here, such as a comparison"},
		{"a = 1 AND 'x'", "at character 11: a condition is needed here"},
		{"a = NULL", "at character 5: NULL can't be compared; write IS NULL or IS NOT NULL"},
		{"TRUE = 1", "at character 6: TRUE and FALSE can't be compared with a literal"},
		{"a > 'x'", "at character 5: a text can't be compared by >; only numbers can"},
		{"a > TRUE", "at character 5: a condition can't be compared by >"},
		{"NOT a > 1", "at character 1: a condition can't be compared by >"},
		{"NOT 5", "at character 5: NOT needs a condition"},
		{"a BETWEEN 5 AND 1", "at character 11: the bounds are in the wrong order: 5 AND 1"},
		{"a IN (1)", "at character 7: expected a text in quotes as a member of IN, found \"1\""},
		{"a NOT x", "at character 7: expected IN or BETWEEN after NOT, found \"x\""},
		{"a IS x", "at character 6: expected NULL or NOT NULL after IS, found \"x\""},
		{"'x' IN ('x')", "at character 1: only a property can be looked up by IN"},
		{"a = 9223372036854775808", "at character 5: 9223372036854775808 is too large, at most 9223372036854775807 is allowed"},
		{"a > 0.0", "at character 5: 0.0 can't be written"},
		{"(a = 1", "at character 7: expected ), found the end"},
	}
	for _, tt := range tests {
		_, err := parse(tt.text, RocketMQ)
		if err == nil || !strings.HasPrefix(err.Error(), "parse SQL92 expression: "+tt.want) {
			t.Errorf("%q: %v, want %s", tt.text, err, tt.want)
		}
	}
}

// TestWarnings wants a warning for what RocketMQ takes for something else, and none for what is meant.
func TestWarnings(t *testing.T) {
	tests := []struct {
		text string
		want []string
	}{
		{"a = 1", nil},
		{"a > 5 AND b IN ('x') OR c IS NULL", nil},
		{"a BETWEEN 1 AND 2 AND NOT (b = 2)", nil},
		{"TRUE", nil},
		{"1 = 2", nil},
		{"a = 1 AMD b = 2", []string{`at character 7: everything from "AMD" on is ignored, because it can't continue the expression before it`}},
		{"a = 1)", []string{`at character 6: everything from ")" on is ignored`}},
		{"b = 1 AND a LIKE 'x%'", []string{"at character 11: the bare property a is never true", `at character 13: everything from "LIKE" on is ignored, because it can't continue the expression before it; this language has no LIKE`}},
		{"a + 1 > 5", []string{"at character 1: the bare property a is never true", `at character 3: everything from "+" on is ignored, because it can't continue the expression before it; this language has no arithmetic`}},
		{"a CONTAINS 'x'", []string{"at character 1: the bare property a is never true", "needs the dialect rocketmq5"}},
		{"a", []string{"at character 1: the bare property a is never true, whatever its value; compare it with something"}},
		{"NOT a = 1", []string{"at character 1: NOT belongs to a alone here", "at character 1: this comparison is never true"}},
		{"NOT a = 'x'", []string{"NOT belongs to a alone", "at character 1: this comparison is never true, and fails when both sides are there: their types don't fit"}},
		{"TRUE = a", []string{"at character 1: this comparison is never true, and fails"}},
		{"'x' = 1", []string{"at character 1: this comparison is never true, and fails"}},
		{"-a > 1", []string{"at character 1: this comparison is never true"}},
		{"a NOT BETWEEN 5 AND 1", []string{"at character 15: the bounds are in the wrong order, so this is true for every number"}},
	}
	for _, tt := range tests {
		tree, err := parse(tt.text, RocketMQ)
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
			continue
		}
		ok := len(tree.Warnings) == len(tt.want)
		for i := range min(len(tree.Warnings), len(tt.want)) {
			ok = ok && strings.Contains(tree.Warnings[i].String(), tt.want[i])
		}
		if !ok {
			t.Errorf("%q: %q, want %q", tt.text, tree.Warnings, tt.want)
		}
	}
	tree, err := parse("a > 3 AND 4 = b", RocketMQ)
	if err != nil || len(tree.Warnings) != 0 || len(tree.Notes) != 3 {
		t.Errorf("notes %q, warnings %q, error %v; want three notes", tree.Notes, tree.Warnings, err)
	}
}

func TestLimits(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("(", n) + "a=1" + strings.Repeat(")", n) }
	tests := []struct {
		name, text string
		limits     Limits
		want       string
	}{
		{"bytes", "a = 12345", Limits{Bytes: 8}, "9 bytes, at most 8 are allowed"},
		{"nodes", "a = 1 AND b = 2", Limits{Nodes: 6}, "more than 6 operands and operators"},
		{"members", "a IN ('1','2','3')", Limits{Nodes: 3}, "more than 3 operands"},
		{"parentheses", nested(11), Limits{Depth: 10}, "nested more than 10 deep"},
		{"signs", "a = " + strings.Repeat("- ", 11) + "1", Limits{Depth: 10}, "nested more than 10 deep"},
		{"not", strings.Repeat("NOT ", 11) + "a", Limits{Depth: 10}, "nested more than 10 deep"},
	}
	for _, tt := range tests {
		for _, d := range []Dialect{RocketMQ, Strict} {
			_, err := Parse(context.Background(), tt.text, d, tt.limits)
			if !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s in %s: %v, want %s", tt.name, d, err, tt.want)
			}
		}
	}
	if _, err := Parse(context.Background(), nested(300), RocketMQ, Limits{Bytes: 1000, Nodes: 3, Depth: 300}); err != nil {
		t.Errorf("300 parentheses: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Parse(ctx, "a = 1", RocketMQ, Limits{}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// FuzzParse parses anything in every dialect. The tree of a text must be the tree of the same text again, and a warning
// or an error must point into the text.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"a = 1 AND b <> 'x' OR NOT (c IS NULL)", "a BETWEEN 1 AND 5", "a not in ('x','y''z')", "-(-a) = +.5e3", "a = --3\n", "/* x */ a>0x10",
		"a LIKE 'x!%' ESCAPE '!'", "a + 1 * 2 % 3 / 4 > 5L", "a contains 'x'", "TRUE = (a = b) IS NOT NULL", "((((a))))", "'", "a.b", "a = 1 b", "\xff = 1",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, d := range []Dialect{RocketMQ, RocketMQ5, Strict} {
			limits := Limits{Bytes: 1 << 16, Nodes: 1000, Depth: 100}
			tree, err := Parse(context.Background(), text, d, limits)
			if err != nil {
				if tree != nil || err.Error() == "" {
					t.Fatalf("%q: error %q with tree %v", text, err, tree)
				}
				continue
			}
			again, err := Parse(context.Background(), text, d, limits)
			if err != nil || again.String() != tree.String() {
				t.Fatalf("%q: %s, then %s, %v", text, tree, again, err)
			}
			for _, w := range append(tree.Warnings, tree.Notes...) {
				if w.At < 0 || w.At > 3*len(text) || w.Text == "" {
					t.Fatalf("%q: warning %+v", text, w)
				}
			}
			if d == Strict && CanRaise(tree.Root) {
				t.Fatalf("%q may raise: %s", text, tree)
			}
		}
	})
}
