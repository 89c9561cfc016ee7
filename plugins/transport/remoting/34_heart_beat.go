package remoting

import (
	"context"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
)

// HEART_BEAT (34), UNREGISTER_CLIENT (35), GET_CONSUMER_LIST_BY_GROUP (38) and CHECK_CLIENT_CONFIG (46): who is a member of
// which group.

func serveHeartbeat(ctx context.Context, r *request) ([]byte, error) {
	var x wire.Heartbeat
	if err := wire.ParseBody(r.body, &x); err != nil {
		return nil, err
	}
	h := transport.Heartbeat{ClientID: x.ClientID}
	for _, p := range x.ProducerDataSet {
		h.ProducerGroups = append(h.ProducerGroups, p.GroupName)
	}
	for _, d := range x.ConsumerDataSet {
		c, err := coreConsumer(d)
		if err != nil {
			return nil, err
		}
		h.Consumers = append(h.Consumers, c)
	}
	return nil, r.c.e.h.Groups.Heartbeat(ctx, &r.caller, &h)
}

func serveUnregisterClient(ctx context.Context, r *request) ([]byte, error) {
	var x wire.UnregisterClientHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	return nil, r.c.e.h.Groups.Unregister(ctx, &r.caller, x.ClientID, x.ProducerGroup, x.ConsumerGroup)
}

func serveConsumers(ctx context.Context, r *request) ([]byte, error) {
	var x wire.GroupHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	ids, err := r.c.e.h.Groups.Consumers(ctx, &r.caller, x.ConsumerGroup)
	if err != nil {
		return nil, err
	}
	return r.json(&wire.ConsumerList{ConsumerIDList: notNil(ids)})
}

// serveCheckClient asks whether a subscription would do. RocketMQ says yes when there is none to check.
func serveCheckClient(ctx context.Context, r *request) ([]byte, error) {
	if len(r.body) == 0 {
		return nil, nil
	}
	var x wire.CheckClient
	if err := wire.ParseBody(r.body, &x); err != nil {
		return nil, err
	}
	if x.SubscriptionData == nil {
		return nil, nil
	}
	s := coreSubscription(*x.SubscriptionData)
	return nil, r.c.e.h.Groups.CheckSubscription(ctx, &r.caller, x.ClientID, x.Group, s)
}

func coreSubscription(s wire.SubscriptionData) transport.Subscription {
	t := s.ExpressionType
	if t == "" {
		t = filter.TypeTag
	}
	return transport.Subscription{
		Topic: s.Topic, Expression: filter.Expression{Type: t, Text: s.SubString}, Version: s.SubVersion,
		ClassFilter: s.ClassFilterMode,
	}
}

// coreConsumer reads a membership. An enum that is absent or unknown is taken as what most consumers are.
func coreConsumer(d wire.ConsumerData) (transport.ConsumerData, error) {
	c := transport.ConsumerData{
		Group: d.GroupName, Type: transport.ConsumePassively, Model: transport.Clustering, From: coreFrom(d.ConsumeFromWhere),
		UnitMode: d.UnitMode,
	}
	if d.ConsumeType == wire.ConsumeActively {
		c.Type = transport.ConsumeActively
	}
	if d.MessageModel == wire.Broadcasting {
		c.Model = transport.Broadcasting
	}
	if d.ConsumeType == wire.ConsumePop {
		return c, refuse(message.SystemError, "group "+d.GroupName+" consumes by pop, which this broker doesn't serve by this protocol")
	}
	for _, s := range d.SubscriptionDataSet {
		c.Subscriptions = append(c.Subscriptions, coreSubscription(s))
	}
	return c, nil
}
