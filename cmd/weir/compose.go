package main

import (
	"context"
	"log/slog"

	"github.com/weirmq/weir/core/broker"
	"github.com/weirmq/weir/core/config"
	"github.com/weirmq/weir/plugins"
)

// parts lists what the configuration is made of: the compiled-in plugins, and the sections of their owners with defaults.
func parts() (config.Options, error) {
	sets, err := plugins.CompiledIn()
	return config.Options{Plugins: config.Sets(sets), Sections: broker.Sections()}, err
}

// server is what serve and nameserver run: a broker, or a name server of its own.
type server interface {
	// Start returns when clients are served.
	Start(ctx context.Context) error
	// Stop ends it within ctx.
	Stop(ctx context.Context) error
	// Done gets the fault after which it can't go on.
	Done() <-chan error
	// Addresses says what was bound and what clients are told. Valid after Start.
	Addresses() broker.Addresses
}

// newBroker puts a broker together.
func newBroker(cfg *config.Config, log *slog.Logger) (server, error) {
	sets, err := plugins.CompiledIn()
	if err != nil {
		return nil, err
	}
	return broker.New(broker.Options{Config: cfg, Plugins: config.Sets(sets), Logger: log})
}

// newNameServer puts a name server alone together.
func newNameServer(cfg *config.Config, log *slog.Logger) (server, error) {
	sets, err := plugins.CompiledIn()
	if err != nil {
		return nil, err
	}
	return broker.NewNameServer(broker.Options{Config: cfg, Plugins: config.Sets(sets), Logger: log})
}
