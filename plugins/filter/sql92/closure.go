package sql92

import (
	"bytes"
	"context"
	"math/bits"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/plugins/internal/sqltree"
)

// row is one message: the value of each property that the program names, nil without it. No value is empty.
type row struct {
	names   []string
	values  [][]byte
	formula filter.FormulaRunner // of the expr engine
}

// load locates the properties.
func (r *row) load(p message.Properties) {
	clear(r.values)
	for {
		name, value, rest, ok := p.Next()
		if !ok {
			return
		}
		for i, n := range r.names {
			if string(name) == n {
				r.values[i] = value
				break
			}
		}
		p = rest
	}
}

// loadColumns takes the properties of message i out of columns.
func (r *row) loadColumns(c *filter.Columns, at []int, i int) {
	for k, column := range at {
		r.values[k] = nil
		if c.Present(column)>>i&1 != 0 {
			r.values[k] = c.Value(column, i)
		}
	}
}

// get finds a property by name, for conditions that ask so.
func (r *row) get(name string) ([]byte, bool) {
	for i, n := range r.names {
		if n == name {
			return r.values[i], r.values[i] != nil
		}
	}
	return nil, false
}

// closure evaluates a condition for one message.
type closure func(*row) sqltree.Outcome

// faulty is what a closure comes to whose engine failed. The message is undecided then.
const faulty = sqltree.Raise + 1

// closureProgram evaluates one message after the other: with closures straight from the definition of the language, or, as
// the expr engine, with a formula over them.
type closureProgram struct {
	base
	eval    closure
	rows    sync.Pool
	columns []filter.Column
}

var (
	_ filter.Program       = (*closureProgram)(nil)
	_ filter.ColumnMatcher = (*closureProgram)(nil)
)

func newClosureProgram(b base, root sqltree.Cond) *closureProgram {
	return newRowProgram(b, closureOf(root, b.properties), func(*row) {})
}

func newFormulaProgram(b base, root sqltree.Cond, engine filter.FormulaEngine) (*closureProgram, error) {
	eval, prepare, err := formulaOf(engine, root, b.properties)
	if err != nil {
		return nil, err
	}
	return newRowProgram(b, eval, prepare), nil
}

func newRowProgram(b base, eval closure, prepare func(*row)) *closureProgram {
	p := &closureProgram{base: b, eval: eval}
	p.rows.New = func() any {
		r := &row{names: b.properties, values: make([][]byte, len(b.properties))}
		prepare(r)
		return r
	}
	for _, name := range b.properties {
		p.columns = append(p.columns, filter.Column{Property: name, Kind: filter.Text})
	}
	return p
}

// Columns lists the properties.
func (p *closureProgram) Columns() []filter.Column { return p.columns }

// MatchColumns judges messages whose properties have been located.
func (p *closureProgram) MatchColumns(c *filter.Columns, at []int, want uint64) (w filter.Word) {
	if len(p.columns) > 0 {
		w.Undecided = want &^ c.Sound()
		want &= c.Sound()
	}
	r := p.rows.Get().(*row)
	for ; want != 0; want &= want - 1 {
		i := bits.TrailingZeros64(want)
		r.loadColumns(c, at, i)
		add(&w, p.eval(r), 1<<i)
	}
	clear(r.values)
	p.rows.Put(r)
	return w
}

// add notes an outcome for a message's bit.
func add(w *filter.Word, o sqltree.Outcome, bit uint64) {
	switch o {
	case sqltree.True:
		w.True |= bit
	case sqltree.Unknown:
		w.Unknown |= bit
	case sqltree.Raise:
		w.Raise |= bit
	case faulty:
		w.Undecided |= bit
	}
}

// Match judges the batch.
func (p *closureProgram) Match(_ context.Context, b *filter.Batch, v *filter.Verdicts) error {
	r := p.rows.Get().(*row)
	defer func() { clear(r.values); p.rows.Put(r) }()
	for i := range b.Len() {
		if len(p.properties) > 0 {
			if i >= len(b.Records) {
				filter.SetBit(v.Undecided, i)
				continue
			}
			rec, _, err := message.ViewRecord(b.Records[i])
			if err != nil {
				filter.SetBit(v.Undecided, i)
				continue
			}
			r.load(rec.Properties())
		}
		switch p.eval(r) {
		case sqltree.True:
			filter.SetBit(v.True, i)
		case sqltree.Unknown:
			filter.SetBit(v.Unknown, i)
		case sqltree.Raise:
			filter.SetBit(v.Raise, i)
		case faulty:
			filter.SetBit(v.Undecided, i)
		}
	}
	return nil
}

func outcome(b bool) sqltree.Outcome {
	if b {
		return sqltree.True
	}
	return sqltree.False
}

