package sql92

import (
	"context"
	"math"
	"math/bits"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/plugins/internal/sqltree"
)

// vectorProgram judges 64 messages at a time; see node.
type vectorProgram struct {
	base
	columns []filter.Column
	layout  *filter.Layout
	same    []int // column i is column i of layout
	root    node
	blocks  sync.Pool // of *block with columns of their own
	// borrowed are blocks for columns of others.
	borrowed sync.Pool
}

var (
	_ filter.Program       = (*vectorProgram)(nil)
	_ filter.ColumnMatcher = (*vectorProgram)(nil)
	_ filter.Variant       = (*vectorProgram)(nil)
)

func newVectorProgram(b base, root sqltree.Cond) *vectorProgram {
	p := &vectorProgram{base: b}
	v := vectorizer{columns: map[filter.Column]int{}}
	p.root = v.node(root)
	p.columns = v.list
	p.layout = filter.NewLayout(p.columns)
	for i := range p.columns {
		p.same = append(p.same, i)
	}
	p.blocks.New = func() any { return &block{columns: filter.NewColumns(p.layout), at: p.same} }
	p.borrowed.New = func() any { return new(block) }
	return p
}

// Columns lists the columns that MatchColumns reads.
func (p *vectorProgram) Columns() []filter.Column { return p.columns }

// MatchColumns judges messages whose properties are in columns already.
func (p *vectorProgram) MatchColumns(c *filter.Columns, at []int, want uint64) filter.Word {
	b := p.borrowed.Get().(*block)
	b.columns, b.at = c, at
	w := p.judge(b, want)
	b.columns, b.at = nil, nil
	p.borrowed.Put(b)
	return w
}

func (p *vectorProgram) judge(b *block, want uint64) (w filter.Word) {
	if len(p.columns) > 0 {
		w.Undecided = want &^ b.columns.Sound()
		want &^= w.Undecided
	}
	w.True, w.Unknown, w.Raise = p.root.eval(b, want)
	return w
}

// Match judges the batch.
func (p *vectorProgram) Match(_ context.Context, batch *filter.Batch, v *filter.Verdicts) error {
	b := p.blocks.Get().(*block)
	n := batch.Len()
	for first := 0; first < n; first += filter.ColumnsMax {
		last := min(first+filter.ColumnsMax, n)
		if len(p.columns) > 0 {
			b.columns.Load(batch.Records[min(first, len(batch.Records)):min(last, len(batch.Records))])
		}
		w := p.judge(b, ^uint64(0)>>(filter.ColumnsMax-(last-first)))
		i := first / 64
		v.True[i], v.Unknown[i], v.Raise[i], v.Undecided[i] = w.True, w.Unknown, w.Raise, w.Undecided
	}
	b.columns.Clear()
	p.blocks.Put(b)
	return nil
}

// block is up to 64 messages that are being judged.
type block struct {
	columns *filter.Columns
	at      []int // of each of the program's columns, its index in columns

	// Of a program with calls:
	program        *callProgram
	calls          []callState
	ctx            context.Context // of the Match that uses the block
	batch          *filter.Batch
	first          int   // message of the batch
	err            error // why no more calls are made
	failed, poison uint64
}

// node is a condition over a block. eval returns, of the messages in need, which are true, unknown and raise; the others
// are false. Each message is in at most one of them. Members of an AND or OR get in need only those messages for which
// they would be evaluated at all, so that a raise that a short cut hides stays hidden, and nothing is parsed in vain.
type node interface {
	eval(b *block, need uint64) (t, u, e uint64)
}

// vectorizer builds nodes and collects the columns that they read.
type vectorizer struct {
	columns map[filter.Column]int
	list    []filter.Column
	calls   *callColumns
}

func (v *vectorizer) column(property string, kind filter.Kind) int {
	c := filter.Column{Property: property, Kind: kind}
	i, ok := v.columns[c]
	if !ok {
		i = len(v.list)
		v.columns[c] = i
		v.list = append(v.list, c)
	}
	return i
}

