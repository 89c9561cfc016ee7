package expr

import (
	"math/bits"

	"github.com/weirmq/weir/core/filter"
)

// columnProgram is a program that reads nothing but properties and is one part. Several such can judge messages whose
// properties were located once for all of them.
type columnProgram struct {
	*program
	columns []filter.Column
}

var _ filter.ColumnMatcher = (*columnProgram)(nil)

// inColumns returns p as a filter.ColumnMatcher if it can be one.
func inColumns(p *program, found *check) filter.Program {
	if p.code.stages[0].part == nil || found.body || found.record {
		return p
	}
	c := &columnProgram{program: p}
	for _, name := range p.code.layout.names {
		c.columns = append(c.columns, filter.Column{Property: name, Kind: filter.Text})
	}
	return c
}

func (p *columnProgram) Columns() []filter.Column { return p.columns }

func (p *columnProgram) MatchColumns(c *filter.Columns, at []int, want uint64) (w filter.Word) {
	e := p.evals.Get().(*eval)
	w.Undecided = want &^ c.Sound()
	for todo := want & c.Sound(); todo != 0; todo &= todo - 1 {
		i := bits.TrailingZeros64(todo)
		bit := uint64(1) << i
		for s := range e.slots {
			var raw []byte
			if c.Present(at[s])&bit != 0 {
				raw = c.Value(at[s], i)
			}
			e.slots[s].set(raw)
		}
		switch e.judgeLoaded() {
		case isTrue:
			w.True |= bit
		case isUnknown:
			w.Unknown |= bit
		case isRaise:
			w.Raise |= bit
		}
	}
	e.release()
	p.evals.Put(e)
	return w
}
