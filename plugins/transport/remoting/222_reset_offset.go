package remoting

import (
	"context"

	"github.com/weirmq/weir/core/fastjson"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
)

// INVOKE_BROKER_TO_RESET_OFFSET (222) and INVOKE_BROKER_TO_GET_CONSUMER_STATUS (223), which the broker passes on to
// consumers; and CLONE_GROUP_OFFSET (314) and GET_ALL_CONSUMER_OFFSET (43).

func serveResetOffset(ctx context.Context, r *request) ([]byte, error) {
	var x wire.ResetOffsetHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	listForm := r.h.Language == wire.LanguageCPP
	offsets, err := r.c.e.h.GroupAd.ResetOffsets(ctx, &r.caller, x.Topic, x.Group, x.Timestamp, x.IsForce, listForm)
	if err != nil {
		return nil, err
	}
	t := wireOffsets(offsets)
	return r.json(&t)
}

// wireOffsets puts offsets into the table that Java knows.
func wireOffsets(offsets []transport.QueueOffset) wire.OffsetTable {
	t := wire.OffsetTable{OffsetTable: make(map[wire.MessageQueue]int64, len(offsets))}
	for _, o := range offsets {
		t.OffsetTable[wireQueue(o.Queue)] = int64(o.Offset)
	}
	return t
}

// wireOffsetList puts offsets into the list that C++ clients know.
func wireOffsetList(offsets []transport.QueueOffset) wire.OffsetList {
	l := wire.OffsetList{OffsetTable: make([]wire.QueueOffset, len(offsets))}
	for i, o := range offsets {
		l.OffsetTable[i] = wire.QueueOffset{BrokerName: o.Queue.Broker, Offset: int64(o.Offset), QueueID: int32(o.Queue.ID), Topic: o.Queue.Topic}
	}
	return l
}

// serveConsumerStatus answers with what each client said, which isn't read but for where it begins and ends.
func serveConsumerStatus(ctx context.Context, r *request) ([]byte, error) {
	var x wire.ConsumerStatusHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	replies, err := r.c.e.h.Clients.ConsumerStatus(ctx, &r.caller, x.Topic, x.Group, x.ClientAddr)
	if err != nil {
		return nil, err
	}
	var status wire.ConsumerStatusRaw
	status.SetDefaults()
	status.ConsumerTable = make(map[string]fastjson.Raw, len(replies))
	for id, reply := range replies {
		if reply.Code != message.Success {
			continue
		}
		var said wire.ConsumerStatusRaw
		if err := wire.ParseBody(reply.Body, &said); err != nil {
			return nil, refuse(message.SystemError, "client "+id+" answered something else than its offsets: "+err.Error())
		}
		status.ConsumerTable[id] = said.MessageQueueTable
	}
	return r.json(&status)
}

func serveCloneOffsets(ctx context.Context, r *request) ([]byte, error) {
	var x wire.CloneOffsetHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	return nil, r.c.e.h.GroupAd.CloneOffsets(ctx, &r.caller, x.SrcGroup, x.DestGroup, x.Topic, x.Offline)
}

func serveAllOffsets(ctx context.Context, r *request) ([]byte, error) {
	all, err := r.c.e.h.GroupAd.AllOffsets(ctx, &r.caller)
	if err != nil {
		return nil, err
	}
	t := wire.ConsumerOffsets{OffsetTable: make(map[string]map[int32]int64, len(all))}
	for key, queues := range all {
		m := make(map[int32]int64, len(queues))
		for q, o := range queues {
			m[int32(q)] = int64(o)
		}
		t.OffsetTable[key] = m
	}
	return r.json(&t)
}
