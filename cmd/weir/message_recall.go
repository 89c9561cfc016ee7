package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weirmq/weir/sdk/client"
)

func (a *app) messageRecallCommand() *cobra.Command {
	var group string
	c := &cobra.Command{
		Use:     "recall HANDLE",
		Short:   "take back a message that waits for its time; HANDLE is printed by weir send --after, and in the send result of RocketMQ's clients",
		Example: "  weir message recall djEgb3JkZXJzIGJyb2tlci1hIDE3OTYwODU2OTMwMDEgMDFBQUJC",
		Args:    exactArgs("HANDLE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), func(ctx context.Context, cl *client.Client) error {
				id, err := cl.Producer(group).Recall(ctx, args[0])
				if err != nil {
					return err
				}
				if a.format == formatTable {
					fmt.Fprintf(a.stdout, "recalled %s: if it still waited, it is never delivered\n", id)
					return nil
				}
				return a.print(map[string]string{"id": id}, nil)
			})
		},
	}
	c.Flags().StringVar(&group, "producer-group", "weir_cli", "producer group")
	return c
}