func (v *vectorizer) node(x sqltree.Cond) node {
	switch x := x.(type) {
	case *sqltree.Const:
		return constNode(x.Outcome)
	case *sqltree.Map:
		if isNot(x) {
			return notNode{v.node(x.X)}
		}
		return &mapNode{v.node(x.X), x.True, x.False, x.Unknown}
	case *sqltree.And:
		return andNode(fuse(v.members(x.List)))
	case *sqltree.Or:
		return orNode(v.members(x.List))
	case *sqltree.If:
		return &ifNode{v.column(x.Property, filter.Text), v.node(x.Present), v.node(x.Missing)}
	case *sqltree.Equal:
		return &equalNode{v.node(x.Left), v.node(x.Right)}
	case *sqltree.Compare:
		return v.compare(x)
	case *sqltree.EqualProperties:
		return equalPropertiesNode{v.column(x.Left, filter.Text), v.column(x.Right, filter.Text)}
	case *sqltree.CompareProperties:
		return comparePropertiesNode{v.column(x.Left, filter.Double), x.Op, v.column(x.Right, filter.Double)}
	case *sqltree.EqualText:
		if strings.ContainsRune(x.Text, utf8.RuneError) {
			break
		}
		return &equalTextNode{v.column(x.Property, filter.Text), x.Text}
	case *sqltree.In:
		if strings.ContainsRune(strings.Join(x.Members, ""), utf8.RuneError) {
			break
		}
		return &inNode{v.column(x.Property, filter.Text), filter.NewTextSet(x.Members...)}
	case *sqltree.Search:
		return &testNode{v.column(x.Property, filter.Text), searchTest(x)}
	case *sqltree.IsTrue:
		return &testNode{v.column(x.Property, filter.Text), isTrue}
	case *sqltree.CallTest:
		return callTestNode(v.call(x.Call))
	case *sqltree.CallValue:
		return callValueNode(v.call(x.Call))
	case *sqltree.CallCompare:
		return v.callCompare(x)
	}
	return v.rowNode(x)
}

// members builds the members of an AND or OR.
func (v *vectorizer) members(list []sqltree.Cond) (nodes []node) {
	for _, x := range list {
		nodes = append(nodes, v.node(x))
	}
	return nodes
}

// fuse makes one comparison with a range of neighbours in an AND that compare one property with numbers of one kind, as
// BETWEEN does: they are unknown, or raise, together.
func fuse(list []node) (fused []node) {
	for _, x := range list {
		n, ok := x.(*rangeNode)
		if ok && len(fused) > 0 {
			if last, ok := fused[len(fused)-1].(*rangeNode); ok && last.column == n.column {
				fused[len(fused)-1] = newRange(n.column, max(last.low, n.low), min(last.high, n.high))
				continue
			}
		}
		fused = append(fused, x)
	}
	return fused
}

type constNode sqltree.Outcome

func (n constNode) eval(_ *block, need uint64) (t, u, e uint64) {
	switch sqltree.Outcome(n) {
	case sqltree.True:
		return need, 0, 0
	case sqltree.Unknown:
		return 0, need, 0
	case sqltree.Raise:
		return 0, 0, need
	}
	return 0, 0, 0
}

type notNode struct{ x node }

func (n notNode) eval(b *block, need uint64) (t, u, e uint64) {
	t, u, e = n.x.eval(b, need)
	return need &^ (t | u | e), u, e
}

type mapNode struct {
	x                    node
	ifTrue, ifFalse, ifU sqltree.Outcome
}

func (n *mapNode) eval(b *block, need uint64) (t, u, e uint64) {
	xt, xu, xe := n.x.eval(b, need)
	e = xe
	for _, part := range [...]struct {
		bits uint64
		to   sqltree.Outcome
	}{{xt, n.ifTrue}, {xu, n.ifU}, {need &^ (xt | xu | xe), n.ifFalse}} {
		switch part.to {
		case sqltree.True:
			t |= part.bits
		case sqltree.Unknown:
			u |= part.bits
		case sqltree.Raise:
			e |= part.bits
		}
	}
	return t, u, e
}

