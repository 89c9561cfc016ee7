package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/plugins/filter/wasm"
	"github.com/weirmq/weir/sdk/client"
	"github.com/weirmq/weir/sdk/wire"
)

// pluginBrokerCommands are those that work with the modules of running brokers.
func (a *app) pluginBrokerCommands() []*cobra.Command {
	list := []*cobra.Command{
		a.pluginPushCommand(), a.pluginListCommand(), a.pluginLogsCommand(), a.pluginSwitchCommand(true), a.pluginSwitchCommand(false),
		a.pluginRollbackCommand(), a.pluginRemoveCommand(), a.pluginReloadCommand(),
	}
	for _, c := range list {
		a.clientFlags(c)
		c.Flags().StringVar(&a.cluster, "cluster", "", "only on the brokers of this cluster")
	}
	return list
}

// eachModuleBroker is eachBroker for what is asked of modules.
func (a *app) eachModuleBroker(ctx context.Context, f func(ctx context.Context, cl *client.Client, broker, addr string) error) error {
	return a.eachBroker(ctx, "it knows nothing of modules", func(ctx context.Context, cl *client.Client, broker, addr string) error {
		err := f(ctx, cl, broker, addr)
		if said, ok := errors.AsType[*message.Error](err); ok && said.Code == message.QueryNotFound {
			return &reason{err: err, code: exitNotFound, text: fmt.Sprintf("broker %s: %s\nSee what there is with 'weir plugin list'.", broker, said.Remark)}
		}
		return err
	})
}

// moduleRow is a version of a module on a broker.
type moduleRow struct {
	Broker string `json:"broker"`
	wire.Module
}

func (m *moduleRow) label() string {
	if m.Number == 0 {
		return m.Name
	}
	return m.Name + "@" + strconv.Itoa(int(m.Number))
}

// splitVersion takes NAME or NAME@NUMBER apart.
func splitVersion(arg string) (name string, number int, err error) {
	name, text, found := strings.Cut(arg, "@")
	if !found {
		return name, 0, nil
	}
	if number, err = strconv.Atoi(text); err != nil || number < 1 {
		return "", 0, usage(fmt.Errorf("%q: want NAME or NAME@NUMBER, with a number from 'weir plugin list'", arg))
	}
	return name, number, nil
}

// pushTimeout is how long an answer is waited for that comes when a broker has compiled and tested a module.
const pushTimeout = time.Minute

// waitForCompiling sets that time unless --timeout says otherwise.
func (a *app) waitForCompiling(cmd *cobra.Command) {
	if !cmd.Flags().Changed("timeout") {
		a.connect.timeout = pushTimeout
	}
}

func (a *app) pluginPushCommand() *cobra.Command {
	var name string
	var shadow bool
	c := &cobra.Command{
		Use:   "push FILE",
		Short: "deploy a module to running brokers, as the next version of its name",
		Long: "Deploy a module to running brokers. Each checks, compiles and tests it before anything changes. Subscriptions to the name,\n" +
			"or to NAME@latest, go over to it at once, those to NAME@NUMBER or to a hash stay. The brokers have to allow it:\n" +
			"filters.wasm.push.enabled.",
		Example: "  weir plugin push fraud.wasm\n  weir plugin push fraud.wasm --name fraud_eu --shadow",
		Args:    exactArgs("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.waitForCompiling(cmd)
			bin, err := os.ReadFile(args[0])
			if err != nil {
				return usage(err)
			}
			if name == "" {
				if name, err = wasm.ModuleName(bin); err != nil {
					return usage(fmt.Errorf("%s: %w", args[0], err))
				}
			}
			return a.push(cmd.Context(), name, bin, shadow)
		},
	}
	c.Flags().StringVar(&name, "name", "", "the module's name on the brokers (default the one in its manifest)")
	c.Flags().BoolVar(&shadow, "shadow", false, "let it judge beside the current version, and only count the differences")
	return c
}

func (a *app) push(ctx context.Context, name string, bin []byte, shadow bool) error {
	rows := []moduleRow{}
	err := a.eachModuleBroker(ctx, func(ctx context.Context, cl *client.Client, broker, addr string) error {
		m, err := cl.PushModule(ctx, addr, name, bin, shadow, a.progress(broker, len(bin)))
		if err != nil {
			return err
		}
		rows = append(rows, moduleRow{broker, *m})
		return nil
	})
	if err != nil {
		return err
	}
	return a.print(rows, func() {
		for i := range rows {
			fmt.Fprintf(a.stdout, "%s on %s: version %s, %s, sha256 %s\n", rows[i].label(), rows[i].Broker, rows[i].Version, rows[i].State, rows[i].SHA256)
		}
	})
}

