package expr

import (
	"fmt"
	"slices"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/conf"

	"github.com/weirmq/weir/core/message"
)

// compilation turns a checked tree into one that expr's machine runs without meeting nil where it can't stand it, and
// without cost that isn't paid for.
//
// Every use of the message and every operator that nil would stop becomes the call of an op, a function that the
// environment of the machine holds under the name of a number. A function without arguments costs a look-up and a
// call, no memory, and so and, or and not keep expr's own short cuts: each operand that may be nil is followed by
// `?? note()`, which notes that and goes on with a neutral value, and the end of the chain turns the result into nil
// when it hangs on that.
//
//	a and b      (a ?? note()) and (b ?? note()) ? noted() ? nil : true
//	                                             : false
type compilation struct {
	layout   *layout
	builtins map[string]*builtin.Function
	paths    []string
	chains   int
	guards   int
	ops      []op
	known    map[string]int // ops that may be shared, by what they do
	lets     []let          // in scope, the innermost last
	env      map[string]any // of the rewritten program: the types of its ops
	// machineOnly makes everything run in the machine that can, for tests: parts and machine must agree.
	machineOnly bool
}

type let struct {
	name string
	null bool
}

// piece is a rewritten node.
type piece struct {
	node ast.Node // nil if there is only a part
	part part     // nil if it takes the machine
	null bool     // it may be nil
	// condition says that part has only the node's value as a condition: what is no truth value, it can't give.
	condition bool
}

// complete says whether the part gives all that the node gives.
func (p piece) complete() bool { return p.part != nil && !p.condition }

// opType is the type of all ops: expr calls functions of this type without reflection.
var opType = func(...any) any { return nil }

// newProgramConf returns the configuration for compiling a rewritten tree.
func (c *compilation) newProgramConf() *conf.Config {
	cfg := conf.CreateNew()
	cfg.MaxNodes = 0 // the expression has been measured, and rewriting adds a fixed number for each node
	cfg.WithEnv(c.env)
	return cfg
}

// call makes the call of an op. Ops with equal keys are one; an op with an empty key is its own.
func (c *compilation) call(at ast.Node, key string, o func() op, args ...ast.Node) ast.Node {
	i, ok := c.known[key]
	if !ok || key == "" {
		i = len(c.ops)
		c.ops = append(c.ops, o())
		c.env[opName(i)] = opType
		if key != "" {
			c.known[key] = i
		}
	}
	callee := &ast.IdentifierNode{Value: opName(i)}
	n := &ast.CallNode{Callee: callee, Arguments: args}
	callee.SetLocation(at.Location())
	n.SetLocation(at.Location())
	return n
}

// machine returns the node that makes the machine compute p.
func (c *compilation) machine(at ast.Node, p piece) ast.Node {
	if p.node != nil {
		return p.node
	}
	return c.call(at, "", func() op { return partOp(p.part) })
}

// value rewrites n for the machine.
func (c *compilation) value(n ast.Node) (ast.Node, bool) {
	p := c.rewrite(n)
	return c.machine(n, p), p.null
}

func (c *compilation) rewrite(n ast.Node) piece {
	p := c.piece(n)
	if c.machineOnly && p.part != nil {
		return piece{node: c.machine(n, p), null: p.null}
	}
	return p
}

func (c *compilation) piece(n ast.Node) piece {
	if _, ok := literal(n); ok {
		return c.literal(n)
	}
	switch n := n.(type) {
	case *ast.NilNode:
		return piece{node: n, null: true}
	case *ast.IdentifierNode:
		return c.identifier(n)
	case *ast.UnaryNode:
		return c.unary(n)
	case *ast.BinaryNode:
		return c.binary(n)
	case *ast.ChainNode:
		return c.rewrite(n.Node)
	case *ast.MemberNode:
		base, _ := c.value(n.Node)
		property, _ := c.value(n.Property)
		return piece{node: c.call(n, "member", func() op { return memberOp }, base, property), null: true}
	case *ast.SliceNode:
		return c.slice(n)
	case *ast.CallNode:
		return c.access(n)
	case *ast.BuiltinNode:
		if slices.Contains(loops, n.Name) {
			return c.loop(n)
		}
		return c.function(n, n.Name, n.Arguments)
	case *ast.PointerNode:
		return piece{node: n, null: true}
	case *ast.VariableDeclaratorNode:
		return c.let(n)
	case *ast.ConditionalNode:
		return c.choice(n)
	case *ast.ArrayNode:
		for i, e := range n.Nodes {
			n.Nodes[i], _ = c.value(e)
		}
		return piece{node: n}
	case *ast.SequenceNode:
		null := false
		for i, e := range n.Nodes {
			n.Nodes[i], null = c.value(e)
		}
		return piece{node: n, null: null}
	}
	panic(fmt.Sprintf("expr: a node that can't be rewritten: %T", n)) // the check lets none through
}

