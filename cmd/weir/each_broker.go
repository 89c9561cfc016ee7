package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/sdk/client"
)

// eachBroker calls f for the masters of the cluster, in the order of their names, until one fails. cannot says what a broker that doesn't
// know the request can't do.
func (a *app) eachBroker(ctx context.Context, cannot string, f func(ctx context.Context, cl *client.Client, broker, addr string) error) error {
	return a.with(ctx, func(ctx context.Context, cl *client.Client) error {
		masters, err := cl.Masters(ctx, a.cluster)
		if err != nil {
			return err
		}
		for _, broker := range slices.Sorted(maps.Keys(masters)) {
			if err := f(ctx, cl, broker, masters[broker]); err != nil {
				return brokerReason(broker, cannot, err)
			}
		}
		return nil
	})
}

// brokerReason turns what a broker says into what a person can act on.
func brokerReason(broker, cannot string, err error) error {
	said, ok := errors.AsType[*message.Error](err)
	if _, done := errors.AsType[*reason](err); done || !ok {
		return err
	}
	if said.Code == message.CodeNotSupported {
		return &reason{err: err, code: exitFailure, text: fmt.Sprintf("broker %s is no WeirMQ broker, or an older one: %s", broker, cannot)}
	}
	return &reason{err: err, code: exitFailure, text: fmt.Sprintf("broker %s: %s", broker, said.Remark)}
}

// collect has each broker list something and makes rows of that.
func collect[T, R any](ctx context.Context, a *app, cannot string, list func(ctx context.Context, cl *client.Client, addr string) ([]T, error), row func(broker string, one T) R) ([]R, error) {
	rows := []R{}
	err := a.eachBroker(ctx, cannot, func(ctx context.Context, cl *client.Client, broker, addr string) error {
		all, err := list(ctx, cl, addr)
		for _, one := range all {
			rows = append(rows, row(broker, one))
		}
		return err
	})
	return rows, err
}
