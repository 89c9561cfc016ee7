package queue

import (
	"context"
	"errors"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// subscription is what a group wants of one topic, compiled. It is immutable; the group's table counts its program in.
type subscription struct {
	transport.Subscription
	prog *program
	// fault says why there is no program: the expression doesn't compile, or nobody compiles its type.
	fault error
}

// compile makes a subscription out of what a client said. A fault is kept: RocketMQ takes the heartbeat and answers the
// group's pulls with it.
func (ps *Programs) compile(ctx context.Context, s transport.Subscription) *subscription {
	sub := &subscription{Subscription: s}
	if s.ClassFilter {
		return sub
	}
	sub.prog, sub.fault = ps.get(ctx, s.Expression)
	return sub
}

// refusal turns a fault into the answer to a pull that relies on the group's subscription. RocketMQ knows only at the
// heartbeat that an SQL expression is wrong, and has no compiled filter at the pull.
func (s *subscription) refusal() *message.Error {
	if errors.Is(s.fault, errNoCompiler) {
		return &message.Error{Code: message.SystemError, Remark: s.fault.Error()}
	}
	var e *message.Error
	if !errors.As(s.fault, &e) {
		return &message.Error{Code: message.SystemError, Remark: s.fault.Error()}
	}
	if isTag(s.Expression.Type) {
		return e
	}
	return &message.Error{Code: message.FilterDataNotExist,
		Remark: "The broker's consumer filter data is not exist!Your expression may be wrong! " + e.Remark}
}

// CheckSubscription says whether a subscription would be accepted (CHECK_CLIENT_CONFIG): tags always are, as in
// RocketMQ; other types when a plugin compiles the text.
func (ps *Programs) CheckSubscription(ctx context.Context, s transport.Subscription) error {
	if isTag(s.Expression.Type) {
		return nil
	}
	p, err := ps.get(ctx, s.Expression)
	if errors.Is(err, errNoCompiler) {
		return &message.Error{Code: message.SystemError, Remark: err.Error()}
	}
	p.release()
	return err
}
