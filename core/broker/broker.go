// Package broker puts a broker together: from a configuration and sets of plugin factories it builds the store, the
// tables, what consumers see, the name server and the plugins, starts them in order and stops them in reverse. It also
// implements the roles of core/transport, and so is the one place where every request is authenticated and authorised.
//
// Each role is a file here (send.go, pull.go, offsets.go, …) that passes the gate and calls the package that does the
// work. What a send needs before it is stored, permissions, topic, queue, properties and limits, is in send.go itself.
package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"
	"time"

	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/config"
	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/naming"
	"github.com/weirmq/weir/core/plugin"
	"github.com/weirmq/weir/core/queue"
	"github.com/weirmq/weir/core/schedule"
	"github.com/weirmq/weir/core/store"
	"github.com/weirmq/weir/core/telemetry"
	"github.com/weirmq/weir/core/topic"
	"github.com/weirmq/weir/core/transport"
)

// Options is what a broker is made of. Config comes from a config.Load with Plugins and with Sections().
type Options struct {
	Config  *config.Config
	Plugins config.Sets
	Logger  *slog.Logger
	// Clock is the real one when nil.
	Clock clock.Clock
	// FS is the disk that holds the data directory, the real one when nil. Tests of core hand in one that fails.
	FS vfs.FS
}

// Broker is one broker, with a name server inside when its configuration says so.
type Broker struct {
	opts     Options
	sections sections
	log      *slog.Logger
	done     chan error

	started bool
	// stops undoes what was started, last first.
	stops []stop

	telemetry     *telemetry.Telemetry
	modules       *modules
	handler       *handler
	transports    []transport.Transport
	nameServer    transport.Transport
	advertisement advertisement
	announced     netip.AddrPort // the listener that the advertised address comes from
	advertised    Advertised
}

// stop ends one part.
type stop struct {
	name string
	do   func(context.Context) error
}

// Addresses is where a running broker is reached. All are host:port; those that don't exist are empty.
type Addresses struct {
	Listen     string // main listener of the first transport that has one on a network
	NameServer string // listener of the embedded name server
	Advertised Advertised
	Metrics    string // where Prometheus fetches
}

// New makes a broker. It touches nothing outside until Start.
func New(o Options) (*Broker, error) {
	if len(o.Config.Transports) == 0 {
		return nil, errors.New("service.transports is empty: a broker without a transport can't be reached")
	}
	return newBroker(o)
}

func newBroker(o Options) (*Broker, error) {
	if o.Clock == nil {
		o.Clock = clock.Real()
	}
	if o.FS == nil {
		o.FS = vfs.OS{}
	}
	return &Broker{opts: o, sections: sectionsOf(o.Config), log: o.Logger, done: make(chan error, 1)}, nil
}

// Done delivers the fault after which the broker can't go on; the caller stops it and exits non-zero.
func (b *Broker) Done() <-chan error { return b.done }

// Fatal implements plugin.Host.
func (b *Broker) Fatal(id plugin.ID, err error) { b.fail(fmt.Errorf("plugin %s: %w", id, err)) }

func (b *Broker) fail(err error) {
	select {
	case b.done <- err:
	default: // the first fault is the one to report
	}
}

// Addresses says where the broker is reached. It is complete after Start.
func (b *Broker) Addresses() Addresses {
	a := Addresses{Advertised: b.advertised}
	if b.announced.IsValid() {
		a.Listen = b.announced.String()
	}
	if b.nameServer != nil {
		a.NameServer = b.nameServer.Addr().String()
	}
	if b.telemetry != nil && b.telemetry.Addr() != nil {
		a.Metrics = b.telemetry.Addr().String()
	}
	return a
}

// Start opens the store, recovers it if need be, and starts everything. When it fails, what it had started is stopped. A
// broker is started once.
func (b *Broker) Start(ctx context.Context) error {
	return b.starting(ctx, func() error { return b.startAll(ctx) })
}

// starting undoes a start that fails.
func (b *Broker) starting(ctx context.Context, start func() error) error {
	if b.started {
		return errors.New("start broker: it was started before; make another one")
	}
	b.started = true
	err := start()
	if err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	return errors.Join(err, b.Stop(ctx))
}

// undoTimeout bounds the undoing of a start that has failed.
const undoTimeout = 30 * time.Second

