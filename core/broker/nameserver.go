package broker

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/weirmq/weir/core/config"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/naming"
	"github.com/weirmq/weir/core/plugin"
	"github.com/weirmq/weir/core/transport"
)

// newNameServer makes a name server and the listener that it is reached by.
func (b *Broker) newNameServer(g *gate) (*naming.Server, transport.Transport, error) {
	cfg := b.opts.Config
	names, err := naming.New(naming.Settings{
		FS: b.opts.FS, KVFile: filepath.Join(cfg.DataDir, "weir", "kvConfig.json"), Clock: b.opts.Clock, Logger: b.log,
	}, cfg.NameServer.Naming, g)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range b.opts.Plugins.Transports.All() {
		nf, ok := f.(transport.NameServerFactory)
		if !ok {
			continue
		}
		t, err := nf.NewNameServer(b.pluginSettings(plugin.KindTransport, plugin.ID{Type: f.Type(), Name: "nameserver"}), cfg.NameServer.Listen, beside(cfg, f.Type()),
			transport.Handlers{Router: names, Registry: names, KV: names, Sessions: names})
		return names, t, err
	}
	return nil, nil, errors.New("nameserver.enabled: no transport of this build serves name servers")
}

// beside returns the configuration of the broker's transport of a type; nil when none is configured.
func beside(cfg *config.Config, t plugin.Type) any {
	for _, in := range cfg.Transports {
		if in.ID.Type == t {
			return in.Config
		}
	}
	return nil
}

// lockNames keeps two name servers, alone or within brokers, from writing the KV table of one directory.
func (b *Broker) lockNames() error {
	dir := filepath.Join(b.opts.Config.DataDir, "weir")
	if err := vfs.MkdirAllSync(b.opts.FS, dir); err != nil {
		return fmt.Errorf("start name server: %w", err)
	}
	lock, err := b.opts.FS.Lock(filepath.Join(dir, "nameserver.lock"))
	if err != nil {
		return fmt.Errorf("start name server: %w", err)
	}
	b.onStop("name server's lock", func(context.Context) error { return lock.Close() })
	return nil
}

// NameServer is a name server alone, without a broker.
type NameServer struct{ broker *Broker }

// NewNameServer makes a name server from the sections data_dir, nameserver and auth of a configuration. It touches
// nothing outside until Start.
func NewNameServer(o Options) (*NameServer, error) {
	cfg := *o.Config // the caller's stays as it is
	cfg.NameServer.Enabled = true
	o.Config = &cfg
	b, err := newBroker(o)
	return &NameServer{b}, err
}

// Start starts it. When it fails, what it had started is stopped.
func (n *NameServer) Start(ctx context.Context) error {
	return n.broker.starting(ctx, func() error {
		g, err := n.broker.startAuth(ctx)
		if err != nil {
			return err
		}
		_, err = n.broker.startNaming(ctx, g)
		return err
	})
}

// Stop ends it. It works without Start, and twice.
func (n *NameServer) Stop(ctx context.Context) error { return n.broker.Stop(ctx) }

// Done delivers the fault after which it can't go on.
func (n *NameServer) Done() <-chan error { return n.broker.Done() }

// Addresses says where it is reached.
func (n *NameServer) Addresses() Addresses { return n.broker.Addresses() }
