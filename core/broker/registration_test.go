package broker

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirmq/weir/core/transport"
)

// outside starts a broker that registers with name servers elsewhere, in the bubble of a synctest.
func outside(t *testing.T, servers ...*fakeNameServer) *node {
	t.Helper()
	w := newWorld()
	for _, ns := range servers {
		w.nameServers[ns.addr] = ns
		w.cfg.Cluster.Nameservers = append(w.cfg.Cluster.Nameservers, ns.addr)
	}
	return w.start(t)
}

// calls returns what the name server was asked since the last look, once nobody has anything left to do.
func (f *fakeNameServer) seen() (registrations []*transport.Registration, withdrawals int) {
	synctest.Wait()
	for {
		select {
		case c := <-f.calls:
			if c.registration == nil {
				withdrawals++
			} else {
				registrations = append(registrations, c.registration)
			}
		default:
			return registrations, withdrawals
		}
	}
}

func registeredTopic(r *transport.Registration, name string) (transport.TopicConfig, bool) {
	i := slices.IndexFunc(r.Topics, func(t transport.TopicConfig) bool { return t.Name == name })
	if i < 0 {
		return transport.TopicConfig{}, false
	}
	return r.Topics[i], true
}

func TestRegistersAtStartAndEvery30Seconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newFakeNameServer("10.0.0.20:9876"), newFakeNameServer("10.0.0.21:9876")
		n := outside(t, a, b)
		for _, ns := range []*fakeNameServer{a, b} {
			got, _ := ns.seen()
			if len(got) != 1 {
				t.Fatalf("%s heard %d registrations at the start", ns.addr, len(got))
			}
			want := transport.BrokerIdentity{Cluster: "DefaultCluster", Broker: "broker-a", Addr: listenAddr.String()}
			if got[0].BrokerIdentity != want {
				t.Errorf("registered as %+v", got[0].BrokerIdentity)
			}
			if tc, ok := registeredTopic(got[0], "TBW102"); !ok || tc.Perm != 7 || tc.WriteQueues != 8 {
				t.Errorf("registered TBW102 as %+v, %v", tc, ok)
			}
		}
		time.Sleep(30*time.Second - time.Nanosecond)
		if got, _ := a.seen(); len(got) != 0 {
			t.Errorf("registered again before 30 s")
		}
		time.Sleep(time.Nanosecond)
		if got, _ := a.seen(); len(got) != 1 {
			t.Errorf("%d registrations after 30 s", len(got))
		}
		n.stop()
		for _, ns := range []*fakeNameServer{a, b} {
			if _, gone := ns.seen(); gone != 1 || !ns.closed {
				t.Errorf("%s heard %d withdrawals, closed %v", ns.addr, gone, ns.closed)
			}
		}
	})
}

func TestTriesAgainAfter5Seconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ns := newFakeNameServer("10.0.0.20:9876")
		ns.set(errors.New("connection refused"))
		n := outside(t, ns)
		if got, _ := ns.seen(); len(got) != 1 {
			t.Fatalf("%d registrations at the start", len(got))
		}
		for range 3 {
			time.Sleep(5 * time.Second)
			if got, _ := ns.seen(); len(got) != 1 {
				t.Errorf("%d registrations in 5 s", len(got))
			}
		}
		ns.set(nil)
		time.Sleep(5 * time.Second)
		ns.seen()
		time.Sleep(29 * time.Second)
		if got, _ := ns.seen(); len(got) != 0 {
			t.Errorf("%d registrations in 29 s although it answers again", len(got))
		}
		ns.set(errors.New("connection refused"))
		time.Sleep(time.Second)
		ns.seen()
		n.stop()
		if _, gone := ns.seen(); gone != 0 || !ns.closed {
			t.Errorf("a name server that is away heard %d withdrawals, closed %v", gone, ns.closed)
		}
	})
}

