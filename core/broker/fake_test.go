package broker

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/config"
	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/plugin"
	"github.com/weirmq/weir/core/transport"
)

// world is everything around a broker under test: plugins without a network, a disk in memory, a clock. A test changes
// it, then calls start.
type world struct {
	auth   *fakeAuth
	clock  clock.Clock
	fs     vfs.FS
	cfg    *config.Config
	sec    sections
	listen net.Addr // what the transport says it listens on
	// nameServers are the others', by address.
	nameServers map[string]*fakeNameServer
	log         *slog.Logger

	transport *fakeTransport
	names     *fakeTransport
}

var listenAddr = netip.MustParseAddrPort("127.0.0.1:10911")

func newWorld() *world {
	w := &world{
		auth: &fakeAuth{}, clock: clock.Real(), fs: vfs.NewMem(nil), cfg: config.Default(), sec: defaultSections(),
		listen: net.TCPAddrFromAddrPort(listenAddr), nameServers: map[string]*fakeNameServer{}, log: slog.New(slog.DiscardHandler),
	}
	w.cfg.DataDir = "/data"
	w.cfg.Filters = []config.Instance{{ID: plugin.ID{Type: "tag"}}}
	w.cfg.Auth = config.Instance{ID: plugin.ID{Type: "fake"}}
	w.cfg.Transports = []config.Instance{{ID: plugin.ID{Type: "fake"}}}
	w.sec.Store.SegmentSize = 1 << 20
	w.sec.Store.ConsumeQueueEntries = 1000
	return w
}

// build makes the broker and doesn't start it.
func (w *world) build(t testing.TB) *Broker {
	t.Helper()
	for _, target := range []any{&w.sec.Store, &w.sec.Topics, &w.sec.Groups, &w.sec.Queues, &w.sec.Schedule, &w.sec.Transactions, &w.sec.Telemetry} {
		w.cfg.Sections = append(w.cfg.Sections, config.Section{Target: target})
	}
	filters, errF := plugin.NewSet[filter.Factory](fakeFilter{})
	auths, errA := plugin.NewSet[auth.Factory](w.auth)
	transports, errT := plugin.NewSet[transport.Factory](fakeFactory{w})
	b, err := New(Options{
		Config: w.cfg, Plugins: config.Sets{Filters: filters, Auth: auths, Transports: transports},
		Logger: w.log, Clock: w.clock, FS: w.fs,
	})
	if err := errors.Join(errF, errA, errT, err); err != nil {
		t.Fatal(err)
	}
	return b
}

// start starts the broker; the test's end stops it.
func (w *world) start(t testing.TB) *node {
	t.Helper()
	b := w.build(t)
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	n := &node{t: t, w: w, b: b, h: w.transport.h}
	t.Cleanup(func() { _ = b.Stop(context.Background()) })
	return n
}

// node is a running broker and the roles that a transport was given.
type node struct {
	t testing.TB
	w *world
	b *Broker
	h transport.Handlers
}

// stop stops the broker, which must work.
func (n *node) stop() {
	n.t.Helper()
	if err := n.b.Stop(context.Background()); err != nil {
		n.t.Fatal(err)
	}
}

// restart stops the broker and starts another one in the same world.
func (n *node) restart() *node {
	n.t.Helper()
	n.stop()
	n.w.cfg.Sections = nil
	return n.w.start(n.t)
}

// fakeAuth lets everybody in until it is told otherwise. It is its own factory.
type fakeAuth struct {
	mu           sync.Mutex // guards all below
	authenticate error
	authorize    func(auth.Action, auth.Resource) error
	asked        []string // "action kind name"
}

func (a *fakeAuth) Type() plugin.Type           { return "fake" }
func (a *fakeAuth) DefaultConfig() any          { return &struct{}{} }
func (a *fakeAuth) Stability() plugin.Stability { return plugin.Stable }
func (a *fakeAuth) NewAuthenticator(plugin.Settings, any) (auth.Authenticator, error) {
	return a, nil
}
func (a *fakeAuth) Start(context.Context, plugin.Host) error { return nil }
func (a *fakeAuth) Stop(context.Context) error               { return nil }

