package main

import (
	"github.com/spf13/cobra"
)

func (a *app) nameserverCommand() *cobra.Command {
	var s source
	c := &cobra.Command{
		Use:     "nameserver",
		Aliases: []string{"namesrv"},
		Short:   "run a name server alone",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.serve(cmd.Context(), &s, newNameServer)
		},
	}
	s.flags(c.Flags())
	return c
}
