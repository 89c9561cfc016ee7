package config

import (
	"fmt"
	"sort"
	"strings"
)

// Error is one thing that is wrong in the configuration, and where.
type Error struct {
	// Source is the file, or what else gave the value, such as an environment variable; empty when nothing did.
	Source string
	// Line and Column count from 1; 0 where the source has none.
	Line, Column int
	// Path is the dotted key, such as store.flush.
	Path string
	// Text says what is wrong.
	Text string
	// Hint says what would be right, when that is known: valid choices, or the key that was probably meant.
	Hint string
	// Excerpt is the source line.
	Excerpt string
}

// Error returns place, path, text and hint in one line, and the source line with a caret below it.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Source != "" {
		b.WriteString(e.Source)
		if e.Line > 0 {
			fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
		}
		b.WriteString(": ")
	}
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	b.WriteString(e.Text)
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	if e.Excerpt != "" {
		fmt.Fprintf(&b, "\n  %4d | %s\n       | %s^", e.Line, e.Excerpt, caretIndent(e.Excerpt, e.Column))
	}
	return b.String()
}

// caretIndent returns blanks up to column, keeping tabs so that the caret stands below its character.
func caretIndent(line string, column int) string {
	var b strings.Builder
	for i, r := range []rune(line) {
		if i >= column-1 {
			break
		}
		if r == '\t' {
			b.WriteByte('\t')
			continue
		}
		b.WriteByte(' ')
	}
	return b.String()
}

// Errors is everything that is wrong, in the order of the file and then of the other sources.
type Errors []*Error

// Error returns all errors, one below the other, with their number at the end when there are several.
func (e Errors) Error() string {
	var b strings.Builder
	for i, one := range e {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(one.Error())
	}
	if len(e) > 1 {
		fmt.Fprintf(&b, "\n%d errors in the configuration", len(e))
	}
	return b.String()
}

// Unwrap returns the single errors.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, one := range e {
		all[i] = one
	}
	return all
}

// sorted orders e by source and place. Errors with a line come first: they are in the file.
func (e Errors) sorted() Errors {
	sort.SliceStable(e, func(i, j int) bool {
		a, b := e[i], e[j]
		if (a.Line > 0) != (b.Line > 0) {
			return a.Line > 0
		}
		if a.Source != b.Source {
			return a.Source < b.Source
		}
		if a.Line != b.Line {
			return a.Line < b.Line
		}
		return a.Column < b.Column
	})
	return e
}
