// Package expr filters by expressions in the language of github.com/expr-lang/expr over one message: the expression type
// EXPR. It reads properties, the message's own fields and JSON bodies.
//
// # What it promises
//
// A verdict depends on the stored message and nothing else, so every program is pure. What an expression may use is a
// list (see language.go): there is no clock, no chance, no order of a map, no side effect. Anything that the list doesn't
// name is refused when the subscription is made, with line and column.
//
// A property or field that a message doesn't have is nil. Operators that expr stops at when they meet nil give nil here,
// and, or and not follow SQL's rules for it, and a filter that comes to nil is unknown: no match. All else means what it
// means to expr. An error at run time (a text that isn't a number, a body that isn't JSON, a limit that is reached) is
// raise: no match, for this message.
//
// # What it costs
//
// An expression is compiled once. Comparisons of a property with a constant, joined by and, or and not, run as plain Go
// calls and allocate nothing; other expressions run in expr's machine, whose memory is reused. Each property is located once for
// a message and only those that the expression names. Everything that a client could make dear is bounded: the size of
// the expression when it is read, and for each message the part of the body that is seen, work and memory.
package expr

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/checker"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/plugin"
)

// version is part of every key. Raise it when the same text starts to mean something else; a new release of expr is a
// reason to look whether it does.
const version = "expr/2"

// compiler compiles EXPR expressions. It has no state but what it shares with its programs.
type compiler struct {
	cfg         Config
	shared      *shared
	machineOnly bool // see compilation
}

// shared is what all compilations share.
type shared struct{ builtins map[string]*builtin.Function }

func newShared() *shared { return &shared{builtins: newBuiltins()} }

func (*compiler) Start(context.Context, plugin.Host) error { return nil }
func (*compiler) Stop(context.Context) error               { return nil }

// ExpressionTypes returns EXPR.
func (*compiler) ExpressionTypes() []string { return []string{TypeExpr} }

// Compile reads, checks and compiles an expression.
func (c *compiler) Compile(ctx context.Context, e filter.Expression) (filter.Program, error) {
	if e.Type != TypeExpr {
		return nil, fmt.Errorf("compile %s expression: the expr filter only knows %s", e.Type, TypeExpr)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("compile EXPR expression: %w", err)
	}
	if len(e.Text) > int(c.cfg.LengthMax) {
		return nil, fmt.Errorf("compile EXPR expression: it has %d bytes, filters.expr.length_max allows %d", len(e.Text), c.cfg.LengthMax)
	}
	source := file.NewSource(e.Text)
	tree, found, err := c.read(source)
	if err != nil {
		return nil, err
	}
	p := &program{needs: needsOf(c.cfg, found), warnings: found.warnings}
	p.key, p.index = keyOf(c.cfg, tree.Node), indexOf(tree.Node)
	p.about = describe(tree.Node, p.index)
	p.code, err = c.compile(tree.Node, found)
	if err != nil {
		return nil, err
	}
	p.about.Engine = engineOf(p.code)
	p.evals.New = func() any { return newEval(p.code) }
	return inColumns(p, found), nil
}

// read parses an expression and checks its types and what it uses.
func (c *compiler) read(source file.Source) (*parser.Tree, *check, error) {
	conf := newConf(c.cfg.NodesMax)
	tree, err := parser.ParseWithConfig(source.String(), conf)
	if err != nil {
		return nil, nil, explain(source, err)
	}
	found := &check{source: source, left: c.cfg.NodesMax}
	if found.nodes(tree.Node); found.err != nil {
		return nil, nil, found.err
	}
	if _, err := checker.Check(tree, conf); err != nil {
		return nil, nil, explain(source, err)
	}
	if b, ok := tree.Node.(*ast.BoolNode); ok {
		found.warn("the expression is always %t", b.Value)
	}
	return tree, found, nil
}

// compile makes code of a checked tree, which it changes.
func (c *compiler) compile(root ast.Node, found *check) (*code, error) {
	w := &compilation{layout: newLayout(found.properties), builtins: c.shared.builtins, known: map[string]int{}, env: map[string]any{}, machineOnly: c.machineOnly}
	stages, err := w.stages(root)
	if err != nil {
		return nil, err
	}
	out := &code{cfg: c.cfg, layout: w.layout, stages: stages}
	out.ops, out.chains = w.ops, w.chains
	for _, text := range w.paths {
		path, err := parseJSONPath(text)
		if err != nil {
			return nil, err
		}
		out.paths = append(out.paths, path)
	}
	return out, nil
}

func needsOf(cfg Config, found *check) filter.Needs {
	n := filter.Needs{Record: true, Properties: found.properties, Body: found.body}
	if n.Properties == nil {
		n.Properties = []string{}
	}
	if n.Body {
		n.BodyMax = max(int(cfg.BodyMax)+1, compressedMax(int(cfg.BodyMax)))
	}
	return n
}

// keyOf hashes what the program computes: the tree, and the limits that may decide.
func keyOf(cfg Config, root ast.Node) filter.Key {
	b := append([]byte(version), 0)
	for _, limit := range []int64{int64(cfg.BodyMax), int64(cfg.WorkMax), int64(cfg.MemoryMax)} {
		b = binary.BigEndian.AppendUint64(b, uint64(limit))
	}
	return sha256.Sum256(canonical(b, root))
}

// program is a compiled expression.
type program struct {
	key      filter.Key
	needs    filter.Needs
	warnings []string
	code     *code
	index    *filter.TagCodes
	about    filter.Description
	evals    sync.Pool // of *eval
}

var (
	_ filter.Compiler = (*compiler)(nil)
	_ filter.Program  = (*program)(nil)

	_ filter.IndexMatcher = (*program)(nil)
)

func (p *program) Key() filter.Key     { return p.key }
func (p *program) Needs() filter.Needs { return p.needs }
func (p *program) Pure() bool          { return true }
func (p *program) Warnings() []string  { return p.warnings }
func (p *program) Close() error        { return nil }

// Match judges each record. One that isn't there, or isn't sound, can't be judged.
func (p *program) Match(ctx context.Context, b *filter.Batch, v *filter.Verdicts) error {
	e := p.evals.Get().(*eval)
	defer func() {
		e.release()
		p.evals.Put(e)
	}()
	for i := range b.TagsCodes {
		if i%64 == 63 && ctx.Err() != nil {
			for ; i < b.Len(); i++ {
				filter.SetBit(v.Undecided, i)
			}
			return fmt.Errorf("judge messages: %w", ctx.Err())
		}
		rec, ok := recordAt(b, i)
		if !ok {
			filter.SetBit(v.Undecided, i)
			continue
		}
		switch e.judge(rec) {
		case isTrue:
			filter.SetBit(v.True, i)
		case isUnknown:
			filter.SetBit(v.Unknown, i)
		case isRaise:
			filter.SetBit(v.Raise, i)
		}
	}
	return nil
}

func recordAt(b *filter.Batch, i int) (message.Record, bool) {
	if i >= len(b.Records) || b.Records[i] == nil {
		return nil, false
	}
	rec, _, err := message.ViewRecord(b.Records[i])
	return rec, err == nil
}