func (b *Broker) startAll(ctx context.Context) (err error) {
	if err := b.prepareTelemetry(ctx); err != nil {
		return err
	}
	if b.advertisement, err = readAdvertise(ctx, b.opts.Config.Broker.Advertise); err != nil {
		return err
	}
	gate, err := b.startAuth(ctx)
	if err != nil {
		return err
	}
	compilers, err := b.startFilters(ctx)
	if err != nil {
		return err
	}
	if err := b.startCore(ctx, gate, compilers); err != nil {
		return err
	}
	names, err := b.startNaming(ctx, gate)
	if err != nil {
		return err
	}
	if names != nil {
		b.handler.settings.addNameServer(b.nameServer.Addr().String())
	}
	if err := b.prepareRegistration(names); err != nil {
		return err
	}
	if err := b.startTelemetry(ctx); err != nil {
		return err
	}
	if err := b.startTransports(ctx); err != nil {
		return err
	}
	// Answered first of all, so that transports which drain don't wait for messages that nobody can send any more.
	b.onStop("held pulls", b.handler.pulls.Stop)
	r := b.handler.registration
	b.onStop("registration", func(ctx context.Context) error { r.stop(ctx); return nil })
	return r.start(b.identity())
}

// Stop ends everything in reverse order: clients first, the store last but for the plugins it may need. It works without
// Start, and twice.
func (b *Broker) Stop(ctx context.Context) error {
	if b.handler != nil {
		b.handler.giveUpHost()
	}
	var errs []error
	for i := len(b.stops) - 1; i >= 0; i-- {
		if err := b.stops[i].do(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", b.stops[i].name, err))
		}
	}
	b.stops = nil
	return errors.Join(errs...)
}

func (b *Broker) onStop(name string, do func(context.Context) error) {
	b.stops = append(b.stops, stop{name, do})
}

// startComponent starts a plugin and sees to it that it is stopped.
func (b *Broker) startComponent(ctx context.Context, name string, c plugin.Component) error {
	b.onStop(name, c.Stop)
	if err := c.Start(ctx, b); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	return nil
}

func (b *Broker) pluginSettings(kind plugin.Kind, id plugin.ID) plugin.Settings {
	return plugin.Settings{
		ID: id, Logger: b.log.With("plugin", string(kind)+"/"+id.String()), Clock: b.opts.Clock,
		MeterProvider: b.telemetry.MeterProvider(), TracerProvider: tracenoop.NewTracerProvider(),
		DataDir: filepath.Join(b.opts.Config.DataDir, "weir", string(kind), id.String()),
	}
}

func (b *Broker) startAuth(ctx context.Context) (*gate, error) {
	in := b.opts.Config.Auth
	f, ok := b.opts.Plugins.Auth.Find(in.ID.Type)
	if !ok {
		return nil, fmt.Errorf("service.auth: there is no auth plugin %q", in.ID)
	}
	a, err := f.NewAuthenticator(b.pluginSettings(plugin.KindAuth, in.ID), in.Config)
	if err != nil {
		return nil, fmt.Errorf("make auth %s: %w", in.ID, err)
	}
	return &gate{auth: a}, b.startComponent(ctx, "auth "+in.ID.String(), a)
}

func (b *Broker) startFilters(ctx context.Context) (queue.CompilerMap, error) {
	compilers := queue.CompilerMap{}
	served := map[string]plugin.ID{}
	shared := map[string]sharedCompilers{}
	calls := &functions{}
	b.modules = &modules{}
	for _, in := range b.opts.Config.Filters {
		f, ok := b.opts.Plugins.Filters.Find(in.ID.Type)
		if !ok {
			return nil, fmt.Errorf("service.filters: there is no filter plugin %q", in.ID)
		}
		c, err := f.NewCompiler(b.pluginSettings(plugin.KindFilter, in.ID), in.Config)
		if err != nil {
			return nil, fmt.Errorf("make filter %s: %w", in.ID, err)
		}
		calls.join(c)
		b.modules.join(c)
		for _, t := range c.ExpressionTypes() {
			other, taken := served[t]
			if sharer, ok := c.(filter.Sharer); ok && (!taken || shared[t] != nil) {
				shared[t] = append(shared[t], sharedCompiler{c, sharer})
				served[t], compilers[t] = in.ID, shared[t]
				continue
			}
			if taken {
				return nil, fmt.Errorf("service.filters: %s and %s both serve expressions of type %s; keep one", other, in.ID, t)
			}
			served[t], compilers[t] = in.ID, c
		}
		if err := b.startComponent(ctx, "filter "+in.ID.String(), c); err != nil {
			return nil, err
		}
	}
	if _, ok := compilers[filter.TypeTag]; !ok {
		return nil, errors.New("service.filters: no filter serves TAG expressions, which every RocketMQ consumer uses; add tag")
	}
	return compilers, nil
}

