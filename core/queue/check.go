package queue

import (
	"context"
	"errors"
	"fmt"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// chooser is what chooses a pull's messages.
type chooser struct {
	prog *program   // counted in
	pre  *prefilter // of the registered filter that it is
}

// check decides in RocketMQ's order whether r may read, and returns what chooses its messages.
func (p *Pulls) check(ctx context.Context, r *transport.Pull) (c chooser, refused *message.Error) {
	if c, refused = p.ask(ctx, r); refused != nil {
		return c, refused
	}
	if again := p.retriedProgram(r.Topic, r.Group); again != nil && c.prog == nil {
		c.prog = again
	} else if again != nil {
		c.prog = p.set.Programs.wrap(filter.Expression{Type: "joined"}, newJoined([]*program{c.prog, again}))
	}
	return p.set.Bindings.join(ctx, r.Topic, r.Group, c)
}

// ask is check without the filters that are mandatory.
func (p *Pulls) ask(ctx context.Context, r *transport.Pull) (c chooser, refused *message.Error) {
	if !p.set.Perm().CanRead() {
		return c, refusal(message.NoPermission, "the broker pulling message is forbidden")
	}
	g, ok := p.set.Groups.Group(r.Group)
	if !ok {
		return c, refusal(message.GroupNotExist, "subscription group [%s] does not exist", r.Group)
	}
	if !g.ConsumeEnable {
		return c, refusal(message.NoPermission, "subscription group no permission, %s", r.Group)
	}
	t, ok := p.set.Topics.Topic(r.Topic)
	if !ok {
		return c, refusal(message.TopicNotExist, "topic[%s] not exist, apply first please!", r.Topic)
	}
	if !message.Perm(t.Perm).CanRead() {
		return c, refusal(message.NoPermission, "the topic[%s] pulling message is forbidden", r.Topic)
	}
	if r.QueueID < 0 || int32(r.QueueID) >= t.ReadQueues {
		return c, refusal(message.SystemError, "queueId[%d] is illegal, topic:[%s] topicConfig.readQueueNums:[%d] consumer:[%v]",
			r.QueueID, r.Topic, t.ReadQueues, r.Caller.Session.Remote())
	}
	if r.HasSubscription {
		c.prog, refused = p.ownProgram(ctx, r)
		return c, refused
	}
	return p.groupProgram(r, g)
}

func refusal(code message.Code, format string, args ...any) *message.Error {
	return &message.Error{Code: code, Remark: fmt.Sprintf(format, args...)}
}

// ownProgram compiles the expression that the pull brings along.
func (p *Pulls) ownProgram(ctx context.Context, r *transport.Pull) (*program, *message.Error) {
	prog, err := p.set.Programs.get(ctx, r.Expression)
	if err == nil {
		return prog, nil
	}
	var e *message.Error
	if errors.As(err, &e) {
		return nil, e
	}
	return nil, refusal(message.SystemError, "%v", err)
}

// groupProgram takes what the group's members subscribe.
func (p *Pulls) groupProgram(r *transport.Pull, cfg transport.GroupConfig) (c chooser, refused *message.Error) {
	g, ok := p.set.Clients.group(r.Group)
	if !ok {
		return c, refusal(message.SubscriptionNotExist, "the consumer's group info not exist: no member of group %s has sent a heartbeat", r.Group)
	}
	if !cfg.ConsumeBroadcastEnable && transport.MessageModel(g.model.Load()) == transport.Broadcasting {
		return c, refusal(message.NoPermission, "the consumer group[%s] can not consume by broadcast way", r.Group)
	}
	s, ok := g.subscription(r.Topic)
	if !ok {
		return c, refusal(message.SubscriptionNotExist,
			"the consumer's subscription not exist: group %s doesn't subscribe topic %s; its members must subscribe the same topics", r.Group, r.Topic)
	}
	if s.Version < r.SubVersion {
		s.prog.release()
		return c, refusal(message.SubscriptionNotLatest, "the consumer's subscription not latest: the broker knows version %d, the pull %d", s.Version, r.SubVersion)
	}
	if s.fault != nil {
		return c, s.refusal()
	}
	if !isTag(s.Expression.Type) && !s.ClassFilter {
		return p.registeredProgram(r, s)
	}
	return chooser{prog: s.prog}, nil
}

// registeredProgram takes the filter that is registered for the group, which may be an older one than s says.
func (p *Pulls) registeredProgram(r *transport.Pull, s *subscription) (c chooser, refused *message.Error) {
	f, ok := p.set.Filters.get(r.Topic, r.Group)
	switch {
	case !ok:
		return c, refusal(message.FilterDataNotExist, "%s%s", noFilterData, p.set.Filters.why(s))
	case f.fault != nil:
		return c, refusal(message.FilterDataNotExist, "%s%s", noFilterData, remarkOf(f.fault))
	case f.version < r.SubVersion:
		f.prog.release()
		return c, refusal(message.FilterDataNotLatest, "The broker's consumer filter data is not latest: the broker knows version %d, the pull %d", f.version, r.SubVersion)
	}
	return chooser{prog: f.prog, pre: f.pre}, nil
}

// noFilterData is RocketMQ's remark.
const noFilterData = "The broker's consumer filter data is not exist!Your expression may be wrong! "
