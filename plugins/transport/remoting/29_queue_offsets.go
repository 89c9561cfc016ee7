package remoting

import (
	"context"
	"fmt"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// SEARCH_OFFSET_BY_TIMESTAMP (29), GET_MAX_OFFSET (30), GET_MIN_OFFSET (31) and GET_EARLIEST_MSG_STORETIME (32).

func serveSearchOffset(ctx context.Context, r *request) ([]byte, error) {
	f := r.fields()
	q, t := f.queue(), f.int64("timestamp")
	boundary, err := readBoundary(r.h.OptText("boundaryType"))
	switch {
	case f.err != nil:
		return nil, f.err
	case err != nil:
		return nil, err
	}
	o, err := r.c.e.h.Querier.SearchOffset(ctx, &r.caller, q, t, boundary)
	if err != nil {
		return nil, err
	}
	r.answer.SetInt("offset", int64(o))
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
	return 0, refuse(message.SystemError, fmt.Sprintf("field boundaryType: %.64q, want LOWER or UPPER", s))
}

func serveMaxOffset(ctx context.Context, r *request) ([]byte, error) {
	return serveOffset(ctx, r, r.c.e.h.Querier.MaxOffset)
}

func serveMinOffset(ctx context.Context, r *request) ([]byte, error) {
	return serveOffset(ctx, r, r.c.e.h.Querier.MinOffset)
}

func serveOffset(ctx context.Context, r *request, ask func(context.Context, *transport.Caller, message.QueueKey) (message.Offset, error)) ([]byte, error) {
	f := r.fields()
	q := f.queue()
	if f.err != nil {
		return nil, f.err
	}
	o, err := ask(ctx, &r.caller, q)
	if err != nil {
		return nil, err
	}
	r.answer.SetInt("offset", int64(o))
	return nil, nil
}

func serveEarliestStoreTime(ctx context.Context, r *request) ([]byte, error) {
	f := r.fields()
	q := f.queue()
	if f.err != nil {
		return nil, f.err
	}
	t, err := r.c.e.h.Querier.EarliestStoreTime(ctx, &r.caller, q)
	if err != nil {
		return nil, err
	}
	r.answer.SetInt("timestamp", t)
	return nil, nil
}
