package sql92

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/plugins/internal/sqltree"
)

// tagIndex is what an expression demands of a message's tag: its code, the Java hash that stands in the queue's index, is
// one of these. Nil demands nothing.
type tagIndex struct{ codes []int64 } // sorted

// tagsMax bounds the codes; with more the index is no cheap test any more.
const tagsMax = 64

// indexOf finds what the condition demands of the tag: a member of the outermost AND that is TAGS = or TAGS IN. Whatever
// the other members are, or raise, the condition isn't true when that one isn't.
func indexOf(root sqltree.Cond) *tagIndex {
	members := []sqltree.Cond{root}
	if and, ok := root.(*sqltree.And); ok {
		members = and.List
	}
	var best []string
	for _, x := range members {
		tags := tagsOf(x)
		if tags != nil && (best == nil || len(tags) < len(best)) {
			best = tags
		}
	}
	if best == nil || len(best) > tagsMax {
		return nil
	}
	x := &tagIndex{}
	for _, t := range best {
		x.codes = append(x.codes, message.TagsCode(t))
	}
	slices.Sort(x.codes)
	x.codes = slices.Compact(x.codes)
	return x
}

func tagsOf(x sqltree.Cond) (tags []string) {
	switch x := x.(type) {
	case *sqltree.EqualText:
		if x.Property == message.PropTags {
			tags = []string{x.Text}
		}
	case *sqltree.In:
		if x.Property == message.PropTags {
			tags = x.Members
		}
	}
	for _, t := range tags {
		if strings.ContainsRune(t, utf8.RuneError) { // stands for bytes whose hash isn't known
			return nil
		}
	}
	return tags
}

// MatchIndex clears the bits of entries whose tag isn't one that the expression demands. Those that are left have to be
// judged. Entries whose code is an address of an extension stay.
func (p *base) MatchIndex(codes []int64, keep []uint64) (final bool) {
	if p.index == nil {
		return false
	}
	list := p.index.codes
	for i, code := range codes {
		if code <= message.MaxExtAddress {
			continue
		}
		wanted := false
		if len(list) <= 4 {
			wanted = slices.Contains(list, code)
		} else {
			_, wanted = slices.BinarySearch(list, code)
		}
		if !wanted {
			filter.ClearBit(keep, i)
		}
	}
	return false
}