// literal rewrites a literal, its sign included.
func (c *compilation) literal(n ast.Node) piece {
	value, _ := literal(n)
	switch v := value.(type) {
	case bool:
		return piece{node: n, part: constantPart(v)}
	case int:
		n = at(n, &ast.IntegerNode{Value: v})
	case float64:
		n = at(n, &ast.FloatNode{Value: v})
	}
	return piece{node: n}
}

// at gives a new node the place of an old one.
func at(old, n ast.Node) ast.Node {
	n.SetLocation(old.Location())
	return n
}

// isLet says whether a name is one that the expression gives to a value.
func (c *compilation) isLet(name string) bool {
	return slices.ContainsFunc(c.lets, func(l let) bool { return l.name == name })
}

func (c *compilation) identifier(n *ast.IdentifierNode) piece {
	for i := len(c.lets) - 1; i >= 0; i-- {
		if c.lets[i].name == n.Value {
			return piece{node: n, null: c.lets[i].null}
		}
	}
	read := func(get func(*eval) (any, error)) ast.Node {
		return c.call(n, "read "+n.Value, func() op { return valueOp(get) })
	}
	switch n.Value {
	case "tags":
		slot := c.layout.slot(message.PropTags)
		return piece{node: read(func(e *eval) (any, error) { return e.slot(slot).text(), nil }), null: true}
	case "keys":
		slot := c.layout.slot(message.PropKeys)
		return piece{node: read(func(e *eval) (any, error) { return e.slot(slot).list(), nil }), null: true}
	case "body":
		return piece{node: read((*eval).bodyText)}
	case "topic":
		return piece{node: read(func(e *eval) (any, error) { return string(e.rec.Topic()), nil })}
	}
	get := recordInts[n.Value]
	return piece{node: read(func(e *eval) (any, error) { return get(e.rec), nil })}
}

// access rewrites the call of an accessor.
func (c *compilation) access(n *ast.CallNode) piece {
	function, name, ok := accessor(n)
	if !ok { // int of a value
		return c.function(n, accessInt, n.Arguments)
	}
	key := "read " + function + " " + name
	if function == accessJSON {
		i := c.path(name)
		return piece{null: true, part: jsonCondition(i), condition: true,
			node: c.call(n, key, func() op { return valueOp(func(e *eval) (any, error) { return e.json(i) }) })}
	}
	slot := c.layout.slot(name)
	if function == accessHas {
		return piece{part: func(e *eval) outcome { return outcomeOf(e.slot(slot).raw != nil) }}
	}
	return piece{node: c.call(n, key, func() op { return valueOp(propertyValue(function, slot)) }), null: true}
}

// path returns the number of a JSON path.
func (c *compilation) path(text string) int {
	i := slices.Index(c.paths, text)
	if i < 0 {
		i = len(c.paths)
		c.paths = append(c.paths, text)
	}
	return i
}

// propertyValue returns how a property is read as a value of the language.
func propertyValue(function string, slot int) func(*eval) (any, error) {
	return func(e *eval) (any, error) {
		s := e.slot(slot)
		switch {
		case function == accessStr:
			return s.text(), nil
		case s.raw == nil:
			return nil, nil
		case function == accessInt && s.readInt():
			return s.boxInt(), nil
		case function == accessInt:
			return nil, errInt
		case s.readFloat():
			return s.boxFloat(), nil
		}
		return nil, errNum
	}
}

func (c *compilation) unary(n *ast.UnaryNode) piece {
	p := c.rewrite(n.Node)
	operator := unaries[n.Operator]
	switch {
	case operator != "not":
		return piece{node: c.call(n, "sign "+operator, func() op { return sign(operator) }, c.machine(n, p)), null: p.null}
	case p.part != nil:
		return piece{part: notPart(p.part), null: p.null}
	case !p.null:
		return piece{node: at(n, &ast.UnaryNode{Operator: "not", Node: p.node})}
	}
	chain := c.chain()
	return piece{null: true, node: at(n, &ast.ConditionalNode{Ternary: true,
		Cond: c.note(n, p, chain, false),
		Exp1: c.call(n, "", func() op { return certainOp(chain, false) }),
		Exp2: c.call(n, "", func() op { return endOp(chain, true) }),
	})}
}

func (c *compilation) chain() int {
	c.chains++
	return c.chains - 1
}

// note rewrites an operand of a chain: instead stands for it when it is nil.
func (c *compilation) note(n ast.Node, p piece, chain int, instead bool) ast.Node {
	node := c.machine(n, p)
	if !p.null {
		return node
	}
	key := fmt.Sprint("note ", chain, instead)
	return at(n, &ast.BinaryNode{Operator: "??", Left: node, Right: c.call(n, key, func() op { return unknownOp(chain, instead) })})
}