type andNode []node

func (n andNode) eval(b *block, need uint64) (t, u, e uint64) {
	left := need // messages that no member has decided
	for _, x := range n {
		xt, xu, xe := x.eval(b, left)
		e |= xe
		u |= xu
		left = xt | xu
		if left == 0 {
			break
		}
	}
	return left &^ u, left & u, e
}

type orNode []node

func (n orNode) eval(b *block, need uint64) (t, u, e uint64) {
	left := need
	for _, x := range n {
		xt, xu, xe := x.eval(b, left)
		t |= xt
		e |= xe
		u |= xu
		if left &^= xt | xe; left == 0 {
			break
		}
	}
	return t, left & u, e
}

type ifNode struct {
	column           int
	present, missing node
}

func (n *ifNode) eval(b *block, need uint64) (t, u, e uint64) {
	has := b.columns.Present(b.at[n.column])
	if p := need & has; p != 0 {
		t, u, e = n.present.eval(b, p)
	}
	if m := need &^ has; m != 0 {
		mt, mu, me := n.missing.eval(b, m)
		t, u, e = t|mt, u|mu, e|me
	}
	return t, u, e
}

type equalNode struct{ left, right node }

func (n *equalNode) eval(b *block, need uint64) (t, u, e uint64) {
	lt, lu, le := n.left.eval(b, need)
	need &^= le
	rt, ru, re := n.right.eval(b, need)
	need &^= re
	lf, rf := need&^(lt|lu), need&^(rt|ru)
	return (lt&rt | lf&rf | lu&ru) & need, lu &^ ru & need, le | re
}

// rangeNode compares a property with a range of numbers, which any comparison with one number is.
type rangeNode struct {
	column    int
	low, high int64
	width     uint64 // high - low
}

func newRange(column int, low, high int64) *rangeNode {
	return &rangeNode{column: column, low: low, high: high, width: uint64(high - low)}
}

func (v *vectorizer) compare(x *sqltree.Compare) node {
	k, column := x.Number.Ordered, v.column(x.Property, x.Number.Kind)
	switch x.Op {
	case sqltree.EQ:
		return newRange(column, k, k)
	case sqltree.LE:
		return newRange(column, math.MinInt64, k)
	case sqltree.GE:
		return newRange(column, k, math.MaxInt64)
	case sqltree.LT:
		if k == math.MinInt64 {
			return newRange(column, math.MaxInt64, math.MinInt64) // nothing
		}
		return newRange(column, math.MinInt64, k-1)
	default:
		if k == math.MaxInt64 {
			return newRange(column, math.MaxInt64, math.MinInt64)
		}
		return newRange(column, k+1, math.MaxInt64)
	}
}

// eval parses the property even if no number is in the range, for it may raise.
func (n *rangeNode) eval(b *block, need uint64) (t, u, e uint64) {
	at := b.at[n.column]
	has := b.columns.Present(at) & need
	u = need &^ has
	if has == 0 {
		return 0, u, 0
	}
	ok, numbers := b.columns.Numbers(at, has)
	good := has & ok
	e = has &^ ok
	switch {
	case n.low > n.high:
	case bits.OnesCount64(good) > 16:
		t = n.dense(numbers) & good
	default:
		for w := good; w != 0; w &= w - 1 {
			i := bits.TrailingZeros64(w)
			t |= bit(uint64(numbers[i&63]-n.low) <= n.width) << i
		}
	}
	return t, u, e
}

