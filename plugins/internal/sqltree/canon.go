package sqltree

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weirmq/weir/core/filter"
)

// normal orders what may be in any order, so that texts that mean the same have the same tree: neighbours in an AND or an
// OR that can't raise. An equal member is evaluated once.
func normal(x Cond) Cond {
	switch x := x.(type) {
	case *Map:
		return &Map{normal(x.X), x.True, x.False, x.Unknown}
	case *If:
		return &If{x.Property, normal(x.Present), normal(x.Missing)}
	case *Equal:
		return &Equal{normal(x.Left), normal(x.Right)}
	case *And:
		list := normalList(x.List)
		if len(list) > 1 {
			return &And{list}
		}
		return list[0]
	case *Or:
		list := normalList(x.List)
		if len(list) > 1 {
			return &Or{list}
		}
		return list[0]
	}
	return x
}

func normalList(members []Cond) (list []Cond) {
	type keyed struct {
		cond Cond
		text string
	}
	order := func(run []keyed) {
		slices.SortFunc(run, func(a, b keyed) int { return strings.Compare(a.text, b.text) })
	}
	var all []keyed
	seen := map[string]bool{}
	run := 0 // where the run of members that can't raise begins
	for _, x := range members {
		x = normal(x)
		text := Canonical(x)
		if seen[text] {
			continue // whatever it said, it would say again
		}
		seen[text] = true
		all = append(all, keyed{x, text})
		if CanRaise(x) {
			order(all[run : len(all)-1])
			run = len(all)
		}
	}
	order(all[run:])
	for _, k := range all {
		list = append(list, k.cond)
	}
	return list
}

// Canonical writes x as a text that equal trees share and different ones don't.
func Canonical(x Cond) string {
	var b strings.Builder
	write(&b, x)
	return b.String()
}

// String is Canonical of the root.
func (t *Tree) String() string { return Canonical(t.Root) }

func write(b *strings.Builder, x Cond) {
	switch x := x.(type) {
	case *Const:
		b.WriteString(x.Outcome.String())
	case *Map:
		writeMap(b, x)
	case *And:
		writeList(b, "and", x.List)
	case *Or:
		writeList(b, "or", x.List)
	case *If:
		fmt.Fprintf(b, "(if %s ", x.Property)
		write(b, x.Present)
		b.WriteByte(' ')
		write(b, x.Missing)
		b.WriteByte(')')
	case *Equal:
		writeList(b, "same", []Cond{x.Left, x.Right})
	case *Compare:
		fmt.Fprintf(b, "(%s %s %s)", x.Op, x.Property, x.Number)
	case *EqualText:
		fmt.Fprintf(b, "(= %s %s)", x.Property, strconv.Quote(x.Text))
	case *EqualProperties:
		fmt.Fprintf(b, "(= %s %s)", x.Left, x.Right)
	case *CompareProperties:
		fmt.Fprintf(b, "(%s %s %s)", x.Op, x.Left, x.Right)
	case *In:
		fmt.Fprintf(b, "(in %s", x.Property)
		for _, m := range x.Members {
			b.WriteByte(' ')
			b.WriteString(strconv.Quote(m))
		}
		b.WriteByte(')')
	case *IsTrue:
		fmt.Fprintf(b, "(istrue %s)", x.Property)
	case *Search:
		fmt.Fprintf(b, "(%s %s %s)", x.Where, x.Property, strconv.Quote(x.Text))
	case *Test:
		b.WriteString(x.Expr.String())
	case *CallTest:
		b.WriteString(x.Call.String())
	case *CallValue:
		b.WriteString("(value " + x.Call.String() + ")")
	case *CallCompare:
		b.WriteString(x.String())
	}
}

func writeMap(b *strings.Builder, x *Map) {
	if x.True == False && x.False == True && x.Unknown == Unknown {
		writeList(b, "not", []Cond{x.X})
		return
	}
	fmt.Fprintf(b, "(map %s %s %s ", x.True, x.False, x.Unknown)
	write(b, x.X)
	b.WriteByte(')')
}

func writeList(b *strings.Builder, name string, list []Cond) {
	b.WriteByte('(')
	b.WriteString(name)
	for _, x := range list {
		b.WriteByte(' ')
		write(b, x)
	}
	b.WriteByte(')')
}

var kindNames = map[filter.Kind]string{filter.Int32: "int32", filter.Int64: "int64", filter.Double: "double"}

// String writes n so that different numbers differ.
func (n Number) String() string { return kindNames[n.Kind] + ":" + strconv.FormatInt(n.Ordered, 10) }

// Walk visits x and all below it, parents first.
func Walk(x Cond, visit func(Cond)) {
	visit(x)
	switch x := x.(type) {
	case *Map:
		Walk(x.X, visit)
	case *And:
		for _, m := range x.List {
			Walk(m, visit)
		}
	case *Or:
		for _, m := range x.List {
			Walk(m, visit)
		}
	case *If:
		Walk(x.Present, visit)
		Walk(x.Missing, visit)
	case *Equal:
		Walk(x.Left, visit)
		Walk(x.Right, visit)
	}
}

// PropertiesOf lists the properties that the node x itself reads, without what is below it.
func PropertiesOf(x Cond) []string {
	switch x := x.(type) {
	case *If:
		return []string{x.Property}
	case *Compare:
		return []string{x.Property}
	case *EqualText:
		return []string{x.Property}
	case *EqualProperties:
		return []string{x.Left, x.Right}
	case *CompareProperties:
		return []string{x.Left, x.Right}
	case *In:
		return []string{x.Property}
	case *IsTrue:
		return []string{x.Property}
	case *Search:
		return []string{x.Property}
	case *Test:
		return x.Expr.Properties()
	case *CallTest:
		return x.Call.properties()
	case *CallValue:
		return x.Call.properties()
	case *CallCompare:
		return append(x.Left.properties(), x.Right.properties()...)
	}
	return nil
}
