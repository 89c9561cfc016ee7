package client

import (
	"context"

	"github.com/weirmq/weir/sdk/wire"
)

// Filters describes the filters of a group on a broker or, when the name is empty, of all groups.
func (c *Client) Filters(ctx context.Context, addr, group string) ([]wire.Filter, error) {
	var l wire.FilterList
	err := c.callInto(ctx, addr, wire.CodeListFilters, &wire.FilterHeader{Group: group}, &l)
	return l.Filters, err
}
