package sql92

import (
	"fmt"
	"strings"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/plugins/internal/sqltree"
)

var _ filter.Describer = (*base)(nil)

var kindNames = map[filter.Kind]string{filter.Text: "text", filter.Int32: "int32", filter.Int64: "int64", filter.Double: "double"}

// Describe says how the expression is judged.
func (p *base) Describe() filter.Description {
	d := filter.Description{Engine: p.engine, Tree: sqltree.Draw(p.root), Hints: p.hints}
	v := vectorizer{columns: map[filter.Column]int{}, calls: &callColumns{known: map[string]int{}}}
	v.node(p.root)
	for _, c := range v.list {
		d.Reads = append(d.Reads, c.Property+" as "+kindNames[c.Kind])
	}
	if p.index != nil {
		var codes []string
		for _, c := range p.index.codes {
			codes = append(codes, fmt.Sprint(c))
		}
		noun := "codes"
		if len(codes) == 1 {
			noun = "code"
		}
		d.Index = fmt.Sprintf("the tag has to have the %s %s", noun, strings.Join(codes[:min(len(codes), 10)], ", "))
		if len(codes) > 10 {
			d.Index += fmt.Sprintf(" or one of %d more", len(codes)-10)
		}
	}
	return d
}
