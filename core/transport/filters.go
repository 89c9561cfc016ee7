package transport

import (
	"context"
	"time"

	"github.com/weirmq/weir/core/filter"
)

// FilterFigures are what the filter of a group has done with the messages of a topic. All count from when the group was first
// seen to filter the topic, and end when it has stopped.
type FilterFigures struct {
	// Scanned entries were passed by pulls, and Matched of them were delivered. Of the others, ByIndex were ruled out by the
	// queue's index alone, and ByCover by verdicts that had been kept; those were never looked at.
	Scanned, Matched, ByIndex, ByCover int64
	// JudgedPulling were judged by the program at pulls, and JudgedArriving when they arrived; the latter once for all groups
	// that have the same filter. A message whose verdict isn't kept is judged at each pull that comes to it.
	JudgedPulling, JudgedArriving int64
	// Of the judged, Unknown and Raised had these outcomes, and Undecided had none, because the program failed.
	Unknown, Raised, Undecided int64
	// Errors counts pulls that were stopped by the filter: it failed, or messages wait for a verdict.
	Errors int64
	// Time is what judging took.
	Time time.Duration
}

// PerMessage is what judging a message takes, 0 when none was judged.
func (f *FilterFigures) PerMessage() time.Duration {
	if n := f.JudgedPulling + f.JudgedArriving; n > 0 {
		return f.Time / time.Duration(n)
	}
	return 0
}

// Filter is a group's filter of a topic and what it has done.
type Filter struct {
	Topic, Group string
	// Expression is what the group's members subscribe. It is zero when each pull brings its own along.
	Expression filter.Expression
	// Mandatory are the filters that an operator has bound to the topic or the group; messages have to pass them as well.
	Mandatory []filter.Expression
	// Live says that the group has members that subscribe the topic.
	Live bool
	// Engine is what evaluates the expression, Key identifies what it computes, and Kept says that verdicts are kept. They are of the
	// group's own program joined with the mandatory ones, but for Engine, and zero without.
	Engine string
	Key    filter.Key
	Kept   bool
	// Fault says why pulls are refused, or why messages were undecided last; it is empty when neither is.
	Fault string
	FilterFigures
	// Covered entries of the topic's queues, of Entries, have a verdict that is kept.
	Covered, Entries int64
}

// FilterAdmin tells what filters do.
type FilterAdmin interface {
	// Filters lists the filters of a group or, when the name is empty, of all, by group and topic.
	Filters(ctx context.Context, c *Caller, group string) ([]Filter, error)
}
