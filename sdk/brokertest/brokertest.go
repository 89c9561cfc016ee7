// Package brokertest runs a real broker inside a Go test: the store on the disk, the name server and RocketMQ's remoting
// protocol over TCP, as `weir serve` runs them, without a process, a fixed port or a directory of their own.
//
//	func TestOrders(t *testing.T) {
//		b := brokertest.Start(t)
//		shop := NewShop(b.NameServer()) // your program, with any RocketMQ client
//		...
//		b.Restart() // what does your program do when its broker goes away for a moment?
//	}
//
// A broker costs a few milliseconds and a few megabytes. It listens on the loopback address, on ports that the system
// chooses, keeps its data in t.TempDir(), and is stopped when the test ends. Brokers of tests that run in parallel know
// nothing of each other. What fails in the broker itself fails the test.
//
// The settings are the broker's defaults but for those that would make a test depend on the machine: the limits of how
// full a disk may be are off, and files of the commit log are small. [Set] changes any key of broker.yaml.
package brokertest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/weirmq/weir/core/broker"
	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/config"
	"github.com/weirmq/weir/plugins"
)

// stopTimeout bounds a stop: closing connections, flushing.
const stopTimeout = 30 * time.Second

// Broker is a broker that runs in a test. Its methods fail the test instead of returning errors, and must therefore be
// called on the goroutine of the test.
type Broker struct {
	t       testing.TB
	dir     string
	options options

	running    *broker.Broker // nil while it is stopped
	nameServer string         // known after the first start, as listen
	listen     string
}

// options are what Options change.
type options struct {
	dir    string
	set    []config.Flag
	logger *slog.Logger
	clock  clock.Clock
	sets   *config.Sets
}

// Option changes how a broker is started.
type Option func(*options)

// Set sets a key of broker.yaml, such as "topics.auto_create" to "false". Keys of a section are joined by dots, elements
// of a list by commas. A later Set of one key wins.
func Set(key, value string) Option {
	return func(o *options) {
		o.set = append(o.set, config.Flag{Name: "brokertest.Set", Path: key, Value: value})
	}
}

// DataDir makes the broker use a directory of the caller's: an existing store, or one that is to be looked at after the
// test. It is not removed.
func DataDir(dir string) Option { return func(o *options) { o.dir = dir } }

// Logger gets what the broker logs. Without it nothing is.
func Logger(l *slog.Logger) Option { return func(o *options) { o.logger = l } }

// Clock makes the broker live by a clock of the test's. Time-outs of connections run on it, too.
func Clock(c clock.Clock) Option { return func(o *options) { o.clock = c } }

// Plugins makes the broker run with these plugins instead of all that are compiled in.
func Plugins(s config.Sets) Option { return func(o *options) { o.sets = &s } }

// Start starts a broker and returns when it serves clients. The test's end stops it. When it can't be started the test
// fails at once.
func Start(t testing.TB, opts ...Option) *Broker {
	t.Helper()
	b := &Broker{t: t, options: options{
		logger: slog.New(slog.DiscardHandler),
		set: []config.Flag{
			// A test should not fail because the machine's disk is full to nine tenths.
			{Path: "store.disk_max_used", Value: "1"}, {Path: "store.disk_clean", Value: "1"}, {Path: "store.disk_refuse", Value: "1"},
			{Path: "store.segment_size", Value: "16MiB"},
		},
	}, nameServer: "127.0.0.1:0", listen: "127.0.0.1:0"}
	for _, o := range opts {
		o(&b.options)
	}
	if b.dir = b.options.dir; b.dir == "" {
		b.dir = t.TempDir()
	}
	t.Cleanup(func() {
		if err := b.stop(); err != nil {
			t.Errorf("stop the broker of this test: %v", err)
		}
	})
	b.start()
	return b
}

// NameServer returns the name server's address as host:port: what a RocketMQ client is configured with. It stays the
// same over restarts.
func (b *Broker) NameServer() string { return b.nameServer }

// Addr returns the broker's own address as host:port, which clients learn from the name server. It stays the same over
// restarts.
func (b *Broker) Addr() string { return b.listen }

// DataDir returns the directory of the store.
func (b *Broker) DataDir() string { return b.dir }

// Stop stops the broker cleanly: connections are closed, everything is flushed. It does nothing when the broker is
// stopped.
func (b *Broker) Stop() {
	b.t.Helper()
	if err := b.stop(); err != nil {
		b.t.Fatalf("stop the broker of this test: %v", err)
	}
}

// Restart stops the broker cleanly and starts it again on the same directory and addresses. After Stop it only starts it.
func (b *Broker) Restart() {
	b.t.Helper()
	b.Stop()
	b.start()
}

func (b *Broker) start() {
	b.t.Helper()
	running, err := b.build()
	if err == nil {
		err = running.Start(b.t.Context())
	}
	if err != nil {
		b.t.Fatalf("start a broker for this test: %v", err)
	}
	b.running = running
	a := running.Addresses()
	b.nameServer, b.listen = a.NameServer, a.Listen
}

// build puts the broker together as cmd/weir does.
func (b *Broker) build() (*broker.Broker, error) {
	sets, err := b.plugins()
	if err != nil {
		return nil, err
	}
	flags := append([]config.Flag{
		{Path: "data_dir", Value: b.dir},
		{Path: "transports.remoting.listen", Value: b.listen},
		{Path: "transports.remoting.fast_listen", Value: "off"},
		{Path: "nameserver.listen", Value: b.nameServer},
	}, b.options.set...)
	for i := range flags {
		flags[i].Name = "brokertest " + flags[i].Path
	}
	cfg, err := config.Load(config.Options{Plugins: sets, Sections: broker.Sections(), Flags: flags})
	if err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	return broker.New(broker.Options{Config: cfg, Plugins: sets, Logger: b.options.logger, Clock: b.options.clock})
}

func (b *Broker) plugins() (config.Sets, error) {
	if b.options.sets != nil {
		return *b.options.sets, nil
	}
	sets, err := plugins.CompiledIn()
	return config.Sets(sets), err
}

// stop stops the broker, if it runs, and says what was wrong with it.
func (b *Broker) stop() error {
	if b.running == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	err := b.running.Stop(ctx)
	select {
	case fault := <-b.running.Done():
		err = errors.Join(fmt.Errorf("the broker failed: %w", fault), err)
	default:
	}
	b.running = nil
	return err
}
