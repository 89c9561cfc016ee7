package fuel

// graph decides, from who calls whom, which functions are paid for by their callers and which may be part of a recursion.

// flatMax is the largest cost that a caller pays for a callee in advance, although it may not call it.
const flatMax = 200

// settleFlat finds the functions whose cost is known before they run: no loop, no bulk operation, and only calls of
// such functions. Their callers pay for them. Functions that can be reached through a table pay for themselves.
func settleFlat(list []*function, taken func(i int) bool) {
	const (
		unseen = iota
		open
		done
	)
	state := make([]uint8, len(list))
	// A stack of our own: chains of calls may be as long as there are functions.
	type frame struct{ i, next int }
	var stack []frame
	for root := range list {
		if state[root] != unseen {
			continue
		}
		stack = append(stack[:0], frame{i: root})
		state[root] = open
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			f := list[top.i]
			if top.next < len(f.calls) {
				c := f.calls[top.next].callee
				top.next++
				if state[c] == unseen {
					state[c] = open
					stack = append(stack, frame{i: c})
				}
				continue
			}
			state[top.i] = done
			settleOne(list, f, !taken(top.i))
			stack = stack[:len(stack)-1]
		}
	}
}

// settleOne decides on f, whose callees are settled, apart from those that f is a callee of itself: they aren't paid yet,
// and so f isn't flat.
func settleOne(list []*function, f *function, may bool) {
	flat := may && !f.loops && !f.bulk && !f.indirect
	for _, c := range f.calls {
		callee := list[c.callee]
		flat = flat && callee.paid
		if callee.paid {
			f.charges[c.point] += callee.flat
		}
	}
	if !flat {
		f.fold()
		return
	}
	total := int64(0)
	for _, n := range f.charges {
		total += n
	}
	if total <= flatMax {
		f.flat, f.paid = total, true
	}
}

// settleRecursive marks the functions that may be on the stack more than once: those in a cycle of the call graph, where
// a call through a table may lead to any function that can be reached so. It is Tarjan's algorithm without recursion.
func settleRecursive(list []*function, taken []int) {
	n := len(list)
	table := n // a node for the table
	edges := func(v, k int) (to int, ok bool) {
		if v == table {
			if k < len(taken) {
				return taken[k], true
			}
			return 0, false
		}
		f := list[v]
		if k < len(f.calls) {
			return f.calls[k].callee, true
		}
		return table, f.indirect && k == len(f.calls)
	}
	index := make([]int, n+1) // 0 is unseen
	low := make([]int, n+1)
	on := make([]bool, n+1)
	self := make([]bool, n+1)
	var component []int
	type frame struct{ v, next int }
	var stack []frame
	count := 0
	open := func(v int) {
		count++
		index[v], low[v], on[v] = count, count, true
		component = append(component, v)
		stack = append(stack, frame{v: v})
	}
	for root := range n {
		if index[root] != 0 {
			continue
		}
		open(root)
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			v := top.v
			if to, ok := edges(v, top.next); ok {
				top.next++
				switch {
				case to == v:
					self[v] = true
				case index[to] == 0:
					open(to)
				case on[to]:
					low[v] = min(low[v], index[to])
				}
				continue
			}
			stack = stack[:len(stack)-1]
			if len(stack) > 0 {
				below := stack[len(stack)-1].v
				low[below] = min(low[below], low[v])
			}
			if low[v] != index[v] {
				continue
			}
			size := 0
			for w := -1; w != v; size++ {
				w = component[len(component)-1-size]
			}
			for range size {
				w := component[len(component)-1]
				component = component[:len(component)-1]
				on[w] = false
				if w < n {
					list[w].recursive = size > 1 || self[w]
				}
			}
		}
	}
}