// progress returns what shows a person how far an upload is; nil when nobody looks.
func (a *app) progress(broker string, size int) func(int) {
	if !terminal(a.stderr) {
		return nil
	}
	return func(sent int) {
		fmt.Fprintf(a.stderr, "\r%s: %3d%% of %d KiB", broker, 100*int64(sent)/int64(max(size, 1)), (size+1023)/1024)
		if sent >= size {
			fmt.Fprintln(a.stderr)
		}
	}
}

func (a *app) pluginListCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "list [NAME]",
		Aliases: []string{"ls"},
		Short:   "list the modules of running brokers; with NAME show everything about its versions",
		Args:    optionalArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			name := strings.Join(args, "")
			rows := []moduleRow{}
			err := a.eachModuleBroker(cmd.Context(), func(ctx context.Context, cl *client.Client, broker, addr string) error {
				list, err := cl.Modules(ctx, addr, name)
				for i := range list {
					rows = append(rows, moduleRow{broker, list[i]})
				}
				return err
			})
			if err != nil {
				return err
			}
			return a.print(rows, func() {
				if name == "" {
					a.showModules(rows)
					return
				}
				for i := range rows {
					a.showModule(&rows[i])
				}
			})
		},
	}
}

func (a *app) showModules(rows []moduleRow) {
	table := make([][]any, len(rows))
	for i := range rows {
		m := &rows[i]
		table[i] = []any{m.label(), m.Broker, m.Version, m.State, m.SHA256[:min(12, len(m.SHA256))], m.Instances, m.Breaker, m.Records, m.Failures, len(m.Uses)}
	}
	a.table(columns("module", "broker", "version", "state", "sha256", "#instances", "breaker", "#judged", "#failures", "#filters"), table,
		"no modules; push one with 'weir plugin push FILE', or declare one in broker.yaml")
}

func (a *app) showModule(m *moduleRow) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(a.stdout, "%-11s "+format+"\n", append([]any{name}, args...)...)
	}
	line("module", "%s on %s, %s", m.label(), m.Broker, m.Source)
	line("state", "%s", m.State)
	line("version", "%s, %d bytes, %s", m.Version, m.Size, strings.Join(m.Kinds, " and "))
	line("sha256", "%s", m.SHA256)
	if m.Pushed > 0 {
		line("pushed", "%s", timeText(m.Pushed))
	}
	line("purity", "%s", purityText(&m.Module))
	line("running", "%s, %s, breaker %s", count(int(m.Programs), "program"), count(int(m.Instances), "instance"), m.Breaker)
	line("judged", "%d messages in %d calls with %d fuel; %d failures, %d poison, breaker opened %d times", m.Records, m.Calls, m.Fuel, m.Failures, m.Poison, m.Opens)
	if s := m.Shadow; s != (wire.ModuleShadow{}) || m.State == "shadow" {
		line("as shadow", "%d compared, %d only the current version accepts, %d only this one, %d it failed at", s.Compared, s.OnlyCurrent, s.OnlyShadow, s.Failed)
	}
	if m.Fault != "" {
		line("fault", "%s", m.Fault)
	}
	for _, u := range m.Uses {
		state := "live"
		if !u.Live {
			state = "no members"
		}
		line("filters", "%s for %s (%s): %s; generation %d from commit log %d on", u.Topic, u.Group, state, u.Expression, u.Generation, u.From)
	}
	fmt.Fprintln(a.stdout)
}

func purityText(m *wire.Module) string {
	switch {
	case m.Demoted:
		return "said it is pure, and was caught judging differently; verdicts aren't kept"
	case !m.Pure:
		return "impure; judges at each pull"
	case m.Dispatch:
		return "pure; verdicts are kept"
	}
	return "pure; verdicts aren't kept (dispatch is off)"
}

func (a *app) pluginLogsCommand() *cobra.Command {
	type row struct {
		Broker string `json:"broker"`
		wire.ModuleLine
	}
	return &cobra.Command{
		Use:   "logs NAME",
		Short: "show what a module has said lately, and what happened to it",
		Args:  exactArgs("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			rows := []row{}
			err := a.eachModuleBroker(cmd.Context(), func(ctx context.Context, cl *client.Client, broker, addr string) error {
				lines, err := cl.ModuleLog(ctx, addr, args[0])
				for _, l := range lines {
					rows = append(rows, row{broker, l})
				}
				return err
			})
			if err != nil {
				return err
			}
			slices.SortStableFunc(rows, func(x, y row) int { return int(min(max(x.Time-y.Time, -1), 1)) })
			return a.print(rows, func() {
				for _, r := range rows {
					version := ""
					if r.Number > 0 {
						version = "@" + strconv.Itoa(int(r.Number))
					}
					fmt.Fprintf(a.stdout, "%s %-5s %s %s%s: %s\n", timeText(r.Time), r.Level, r.Broker, args[0], version, r.Text)
				}
			})
		},
	}
}

