package tag

import (
	"fmt"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
)

var _ filter.Describer = (*program)(nil)

// shownMax bounds the tags that are listed.
const shownMax = 20

// Describe says how the subscription is judged.
func (p *program) Describe() filter.Description { return p.about }

func describe(tags message.Tags) filter.Description {
	d := filter.Description{Engine: "tag codes", Reads: []string{"the tag's code, from the queue's index"},
		Index: "the tag's code decides, 64 entries at a time; no message is read"}
	switch {
	case tags.All:
		d.Tree = []string{"everything"}
	case len(tags.Names) == 0:
		d.Tree = []string{"nothing"}
	default:
		d.Tree = []string{"any of"}
		for i, name := range tags.Names[:min(len(tags.Names), shownMax)] {
			mark := "├─ "
			if i == len(tags.Names)-1 {
				mark = "└─ "
			}
			d.Tree = append(d.Tree, fmt.Sprintf("%stag %q, code %d", mark, name, message.TagsCode(name)))
		}
		if n := len(tags.Names) - shownMax; n > 0 {
			d.Tree = append(d.Tree, fmt.Sprintf("└─ and %d more", n))
		}
	}
	return d
}