// TestAChangeIsKnownBeforeItsAnswer creates a topic while a name server takes its time: the answer waits for it.
func TestAChangeIsKnownBeforeItsAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ns := newFakeNameServer("10.0.0.20:9876")
		n := outside(t, ns)
		defer n.stop()
		before, _ := ns.seen()
		hold := make(chan struct{})
		ns.setHold(hold)
		var answered atomic.Bool
		go func() {
			n.putTopic("T", 3)
			answered.Store(true)
		}()
		got, _ := ns.seen()
		if answered.Load() || len(got) != 1 {
			t.Fatalf("answered %v, %d registrations", answered.Load(), len(got))
		}
		tc, ok := registeredTopic(got[0], "T")
		if !ok || tc.WriteQueues != 3 || got[0].Version == before[0].Version {
			t.Errorf("registered %+v, %v, with version %v after %v", tc, ok, got[0].Version, before[0].Version)
		}
		close(hold)
		synctest.Wait()
		if !answered.Load() {
			t.Error("not answered when the name server knows")
		}
	})
}

// TestAnAnswerDoesNotWaitForever covers name servers that don't answer, and one that couldn't be reached before.
func TestAnAnswerDoesNotWaitForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ns := newFakeNameServer("10.0.0.20:9876")
		n := outside(t, ns)
		ns.seen()
		ns.setHold(make(chan struct{}))
		began := time.Now()
		n.putTopic("T", 1)
		if took := time.Since(began); took != registerTimeout {
			t.Errorf("waited %v for a name server that is silent", took)
		}
		synctest.Wait()
		began = time.Now()
		n.putTopic("U", 1)
		if took := time.Since(began); took != 0 {
			t.Errorf("waited %v for a name server that was silent before", took)
		}
		began = time.Now()
		n.stop()
		if took := time.Since(began); took > unregisterTimeout {
			t.Errorf("stopping took %v", took)
		}
	})
}

// TestAStopEndsTheWaitForNameServers stops while an operator's command waits for a silent name server.
func TestAStopEndsTheWaitForNameServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ns := newFakeNameServer("10.0.0.20:9876")
		n := outside(t, ns)
		ns.seen()
		ns.setHold(make(chan struct{}))
		answered := make(chan struct{})
		go func() {
			n.putTopic("T", 1)
			close(answered)
		}()
		synctest.Wait()
		began := time.Now()
		n.b.handler.registration.stop(t.Context())
		<-answered
		if took := time.Since(began); took > unregisterTimeout {
			t.Errorf("the command was answered %v after the stop", took)
		}
		n.stop()
	})
}

// TestAnAutoCreatedTopicReachesNameServersElsewhere sends to a new topic: the producer isn't kept waiting, and the name
// servers hear of it at once.
func TestAnAutoCreatedTopicReachesNameServersElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ns := newFakeNameServer("10.0.0.20:9876")
		n := outside(t, ns)
		defer n.stop()
		ns.seen()
		hold := make(chan struct{})
		ns.setHold(hold)
		n.mustSend("New", "x")
		got, _ := ns.seen()
		if len(got) != 1 {
			t.Fatalf("%d registrations", len(got))
		}
		if _, ok := registeredTopic(got[0], "New"); !ok {
			t.Error("the registration doesn't name the topic")
		}
		n.mustSend("Newer", "x")
		n.mustSend("Newest", "x")
		close(hold)
		got, _ = ns.seen()
		if len(got) == 0 {
			t.Fatal("no registration carries what happened during the last")
		}
		if _, ok := registeredTopic(got[len(got)-1], "Newest"); !ok {
			t.Error("the last registration doesn't name the last topic")
		}
	})
}

func TestABrokerThatMayNotBeWrittenToSaysSoToNameServersElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ns := newFakeNameServer("10.0.0.20:9876")
		n := outside(t, ns)
		defer n.stop()
		n.putTopic("T", 1)
		before, _ := ns.seen()
		version := before[len(before)-1].Version
		for _, perm := range []string{"4", "6"} {
			n.setPermission(perm)
			got, _ := ns.seen()
			if len(got) != 1 {
				t.Fatalf("%d registrations", len(got))
			}
			if tc, _ := registeredTopic(got[0], "T"); string('0'+rune(tc.Perm)) != perm || got[0].Version == version {
				t.Errorf("brokerPermission %s: registered with permission %d and version %v after %v", perm, tc.Perm, got[0].Version, version)
			}
			version = got[0].Version
		}
	})
}

