package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirmq/weir/sdk/client"
	"github.com/weirmq/weir/sdk/wire"
)

// conflictRow is a group on a broker whose members don't subscribe the same.
type conflictRow struct {
	Broker string `json:"broker"`
	wire.GroupConflict
}

func (a *app) groupCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "check [GROUP]",
		ValidArgsFunction: a.completeGroup(),
		Short:             "find groups whose members subscribe different things",
		Long: "Find groups, or look at one, whose members don't subscribe the same topics by the same expressions. Such members undo each\n" +
			"other's subscriptions with every heartbeat, and messages go astray. Exit status 1 when there are any.\n\n" +
			"groups.on_conflict in broker.yaml says whether a broker refuses such members.",
		Example: "  weir group check\n  weir group check billing -o json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			group := strings.Join(args, "")
			rows, err := a.listConflicts(cmd.Context(), group)
			if err != nil {
				return err
			}
			if err := a.print(rows, func() { a.showConflicts(group, rows) }); err != nil {
				return err
			}
			if len(rows) > 0 {
				return &silent{exitFailure}
			}
			return nil
		},
	}
}

func (a *app) listConflicts(ctx context.Context, group string) ([]conflictRow, error) {
	return collect(ctx, a, "it can't compare subscriptions",
		func(ctx context.Context, cl *client.Client, addr string) ([]wire.GroupConflict, error) {
			return cl.Conflicts(ctx, addr, group)
		},
		func(broker string, c wire.GroupConflict) conflictRow { return conflictRow{broker, c} })
}

func (a *app) showConflicts(group string, rows []conflictRow) {
	if len(rows) == 0 {
		if group == "" {
			fmt.Fprintln(a.stdout, "the members of each group subscribe the same")
		} else {
			fmt.Fprintf(a.stdout, "the members of group %s subscribe the same\n", group)
		}
		return
	}
	for i, r := range rows {
		if i > 0 {
			fmt.Fprintln(a.stdout)
		}
		fmt.Fprintf(a.stdout, "group %s on broker %s: %d different subscriptions\n", r.Group, r.Broker, len(r.Sides))
		for _, s := range r.Sides {
			fmt.Fprintf(a.stdout, "  %s\n", strings.Join(s.Subscribes, "; "))
			for _, c := range s.Clients {
				fmt.Fprintf(a.stdout, "    %s\n", c)
			}
			for _, c := range s.Refused {
				fmt.Fprintf(a.stdout, "    %s   refused\n", c)
			}
		}
	}
}
