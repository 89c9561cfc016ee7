package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "say which weir this is",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			v := struct {
				Version  string `json:"version"`
				Protocol string `json:"protocol"`
				Go       string `json:"go"`
				Platform string `json:"platform"`
			}{a.version, "RocketMQ 4.9.7", runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			return a.print(v, func() {
				fmt.Fprintf(a.stdout, "weir %s (speaks %s; %s, %s)\n", v.Version, v.Protocol, v.Go, v.Platform)
			})
		},
	}
}