func (a *fakeAuth) Authenticate(context.Context, *auth.Credentials) (auth.Principal, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return auth.Principal{Name: "somebody"}, a.authenticate
}

func (a *fakeAuth) Authorize(_ context.Context, _ auth.Principal, act auth.Action, r auth.Resource) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.authorize == nil {
		return nil
	}
	a.asked = append(a.asked, act.String()+" "+r.Kind.String()+" "+r.Name)
	return a.authorize(act, r)
}

// set changes whom it lets in.
func (a *fakeAuth) set(authenticate error, authorize func(auth.Action, auth.Resource) error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.authenticate, a.authorize, a.asked = authenticate, authorize, nil
}

// fakeFilter serves TAG expressions by the hash alone.
type fakeFilter struct{}

func (fakeFilter) Type() plugin.Type           { return "tag" }
func (fakeFilter) DefaultConfig() any          { return &struct{}{} }
func (fakeFilter) Stability() plugin.Stability { return plugin.Stable }
func (fakeFilter) NewCompiler(plugin.Settings, any) (filter.Compiler, error) {
	return fakeFilter{}, nil
}
func (fakeFilter) Start(context.Context, plugin.Host) error { return nil }
func (fakeFilter) Stop(context.Context) error               { return nil }
func (fakeFilter) ExpressionTypes() []string                { return []string{filter.TypeTag} }

func (fakeFilter) Compile(_ context.Context, e filter.Expression) (filter.Program, error) {
	tags, err := message.ParseTags(e.Text)
	return tagProgram{tags, e.Text}, err
}

type tagProgram struct {
	tags message.Tags
	text string
}

func (p tagProgram) Key() filter.Key     { return sha256.Sum256([]byte(p.text)) }
func (p tagProgram) Needs() filter.Needs { return filter.Needs{} }
func (p tagProgram) Pure() bool          { return true }
func (p tagProgram) Warnings() []string  { return nil }
func (p tagProgram) Close() error        { return nil }

func (p tagProgram) Match(_ context.Context, b *filter.Batch, v *filter.Verdicts) error {
	for i, code := range b.TagsCodes {
		if p.tags.Match(code) {
			filter.SetBit(v.True, i)
		}
	}
	return nil
}

// fakeFactory makes transports without a network, endpoints of name servers likewise, and clients of name servers.
type fakeFactory struct{ w *world }

func (fakeFactory) Type() plugin.Type           { return "fake" }
func (fakeFactory) DefaultConfig() any          { return &struct{}{} }
func (fakeFactory) Stability() plugin.Stability { return plugin.Stable }

func (f fakeFactory) NewTransport(_ plugin.Settings, _ any, h transport.Handlers) (transport.Transport, error) {
	f.w.transport = &fakeTransport{h: h, addr: f.w.listen}
	return f.w.transport, nil
}

func (f fakeFactory) NewNameServer(_ plugin.Settings, _ string, _ any, h transport.Handlers) (transport.Transport, error) {
	f.w.names = &fakeTransport{h: h, addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9876}}
	return f.w.names, nil
}

func (f fakeFactory) NewRegistrar(_ plugin.Settings, addr string, _ any) (transport.Registrar, error) {
	ns, ok := f.w.nameServers[addr]
	if !ok {
		return nil, errors.New("the test has no name server at " + addr)
	}
	return ns, nil
}

type fakeTransport struct {
	h    transport.Handlers
	addr net.Addr
}

func (f *fakeTransport) Start(context.Context, plugin.Host) error { return nil }
func (f *fakeTransport) Stop(context.Context) error               { return nil }
func (f *fakeTransport) Addr() net.Addr                           { return f.addr }

// fakeSession is a client's connection.
type fakeSession struct {
	remote netip.AddrPort
	call   func(context.Context, transport.ClientCall) (transport.ClientReply, error)

	mu      sync.Mutex // guards all below
	notices []transport.Notice
	closed  string
}

func newSession(addr string) *fakeSession { return &fakeSession{remote: netip.MustParseAddrPort(addr)} }

func (s *fakeSession) Remote() netip.AddrPort { return s.remote }

func (s *fakeSession) Notify(n transport.Notice) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notices = append(s.notices, n)
	return nil
}

