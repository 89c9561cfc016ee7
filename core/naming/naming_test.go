package naming

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/internal/vfs/errorfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// session is a connection that does nothing but close.
type session struct {
	name   string
	closed chan string
}

func newSession(name string) *session { return &session{name, make(chan string, 1)} }

func (s *session) Remote() netip.AddrPort        { return netip.AddrPort{} }
func (s *session) Notify(transport.Notice) error { return nil }
func (s *session) Call(context.Context, transport.ClientCall) (transport.ClientReply, error) {
	return transport.ClientReply{}, nil
}
func (s *session) Close(reason string) { s.closed <- reason }
func (s *session) Alive() bool         { return true }

// open allows everything and notes what was asked.
type open struct {
	mu    sync.Mutex
	asked []string
}

func (o *open) Allow(_ context.Context, _ *transport.Caller, a auth.Action, r auth.Resource) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked = append(o.asked, strings.TrimSpace(fmt.Sprint(a, " ", r.Kind, " ", r.Name)))
	return nil
}

var errShut = &message.Error{Code: message.NoPermission, Remark: "shut"}

// shut refuses everything.
type shut struct{}

func (shut) Allow(context.Context, *transport.Caller, auth.Action, auth.Resource) error {
	return errShut
}

type fixture struct {
	*Server
	t     *testing.T
	clock *clock.Manual
	fs    vfs.FS
}

const testFile = "/data/weir/kvConfig.json"

func newFixture(t *testing.T, edit func(*Config)) *fixture {
	t.Helper()
	f := &fixture{t: t, clock: clock.NewManual(time.UnixMilli(1_700_000_000_000)), fs: vfs.NewMem(nil)}
	cfg := DefaultConfig()
	if edit != nil {
		edit(&cfg)
	}
	f.open(cfg, &open{})
	return f
}

func (f *fixture) open(cfg Config, a Authorizer) {
	f.t.Helper()
	s, err := New(Settings{FS: f.fs, KVFile: testFile, Clock: f.clock, Logger: slog.New(slog.DiscardHandler)}, cfg, a)
	if err != nil {
		f.t.Fatal(err)
	}
	f.Server = s
}

// master returns a registration of broker at addr; topics are "T" or "T:perm".
func master(broker, addr string, version int64, topics ...string) *transport.Registration {
	r := &transport.Registration{
		BrokerIdentity: transport.BrokerIdentity{Cluster: "C", Broker: broker, Addr: addr},
		HAAddr:         "ha-" + addr,
		Version:        transport.DataVersion{Counter: version, Timestamp: 1},
	}
	for _, name := range topics {
		r.Topics = append(r.Topics, transport.TopicConfig{Name: name, ReadQueues: 8, WriteQueues: 4, Perm: 6})
	}
	return r
}

func replica(broker, addr string, id int64) *transport.Registration {
	r := master(broker, addr, 1, "OfReplica")
	r.ID = id
	return r
}

func caller(s transport.Session) *transport.Caller { return &transport.Caller{Session: s} }

func (f *fixture) register(s transport.Session, r *transport.Registration) transport.RegisterResult {
	f.t.Helper()
	result, err := f.Register(context.Background(), caller(s), r)
	if err != nil {
		f.t.Fatal(err)
	}
	return result
}

// wantRoute compares the route of a topic, written as "broker(perm)@id=addr,id=addr ...", "" for none.
func (f *fixture) wantRoute(topic, want string) {
	f.t.Helper()
	r, err := f.Route(context.Background(), caller(nil), topic)
	if err != nil {
		r = transport.Route{}
	}
	var parts []string
	for i, q := range r.Queues {
		b := r.Brokers[i]
		if b.Broker != q.Broker {
			f.t.Errorf("%s: queues of %s beside broker %s", topic, q.Broker, b.Broker)
		}
		var addrs []string
		for id := range int64(10) {
			if a, ok := b.Addrs[id]; ok {
				addrs = append(addrs, fmt.Sprint(id, "=", a))
			}
		}
		parts = append(parts, fmt.Sprintf("%s(%d)@%s", q.Broker, q.Perm, strings.Join(addrs, ",")))
	}
	if got := strings.Join(parts, " "); got != want {
		f.t.Errorf("route of %s: got %q, want %q", topic, got, want)
	}
}

