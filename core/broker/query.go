package broker

import (
	"context"

	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// MaxOffset implements transport.Querier.
func (h *handler) MaxOffset(ctx context.Context, c *transport.Caller, q message.QueueKey) (message.Offset, error) {
	if err := h.gate.Allow(ctx, c, auth.Query, topicOf(q.Topic)); err != nil {
		return 0, err
	}
	_, end, _ := h.store.Bounds(q)
	return end, nil
}

// MinOffset implements transport.Querier.
func (h *handler) MinOffset(ctx context.Context, c *transport.Caller, q message.QueueKey) (message.Offset, error) {
	if err := h.gate.Allow(ctx, c, auth.Query, topicOf(q.Topic)); err != nil {
		return 0, err
	}
	begin, _, _ := h.store.Bounds(q)
	return begin, nil
}

// SearchOffset implements transport.Querier.
func (h *handler) SearchOffset(ctx context.Context, c *transport.Caller, q message.QueueKey, timestamp int64, b transport.Boundary) (message.Offset, error) {
	if err := h.gate.Allow(ctx, c, auth.Query, topicOf(q.Topic)); err != nil {
		return 0, err
	}
	return h.store.OffsetByTime(q, timestamp, b)
}

// EarliestStoreTime implements transport.Querier.
func (h *handler) EarliestStoreTime(ctx context.Context, c *transport.Caller, q message.QueueKey) (int64, error) {
	if err := h.gate.Allow(ctx, c, auth.Query, topicOf(q.Topic)); err != nil {
		return 0, err
	}
	return h.store.EarliestStoreTime(q), nil
}

// ViewMessage implements transport.Querier. Which topic a position belongs to is only known once its record has been
// read, so the caller must be allowed to query the broker, and then the topic.
func (h *handler) ViewMessage(ctx context.Context, c *transport.Caller, p message.Position, r *transport.Records) error {
	if err := h.gate.Allow(ctx, c, auth.Query, wholeBroker); err != nil {
		return err
	}
	if err := h.record(p, r); err != nil {
		return err
	}
	if err := h.gate.Allow(ctx, c, auth.Query, topicOf(string(message.Record(r.Chunks[0]).Topic()))); err != nil {
		r.Release()
		return err
	}
	return nil
}

// record lends the record at p, or says for a caller's eyes why it can't.
func (h *handler) record(p message.Position, r *transport.Records) error {
	if err := h.store.Record(p, r); err != nil {
		return &message.Error{Code: message.SystemError, Remark: "there is no message at position " + p.String() + " of the log: " + err.Error()}
	}
	return nil
}

// QueryMessages implements transport.Querier.
func (h *handler) QueryMessages(ctx context.Context, c *transport.Caller, q transport.KeyQuery, _ *transport.Records) error {
	if err := h.gate.Allow(ctx, c, auth.Query, topicOf(q.Topic)); err != nil {
		return err
	}
	return &message.Error{Code: message.SystemError, Remark: "query by key is not enabled yet: this broker keeps no key index; messages are found by offset, time and offset message id"}
}
