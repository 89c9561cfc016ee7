package loopback

import (
	"github.com/weirmq/weir/core/plugin"
	"github.com/weirmq/weir/core/transport"
)

// Factory makes loopback transports.
type Factory struct{}

var _ transport.Factory = Factory{}

// Config is empty: there is nothing to set.
type Config struct{}

// Type returns "loopback".
func (Factory) Type() plugin.Type { return "loopback" }

// DefaultConfig returns an empty *Config.
func (Factory) DefaultConfig() any { return &Config{} }

// Stability says that methods may still be added.
func (Factory) Stability() plugin.Stability { return plugin.Beta }

// NewTransport returns a *Transport.
func (Factory) NewTransport(_ plugin.Settings, _ any, h transport.Handlers) (transport.Transport, error) {
	return New(h), nil
}
