package broker

import (
	"context"

	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// TopicStats implements transport.StatsAdmin.
func (h *handler) TopicStats(ctx context.Context, c *transport.Caller, topic string) ([]transport.QueueStats, error) {
	if err := h.gate.Allow(ctx, c, auth.Describe, topicOf(topic)); err != nil {
		return nil, err
	}
	return h.progress.TopicStats(topic)
}

// ConsumeStats implements transport.StatsAdmin.
func (h *handler) ConsumeStats(ctx context.Context, c *transport.Caller, group, topic string) (transport.ConsumeStats, error) {
	if err := h.gate.Allow(ctx, c, auth.Describe, groupOf(group)); err != nil {
		return transport.ConsumeStats{}, err
	}
	return h.progress.ConsumeStats(group, topic), nil
}

// BrokerConsumeStats implements transport.StatsAdmin.
func (h *handler) BrokerConsumeStats(ctx context.Context, c *transport.Caller, orderOnly bool) ([]transport.GroupConsumeStats, error) {
	if err := h.gate.Allow(ctx, c, auth.Describe, wholeBroker); err != nil {
		return nil, err
	}
	groups, _ := h.groups.All()
	names := make([]string, len(groups))
	for i := range groups {
		names[i] = groups[i].Name
	}
	return h.progress.BrokerConsumeStats(names, orderOnly), nil
}

// TopicGroups implements transport.StatsAdmin.
func (h *handler) TopicGroups(ctx context.Context, c *transport.Caller, topic string) ([]string, error) {
	if err := h.gate.Allow(ctx, c, auth.Describe, topicOf(topic)); err != nil {
		return nil, err
	}
	return h.progress.TopicGroups(topic), nil
}

// GroupTopics implements transport.StatsAdmin.
func (h *handler) GroupTopics(ctx context.Context, c *transport.Caller, group string) ([]string, error) {
	if err := h.gate.Allow(ctx, c, auth.Describe, groupOf(group)); err != nil {
		return nil, err
	}
	if topics, online := h.clients.Topics(group); online {
		return topics, nil
	}
	return h.offsets.Topics(group), nil
}

// ConsumeTimeSpans implements transport.StatsAdmin.
func (h *handler) ConsumeTimeSpans(ctx context.Context, c *transport.Caller, topic, group string) ([]transport.ConsumeTimeSpan, error) {
	if err := h.gate.Allow(ctx, c, auth.Describe, topicOf(topic)); err != nil {
		return nil, err
	}
	return h.progress.ConsumeTimeSpans(topic, group)
}

// CorrectionOffsets implements transport.StatsAdmin.
func (h *handler) CorrectionOffsets(ctx context.Context, c *transport.Caller, topic, compareGroup string, filterGroups []string) (map[message.QueueID]message.Offset, error) {
	if err := h.gate.Allow(ctx, c, auth.Describe, topicOf(topic)); err != nil {
		return nil, err
	}
	return h.progress.CorrectionOffsets(topic, compareGroup, filterGroups), nil
}

// QueueEntries implements transport.StatsAdmin.
func (h *handler) QueueEntries(ctx context.Context, c *transport.Caller, q message.QueueKey, from message.Offset, count int32, group string) (transport.QueueEntries, error) {
	if err := h.gate.Allow(ctx, c, auth.Describe, topicOf(q.Topic)); err != nil {
		return transport.QueueEntries{}, err
	}
	return h.progress.QueueEntries(q, from, count, group)
}

// Counter implements transport.StatsAdmin.
func (h *handler) Counter(ctx context.Context, c *transport.Caller, name, key string) (transport.StatsItems, error) {
	if err := h.gate.Allow(ctx, c, auth.Describe, wholeBroker); err != nil {
		return transport.StatsItems{}, err
	}
	return h.counters.Items(name, key)
}

// ResetOffsets implements transport.GroupAdmin.
func (h *handler) ResetOffsets(ctx context.Context, c *transport.Caller, topic, group string, timestamp int64, force, listForm bool) ([]transport.QueueOffset, error) {
	if err := h.gate.Allow(ctx, c, auth.Alter, groupOf(group)); err != nil {
		return nil, err
	}
	return h.progress.ResetOffsets(topic, group, timestamp, force, listForm)
}

// CloneOffsets implements transport.GroupAdmin. While the source group is online, and unless offline is asked for, only
// topics that it subscribes now are copied.
func (h *handler) CloneOffsets(ctx context.Context, c *transport.Caller, from, to, topic string, offline bool) error {
	for _, group := range []string{from, to} {
		if err := h.gate.Allow(ctx, c, auth.Alter, groupOf(group)); err != nil {
			return err
		}
	}
	return h.offsets.Clone(from, to, topic, func(topic string) bool {
		if offline || !h.clients.Online(from) {
			return true
		}
		_, subscribed := h.clients.Subscription(from, topic)
		return subscribed
	})
}

// AllOffsets implements transport.GroupAdmin.
func (h *handler) AllOffsets(ctx context.Context, c *transport.Caller) (map[string]map[message.QueueID]message.Offset, error) {
	if err := h.gate.Allow(ctx, c, auth.Describe, wholeBroker); err != nil {
		return nil, err
	}
	return h.offsets.All(), nil
}