// done says for scripts and people what has happened on which brokers.
func (a *app) done(brokers []string, what string) error {
	return a.print(map[string]any{"brokers": brokers, "done": what}, func() {
		fmt.Fprintf(a.stdout, "%s on %s\n", what, strings.Join(brokers, ", "))
	})
}

// change does something to a module on each broker and says so.
func (a *app) change(ctx context.Context, what string, do func(ctx context.Context, cl *client.Client, addr string) error) error {
	brokers := []string{}
	err := a.eachModuleBroker(ctx, func(ctx context.Context, cl *client.Client, broker, addr string) error {
		brokers = append(brokers, broker)
		return do(ctx, cl, addr)
	})
	if err != nil {
		return err
	}
	return a.done(brokers, what)
}

func (a *app) pluginSwitchCommand(on bool) *cobra.Command {
	var force bool
	c := &cobra.Command{Use: "enable NAME", Short: "let a module be used again that was disabled", Args: exactArgs("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.change(cmd.Context(), "enabled "+args[0], func(ctx context.Context, cl *client.Client, addr string) error {
				return cl.EnableModule(ctx, addr, args[0])
			})
		}}
	if on {
		return c
	}
	c.Use, c.Short = "disable NAME", "let nobody use a module; refused while live groups filter by it, unless --force is given"
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return a.change(cmd.Context(), "disabled "+args[0], func(ctx context.Context, cl *client.Client, addr string) error {
			return cl.DisableModule(ctx, addr, args[0], force)
		})
	}
	c.Flags().BoolVar(&force, "force", false, "although live groups filter by it: they wait, or get what on_open says")
	return c
}

func (a *app) pluginRollbackCommand() *cobra.Command {
	var to int
	c := &cobra.Command{
		Use:   "rollback NAME",
		Short: "make the version before the current one current, or the one that --to names: a newer one or a shadow, too",
		Args:  exactArgs("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.waitForCompiling(cmd)
			rows := []moduleRow{}
			err := a.eachModuleBroker(cmd.Context(), func(ctx context.Context, cl *client.Client, broker, addr string) error {
				m, err := cl.ActivateModule(ctx, addr, args[0], to)
				rows = append(rows, moduleRow{broker, *m})
				return err
			})
			if err != nil {
				return err
			}
			return a.print(rows, func() {
				for i := range rows {
					fmt.Fprintf(a.stdout, "%s is %s now: %s on %s, version %s\n", args[0], rows[i].State, rows[i].label(), rows[i].Broker, rows[i].Version)
				}
			})
		},
	}
	c.Flags().IntVar(&to, "to", 0, "the version's number (default the one that was current before)")
	return c
}

func (a *app) pluginRemoveCommand() *cobra.Command {
	var force, yes bool
	c := &cobra.Command{
		Use:     "remove NAME[@NUMBER]",
		Aliases: []string{"rm"},
		Short:   "remove a module, or one version of it; refused while live groups filter by it, unless --force is given",
		Args:    exactArgs("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, number, err := splitVersion(args[0])
			if err != nil {
				return err
			}
			if err := a.confirm(yes, fmt.Sprintf("This removes %s from the brokers for good.", args[0]), args[0]); err != nil {
				return err
			}
			return a.change(cmd.Context(), "removed "+args[0], func(ctx context.Context, cl *client.Client, addr string) error {
				return cl.RemoveModule(ctx, addr, name, number, force)
			})
		},
	}
	c.Flags().BoolVar(&force, "force", false, "although live groups filter by it: they wait, or get what on_open says")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask")
	return c
}

func (a *app) pluginReloadCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "reload [NAME]",
		Short: "load the modules anew that broker.yaml declares, if their files have changed; SIGHUP does the same",
		Args:  optionalArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.waitForCompiling(cmd)
			loaded := map[string][]string{}
			err := a.eachModuleBroker(cmd.Context(), func(ctx context.Context, cl *client.Client, broker, addr string) error {
				names, err := cl.ReloadModules(ctx, addr, strings.Join(args, ""))
				loaded[broker] = names
				return err
			})
			if err != nil {
				return err
			}
			return a.print(loaded, func() {
				for _, broker := range slices.Sorted(maps.Keys(loaded)) {
					text := "nothing has changed"
					if names := loaded[broker]; len(names) > 0 {
						text = "loaded anew: " + strings.Join(names, ", ")
					}
					fmt.Fprintf(a.stdout, "%s: %s\n", broker, text)
				}
			})
		},
	}
}
