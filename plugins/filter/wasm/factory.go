package wasm

import (
	"fmt"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/plugin"
)

// Type is the plugin's name in broker.yaml.
const Type plugin.Type = "wasm"

// TypeWASM is the expression type that the plugin serves.
const TypeWASM = "WASM"

var (
	errPushPlace    = plugin.Invalid("push.enabled", "modules are pushed to the instance without a name and a path: filters.wasm")
	errPushedConfig = plugin.Invalid("config", "sha256 and config are for a declared module: give it a name (filters.wasm/NAME) and a path")
)

// Factory makes filters of WebAssembly modules. The modules of one factory share the right to run: see permits.
type Factory struct {
	permits *permits
	names   *names
}

var _ filter.Factory = (*Factory)(nil)

// NewFactory returns a factory.
func NewFactory() *Factory { return &Factory{permits: newPermits(), names: newNames()} }

// Type returns the name in broker.yaml.
func (*Factory) Type() plugin.Type { return Type }

// DefaultConfig returns a *Config.
func (*Factory) DefaultConfig() any { return defaultConfig() }

// Stability says that the ABI is settled and the plugin is young.
func (*Factory) Stability() plugin.Stability { return plugin.Beta }

// NewCompiler makes a compiler for one declared module or, for the instance without a name and a path, one for the modules
// that are pushed. It reads nothing yet.
func (f *Factory) NewCompiler(set plugin.Settings, cfg any) (filter.Compiler, error) {
	c, ok := cfg.(*Config)
	if !ok {
		return nil, fmt.Errorf("wasm filter: configuration of type %T", cfg)
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	m := maker{set, c, f.permits}
	if set.ID.Name != "" || c.Path != "" {
		if c.Push.Enabled {
			return nil, errPushPlace
		}
		return newCompiler(m, f.names), nil
	}
	if c.SHA256 != "" || len(c.Config) > 0 {
		return nil, errPushedConfig
	}
	return newStore(m, f.names), nil
}