func (c *compilation) binary(n *ast.BinaryNode) piece {
	operator := binaries[n.Operator]
	switch operator {
	case "and", "or":
		return c.connective(n, operator)
	case "??":
		left, _ := c.value(n.Left)
		right, null := c.value(n.Right)
		return piece{node: at(n, &ast.BinaryNode{Operator: operator, Left: left, Right: right}), null: null}
	case "..":
		low, high, _ := rangeOf(n)
		return piece{node: at(n, &ast.BinaryNode{Operator: operator,
			Left: at(n, &ast.IntegerNode{Value: low}), Right: at(n, &ast.IntegerNode{Value: high})})}
	}
	if p := c.short(n, operator); p != nil && !c.machineOnly {
		return piece{part: p, null: slices.Contains([]string{"<", "<=", ">", ">="}, operator)}
	}
	if operator == "matches" {
		left, _ := c.value(n.Left)
		pattern := n.Right.(*ast.StringNode).Value
		return piece{node: c.call(n, "match "+pattern, func() op {
			re, cost, _ := compilePattern(pattern)
			return matchOp(re, cost)
		}, left)}
	}
	if low, high, ok := rangeOf(n.Right); ok && operator == "in" {
		left, _ := c.value(n.Left)
		return piece{node: c.call(n, "", func() op { return inRangeOp(low, high) }, left)}
	}
	left, nullLeft := c.value(n.Left)
	right, nullRight := c.value(n.Right)
	null := nullLeft || nullRight
	o, null := binaryOpOf(operator, null)
	return piece{node: c.call(n, "binary "+operator, o, left, right), null: null}
}

// binaryOpOf returns the op of a binary operator, and whether it may give nil when one of its sides may be it.
func binaryOpOf(operator string, nullIn bool) (o func() op, null bool) {
	switch operator {
	case "==", "!=":
		return func() op { return equal(operator == "==") }, false
	case "in":
		return func() op { return inOp }, false
	case "contains", "startsWith", "endsWith":
		return func() op { return searchOp(operator) }, false
	case "<", "<=", ">", ">=":
		return func() op { return order(operator) }, nullIn
	}
	return func() op { return arithmetic(operator) }, nullIn
}

// short returns the part for an operator on something of the message and something that stands in the expression.
func (c *compilation) short(n *ast.BinaryNode, operator string) part {
	switch operator {
	case "==", "!=", "<", "<=", ">", ">=":
		return c.comparison(operator, n.Left, n.Right)
	case "in":
		return c.membership(n.Left, n.Right)
	case "contains", "startsWith", "endsWith":
		return c.search(operator, n.Left, n.Right)
	case "matches":
		if re, cost, err := compilePattern(n.Right.(*ast.StringNode).Value); err == nil {
			return c.matching(n.Left, re, cost)
		}
	}
	return nil
}

// connective rewrites a chain of one connective. Neighbours that are parts become one.
func (c *compilation) connective(n *ast.BinaryNode, operator string) piece {
	return c.chained(n, flatten(nil, n, operator), operator)
}

// chained rewrites the operands of a connective at n.
func (c *compilation) chained(n ast.Node, operands []ast.Node, operator string) piece {
	join := andPart
	if operator == "or" {
		join = orPart
	}
	var pieces []piece
	null := false
	for _, operand := range operands {
		p := c.rewrite(operand)
		null = null || p.null
		if last := len(pieces) - 1; last >= 0 && p.part != nil && pieces[last].part != nil {
			pieces[last] = piece{part: join(pieces[last].part, p.part), null: pieces[last].null || p.null}
			continue
		}
		pieces = append(pieces, p)
	}
	if len(pieces) == 1 {
		return pieces[0]
	}
	chain := c.chain()
	neutral := operator == "and"
	var node ast.Node
	for _, p := range pieces {
		operand := c.note(n, p, chain, neutral)
		if node == nil {
			node = operand
			continue
		}
		node = at(n, &ast.BinaryNode{Operator: operator, Left: node, Right: operand})
	}
	if !null {
		return piece{node: node}
	}
	// The neutral result hangs on what was nil, the other stands.
	ends := map[bool]ast.Node{
		neutral:  c.call(n, "", func() op { return endOp(chain, neutral) }),
		!neutral: c.call(n, "", func() op { return certainOp(chain, !neutral) }),
	}
	return piece{null: true, node: at(n, &ast.ConditionalNode{Ternary: true, Cond: node, Exp1: ends[true], Exp2: ends[false]})}
}

