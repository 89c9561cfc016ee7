package broker

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/core/config"
	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/internal/vfs/errorfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/plugin"
	"github.com/weirmq/weir/core/transport"
)

// TestMain fails when a test has left a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStopWorksWithoutStartAndTwice(t *testing.T) {
	b := newWorld().build(t)
	for range 2 {
		if err := b.Stop(t.Context()); err != nil {
			t.Errorf("without start: %v", err)
		}
	}
	n := newWorld().start(t)
	if err := n.b.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "it was started before") {
		t.Errorf("started twice: %v", err)
	}
	n.mustSend("T", "it still runs")
	n.stop()
	n.stop()
}

func TestABrokerWithoutATransportIsRefused(t *testing.T) {
	_, err := New(Options{Config: config.Default()})
	if err == nil || !strings.Contains(err.Error(), "service.transports is empty") {
		t.Error(err)
	}
}

// noted is a plugin that notes its life, and fails when told to.
type noted struct {
	what string
	life *life
}

type life struct {
	mu   sync.Mutex // guards all below
	log  []string
	fail string // what fails to start
}

func (l *life) add(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log = append(l.log, what)
}

func (n noted) Type() plugin.Type           { return plugin.Type(n.what) }
func (n noted) DefaultConfig() any          { return &struct{}{} }
func (n noted) Stability() plugin.Stability { return plugin.Stable }
func (n noted) Stop(context.Context) error  { n.life.add("stop " + n.what); return nil }

func (n noted) Start(context.Context, plugin.Host) error {
	n.life.add("start " + n.what)
	if n.life.fail == n.what {
		return errors.New("it is told to fail")
	}
	return nil
}

type notedAuth struct {
	noted
	fakeAuth *fakeAuth
}

func (n notedAuth) NewAuthenticator(plugin.Settings, any) (auth.Authenticator, error) { return n, nil }
func (n notedAuth) Authenticate(ctx context.Context, c *auth.Credentials) (auth.Principal, error) {
	return n.fakeAuth.Authenticate(ctx, c)
}
func (n notedAuth) Authorize(ctx context.Context, p auth.Principal, a auth.Action, r auth.Resource) error {
	return n.fakeAuth.Authorize(ctx, p, a, r)
}

type notedFilter struct{ noted }

func (n notedFilter) NewCompiler(plugin.Settings, any) (filter.Compiler, error) { return n, nil }
func (n notedFilter) ExpressionTypes() []string                                 { return []string{filter.TypeTag} }
func (n notedFilter) Compile(ctx context.Context, e filter.Expression) (filter.Program, error) {
	return fakeFilter{}.Compile(ctx, e)
}

type notedTransport struct{ noted }

func (n notedTransport) NewTransport(plugin.Settings, any, transport.Handlers) (transport.Transport, error) {
	return n, nil
}
func (n notedTransport) NewNameServer(plugin.Settings, string, any, transport.Handlers) (transport.Transport, error) {
	n.what = "name server"
	return n, nil
}
func (n notedTransport) Addr() net.Addr { return net.TCPAddrFromAddrPort(listenAddr) }

