package broker

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/plugin"
)

// sharedCompilers serves one expression type by several compilers, each of which knows its own texts. The compilers
// start and stop by themselves.
type sharedCompilers []sharedCompiler

type sharedCompiler struct {
	filter.Compiler
	filter.Sharer
}

func (sharedCompilers) Start(context.Context, plugin.Host) error { return nil }
func (sharedCompilers) Stop(context.Context) error               { return nil }

func (s sharedCompilers) ExpressionTypes() []string { return s[0].ExpressionTypes() }

// Compile asks the compiler whose text it is. If it is nobody's, the error lists whose there are.
func (s sharedCompilers) Compile(ctx context.Context, e filter.Expression) (filter.Program, error) {
	if len(s) == 1 {
		return s[0].Compile(ctx, e)
	}
	var names []string
	for _, c := range s {
		if c.Serves(e) {
			return c.Compile(ctx, e)
		}
		names = append(names, c.Names()...)
	}
	slices.Sort(names)
	return nil, fmt.Errorf("compile %s expression: nothing is called %.100q; there are %s", e.Type, e.Text, strings.Join(names, ", "))
}
