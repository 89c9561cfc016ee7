package remoting

import (
	"context"

	"github.com/weirmq/weir/sdk/wire"
)

// A name server's table of texts: PUT_KV_CONFIG (100), GET_KV_CONFIG (101), DELETE_KV_CONFIG (102) and
// GET_KVLIST_BY_NAMESPACE (219).

func servePutKV(ctx context.Context, r *request) ([]byte, error) {
	var x wire.PutKVHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	return nil, r.c.e.h.KV.PutKV(ctx, &r.caller, x.Namespace, x.Key, x.Value)
}

func serveKV(ctx context.Context, r *request) ([]byte, error) {
	var x wire.KVHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	v, err := r.c.e.h.KV.KV(ctx, &r.caller, x.Namespace, x.Key)
	if err != nil {
		return nil, err
	}
	r.answer.SetString("value", v)
	return nil, nil
}

func serveDeleteKV(ctx context.Context, r *request) ([]byte, error) {
	var x wire.KVHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	return nil, r.c.e.h.KV.DeleteKV(ctx, &r.caller, x.Namespace, x.Key)
}

func serveKVList(ctx context.Context, r *request) ([]byte, error) {
	var x wire.NamespaceHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	table, err := r.c.e.h.KV.KVList(ctx, &r.caller, x.Namespace)
	if err != nil {
		return nil, err
	}
	return r.json(&wire.KVTable{Table: table})
}
