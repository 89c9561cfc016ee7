package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/weirmq/weir/core/config"
)

// parts lists what the configuration is made of: the compiled-in plugins, and the sections of their owners with defaults.
func parts() (config.Options, error) {
	return config.Options{}, nil
}

// server is what serve and nameserver run: core/broker or a name server of its own.
type server interface {
	// Start returns when clients are served.
	Start(ctx context.Context) error
	// Stop ends it within ctx.
	Stop(ctx context.Context) error
	// Done gets the fault after which it can't go on.
	Done() <-chan error
	// Addresses says what was bound and what clients are told. Valid after Start.
	Addresses() addresses
}

// addresses is where a server can be reached.
type addresses struct {
	Listen     string // main listener of the broker, empty for a name server alone
	Advertised string // what clients are told
	Why        string // why this address was chosen
	NameServer string // what to give to clients, empty when there is none
}

// newBroker puts a broker together.
func newBroker(*config.Config, *slog.Logger) (server, error) {
	return nil, errors.New("the broker is not a part of this build yet")
}

// newNameServer puts a name server alone together.
func newNameServer(*config.Config, *slog.Logger) (server, error) {
	return nil, errors.New("the name server is not a part of this build yet")
}
