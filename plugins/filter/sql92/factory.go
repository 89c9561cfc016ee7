package sql92

import (
	"fmt"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/plugin"
)

// Type is the plugin's name in broker.yaml.
const Type plugin.Type = "sql92"

// Factory makes SQL92 filters.
type Factory struct{}

var _ filter.Factory = Factory{}

// Type returns the name in broker.yaml.
func (Factory) Type() plugin.Type { return Type }

// DefaultConfig returns a *Config.
func (Factory) DefaultConfig() any { return defaultConfig() }

// Stability says that the plugin is settled.
func (Factory) Stability() plugin.Stability { return plugin.Stable }

// NewCompiler makes a compiler from a *Config.
func (Factory) NewCompiler(set plugin.Settings, cfg any) (filter.Compiler, error) {
	c, ok := cfg.(*Config)
	if !ok {
		return nil, fmt.Errorf("make %s: configuration is a %T, not a *sql92.Config", set.ID, cfg)
	}
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("make %s: %w", set.ID, err)
	}
	compiler, err := newCompiler(*c, set.MeterProvider)
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", set.ID, err)
	}
	return compiler, nil
}
