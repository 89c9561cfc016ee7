package remoting

import (
	"context"

	"github.com/weirmq/weir/sdk/wire"
)

// WeirMQ's own code for groups whose members don't subscribe the same: WEIR_LIST_CONFLICTS (30022).

func serveConflicts(ctx context.Context, r *request) ([]byte, error) {
	var x wire.FilterHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	list, err := r.c.e.h.Clients.Conflicts(ctx, &r.caller, x.Group)
	if err != nil {
		return nil, err
	}
	out := wire.ConflictList{Groups: make([]wire.GroupConflict, len(list))}
	for i, c := range list {
		g := wire.GroupConflict{Group: c.Group, Sides: make([]wire.ConflictSide, len(c.Sides))}
		for j, s := range c.Sides {
			g.Sides[j] = wire.ConflictSide{Subscribes: notNil(s.Subscribes), Clients: notNil(s.Clients), Refused: notNil(s.Refused)}
		}
		out.Groups[i] = g
	}
	return r.json(&out)
}
