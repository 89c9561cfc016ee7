package expr

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/file"

	"github.com/weirmq/weir/core/message"
)

// Limits that aren't worth a setting.
const (
	patternSizeMax = 1024 // bytes of a regular expression
	patternCostMax = 2000 // its instructions: the time for each byte of a text
	patternsMax    = 16   // regular expressions in one expression
	rangeMax       = 1000 // elements of a range
	depthMax       = 200  // of the tree
	loopDepthMax   = 4    // loops inside loops
)

// check walks a tree that expr has read and refuses what isn't allowed. What it doesn't know it refuses.
type check struct {
	source   file.Source
	left     int // nodes that are still allowed
	depth    int
	loops    int
	patterns int
	err      error
	warnings []string

	properties []string
	body       bool
	record     bool // something of the record that is neither property nor body
}

// errorAt notes the first error.
func (c *check) errorAt(n ast.Node, format string, args ...any) {
	if c.err == nil {
		c.err = errorAt(c.source, n.Location().From, fmt.Sprintf(format, args...))
	}
}

func (c *check) warn(format string, args ...any) {
	if w := fmt.Sprintf(format, args...); !slices.Contains(c.warnings, w) {
		c.warnings = append(c.warnings, w)
	}
}

func (c *check) nodes(list ...ast.Node) {
	for _, n := range list {
		if n != nil && c.err == nil {
			c.node(n)
		}
	}
}

func (c *check) node(n ast.Node) {
	c.left--
	c.depth++
	defer func() { c.depth-- }()
	if c.depth > depthMax {
		c.errorAt(n, "the expression is nested deeper than %d levels", depthMax)
		return
	}
	if c.left < 0 {
		c.errorAt(n, "%s", tooManyParts)
		return
	}
	switch n := n.(type) {
	case *ast.NilNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.StringNode:
	case *ast.IdentifierNode:
		c.identifier(n)
	case *ast.UnaryNode:
		if _, ok := unaries[n.Operator]; !ok {
			c.errorAt(n, "the operator %s isn't available in filters", n.Operator)
		}
		c.nodes(n.Node)
	case *ast.BinaryNode:
		c.binary(n)
	case *ast.ChainNode:
		c.nodes(n.Node)
	case *ast.MemberNode:
		if n.Method {
			c.errorAt(n, "values have no methods")
		}
		c.nodes(n.Node, n.Property)
	case *ast.SliceNode:
		c.nodes(n.Node, n.From, n.To)
	case *ast.CallNode:
		c.call(n)
	case *ast.BuiltinNode:
		c.builtin(n)
	case *ast.PredicateNode:
		c.nodes(n.Node)
	case *ast.PointerNode:
		if n.Name != "" {
			c.errorAt(n, "#%s isn't available in filters", n.Name)
		}
	case *ast.VariableDeclaratorNode:
		c.nodes(n.Value, n.Expr)
	case *ast.ConditionalNode:
		c.nodes(n.Cond, n.Exp1, n.Exp2)
	case *ast.ArrayNode:
		c.nodes(n.Nodes...)
	case *ast.SequenceNode:
		c.nodes(n.Nodes...)
	case *ast.MapNode:
		c.errorAt(n, "objects in braces aren't available in filters")
	default:
		c.errorAt(n, "this isn't available in filters")
	}
}

func (c *check) identifier(n *ast.IdentifierNode) {
	switch n.Value {
	case "$env":
		c.errorAt(n, "$env isn't available in filters")
	case "tags":
		c.property(message.PropTags)
	case "keys":
		c.property(message.PropKeys)
	case "body":
		c.body = true
	default: // or a name that let gives: no harm
		c.record = true
	}
}

func (c *check) property(name string) {
	if !slices.Contains(c.properties, name) {
		c.properties = append(c.properties, name)
	}
}

func (c *check) binary(n *ast.BinaryNode) {
	op, ok := binaries[n.Operator]
	switch {
	case !ok:
		c.errorAt(n, "the operator %s isn't available in filters", n.Operator)
		return
	case op == "..":
		low, high, ok := rangeOf(n)
		if !ok {
			c.errorAt(n, "the ends of a range must be whole numbers, as in 1..10")
		} else if high-low >= rangeMax || high-low < 0 && high > low {
			c.errorAt(n, "a range may have at most %d elements", rangeMax)
		} else {
			c.left -= max(0, high-low)
		}
		return
	case op == "in":
		c.nodes(n.Left)
		if _, _, ok := rangeOf(n.Right); !ok { // no list is made of such a range, whatever its size
			c.nodes(n.Right)
		}
		return
	case op == "matches":
		c.pattern(n.Right)
	case op == "and" || op == "or":
		c.connective(n, op)
		return
	case op == "==" || op == "!=":
		c.neverEmpty(n)
	}
	c.nodes(n.Left, n.Right)
}