func wantError(t *testing.T, err error, code message.Code, remark string) {
	t.Helper()
	var e *message.Error
	if !errors.As(err, &e) || e.Code != code || e.Remark != remark {
		t.Errorf("got  %v\nwant %d %s", err, code, remark)
	}
}

// TestRouteOfTheOldTemplate: clients of 4.3 ask for TBW102 by another name, which is no topic for anybody else.
func TestRouteOfTheOldTemplate(t *testing.T) {
	f := newFixture(t, nil)
	f.wantRoute("AUTO_CREATE_TOPIC_KEY", "")
	f.register(newSession("a"), master("a", "a:1", 1, "TBW102"))
	f.wantRoute("AUTO_CREATE_TOPIC_KEY", "a(6)@0=a:1")
	list, err := f.TopicList(context.Background(), caller(nil), transport.TopicQuery{Kind: transport.AllTopics})
	if err != nil || len(list.Topics) != 1 {
		t.Errorf("topics %v, %v, want TBW102 alone", list.Topics, err)
	}
	f.register(newSession("b"), master("b", "b:1", 1, "AUTO_CREATE_TOPIC_KEY"))
	f.wantRoute("AUTO_CREATE_TOPIC_KEY", "b(6)@0=b:1") // a broker that has it goes before
}

func TestTopicsComeFromMastersAndStay(t *testing.T) {
	f := newFixture(t, nil)
	a := newSession("a")
	f.register(a, master("a", "a:1", 1, "T", "U"))
	f.wantRoute("T", "a(6)@0=a:1")
	f.wantRoute("OfReplica", "")

	f.register(a, master("a", "a:1", 1, "V"))
	f.wantRoute("V", "") // the version is the same

	f.register(a, master("a", "a:1", 2, "V"))
	f.wantRoute("V", "a(6)@0=a:1")
	f.wantRoute("T", "a(6)@0=a:1") // absent from the registration, not removed

	f.register(newSession("r"), replica("a", "r:1", 1))
	f.wantRoute("OfReplica", "")
	f.wantRoute("T", "a(6)@0=a:1,1=r:1")

	f.register(newSession("b"), master("b", "b:1", 1, "T"))
	f.wantRoute("T", "a(6)@0=a:1,1=r:1 b(6)@0=b:1")
}