// dense compares all 64 numbers, without a branch.
func (n *rangeNode) dense(numbers *[64]int64) (t uint64) {
	low, width := n.low, n.width
	for i := 0; i < 64; i += 4 {
		t |= (bit(uint64(numbers[i]-low) <= width) | bit(uint64(numbers[i+1]-low) <= width)<<1 |
			bit(uint64(numbers[i+2]-low) <= width)<<2 | bit(uint64(numbers[i+3]-low) <= width)<<3) << (i & 63)
	}
	return t
}

// bit is compiled to one instruction without a branch.
func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

type equalTextNode struct {
	column int
	text   string
}

func (n *equalTextNode) eval(b *block, need uint64) (t, u, e uint64) {
	at := b.at[n.column]
	return b.columns.EqualText(at, need, n.text), need &^ b.columns.Present(at), 0
}

type inNode struct {
	column int
	set    *filter.TextSet
}

func (n *inNode) eval(b *block, need uint64) (t, u, e uint64) {
	at := b.at[n.column]
	return b.columns.In(at, need, n.set), need &^ b.columns.Present(at), 0
}

// testNode asks a function about each value.
type testNode struct {
	column int
	is     func([]byte) bool
}

func (n *testNode) eval(b *block, need uint64) (t, u, e uint64) {
	at := b.at[n.column]
	has := b.columns.Present(at)
	for w := need & has; w != 0; w &= w - 1 {
		i := bits.TrailingZeros64(w)
		t |= bit(n.is(b.columns.Value(at, i))) << i
	}
	return t, need &^ has, 0
}

type equalPropertiesNode struct{ left, right int }

func (n equalPropertiesNode) eval(b *block, need uint64) (t, u, e uint64) {
	l, r := b.at[n.left], b.at[n.right]
	hasL, hasR := b.columns.Present(l)&need, b.columns.Present(r)&need
	for w := hasL & hasR; w != 0; w &= w - 1 {
		i := bits.TrailingZeros64(w)
		t |= bit(sameText(b.columns.Value(l, i), b.columns.Value(r, i))) << i
	}
	return t | need&^(hasL|hasR), hasR &^ hasL, 0
}

type comparePropertiesNode struct {
	left  int
	op    sqltree.Op
	right int
}

func (n comparePropertiesNode) eval(b *block, need uint64) (t, u, e uint64) {
	l, r := b.at[n.left], b.at[n.right]
	has := b.columns.Present(l) & b.columns.Present(r) & need
	okL, left := b.columns.Numbers(l, has)
	okR, right := b.columns.Numbers(r, has&okL)
	good := has & okL & okR
	for w := good; w != 0; w &= w - 1 {
		i := bits.TrailingZeros64(w) & 63
		t |= bit(n.op.Holds(compare(left[i], right[i]))) << i
	}
	return t, need &^ has, has &^ good
}

// rowNode evaluates what has no node of its own one message after the other, with the closures.
func (v *vectorizer) rowNode(x sqltree.Cond) node {
	n := &rowNode{names: propertiesOf(x)}
	for _, name := range n.names {
		n.at = append(n.at, v.column(name, filter.Text))
	}
	n.closure = closureOf(x, n.names)
	n.rows.New = func() any { return &row{names: n.names, values: make([][]byte, len(n.names))} }
	return n
}

type rowNode struct {
	names   []string
	at      []int
	closure closure
	rows    sync.Pool
}

func (n *rowNode) eval(b *block, need uint64) (t, u, e uint64) {
	r := n.rows.Get().(*row)
	for w := need; w != 0; w &= w - 1 {
		i := bits.TrailingZeros64(w)
		for k, c := range n.at {
			r.values[k] = nil
			if at := b.at[c]; b.columns.Present(at)>>i&1 != 0 {
				r.values[k] = b.columns.Value(at, i)
			}
		}
		switch n.closure(r) {
		case sqltree.True:
			t |= 1 << i
		case sqltree.Unknown:
			u |= 1 << i
		case sqltree.Raise:
			e |= 1 << i
		}
	}
	clear(r.values)
	n.rows.Put(r)
	return t, u, e
}