// startCore opens the store and builds what works on it. The store's directory is locked before anything in it is read.
func (b *Broker) startCore(ctx context.Context, g *gate, compilers queue.CompilerMap) error {
	cfg, sec := b.opts.Config, &b.sections
	h := &handler{
		gate: g, clock: b.opts.Clock, log: b.log, identity: identity{cfg.Broker.Cluster, cfg.Broker.Name},
		maxMessageSize: int(sec.Store.MaxMessageSize), started: b.opts.Clock.Now(), hostDone: make(chan struct{}),
		clusterProperty: message.AppendProperty(nil, message.PropCluster, cfg.Broker.Cluster),
		forgetRoute:     func(string) {}, transactionsEnabled: sec.Transactions.Enabled,
	}
	levels, err := schedule.ParseLevels(sec.Schedule.Levels) // before the store is opened: its recovery makes queue entries, too
	if err != nil {
		return fmt.Errorf("schedule.levels: %w", err)
	}
	st, err := store.Open(ctx, store.Options{
		FS: b.opts.FS, Dir: cfg.DataDir, Config: sec.Store, Logger: b.log, Clock: b.opts.Clock,
		DelayLevels: levels,
		OnArrival:   func(a []message.Arrival) { h.arrived(a) },
		Bitmaps:     func(a []message.Arrival) { h.pulls.Bitmaps(a) },
		Keep:        func(to message.Position) message.Position { return h.timers.Keep(to) },
		OnFatal:     b.fail,
	})
	if err != nil {
		return err
	}
	b.onStop("verdicts", func(context.Context) error { h.closeVerdicts(); return nil }) // after the store, which may still dispatch
	b.onStop("store", st.Close)
	h.store = st
	if h.verdicts, err = b.openVerdicts(st); err != nil {
		return err
	}
	if err := b.openTables(h); err != nil {
		return err
	}
	if err := b.buildQueues(ctx, h, compilers); err != nil {
		return err
	}
	b.buildProgress(h)
	if err := b.newDelays(h); err != nil {
		return err
	}
	b.newTimers(h)
	b.newTransactions(h)
	h.modules = b.modules
	h.modules.watch(func() { h.pulls.Renew(context.Background()) })
	if err := h.offsets.Load(); err != nil {
		return err
	}
	if err := h.filters.Load(ctx); err != nil {
		return err
	}
	if err := st.Start(ctx); err != nil {
		return err
	}
	h.filters.Start()
	b.onStop("filters", h.filters.Stop)
	h.offsets.Start()
	b.onStop("offsets", h.offsets.Stop)
	h.clients.Start()
	b.onStop("clients", h.clients.Stop)
	h.pulls.Start()
	b.onStop("pulls", h.pulls.Stop)
	b.onStop("delayed messages", h.delays.Stop)
	if err := h.delays.Start(); err != nil {
		return err
	}
	b.onStop("timed messages", h.timers.Stop)
	if err := h.timers.Start(); err != nil {
		return err
	}
	b.onStop("transactions", h.transactions.Stop)
	if err := h.transactions.Start(); err != nil {
		return err
	}
	b.handler = h
	return nil
}

func (b *Broker) openTables(h *handler) (err error) {
	cfg := b.opts.Config
	set := topic.Settings{
		FS: b.opts.FS, Dir: filepath.Join(cfg.DataDir, "config"), Cluster: cfg.Broker.Cluster, Broker: cfg.Broker.Name,
		Clock: b.opts.Clock, Logger: b.log,
	}
	if h.topics, err = topic.OpenTopics(set, b.sections.Topics); err != nil {
		return err
	}
	h.groups, err = topic.OpenGroups(set, b.sections.Groups)
	return err
}

