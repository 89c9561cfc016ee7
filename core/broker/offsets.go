package broker

import (
	"context"

	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// consumerOf checks that the caller may consume a topic as a member of a group.
func (h *handler) consumerOf(ctx context.Context, c *transport.Caller, group, topic string) error {
	if err := h.gate.Allow(ctx, c, auth.Subscribe, groupOf(group)); err != nil {
		return err
	}
	return h.gate.Allow(ctx, c, auth.Subscribe, topicOf(topic))
}

// CommittedOffset implements transport.OffsetStore.
func (h *handler) CommittedOffset(ctx context.Context, c *transport.Caller, group string, q message.QueueKey, strict bool) (message.Offset, error) {
	if err := h.consumerOf(ctx, c, group, q.Topic); err != nil {
		return 0, err
	}
	return h.offsets.Query(group, q, strict)
}

// CommitOffset implements transport.OffsetStore.
func (h *handler) CommitOffset(ctx context.Context, c *transport.Caller, group string, q message.QueueKey, o message.Offset) error {
	if err := h.consumerOf(ctx, c, group, q.Topic); err != nil {
		return err
	}
	if h.store.TopicDeleted(q.Topic) {
		if _, known := h.topics.Topic(q.Topic); !known {
			return nil // a consumer that hasn't noticed yet: its offset means nothing to a new topic of that name
		}
	}
	return h.offsets.Commit(group, q, o)
}
