package remoting

import (
	"context"

	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
)

// UPDATE_AND_CREATE_SUBSCRIPTIONGROUP (200), GET_ALL_SUBSCRIPTIONGROUP_CONFIG (201), DELETE_SUBSCRIPTIONGROUP (207) and
// GET_SUBSCRIPTIONGROUP_CONFIG (352, of 5.x tools).

func servePutGroup(ctx context.Context, r *request) ([]byte, error) {
	var x wire.GroupConfig
	if err := wire.ParseBody(r.body, &x); err != nil {
		return nil, err
	}
	return nil, r.c.e.h.GroupAd.PutGroup(ctx, &r.caller, transport.GroupConfig{
		Name: x.GroupName, ConsumeEnable: x.ConsumeEnable, ConsumeFromMinEnable: x.ConsumeFromMinEnable,
		ConsumeBroadcastEnable: x.ConsumeBroadcastEnable, RetryQueues: x.RetryQueueNums, RetryMaxTimes: x.RetryMaxTimes,
		BrokerID: x.BrokerID, WhichBrokerWhenConsumeSlowly: x.WhichBrokerWhenConsumeSlowly,
		NotifyConsumerIDsChanged: x.NotifyConsumerIDsChangedEnable,
	})
}

func serveGroups(ctx context.Context, r *request) ([]byte, error) {
	groups, version, err := r.c.e.h.GroupAd.Groups(ctx, &r.caller)
	if err != nil {
		return nil, err
	}
	t := wire.GroupTable{DataVersion: wireVersion(version), SubscriptionGroupTable: make(map[string]wire.GroupConfig, len(groups))}
	for _, g := range groups {
		t.SubscriptionGroupTable[g.Name] = wireGroup(g)
	}
	return r.json(&t)
}

func serveDeleteGroup(ctx context.Context, r *request) ([]byte, error) {
	var x wire.DeleteGroupHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	return nil, r.c.e.h.GroupAd.DeleteGroup(ctx, &r.caller, x.GroupName, x.RemoveOffset)
}

func serveGroup(ctx context.Context, r *request) ([]byte, error) {
	var x wire.GroupConfigHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	g, err := r.c.e.h.GroupAd.Group(ctx, &r.caller, x.Group)
	if err != nil {
		return nil, err
	}
	w := wireGroup(g)
	return r.json(&w)
}

func wireGroup(g transport.GroupConfig) wire.GroupConfig {
	return wire.GroupConfig{
		GroupName: g.Name, ConsumeEnable: g.ConsumeEnable, ConsumeFromMinEnable: g.ConsumeFromMinEnable,
		ConsumeBroadcastEnable: g.ConsumeBroadcastEnable, RetryQueueNums: g.RetryQueues, RetryMaxTimes: g.RetryMaxTimes,
		BrokerID: g.BrokerID, WhichBrokerWhenConsumeSlowly: g.WhichBrokerWhenConsumeSlowly,
		NotifyConsumerIDsChangedEnable: g.NotifyConsumerIDsChanged,
	}
}
