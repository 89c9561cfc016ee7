// Package plugins is the one list of what is compiled in. Nothing registers itself by being imported: main asks for
// CompiledIn and hands the sets to the configuration and the broker. To build a weir with other plugins, change this file.
package plugins

import (
	"errors"

	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/plugin"
	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/plugins/auth/open"
	"github.com/weirmq/weir/plugins/filter/expr"
	"github.com/weirmq/weir/plugins/filter/sql92"
	"github.com/weirmq/weir/plugins/filter/tag"
	"github.com/weirmq/weir/plugins/filter/wasm"
	"github.com/weirmq/weir/plugins/transport/remoting"
)

// Sets are the compiled-in plugins of each kind. It converts to core/config's type of that name.
type Sets struct {
	Filters    plugin.Set[filter.Factory]
	Auth       plugin.Set[auth.Factory]
	Transports plugin.Set[transport.Factory]
}

// CompiledIn returns fresh sets of all plugins of this build. It fails only when two of a kind have one type.
func CompiledIn() (Sets, error) {
	filters, errFilters := plugin.NewSet[filter.Factory](
		tag.Factory{},
		sql92.Factory{Formulas: expr.Formulas{}, Modules: wasm.NewModules()},
		expr.Factory{},
		wasm.NewFactory(),
	)
	auths, errAuth := plugin.NewSet[auth.Factory](
		open.Factory{},
	)
	transports, errTransports := plugin.NewSet[transport.Factory](
		remoting.Factory{},
	)
	return Sets{Filters: filters, Auth: auths, Transports: transports}, errors.Join(errFilters, errAuth, errTransports)
}
