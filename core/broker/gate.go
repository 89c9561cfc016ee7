package broker

import (
	"context"
	"errors"

	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// gate is passed by every operation that a transport can reach, before it does anything else.
type gate struct {
	auth auth.Authenticator
}

// Allow authenticates c and authorises it to do a to r. The error is a *message.Error for the caller's eyes.
func (g *gate) Allow(ctx context.Context, c *transport.Caller, a auth.Action, r auth.Resource) error {
	return g.check(ctx, &c.Credentials, a, r)
}

// Known only authenticates c, for operations whose resource has to be found out first.
func (g *gate) Known(ctx context.Context, c *auth.Credentials) error {
	if _, err := g.auth.Authenticate(ctx, c); err != nil {
		return refusal(err)
	}
	return nil
}

func (g *gate) check(ctx context.Context, c *auth.Credentials, a auth.Action, r auth.Resource) error {
	p, err := g.auth.Authenticate(ctx, c)
	if err != nil {
		return refusal(err)
	}
	if err := g.auth.Authorize(ctx, p, a, r); err != nil {
		return refusal(err)
	}
	return nil
}

// refusal makes sure that an authenticator's error has a code.
func refusal(err error) error {
	if e := (*message.Error)(nil); errors.As(err, &e) {
		return e
	}
	return &message.Error{Code: message.NoPermission, Remark: err.Error()}
}

// errStopping refuses what comes when the broker ends before it knows its own address.
var errStopping error = &message.Error{Code: message.ServiceNotAvailable, Remark: "the broker is stopping"}

// refused counts a message that is refused, and splits the error like code.
func (h *handler) refused(err error) (message.Code, string) {
	why := message.CauseOther
	if e := (*message.Error)(nil); errors.As(err, &e) {
		why = e.Why()
	}
	h.refusals[why].Add(1)
	return code(err)
}

// code splits an error into what is sent to the caller.
func code(err error) (message.Code, string) {
	if e := (*message.Error)(nil); errors.As(err, &e) {
		return e.Code, e.Remark
	}
	return message.SystemError, err.Error()
}

func topicOf(name string) auth.Resource { return auth.Resource{Kind: auth.Topic, Name: name} }
func groupOf(name string) auth.Resource { return auth.Resource{Kind: auth.Group, Name: name} }

var wholeBroker = auth.Resource{Kind: auth.Broker}
