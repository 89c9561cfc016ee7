package open

import (
	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/core/plugin"
)

// Type is the plugin's name in broker.yaml.
const Type plugin.Type = "open"

// Factory makes open doors.
type Factory struct{}

var _ auth.Factory = Factory{}

// Type returns the name in broker.yaml.
func (Factory) Type() plugin.Type { return Type }

// DefaultConfig returns a *Config.
func (Factory) DefaultConfig() any { return &Config{} }

// Stability says that the plugin is settled.
func (Factory) Stability() plugin.Stability { return plugin.Stable }

// NewAuthenticator makes an authenticator.
func (Factory) NewAuthenticator(plugin.Settings, any) (auth.Authenticator, error) {
	return authenticator{}, nil
}
