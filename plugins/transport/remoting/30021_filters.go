package remoting

import (
	"context"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
)

// WeirMQ's own code for filters: WEIR_LIST_FILTERS (30021).

func addFilterRoutes(h *transport.Handlers, add addRoute) {
	add(h.Filters != nil, apart, wire.CodeListFilters, serveFilters)
}

func serveFilters(ctx context.Context, r *request) ([]byte, error) {
	var x wire.FilterHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	list, err := r.c.e.h.Filters.Filters(ctx, &r.caller, x.Group)
	if err != nil {
		return nil, err
	}
	out := wire.FilterList{Filters: []wire.Filter{}}
	for i := range list {
		out.Filters = append(out.Filters, wireFilter(&list[i]))
	}
	return r.json(&out)
}

func wireFilter(f *transport.Filter) wire.Filter {
	w := wire.Filter{
		Group: f.Group, Topic: f.Topic, Type: f.Expression.Type, Expression: f.Expression.Text, Live: f.Live, Engine: f.Engine, Kept: f.Kept, Fault: f.Fault,
		Scanned: f.Scanned, Matched: f.Matched, ByIndex: f.ByIndex, ByCover: f.ByCover, JudgedPulling: f.JudgedPulling, JudgedArriving: f.JudgedArriving,
		Unknown: f.Unknown, Raised: f.Raised, Undecided: f.Undecided, Errors: f.Errors, Nanos: f.Time.Nanoseconds(), Covered: f.Covered, Entries: f.Entries,
	}
	for _, m := range f.Mandatory {
		w.Mandatory = append(w.Mandatory, m.Text)
	}
	if f.Key != (filter.Key{}) {
		w.Key = f.Key.String()
	}
	return w
}
