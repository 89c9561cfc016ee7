package queue

import (
	"context"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
)

// retried is the filter of a group's retry topic with filter_support_retry: it judges each message by the filter that is registered for the group and the topic that the message was first
// sent to (RocketMQ's ExpressionForRetryMessageFilter). Messages of topics without one pass, tags being such.
type retried struct {
	group   string
	filters *Filters
}

var _ filter.Program = (*retried)(nil)

// retriedProgram returns the program for a pull of topic by group; nil when that isn't the group's retry topic.
func (p *Pulls) retriedProgram(topic, group string) *program {
	if g, ok := message.RetryGroup(topic); !p.set.Config.FilterSupportRetry || !ok || g != group {
		return nil
	}
	return p.set.Programs.wrap(filter.Expression{Type: "retried"}, &retried{group, p.set.Filters})
}

// Key is none: what it computes changes with what the group subscribes.
func (*retried) Key() filter.Key     { return filter.Key{} }
func (*retried) Needs() filter.Needs { return filter.Needs{Record: true} }
func (*retried) Pure() bool          { return false }
func (*retried) Warnings() []string  { return nil }
func (*retried) Close() error        { return nil }

// Match lets the filter of each message's topic judge it.
func (f *retried) Match(ctx context.Context, b *filter.Batch, v *filter.Verdicts) error {
	var one filter.Verdicts
	for i, record := range b.Records {
		rec, _, err := message.ViewRecord(record)
		if err != nil {
			filter.SetBit(v.Undecided, i)
			continue
		}
		topic, ok := rec.Properties().Get(message.PropRetryTopic)
		if !ok {
			filter.SetBit(v.True, i)
			continue
		}
		reg, ok := f.filters.get(string(topic), f.group)
		if !ok || reg.fault != nil || reg.prog == nil {
			filter.SetBit(v.True, i)
			continue
		}
		one.Reset(1)
		err = reg.prog.Match(ctx, &filter.Batch{Topic: string(topic), Queue: b.Queue, TagsCodes: b.TagsCodes[i : i+1], Records: b.Records[i : i+1]}, &one)
		reg.prog.release()
		switch {
		case err != nil:
			return err
		case filter.HasBit(one.True, 0):
			filter.SetBit(v.True, i)
		case filter.HasBit(one.Undecided, 0):
			filter.SetBit(v.Undecided, i)
		}
	}
	return nil
}