// closureOf builds the closure of x, for rows with these properties.
func closureOf(x sqltree.Cond, names []string) closure {
	slot := func(name string) int {
		for i, n := range names {
			if n == name {
				return i
			}
		}
		panic("sql92: a condition reads a property that wasn't listed: " + name)
	}
	switch x := x.(type) {
	case *sqltree.Const:
		return func(*row) sqltree.Outcome { return x.Outcome }
	case *sqltree.Map:
		return closureOfMap(x, closureOf(x.X, names))
	case *sqltree.And:
		return closureOfList(x.List, names, sqltree.True, sqltree.False)
	case *sqltree.Or:
		return closureOfList(x.List, names, sqltree.False, sqltree.True)
	case *sqltree.If:
		s, present, missing := slot(x.Property), closureOf(x.Present, names), closureOf(x.Missing, names)
		return func(r *row) sqltree.Outcome {
			if r.values[s] != nil {
				return present(r)
			}
			return missing(r)
		}
	case *sqltree.Equal:
		return closureOfEqual(closureOf(x.Left, names), closureOf(x.Right, names))
	case *sqltree.Compare:
		return closureOfCompare(x, slot(x.Property))
	case *sqltree.EqualProperties:
		return closureOfEqualProperties(slot(x.Left), slot(x.Right))
	case *sqltree.CompareProperties:
		return closureOfCompareProperties(slot(x.Left), x.Op, slot(x.Right))
	case *sqltree.EqualText:
		return test(slot(x.Property), javaTest([]string{x.Text}, func(v []byte) bool { return string(v) == x.Text }))
	case *sqltree.In:
		return test(slot(x.Property), javaTest(x.Members, func(v []byte) bool {
			for _, m := range x.Members {
				if string(v) == m {
					return true
				}
			}
			return false
		}))
	case *sqltree.IsTrue:
		return test(slot(x.Property), isTrue)
	case *sqltree.Search:
		return test(slot(x.Property), searchTest(x))
	case *sqltree.Test:
		return func(r *row) sqltree.Outcome { return x.Expr.Eval(r.get) }
	}
	panic("sql92: unknown kind of condition")
}

// test is a closure that is unknown without the property.
func test(slot int, is func(v []byte) bool) closure {
	return func(r *row) sqltree.Outcome {
		v := r.values[slot]
		if v == nil {
			return sqltree.Unknown
		}
		return outcome(is(v))
	}
}

// javaTest makes is see a value as Java does if that can matter, that is, if one of the texts has the character that
// stands for malformed bytes.
func javaTest(texts []string, is func(v []byte) bool) func(v []byte) bool {
	for _, t := range texts {
		if strings.ContainsRune(t, utf8.RuneError) {
			return func(v []byte) bool { return is(message.JavaText(v)) }
		}
	}
	return is
}

func isTrue(v []byte) bool { return len(v) == 4 && bytes.EqualFold(v, []byte("true")) }

func searchTest(x *sqltree.Search) func(v []byte) bool {
	needle := []byte(x.Text)
	find := bytes.Contains
	switch x.Where {
	case sqltree.AtStart:
		find = bytes.HasPrefix
	case sqltree.AtEnd:
		find = bytes.HasSuffix
	}
	return javaTest([]string{x.Text}, func(v []byte) bool { return find(v, needle) })
}

func closureOfMap(x *sqltree.Map, inner closure) closure {
	to := [...]sqltree.Outcome{sqltree.False: x.False, sqltree.True: x.True, sqltree.Unknown: x.Unknown, sqltree.Raise: sqltree.Raise}
	return func(r *row) sqltree.Outcome { return to[inner(r)] }
}

// closureOfList is AND, which ends at false, and OR, which ends at true.
func closureOfList(list []sqltree.Cond, names []string, otherwise, end sqltree.Outcome) closure {
	members := make([]closure, len(list))
	for i, x := range list {
		members[i] = closureOf(x, names)
	}
	return func(r *row) sqltree.Outcome {
		out := otherwise
		for _, m := range members {
			switch o := m(r); o {
			case end, sqltree.Raise:
				return o
			case sqltree.Unknown:
				out = o
			}
		}
		return out
	}
}

func closureOfEqual(left, right closure) closure {
	return func(r *row) sqltree.Outcome {
		a := left(r)
		if a == sqltree.Raise {
			return a
		}
		b := right(r)
		switch {
		case b == sqltree.Raise:
			return b
		case a == b:
			return sqltree.True
		case a == sqltree.Unknown:
			return a
		}
		return sqltree.False
	}
}

func closureOfCompare(x *sqltree.Compare, slot int) closure {
	return func(r *row) sqltree.Outcome {
		v := r.values[slot]
		if v == nil {
			return sqltree.Unknown
		}
		n, ok := number(x.Number.Kind, v)
		if !ok {
			return sqltree.Raise
		}
		return outcome(x.Op.Holds(compare(n, x.Number.Ordered)))
	}
}

// number reads v as a number of a kind, in the form that compares as integers do.
func number(kind filter.Kind, v []byte) (int64, bool) {
	switch kind {
	case filter.Int32:
		n, ok := filter.ParseInt32(v)
		return int64(n), ok
	case filter.Int64:
		return filter.ParseInt64(v)
	default:
		f, ok := filter.ParseDouble(v)
		return filter.OrderDouble(f), ok
	}
}

func compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func closureOfEqualProperties(left, right int) closure {
	return func(r *row) sqltree.Outcome {
		a, b := r.values[left], r.values[right]
		switch {
		case a == nil && b == nil:
			return sqltree.True
		case a == nil:
			return sqltree.Unknown
		case b == nil:
			return sqltree.False
		}
		return outcome(sameText(a, b))
	}
}

// sameText compares two values as Java's texts.
func sameText(a, b []byte) bool {
	return bytes.Equal(a, b) || (!utf8.Valid(a) || !utf8.Valid(b)) && bytes.Equal(message.JavaText(a), message.JavaText(b))
}

func closureOfCompareProperties(left int, op sqltree.Op, right int) closure {
	return func(r *row) sqltree.Outcome {
		a, b := r.values[left], r.values[right]
		if a == nil || b == nil {
			return sqltree.Unknown
		}
		x, okX := number(filter.Double, a)
		y, okY := number(filter.Double, b)
		if !okX || !okY {
			return sqltree.Raise
		}
		return outcome(op.Holds(compare(x, y)))
	}
}
