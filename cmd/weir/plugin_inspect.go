package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirmq/weir/plugins/filter/wasm"
)

func (a *app) pluginInspectCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "inspect FILE",
		Short: "show what a module is, what it wants, and why a broker would refuse it",
		Long: "Show what a module is: manifest, functions, imports, exports, memory, size and hash, and why a broker with default limits would refuse it.\n" +
			"If nothing else is wrong it is started and its manifest's tests are run, metered and with bounded memory, as a broker does; a hostile file\n" +
			"can do no more here than there.",
		Example:           "  weir plugin inspect geo.wasm\n  weir plugin inspect geo.wasm -o json",
		Args:              exactArgs("FILE"),
		ValidArgsFunction: completeFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			bin, err := readBounded(args[0], wasm.SizeMax)
			if err != nil {
				return usage(err)
			}
			x := wasm.Inspect(cmd.Context(), bin)
			err = a.print(x, func() { a.showInspection(x) })
			if err == nil && len(x.Problems) > 0 {
				err = &silent{exitFailure}
			}
			return err
		},
	}
}

// outsideShown is how many imports or exports people are shown.
const outsideShown = 40

func (a *app) showInspection(x *wasm.Inspection) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(a.stdout, "%-10s "+format+"\n", append([]any{name}, args...)...)
	}
	if m := x.Manifest; m != nil {
		line("module", "%s %s: %s, %s", m.Name, m.Version, strings.Join(m.Kind, " and "), m.Purity)
		showManifest(m, line)
	}
	line("size", "%d bytes, %s", x.Size, count(x.Functions, "function"))
	line("sha256", "%s", x.SHA256)
	if x.FuelGrowth > 0 {
		line("fuel", "counting it makes the module %.2f times as large", x.FuelGrowth)
	}
	if x.MemoryPagesMax > 0 {
		line("memory", "%s of 64 KiB at the start, %d at most", count(int(x.MemoryPages), "page"), x.MemoryPagesMax)
	}
	showOutside(line, "imports", x.Imports, "that no filter gets")
	showOutside(line, "exports", x.Exports, "")
	for _, n := range x.Notes {
		line("note", "%s", n)
	}
	for _, p := range x.Problems {
		line("refused", "[%s] %s", p.Code, p.Text)
	}
	if len(x.Problems) == 0 {
		line("accepted", "by a broker with default limits, its manifest's tests included")
	}
}

func showManifest(m *wasm.Manifest, line func(name, format string, args ...any)) {
	for i, p := range m.Props {
		line(first(i, "reads"), "%s as %s", oneLine(p.Name), p.Type)
	}
	if len(m.Needs) > 0 {
		line(first(len(m.Props), "reads"), "%s", strings.Join(m.Needs, ", "))
	}
	for i, s := range m.Config {
		text := s.Name + ", " + s.Type.String()
		switch {
		case s.Default != nil:
			text += fmt.Sprintf(", default %q", *s.Default)
		case s.Required:
			text += ", required"
		}
		if s.About != "" {
			text += ": " + oneLine(s.About)
		}
		line(first(i, "settings"), "%s", text)
	}
	for i, f := range m.Functions {
		args := make([]string, len(f.Args))
		for k, t := range f.Args {
			args[k] = t.String()
		}
		text := fmt.Sprintf("%s(%s) → %s", f.Name, strings.Join(args, ", "), f.Result)
		if f.Nulls == "called" {
			text += ", called with missing arguments too"
		}
		line(first(i, "functions"), "%s", text)
	}
}

// first is the name for the first of several lines, nothing for the others.
func first(i int, name string) string {
	if i > 0 {
		return ""
	}
	return name
}

func showOutside(line func(name, format string, args ...any), name string, list []wasm.Outside, unknown string) {
	if len(list) == 0 {
		line(name, "none")
	}
	for i, o := range list {
		if i == outsideShown {
			line("", "and %d more", len(list)-i)
			return
		}
		text := o.Name + " " + o.Type
		if !o.Known && unknown != "" {
			text += ", " + unknown
		}
		line(first(i, name), "%s", text)
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// oneLine makes a text of a stranger fit for a line on a terminal.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return '·'
		}
		return r
	}, s)
}
