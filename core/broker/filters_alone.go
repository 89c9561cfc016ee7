package broker

import (
	"context"
	"errors"
	"fmt"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/queue"
)

// Filters are a broker's filter plugins without the rest of it, for tools that work with expressions.
type Filters struct {
	b         *Broker
	compilers queue.CompilerMap
}

// StartFilters starts the filters that the configuration names, and nothing else. The caller stops them.
func StartFilters(ctx context.Context, o Options) (*Filters, error) {
	if o.Clock == nil {
		o.Clock = clock.Real()
	}
	b := &Broker{opts: o, sections: sectionsOf(o.Config), log: o.Logger, done: make(chan error, 1)}
	compilers, err := b.startFilters(ctx)
	if err != nil {
		return nil, errors.Join(err, b.Stop(ctx))
	}
	return &Filters{b, compilers}, nil
}

// Compile compiles an expression as the broker would. The caller closes the program.
func (f *Filters) Compile(ctx context.Context, e filter.Expression) (filter.Program, error) {
	if e.Type == "" {
		e.Type = filter.TypeTag
	}
	c, ok := f.compilers.Compiler(e.Type)
	if !ok {
		return nil, fmt.Errorf("no running filter compiles %s; enable one under filters and service in broker.yaml", e.Type)
	}
	return c.Compile(ctx, e)
}

// Stop stops the filters.
func (f *Filters) Stop(ctx context.Context) error { return f.b.Stop(ctx) }
