package topic

import (
	"slices"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// Filter types of a topic.
const (
	SingleTag = "SINGLE_TAG"
	MultiTag  = "MULTI_TAG"
)

const (
	permRW        = int32(message.PermRW)
	permTemplate  = int32(message.PermRW | message.PermInherit)
	permAll       = int32(message.PermRW | message.PermInherit | message.PermPriority)
	benchQueues   = 1024
	clusterQueues = 16
)

// plain returns a topic with equal numbers of read and write queues.
func plain(name string, queues, perm int32) *transport.TopicConfig {
	return &transport.TopicConfig{
		Name: name, ReadQueues: queues, WriteQueues: queues, Perm: perm, FilterType: SingleTag,
	}
}

// builtinTopics returns the topics that a RocketMQ broker has from its start, in RocketMQ's order: where names coincide
// the later one counts.
func builtinTopics(cluster, broker string, cfg Config) map[string]*transport.TopicConfig {
	list := []*transport.TopicConfig{plain(message.TopicSelfTest, 1, permRW)}
	if cfg.AutoCreate {
		list = append(list, autoCreateTemplate(cfg))
	}
	list = append(list,
		plain(message.TopicBenchmark, benchQueues, permRW),
		plain(cluster, clusterQueues, permTemplate),
		plain(broker, 1, permTemplate),
		plain(message.TopicOffsetMoved, 1, permRW),
		plain(message.TopicSchedule, message.MaxDelayLevel, permRW),
		plain(message.ReplyTopic(cluster), 1, permRW),
	)
	values := make(map[string]*transport.TopicConfig, len(list))
	for _, t := range list {
		values[t.Name] = t
	}
	return values
}

// autoCreateTemplate is the topic after which producers' topics are created. It has a route, and with it producers find
// this broker before their topic exists.
func autoCreateTemplate(cfg Config) *transport.TopicConfig {
	return plain(message.TopicAutoCreate, cfg.DefaultQueues, permTemplate)
}

// System says whether name is one of the broker's own topics, which can't be changed or deleted.
func (t *Topics) System(name string) bool {
	return message.IsSystemTopic(name) || slices.Contains(t.ownNames(), name)
}

// SystemNames lists the names of the broker's own topics, sorted, whether they exist or not.
func (t *Topics) SystemNames() []string {
	names := append(message.SystemTopics(), t.ownNames()...)
	slices.Sort(names)
	return slices.Compact(names)
}

// ownNames are the system topics that depend on the broker's and the cluster's name.
func (t *Topics) ownNames() []string {
	return []string{t.set.Cluster, t.set.Broker, message.ReplyTopic(t.set.Cluster)}
}
