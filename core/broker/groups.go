package broker

import (
	"context"

	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/core/transport"
)

// Heartbeat implements transport.GroupKeeper. Every group and topic that the client names is authorised before any of
// them is registered.
func (h *handler) Heartbeat(ctx context.Context, c *transport.Caller, beat *transport.Heartbeat) error {
	for _, group := range beat.ProducerGroups {
		if err := h.gate.Allow(ctx, c, auth.Publish, groupOf(group)); err != nil {
			return err
		}
	}
	for i := range beat.Consumers {
		consumer := &beat.Consumers[i]
		if err := h.gate.Allow(ctx, c, auth.Subscribe, groupOf(consumer.Group)); err != nil {
			return err
		}
		for _, s := range consumer.Subscriptions {
			if err := h.gate.Allow(ctx, c, auth.Subscribe, topicOf(s.Topic)); err != nil {
				return err
			}
		}
	}
	if len(beat.ProducerGroups) == 0 && len(beat.Consumers) == 0 {
		if err := h.gate.Allow(ctx, c, auth.Describe, wholeBroker); err != nil {
			return err
		}
	}
	return h.clients.Heartbeat(ctx, c, beat)
}

// Unregister implements transport.GroupKeeper.
func (h *handler) Unregister(ctx context.Context, c *transport.Caller, _, producerGroup, consumerGroup string) error {
	if producerGroup != "" || consumerGroup == "" {
		if err := h.gate.Allow(ctx, c, auth.Publish, groupOf(producerGroup)); err != nil {
			return err
		}
	}
	if consumerGroup != "" {
		if err := h.gate.Allow(ctx, c, auth.Subscribe, groupOf(consumerGroup)); err != nil {
			return err
		}
	}
	h.clients.Unregister(c.Session, producerGroup, consumerGroup)
	return nil
}

// Consumers implements transport.GroupKeeper.
func (h *handler) Consumers(ctx context.Context, c *transport.Caller, group string) ([]string, error) {
	if err := h.gate.Allow(ctx, c, auth.Subscribe, groupOf(group)); err != nil {
		return nil, err
	}
	return h.clients.Consumers(group)
}

// CheckSubscription implements transport.GroupKeeper.
func (h *handler) CheckSubscription(ctx context.Context, c *transport.Caller, _, group string, s transport.Subscription) error {
	if err := h.consumerOf(ctx, c, group, s.Topic); err != nil {
		return err
	}
	return h.programs.CheckSubscription(ctx, s)
}

// SessionClosed implements transport.SessionKeeper. It is the end of a connection and asks for nothing, so nobody is
// authorised.
func (h *handler) SessionClosed(s transport.Session) {
	h.pulls.SessionClosed(s)
	h.clients.SessionClosed(s)
}

// Lock implements transport.Locker.
func (h *handler) Lock(ctx context.Context, c *transport.Caller, group, clientID string, queues []transport.BrokerQueue) ([]transport.BrokerQueue, error) {
	if err := h.gate.Allow(ctx, c, auth.Subscribe, groupOf(group)); err != nil {
		return nil, err
	}
	return h.locks.Lock(group, clientID, queues), nil
}

// Unlock implements transport.Locker.
func (h *handler) Unlock(ctx context.Context, c *transport.Caller, group, clientID string, queues []transport.BrokerQueue) error {
	if err := h.gate.Allow(ctx, c, auth.Subscribe, groupOf(group)); err != nil {
		return err
	}
	h.locks.Unlock(group, clientID, queues)
	return nil
}
