package sql92

import (
	"context"
	"slices"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/plugins/internal/sqltree"
)

// Calls cost hundreds of times what conditions over properties do, so those come first where their order can't be seen in
// what is delivered.
//
// A filter delivers a message when it is true, and AND is true when all its members are, in whatever order they are asked.
// Which of the other outcomes it has does depend on the order: a false member hides a raise behind it, and shows one in
// front of it. So members of an AND change places where nothing but true counts: at the top, inside an AND there, in the
// last member of an OR there (what it is else can't hide a true one), in both branches of an IF there, and, since NOT of an
// OR is true when all members are false, below such a NOT. Everywhere else the author's order stays. OR is never changed: a
// member that raises hides the true one behind it, and a call may always raise.
//
// What a message is that isn't true is then told by the first part that it doesn't pass: it is false, unknown or raises
// there, and no later part is asked.

// rank says how dear a condition is: the lower, the earlier it is asked.
type rank int

const (
	rankProperties rank = iota
	rankCalls
	rankBody // calls that read bodies
)

var partNames = [...]string{filter.PartConditions, filter.PartCalls, filter.PartCalls}

func rankOf(x sqltree.Cond) (r rank) {
	sqltree.Walk(x, func(x sqltree.Cond) {
		for _, c := range sqltree.CallsOf(x) {
			if r = max(r, rankCalls); c.Function.Needs().Body {
				r = rankBody
			}
		}
	})
	return r
}

// conjuncts lists conditions that are all true exactly when x is.
func conjuncts(x sqltree.Cond) (list []sqltree.Cond) {
	switch x := x.(type) {
	case *sqltree.And:
		for _, m := range x.List {
			list = append(list, conjuncts(m)...)
		}
		return list
	case *sqltree.Map:
		or, ok := x.X.(*sqltree.Or)
		if !ok || !isNot(x) {
			break
		}
		for _, m := range or.List {
			list = append(list, conjuncts(&sqltree.Map{X: m, True: x.True, False: x.False, Unknown: x.Unknown})...)
		}
		return list
	}
	return []sqltree.Cond{x}
}

func isNot(x *sqltree.Map) bool {
	return x.True == sqltree.False && x.False == sqltree.True && x.Unknown == sqltree.Unknown
}

// part is conditions of one rank that are judged one behind the other.
type part struct {
	rank rank
	list []sqltree.Cond
}

// partsOf sorts the conjuncts of a condition by rank. Those of one rank stay in the author's order.
func partsOf(x sqltree.Cond) (parts []part) {
	list := conjuncts(x)
	ranks := map[sqltree.Cond]rank{}
	for _, c := range list {
		ranks[c] = rankOf(c)
	}
	slices.SortStableFunc(list, func(a, b sqltree.Cond) int { return int(ranks[a] - ranks[b]) })
	for _, c := range list {
		if n := len(parts); n == 0 || parts[n-1].rank != ranks[c] {
			parts = append(parts, part{rank: ranks[c]})
		}
		last := &parts[len(parts)-1]
		last.list = append(last.list, c)
	}
	return parts
}

// delivery builds the node of a condition of which only counts whether it is true.
func (v *vectorizer) delivery(x sqltree.Cond) node {
	switch x := x.(type) {
	case *sqltree.Or:
		last := len(x.List) - 1
		return orNode(append(v.members(x.List[:last]), v.delivery(x.List[last])))
	case *sqltree.If:
		return &ifNode{v.column(x.Property, filter.Text), v.delivery(x.Present), v.delivery(x.Missing)}
	}
	if rankOf(x) == rankProperties {
		return v.node(x)
	}
	var stages stagesNode
	for _, p := range partsOf(x) {
		if p.rank == rankProperties {
			stages = append(stages, v.allOf(p.list))
			continue
		}
		for _, c := range p.list {
			if isBranch(c) {
				stages = append(stages, v.delivery(c))
			} else {
				stages = append(stages, v.node(c))
			}
		}
	}
	if len(stages) == 1 {
		return stages[0]
	}
	return stages
}

func isBranch(x sqltree.Cond) bool {
	switch x.(type) {
	case *sqltree.Or, *sqltree.If:
		return true
	}
	return false
}

// allOf builds the AND of conditions, in their order.
func (v *vectorizer) allOf(list []sqltree.Cond) node {
	if len(list) == 1 {
		return v.node(list[0])
	}
	return andNode(fuse(v.members(list)))
}

// stagesNode asks each of its nodes about the messages only for which all before it are true.
type stagesNode []node

func (n stagesNode) eval(b *block, need uint64) (t, u, e uint64) {
	t = need
	for _, x := range n {
		var xu, xe uint64
		t, xu, xe = x.eval(b, t)
		u, e = u|xu, e|xe
		if t == 0 {
			break
		}
	}
	return t, u, e
}

// MatchCheap implements filter.Prefilter.
func (p *callProgram) MatchCheap(batch *filter.Batch, keep []uint64) {
	stages, ok := p.root.(stagesNode)
	if !ok || partsOf(p.base.root)[0].rank != rankProperties {
		return
	}
	b := p.blocks.Get().(*block)
	defer b.release()
	b.ctx, b.batch = context.Background(), batch
	for first := 0; first < batch.Len(); first += filter.ColumnsMax {
		last := min(first+filter.ColumnsMax, batch.Len())
		b.begin(first)
		b.columns.Load(batch.Records[first:last])
		t, _, _ := stages[0].eval(b, keep[first/64]&b.columns.Sound())
		keep[first/64] &= t | ^b.columns.Sound()
	}
}
