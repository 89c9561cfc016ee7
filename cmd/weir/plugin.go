package main

import "github.com/spf13/cobra"

// pluginCommand holds what authors and operators of filter modules need.
func (a *app) pluginCommand() *cobra.Command {
	c := group("plugin", "write, test and deploy WebAssembly filters",
		a.pluginAuthorCommands()...,
	)
	c.AddCommand(a.pluginBrokerCommands()...)
	return c
}

// pluginAuthorCommands are those that need no broker.
func (a *app) pluginAuthorCommands() []*cobra.Command { return nil }
