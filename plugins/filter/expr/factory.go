package expr

import (
	"fmt"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/plugin"
)

// Type is the plugin's name in broker.yaml.
const Type plugin.Type = "expr"

// TypeExpr is the expression type that subscriptions name.
const TypeExpr = "EXPR"

// Factory makes EXPR filters.
type Factory struct{}

var _ filter.Factory = Factory{}

// Type returns the name in broker.yaml.
func (Factory) Type() plugin.Type { return Type }

// DefaultConfig returns a *Config.
func (Factory) DefaultConfig() any { c := defaultConfig(); return &c }

// Stability says that the language may still grow.
func (Factory) Stability() plugin.Stability { return plugin.Beta }

// NewCompiler makes a compiler from a *Config.
func (Factory) NewCompiler(_ plugin.Settings, cfg any) (filter.Compiler, error) {
	c, ok := cfg.(*Config)
	if !ok {
		return nil, fmt.Errorf("expr filter: configuration is a %T, want *expr.Config", cfg)
	}
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("expr filter: %w", err)
	}
	return &compiler{cfg: *c, shared: newShared()}, nil
}
