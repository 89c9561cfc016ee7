package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/plugins/filter/wasm"
)

// batchSizes returns those that the cases are repeated in: around the words of the bitmaps, and more than one call's default.
func batchSizes() []int { return []int{1, 63, 64, 65, 1000} }

// casesRun is what `plugin test` finds.
type casesRun struct {
	Module  string       `json:"module"`
	SHA256  string       `json:"sha256"`
	Cases   []caseResult `json:"cases"`
	Failed  int          `json:"failed"`
	Batches []int        `json:"batches"`
	// Differences are where a message's outcome depends on the batch that it is in.
	Differences     []difference `json:"differences"`
	MoreDifferences int          `json:"more_differences,omitempty"`
	// Pure says that the module promises to be, so that the same batch has to have the same outcomes.
	Pure bool `json:"pure"`
}

// caseResult is what came out of a case.
type caseResult struct {
	Name   string `json:"name"`
	Want   string `json:"want"`
	Got    string `json:"got"`
	Passed bool   `json:"passed"`
	Fault  string `json:"fault,omitempty"`
}

// difference is the first message of a batch that has another outcome than its case had.
type difference struct {
	Name  string `json:"name"`
	Batch string `json:"batch"`
	Place int    `json:"place"`
	Want  string `json:"want"` // what it was among the cases alone
	Got   string `json:"got"`
	// More is how many other messages of the batch differ.
	More  int    `json:"more"`
	Fault string `json:"fault,omitempty"`
}

// differencesShown bounds the differences that are told; the others are counted.
const differencesShown = 10

func (a *app) pluginTestCommand() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "test [DIR | FILE.wasm]",
		Short: "run the cases of a project on its module, in batches of many sizes",
		Long: "Run the tests of a module's manifest and the cases of cases.yaml, with the engine, the fuel and the limits of a broker, and say which\n" +
			"have another outcome than they should.\n\n" +
			"Then the cases are repeated to batches of 1, 63, 64, 65 and 1000 messages (of functions: up to 64 calls). Each batch is judged, judged again by the same\n" +
			"instance, and judged backwards by a new one. An outcome that depends on any of that is an error: a broker puts messages into batches as\n" +
			"they come. A module whose manifest says impure may differ between two times.",
		Example:           "  weir plugin test geo\n  weir plugin test geo.wasm --cases more.yaml -o json",
		Args:              optionalArg,
		ValidArgsFunction: completeFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return a.withTrial(ctx, args, file, func(t *wasm.Trial, path string, groups []*caseGroup) error {
				return a.test(ctx, t, path, groups)
			})
		},
	}
	c.Flags().StringVar(&file, "cases", "", "the `FILE` of cases (default cases.yaml of the project, or beside FILE.wasm)")
	_ = c.MarkFlagFilename("cases", "yaml", "yml")
	return c
}

// withTrial calls f with the module that args name and the cases for it.
func (a *app) withTrial(ctx context.Context, args []string, file string, f func(t *wasm.Trial, path string, groups []*caseGroup) error) error {
	arg := "."
	if len(args) > 0 {
		arg = args[0]
	}
	in, err := target(arg, file)
	if err != nil {
		return err
	}
	a.warnStale(in)
	list, err := readCases(in.cases)
	if err != nil {
		return err
	}
	t, err := wasm.NewTrial(ctx, in.binary, trialLog(a.stderr))
	if err != nil {
		return fmt.Errorf("%s: [%s] %w", in.path, wasm.Code(err), err)
	}
	defer t.Close(ctx)
	groups, err := grouped(fromManifest(t.Manifest()), nil, t.Manifest())
	if err != nil {
		return err
	}
	more, err := grouped(list.Cases, list.Config, t.Manifest())
	if err != nil {
		return err
	}
	if groups = append(groups, more...); len(groups) == 0 {
		return usage(fmt.Errorf("there is nothing to try %s on: its manifest has no tests, and there is no %s beside it; name a file with --cases", in.path, casesFile))
	}
	return f(t, in.path, groups)
}

// trialLog writes what modules say without the time.
func trialLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey && len(groups) == 0 {
			return slog.Attr{}
		}
		return a
	}}))
}

func (a *app) test(ctx context.Context, t *wasm.Trial, path string, groups []*caseGroup) error {
	out := &casesRun{Module: path, SHA256: t.Hash(), Batches: []int{}, Differences: []difference{}, Pure: t.Manifest().Purity == "pure"}
	for _, g := range groups {
		if err := out.group(ctx, t, g); err != nil {
			return err
		}
	}
	err := a.print(out, func() { a.showCases(out) })
	if err == nil && (out.Failed > 0 || len(out.Differences) > 0) {
		err = &silent{exitFailure}
	}
	return err
}

// try judges n messages of a group, those of its cases from the first on again and again.
func (g *caseGroup) try(ctx context.Context, t *wasm.Trial, first, n int) (*wasm.Judged, error) {
	if err := ctx.Err(); err != nil {
		return nil, errors.New("interrupted")
	}
	if g.function != "" {
		return t.Call(ctx, g.config, g.function, g.rows[first:], n)
	}
	return t.Judge(ctx, g.config, g.tests[first:], n)
}

// most is how many messages of a group go into one batch.
func (g *caseGroup) most() int {
	if g.function != "" {
		return filter.ColumnsMax
	}
	return filter.BatchMax
}

