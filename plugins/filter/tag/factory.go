package tag

import (
	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/plugin"
)

// Type is the plugin's name in broker.yaml.
const Type plugin.Type = "tag"

// Factory makes tag filters.
type Factory struct{}

var _ filter.Factory = Factory{}

// Type returns the name in broker.yaml.
func (Factory) Type() plugin.Type { return Type }

// DefaultConfig returns a *Config.
func (Factory) DefaultConfig() any { return &Config{} }

// Stability says that the plugin is settled.
func (Factory) Stability() plugin.Stability { return plugin.Stable }

// NewCompiler makes a compiler.
func (Factory) NewCompiler(plugin.Settings, any) (filter.Compiler, error) { return compiler{}, nil }
