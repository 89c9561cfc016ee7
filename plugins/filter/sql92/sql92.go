// Package sql92 filters by the properties of messages, with the expressions that RocketMQ's clients send as SQL92
// (MessageSelector.bySql). The front end is plugins/internal/sqltree; here are the plugin and two of its back ends.
//
// # What it promises
//
// In the default dialect every expression selects exactly what it selects in RocketMQ 4.9.7, odd cases included, and
// exactly the texts that RocketMQ accepts are accepted, up to the configured limits. Texts that hardly mean what their
// author thinks give warnings. A program is pure.
//
// # What it costs
//
// The vector engine judges 64 messages at a time. One pass over the property string of a message locates all properties
// that the expression names; a number is parsed once, and only in messages that are not decided yet; AND and OR are
// operations on words. The closure engine is the reference: it evaluates one message after the other, as the language is
// defined. Neither allocates for a message. BenchmarkMatch has the figures.
package sql92

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/otel/metric"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/plugin"
	"github.com/weirmq/weir/plugins/internal/sqltree"
	"github.com/weirmq/weir/plugins/internal/sqlwasm"
)

// compiler compiles SQL92 expressions. It has no state but its counters.
type compiler struct {
	cfg                       Config
	engines                   Factory
	functions                 filter.Functions // nil when nothing can be called
	compiled, refused, warned atomic.Int64
	tooLarge                  atomic.Int64
}

var (
	_ filter.Compiler     = (*compiler)(nil)
	_ filter.FunctionUser = (*compiler)(nil)
)

func newCompiler(cfg Config, engines Factory, meters metric.MeterProvider) (*compiler, error) {
	c := &compiler{cfg: cfg, engines: engines}
	meter := meters.Meter("github.com/weirmq/weir/plugins/filter/sql92")
	for _, m := range []struct {
		name, what string
		v          *atomic.Int64
	}{
		{"weir.filter.sql92.compiled", "expressions compiled", &c.compiled},
		{"weir.filter.sql92.refused", "expressions refused", &c.refused},
		{"weir.filter.sql92.warned", "expressions compiled that hardly mean what their author thinks", &c.warned},
		{"weir.filter.sql92.too_large", "expressions that the vector engine evaluates because they are too large for a WebAssembly module", &c.tooLarge},
	} {
		_, err := meter.Int64ObservableCounter(m.name, metric.WithDescription(m.what),
			metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
				o.Observe(m.v.Load())
				return nil
			}))
		if err != nil {
			return nil, fmt.Errorf("make counter %s: %w", m.name, err)
		}
	}
	return c, nil
}

// UseFunctions implements filter.FunctionUser.
func (c *compiler) UseFunctions(f filter.Functions) { c.functions = f }

// resolver returns what finds functions, nil when nobody does.
func (c *compiler) resolver(ctx context.Context) sqltree.Resolver {
	if c.functions == nil {
		return nil
	}
	return resolver{ctx, c.functions}
}

// resolver is a filter.Functions for one compilation.
type resolver struct {
	ctx       context.Context
	functions filter.Functions
}

func (r resolver) Function(module, name string) (filter.Function, error) {
	return r.functions.Function(r.ctx, module, name)
}

func (r resolver) Filter(reference string, settings map[string]string) (filter.Function, error) {
	return r.functions.Filter(r.ctx, reference, settings)
}

func (*compiler) Start(context.Context, plugin.Host) error { return nil }
func (*compiler) Stop(context.Context) error               { return nil }

// ExpressionTypes returns SQL92.
func (*compiler) ExpressionTypes() []string { return []string{filter.TypeSQL92} }

// Compile parses an expression and builds its program.
func (c *compiler) Compile(ctx context.Context, e filter.Expression) (filter.Program, error) {
	p, err := c.compile(ctx, e)
	if err != nil {
		c.refused.Add(1)
		return nil, err
	}
	c.compiled.Add(1)
	if len(p.Warnings()) > 0 {
		c.warned.Add(1)
	}
	return p, nil
}

