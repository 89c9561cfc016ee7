package remoting

import (
	"context"
	"fmt"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
)

// SEARCH_OFFSET_BY_TIMESTAMP (29), GET_MAX_OFFSET (30), GET_MIN_OFFSET (31) and GET_EARLIEST_MSG_STORETIME (32).

func serveSearchOffset(ctx context.Context, r *request) ([]byte, error) {
	var x wire.SearchOffsetHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	boundary, err := readBoundary(x.Boundary)
	if err != nil {
		return nil, err
	}
	o, err := r.c.e.h.Querier.SearchOffset(ctx, &r.caller, queueKey(x.Topic, x.QueueID), x.Timestamp, boundary)
	if err != nil {
		return nil, err
	}
	r.answer.Write(&wire.OffsetReply{Offset: int64(o)})
	return nil, nil
}

// readBoundary reads the field by which a 5.x client chooses; without it 4.9.7's rule holds.
func readBoundary(s string) (transport.Boundary, error) {
	switch s {
	case "":
		return transport.Nearest, nil
	case "LOWER":
		return transport.Lower, nil
	case "UPPER":
		return transport.Upper, nil
	}
	return 0, refuse(message.SystemError, fmt.Sprintf("the request's field boundaryType is %.64q, want LOWER or UPPER", s))
}

func serveMaxOffset(ctx context.Context, r *request) ([]byte, error) {
	return serveOffset(ctx, r, r.c.e.h.Querier.MaxOffset)
}

func serveMinOffset(ctx context.Context, r *request) ([]byte, error) {
	return serveOffset(ctx, r, r.c.e.h.Querier.MinOffset)
}

type offsetQuestion func(context.Context, *transport.Caller, message.QueueKey) (message.Offset, error)

func serveOffset(ctx context.Context, r *request, ask offsetQuestion) ([]byte, error) {
	var x wire.QueueHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	o, err := ask(ctx, &r.caller, queueKey(x.Topic, x.QueueID))
	if err != nil {
		return nil, err
	}
	r.answer.Write(&wire.OffsetReply{Offset: int64(o)})
	return nil, nil
}

func serveEarliestStoreTime(ctx context.Context, r *request) ([]byte, error) {
	var x wire.QueueHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	t, err := r.c.e.h.Querier.EarliestStoreTime(ctx, &r.caller, queueKey(x.Topic, x.QueueID))
	if err != nil {
		return nil, err
	}
	r.answer.Write(&wire.TimestampReply{Timestamp: t})
	return nil, nil
}
