package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirmq/weir/sdk/guest"
)

// initialised is what `plugin init` has made.
type initialised struct {
	Name     string   `json:"name"`
	Language string   `json:"language"`
	Kind     string   `json:"kind"`
	Dir      string   `json:"dir"`
	Files    []string `json:"files"`
}

func (a *app) pluginInitCommand() *cobra.Command {
	var lang, kind, dir string
	langs := guest.Languages()
	c := &cobra.Command{
		Use:   "init NAME",
		Short: "make the project of a new module: sources, kit, manifest and cases",
		Long: "Make the project of a new module in a directory of its own: a small example to change, the kit of the language, the manifest, cases\n" +
			"to test it with, and a README. It needs nothing of WeirMQ but this binary, and builds as it is. Nothing is overwritten.",
		Example: "  weir plugin init geo --lang rust\n  weir plugin init places --lang c --kind functions --dir ~/src/places",
		Args:    exactArgs("NAME"),
		RunE: func(_ *cobra.Command, args []string) error {
			if dir == "" {
				dir = args[0]
			}
			return a.initProject(&initialised{Name: args[0], Language: lang, Kind: kind, Dir: dir})
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	c.Flags().StringVarP(&lang, "lang", "l", "", "language: "+orList(langs))
	c.Flags().StringVar(&kind, "kind", guest.Filter, "what the module is: filter, or functions for SQL92 expressions")
	c.Flags().StringVar(&dir, "dir", "", "the `DIR`ectory to make (default NAME)")
	_ = c.RegisterFlagCompletionFunc("lang", cobra.FixedCompletions(langs, cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions([]string{guest.Filter, guest.Functions}, cobra.ShellCompDirectiveNoFileComp))
	_ = c.MarkFlagDirname("dir")
	return c
}

// orList writes a, b or c.
func orList(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// A module's name is also a part of file names, of a crate's name and, for functions, a word in SQL92.
var (
	filterName    = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,39}$`)
	functionsName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)
)

// check refuses what no project can be made of.
func (p *initialised) check() error {
	langs := guest.Languages()
	switch {
	case p.Language == "":
		return fmt.Errorf("say in which language: --lang %s", orList(langs))
	case !slices.Contains(langs, p.Language):
		return fmt.Errorf("--lang %q: want %s", p.Language, orList(langs))
	case p.Kind != guest.Filter && p.Kind != guest.Functions:
		return fmt.Errorf("--kind %q: want %s or %s", p.Kind, guest.Filter, guest.Functions)
	case !slices.Contains(guest.Kinds(p.Language), p.Kind):
		return fmt.Errorf("--kind %s: the kit for %s doesn't make that; it makes %s", p.Kind, p.Language, orList(guest.Kinds(p.Language)))
	case p.Kind == guest.Functions && !functionsName.MatchString(p.Name):
		return fmt.Errorf("%q can't be the name of functions: want a lower case letter, then at most 39 of them, digits and _; expressions write it as wasm.NAME.function", p.Name)
	case !filterName.MatchString(p.Name):
		return fmt.Errorf("%q can't be a module's name: want a lower case letter, then at most 39 of them, digits, _ and -", p.Name)
	}
	return nil
}

func (a *app) initProject(p *initialised) error {
	if err := p.check(); err != nil {
		return usage(err)
	}
	files, err := guest.Project(p.Language, p.Kind, p.Name)
	if err != nil {
		return err
	}
	if err := emptyDir(p.Dir); err != nil {
		return usage(err)
	}
	for _, f := range files {
		if err := writeNew(filepath.Join(p.Dir, filepath.FromSlash(f.Path)), f.Data); err != nil {
			return fmt.Errorf("make the project: %w", err)
		}
		p.Files = append(p.Files, f.Path)
	}
	return a.print(p, func() {
		fmt.Fprintf(a.stdout, "made %s: a module in %s, kind %s\n", p.Dir, p.Language, p.Kind)
		for _, f := range p.Files {
			fmt.Fprintf(a.stdout, "  %s\n", f)
		}
		fmt.Fprintf(a.stdout, "\nNext:\n  weir plugin build %[1]s\n  weir plugin test %[1]s\n  weir plugin push %[2]s\n", p.Dir, filepath.Join(p.Dir, p.Name+".wasm"))
	})
}

// emptyDir wants dir not to exist, or to be empty.
func emptyDir(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(entries) > 0:
		return fmt.Errorf("%s isn't empty: it has %s; nothing is overwritten, so name another directory with --dir", dir, entries[0].Name())
	}
	return nil
}

// writeNew writes a file that must not exist.
func writeNew(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