// flatten lists the operands of nested uses of one connective.
func flatten(list []ast.Node, n ast.Node, operator string) []ast.Node {
	b, ok := n.(*ast.BinaryNode)
	if !ok || binaries[b.Operator] != operator {
		return append(list, n)
	}
	return flatten(flatten(list, b.Left, operator), b.Right, operator)
}

// condition rewrites what must be true or false: nil counts as false.
func (c *compilation) condition(n ast.Node, p piece) ast.Node {
	node := c.machine(n, p)
	if !p.null {
		return node
	}
	return at(n, &ast.BinaryNode{Operator: "??", Left: node, Right: at(n, &ast.BoolNode{Value: false})})
}

func (c *compilation) choice(n *ast.ConditionalNode) piece {
	cond, yes, no := c.rewrite(n.Cond), c.rewrite(n.Exp1), c.rewrite(n.Exp2)
	null := yes.null || no.null
	if cond.part != nil && yes.complete() && no.complete() {
		return piece{part: choicePart(cond.part, yes.part, no.part), null: null}
	}
	return piece{null: null, node: at(n, &ast.ConditionalNode{Ternary: true,
		Cond: c.condition(n, cond), Exp1: c.machine(n, yes), Exp2: c.machine(n, no)})}
}

func (c *compilation) let(n *ast.VariableDeclaratorNode) piece {
	value, null := c.value(n.Value)
	c.lets = append(c.lets, let{n.Name, null})
	body, null := c.value(n.Expr)
	c.lets = c.lets[:len(c.lets)-1]
	return piece{node: at(n, &ast.VariableDeclaratorNode{Name: n.Name, Value: value, Expr: body}), null: null}
}

func (c *compilation) slice(n *ast.SliceNode) piece {
	base, _ := c.value(n.Node)
	args := []ast.Node{base}
	for _, end := range []ast.Node{n.From, n.To} {
		if end != nil {
			v, _ := c.value(end)
			args = append(args, v)
		}
	}
	key := fmt.Sprint("slice ", n.From != nil, n.To != nil)
	return piece{node: c.call(n, key, func() op { return sliceOp(n.From != nil, n.To != nil) }, args...), null: true}
}

// function rewrites the call of a builtin without predicate.
func (c *compilation) function(n ast.Node, name string, arguments []ast.Node) piece {
	null := name == "first" || name == "last"
	args := make([]ast.Node, len(arguments))
	for i, a := range arguments {
		var nullArg bool
		args[i], nullArg = c.value(a)
		null = null || nullArg
	}
	f := c.builtins[name]
	return piece{node: c.call(n, "builtin "+name, func() op { return functionOp(f) }, args...), null: null && name != "type"}
}

// loop rewrites a builtin with a predicate. What it walks over is checked first, and nil in place of a list gives nil.
func (c *compilation) loop(n *ast.BuiltinNode) piece {
	list := c.rewrite(n.Arguments[0])
	pays := len(n.Arguments) < 2
	collection := c.call(n, fmt.Sprint("list ", n.Name, pays), func() op { return listOp(n.Name, pays) }, c.machine(n, list))
	c.guards++
	guard := fmt.Sprint("@list", c.guards)
	args := []ast.Node{at(n, &ast.IdentifierNode{Value: guard})}
	if len(n.Arguments) > 1 {
		args = append(args, c.predicate(n.Name, n.Arguments[1]))
	}
	walk := at(n, &ast.BuiltinNode{Name: n.Name, Arguments: args})
	null := list.null || n.Name == "find" || n.Name == "findLast"
	if list.null {
		walk = at(n, &ast.ConditionalNode{Ternary: true,
			Cond: at(n, &ast.BinaryNode{Operator: "==", Left: at(n, &ast.IdentifierNode{Value: guard}), Right: at(n, &ast.NilNode{})}),
			Exp1: at(n, &ast.NilNode{}), Exp2: walk})
	}
	return piece{node: at(n, &ast.VariableDeclaratorNode{Name: guard, Value: collection, Expr: walk}), null: null}
}

// predicate rewrites what a loop does in each round.
func (c *compilation) predicate(loop string, n ast.Node) ast.Node {
	body := n
	if p, ok := n.(*ast.PredicateNode); ok {
		body = p.Node
	}
	cost := count(body)
	p := c.rewrite(body)
	node := c.machine(body, p)
	if !slices.Contains(sums, loop) {
		node = c.condition(body, p)
	}
	round := c.call(n, "", func() op { return roundOp(cost) })
	return at(n, &ast.PredicateNode{Node: at(n, &ast.SequenceNode{Nodes: []ast.Node{round, node}})})
}

// count returns the number of nodes of a tree.
func count(n ast.Node) int {
	c := counter(0)
	ast.Walk(&n, &c)
	return int(c)
}

type counter int

func (c *counter) Visit(*ast.Node) { *c++ }
