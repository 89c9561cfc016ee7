package broker

import (
	"context"
	"errors"
	"fmt"

	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// PutTopic implements transport.TopicAdmin.
func (h *handler) PutTopic(ctx context.Context, c *transport.Caller, t transport.TopicConfig) error {
	if err := h.gate.Allow(ctx, c, auth.Alter, topicOf(t.Name)); err != nil {
		return err
	}
	if err := h.topics.Put(t); err != nil {
		return err
	}
	h.registration.settled(ctx)
	return nil
}

// DeleteTopic implements transport.TopicAdmin. The configuration goes first, so that nothing new is stored; then the
// queues, and what groups have consumed of them: offsets of a topic of that name will begin anew. RocketMQ keeps them, and a group then
// misses what the new topic gets before it.
func (h *handler) DeleteTopic(ctx context.Context, c *transport.Caller, topic string) error {
	if err := h.gate.Allow(ctx, c, auth.Alter, topicOf(topic)); err != nil {
		return err
	}
	if _, err := h.topics.Delete(topic); err != nil {
		return err
	}
	if err := h.removeQueues(topic); err != nil {
		return fmt.Errorf("topic %s is gone from the configuration, but its queues could not be removed: %w", topic, err)
	}
	if n := h.offsets.RemoveTopic(topic); n > 0 {
		h.log.Info("offsets of groups in a deleted topic are forgotten", "topic", topic, "groups", n)
	}
	h.forgetRoute(topic)
	return nil
}

// Topics implements transport.TopicAdmin.
func (h *handler) Topics(ctx context.Context, c *transport.Caller) ([]transport.TopicConfig, transport.DataVersion, error) {
	if err := h.gate.Allow(ctx, c, auth.Describe, wholeBroker); err != nil {
		return nil, transport.DataVersion{}, err
	}
	all, v := h.topics.All()
	return all, v, nil
}

// Topic implements transport.TopicAdmin.
func (h *handler) Topic(ctx context.Context, c *transport.Caller, topic string) (transport.TopicConfig, error) {
	if err := h.gate.Allow(ctx, c, auth.Describe, topicOf(topic)); err != nil {
		return transport.TopicConfig{}, err
	}
	t, ok := h.topics.Topic(topic)
	if !ok {
		return t, unknownTopic(topic)
	}
	return t, nil
}

// SystemTopics implements transport.TopicAdmin.
func (h *handler) SystemTopics(ctx context.Context, c *transport.Caller) ([]string, error) {
	if err := h.gate.Allow(ctx, c, auth.Describe, wholeBroker); err != nil {
		return nil, err
	}
	return h.topics.SystemNames(), nil
}

func unknownTopic(topic string) error {
	return &message.Error{Code: message.TopicNotExist, Remark: fmt.Sprintf("topic %s does not exist on this broker", topic)}
}

// PutGroup implements transport.GroupAdmin.
func (h *handler) PutGroup(ctx context.Context, c *transport.Caller, g transport.GroupConfig) error {
	if err := h.gate.Allow(ctx, c, auth.Alter, groupOf(g.Name)); err != nil {
		return err
	}
	return h.groups.Put(g)
}

// DeleteGroup implements transport.GroupAdmin.
func (h *handler) DeleteGroup(ctx context.Context, c *transport.Caller, group string, offsets bool) error {
	if err := h.gate.Allow(ctx, c, auth.Alter, groupOf(group)); err != nil {
		return err
	}
	if _, err := h.groups.Delete(group); err != nil {
		return err
	}
	if offsets {
		h.offsets.Remove(group)
	}
	return nil
}

// Groups implements transport.GroupAdmin.
func (h *handler) Groups(ctx context.Context, c *transport.Caller) ([]transport.GroupConfig, transport.DataVersion, error) {
	if err := h.gate.Allow(ctx, c, auth.Describe, wholeBroker); err != nil {
		return nil, transport.DataVersion{}, err
	}
	all, v := h.groups.All()
	return all, v, nil
}

// Group implements transport.GroupAdmin.
func (h *handler) Group(ctx context.Context, c *transport.Caller, group string) (transport.GroupConfig, error) {
	if err := h.gate.Allow(ctx, c, auth.Describe, groupOf(group)); err != nil {
		return transport.GroupConfig{}, err
	}
	g, ok := h.groups.Group(group)
	if !ok {
		return g, &message.Error{Code: message.GroupNotExist, Remark: fmt.Sprintf("consumer group %s does not exist on this broker", group)}
	}
	return g, nil
}

// cleanUnusedTopics removes the queues of topics that don't exist any more. Those of the broker's own topics, which may
// have no configuration, stay.
func (h *handler) cleanUnusedTopics() error {
	seen := map[string]bool{}
	var errs []error
	for _, q := range h.store.Queues() {
		if seen[q.Topic] {
			continue
		}
		seen[q.Topic] = true
		if _, known := h.topics.Topic(q.Topic); known || h.topics.System(q.Topic) || message.IsLMQ(q.Topic) {
			continue
		}
		if err := h.removeQueues(q.Topic); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
