package sqltree

import "slices"

// The constructors here keep trees small and alike: they fold what is constant, flatten lists and drop what can't have
// an effect. None of it can be told by evaluating.

var consts = [...]Cond{False: &Const{False}, True: &Const{True}, Unknown: &Const{Unknown}, Raise: &Const{Raise}}

func constant(o Outcome) Cond { return consts[o] }

func rename(x Cond, t, f, u Outcome) Cond {
	apply := func(o Outcome) Outcome { return [...]Outcome{False: f, True: t, Unknown: u, Raise: Raise}[o] }
	switch x := x.(type) {
	case *Const:
		return constant(apply(x.Outcome))
	case *Map:
		return rename(x.X, apply(x.True), apply(x.False), apply(x.Unknown))
	case *If:
		_, present := x.Present.(*Const)
		_, missing := x.Missing.(*Const)
		if present || missing {
			return choose(x.Property, rename(x.Present, t, f, u), rename(x.Missing, t, f, u))
		}
	}
	if t == f && f == u && !CanRaise(x) {
		return constant(t)
	}
	if t == True && f == False && u == Unknown {
		return x
	}
	return &Map{X: x, True: t, False: f, Unknown: u}
}

func not(x Cond) Cond { return rename(x, False, True, Unknown) }

func choose(property string, present, missing Cond) Cond {
	p, ok := present.(*Const)
	m, same := missing.(*Const)
	if ok && same && p.Outcome == m.Outcome {
		return p
	}
	return &If{Property: property, Present: present, Missing: missing}
}

// ifPresent is an If between two outcomes.
func ifPresent(property string, present, missing Outcome) Cond {
	return choose(property, constant(present), constant(missing))
}

func and(left, right Cond) Cond {
	list := join(members(left, true), members(right, true), True, False)
	switch len(list) {
	case 0:
		return constant(True)
	case 1:
		return list[0]
	}
	return &And{List: list}
}

func or(left, right Cond) Cond {
	list := join(members(left, false), members(right, false), False, True)
	switch len(list) {
	case 0:
		return constant(False)
	case 1:
		return list[0]
	}
	return &Or{List: list}
}

// members returns the members of an And or an Or, and any other condition as the only one.
func members(x Cond, conjunction bool) []Cond {
	switch x := x.(type) {
	case *And:
		if conjunction {
			return x.List
		}
	case *Or:
		if !conjunction {
			return x.List
		}
	}
	return []Cond{x}
}

// join makes one list of two. neutral members are dropped, and nothing is evaluated behind an end or a raise.
func join(left, right []Cond, neutral, end Outcome) (list []Cond) {
	list = append(make([]Cond, 0, len(left)+len(right)), left...)
	if ended(list, end) {
		return list
	}
	if len(list) == 1 {
		if c, ok := list[0].(*Const); ok && c.Outcome == neutral {
			list = list[:0]
		}
	}
	for _, x := range right {
		c, ok := x.(*Const)
		if ok && c.Outcome == neutral {
			continue
		}
		if ok && c.Outcome == end && !anyRaises(list) {
			return []Cond{x}
		}
		list = append(list, x)
		if ended(list, end) {
			break
		}
	}
	return list
}

// ended says whether nothing behind list is ever evaluated.
func ended(list []Cond, end Outcome) bool {
	c, ok := list[len(list)-1].(*Const)
	return ok && (c.Outcome == end || c.Outcome == Raise)
}

func anyRaises(list []Cond) bool { return slices.ContainsFunc(list, CanRaise) }

// CanRaise says whether some message may make x raise.
func CanRaise(x Cond) bool { return outcomes(x).has(Raise) }

// outcomeSet is a set of outcomes.
type outcomeSet uint8

func setOf(list ...Outcome) (s outcomeSet) {
	for _, o := range list {
		s |= 1 << o
	}
	return s
}

func (s outcomeSet) has(o Outcome) bool { return s&(1<<o) != 0 }

func (s outcomeSet) each(visit func(Outcome)) {
	for o := False; o <= Raise; o++ {
		if s.has(o) {
			visit(o)
		}
	}
}

// outcomes returns the outcomes that x may have. There may be some that it can't have after all.
func outcomes(x Cond) (s outcomeSet) {
	switch x := x.(type) {
	case *Const:
		return setOf(x.Outcome)
	case *Map:
		outcomes(x.X).each(func(o Outcome) { s |= setOf(x.of(o)) })
		return s
	case *And:
		return outcomesOfList(x.List, True, False)
	case *Or:
		return outcomesOfList(x.List, False, True)
	case *If:
		return outcomes(x.Present) | outcomes(x.Missing)
	case *Equal:
		l, r := outcomes(x.Left), outcomes(x.Right)
		l.each(func(a Outcome) { r.each(func(b Outcome) { s |= setOf(equalOutcomes(a, b)) }) })
		return s
	case *Compare, *CompareProperties, *CallTest, *CallValue, *CallCompare:
		return setOf(False, True, Unknown, Raise)
	}
	return setOf(False, True, Unknown)
}

// outcomesOfList is for AND, which goes on after neutral and unknown and ends at end, and for OR the other way round.
func outcomesOfList(list []Cond, neutral, end Outcome) (s outcomeSet) {
	going := setOf(neutral)
	for _, x := range list {
		o := outcomes(x)
		s |= o & setOf(end, Raise)
		next := going & setOf(Unknown)
		if o.has(neutral) {
			next |= going
		}
		if o.has(Unknown) {
			next |= setOf(Unknown)
		}
		if going = next; !o.has(neutral) && !o.has(Unknown) {
			return s
		}
	}
	return s | going
}

// of returns what m makes of an outcome.
func (m *Map) of(o Outcome) Outcome {
	switch o {
	case True:
		return m.True
	case False:
		return m.False
	case Unknown:
		return m.Unknown
	}
	return Raise
}