func (b *Broker) buildQueues(ctx context.Context, h *handler, compilers queue.CompilerMap) error {
	cfg, qc := b.opts.Config, b.sections.Queues
	h.settings = newSettings(b.opts.Config, &b.sections, compilers, b.opts.Clock.Now())
	h.programs = queue.NewPrograms(compilers, qc, b.log)
	b.onStop("programs", func(context.Context) error { h.programs.Close(); return nil })
	bindings, err := queue.NewBindings(ctx, qc, h.programs, b.log)
	if err != nil {
		return err
	}
	b.onStop("bindings", func(context.Context) error { bindings.Close(); return nil })
	h.bindings = bindings
	h.locks = queue.NewLocks(qc, b.opts.Clock)
	h.counters = queue.NewCounters(qc, b.opts.Clock)
	h.counters.Start()
	b.onStop("counters", h.counters.Stop)
	h.offsets = queue.NewOffsets(queue.OffsetSettings{
		Config: qc, Clock: b.opts.Clock, Logger: b.log, FS: b.opts.FS, Log: h.store,
		Path: filepath.Join(cfg.DataDir, "config", "consumerOffset.json"), Recreated: h.store.TopicDeleted,
	})
	h.filters = queue.NewFilters(queue.FilterSettings{
		Config: qc, Clock: b.opts.Clock, Logger: b.log, FS: b.opts.FS, Programs: h.programs,
		Path: filepath.Join(cfg.DataDir, "config", "consumerFilter.json"), OwnPath: filepath.Join(cfg.DataDir, "weir", "filters.json"),
		End: h.store.End, Bitmaps: b.sections.Store.ConsumeQueueExt, Newest: h.store.LastStoreTime(), Unclean: h.store.Unclean(),
	})
	h.clients = queue.NewClients(queue.ClientSettings{
		Config: qc, Clock: b.opts.Clock, Logger: b.log, Programs: h.programs, Filters: h.filters, Groups: onDemand{h.groups},
		EnsureRetryTopic: func(group string, c transport.GroupConfig, unit bool) error {
			if len(message.RetryTopic(group)) > message.MaxTopicLength {
				return nil // a name so long can be a group, but have no retry topic, in RocketMQ as well
			}
			_, err := h.topics.EnsureRetry(group, c.RetryQueues, unit)
			return err
		},
		Left: h.locks.Leave, RefuseConflicts: b.sections.Groups.OnConflict == topic.RefuseOnConflict,
	})
	h.pulls = queue.NewPulls(queue.PullSettings{
		Config: qc, Clock: b.opts.Clock, Logger: b.log, Log: h.store, Topics: h.topics, Groups: onDemand{h.groups},
		Clients: h.clients, Programs: h.programs, Filters: h.filters, Offsets: h.offsets, Counters: h.counters,
		Verdicts: h.verdicts, Bindings: bindings,
		Perm: h.settings.perm, Cluster: cfg.Broker.Cluster, Recreated: h.store.TopicDeleted,
	})
	return nil
}

func (b *Broker) buildProgress(h *handler) {
	h.progress = queue.NewProgress(queue.ProgressSettings{
		Clock: b.opts.Clock, Log: h.store, Topics: h.topics, Offsets: h.offsets, Clients: h.clients, Filters: h.filters, Counters: h.counters,
		Broker: b.opts.Config.Broker.Name,
	})
}

// onDemand makes groups that may come into being by being used.
type onDemand struct{ groups *topic.Groups }

// Group implements queue.GroupTable. A group that can't be saved, because the disk is full, consumes all the same: it has
// the settings that it would have had.
func (o onDemand) Group(name string) (transport.GroupConfig, bool) {
	g, err := o.groups.Ensure(name)
	if err == nil {
		return *g, true
	}
	if c, _ := code(err); c == message.ServiceNotAvailable {
		return topic.DefaultGroup(name), true
	}
	return transport.GroupConfig{}, false
}

// startNaming starts the embedded name server; it returns nil when there is none.
func (b *Broker) startNaming(ctx context.Context, g *gate) (*naming.Server, error) {
	if !b.opts.Config.NameServer.Enabled {
		return nil, nil
	}
	if err := b.lockNames(); err != nil {
		return nil, err
	}
	names, endpoint, err := b.newNameServer(g)
	if err != nil {
		return nil, err
	}
	b.onStop("name server", names.Stop)
	if err := names.Start(ctx); err != nil {
		return nil, err
	}
	b.nameServer = endpoint
	if err := b.startComponent(ctx, "name server's listener", endpoint); err != nil {
		b.nameServer = nil
		return nil, err
	}
	return names, nil
}

