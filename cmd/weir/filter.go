package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/weirmq/weir/core/broker"
	"github.com/weirmq/weir/core/config"
	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/plugins"
	"github.com/weirmq/weir/plugins/filter/sql92"
)

func (a *app) filterCommand() *cobra.Command {
	c := group("filter", "try filter expressions, and see what filters do", a.filterExplainCommand(), a.filterTestCommand(), a.filterListCommand())
	return a.clientCommand(c)
}

// filterFlags say how an expression is compiled.
type filterFlags struct {
	source  source
	kind    string
	dialect string
}

func (f *filterFlags) flags(c *cobra.Command) {
	f.source.flags(c.Flags())
	c.Flags().StringVarP(&f.kind, "type", "t", filter.TypeSQL92, "language: SQL92, TAG, EXPR or WASM")
	c.Flags().StringVar(&f.dialect, "dialect", "", "of SQL92: rocketmq, rocketmq5 or strict (default: the configuration's)")
}

// load reads the configuration and changes what the flags say. Filters that aren't running by default are added when the
// type needs them.
func (a *app) loadFilters(f *filterFlags, engine string) (*config.Config, error) {
	if err := filterDialects(f.dialect); err != nil {
		return nil, err
	}
	cfg, err := a.load(&f.source)
	if err != nil {
		return nil, err
	}
	for _, in := range cfg.Filters {
		c, ok := in.Config.(*sql92.Config)
		if !ok {
			continue
		}
		if f.dialect != "" {
			c.Dialect = f.dialect
		}
		if engine != "" {
			c.Engine = engine
		}
	}
	return cfg, nil
}

func filterDialects(d string) error {
	switch d {
	case "", "rocketmq", "rocketmq5", "strict":
		return nil
	}
	return usage(fmt.Errorf("--dialect %q: want rocketmq, rocketmq5 or strict", d))
}

// compiled is a program with the filters that it runs on.
type compiled struct {
	filter.Program
	filters *broker.Filters
}

func (c *compiled) close() {
	_ = c.Close()
	_ = c.filters.Stop(context.Background())
}

// compile starts the filters and compiles an expression. The caller closes the result. What modules keep compiled goes to a
// directory of the tool's own, so that a running broker isn't disturbed.
func (a *app) compile(ctx context.Context, f *filterFlags, engine, text string) (*compiled, error) {
	cfg, err := a.loadFilters(f, engine)
	if err != nil {
		return nil, err
	}
	sets, err := plugins.CompiledIn()
	if err != nil {
		return nil, err
	}
	cfg.DataDir = filepath.Join(cfg.DataDir, "weir", "tools")
	filters, err := broker.StartFilters(ctx, broker.Options{Config: cfg, Plugins: config.Sets(sets), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	p, err := filters.Compile(ctx, filter.Expression{Type: f.kind, Text: text})
	if err != nil {
		_ = filters.Stop(ctx)
		return nil, &badExpression{err}
	}
	return &compiled{p, filters}, nil
}

// badExpression is an error of the expression itself.
type badExpression struct{ error }

func (e *badExpression) Unwrap() error { return e.error }

// refuse shows an expression with a mark where it is wrong.
func (a *app) refuse(err error, text string) error {
	var bad *badExpression
	if !errors.As(err, &bad) {
		return err
	}
	fmt.Fprintf(a.stderr, "weir: %s\n", err)
	pointAt(a.stderr, text, err.Error())
	return &silent{exitUsage}
}

var placePattern = regexp.MustCompile(`at character (\d+)`)

// pointAt writes the line of text that a message is about, and a mark below the place.
func pointAt(w io.Writer, text, message string) {
	m := placePattern.FindStringSubmatch(message)
	if m == nil {
		return
	}
	at, err := strconv.Atoi(m[1])
	if err != nil || at < 1 || at > len(text)+1 {
		return
	}
	line, column := text, at-1
	if i := strings.LastIndexByte(text[:column], '\n'); i >= 0 {
		line, column = text[i+1:], column-i-1
	}
	line, _, _ = strings.Cut(line, "\n")
	const shown = 60 // on each side
	from, before := 0, ""
	if column > shown {
		from, before = column-shown, "…"
		for from < column && !utf8.RuneStart(line[from]) {
			from++
		}
	}
	to, after := len(line), ""
	if to > column+shown {
		to, after = column+shown, "…"
	}
	fmt.Fprintf(w, "  %s%s%s\n  %s^\n", before, strings.ToValidUTF8(printable(line[from:to]), "?"), after,
		strings.Repeat(" ", utf8.RuneCountInString(before)+utf8.RuneCountInString(line[from:column])))
}
