// Package remoting serves RocketMQ's remoting protocol over TCP: the protocol of all 4.x clients, of the classic 5.x
// clients, of mqadmin and of brokers that talk to a name server. It is a transport plugin: it owns listeners,
// connections and bytes, and leaves meaning to the roles it is handed (core/transport).
//
// # A connection
//
// One goroutine reads. It takes whatever the kernel has, decodes every whole frame, puts runs of sends into one batch and
// serves other frequent requests itself, in order. Requests that may take seconds run in a few goroutines of their own.
// Answers are encoded straight into the connection's output; the goroutine that makes the last one writes them all with
// one system call that never waits, and what the peer doesn't take at once is left to the writer goroutine.
//
//	socket ─▶ input ─▶ batch of sends ─▶ Sender ┐
//	             ├───▶ pull ───────────▶ Puller ├─▶ output ─▶ socket
//	             └───▶ other requests ─▶ roles  ┘
//
// Sending and pulling allocate nothing once the pools are warm. Records leave from where the store has them.
//
// # Bounds
//
// Everything that a peer can make grow is bounded by the configuration: connections, frames, unanswered sends and
// pulls, bytes it doesn't read. Memory for reading follows the bytes that arrived, plus 64 KiB. Whoever doesn't
// keep to the protocol is disconnected; whoever doesn't read isn't read from, and is disconnected after a while.
package remoting

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/plugin"
	"github.com/weirmq/weir/core/transport"
)

// endpoint is a running remoting server: listeners and the connections accepted by them.
type endpoint struct {
	set        plugin.Settings
	cfg        *Config
	h          transport.Handlers
	key        string // configuration key of the main listener, for error messages
	routes     map[int32]route
	report     *report
	tls        *tlsServer
	metrics    *metrics
	sendAnswer sendAnswer
	pools      pools
	now        atomic.Int64 // ms, moved by the sweep; good enough for time-outs
	cancel     context.CancelFunc
	ctx        context.Context // of the connections
	stopping   atomic.Bool
	wg         sync.WaitGroup // accept loops and the sweep
	served     sync.WaitGroup // connections

	mu        sync.Mutex // guards all below
	started   bool
	stopped   bool
	listeners []net.Listener
	conns     map[*conn]struct{}
}

// pools are the reusable structs of one endpoint.
type pools struct {
	chunks   *sync.Pool // *[]byte of inputStep
	batches  sync.Pool  // *batch
	ends     sync.Pool  // *ends
	pulls    sync.Pool  // *pull
	requests sync.Pool  // *request
}

func newEndpoint(set plugin.Settings, cfg *Config, h transport.Handlers, key string) (*endpoint, error) {
	m, err := newMetrics(set.MeterProvider, set.ID)
	if err != nil {
		return nil, err
	}
	e := &endpoint{
		set: set, cfg: cfg, h: h, key: key,
		routes:     newRoutes(&h),
		metrics:    m,
		sendAnswer: newSendAnswer(cfg),
		report:     &report{log: set.Logger, now: set.Clock.Now},
		conns:      map[*conn]struct{}{},
	}
	if e.tls, err = newTLSServer(&cfg.TLS, set.Clock, set.Logger); err != nil {
		return nil, err
	}
	e.pools.chunks = newChunkPool()
	e.pools.batches.New = func() any { return newBatch() }
	e.pools.ends.New = func() any { return newEnds() }
	e.pools.pulls.New = func() any { return &pull{} }
	e.pools.requests.New = func() any { return &request{} }
	e.now.Store(clock.Millis(set.Clock.Now()))
	e.ctx, e.cancel = context.WithCancel(context.Background())
	return e, nil
}

