package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirmq/weir/plugins/filter/wasm"
)

// measured is what `plugin bench` finds.
type measured struct {
	Module string         `json:"module"`
	SHA256 string         `json:"sha256"`
	Groups []measuredPart `json:"measured"`
}

// measuredPart is the filter with one configuration, or a function.
type measuredPart struct {
	Config   map[string]string `json:"config,omitempty"`
	Function string            `json:"function,omitempty"`
	Messages int               `json:"different_messages"`
	Costs    []*wasm.Cost      `json:"costs"`
}

func (a *app) pluginBenchCommand() *cobra.Command {
	var file string
	var during time.Duration
	c := &cobra.Command{
		Use:   "bench [DIR | FILE.wasm]",
		Short: "measure what a module costs for a message, in calls of several sizes",
		Long: "Measure what a module costs for a message: time, fuel and memory, in calls of 1, 64, 256 and 1024 messages (of functions: 1 and 64). The messages\n" +
			"are those of the manifest's tests and of cases.yaml, again and again; of cases with several configurations, those of the commonest are taken.\n\n" +
			"The time is that of the quickest batch and holds all that a broker does: finding properties, laying them out, the call, reading verdicts.",
		Example:           "  weir plugin bench geo\n  weir plugin bench geo.wasm --duration 2s -o json",
		Args:              optionalArg,
		ValidArgsFunction: completeFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			if during <= 0 || during > time.Minute {
				return usage(errors.New("--duration: want more than 0s and at most 1m"))
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return a.withTrial(ctx, args, file, func(t *wasm.Trial, path string, groups []*caseGroup) error {
				return a.measure(ctx, t, path, groups, during)
			})
		},
	}
	c.Flags().StringVar(&file, "cases", "", "the `FILE` of cases (default cases.yaml of the project, or beside FILE.wasm)")
	c.Flags().DurationVar(&during, "duration", 500*time.Millisecond, "how long each size is measured")
	_ = c.MarkFlagFilename("cases", "yaml", "yml")
	return c
}

// commonest keeps of each function, and of the filter, the group with the most cases.
func commonest(groups []*caseGroup) (list []*caseGroup) {
	at := map[string]int{}
	for _, g := range groups {
		i, ok := at[g.function]
		switch {
		case !ok:
			at[g.function] = len(list)
			list = append(list, g)
		case len(g.cases) > len(list[i].cases):
			list[i] = g
		}
	}
	return list
}

func (a *app) measure(ctx context.Context, t *wasm.Trial, path string, groups []*caseGroup, during time.Duration) error {
	out := &measured{Module: path, SHA256: t.Hash()}
	for _, g := range commonest(groups) {
		part := measuredPart{Config: g.config, Function: g.function, Messages: len(g.cases)}
		sizes := []int{1, 64, 256, 1024}
		if g.function != "" {
			sizes = []int{1, 64}
		}
		for _, n := range sizes {
			if ctx.Err() != nil {
				return errors.New("interrupted")
			}
			var cost *wasm.Cost
			var err error
			if g.function != "" {
				cost, err = t.MeasureCall(ctx, g.config, g.function, g.rows, n, during)
			} else {
				cost, err = t.Measure(ctx, g.config, g.tests, n, during)
			}
			if err != nil {
				return fmt.Errorf("%s: [%s] %w", path, wasm.Code(err), err)
			}
			part.Costs = append(part.Costs, cost)
		}
		out.Groups = append(out.Groups, part)
	}
	return a.print(out, func() { a.showMeasured(out) })
}

func (a *app) showMeasured(m *measured) {
	for i, g := range m.Groups {
		if i > 0 {
			fmt.Fprintln(a.stdout)
		}
		what := "the filter"
		if g.Function != "" {
			what = "function " + g.Function
		}
		if len(g.Config) > 0 {
			what += " with"
			for _, k := range sortedKeys(g.Config) {
				what += fmt.Sprintf(" %s=%s", oneLine(k), oneLine(g.Config[k]))
			}
		}
		fmt.Fprintf(a.stdout, "%s, on %s again and again\n\n", what, count(g.Messages, "message"))
		var rows [][]any
		for _, c := range g.Costs {
			rows = append(rows, []any{c.Records, fmt.Sprintf("%.0f", c.Nanos), fmt.Sprintf("%.0f", c.Fuel), fmt.Sprintf("%.1f %%", 100*c.FuelShare),
				fmt.Sprintf("%d KiB", c.Memory/1024)})
		}
		a.table(columns("#messages in a call", "#ns a message", "#fuel a message", "#of the fuel allowed", "#memory"), rows, "")
	}
}
