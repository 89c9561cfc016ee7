package sql92

import (
	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/plugins/internal/sqltree"
)

var _ filter.Describer = (*base)(nil)

var kindNames = map[filter.Kind]string{filter.Text: "text", filter.Int32: "int32", filter.Int64: "int64", filter.Double: "double"}

// Describe says how the expression is judged.
func (p *base) Describe() filter.Description {
	d := filter.Description{Engine: p.engine, Tree: sqltree.Draw(p.root), Hints: p.hints, Index: p.index.String()}
	v := vectorizer{columns: map[filter.Column]int{}, calls: &callColumns{known: map[string]int{}}}
	v.node(p.root)
	for _, c := range v.list {
		d.Reads = append(d.Reads, c.Property+" as "+kindNames[c.Kind])
	}
	for _, x := range partsOf(p.root) {
		part := filter.Part{Name: partNames[x.rank]}
		for _, c := range x.list {
			part.Conditions = append(part.Conditions, sqltree.Line(c))
		}
		if n := len(d.Parts); n > 0 && d.Parts[n-1].Name == part.Name {
			d.Parts[n-1].Conditions = append(d.Parts[n-1].Conditions, part.Conditions...)
			continue
		}
		d.Parts = append(d.Parts, part)
	}
	return d
}
