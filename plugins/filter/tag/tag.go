// Package tag filters by tag, RocketMQ's plain subscription: the expression type TAG. A message has one tag or none, and
// a subscription names the tags it wants, separated by "||".
//
// # What it promises
//
// Texts mean exactly what they mean to RocketMQ 4.9.7 (see message.ParseTags). What is compared is the Java hash of the
// tag, which the ConsumeQueue keeps beside every entry: two tags with equal hashes both pass, and the client, which has
// the text, drops the wrong one. A program is pure.
//
// # What it costs
//
// Judging never looks at messages: MatchIndex reads nothing but the tags codes, 64 at a time, and its answer is final.
// Only entries whose code is an address in a ConsumeQueueExt file, which RocketMQ writes when told to, need their record.
// One tag costs about a nanosecond an entry or less, two to eight the same without regard to how many, and more a little above.
package tag

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/plugin"
)

// compiler compiles TAG expressions. It has no state.
type compiler struct{}

func (compiler) Start(context.Context, plugin.Host) error { return nil }
func (compiler) Stop(context.Context) error               { return nil }

// ExpressionTypes returns TAG.
func (compiler) ExpressionTypes() []string { return []string{filter.TypeTag} }

// Compile parses a subscription text. No type at all is TAG, as in RocketMQ.
func (compiler) Compile(_ context.Context, e filter.Expression) (filter.Program, error) {
	if e.Type != "" && e.Type != filter.TypeTag {
		return nil, fmt.Errorf("compile %s expression: the tag filter only knows %s", e.Type, filter.TypeTag)
	}
	tags, err := message.ParseTags(e.Text)
	if err != nil {
		return nil, err
	}
	return &program{key: keyOf(tags), set: newSet(tags.All, tags.Codes), warnings: warn(tags), about: describe(tags)}, nil
}

// program is a compiled subscription.
type program struct {
	key      filter.Key
	set      set
	warnings []string
	about    filter.Description
}

var (
	_ filter.Compiler     = compiler{}
	_ filter.Program      = (*program)(nil)
	_ filter.IndexMatcher = (*program)(nil)
)

// version is part of every key. Raise it when the same text starts to mean something else.
const version = "tag/1"

// keyOf hashes what the program computes: the codes, not the text, so that "A||B" and " B || A" are one.
func keyOf(tags message.Tags) filter.Key {
	b := []byte(version)
	if tags.All {
		return sha256.Sum256(append(b, " all"...))
	}
	b = append(b, " codes "...)
	for _, c := range tags.Codes {
		b = binary.BigEndian.AppendUint32(b, uint32(c))
	}
	return sha256.Sum256(b)
}

func (p *program) Key() filter.Key    { return p.key }
func (p *program) Pure() bool         { return true }
func (p *program) Warnings() []string { return p.warnings }
func (p *program) Close() error       { return nil }

// Needs asks for the tag of the record, for those entries that MatchIndex can't decide.
func (p *program) Needs() filter.Needs {
	return filter.Needs{Record: true, Properties: []string{message.PropTags}}
}

// MatchIndex judges by the codes. Its answer is final unless one of the entries left has an address in place of a code.
func (p *program) MatchIndex(codes []int64, keep []uint64) (final bool) {
	return p.set.filter(codes, keep)
}

// Match judges by the codes where there are such, and else by the record's tag. Without a sound record it can't decide.
func (p *program) Match(_ context.Context, b *filter.Batch, v *filter.Verdicts) error {
	for i, code := range b.TagsCodes {
		if code <= message.MaxExtAddress && !p.set.all && p.set.count > 0 {
			var ok bool
			if code, ok = recordCode(b, i); !ok {
				filter.SetBit(v.Undecided, i)
				continue
			}
		}
		if p.set.has(code) {
			filter.SetBit(v.True, i)
		}
	}
	return nil
}

// recordCode returns the code of the tag in the i-th record.
func recordCode(b *filter.Batch, i int) (int64, bool) {
	if i >= len(b.Records) || b.Records[i] == nil {
		return 0, false
	}
	rec, _, err := message.ViewRecord(b.Records[i])
	if err != nil {
		return 0, false
	}
	name, _ := rec.Properties().Get(message.PropTags)
	return message.TagsCode(name), true
}

// warn points out texts that mean something else than they look like.
func warn(tags message.Tags) []string {
	if tags.All {
		return nil
	}
	var list []string
	if len(tags.Names) == 0 {
		list = append(list, "the subscription has no tags, so nothing matches; use * for everything")
	}
	seen := make(map[int32]string, len(tags.Names))
	for _, name := range tags.Names {
		if name == message.SubscribeAll {
			list = append(list, `* among other tags or blanks is a tag of that name, not everything`)
		}
		if strings.Contains(name, "|") {
			list = append(list, fmt.Sprintf("the tag %q has a | in its name; tags are separated by ||", name))
		}
		code := message.JavaHash(name)
		if other, ok := seen[code]; ok {
			list = append(list, fmt.Sprintf("the tags %q and %q have the same hash; only the client tells them apart", other, name))
		}
		seen[code] = name
	}
	return list
}
