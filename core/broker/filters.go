package broker

import (
	"context"

	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/core/transport"
)

// Filters implements transport.FilterAdmin.
func (h *handler) Filters(ctx context.Context, c *transport.Caller, group string) ([]transport.Filter, error) {
	resource := groupOf(group)
	if group == "" {
		resource = wholeBroker
	}
	if err := h.gate.Allow(ctx, c, auth.Describe, resource); err != nil {
		return nil, err
	}
	return h.pulls.FilterStates(group), nil
}
