package expr

import (
	"math"
	"strconv"

	"github.com/expr-lang/expr/ast"
)

// canonical appends a form of the tree that two expressions share only if they mean the same: every node in brackets,
// numbers with their type, one spelling for each operator. (expr's own printing leaves out brackets that matter, as
// those in (a ? b : c).d, and so may print two trees alike.)
func canonical(dst []byte, n ast.Node) []byte {
	switch n := n.(type) {
	case nil:
		return append(dst, '_')
	case *ast.NilNode:
		return append(dst, "nil"...)
	case *ast.IdentifierNode:
		return append(append(dst, '$'), n.Value...)
	case *ast.IntegerNode:
		return strconv.AppendInt(append(dst, 'i'), int64(n.Value), 10)
	case *ast.FloatNode:
		return strconv.AppendUint(append(dst, 'f'), math.Float64bits(n.Value), 16)
	case *ast.BoolNode:
		return strconv.AppendBool(dst, n.Value)
	case *ast.StringNode:
		return strconv.AppendQuote(dst, n.Value)
	case *ast.UnaryNode:
		return form(dst, unaries[n.Operator], n.Node)
	case *ast.BinaryNode:
		return form(dst, binaries[n.Operator], n.Left, n.Right)
	case *ast.ChainNode:
		return form(dst, "chain", n.Node)
	case *ast.MemberNode:
		if n.Optional {
			return form(dst, "?.", n.Node, n.Property)
		}
		return form(dst, ".", n.Node, n.Property)
	case *ast.SliceNode:
		return form(dst, "slice", n.Node, n.From, n.To)
	case *ast.CallNode:
		return form(dst, "call", append([]ast.Node{n.Callee}, n.Arguments...)...)
	case *ast.BuiltinNode:
		return form(dst, "builtin "+n.Name, n.Arguments...)
	case *ast.PredicateNode:
		return form(dst, "each", n.Node)
	case *ast.PointerNode:
		return append(append(dst, '#'), n.Name...)
	case *ast.VariableDeclaratorNode:
		return form(append(append(dst, "let "...), n.Name...), "", n.Value, n.Expr)
	case *ast.ConditionalNode:
		return form(dst, "if", n.Cond, n.Exp1, n.Exp2)
	case *ast.ArrayNode:
		return form(dst, "list", n.Nodes...)
	case *ast.SequenceNode:
		return form(dst, "seq", n.Nodes...)
	}
	// The check lets no other node through.
	panic("expr: a node without a canonical form")
}

func form(dst []byte, name string, nodes ...ast.Node) []byte {
	dst = append(append(dst, '('), name...)
	for _, n := range nodes {
		dst = canonical(append(dst, ' '), n)
	}
	return append(dst, ')')
}
