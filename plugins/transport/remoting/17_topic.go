package remoting

import (
	"context"

	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
)

// UPDATE_AND_CREATE_TOPIC (17), GET_ALL_TOPIC_CONFIG (21), DELETE_TOPIC_IN_BROKER (215),
// GET_SYSTEM_TOPIC_LIST_FROM_BROKER (305) and GET_TOPIC_CONFIG (351, of 5.x tools).

func servePutTopic(ctx context.Context, r *request) ([]byte, error) {
	var x wire.CreateTopicHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	return nil, r.c.e.h.Topics.PutTopic(ctx, &r.caller, transport.TopicConfig{
		Name: x.Topic, ReadQueues: x.ReadQueueNums, WriteQueues: x.WriteQueueNums, Perm: x.Perm,
		FilterType: x.TopicFilterType, SysFlag: x.TopicSysFlag, Order: x.Order,
	})
}

func serveTopics(ctx context.Context, r *request) ([]byte, error) {
	topics, version, err := r.c.e.h.Topics.Topics(ctx, &r.caller)
	if err != nil {
		return nil, err
	}
	return r.json(&wire.TopicTable{DataVersion: wireVersion(version), TopicConfigTable: wireTopics(topics)})
}

func serveDeleteTopic(ctx context.Context, r *request) ([]byte, error) {
	var x wire.DeleteTopicHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	return nil, r.c.e.h.Topics.DeleteTopic(ctx, &r.caller, x.Topic)
}

func serveSystemTopics(ctx context.Context, r *request) ([]byte, error) {
	topics, err := r.c.e.h.Topics.SystemTopics(ctx, &r.caller)
	if err != nil {
		return nil, err
	}
	return r.json(&wire.TopicList{TopicList: notNil(topics)})
}

func serveTopic(ctx context.Context, r *request) ([]byte, error) {
	var x wire.TopicHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	t, err := r.c.e.h.Topics.Topic(ctx, &r.caller, x.Topic)
	if err != nil {
		return nil, err
	}
	w := wireTopic(t)
	return r.json(&w)
}

func wireVersion(v transport.DataVersion) wire.DataVersion {
	return wire.DataVersion{Counter: v.Counter, Timestamp: v.Timestamp}
}

func wireTopic(t transport.TopicConfig) wire.TopicConfig {
	return wire.TopicConfig{
		TopicName: t.Name, ReadQueueNums: t.ReadQueues, WriteQueueNums: t.WriteQueues, Perm: t.Perm,
		TopicFilterType: wire.TopicFilterType(t.FilterType), TopicSysFlag: t.SysFlag, Order: t.Order,
	}
}

func wireTopics(topics []transport.TopicConfig) map[string]wire.TopicConfig {
	m := make(map[string]wire.TopicConfig, len(topics))
	for _, t := range topics {
		m[t.Name] = wireTopic(t)
	}
	return m
}

func coreTopic(t wire.TopicConfig) transport.TopicConfig {
	return transport.TopicConfig{
		Name: t.TopicName, ReadQueues: t.ReadQueueNums, WriteQueues: t.WriteQueueNums, Perm: t.Perm,
		FilterType: string(t.TopicFilterType), SysFlag: t.TopicSysFlag, Order: t.Order,
	}
}

// notNil makes null an empty list: clients walk through lists without looking.
func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
