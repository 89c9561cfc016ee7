package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// app is one invocation: what commands may touch of the outside. Tests make their own.
type app struct {
	stdin   io.Reader
	stdout  io.Writer
	stderr  io.Writer
	env     []string
	version string

	format  string     // -o
	connect connection // how client commands reach a cluster
	cluster string     // which brokers commands about modules go to; all when empty
	log     logOptions // how servers log
}

// run executes one command line and returns the exit code.
func (a *app) run(args []string) int {
	root := a.root()
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(context.Background())
	if err == nil {
		return exitOK
	}
	var said *silent
	if !errors.As(err, &said) {
		fmt.Fprintf(a.stderr, "weir: %s\n", err)
		if isUsage(err) {
			fmt.Fprintf(a.stderr, "Try '%s --help'.\n", cmd.CommandPath())
		}
	}
	return exitCode(err)
}

// root builds the tree of commands. Without a command, weir serves.
func (a *app) root() *cobra.Command {
	serve := a.serveCommand()
	root := &cobra.Command{
		Use:   "weir",
		Short: "a message broker that speaks RocketMQ's protocols and keeps its disk format",
		Long: "weir is a message broker that speaks RocketMQ's protocols and keeps its disk format.\n\n" +
			"Without a command it serves: a broker with a name server inside.",
		Args:          noArgs,
		RunE:          serve.RunE,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.Flags().AddFlagSet(serve.Flags())
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetIn(a.stdin)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage(err) })
	root.PersistentFlags().StringVarP(&a.format, "output", "o", formatTable, "output format: table, json or yaml")
	if err := root.RegisterFlagCompletionFunc("output", completeFormat); err != nil {
		panic("weir: " + err.Error()) // the flag has just been defined
	}
	a.log.flags(root.PersistentFlags())
	root.AddGroup(&cobra.Group{ID: "server", Title: "Servers:"}, &cobra.Group{ID: "client", Title: "Working with a cluster:"})
	for _, c := range []*cobra.Command{serve, a.nameserverCommand(), a.configCommand()} {
		c.GroupID = "server"
		root.AddCommand(c)
	}
	root.AddCommand(a.topicCommand(), a.groupCommand(), a.sendCommand(), a.tailCommand(), a.messageCommand(), a.storeCommand(), a.filterCommand(), a.pluginCommand(), a.benchCommand(), a.versionCommand())
	root.PersistentPreRunE = func(*cobra.Command, []string) error { return a.checkFormat() }
	return root
}

// getenv returns a variable of the app's environment.
func (a *app) getenv(name string) string {
	for _, v := range a.env {
		if n, value, ok := strings.Cut(v, "="); ok && n == name {
			return value
		}
	}
	return ""
}

// terminal says whether w is a terminal, so that people read it.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}

// noArgs refuses arguments, and for a word that is no command says which was meant.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.HasSubCommands() {
		hint := ""
		cmd.SuggestionsMinimumDistance = 2
		if s := cmd.SuggestionsFor(args[0]); len(s) > 0 {
			hint = fmt.Sprintf("; did you mean %q?", s[0])
		}
		return usage(fmt.Errorf("unknown command %q for %q%s", args[0], cmd.CommandPath(), hint))
	}
	return usage(fmt.Errorf("%s takes no arguments, but got %q", cmd.CommandPath(), args[0]))
}

// group makes a command that only holds others.
func group(use, short string, cmds ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: noArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		return cmd.Help()
	}}
	c.AddCommand(cmds...)
	return c
}

// exactArgs wants the arguments that are named.
func exactArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return usage(fmt.Errorf("%s wants %s", cmd.CommandPath(), strings.Join(names[len(args):], " and ")))
		case len(args) > len(names):
			return usage(fmt.Errorf("%s: %q is one argument too many", cmd.CommandPath(), args[len(names)]))
		}
		return nil
	}
}

// optionalArg wants one argument or none.
func optionalArg(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usage(fmt.Errorf("%s: %q is one argument too many", cmd.CommandPath(), args[1]))
	}
	return nil
}
