package main

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/weirmq/weir/sdk/client"
	"github.com/weirmq/weir/sdk/wire"
)

// filterRow is a group's filter on a broker.
type filterRow struct {
	Broker string `json:"broker"`
	wire.Filter
}

func (a *app) filterListCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "list [GROUP]",
		Aliases: []string{"ls"},
		Short:   "list the filters of consumer groups and what they have done",
		Long: "List the filters of consumer groups, or of one group in detail: what they have let through, what was ruled out and how, and what\n" +
			"judging costs. Groups that subscribe to everything have none. The figures begin when a broker sees a group pull\n" +
			"with a filter, and end some minutes after the group has stopped.",
		Example: "  weir filter list\n  weir filter list billing\n  weir filter list -o json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			group := ""
			if len(args) == 1 {
				group = args[0]
			}
			rows, err := a.listFilters(cmd.Context(), group)
			if err != nil {
				return err
			}
			return a.print(rows, func() {
				if group == "" {
					a.showFilters(rows)
				} else {
					a.showFilterDetails(group, rows)
				}
			})
		},
	}
	return c
}

func (a *app) listFilters(ctx context.Context, group string) ([]filterRow, error) {
	return collect(ctx, a, "it can't list filters",
		func(ctx context.Context, cl *client.Client, addr string) ([]wire.Filter, error) {
			return cl.Filters(ctx, addr, group)
		},
		func(broker string, f wire.Filter) filterRow { return filterRow{broker, f} })
}

// share writes a part of a whole in percent.
func share(part, whole int64) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f %%", 100*float64(part)/float64(whole))
}

// cost writes what judging a message takes.
func (r *filterRow) cost() string {
	if n := r.JudgedArriving + r.JudgedPulling; n > 0 {
		return fmt.Sprintf("%.0f", float64(r.Nanos)/float64(n))
	}
	return "-"
}

func (r *filterRow) covered() string {
	if !r.Kept {
		return "-"
	}
	return share(r.Covered, r.Entries)
}

// written is the expression for people, in at most so many characters.
func (r *filterRow) written(most int) string {
	if r.Type == "" {
		return "(each pull brings its own)" + r.bound()
	}
	text := strings.Join(strings.Fields(printable(r.Expression+r.bound())), " ")
	if utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:most-1]) + "…"
	}
	return text
}

// bound is what an operator has joined with the expression.
func (r *filterRow) bound() string {
	if len(r.Mandatory) == 0 {
		return ""
	}
	return "  + mandatory: " + strings.Join(r.Mandatory, " AND ")
}

func (a *app) showFilters(rows []filterRow) {
	brokers := map[string]bool{}
	for i := range rows {
		brokers[rows[i].Broker] = true
	}
	names := []string{"group", "topic", "type", "#scanned", "#matched", "#share", "#cover", "#ns/message", "expression"}
	if len(brokers) > 1 {
		names = append([]string{"broker"}, names...)
	}
	var table [][]any
	for i := range rows {
		r := &rows[i]
		row := []any{r.Group, r.Topic, r.kind(), r.Scanned, r.Matched, share(r.Matched, r.Scanned), r.covered(), r.cost(), r.written(60)}
		if len(brokers) > 1 {
			row = append([]any{r.Broker}, row...)
		}
		table = append(table, row)
	}
	a.table(columns(names...), table, "no group filters what it consumes, or none has connected yet")
	for i := range rows {
		a.showFilterDoubts(&rows[i])
	}
}

func (r *filterRow) kind() string {
	switch {
	case r.Type == "":
		return "-"
	case !r.Live:
		return r.Type + ", nobody there"
	}
	return r.Type
}

// showFilterDoubts says what somebody should look after.
func (a *app) showFilterDoubts(r *filterRow) {
	say := func(format string, args ...any) {
		fmt.Fprintf(a.stdout, "\n%s, %s: %s\n", r.Group, r.Topic, fmt.Sprintf(format, args...))
	}
	if r.Fault != "" {
		say("%s", printable(r.Fault))
	}
	if r.Raised > 0 {
		say("the expression failed for %s; see which with 'weir filter test'", count(int(r.Raised), "message"))
	}
	if r.Errors > 0 {
		say("%s by the filter", count(int(r.Errors), "pull")+" stopped")
	}
}

func (a *app) showFilterDetails(group string, rows []filterRow) {
	if len(rows) == 0 {
		fmt.Fprintf(a.stderr, "group %s has no filter on any broker: it subscribes to everything, or isn't connected\n", group)
		return
	}
	for i := range rows {
		r := &rows[i]
		if i > 0 {
			fmt.Fprintln(a.stdout)
		}
		line := func(name, format string, args ...any) {
			fmt.Fprintf(a.stdout, "%-12s %s\n", name, fmt.Sprintf(format, args...))
		}
		line("topic", "%s on %s", r.Topic, r.Broker)
		line("expression", "%s  %s", r.kind(), r.written(1000))
		if r.Key != "" {
			line("program", "key %s, engine %s", r.Key, r.Engine)
		}
		line("scanned", "%d", r.Scanned)
		line("matched", "%d, %s", r.Matched, share(r.Matched, r.Scanned))
		line("ruled out", "%d by the queue's index, %d by kept verdicts; none of these was read", r.ByIndex, r.ByCover)
		line("judged", "%d on arrival, %d at pulls; %s ns a message", r.JudgedArriving, r.JudgedPulling, r.cost())
		line("outcomes", "unknown %d, raised %d, undecided %d", r.Unknown, r.Raised, r.Undecided)
		line("errors", "%d pulls", r.Errors)
		if r.Kept {
			line("cover", "%d of %d entries, %s", r.Covered, r.Entries, r.covered())
		} else {
			line("cover", "none: verdicts aren't kept")
		}
		a.showFilterDoubts(r)
	}
}