func TestReplicaLearnsItsMaster(t *testing.T) {
	f := newFixture(t, nil)
	if got := f.register(newSession("r"), replica("a", "r:1", 1)); !reflect.DeepEqual(got, transport.RegisterResult{}) {
		t.Errorf("without master: got %+v", got)
	}
	if got := f.register(newSession("a"), master("a", "a:1", 1, "T")); !reflect.DeepEqual(got, transport.RegisterResult{}) {
		t.Errorf("the master itself: got %+v", got)
	}
	want := transport.RegisterResult{HAAddr: "ha-a:1", MasterAddr: "a:1"}
	if got := f.register(newSession("r"), replica("a", "r:1", 1)); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestAddressUnderAnotherIDReplacesTheOldOne(t *testing.T) {
	f := newFixture(t, nil)
	f.register(newSession("a"), master("a", "a:1", 1, "T"))
	f.register(newSession("r"), replica("a", "r:1", 1))
	f.register(newSession("r"), replica("a", "r:1", 2))
	f.wantRoute("T", "a(6)@0=a:1,2=r:1")
	// The replica becomes master after the master is gone.
	f.Unregister(context.Background(), caller(nil), master("a", "a:1", 1).BrokerIdentity)
	f.wantRoute("T", "a(6)@2=r:1")
	f.register(newSession("r"), master("a", "r:1", 1, "T", "U"))
	f.wantRoute("U", "a(6)@0=r:1")
	// A master at a new address takes the place, and the old one's end doesn't matter.
	f.register(newSession("x"), master("a", "x:1", 1, "T"))
	f.wantRoute("T", "a(6)@0=x:1")
	f.Unregister(context.Background(), caller(nil), master("a", "r:1", 1).BrokerIdentity)
	f.wantRoute("T", "a(6)@0=x:1")
}

func TestLostConnectionRemovesTheBrokerAtOnce(t *testing.T) {
	f := newFixture(t, nil)
	a, b := newSession("a"), newSession("b")
	f.register(a, master("a", "a:1", 1, "T", "OnlyA"))
	f.register(b, master("b", "b:1", 1, "T"))
	f.SessionClosed(newSession("a client"))
	f.SessionClosed(a)
	f.wantRoute("T", "b(6)@0=b:1")
	f.wantRoute("OnlyA", "")

	// A broker that came back over a new connection doesn't care about the end of the old one.
	a2 := newSession("a2")
	f.register(a2, master("a", "a:1", 1, "T"))
	f.SessionClosed(a)
	f.wantRoute("T", "a(6)@0=a:1 b(6)@0=b:1")
	info, err := f.ClusterInfo(context.Background(), caller(nil))
	if want := map[string][]string{"C": {"a", "b"}}; err != nil || !reflect.DeepEqual(info.Clusters, want) {
		t.Errorf("clusters: got %v, %v", info.Clusters, err)
	}
	f.SessionClosed(a2)
	f.SessionClosed(b)
	info, _ = f.ClusterInfo(context.Background(), caller(nil))
	if len(info.Brokers) != 0 || len(info.Clusters) != 0 {
		t.Errorf("left: %+v", info)
	}
	if len(f.topics)+len(f.live) != 0 {
		t.Errorf("left: %v %v", f.topics, f.live)
	}
}

// TestSilentBrokersExpire moves the clock: a broker stays for 120 s after it was last heard of, is looked for every
// 10 s, and its connection is closed. The broker of this process stays.
func TestSilentBrokersExpire(t *testing.T) {
	f := newFixture(t, nil)
	a, b := newSession("a"), newSession("b")
	f.register(a, master("a", "a:1", 1, "T"))
	f.register(b, master("b", "b:1", 1, "T"))
	f.Local().Register(context.Background(), master("own", "own:1", 1, "T"), false)
	f.Start(context.Background())
	defer f.Stop(context.Background())
	for range 6 {
		f.clock.BlockUntil(1)
		f.clock.Advance(ScanInterval)
	}
	changed, _, err := f.TopicsChanged(context.Background(), caller(b), master("b", "b:1", 0).BrokerIdentity, transport.DataVersion{Counter: 1, Timestamp: 1})
	if changed || err != nil {
		t.Errorf("changed = %v, %v", changed, err)
	}
	for range 6 { // 120 s: not overdue yet
		f.clock.BlockUntil(1)
		f.clock.Advance(ScanInterval)
	}
	f.clock.BlockUntil(1)
	f.wantRoute("T", "a(6)@0=a:1 b(6)@0=b:1 own(6)@0=own:1")
	f.clock.Advance(ScanInterval)
	if got, want := <-a.closed, "broker a:1 has not registered for 2m0s"; got != want {
		t.Errorf("closed with %q, want %q", got, want)
	}
	f.wantRoute("T", "b(6)@0=b:1 own(6)@0=own:1")
	for range 20 {
		f.clock.BlockUntil(1)
		f.clock.Advance(ScanInterval)
	}
	<-b.closed
	f.wantRoute("T", "own(6)@0=own:1")
}

func TestStopWithoutStartAndTwice(t *testing.T) {
	f := newFixture(t, nil)
	for range 2 {
		if err := f.Stop(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	f = newFixture(t, nil)
	f.Start(context.Background())
	for range 2 {
		if err := f.Stop(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTopicsChanged(t *testing.T) {
	f := newFixture(t, nil)
	ctx := context.Background()
	r := master("a", "a:1", 7, "T")
	changed, known, err := f.TopicsChanged(ctx, caller(nil), r.BrokerIdentity, r.Version)
	if !changed || known != (transport.DataVersion{}) || err != nil {
		t.Errorf("unknown broker: %v %v %v", changed, known, err)
	}
	f.register(nil, r)
	changed, known, _ = f.TopicsChanged(ctx, caller(nil), r.BrokerIdentity, transport.DataVersion{Counter: 8, Timestamp: 1})
	if !changed || known != r.Version {
		t.Errorf("other version: %v %v", changed, known)
	}
	changed, known, _ = f.TopicsChanged(ctx, caller(nil), r.BrokerIdentity, r.Version)
	if changed || known != r.Version {
		t.Errorf("same version: %v %v", changed, known)
	}
}

func TestLocalBroker(t *testing.T) {
	f := newFixture(t, nil)
	ctx := context.Background()
	local := f.Local()
	local.Register(ctx, master("own", "own:1", 1, "T", "U"), false)
	local.Register(ctx, master("own", "own:1", 2, "V"), true) // only what changed
	f.SessionClosed(nil)
	f.wantRoute("T", "own(6)@0=own:1")
	f.wantRoute("V", "own(6)@0=own:1")
	local.Withdraw("U", "own")
	f.wantRoute("U", "")
	_, err := f.Register(ctx, caller(newSession("x")), master("x", "own:1", 1, "T"))
	wantError(t, err, message.SystemError,
		`address own:1 is that of the broker in the name server's own process; give broker "x" another one`)
	f.wantRoute("T", "own(6)@0=own:1")
	local.Unregister(ctx, master("own", "own:1", 1).BrokerIdentity)
	f.wantRoute("T", "")
}

func TestWritePermission(t *testing.T) {
	f := newFixture(t, nil)
	ctx := context.Background()
	r := master("a", "a:1", 1, "T", "U")
	r.Topics[1].Perm = 7
	f.register(nil, r)
	f.register(nil, master("b", "b:1", 1, "T"))
	if n, err := f.SetWritePerm(ctx, caller(nil), "a", false); n != 2 || err != nil {
		t.Errorf("wipe: %d, %v", n, err)
	}
	f.wantRoute("T", "a(4)@0=a:1 b(6)@0=b:1")
	f.wantRoute("U", "a(5)@0=a:1")
	f.register(nil, r) // the same version
	f.wantRoute("T", "a(4)@0=a:1 b(6)@0=b:1")
	if n, _ := f.SetWritePerm(ctx, caller(nil), "a", true); n != 2 {
		t.Errorf("add: %d", n)
	}
	f.wantRoute("U", "a(6)@0=a:1")
	f.SetWritePerm(ctx, caller(nil), "a", false)
	r.Version.Counter = 2
	f.register(nil, r)
	f.wantRoute("U", "a(7)@0=a:1")
	if n, err := f.SetWritePerm(ctx, caller(nil), "unknown", false); n != 0 || err != nil {
		t.Errorf("unknown broker: %d, %v", n, err)
	}
}

func TestRouteOfUnknownTopic(t *testing.T) {
	f := newFixture(t, nil)
	_, err := f.Route(context.Background(), caller(nil), "T")
	wantError(t, err, message.TopicNotExist, "No topic route info in name server for the topic: T. "+
		"No broker that is registered here has it; create it with: weir topic create T")
}

func TestDeleteRoute(t *testing.T) {
	f := newFixture(t, nil)
	ctx := context.Background()
	other := master("b", "b:1", 1, "T", "U")
	other.Cluster = "D"
	f.register(nil, master("a", "a:1", 1, "T"))
	f.register(nil, other)
	f.DeleteRoute(ctx, caller(nil), "T", "unknown")
	f.wantRoute("T", "a(6)@0=a:1 b(6)@0=b:1")
	f.DeleteRoute(ctx, caller(nil), "T", "D")
	f.wantRoute("T", "a(6)@0=a:1")
	f.DeleteRoute(ctx, caller(nil), "T", "C")
	f.wantRoute("T", "")
	f.DeleteRoute(ctx, caller(nil), "U", "")
	f.wantRoute("U", "")
	if err := f.DeleteRoute(ctx, caller(nil), "unknown", ""); err != nil {
		t.Error(err)
	}
}

func TestTopicList(t *testing.T) {
	f := newFixture(t, nil)
	a, b := master("a", "a:1", 1, "T", "Unit", "Sub", "Both"), master("b", "b:1", 1, "T", "U")
	a.Topics[1].SysFlag, a.Topics[2].SysFlag, a.Topics[3].SysFlag = 1, 2, 3
	b.Cluster = "D"
	f.register(nil, a)
	f.register(nil, b)
	for _, c := range []struct {
		query transport.TopicQuery
		want  transport.TopicList
	}{
		{transport.TopicQuery{Kind: transport.AllTopics}, transport.TopicList{Topics: []string{"Both", "Sub", "T", "U", "Unit"}}},
		{transport.TopicQuery{Kind: transport.TopicsOfCluster, Cluster: "D"}, transport.TopicList{Topics: []string{"T", "U"}}},
		{transport.TopicQuery{Kind: transport.TopicsOfCluster, Cluster: "X"}, transport.TopicList{Topics: []string{}}},
		{transport.TopicQuery{Kind: transport.SystemTopics}, transport.TopicList{Topics: []string{"C", "D", "a", "b"}, Broker: "a:1"}},
		{transport.TopicQuery{Kind: transport.UnitTopics}, transport.TopicList{Topics: []string{"Both", "Unit"}}},
		{transport.TopicQuery{Kind: transport.UnitSubTopics}, transport.TopicList{Topics: []string{"Both", "Sub"}}},
		{transport.TopicQuery{Kind: transport.UnitSubNotUnitTopics}, transport.TopicList{Topics: []string{"Sub"}}},
	} {
		got, err := f.TopicList(context.Background(), caller(nil), c.query)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v: got %+v, %v", c.query, got, err)
		}
	}
}

func TestLimits(t *testing.T) {
	f := newFixture(t, func(c *Config) { c.BrokersMax, c.TopicsMax, c.KVMax = 2, 3, 2 })
	ctx := context.Background()
	f.register(nil, master("a", "a:1", 1, "T", "U"))
	f.register(nil, master("b", "b:1", 1, "T"))
	_, err := f.Register(ctx, caller(nil), master("c", "c:1", 1, "T"))
	wantError(t, err, message.SystemError, `broker "c" at c:1 is not registered: 2 brokers are, and no more are allowed here`)
	_, err = f.Register(ctx, caller(nil), master("b", "b:1", 2, "T", "V", "W"))
	wantError(t, err, message.SystemError,
		`the topics of broker "b" are not registered: with its 2 new ones there would be 4, more than the 3 allowed here`)
	f.wantRoute("V", "")
	f.wantRoute("T", "a(6)@0=a:1 b(6)@0=b:1") // as before
	f.DeleteRoute(ctx, caller(nil), "U", "")
	f.register(nil, master("b", "b:1", 2, "T", "V", "W")) // the same version, but its topics were not taken before
	f.wantRoute("V", "b(6)@0=b:1")

	long := strings.Repeat("x", 256)
	_, err = f.Register(ctx, caller(nil), master(long, "c:1", 1))
	wantError(t, err, message.SystemError, "the broker name of a registration has 256 bytes, at most 255 are allowed")
	_, err = f.Register(ctx, caller(nil), master("c", " ", 1))
	wantError(t, err, message.SystemError, "registration without a broker address")

	// One address can't fill the tables by changing its names.
	for i := range 5 {
		r := master(fmt.Sprint("b", i), "b:1", 1)
		r.Cluster = fmt.Sprint("C", i)
		f.register(nil, r)
	}
	for i := range 5 {
		r := master("a", "a:1", int64(i))
		r.Cluster = fmt.Sprint("C", i)
		f.register(nil, r)
	}
	info, _ := f.ClusterInfo(ctx, caller(nil))
	if want := map[string][]string{"C4": {"a", "b4"}}; len(info.Brokers) != 2 || !reflect.DeepEqual(info.Clusters, want) {
		t.Errorf("got %+v", info)
	}

	f.PutKV(ctx, caller(nil), "n", "a", "1")
	f.PutKV(ctx, caller(nil), "n", "b", "1")
	wantError(t, f.PutKV(ctx, caller(nil), "n", "c", "1"), message.SystemError,
		`key "c" is not set: the KV table has 2 keys, and no more are allowed here`)
	if err := f.PutKV(ctx, caller(nil), "n", "b", "2"); err != nil {
		t.Error(err)
	}
}

func TestKV(t *testing.T) {
	f := newFixture(t, nil)
	ctx := context.Background()
	_, err := f.KV(ctx, caller(nil), "n", "k")
	wantError(t, err, message.QueryNotFound, "No config item, Namespace: n Key: k")
	_, err = f.KVList(ctx, caller(nil), "n")
	wantError(t, err, message.QueryNotFound, "No config item, Namespace: n")
	wantError(t, f.PutKV(ctx, caller(nil), "", "k", "v"), message.SystemError, "namespace or key is null")
	if err := f.PutKV(ctx, caller(nil), "n", "k", "v"); err != nil {
		t.Fatal(err)
	}
	f.PutKV(ctx, caller(nil), "n", "l", "<中>")
	want := "{\n\t\"configTable\":{\n\t\t\"n\":{\n\t\t\t\"k\":\"v\",\n\t\t\t\"l\":\"<中>\"\n\t\t}\n\t}\n}"
	if got, err := vfs.ReadFile(f.fs, testFile, 1<<20); string(got) != want || err != nil {
		t.Errorf("file: got %s, %v", got, err)
	}
	f.fs = f.fs.(*vfs.Mem).CrashClone(vfs.Crash{})
	f.open(DefaultConfig(), &open{})
	if v, err := f.KV(ctx, caller(nil), "n", "k"); v != "v" || err != nil {
		t.Errorf("after a restart: %q, %v", v, err)
	}
	if got, _ := f.KVList(ctx, caller(nil), "n"); !reflect.DeepEqual(got, map[string]string{"k": "v", "l": "<中>"}) {
		t.Errorf("list: %v", got)
	}
	for _, key := range []string{"k", "l", "l"} {
		if err := f.DeleteKV(ctx, caller(nil), "n", key); err != nil {
			t.Error(err)
		}
	}
	if got, err := f.KVList(ctx, caller(nil), "n"); err != nil || got == nil || len(got) != 0 {
		t.Errorf("an emptied namespace: %v, %v", got, err)
	}
}

func TestKVOnAFullDiskStaysAsItWas(t *testing.T) {
	f := newFixture(t, nil)
	ctx := context.Background()
	full := errorfs.Wrap(f.fs, nil)
	f.fs = full
	f.open(DefaultConfig(), &open{})
	f.PutKV(ctx, caller(nil), "n", "k", "old")
	full.Set(errorfs.OnKind(errorfs.Write, syscall.ENOSPC))
	wantError(t, f.PutKV(ctx, caller(nil), "n", "k", "new"), message.SystemError,
		"the KV table was not changed: save "+testFile+": write "+testFile+".tmp: no space left on device")
	if v, _ := f.KV(ctx, caller(nil), "n", "k"); v != "old" {
		t.Errorf("got %q", v)
	}
}

func TestKVWithoutFileAndWithADamagedOne(t *testing.T) {
	set := Settings{FS: vfs.NewMem(nil), Clock: clock.Real(), Logger: slog.New(slog.DiscardHandler)}
	s, err := New(set, DefaultConfig(), &open{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.PutKV(context.Background(), caller(nil), "n", "k", "v"); err != nil {
		t.Error(err)
	}
	set.KVFile = testFile
	set.FS.MkdirAll(filepath.Dir(testFile))
	vfs.WriteFileAtomic(set.FS, testFile, []byte("{"))
	if _, err := New(set, DefaultConfig(), &open{}); err == nil || !strings.Contains(err.Error(), testFile) {
		t.Errorf("got %v", err)
	}
}

func TestOrderedTopics(t *testing.T) {
	f := newFixture(t, nil)
	ctx := context.Background()
	if got := f.register(nil, master("a", "a:1", 1, "T")); got.OrderTopics != nil {
		t.Errorf("got %v", got.OrderTopics)
	}
	f.PutKV(ctx, caller(nil), "ORDER_TOPIC_CONFIG", "T", "a:4")
	if got := f.register(nil, master("a", "a:1", 1, "T")); !reflect.DeepEqual(got.OrderTopics, map[string]string{"T": "a:4"}) {
		t.Errorf("got %v", got.OrderTopics)
	}
	route := func() string {
		r, err := f.Route(ctx, caller(nil), "T")
		if err != nil {
			t.Fatal(err)
		}
		return r.OrderConf
	}
	if got := route(); got != "" {
		t.Errorf("switched off, the route says %q", got)
	}
	if err := f.UpdateServerConfig(ctx, caller(nil), map[string]string{"orderMessageEnable": "true", "clusterTest": "false"}); err != nil {
		t.Fatal(err)
	}
	if got := route(); got != "a:4" {
		t.Errorf("got %q", got)
	}
}

func TestServerConfig(t *testing.T) {
	f := newFixture(t, nil)
	ctx := context.Background()
	want := map[string]string{"orderMessageEnable": "false", "kvConfigPath": testFile, "clusterTest": "false", "productEnvName": "center"}
	if got, err := f.ServerConfig(ctx, caller(nil)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, c := range []struct {
		key, value string
		code       message.Code
		remark     string
	}{
		{"kvConfigPath", "/x", message.NoPermission, "Can not update config path"},
		{"configStorePath", "/x", message.NoPermission, "Can not update config path"},
		{"orderMessageEnable", "yes", message.SystemError, `property orderMessageEnable: "yes" is not true or false`},
		{"listenPort", "1", message.SystemError,
			`property "listenPort" can't be changed while the name server runs; only orderMessageEnable can`},
	} {
		wantError(t, f.UpdateServerConfig(ctx, caller(nil), map[string]string{c.key: c.value}), c.code, c.remark)
	}
}

// calls are all methods that a transport can reach.
func calls(s *Server) map[string]func() error {
	ctx, c := context.Background(), caller(nil)
	return map[string]func() error{
		"describe topic T":   func() error { _, err := s.Route(ctx, c, "T"); return err },
		"describe cluster 1": func() error { _, err := s.ClusterInfo(ctx, c); return err },
		"describe cluster 2": func() error { _, err := s.TopicList(ctx, c, transport.TopicQuery{}); return err },
		"describe cluster 3": func() error { _, err := s.ServerConfig(ctx, c); return err },
		"describe cluster 4": func() error { _, err := s.KV(ctx, c, "n", "k"); return err },
		"describe cluster 5": func() error { _, err := s.KVList(ctx, c, "n"); return err },
		"alter topic T":      func() error { return s.DeleteRoute(ctx, c, "T", "") },
		"alter cluster 1":    func() error { _, err := s.SetWritePerm(ctx, c, "a", true); return err },
		"alter cluster 2":    func() error { return s.UpdateServerConfig(ctx, c, nil) },
		"alter cluster 3":    func() error { return s.PutKV(ctx, c, "n", "k", "v") },
		"alter cluster 4":    func() error { return s.DeleteKV(ctx, c, "n", "k") },
		"register cluster 1": func() error { _, err := s.Register(ctx, c, master("a", "a:1", 1, "T")); return err },
		"register cluster 2": func() error { return s.Unregister(ctx, c, master("a", "a:1", 1).BrokerIdentity) },
		"register cluster 3": func() error {
			_, _, err := s.TopicsChanged(ctx, c, master("a", "a:1", 1).BrokerIdentity, transport.DataVersion{})
			return err
		},
	}
}

// TestEveryMethodAsksFirst wants each call to be refused by a shut door without a trace, and to ask an open one exactly
// once, for the right action.
func TestEveryMethodAsksFirst(t *testing.T) {
	f := newFixture(t, nil)
	f.open(DefaultConfig(), shut{})
	for name, call := range calls(f.Server) {
		if err := call(); !errors.Is(err, errShut) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if len(f.live)+len(f.brokers)+len(f.topics)+len(f.kv.table) != 0 {
		t.Error("a refused call left a trace")
	}
	door := &open{}
	f.open(DefaultConfig(), door)
	for name, call := range calls(f.Server) {
		door.asked = nil
		_ = call()
		want := []string{strings.TrimRight(name, " 12345")}
		if !slices.Equal(door.asked, want) {
			t.Errorf("%s: asked %q", name, door.asked)
		}
	}
}

// TestAnswersDoNotChange reads a route and a cluster list, changes everything, and looks again.
func TestAnswersDoNotChange(t *testing.T) {
	f := newFixture(t, nil)
	ctx := context.Background()
	f.register(nil, master("a", "a:1", 1, "T"))
	f.register(nil, replica("a", "r:1", 1))
	r, _ := f.Route(ctx, caller(nil), "T")
	info, _ := f.ClusterInfo(ctx, caller(nil))
	before := fmt.Sprint(r, info)
	f.register(nil, master("b", "b:1", 1, "T"))
	f.register(nil, replica("a", "r:1", 2))
	f.SetWritePerm(ctx, caller(nil), "a", false)
	f.Unregister(ctx, caller(nil), master("a", "a:1", 1).BrokerIdentity)
	if after := fmt.Sprint(r, info); before != after {
		t.Errorf("before %s\nafter  %s", before, after)
	}
}

// TestHammer registers, loses and asks from many goroutines; the race detector watches, and at the end only what stayed
// registered may be left.
func TestHammer(t *testing.T) {
	f := newFixture(t, nil)
	ctx := context.Background()
	f.register(nil, master("stays", "stays:1", 1, "T"))
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			name := fmt.Sprint("b", w)
			for i := range 50 {
				s := newSession(name)
				f.register(s, master(name, name+":1", int64(i), "T", name))
				f.SetWritePerm(ctx, caller(nil), name, i%2 == 0)
				r, err := f.Route(ctx, caller(nil), "T")
				if err != nil || len(r.Queues) == 0 {
					t.Errorf("route: %v", err)
				}
				f.TopicList(ctx, caller(nil), transport.TopicQuery{})
				f.ClusterInfo(ctx, caller(nil))
				f.SessionClosed(s)
			}
		})
	}
	wg.Wait()
	f.wantRoute("T", "stays(6)@0=stays:1")
	if len(f.live) != 1 || len(f.topics) != 1 {
		t.Errorf("left: %v, %v", f.live, f.topics)
	}
}

func BenchmarkRoute(b *testing.B) {
	s, err := New(Settings{FS: vfs.NewMem(nil), Clock: clock.Real(), Logger: slog.New(slog.DiscardHandler)}, DefaultConfig(), nothing{})
	if err != nil {
		b.Fatal(err)
	}
	r := master("a", "a:1", 1)
	for i := range 900 {
		r.Topics = append(r.Topics, transport.TopicConfig{Name: fmt.Sprint("T", i)})
	}
	if _, err := s.Register(context.Background(), caller(nil), r); err != nil {
		b.Fatal(err)
	}
	c := caller(nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Route(context.Background(), c, "T77"); err != nil {
			b.Fatal(err)
		}
	}
}

// nothing allows everything at once.
type nothing struct{}

func (nothing) Allow(context.Context, *transport.Caller, auth.Action, auth.Resource) error {
	return nil
}
