package remoting

import (
	"context"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/sdk/wire"
)

// QUERY_CONSUMER_OFFSET (14) and UPDATE_CONSUMER_OFFSET (15).

func serveQueryConsumerOffset(ctx context.Context, r *request) ([]byte, error) {
	var x wire.QueryOffsetHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	o, err := r.c.e.h.Offsets.CommittedOffset(ctx, &r.caller, x.ConsumerGroup, queueKey(x.Topic, x.QueueID), x.StrictlyStored)
	if err != nil {
		return nil, err
	}
	r.answer.Write(&wire.OffsetReply{Offset: int64(o)})
	return nil, nil
}

func serveUpdateConsumerOffset(ctx context.Context, r *request) ([]byte, error) {
	var x wire.UpdateOffsetHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	return nil, r.c.e.h.Offsets.CommitOffset(ctx, &r.caller, x.ConsumerGroup, queueKey(x.Topic, x.QueueID), message.Offset(x.CommitOffset))
}

func queueKey(topic string, id int32) message.QueueKey {
	return message.QueueKey{Topic: topic, ID: message.QueueID(id)}
}
