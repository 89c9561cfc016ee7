package remoting

import (
	"context"

	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
)

// RECALL_MESSAGE (370), of RocketMQ 5.3 and later: a producer takes back a message that waits for a time of its own.

func serveRecall(ctx context.Context, r *request) ([]byte, error) {
	var x wire.RecallHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	key, err := r.c.e.h.Recaller.Recall(ctx, &r.caller, transport.Recall{ProducerGroup: x.ProducerGroup, Topic: x.Topic, Handle: x.RecallHandle})
	if err != nil {
		return nil, err
	}
	r.answer.Write(&wire.RecallReply{MsgID: key})
	return nil, nil
}
