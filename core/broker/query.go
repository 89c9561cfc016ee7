package broker

import (
	"context"
	"fmt"

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
func (h *handler) QueryMessages(ctx context.Context, c *transport.Caller, q transport.KeyQuery, r *transport.Records) (x transport.IndexState, err error) {
	if err := h.gate.Allow(ctx, c, auth.Query, topicOf(q.Topic)); err != nil {
		return x, err
	}
	most := int(q.MaxNum)
	if q.UniqueKey {
		most = uniqueQueryMax
	}
	if most < 0 {
		return x, &message.Error{Code: message.SystemError, Remark: fmt.Sprintf("maxNum is %d: ask for at least one message", most)}
	}
	if err := h.store.Query(q.Topic, q.Key, most, q.Begin, q.End, r); err != nil {
		r.Release()
		return x, &message.Error{Code: message.SystemError, Remark: err.Error()}
	}
	if r.Count == 0 {
		remark := "can not find message, maybe time range not correct"
		if q.Begin > q.End {
			remark += ": it ends before it begins"
		}
		return x, &message.Error{Code: message.QueryNotFound, Remark: remark}
	}
	x.StoreTime, x.Position = h.store.IndexUpdated()
	return x, nil
}

// uniqueQueryMax is how many messages a query by unique key finds, RocketMQ's defaultQueryMaxNum: the key may come from another key with the same hash.
const uniqueQueryMax = 32