// connective checks a chain of one connective, which is one level however long it is.
func (c *check) connective(n *ast.BinaryNode, op string) {
	operands := flatten(nil, n, op)
	c.left -= len(operands) - 2
	for _, operand := range operands {
		if b, ok := operand.(*ast.BoolNode); ok {
			if b.Value == (op == "or") {
				c.warn("%s %t: what stands beside it doesn't matter", op, b.Value)
			} else {
				c.warn("%s %t: it changes nothing", op, b.Value)
			}
		}
	}
	c.nodes(operands...)
}

// neverEmpty warns of a property that is compared with an empty text.
func (c *check) neverEmpty(n *ast.BinaryNode) {
	for _, sides := range [][2]ast.Node{{n.Left, n.Right}, {n.Right, n.Left}} {
		text, ok := sides[1].(*ast.StringNode)
		if !ok || text.Value != "" {
			continue
		}
		function, name, ok := accessor(sides[0])
		if id, isName := sides[0].(*ast.IdentifierNode); isName && id.Value == "tags" {
			function, name, ok = accessStr, message.PropTags, true
		}
		if ok && function == accessStr {
			c.warn(`no property is ever an empty text: write not has(%q) for one that is missing`, name)
		}
	}
}

// pattern checks a regular expression.
func (c *check) pattern(n ast.Node) {
	text, ok := n.(*ast.StringNode)
	if !ok {
		c.errorAt(n, "the pattern of matches must be a text in quotes")
		return
	}
	if c.patterns++; c.patterns > patternsMax {
		c.errorAt(n, "at most %d patterns are allowed", patternsMax)
		return
	}
	if _, _, err := compilePattern(text.Value); err != nil {
		c.errorAt(n, "pattern: %s", err)
	}
}

// compilePattern compiles a regular expression and returns the time that it takes for each byte, in instructions.
func compilePattern(text string) (*regexp.Regexp, int, error) {
	if len(text) > patternSizeMax {
		return nil, 0, fmt.Errorf("longer than %d bytes", patternSizeMax)
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, 0, err
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, 0, err
	}
	if len(prog.Inst) > patternCostMax {
		return nil, 0, fmt.Errorf("it takes %d steps for each byte, at most %d are allowed: repeat less", len(prog.Inst), patternCostMax)
	}
	re, err := regexp.Compile(text)
	return re, len(prog.Inst), err
}

func (c *check) call(n *ast.CallNode) {
	callee, ok := n.Callee.(*ast.IdentifierNode)
	if !ok {
		c.errorAt(n, "only functions can be called")
		return
	}
	if _, known := accessorTypes[callee.Value]; !known {
		c.errorAt(n, "%s", unknownName(callee.Value))
		return
	}
	function, name, ok := accessor(n)
	if !ok {
		if callee.Value == accessInt && len(n.Arguments) == 1 {
			c.nodes(n.Arguments...)
			return
		}
		c.errorAt(n, "%s needs a name in quotes, so that the broker knows what to look for", callee.Value)
		return
	}
	switch {
	case function == accessJSON:
		c.body = true
		if _, err := parseJSONPath(name); err != nil {
			c.errorAt(n.Arguments[0], "json(%q): %s", name, err)
		}
	case name == "":
		c.errorAt(n.Arguments[0], "%s(%q): no property has an empty name", function, name)
	case strings.ContainsAny(name, "\x01\x02") || !utf8.ValidString(name):
		c.errorAt(n.Arguments[0], "%s(%q): no property can have this name", function, name)
	default:
		c.property(name)
	}
}

func (c *check) builtin(n *ast.BuiltinNode) {
	loop := slices.Contains(loops, n.Name)
	if !loop && !slices.Contains(functions, n.Name) {
		c.errorAt(n, "%s", notAvailable(n.Name))
		return
	}
	if loop {
		if c.loops++; c.loops > loopDepthMax {
			c.errorAt(n, "loops are nested deeper than %d levels", loopDepthMax)
		}
		defer func() { c.loops-- }()
	}
	c.nodes(n.Arguments...)
}

// notAvailable says why a function of expr can't be used.
func notAvailable(name string) string {
	switch name {
	case "now", "date", "duration", "timezone":
		return "the function " + name + " isn't available in filters: a verdict must be the same for ever; compare with born or stored"
	}
	return "the function " + name + " isn't available in filters"
}

// isBuiltin says whether expr has a function of this name.
func isBuiltin(name string) bool {
	_, ok := builtin.Index[name]
	return ok
}