func (s *fakeSession) Call(ctx context.Context, c transport.ClientCall) (transport.ClientReply, error) {
	if s.call == nil {
		return transport.ClientReply{}, transport.ErrSessionClosed
	}
	return s.call(ctx, c)
}

func (s *fakeSession) Close(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = reason
}

func (s *fakeSession) Alive() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed == ""
}

// told returns the notices so far and forgets them.
func (s *fakeSession) told() []transport.Notice {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.notices
	s.notices = nil
	return n
}

// waitTime bounds waits for something that must come.
const waitTime = 10 * time.Second

// caller is a Java client of version 4.9.7 at s.
func caller(s transport.Session) *transport.Caller {
	return &transport.Caller{Session: s, Language: "JAVA", Version: rocketVersion}
}

// sendDone hands a batch back to the test.
type sendDone chan *transport.SendBatch

func (d sendDone) SendsDone(b *transport.SendBatch) { d <- b }

// newSend is a send as a Java producer makes it.
func newSend(topic, body string) transport.Send {
	return transport.Send{
		Version: rocketVersion, ProducerGroup: []byte("producers"), Topic: []byte(topic), DefaultTopic: []byte(message.TopicAutoCreate),
		DefaultTopicQueueNums: 4, BornTimestamp: 1_700_000_000_000, Body: []byte(body),
	}
}

// send sends all in one batch and returns them answered.
func (n *node) send(s transport.Session, sends ...transport.Send) *transport.SendBatch {
	n.t.Helper()
	done := make(sendDone, 1)
	b := &transport.SendBatch{Session: s, Sends: sends, Reply: done}
	n.h.Sender.Send(context.Background(), b)
	return await(n.t, done)
}

// await receives what must come.
func await[T any](t testing.TB, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(waitTime):
		t.Fatal("waited in vain")
		panic("unreachable")
	}
}

// mustSend stores one message in queue 0 and returns its position.
func (n *node) mustSend(topic, body string) message.Position {
	n.t.Helper()
	b := n.send(newSession("10.0.0.2:50000"), newSend(topic, body))
	if s := &b.Sends[0]; s.Code != message.Success {
		n.t.Fatalf("send to %s: %v %s", topic, s.Code, s.Remark)
	}
	return b.Sends[0].Positions[0]
}

// record returns a copy of the record at p.
func (n *node) record(p message.Position) message.Record {
	n.t.Helper()
	var r transport.Records
	if err := n.h.Querier.ViewMessage(context.Background(), caller(newSession("10.0.0.9:1")), p, &r); err != nil {
		n.t.Fatal(err)
	}
	defer r.Release()
	return append(message.Record(nil), r.Chunks[0]...)
}

// pullDone hands a pull back to the test.
type pullDone chan *transport.Pull

func (d pullDone) PullDone(p *transport.Pull) { d <- p }

// pull asks for everything in a queue from an offset on.
func (n *node) pull(group, topic string, id message.QueueID, from message.Offset) *transport.Pull {
	n.t.Helper()
	done := make(pullDone, 1)
	p := &transport.Pull{
		Caller: *caller(newSession("10.0.0.3:50001")), Reply: done, Group: group, Topic: topic, QueueID: id, Offset: from,
		MaxNum: 32, HasSubscription: true, Expression: filter.Expression{Type: filter.TypeTag, Text: "*"},
	}
	n.h.Puller.Pull(context.Background(), p)
	return await(n.t, done)
}

// returnDone hands a returned message's answer back to the test.
type returnDone chan *transport.Return

func (d returnDone) ReturnDone(r *transport.Return) { d <- r }

// giveBack returns a message and waits for the answer.
func (n *node) giveBack(r transport.Return) *transport.Return {
	n.t.Helper()
	done := make(returnDone, 1)
	if r.Caller.Session == nil {
		r.Caller = *caller(newSession("10.0.0.3:50001"))
	}
	r.Reply = done
	n.h.Returner.Return(context.Background(), &r)
	return await(n.t, done)
}

// codeOf returns the code of an error that a role has returned.
func codeOf(t testing.TB, err error) message.Code {
	t.Helper()
	if err == nil {
		return message.Success
	}
	c, remark := code(err)
	if remark == "" {
		t.Errorf("error %v has no remark", err)
	}
	return c
}
