package remoting

import (
	"context"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
)

// QUERY_MESSAGE (12) and VIEW_MESSAGE_BY_ID (33). Both are answered with records as they are in the store.

func serveQueryMessage(ctx context.Context, r *request) ([]byte, error) {
	var x wire.QueryMessageHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	q := transport.KeyQuery{
		Topic: x.Topic, Key: x.Key, MaxNum: x.MaxNum, Begin: x.BeginTimestamp, End: x.EndTimestamp, UniqueKey: x.UniqueKey,
	}
	records := &lentRecords{}
	state, err := r.c.e.h.Querier.QueryMessages(ctx, &r.caller, q, &records.Records)
	if err != nil {
		records.release()
		code, remark := errorAnswer(err)
		if code != message.QueryNotFound {
			return nil, err
		}
		r.answer.Code = int32(code)
		r.answer.SetRemark(remark)
		r.answer.Write(&wire.QueryMessageReply{}) // RocketMQ's zeros
		return nil, nil
	}
	r.records = records
	r.answer.Write(&wire.QueryMessageReply{IndexLastUpdateTimestamp: state.StoreTime, IndexLastUpdatePosition: int64(state.Position)})
	return nil, nil
}

func serveViewMessage(ctx context.Context, r *request) ([]byte, error) {
	var x wire.ViewMessageHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	records := &lentRecords{}
	if err := r.c.e.h.Querier.ViewMessage(ctx, &r.caller, message.Position(x.Offset), &records.Records); err != nil {
		records.release()
		return nil, err
	}
	r.records = records
	return nil, nil
}
