package remoting

import (
	"context"

	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
)

// UPDATE_BROKER_CONFIG (25), GET_BROKER_CONFIG (26), GET_BROKER_RUNTIME_INFO (28), GET_ALL_DELAY_OFFSET (45), and the maintenance jobs
// CLEAN_EXPIRED_CONSUMEQUEUE (306), CLEAN_UNUSED_TOPIC (316) and DELETE_EXPIRED_COMMITLOG (329).

func serveUpdateConfig(ctx context.Context, r *request) ([]byte, error) {
	values, err := parseProperties(r.body)
	if err != nil {
		return nil, err
	}
	return nil, r.c.e.h.Broker.UpdateConfig(ctx, &r.caller, values)
}

func serveConfig(ctx context.Context, r *request) ([]byte, error) {
	values, version, err := r.c.e.h.Broker.Config(ctx, &r.caller)
	if err != nil {
		return nil, err
	}
	v := wireVersion(version)
	text, err := wire.AppendBody(nil, &v)
	if err != nil {
		return nil, err
	}
	r.answer.Write(&wire.VersionReply{Version: string(text)})
	return appendProperties(r.buf[:0], values), nil
}

func serveRuntimeInfo(ctx context.Context, r *request) ([]byte, error) {
	table, err := r.c.e.h.Broker.RuntimeInfo(ctx, &r.caller)
	if err != nil {
		return nil, err
	}
	return r.json(&wire.KVTable{Table: table})
}

func serveDelayOffsets(ctx context.Context, r *request) ([]byte, error) {
	return r.c.e.h.Broker.DelayOffsets(ctx, &r.caller)
}

func serveClean(job transport.CleanJob) serveFunc {
	return func(ctx context.Context, r *request) ([]byte, error) {
		return nil, r.c.e.h.Broker.Clean(ctx, &r.caller, job)
	}
}
