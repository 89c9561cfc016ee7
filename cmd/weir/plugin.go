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
func (a *app) pluginAuthorCommands() []*cobra.Command {
	return []*cobra.Command{a.pluginInitCommand(), a.pluginBuildCommand(), a.pluginTestCommand(), a.pluginBenchCommand(), a.pluginInspectCommand()}
}

// completeFiles offers directories and modules for the first argument.
func completeFiles(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []string{"wasm"}, cobra.ShellCompDirectiveFilterFileExt
}

// completeDirs offers directories for the first argument.
func completeDirs(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveFilterDirs
}
