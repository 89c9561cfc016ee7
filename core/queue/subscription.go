package queue

import (
	"context"
	"errors"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// subscription is what a group wants of one topic. It is immutable; the group's table counts its program in.
type subscription struct {
	transport.Subscription
	// prog is for tags only. Other expressions are in Filters, which outlive the group's members.
	prog *program
	// fault says why there is none: the tags make no sense, or nobody compiles the type.
	fault error
}

// compile makes a subscription out of what a client said. A fault is kept: RocketMQ takes the heartbeat and answers the
// group's pulls with it.
func (ps *Programs) compile(ctx context.Context, s transport.Subscription) *subscription {
	sub := &subscription{Subscription: s}
	switch {
	case s.ClassFilter:
	case isTag(s.Expression.Type):
		sub.prog, sub.fault = ps.get(ctx, s.Expression)
	default:
		if _, ok := ps.compilers.Compiler(s.Expression.Type); !ok {
			sub.fault = &unservedError{expressionType: s.Expression.Type}
		}
	}
	return sub
}

// refusal turns a fault into the answer to a pull that relies on the group's subscription. SQL92 may be switched off; to
// RocketMQ, filters of other types that nobody compiles just don't exist.
func (s *subscription) refusal() *message.Error {
	if e, ok := errors.AsType[*message.Error](s.fault); ok {
		return e
	}
	if s.Expression.Type == filter.TypeSQL92 {
		return &message.Error{Code: message.SystemError, Remark: s.fault.Error()}
	}
	return &message.Error{Code: message.FilterDataNotExist, Remark: noFilterData + s.fault.Error()}
}

// CheckSubscription says whether a subscription would be accepted (CHECK_CLIENT_CONFIG): tags always are, as in
// RocketMQ; other types when a plugin compiles the text. SQL92 may be switched off, which is an error of its own there;
// any other type that nobody compiles is a subscription that can't be parsed.
func (ps *Programs) CheckSubscription(ctx context.Context, s transport.Subscription) error {
	if isTag(s.Expression.Type) {
		return nil
	}
	p, err := ps.get(ctx, s.Expression)
	if errors.Is(err, errNoCompiler) {
		code := message.SubscriptionParseFailed
		if s.Expression.Type == filter.TypeSQL92 {
			code = message.SystemError
		}
		return &message.Error{Code: code, Remark: err.Error()}
	}
	p.release()
	return err
}
