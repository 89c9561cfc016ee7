package client

import (
	"context"
	"fmt"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/sdk/wire"
)

// Recall takes a message back that waits for its DeliverAt, and returns its id. handle is from SendResult. A broker doesn't look whether the message is there: it refuses
// only what can't wait any more.
func (p *Producer) Recall(ctx context.Context, handle string) (id string, err error) {
	h, err := message.ParseRecallHandle(handle)
	if err != nil {
		return "", err
	}
	r, err := p.client.RouteToSend(ctx, h.Topic)
	if err != nil {
		return "", err
	}
	for _, q := range r.Write {
		if q.Broker != h.Broker {
			continue
		}
		answer, err := p.client.Call(ctx, q.Addr, wire.CodeRecallMessage, &wire.RecallHeader{ProducerGroup: p.group, Topic: h.Topic, RecallHandle: handle}, nil)
		if err != nil {
			return "", err
		}
		return answer.Ext["msgId"], nil
	}
	return "", &message.Error{Code: message.SystemError, Remark: fmt.Sprintf("broker %s, which has the message, can't be written to now, or is gone", h.Broker)}
}
