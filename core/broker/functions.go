package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weirmq/weir/core/filter"
)

// functions finds what expressions call in the running filters. It implements filter.Functions.
type functions struct {
	sources []filter.FunctionSource
	several []filter.FunctionSources
}

// all lists the sources that there are now.
func (f *functions) all() []filter.FunctionSource {
	list := slices.Clone(f.sources)
	for _, s := range f.several {
		list = append(list, s.FunctionSources()...)
	}
	return list
}

// join takes a compiler in: as one that offers functions, as one that calls them, or both.
func (f *functions) join(c filter.Compiler) {
	if s, ok := c.(filter.FunctionSource); ok {
		f.sources = append(f.sources, s)
	}
	if s, ok := c.(filter.FunctionSources); ok {
		f.several = append(f.several, s)
	}
	if u, ok := c.(filter.FunctionUser); ok {
		u.UseFunctions(f)
	}
}

// Function finds a function by the name of its module and its own, or by its own alone if no other has it.
func (f *functions) Function(ctx context.Context, module, name string) (filter.Function, error) {
	var found []filter.FunctionSource
	var modules, all []string
	for _, s := range f.all() {
		m, names := s.Functions()
		for _, n := range names {
			all = append(all, "wasm."+m+"."+n)
		}
		switch {
		case module == "" && slices.Contains(names, name):
			found, modules = append(found, s), append(modules, m)
		case module != "" && m == module:
			return s.Function(ctx, name)
		}
	}
	switch {
	case len(found) == 1:
		return found[0].Function(ctx, name)
	case len(found) > 1:
		slices.Sort(modules)
		return nil, fmt.Errorf("several modules have a function %s: %s; write wasm.%s.%s", name, strings.Join(modules, ", "), modules[0], name)
	case module != "":
		return nil, fmt.Errorf("there is no module %s%s", module, known(all))
	}
	return nil, fmt.Errorf("there is no function %s%s", name, known(all))
}

// known lists what there is, for an error.
func known(names []string) string {
	if len(names) == 0 {
		return "; no running module has functions"
	}
	slices.Sort(names)
	return "; there are " + strings.Join(names, ", ")
}

var errNoModules = errors.New("no running filter has modules")

// Filter makes a function of a whole module.
func (f *functions) Filter(ctx context.Context, reference string, settings map[string]string) (filter.Function, error) {
	sources := f.all()
	for _, s := range sources {
		if s.ServesFilter(reference) {
			return s.Filter(ctx, reference, settings)
		}
	}
	if len(sources) == 0 {
		return nil, errNoModules
	}
	var names []string
	for _, s := range sources {
		if m, _ := s.Functions(); m != "" {
			names = append(names, m)
		}
	}
	slices.Sort(names)
	return nil, fmt.Errorf("there is no module %.100q; there are %s", reference, strings.Join(names, ", "))
}