// group runs the cases of a group among themselves, and then in batches of all sizes.
func (r *casesRun) group(ctx context.Context, t *wasm.Trial, g *caseGroup) error {
	var alone []string
	for first := 0; first < len(g.cases); {
		n := min(len(g.cases)-first, g.most())
		j, err := g.try(ctx, t, first, n)
		if err != nil {
			return fmt.Errorf("case %s: [%s] %w", g.cases[first].label(first), wasm.Code(err), err)
		}
		alone = append(alone, j.Outcomes...)
		for i := range n {
			r.result(g.cases[first+i], first+i, j, j.Outcomes[i])
		}
		r.compare(g, "the cases alone", first, alone[first:], j)
		first += n
	}
	g, alone = g.decided(alone)
	if len(g.cases) == 0 {
		return nil
	}
	for _, size := range batchSizes() {
		if size > g.most() {
			continue
		}
		r.count(size)
		if size == 1 {
			for i := range g.cases {
				if err := r.batch(ctx, t, g, i, 1, alone[i:]); err != nil {
					return err
				}
			}
			continue
		}
		if err := r.batch(ctx, t, g, 0, size, alone); err != nil {
			return err
		}
	}
	return nil
}

// undecided is the outcome of a message that the module failed at.
const undecided = "undecided"

// decided leaves out the cases that the module fails at: they would spoil every batch that they are in.
func (g *caseGroup) decided(outcomes []string) (*caseGroup, []string) {
	out := &caseGroup{config: g.config, function: g.function}
	var kept []string
	for i, x := range g.cases {
		if outcomes[i] != undecided {
			out.add(x)
			kept = append(kept, outcomes[i])
		}
	}
	return out, kept
}

// count notes a size of batches.
func (r *casesRun) count(size int) {
	if !slices.Contains(r.Batches, size) {
		r.Batches = append(r.Batches, size)
	}
}

func (r *casesRun) result(x *testCase, i int, j *wasm.Judged, got string) {
	c := caseResult{Name: x.label(i), Want: string(x.Want), Got: got, Passed: x.met(got)}
	if !c.Passed {
		r.Failed++
		if got == undecided && j.Fault != nil {
			c.Fault = j.Fault.Error()
		}
	}
	r.Cases = append(r.Cases, c)
}

func (r *casesRun) batch(ctx context.Context, t *wasm.Trial, g *caseGroup, first, n int, alone []string) error {
	j, err := g.try(ctx, t, first, n)
	if err != nil {
		return fmt.Errorf("a batch of %d: [%s] %w", n, wasm.Code(err), err)
	}
	name := fmt.Sprintf("a batch of %d", n)
	r.differ(g, name, first, alone, j.Outcomes, j.Fault)
	r.compare(g, name, first, alone, j)
	return nil
}

// compare looks at the two other times that a batch was judged.
func (r *casesRun) compare(g *caseGroup, name string, first int, alone []string, j *wasm.Judged) {
	if !r.Pure {
		return
	}
	r.differ(g, name+", the second time", first, alone, j.Again, j.Fault)
	r.differ(g, name+", backwards by a new instance", first, alone, j.Fresh, j.Fault)
}

func (r *casesRun) differ(g *caseGroup, batch string, first int, alone, got []string, fault error) {
	count := len(g.cases) - first
	var d *difference
	for i, outcome := range got {
		want := alone[i%count]
		switch {
		case outcome == want:
		case d != nil:
			d.More++
		default:
			d = &difference{Name: g.cases[first+i%count].label(first + i%count), Batch: batch, Place: i, Want: want, Got: outcome}
			if outcome == undecided && fault != nil {
				d.Fault = fault.Error()
			}
		}
	}
	switch {
	case d == nil:
	case len(r.Differences) == differencesShown:
		r.MoreDifferences++
	default:
		r.Differences = append(r.Differences, *d)
	}
}

func (a *app) showCases(r *casesRun) {
	var rows [][]any
	for _, c := range r.Cases {
		state := "ok"
		if !c.Passed {
			state = "FAIL"
		}
		rows = append(rows, []any{state, c.Name, c.Want, c.Got})
	}
	if r.Failed > 0 {
		rows = slices.DeleteFunc(rows, func(row []any) bool { return row[0] == "ok" })
	}
	a.table(columns("", "case", "want", "got"), rows, "")
	for _, c := range r.Cases {
		if c.Fault != "" {
			fmt.Fprintf(a.stdout, "%s: %s\n", c.Name, oneLine(c.Fault))
		}
	}
	for i, d := range r.Differences {
		if i == 0 {
			fmt.Fprintln(a.stdout, "\nThe outcome depends on the batch:")
		}
		fmt.Fprintf(a.stdout, "  %s: %s, but %s at place %d of %s", d.Name, d.Want, d.Got, d.Place, d.Batch)
		if d.More > 0 {
			fmt.Fprintf(a.stdout, ", and %d more there", d.More)
		}
		fmt.Fprintln(a.stdout)
		if d.Fault != "" {
			fmt.Fprintf(a.stdout, "    %s\n", oneLine(d.Fault))
		}
	}
	if r.MoreDifferences > 0 {
		fmt.Fprintf(a.stdout, "  and %d more\n", r.MoreDifferences)
	}
	sizes := strings.Trim(strings.ReplaceAll(fmt.Sprint(r.Batches), " ", ", "), "[]")
	fmt.Fprintf(a.stdout, "\n%s, %d failed", count(len(r.Cases), "case"), r.Failed)
	switch {
	case len(r.Batches) == 0: // no case has an outcome
		fmt.Fprintln(a.stdout)
	case len(r.Differences) > 0:
		fmt.Fprintf(a.stdout, "; in batches of %s not always the same\n", sizes)
	case r.Pure:
		fmt.Fprintf(a.stdout, "; in batches of %s, twice and backwards always the same\n", sizes)
	default:
		fmt.Fprintf(a.stdout, "; in batches of %s the same. The manifest says impure, so other times weren't compared\n", sizes)
	}
}
