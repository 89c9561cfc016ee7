package remoting

import (
	"fmt"

	"github.com/weirmq/weir/core/plugin"
	"github.com/weirmq/weir/core/transport"
)

// Type is the plugin's name in broker.yaml.
const Type plugin.Type = "remoting"

// Factory makes the broker's endpoint, a name server's endpoint, and clients of other name servers.
type Factory struct{}

var (
	_ transport.Factory           = Factory{}
	_ transport.NameServerFactory = Factory{}
	_ transport.Advertiser        = (*Config)(nil)
)

// Type returns "remoting".
func (Factory) Type() plugin.Type { return Type }

// DefaultConfig returns a *Config with all defaults.
func (Factory) DefaultConfig() any { return defaultConfig() }

// Stability says that the plugin is settled: the protocol was fixed by others long ago.
func (Factory) Stability() plugin.Stability { return plugin.Stable }

// NewTransport makes the broker's endpoint from a *Config.
func (Factory) NewTransport(set plugin.Settings, cfg any, h transport.Handlers) (transport.Transport, error) {
	c, ok := cfg.(*Config)
	if !ok {
		return nil, fmt.Errorf("make remoting transport: configuration is a %T, want *remoting.Config", cfg)
	}
	return newEndpoint(set, c, h, "transports."+set.ID.String()+".listen")
}

// NewNameServer makes a name server's endpoint. It has one listener, TLS as the broker's endpoint beside it, and otherwise the default limits.
func (Factory) NewNameServer(set plugin.Settings, listen string, beside any, h transport.Handlers) (transport.Transport, error) {
	cfg := defaultConfig()
	cfg.Listen, cfg.FastListen = listen, fastOff
	if b, ok := beside.(*Config); ok {
		cfg.TLS = b.TLS
	}
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("make name server endpoint: %w", err)
	}
	return newEndpoint(set, cfg, h, "nameserver.listen")
}