// Start listens and serves. It fails when an address can't be had, and then nothing is left listening.
func (e *endpoint) Start(ctx context.Context, _ plugin.Host) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stopped || e.started {
		return errors.New("start remoting: an endpoint is started once")
	}
	addresses := []struct{ key, addr string }{{e.key, e.cfg.Listen}}
	if fast := e.cfg.fastAddress(); fast != "" {
		addresses = append(addresses, struct{ key, addr string }{"transports.remoting.fast_listen", fast})
	}
	for _, a := range addresses {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", a.addr)
		if err != nil {
			for _, l := range e.listeners {
				_ = l.Close()
			}
			e.listeners = nil
			return explainListen(a.key, a.addr, err)
		}
		e.listeners = append(e.listeners, l)
	}
	e.started = true
	for _, l := range e.listeners {
		e.wg.Add(1)
		go e.accept(l)
	}
	e.wg.Add(1)
	go e.sweep()
	return nil
}

// Addr returns the address of the main listener once started; nil before.
func (e *endpoint) Addr() net.Addr {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.listeners) == 0 {
		return nil
	}
	return e.listeners[0].Addr()
}

// drainMax is how long Stop waits for answers that are under way and for peers to take them.
const drainMax = 5 * time.Second

// Stop stops listening and reading, lets answers that are under way out for a few seconds, and closes all connections,
// at the latest when ctx is done.
func (e *endpoint) Stop(ctx context.Context) error {
	e.mu.Lock()
	e.stopped = true
	e.stopping.Store(true)
	for _, l := range e.listeners {
		_ = l.Close()
	}
	for c := range e.conns {
		c.stopReading()
	}
	e.mu.Unlock()

	drain := e.set.Clock.NewTimer(drainMax)
	defer drain.Stop()
	select {
	case <-waited(&e.served):
	case <-drain.C():
	case <-ctx.Done():
	}
	e.cancel()
	e.closeAll("the broker is stopping")
	// Closed sockets and a cancelled context end all that is ours at once. What is left then is a role that doesn't return.
	done := waited(&e.served, &e.wg)
	grace := e.set.Clock.NewTimer(100 * time.Millisecond)
	defer grace.Stop()
	select {
	case <-done:
		return nil
	case <-grace.C():
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop remoting: requests are still being served: %w", ctx.Err())
	}
}

// waited returns a channel that is closed when all the groups are done.
func waited(groups ...*sync.WaitGroup) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, g := range groups {
			g.Wait()
		}
	}()
	return done
}

func (e *endpoint) closeAll(reason string) {
	e.mu.Lock()
	list := make([]*conn, 0, len(e.conns))
	for c := range e.conns {
		list = append(list, c)
	}
	e.mu.Unlock()
	for _, c := range list {
		c.shut(errors.New(reason))
	}
}

// accept takes connections from one listener until it is closed.
func (e *endpoint) accept(l net.Listener) {
	defer e.wg.Done()
	const waitMin, waitMax = 5 * time.Millisecond, time.Second
	wait := waitMin
	for {
		nc, err := l.Accept()
		switch {
		case err == nil:
			wait = waitMin
			e.serve(nc)
		case e.stopping.Load() || errors.Is(err, net.ErrClosed):
			return
		default: // out of file descriptors, most likely
			e.report.peer(slog.LevelWarn, "accept connection failed", "error", err)
			t := e.set.Clock.NewTimer(wait)
			select {
			case <-t.C():
			case <-e.ctx.Done():
				t.Stop()
				return
			}
			wait = min(2*wait, waitMax)
		}
	}
}

// serve starts a connection, or closes it when there are too many.
func (e *endpoint) serve(nc net.Conn) {
	e.mu.Lock()
	if e.stopped || len(e.conns) >= e.cfg.MaxConnections {
		full := !e.stopped
		e.mu.Unlock()
		_ = nc.Close()
		if full {
			e.metrics.refusedConns.Add(1)
			e.report.peer(slog.LevelWarn, "connection refused: max_connections is reached",
				"remote", nc.RemoteAddr().String(), "max_connections", e.cfg.MaxConnections)
		}
		return
	}
	c := newConn(e, nc)
	e.conns[c] = struct{}{}
	e.served.Add(1)
	e.mu.Unlock()
	e.metrics.opened()
	go c.run()
}

// forget takes a connection that has ended out of the table.
func (e *endpoint) forget(c *conn) {
	e.mu.Lock()
	delete(e.conns, c)
	e.mu.Unlock()
	e.metrics.connections.Add(-1)
}
