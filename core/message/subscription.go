package message

import (
	"errors"
	"slices"
	"strings"
)

// Expression types that clients name in a subscription.
const (
	ExpressionTag   = "TAG"
	ExpressionSQL92 = "SQL92"
)

// SubscribeAll is the subscription text that matches every message.
const SubscribeAll = "*"

// Tags is a parsed TAG subscription.
type Tags struct {
	All   bool     // everything matches, with and without tag
	Names []string // distinct, in the order of the text
	Codes []int32  // the hashes of Names, distinct and ascending
}

// errNoTag is Java's only complaint about a TAG subscription.
var errNoTag = errors.New("parse tag subscription: nothing but || in it; write tags separated by ||, or * for everything")

// ParseTags parses the text of a TAG subscription. Empty text and "*" mean everything. Otherwise tags are separated by
// "||", trimmed as Java trims (everything up to U+0020), and empty ones don't count; if none is left nothing matches. Text of
// separators only is an error. " * " is the tag "*".
func ParseTags(text string) (Tags, error) {
	if text == "" || text == SubscribeAll {
		return Tags{All: true}, nil
	}
	var t Tags
	if strings.Trim(text, "|") == "" && len(text)%2 == 0 {
		return t, errNoTag
	}
	seen := make(map[string]struct{})
	for part := range strings.SplitSeq(text, "||") {
		tag := strings.TrimFunc(part, func(r rune) bool { return r <= ' ' })
		if _, dup := seen[tag]; dup || tag == "" {
			continue
		}
		seen[tag] = struct{}{}
		t.Names = append(t.Names, tag)
		t.Codes = append(t.Codes, JavaHash(tag))
	}
	slices.Sort(t.Codes)
	t.Codes = slices.Compact(t.Codes)
	return t, nil
}

// Match says whether a message with this tags code may match. Tags with equal hashes pass: the consumer compares the text.
func (t *Tags) Match(tagsCode int64) bool {
	if t.All {
		return true
	}
	// Java compares the low 32 bits.
	_, ok := slices.BinarySearch(t.Codes, int32(tagsCode))
	return ok
}
