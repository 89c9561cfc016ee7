package sql92

import (
	"fmt"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/plugin"
)

// Type is the plugin's name in broker.yaml.
const Type plugin.Type = "sql92"

// Factory makes SQL92 filters.
type Factory struct {
	// Formulas and Modules are what the engines expr and wasm run on. Nil means that there is no such engine.
	Formulas filter.FormulaEngine
	Modules  filter.ModuleEngine
}

var _ filter.Factory = Factory{}

// Type returns the name in broker.yaml.
func (Factory) Type() plugin.Type { return Type }

// DefaultConfig returns a *Config.
func (Factory) DefaultConfig() any { return defaultConfig() }

// Stability says that the plugin is settled.
func (Factory) Stability() plugin.Stability { return plugin.Stable }

// NewCompiler makes a compiler from a *Config.
func (f Factory) NewCompiler(set plugin.Settings, cfg any) (filter.Compiler, error) {
	c, ok := cfg.(*Config)
	if !ok {
		return nil, fmt.Errorf("make %s: configuration is a %T, not a *sql92.Config", set.ID, cfg)
	}
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("make %s: %w", set.ID, err)
	}
	if c.Engine == engineExpr && f.Formulas == nil || c.Engine == engineWASM && f.Modules == nil {
		return nil, fmt.Errorf("make %s: engine: this build has no %s; want auto, vector or closure", set.ID, c.Engine)
	}
	compiler, err := newCompiler(*c, f, set.MeterProvider)
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", set.ID, err)
	}
	return compiler, nil
}