// TestNameServersSayWhichTopicsAreOrdered covers a name server elsewhere and the embedded one.
func TestNameServersSayWhichTopicsAreOrdered(t *testing.T) {
	ordered := func(n *node) (names []string) {
		all, _ := n.b.handler.topics.All()
		for i := range all {
			if all[i].Order {
				names = append(names, all[i].Name)
			}
		}
		return names
	}
	synctest.Test(t, func(t *testing.T) {
		ns := newFakeNameServer("10.0.0.20:9876")
		n := outside(t, ns)
		defer n.stop()
		n.putTopic("A", 1)
		n.putTopic("B", 1)
		ns.setOrder(map[string]string{"A": "broker-a:1"})
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if got := ordered(n); !slices.Equal(got, []string{"A"}) {
			t.Errorf("ordered topics %v", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		n := outside(t)
		defer n.stop()
		n.putTopic("B", 1)
		if err := n.w.names.h.KV.PutKV(t.Context(), caller(newSession("10.0.0.1:1")), "ORDER_TOPIC_CONFIG", "B", "broker-a:1"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if got := ordered(n); !slices.Equal(got, []string{"B"}) {
			t.Errorf("ordered topics %v", got)
		}
	})
}

// TestAStoppedBrokerHasNoRoute looks into the embedded name server's tables.
func TestAStoppedBrokerHasNoRoute(t *testing.T) {
	w := newWorld()
	n := w.start(t)
	c := caller(newSession("10.0.0.1:1"))
	info, err := w.names.h.Router.ClusterInfo(t.Context(), c)
	if err != nil || !maps.EqualFunc(info.Clusters, map[string][]string{"DefaultCluster": {"broker-a"}}, slices.Equal) {
		t.Errorf("while it runs: %+v, %v", info, err)
	}
	n.stop()
	if info, err = w.names.h.Router.ClusterInfo(t.Context(), c); err != nil || len(info.Clusters) != 0 {
		t.Errorf("when it has stopped: %+v, %v", info, err)
	}
}

// slowNameServer lets a test hold the second registration with the embedded name server.
type slowNameServer struct {
	last    transport.DataVersion
	entered chan struct{} // closed when the second registration has come
	held    chan struct{} // the second registration waits for it
	n       atomic.Int32
}

func (s *slowNameServer) Addr() string { return "embedded" }
func (s *slowNameServer) Register(_ context.Context, r *transport.Registration, _ bool) (transport.RegisterResult, error) {
	if s.n.Add(1) == 2 {
		close(s.entered)
		<-s.held
	}
	s.last = r.Version
	return transport.RegisterResult{}, nil
}
func (s *slowNameServer) Unregister(context.Context, transport.BrokerIdentity) error { return nil }
func (s *slowNameServer) Close() error                                               { return nil }

// TestAnOlderStateNeverFollowsANewerOne holds the periodic registration with the embedded name server while a change is
// registered, too.
func TestAnOlderStateNeverFollowsANewerOne(t *testing.T) {
	own := &slowNameServer{entered: make(chan struct{}), held: make(chan struct{})}
	r := newRegistration(newWorld().clock, newWorld().log, own, nil)
	var version atomic.Int64
	r.snapshot = func() ([]transport.TopicConfig, transport.DataVersion) {
		return nil, transport.DataVersion{Counter: version.Load()}
	}
	r.order = func(map[string]string) {}
	if err := r.start(transport.BrokerIdentity{}); err != nil {
		t.Fatal(err)
	}
	await(t, own.entered) // that of keepOwn, which has seen version 0
	version.Store(1)
	changed := make(chan struct{})
	go func() {
		r.changed(t.Context(), false)
		close(changed)
	}()
	close(own.held)
	await(t, changed)
	r.stop(t.Context())
	if own.last.Counter != 1 {
		t.Errorf("the name server knows version %d", own.last.Counter)
	}
}
