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

// Factory makes filters of WebAssembly modules. The modules of one factory share the right to run: see permitsFor.
type Factory struct {
	permits chan struct{}
}

var _ filter.Factory = (*Factory)(nil)

// NewFactory returns a factory.
func NewFactory() *Factory { return &Factory{permits: permits()} }

// Type returns the name in broker.yaml.
func (*Factory) Type() plugin.Type { return Type }

// DefaultConfig returns a *Config.
func (*Factory) DefaultConfig() any { return defaultConfig() }

// Stability says that the ABI is settled and the plugin is young.
func (*Factory) Stability() plugin.Stability { return plugin.Beta }

// NewCompiler makes a compiler for one module. It reads nothing yet.
func (f *Factory) NewCompiler(set plugin.Settings, cfg any) (filter.Compiler, error) {
	c, ok := cfg.(*Config)
	if !ok {
		return nil, fmt.Errorf("wasm filter: configuration of type %T", cfg)
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return newCompiler(set, c, f.permits), nil
}
