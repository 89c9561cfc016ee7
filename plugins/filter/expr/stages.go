package expr

import (
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/checker"
	exprcompiler "github.com/expr-lang/expr/compiler"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
)

// An expression whose outermost operator is and is judged in two stages: first the operands that don't look at the body,
// then, for messages for which those are true, the others. A body may have to be decompressed and searched, so this
// saves more than all the rest costs.
//
// What is delivered is the same in any order: and is true when all operands are. What a message is that isn't true, the
// first stage says that it doesn't pass: the author of `json("a") > 1 and num("b") > 2` doesn't hear of a body that isn't JSON
// when b is 1. Inside or, not and the rest the order can be seen, so there it is the author's.

// stage is one step of a code: it is a part, or expr's machine runs program.
type stage struct {
	part    part
	program *vm.Program
}

// readsBody says whether a tree looks at the body.
func readsBody(n ast.Node) bool {
	v := bodyFinder(false)
	ast.Walk(&n, &v)
	return bool(v)
}

type bodyFinder bool

func (v *bodyFinder) Visit(n *ast.Node) {
	if id, ok := (*n).(*ast.IdentifierNode); ok && id.Value == "body" {
		*v = true
	}
	if function, _, ok := accessor(*n); ok && function == accessJSON {
		*v = true
	}
}

// split returns the operands of the outermost and: those that don't look at the body, and those that do.
func split(root ast.Node) (cheap, dear []ast.Node) {
	for _, n := range flatten(nil, root, "and") {
		if readsBody(n) {
			dear = append(dear, n)
		} else {
			cheap = append(cheap, n)
		}
	}
	return cheap, dear
}

// stages compiles a tree, which it changes.
func (c *compilation) stages(root ast.Node) (list []stage, err error) {
	cheap, dear := split(root)
	if len(cheap) == 0 || len(dear) == 0 {
		s, err := c.stage(root, c.rewrite(root))
		return []stage{s}, err
	}
	for _, operands := range [][]ast.Node{cheap, dear} {
		s, err := c.stage(root, c.chained(root, operands, "and"))
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

func (c *compilation) stage(at ast.Node, p piece) (stage, error) {
	if p.part != nil {
		return stage{part: p.part}, nil
	}
	tree := &parser.Tree{Node: p.node, Source: file.NewSource("")}
	conf := c.newProgramConf()
	if _, err := checker.Check(tree, conf); err != nil {
		return stage{}, explain(tree.Source, err)
	}
	program, err := exprcompiler.Compile(tree, conf)
	if err != nil {
		return stage{}, explain(tree.Source, err)
	}
	return stage{program: program}, nil
}

// run returns what a message is for the stage.
func (e *eval) run(s *stage) outcome {
	if s.part != nil {
		return s.part(e)
	}
	v, err := e.vm.Run(s.program, e.env)
	if err != nil {
		return e.fail(err)
	}
	switch v := v.(type) {
	case bool:
		return outcomeOf(v)
	case nil:
		return isUnknown
	}
	return e.fail(errResult)
}

// MatchCheap implements filter.Prefilter.
func (p *program) MatchCheap(b *filter.Batch, keep []uint64) {
	if len(p.code.stages) < 2 {
		return
	}
	e := p.evals.Get().(*eval)
	defer func() {
		e.release()
		p.evals.Put(e)
	}()
	for i := range b.TagsCodes {
		if rec, ok := recordAt(b, i); ok && filter.HasBit(keep, i) {
			if e.begin(rec); e.run(&p.code.stages[0]) != isTrue {
				filter.ClearBit(keep, i)
			}
		}
	}
}

// tagsOf lists the tags of which a message has one when n is true; nil when that can't be told.
func tagsOf(n ast.Node) (tags []string) {
	b, ok := n.(*ast.BinaryNode)
	if !ok {
		return nil
	}
	switch binaries[b.Operator] {
	case "or":
		for _, operand := range flatten(nil, n, "or") {
			some := tagsOf(operand)
			if some == nil {
				return nil
			}
			tags = append(tags, some...)
		}
	case "==":
		left, right := b.Left, b.Right
		if isTags(right) {
			left, right = right, left
		}
		if text, ok := right.(*ast.StringNode); ok && isTags(left) {
			return []string{text.Value}
		}
	case "in":
		values, ok := literals(b.Right)
		if !ok || !isTags(b.Left) {
			return nil
		}
		for _, v := range values {
			if text, ok := v.(string); ok {
				tags = append(tags, text)
			}
		}
	}
	return tags
}

func isTags(n ast.Node) bool {
	if function, name, ok := accessor(n); ok {
		return function == accessStr && name == message.PropTags
	}
	id, ok := n.(*ast.IdentifierNode)
	return ok && id.Value == "tags"
}

// indexOf finds what the expression demands of the tag.
func indexOf(root ast.Node) *filter.TagCodes {
	var best []string
	for _, n := range flatten(nil, root, "and") {
		if tags := tagsOf(n); tags != nil && (best == nil || len(tags) < len(best)) {
			best = tags
		}
	}
	return filter.NewTagCodes(best)
}

// MatchIndex clears the bits of entries whose tag isn't one that the expression demands.
func (p *program) MatchIndex(codes []int64, keep []uint64) (final bool) {
	p.index.MatchIndex(codes, keep)
	return false
}
