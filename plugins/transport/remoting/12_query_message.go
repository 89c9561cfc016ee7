package remoting

import (
	"context"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// QUERY_MESSAGE (12) and VIEW_MESSAGE_BY_ID (33). Both are answered with records as they are in the store.

func serveQueryMessage(ctx context.Context, r *request) ([]byte, error) {
	f := r.fields()
	q := transport.KeyQuery{
		Topic:     f.text("topic"),
		Key:       f.text("key"),
		MaxNum:    f.int32("maxNum"),
		Begin:     f.int64("beginTimestamp"),
		End:       f.int64("endTimestamp"),
		UniqueKey: r.h.Bool("_UNIQUE_KEY_QUERY"),
	}
	if f.err != nil {
		return nil, f.err
	}
	records := &lentRecords{}
	if err := r.c.e.h.Querier.QueryMessages(ctx, &r.caller, q, &records.Records); err != nil {
		records.release()
		return nil, err
	}
	r.records = records
	// Clients take both for granted and use neither.
	r.answer.SetInt("indexLastUpdatePhyoffset", 0)
	r.answer.SetInt("indexLastUpdateTimestamp", 0)
	return nil, nil
}

func serveViewMessage(ctx context.Context, r *request) ([]byte, error) {
	at, err := r.h.Int64("offset")
	if err != nil {
		return nil, err
	}
	records := &lentRecords{}
	if err := r.c.e.h.Querier.ViewMessage(ctx, &r.caller, message.Position(at), &records.Records); err != nil {
		records.release()
		return nil, err
	}
	r.records = records
	return nil, nil
}
