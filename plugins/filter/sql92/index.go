package sql92

import (
	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/plugins/internal/sqltree"
)

// indexOf finds what the condition demands of the tag: a member of the outermost AND that is TAGS = or TAGS IN, or an OR of
// these. Whatever the other members are, or raise, the condition isn't true when that one isn't.
func indexOf(root sqltree.Cond) *filter.TagCodes {
	var best []string
	for _, x := range conjuncts(root) {
		tags := tagsOf(x)
		if tags != nil && (best == nil || len(tags) < len(best)) {
			best = tags
		}
	}
	return filter.NewTagCodes(best)
}

// tagsOf lists the tags of which a message has one when x is true; nil when that can't be told.
func tagsOf(x sqltree.Cond) (tags []string) {
	switch x := x.(type) {
	case *sqltree.EqualText:
		if x.Property == message.PropTags {
			return []string{x.Text}
		}
	case *sqltree.In:
		if x.Property == message.PropTags {
			return x.Members
		}
	case *sqltree.Or:
		for _, m := range x.List {
			some := tagsOf(m)
			if some == nil {
				return nil
			}
			tags = append(tags, some...)
		}
	}
	return tags
}

// MatchIndex clears the bits of entries whose tag isn't one that the expression demands. Those that are left have to be
// judged.
func (p *base) MatchIndex(codes []int64, keep []uint64) (final bool) {
	p.index.MatchIndex(codes, keep)
	return false
}
