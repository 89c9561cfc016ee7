package expr

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/file"
)

// A compile error is one line, because it travels in the remark of an answer: what is wrong, and the line and column
// where, both counted from 1 and the column in characters.

// errorAt makes a compile error at the from-th character of the source.
func errorAt(source file.Source, from int, text string) error {
	line, column := 1, 1
	for i, r := range []rune(source.String()) {
		if i == from {
			break
		}
		if column++; r == '\n' {
			line, column = line+1, 1
		}
	}
	return fmt.Errorf("compile EXPR expression: line %d, column %d: %s", line, column, text)
}

// explain makes a compile error of one that expr's reader or checker gave.
func explain(source file.Source, err error) error {
	var at *file.Error
	if !errors.As(err, &at) {
		text := err.Error()
		if got, ok := strings.CutPrefix(text, "expected bool, but got "); ok {
			got = strings.ReplaceAll(got, "unknown", "nil")
			return fmt.Errorf("compile EXPR expression: it gives a value of type %s, and a filter must give true or false", oneLine(got))
		}
		return fmt.Errorf("compile EXPR expression: %s", oneLine(text))
	}
	text := at.Message
	if name, ok := strings.CutPrefix(text, "unknown name "); ok {
		text = unknownName(name)
	}
	switch {
	case text == "unexpected token EOF":
		text = "the expression ends too early"
	case strings.Contains(text, "exceeds maximum allowed nodes"):
		text = tooManyParts
	}
	return errorAt(source, at.From, oneLine(text))
}

// unknownName says what may have been meant.
func unknownName(name string) string {
	if isBuiltin(name) && !slices.Contains(functions, name) && !slices.Contains(loops, name) {
		return notAvailable(name)
	}
	return fmt.Sprintf("unknown name %s; a property is read by str(%q) or num(%q)", name, name, name)
}

const tooManyParts = "the expression has too many parts; the limit is filters.expr.nodes_max"

// textMax bounds what of an expression is repeated in an error.
const textMax = 300

func oneLine(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	if r := []rune(text); len(r) > textMax {
		text = string(r[:textMax]) + "…"
	}
	return text
}
