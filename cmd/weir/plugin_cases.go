package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weirmq/weir/core/config"
	"github.com/weirmq/weir/core/plugin"
	"github.com/weirmq/weir/plugins/filter/wasm"
)

// cases is a cases.yaml: messages, and what a module must say of them.
type cases struct {
	// Config holds settings for all cases.
	Config map[string]string `yaml:"config"`
	Cases  []testCase        `yaml:"cases"`
}

// testCase is a message or a call, and what must come out.
type testCase struct {
	Name string `yaml:"name"`
	// Config holds settings on top of those for all.
	Config map[string]string `yaml:"config"`
	// Properties, Tag and Body are the message, for a filter.
	Properties map[string]string `yaml:"properties"`
	Tag        string            `yaml:"tag"`
	Body       string            `yaml:"body"`
	// Function is called with Args.
	Function string     `yaml:"function"`
	Args     []argument `yaml:"args"`
	Want     wanted     `yaml:"want"`
}

// wanted is true, false, unknown or raise; of a function also a number.
type wanted string

// UnmarshalText reads what a person wrote.
func (w *wanted) UnmarshalText(b []byte) error {
	*w = wanted(b)
	if _, err := strconv.ParseFloat(string(b), 64); err == nil || outcome(string(b)) {
		return nil
	}
	return fmt.Errorf("%q: want true, false, unknown or raise, or a function's number", b)
}

// Plain says that quotes aren't needed.
func (*wanted) Plain() {}

var _, _ config.Plain = (*wanted)(nil), (*argument)(nil)

// argument is one of a function's; nil text is a missing one.
type argument struct{ text *string }

// UnmarshalText reads what a person wrote.
func (x *argument) UnmarshalText(b []byte) error {
	if x.text = nil; b != nil {
		s := string(b)
		x.text = &s
	}
	return nil
}

// Plain says that quotes aren't needed.
func (*argument) Plain() {}

// outcome says whether s is something that can be said of a message.
func outcome(s string) bool { return s == "true" || s == "false" || s == "unknown" || s == "raise" }

// casesMax bounds the cases, so that those with one configuration fit into one batch.
const casesMax = 1000

// Validate wants each case to be for a filter or for a function.
func (c *cases) Validate() error {
	var errs []error
	if len(c.Cases) > casesMax {
		errs = append(errs, plugin.Invalid("cases", "there are %d; at most %d are run", len(c.Cases), casesMax))
	}
	for i := range c.Cases {
		x, field := &c.Cases[i], fmt.Sprintf("cases[%d]", i)
		switch {
		case x.Want == "":
			errs = append(errs, plugin.Invalid(field, "has no want"))
		case x.Function == "" && !outcome(string(x.Want)):
			errs = append(errs, plugin.Invalid(field, "want is the number %s, which only functions give", x.Want))
		case x.Function == "" && x.Args != nil:
			errs = append(errs, plugin.Invalid(field, "args are for a function; say which"))
		case x.Function != "" && (x.Properties != nil || x.Body != "" || x.Tag != ""):
			errs = append(errs, plugin.Invalid(field, "a function gets args, not a message"))
		}
	}
	return errors.Join(errs...)
}

// readCases reads a file of cases. The name may be empty: then there are none.
func readCases(path string) (*cases, error) {
	if path == "" {
		return &cases{}, nil
	}
	src, err := readBounded(path, 1<<20)
	if err != nil {
		return nil, usage(err)
	}
	return parseCases(path, src)
}

func parseCases(path string, src []byte) (*cases, error) {
	c := &cases{}
	if err := config.DecodeYAML(path, src, c); err != nil {
		return nil, usage(err)
	}
	return c, nil
}

// caseGroup are cases that can be judged in one batch: they have one configuration, and are for the filter or one function.
type caseGroup struct {
	config   map[string]string
	function string
	number   bool // the function's value is one
	cases    []*testCase
	tests    []wasm.Test
	rows     [][]*string
}

// fromManifest makes cases of a manifest's tests.
func fromManifest(m *wasm.Manifest) (list []testCase) {
	for i := range m.Tests {
		x := &m.Tests[i]
		list = append(list, testCase{Name: "manifest: " + x.Label(), Config: x.Config, Properties: x.Props, Tag: x.Tag, Body: x.Body, Want: wanted(x.Want)})
	}
	return list
}

// grouped puts cases together that can be judged in one batch.
func grouped(list []testCase, common map[string]string, m *wasm.Manifest) ([]*caseGroup, error) {
	var groups []*caseGroup
	for i := range list {
		x := &list[i]
		conf := maps.Clone(common)
		if conf == nil {
			conf = map[string]string{}
		}
		maps.Copy(conf, x.Config)
		k := slices.IndexFunc(groups, func(g *caseGroup) bool { return g.function == x.Function && maps.Equal(g.config, conf) })
		if k < 0 {
			g := &caseGroup{config: conf, function: x.Function}
			if err := g.check(m); err != nil {
				return nil, usage(fmt.Errorf("case %s: %w", x.label(i), err))
			}
			k, groups = len(groups), append(groups, g)
		}
		groups[k].add(x)
	}
	return groups, nil
}

func (g *caseGroup) check(m *wasm.Manifest) error {
	if g.function == "" {
		if !slices.Contains(m.Kind, "filter") {
			return fmt.Errorf("the module %s is no filter: say which function is called, with function and args", m.Name)
		}
		return nil
	}
	var names []string
	for _, f := range m.Functions {
		if f.Name == g.function {
			g.number = f.Result != wasm.SlotBoolean
			return nil
		}
		names = append(names, f.Name)
	}
	if len(names) == 0 {
		return fmt.Errorf("there is no function %q: the module %s has none", g.function, m.Name)
	}
	return fmt.Errorf("there is no function %q: the module %s has %s", g.function, m.Name, strings.Join(names, ", "))
}

func (g *caseGroup) add(x *testCase) {
	g.cases = append(g.cases, x)
	g.tests = append(g.tests, wasm.Test{Name: x.Name, Props: x.Properties, Tag: x.Tag, Body: x.Body})
	row := make([]*string, len(x.Args))
	for i := range x.Args {
		row[i] = x.Args[i].text
	}
	g.rows = append(g.rows, row)
}

// label names a case for people.
func (x *testCase) label(i int) string {
	switch {
	case x.Name != "":
		return oneLine(x.Name)
	case x.Function != "":
		args := make([]string, len(x.Args))
		for k, a := range x.Args {
			if args[k] = "null"; a.text != nil {
				args[k] = *a.text
			}
		}
		return oneLine(x.Function + "(" + strings.Join(args, ", ") + ")")
	case len(x.Properties) == 0:
		return strconv.Itoa(i + 1)
	}
	var parts []string
	for _, k := range sortedKeys(x.Properties) {
		parts = append(parts, k+"="+x.Properties[k])
	}
	return oneLine(strings.Join(parts, " "))
}

// met says whether an outcome is the wanted one. Numbers are compared as numbers.
func (x *testCase) met(got string) bool {
	if got == string(x.Want) {
		return true
	}
	want, err := strconv.ParseFloat(string(x.Want), 64)
	have, err2 := strconv.ParseFloat(got, 64)
	return err == nil && err2 == nil && want == have
}