// notedBroker makes a broker of plugins that note their lives.
func notedBroker(t *testing.T, l *life, fsys vfs.FS) *Broker {
	t.Helper()
	w := newWorld()
	filters, errF := plugin.NewSet[filter.Factory](notedFilter{noted{"filter", l}})
	auths, errA := plugin.NewSet[auth.Factory](notedAuth{noted{"auth", l}, w.auth})
	transports, errT := plugin.NewSet[transport.Factory](notedTransport{noted{"first", l}}, notedTransport{noted{"second", l}})
	w.cfg.Filters = []config.Instance{{ID: plugin.ID{Type: "filter"}}}
	w.cfg.Auth = config.Instance{ID: plugin.ID{Type: "auth"}}
	w.cfg.Transports = []config.Instance{{ID: plugin.ID{Type: "first"}}, {ID: plugin.ID{Type: "second"}}}
	b, err := New(Options{Config: w.cfg, Plugins: config.Sets{Filters: filters, Auth: auths, Transports: transports}, Logger: w.log, FS: fsys})
	if err := errors.Join(errF, errA, errT, err); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestPartsStartInOrderAndStopInReverse fails each part's start in turn: what was started before is stopped, the part
// itself too, what comes after is never touched, and the directory is free again.
func TestPartsStartInOrderAndStopInReverse(t *testing.T) {
	order := []string{"auth", "filter", "name server", "first", "second"}
	for i, fails := range append(order, "") {
		t.Run("fails: "+fails, func(t *testing.T) {
			l, fsys := &life{fail: fails}, vfs.NewMem(nil)
			b := notedBroker(t, l, fsys)
			err := b.Start(t.Context())
			switch {
			case fails == "" && err != nil:
				t.Fatal(err)
			case fails == "":
				if err := b.Stop(t.Context()); err != nil {
					t.Fatal(err)
				}
				i--
			case err == nil || !strings.Contains(err.Error(), fails) || !strings.Contains(err.Error(), "it is told to fail"):
				t.Errorf("started: %v", err)
			}
			var want []string
			for _, what := range order[:i+1] {
				want = append(want, "start "+what)
			}
			for j := i; j >= 0; j-- {
				want = append(want, "stop "+order[j])
			}
			if got, want := strings.Join(l.log, ", "), strings.Join(want, ", "); got != want {
				t.Errorf("life was\n%s, want\n%s", got, want)
			}
			again := notedBroker(t, &life{}, fsys)
			if err := again.Start(t.Context()); err != nil {
				t.Errorf("start again: %v", err)
			}
			if err := again.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestDamagedFilesRefuseTheStart puts nonsense where metadata belongs. The start names the file, and leaves the directory
// as it was and free.
func TestDamagedFilesRefuseTheStart(t *testing.T) {
	for _, name := range []string{"topics.json", "subscriptionGroup.json", "consumerOffset.json"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			if err := vfs.MkdirAllSync(w.fs, "/data/config"); err != nil {
				t.Fatal(err)
			}
			path := "/data/config/" + name
			for _, p := range []string{path, path + ".bak"} {
				if err := vfs.WriteFileAtomic(w.fs, p, []byte(`{"nonsense`)); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				b := w.build(t)
				if err := b.Start(t.Context()); err == nil || !strings.Contains(err.Error(), path) {
					t.Errorf("started: %v", err)
				}
				w.cfg.Sections = nil
			}
			if data, err := vfs.ReadFile(w.fs, path, 100); err != nil || string(data) != `{"nonsense` {
				t.Errorf("the file is %q, %v", data, err)
			}
		})
	}
}

func TestALockedDirectoryIsRefused(t *testing.T) {
	w := newWorld()
	w.fs, w.cfg.DataDir = vfs.OS{}, t.TempDir()
	w.start(t)
	w.cfg.Sections = nil
	err := w.build(t).Start(t.Context())
	if !errors.Is(err, vfs.ErrLocked) || !strings.Contains(err.Error(), "close the store that uses this directory first") {
		t.Errorf("started: %v", err)
	}
}

// TestAWrongSegmentSizeIsRefused opens a store with another size than it was made with: the error names the key, and
// nothing is changed.
func TestAWrongSegmentSizeIsRefused(t *testing.T) {
	w := newWorld()
	w.fs, w.cfg.DataDir = vfs.OS{}, t.TempDir()
	n := w.start(t)
	n.mustSend("T", "x")
	n.stop()
	before := listing(t, w.cfg.DataDir)
	w.cfg.Sections = nil
	w.sec.Store.SegmentSize = 1 << 21
	err := w.build(t).Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "store.segment_size") {
		t.Errorf("started: %v", err)
	}
	if after := listing(t, w.cfg.DataDir); after != before {
		t.Errorf("files were\n%s and are\n%s", before, after)
	}
}

func listing(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	if err := walk(dir, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func walk(dir string, out *strings.Builder) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return err
		}
		if e.Name() == "lock" { // written whenever the lock is taken
			continue
		}
		out.WriteString(dir + "/" + e.Name() + " " + info.ModTime().String() + "\n")
		if e.IsDir() {
			if err := walk(dir+"/"+e.Name(), out); err != nil {
				return err
			}
		}
	}
	return nil
}

// TestEverythingSurvivesARestart looks at messages, offsets, topics and groups after a clean stop.
func TestEverythingSurvivesARestart(t *testing.T) {
	w := newWorld()
	n := w.start(t)
	ctx, c := t.Context(), caller(newSession("10.0.0.1:1"))
	n.putTopic("Made", 3)
	n.putGroup(func(g *transport.GroupConfig) { g.RetryMaxTimes = 7 })
	for _, body := range []string{"1", "2", "3"} {
		n.mustSend("T", body)
	}
	q := message.QueueKey{Topic: "T"}
	if err := n.h.Offsets.CommitOffset(ctx, c, "g", q, 2); err != nil {
		t.Fatal(err)
	}
	before, versionBefore, err := n.h.Topics.Topics(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	n = n.restart()
	after, versionAfter, err := n.h.Topics.Topics(ctx, c)
	if err != nil || len(after) != len(before) || versionAfter != versionBefore {
		t.Errorf("topics %v %v before, %v %v after: %v", before, versionBefore, after, versionAfter, err)
	}
	for i := range before {
		if after[i] != before[i] {
			t.Errorf("topic %+v is now %+v", before[i], after[i])
		}
	}
	if g, err := n.h.GroupAd.Group(ctx, c, "g"); err != nil || g.RetryMaxTimes != 7 {
		t.Errorf("group %+v, %v", g, err)
	}
	if at, err := n.h.Offsets.CommittedOffset(ctx, c, "g", q, true); at != 2 || err != nil {
		t.Errorf("offset %d, %v", at, err)
	}
	if p := n.pull("g", "T", 0, 2); p.Records.Count != 1 || string(message.Record(p.Records.Chunks[0]).Body()) != "3" {
		t.Errorf("pulled %d records", p.Records.Count)
	} else {
		p.Records.Release()
	}
	if s := n.send(c.Session, newSend("T", "4")).Sends[0]; s.QueueOffset != 3 {
		t.Errorf("the next message gets offset %d", s.QueueOffset)
	}
}

// TestAStopLetsSendsThatAreUnderWayFinish stops the broker while a send waits for the disk.
func TestAStopLetsSendsThatAreUnderWayFinish(t *testing.T) {
	w := newWorld()
	disk := errorfs.Wrap(vfs.NewMem(nil), nil)
	w.fs, w.sec.Store.Flush = disk, "sync"
	n := w.start(t)
	n.putTopic("T", 4)
	reached, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	disk.Set(errorfs.OnPath("commitlog", func(op errorfs.Op) error {
		if op.Kind == errorfs.Datasync {
			once.Do(func() { close(reached); <-goOn })
		}
		return nil
	}))
	done := make(sendDone, 1)
	go n.h.Sender.Send(t.Context(), &transport.SendBatch{
		Session: newSession("10.0.0.2:1"), Sends: []transport.Send{newSend("T", "x")}, Reply: done,
	})
	await(t, reached)
	stopped := make(chan error, 1)
	go func() { stopped <- n.b.Stop(context.Background()) }()
	close(goOn)
	if s := await(t, done).Sends[0]; s.Code != message.Success {
		t.Errorf("the send is answered %v %q", s.Code, s.Remark)
	}
	if err := await(t, stopped); err != nil {
		t.Error(err)
	}
	if s := n.send(newSession("10.0.0.2:1"), newSend("T", "late")).Sends[0]; s.Code != message.ServiceNotAvailable {
		t.Errorf("a send after the end is answered %v %q", s.Code, s.Remark)
	}
}

// TestANameServerAlone starts a name server without a broker, on the configuration of a broker that has none.
func TestANameServerAlone(t *testing.T) {
	w := newWorld()
	w.cfg.NameServer.Enabled = false
	b := w.build(t) // for its plugins
	ns, err := NewNameServer(b.opts)
	if err != nil {
		t.Fatal(err)
	}
	if w.cfg.NameServer.Enabled {
		t.Error("the caller's configuration was changed")
	}
	if err := ns.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a := ns.Addresses(); a.NameServer != "127.0.0.1:9876" || a.Listen != "" {
		t.Errorf("%+v", a)
	}
	ctx, c := t.Context(), caller(newSession("10.0.0.7:1"))
	_, err = w.names.h.Registry.Register(ctx, c, &transport.Registration{
		BrokerIdentity: transport.BrokerIdentity{Cluster: "C", Broker: "b", Addr: "10.0.0.7:10911"},
		Topics:         []transport.TopicConfig{{Name: "T", ReadQueues: 1, WriteQueues: 1, Perm: 6}},
	})
	if err != nil {
		t.Error(err)
	}
	if r, err := w.names.h.Router.Route(ctx, c, "T"); err != nil || r.Brokers[0].Addrs[0] != "10.0.0.7:10911" {
		t.Errorf("%+v, %v", r, err)
	}
	for range 2 {
		if err := ns.Stop(ctx); err != nil {
			t.Error(err)
		}
	}
}

func TestPluginsThatAreMissingOrClashAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*config.Config)
		want   string
	}{
		"no such auth":       {func(c *config.Config) { c.Auth.ID.Type = "acl" }, `service.auth: there is no auth plugin "acl"`},
		"no such filter":     {func(c *config.Config) { c.Filters[0].ID.Type = "sql" }, `service.filters: there is no filter plugin "sql"`},
		"no such transport":  {func(c *config.Config) { c.Transports[0].ID.Type = "grpc" }, `service.transports: there is no transport plugin "grpc"`},
		"nobody serves tags": {func(c *config.Config) { c.Filters = nil }, "no filter serves TAG expressions"},
		"two serve tags": {func(c *config.Config) {
			c.Filters = append(c.Filters, config.Instance{ID: plugin.ID{Type: "tag", Name: "two"}})
		}, "tag and tag/two both serve expressions of type TAG; keep one"},
		"unknown name server": {func(c *config.Config) { c.Cluster.Nameservers = []string{"10.0.0.1:1"} }, "cluster.nameservers: 10.0.0.1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			c.change(w.cfg)
			if err := w.build(t).Start(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("started: %v", err)
			}
		})
	}
}

func TestAFaultOfAPluginEndsTheBroker(t *testing.T) {
	n := newWorld().start(t)
	n.b.Fatal(plugin.ID{Type: "wasm", Name: "geo"}, errors.New("it is gone"))
	n.b.Fatal(plugin.ID{Type: "other"}, errors.New("a second fault"))
	if err := await(t, n.b.Done()); err == nil || err.Error() != "plugin wasm/geo: it is gone" {
		t.Errorf("the fault is %v", err)
	}
}
