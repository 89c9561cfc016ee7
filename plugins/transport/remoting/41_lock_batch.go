package remoting

import (
	"context"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
)

// LOCK_BATCH_MQ (41) and UNLOCK_BATCH_MQ (42): queues for consumers that consume in order.

func serveLock(ctx context.Context, r *request) ([]byte, error) {
	var x wire.LockBatch
	if err := wire.ParseBody(r.body, &x); err != nil {
		return nil, err
	}
	if x.ConsumerGroup == "" || x.ClientID == "" {
		return nil, refuse(message.SystemError, "a lock needs a consumerGroup and a clientId to belong to")
	}
	got, err := r.c.e.h.Locker.Lock(ctx, &r.caller, x.ConsumerGroup, x.ClientID, coreQueues(x.MQSet))
	if err != nil {
		return nil, err
	}
	reply := wire.LockReply{LockOKMQSet: make([]wire.MessageQueue, len(got))}
	for i, q := range got {
		reply.LockOKMQSet[i] = wireQueue(q)
	}
	return r.json(&reply)
}

func serveUnlock(ctx context.Context, r *request) ([]byte, error) {
	var x wire.LockBatch
	if err := wire.ParseBody(r.body, &x); err != nil {
		return nil, err
	}
	return nil, r.c.e.h.Locker.Unlock(ctx, &r.caller, x.ConsumerGroup, x.ClientID, coreQueues(x.MQSet))
}

func coreQueues(list []wire.MessageQueue) []transport.BrokerQueue {
	out := make([]transport.BrokerQueue, len(list))
	for i, q := range list {
		out[i] = transport.BrokerQueue{Topic: q.Topic, Broker: q.BrokerName, ID: message.QueueID(q.QueueID)}
	}
	return out
}

func wireQueue(q transport.BrokerQueue) wire.MessageQueue {
	return wire.MessageQueue{BrokerName: q.Broker, QueueID: int32(q.ID), Topic: q.Topic}
}
