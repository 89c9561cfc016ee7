package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weirmq/weir/core/config"
)

func readDoc(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("../../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestCLIDocs looks for every command and flag in docs/cli.md, and for every flag named there in the commands.
func TestCLIDocs(t *testing.T) {
	doc := readDoc(t, "cli.md")
	flags := map[string]bool{"help": true}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Name() == "help" || c.Name() == "completion" {
			return
		}
		if !strings.Contains(doc, c.Name()) {
			t.Errorf("docs/cli.md doesn't mention %q", c.CommandPath())
		}
		for _, set := range []*pflag.FlagSet{c.Flags(), c.PersistentFlags()} {
			set.VisitAll(func(f *pflag.Flag) {
				flags[f.Name] = true
				if !strings.Contains(doc, "--"+f.Name) {
					t.Errorf("docs/cli.md doesn't mention --%s of %q", f.Name, c.CommandPath())
				}
			})
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk((&app{}).root())
	for _, m := range regexp.MustCompile("--([a-z][a-z-]+)").FindAllStringSubmatch(doc, -1) {
		if !flags[m[1]] {
			t.Errorf("docs/cli.md mentions --%s, which no command has", m[1])
		}
	}
}

// TestConfigurationDocs looks up every key that docs/configuration.md, docs/operations.md and the README name.
func TestConfigurationDocs(t *testing.T) {
	o, err := parts()
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(o)
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{}
	sections := map[string]bool{}
	for _, v := range cfg.Values() {
		keys[v.Path] = true
		sections[v.Keys[0]] = true
		for i := range v.Keys {
			keys[strings.Join(v.Keys[:i], ".")] = true
		}
	}
	named := regexp.MustCompile("`([a-z_]+)\\.([a-z_.]+)[`:]")
	for _, name := range []string{"configuration.md", "operations.md", "../README.md", "cli.md"} {
		for _, m := range named.FindAllStringSubmatch(readDoc(t, name), -1) {
			if path := m[1] + "." + m[2]; sections[m[1]] && !keys[path] && m[2] != "yaml" {
				t.Errorf("%s names %s, which is no key", name, path)
			}
		}
	}
}