func (c *compiler) compile(ctx context.Context, e filter.Expression) (filter.Program, error) {
	if e.Type != filter.TypeSQL92 {
		return nil, fmt.Errorf("compile %s expression: the sql92 filter only knows %s", e.Type, filter.TypeSQL92)
	}
	tree, err := sqltree.ParseCalls(ctx, e.Text, sqltree.Dialect(c.cfg.Dialect), c.cfg.limits(), c.resolver(ctx))
	if err != nil {
		return nil, err
	}
	p, err := c.build(ctx, e, tree)
	if err != nil {
		for _, f := range tree.Functions {
			_ = f.Close()
		}
	}
	return p, err
}

// build makes the program of a tree.
func (c *compiler) build(ctx context.Context, e filter.Expression, tree *sqltree.Tree) (filter.Program, error) {
	var warnings []string
	for _, w := range tree.Warnings {
		warnings = append(warnings, w.String())
	}
	if c.cfg.RefuseWarned && len(warnings) > 0 {
		return nil, fmt.Errorf("parse SQL92 expression: refused for its warnings (refuse_warned): %s", strings.Join(warnings, "; "))
	}
	base := base{key: keyOf(tree), dialect: tree.Dialect, rocketmq: c.rocketmq(ctx, e.Text, tree), warnings: warnings, properties: propertiesOf(tree.Root), index: indexOf(tree.Root), root: tree.Root}
	for _, n := range tree.Notes {
		base.hints = append(base.hints, n.String())
	}
	if base.engine = c.cfg.Engine; base.engine == engineAuto || len(tree.Functions) > 0 {
		base.engine = engineVector
	}
	if len(tree.Functions) > 0 {
		return newCallProgram(base, tree), nil
	}
	switch c.cfg.Engine {
	case engineClosure:
		return newClosureProgram(base, tree.Root), nil
	case engineExpr:
		return newFormulaProgram(base, tree.Root, c.engines.Formulas)
	case engineWASM:
		p, err := newModuleProgram(ctx, base, tree.Root, c.engines.Modules)
		if !errors.Is(err, sqlwasm.ErrTooLarge) {
			return p, err
		}
		c.tooLarge.Add(1) // the vector engine takes it
		base.engine = engineVector
	}
	return newVectorProgram(base, tree.Root), nil
}

// rocketmq says whether RocketMQ compiles the text to the same conditions.
func (c *compiler) rocketmq(ctx context.Context, text string, tree *sqltree.Tree) bool {
	if len(tree.Functions) > 0 {
		return false
	}
	if tree.Dialect == sqltree.RocketMQ {
		return true
	}
	other, err := sqltree.Parse(ctx, text, sqltree.RocketMQ, c.cfg.limits())
	return err == nil && other.String() == tree.String()
}

// version is part of every key. Raise it when an expression starts to mean something else.
const version = "sql92/1"

// keyOf hashes what a tree computes. Programs of all engines share it, since they give equal verdicts.
func keyOf(t *sqltree.Tree) filter.Key {
	return sha256.Sum256([]byte(version + "\x00" + string(t.Dialect) + "\x00" + t.String()))
}

// propertiesOf lists the distinct properties that a condition reads, in the order of their appearance.
func propertiesOf(root sqltree.Cond) (names []string) {
	seen := map[string]bool{}
	sqltree.Walk(root, func(x sqltree.Cond) {
		for _, name := range sqltree.PropertiesOf(x) {
			if !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	})
	return names
}

// base is what programs of all engines have.
type base struct {
	key        filter.Key
	dialect    sqltree.Dialect
	rocketmq   bool
	warnings   []string
	properties []string
	index      *filter.TagCodes
	engine     string
	root       sqltree.Cond
	hints      []string
}

func (p *base) Key() filter.Key    { return p.key }
func (p *base) Pure() bool         { return true }
func (p *base) Dialect() string    { return string(p.dialect) }
func (p *base) RocketMQ() bool     { return p.rocketmq }
func (p *base) Warnings() []string { return p.warnings }
func (p *base) Close() error       { return nil }

// Needs asks for the properties, and for no record when the expression is constant.
func (p *base) Needs() filter.Needs {
	return filter.Needs{Record: len(p.properties) > 0, Properties: p.properties}
}
