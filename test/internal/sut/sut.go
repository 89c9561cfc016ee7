// Package sut starts the system under test: a weir broker, or, to judge the judges, the real Java broker of 4.9.7.
//
// Tests are written once against Broker. WEIR_SUT=java runs them against Java, where all of them must pass: a test
// that Java fails demands something of weir that RocketMQ does not do. WEIR_BIN names a weir binary to use, for which
// `go test` needs -count=1, as it doesn't see that another one lies there; without it one is built for each test binary.
//
// A broker keeps its ports and its data directory over Stop, Kill and Start, as a restarted server would.
package sut

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/weirmq/weir/test/internal/ports"
	"github.com/weirmq/weir/test/internal/proc"
	"github.com/weirmq/weir/test/internal/repo"
)

// Kind says whose broker it is.
type Kind string

// The kinds of broker.
const (
	Weir Kind = "weir"
	Java Kind = "java"
)

// Default is the kind that WEIR_SUT names, weir without it.
func Default() Kind {
	if kind := os.Getenv("WEIR_SUT"); kind != "" {
		return Kind(kind)
	}
	return Weir
}

// How long a start or a clean stop may take, on a machine that is busy with other tests.
const (
	startTime = 90 * time.Second
	stopTime  = 60 * time.Second
)

// Options of a broker. The zero value is the broker that a person gets by default, in a directory of the test's.
type Options struct {
	Kind    Kind   // Default() if empty
	Name    string // broker-a if empty
	Cluster string // DefaultCluster if empty

	Home    string // for logs and configuration; a temporary directory if empty
	DataDir string // the store's root; HOME/store if empty

	Flush        string // "sync" or "async"; async if empty
	SegmentSize  int    // bytes of a CommitLog file; 1 GiB if 0
	QueueEntries int    // entries of a ConsumeQueue file; 300,000 if 0

	NoAutoCreate bool // refuse sends to topics that nobody created

	// JavaProperties are lines of broker.conf which win over the ones that follow from the rest. weir has none of them.
	JavaProperties map[string]string

	// JavaFlags are more flags for the JVMs of Java's broker and its name server.
	JavaFlags []string

	// WeirSettings are variables of weir's environment without their prefix, QUEUES__VERDICTS__ENABLED for example. Java has
	// none of them.
	WeirSettings map[string]string
	// WeirConfig is weir's broker.yaml, empty for none. What the other options say wins over it.
	WeirConfig string

	// NameServer is the address of a name server to join. If empty the broker comes with its own: weir's is embedded,
	// Java's is a second process.
	NameServer string
}

// Broker is a broker, running or stopped, with the name server it brought.
type Broker struct {
	options Options
	port    int // the name server's is three below
	server  server
}

// server is what differs between the kinds.
type server interface {
	start(ctx context.Context) error
	process() *proc.Process // nil before start
	close()                 // ends what outlives a stop, like a name server
}

// Start starts a broker and stops it when the test ends.
func Start(t testing.TB, options Options) *Broker {
	t.Helper()
	b, err := newBroker(t, options)
	if err != nil {
		t.Fatalf("start broker: %v", err)
	}
	t.Cleanup(func() { b.cleanup(t) })
	b.Start(t)
	return b
}

func newBroker(t testing.TB, o Options) (*Broker, error) {
	if o.Kind == "" {
		o.Kind = Default()
	}
	if o.Name == "" {
		o.Name = "broker-a"
	}
	if o.Cluster == "" {
		o.Cluster = "DefaultCluster"
	}
	if o.Home == "" {
		o.Home = t.TempDir()
	}
	if o.DataDir == "" {
		o.DataDir = filepath.Join(o.Home, "store")
	}
	if o.Flush == "" {
		o.Flush = "async"
	}
	if err := os.MkdirAll(o.DataDir, 0o755); err != nil {
		return nil, err
	}
	port, err := ports.Free()
	if err != nil {
		return nil, err
	}
	b := &Broker{options: o, port: port}
	switch o.Kind {
	case Weir:
		b.server, err = newWeir(b)
	case Java:
		repo.NeedJava(t)
		b.server, err = newJava(b)
	default:
		err = fmt.Errorf("WEIR_SUT=%s: choose weir or java", o.Kind)
	}
	return b, err
}

func (b *Broker) cleanup(t testing.TB) {
	if p := b.server.process(); p != nil && p.Running() {
		b.Stop(t)
	}
	b.server.close()
	if t.Failed() {
		t.Logf("log of the broker %s ends:\n%s", b.options.Name, proc.Tail(b.Log()))
	}
}

// Start starts a stopped or killed broker again, on the same ports and directory, and returns once it serves.
func (b *Broker) Start(t testing.TB) {
	t.Helper()
	if err := b.TryStart(); err != nil {
		t.Fatalf("start broker: %v", err)
	}
}

// TryStart is Start for tests that expect a refusal.
func (b *Broker) TryStart() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	if err := b.server.start(ctx); err != nil {
		return err
	}
	return awaitPort(ctx, b.Addr())
}

// Stop ends the broker cleanly. Its name server, if it is a process of its own, goes on.
func (b *Broker) Stop(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	if err := b.server.process().Stop(ctx); err != nil {
		t.Errorf("stop broker: %v", err)
	}
}

// Kill ends the broker as kill -9 does.
func (b *Broker) Kill() { b.server.process().Kill() }

// KillWhileStarting starts a broker and kills it after a time, which should be shorter than a start takes. It tells
// whether the broker was ready before that.
func (b *Broker) KillWhileStarting(after time.Duration) (ready bool) {
	ctx, cancel := context.WithTimeout(context.Background(), after)
	defer cancel()
	if b.server.start(ctx) != nil {
		return false // it was killed on the way
	}
	b.Kill()
	return true
}

// Restart stops the broker cleanly and starts it again.
func (b *Broker) Restart(t testing.TB) {
	t.Helper()
	b.Stop(t)
	b.Start(t)
}

// Kind says whose broker it is.
func (b *Broker) Kind() Kind { return b.options.Kind }

// Name is the broker's name in routes.
func (b *Broker) Name() string { return b.options.Name }

// Cluster is the name of the broker's cluster.
func (b *Broker) Cluster() string { return b.options.Cluster }

// Addr is the address of the broker.
func (b *Broker) Addr() string { return ports.Addr(b.port) }

// FastAddr is the address of the fast port.
func (b *Broker) FastAddr() string { return ports.Addr(b.port - 2) }

// NameServer is the address of the name server that has the broker's routes.
func (b *Broker) NameServer() string {
	if b.options.NameServer != "" {
		return b.options.NameServer
	}
	return ports.Addr(b.port - 3)
}

// DataDir is the store's root directory.
func (b *Broker) DataDir() string { return b.options.DataDir }

// Home holds logs and configuration.
func (b *Broker) Home() string { return b.options.Home }

// Log is the file with what the broker printed.
func (b *Broker) Log() string { return filepath.Join(b.options.Home, "broker.out") }

// Pid is the process number of the running broker.
func (b *Broker) Pid() int { return b.server.process().Pid() }

// Process is the broker's process as last started.
func (b *Broker) Process() *proc.Process { return b.server.process() }

// awaitPort waits until somebody listens. A server may say that it is ready a moment before.
func awaitPort(ctx context.Context, addr string) error {
	var dialer net.Dialer
	for {
		conn, err := dialer.DialContext(ctx, "tcp", addr)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("await %s: %w: %w", addr, ctx.Err(), err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
