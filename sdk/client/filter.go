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

// Conflicts lists the groups on a broker whose members don't subscribe the same: one or, when the name is empty, all of them.
func (c *Client) Conflicts(ctx context.Context, addr, group string) ([]wire.GroupConflict, error) {
	var l wire.ConflictList
	err := c.callInto(ctx, addr, wire.CodeListConflicts, &wire.FilterHeader{Group: group}, &l)
	return l.Groups, err
}