func (b *Broker) startTransports(ctx context.Context) error {
	for _, in := range b.opts.Config.Transports {
		f, ok := b.opts.Plugins.Transports.Find(in.ID.Type)
		if !ok {
			return fmt.Errorf("service.transports: there is no transport plugin %q", in.ID)
		}
		t, err := f.NewTransport(b.pluginSettings(plugin.KindTransport, in.ID), in.Config, b.handler.roles())
		if err != nil {
			return fmt.Errorf("make transport %s: %w", in.ID, err)
		}
		if err := b.startComponent(ctx, "transport "+in.ID.String(), t); err != nil {
			return err
		}
		b.transports = append(b.transports, t)
		if addr, err := netip.ParseAddrPort(t.Addr().String()); err == nil && !b.announced.IsValid() {
			b.announced = message.Unmap(addr)
			b.announce(ctx)
		}
	}
	if !b.announced.IsValid() { // transports without a network
		b.advertised = b.advertisement.at(b.announced)
		b.handler.advertise(b.advertised.Addr)
	}
	return nil
}

// announce works out what clients are told, and warns of what can go wrong with it.
func (b *Broker) announce(ctx context.Context) {
	b.advertised = b.advertisement.at(b.announced)
	b.handler.advertise(b.advertised.Addr)
	if b.advertised.Problem = checkReachable(ctx, b.advertised.Addr); b.advertised.Problem != "" {
		b.log.Warn("clients may not reach the advertised address; set broker.advertise to one that they can reach",
			"advertised", b.advertised.Addr.String(), "why", b.advertised.Why, "problem", b.advertised.Problem)
	}
	if b.opts.Config.Auth.ID.Type == "open" && !b.announced.Addr().IsLoopback() {
		b.log.Warn("everybody who can reach this address may read, write and administer: auth is open; "+
			"set service.auth to another plugin, or transports.remoting.listen to a loopback address", "listen", b.announced.String())
	}
}

// identity is how this broker stands in routes. The address is known once the first transport listens.
func (b *Broker) identity() transport.BrokerIdentity {
	return transport.BrokerIdentity{
		Cluster: b.opts.Config.Broker.Cluster, Broker: b.opts.Config.Broker.Name, Addr: b.advertised.Addr.String(),
	}
}

// prepareRegistration sees to it that no change of a topic is missed, from before the first client can connect.
func (b *Broker) prepareRegistration(names *naming.Server) error {
	h := b.handler
	others, err := b.registrars()
	if err != nil {
		return err
	}
	var own transport.Registrar
	if names != nil {
		local := names.Local()
		own = local
		h.forgetRoute = func(topic string) { local.Withdraw(topic, b.opts.Config.Broker.Name) }
	}
	r := newRegistration(b.opts.Clock, b.log, own, others)
	r.snapshot = h.registered
	r.order = func(ordered map[string]string) {
		if err := h.topics.SetOrder(ordered); err != nil {
			b.log.Warn("mark ordered topics", "error", err)
		}
	}
	h.registration = r
	h.topics.OnChange = func([]transport.TopicConfig, transport.DataVersion) { r.changed(context.Background(), false) }
	return nil
}

// registrars returns a client for each name server elsewhere.
func (b *Broker) registrars() ([]transport.Registrar, error) {
	addrs := b.opts.Config.Cluster.Nameservers
	if len(addrs) == 0 {
		return nil, nil
	}
	for _, f := range b.opts.Plugins.Transports.All() {
		rf, ok := f.(transport.RegistrarFactory)
		if !ok {
			continue
		}
		var out []transport.Registrar
		for _, addr := range addrs {
			r, err := rf.NewRegistrar(b.pluginSettings(plugin.KindTransport, plugin.ID{Type: f.Type()}), addr, beside(b.opts.Config, f.Type()))
			if err != nil {
				return nil, fmt.Errorf("cluster.nameservers: %s: %w", addr, err)
			}
			out = append(out, r)
		}
		return out, nil
	}
	return nil, errors.New("cluster.nameservers: no transport of this build can register with name servers")
}

// registered is what name servers are told of the topics: on a broker that may not be read or written, that is what each
// topic allows. Changes of that count in the version, because name servers look at nothing else.
func (h *handler) registered() ([]transport.TopicConfig, transport.DataVersion) {
	topics, v := h.topics.All()
	p := h.settings.permission.Load()
	if p.perm&message.PermRW != message.PermRW {
		for i := range topics {
			topics[i].Perm = int32(p.perm)
		}
	}
	v.Counter += p.changes
	v.Timestamp = max(v.Timestamp, p.changed)
	return topics, v
}
