package remoting

import (
	"context"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
)

// GET_CONSUMER_CONNECTION_LIST (203), GET_PRODUCER_CONNECTION_LIST (204), GET_ALL_PRODUCER_INFO (328), and the two
// requests that are relayed to a client: GET_CONSUMER_RUNNING_INFO (307) and CONSUME_MESSAGE_DIRECTLY (309).

func serveConsumerConnections(ctx context.Context, r *request) ([]byte, error) {
	var x wire.GroupHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	info, err := r.c.e.h.Clients.ConsumerConnections(ctx, &r.caller, x.ConsumerGroup)
	if err != nil {
		return nil, err
	}
	reply := wire.ConsumerConnection{
		ConnectionSet: wireConnections(info.Connections), ConsumeFromWhere: wireFrom(info.From), ConsumeType: wireType(info.Type),
		MessageModel: wireModel(info.Model), SubscriptionTable: make(map[string]wire.SubscriptionData, len(info.Subscriptions)),
	}
	for _, s := range info.Subscriptions {
		reply.SubscriptionTable[s.Topic] = wireSubscription(s)
	}
	return r.json(&reply)
}

func serveProducerConnections(ctx context.Context, r *request) ([]byte, error) {
	var x wire.ProducerGroupHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	list, err := r.c.e.h.Clients.ProducerConnections(ctx, &r.caller, x.ProducerGroup)
	if err != nil {
		return nil, err
	}
	return r.json(&wire.ProducerConnection{ConnectionSet: wireConnections(list)})
}

func serveAllProducers(ctx context.Context, r *request) ([]byte, error) {
	groups, err := r.c.e.h.Clients.AllProducers(ctx, &r.caller)
	if err != nil {
		return nil, err
	}
	t := wire.ProducerTable{Data: make(map[string][]wire.ProducerInfo, len(groups))}
	for g, list := range groups {
		infos := make([]wire.ProducerInfo, len(list))
		for i, c := range list {
			infos[i] = wire.ProducerInfo{ClientID: c.ClientID, Language: c.Language, LastUpdateTimestamp: c.LastUpdate,
				RemoteIP: "/" + c.Address, Version: c.Version}
		}
		t.Data[g] = infos
	}
	return r.json(&t)
}

func wireConnections(list []transport.Connection) []wire.Connection {
	out := make([]wire.Connection, len(list))
	for i, c := range list {
		out[i] = wire.Connection{ClientAddr: c.Address, ClientID: c.ClientID, Language: c.Language, Version: c.Version}
	}
	return out
}

// wireSubscription fills in the tags and their codes, as Java does for whoever shows them.
func wireSubscription(s transport.Subscription) wire.SubscriptionData {
	d := wire.SubscriptionData{
		ClassFilterMode: s.ClassFilter, ExpressionType: s.Expression.Type, SubString: s.Expression.Text, SubVersion: s.Version,
		Topic: s.Topic, CodeSet: []int32{}, TagsSet: []string{},
	}
	if s.Expression.Type != "" && s.Expression.Type != message.ExpressionTag {
		return d
	}
	tags, err := message.ParseTags(s.Expression.Text)
	if err != nil {
		return d
	}
	d.TagsSet, d.CodeSet = notNil(tags.Names), notNil(tags.Codes)
	return d
}

func serveRunningInfo(ctx context.Context, r *request) ([]byte, error) {
	var x wire.RunningInfoHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	reply, err := r.c.e.h.Clients.ConsumerRunningInfo(ctx, &r.caller, transport.RunningInfoCall{
		Group: x.ConsumerGroup, ClientID: x.ClientID, Stacks: x.JstackEnable,
	})
	return r.relay(reply, err)
}

func serveConsumeDirectly(ctx context.Context, r *request) ([]byte, error) {
	var x wire.ConsumeDirectlyHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	reply, err := r.c.e.h.Clients.ConsumeDirectly(ctx, &r.caller, transport.ConsumeDirectlyCall{
		Group: x.ConsumerGroup, ClientID: x.ClientID, MessageID: x.MsgID, Topic: r.h.OptText("topic"),
	})
	return r.relay(reply, err)
}

// relay answers with what a client answered, code and remark included.
func (r *request) relay(reply transport.ClientReply, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	r.answer.Code = int32(reply.Code)
	r.answer.SetRemark(reply.Remark)
	return reply.Body, nil
}
