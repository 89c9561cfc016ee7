package expr

import (
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/weirmq/weir/core/filter"
)

var (
	_ filter.Describer = (*program)(nil)
	_ filter.Prefilter = (*program)(nil)
)

// Describe says how the expression is judged.
func (p *program) Describe() filter.Description { return p.about }

// describe says it of a tree, before the tree is compiled.
func describe(root ast.Node, index *filter.TagCodes) filter.Description {
	d := filter.Description{Index: index.String()}
	draw(root, "", "", &d.Tree)
	reads := reader{}
	ast.Walk(&root, &reads)
	d.Reads = reads.list
	cheap, dear := split(root)
	for _, x := range []struct {
		name     string
		operands []ast.Node
	}{{filter.PartConditions, cheap}, {filter.PartBody, dear}} {
		if len(x.operands) == 0 {
			continue
		}
		part := filter.Part{Name: x.name}
		for _, n := range x.operands {
			part.Conditions = append(part.Conditions, n.String())
		}
		d.Parts = append(d.Parts, part)
	}
	return d
}

// engineOf says what evaluates a code.
func engineOf(c *code) string {
	var names []string
	for i := range c.stages {
		name := "direct calls"
		if c.stages[i].part == nil {
			name = "expr's machine"
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", then ")
}

// draw draws a tree for people, a line for each condition.
func draw(n ast.Node, first, rest string, lines *[]string) {
	text, below := n.String(), []ast.Node(nil)
	switch x := n.(type) {
	case *ast.BinaryNode:
		switch o := binaries[x.Operator]; o {
		case "and":
			text, below = "all of", flatten(nil, n, o)
		case "or":
			text, below = "any of", flatten(nil, n, o)
		}
	case *ast.UnaryNode:
		if unaries[x.Operator] == "not" {
			text, below = "not", []ast.Node{x.Node}
		}
	case *ast.ConditionalNode:
		text, below = "if the first, the second, else the third", []ast.Node{x.Cond, x.Exp1, x.Exp2}
	}
	*lines = append(*lines, first+text)
	for i, c := range below {
		if i == len(below)-1 {
			draw(c, rest+"└─ ", rest+"   ", lines)
		} else {
			draw(c, rest+"├─ ", rest+"│  ", lines)
		}
	}
}

// reader lists what of the message a tree reads.
type reader struct{ list []string }

func (r *reader) Visit(n *ast.Node) {
	text := ""
	switch x := (*n).(type) {
	case *ast.CallNode:
		if _, _, ok := accessor(x); ok {
			text = x.String()
		}
	case *ast.IdentifierNode:
		if _, ok := variables[x.Value]; ok {
			text = x.Value
		}
	}
	if text != "" && !slices.Contains(r.list, text) {
		r.list = append(r.list, text)
	}
}
