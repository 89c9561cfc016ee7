package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/weirmq/weir/core/config"
)

// The formats of -o.
const (
	formatTable = "table"
	formatJSON  = "json"
	formatYAML  = "yaml"
)

var formats = []string{formatTable, formatJSON, formatYAML}

func (a *app) checkFormat() error {
	if !slices.Contains(formats, a.format) {
		return usage(fmt.Errorf("--output %q: want %s", a.format, strings.Join(formats, ", ")))
	}
	return nil
}

// print writes v as JSON or YAML, or calls people to write it as text.
func (a *app) print(v any, people func()) error {
	if a.format == formatTable {
		people()
		return nil
	}
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	b = append(b, '\n')
	if a.format == formatYAML {
		if b, err = config.YAMLFromJSON(b); err != nil {
			return fmt.Errorf("write the output: %w", err)
		}
	}
	_, err = a.stdout.Write(b)
	return err
}

// column is the heading of a table's column. Numbers are set to the right.
type column struct {
	name   string
	number bool
}

func columns(names ...string) []column {
	out := make([]column, len(names))
	for i, n := range names {
		name, number := strings.CutPrefix(n, "#")
		out[i] = column{name, number}
	}
	return out
}

// table prints rows below headings, or a sentence when there are none.
func (a *app) table(cols []column, rows [][]any, none string) {
	if len(rows) == 0 {
		fmt.Fprintln(a.stderr, none)
		return
	}
	t := table.NewWriter()
	style := table.StyleLight
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Format.Header = text.FormatUpper
	t.SetStyle(style)
	head := make(table.Row, len(cols))
	configs := make([]table.ColumnConfig, len(cols))
	for i, c := range cols {
		head[i] = c.name
		configs[i] = table.ColumnConfig{Number: i + 1}
		if c.number {
			configs[i].Align, configs[i].AlignHeader = text.AlignRight, text.AlignRight
		}
	}
	t.AppendHeader(head)
	t.SetColumnConfigs(configs)
	for _, r := range rows {
		t.AppendRow(r)
	}
	for line := range strings.SplitSeq(t.Render(), "\n") {
		fmt.Fprintln(a.stdout, strings.TrimRight(line, " "))
	}
}

// count formats a number and its noun: 1 queue, 2 queues.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
