package filter

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weirmq/weir/core/message"
)

// TagCodes is what an expression demands of a message's tag: its code, the hash that stands in the queue's index, is one of
// these. Nil demands nothing.
type TagCodes struct{ codes []int64 } // sorted, distinct

// tagCodesMax bounds the codes; with more the index is no cheap test any more.
const tagCodesMax = 64

// NewTagCodes returns what is known of the tag of a message when it is one of these. It is nil when that can't be told by
// the index: there are none, or too many, or one that stands for bytes whose hash isn't known.
func NewTagCodes(tags []string) *TagCodes {
	if len(tags) == 0 || len(tags) > tagCodesMax {
		return nil
	}
	x := &TagCodes{}
	for _, t := range tags {
		if strings.ContainsRune(t, utf8.RuneError) {
			return nil
		}
		x.codes = append(x.codes, message.TagsCode(t))
	}
	slices.Sort(x.codes)
	x.codes = slices.Compact(x.codes)
	return x
}

// MatchIndex clears the bits of entries whose tag is none of those. Entries whose code is an address of an extension stay.
func (x *TagCodes) MatchIndex(codes []int64, keep []uint64) {
	if x == nil {
		return
	}
	for i, code := range codes {
		if code <= message.MaxExtAddress {
			continue
		}
		wanted := false
		if len(x.codes) <= 4 {
			wanted = slices.Contains(x.codes, code)
		} else {
			_, wanted = slices.BinarySearch(x.codes, code)
		}
		if !wanted {
			ClearBit(keep, i)
		}
	}
}

// String says for people what is demanded; it is empty when nothing is.
func (x *TagCodes) String() string {
	if x == nil {
		return ""
	}
	var codes []string
	for _, c := range x.codes {
		codes = append(codes, fmt.Sprint(c))
	}
	const shown = 10
	switch n := len(codes); {
	case n == 1:
		return "the tag's code has to be " + codes[0]
	case n > shown:
		return fmt.Sprintf("the tag's code has to be one of %s and %d more", strings.Join(codes[:shown], ", "), n-shown)
	}
	return "the tag's code has to be one of " + strings.Join(codes, ", ")
}
