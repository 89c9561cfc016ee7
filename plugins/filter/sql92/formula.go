package sql92

import (
	"fmt"
	"strconv"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/plugins/internal/sqltree"
)

// formulaOf compiles a condition to a formula of expr's language. A leaf of the tree is a function that returns the
// number of its outcome; AND, OR and the like are conditionals over those numbers, so that a short cut hides what it
// hides in SQL92. expr's own operators aren't used: they mean other things when nil, or a text, comes along.
func formulaOf(engine filter.FormulaEngine, x sqltree.Cond, names []string) (closure, func(*row), error) {
	w := &formulaWriter{names: names}
	source := w.write(x)
	f, err := engine.Formula(source, len(w.leaves))
	if err != nil {
		return nil, nil, fmt.Errorf("compile SQL92 expression for the expr engine: %w", err)
	}
	leaves := w.leaves
	prepare := func(r *row) { r.formula = f.Runner(func(i int) int { return int(leaves[i](r)) }) }
	return func(r *row) sqltree.Outcome {
		n, err := r.formula.Run()
		if err != nil {
			return faulty
		}
		return sqltree.Outcome(n)
	}, prepare, nil
}

// formulaWriter writes formulas and collects their functions.
type formulaWriter struct {
	names  []string
	leaves []closure
	locals int
}

// local returns a new variable's name.
func (w *formulaWriter) local() string {
	w.locals++
	return "v" + strconv.Itoa(w.locals)
}

func (w *formulaWriter) leaf(c closure) string {
	w.leaves = append(w.leaves, c)
	return "p" + strconv.Itoa(len(w.leaves)-1) + "()"
}

func (w *formulaWriter) write(x sqltree.Cond) string {
	switch x := x.(type) {
	case *sqltree.Const:
		return strconv.Itoa(int(x.Outcome))
	case *sqltree.Map:
		v := w.local()
		return fmt.Sprintf("(let %[1]s = %[2]s; %[1]s == 3 ? 3 : %[1]s == 1 ? %[3]d : %[1]s == 0 ? %[4]d : %[5]d)", v, w.write(x.X), x.True, x.False, x.Unknown)
	case *sqltree.And:
		return w.list(x.List, sqltree.False)
	case *sqltree.Or:
		return w.list(x.List, sqltree.True)
	case *sqltree.If:
		slot := closureOf(&sqltree.If{Property: x.Property, Present: &sqltree.Const{Outcome: sqltree.True}, Missing: &sqltree.Const{Outcome: sqltree.False}}, w.names)
		return fmt.Sprintf("(%s == 1 ? %s : %s)", w.leaf(slot), w.write(x.Present), w.write(x.Missing))
	case *sqltree.Equal:
		a, b := w.local(), w.local()
		left, right := w.write(x.Left), w.write(x.Right)
		return fmt.Sprintf("(let %[1]s = %[2]s; %[1]s == 3 ? 3 : (let %[3]s = %[4]s; %[3]s == 3 ? 3 : %[1]s == %[3]s ? 1 : %[1]s == 2 ? 2 : 0))", a, left, b, right)
	}
	return w.leaf(closureOf(x, w.names))
}

// list writes the members of an AND, which ends at false, or an OR, which ends at true. Halving keeps long lists flat; it
// changes nothing, since both are associative with their short cuts.
func (w *formulaWriter) list(members []sqltree.Cond, end sqltree.Outcome) string {
	if len(members) == 1 {
		return w.write(members[0])
	}
	half := len(members) / 2
	a, b := w.local(), w.local()
	left, right := w.list(members[:half], end), w.list(members[half:], end)
	return fmt.Sprintf("(let %[1]s = %[2]s; %[1]s == %[5]d || %[1]s == 3 ? %[1]s : (let %[3]s = %[4]s; "+
		"%[3]s == %[5]d || %[3]s == 3 ? %[3]s : %[1]s == 2 ? 2 : %[3]s))", a, left, b, right, end)
}
