package remoting

import (
	"context"

	"github.com/weirmq/weir/core/message"
)

// QUERY_CONSUMER_OFFSET (14) and UPDATE_CONSUMER_OFFSET (15).

func serveQueryConsumerOffset(ctx context.Context, r *request) ([]byte, error) {
	f := r.fields()
	group, q := f.name("consumerGroup"), f.queue()
	if f.err != nil {
		return nil, f.err
	}
	strict := !r.h.OptBool("setZeroIfNotFound", true) // of 5.x
	o, err := r.c.e.h.Offsets.CommittedOffset(ctx, &r.caller, group, q, strict)
	if err != nil {
		return nil, err
	}
	r.answer.SetInt("offset", int64(o))
	return nil, nil
}

func serveUpdateConsumerOffset(ctx context.Context, r *request) ([]byte, error) {
	f := r.fields()
	group, q, o := f.name("consumerGroup"), f.queue(), f.int64("commitOffset")
	if f.err != nil {
		return nil, f.err
	}
	return nil, r.c.e.h.Offsets.CommitOffset(ctx, &r.caller, group, q, message.Offset(o))
}
