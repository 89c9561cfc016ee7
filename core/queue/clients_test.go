package queue

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

func beat(w *world, s transport.Session, h *transport.Heartbeat) error {
	return w.clients.Heartbeat(context.Background(), &transport.Caller{Session: s, Language: "GO", Version: 317}, h)
}

func TestHeartbeatBounds(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.ClientGroupsMax, c.SubscriptionsMax, c.ExpressionSizeMax = 2, 2, 10 })
	s := session(1)
	for _, c := range []struct {
		name string
		h    transport.Heartbeat
		want string
	}{
		{"no client id", transport.Heartbeat{}, "the client id has 0 bytes"},
		{"long client id", transport.Heartbeat{ClientID: strings.Repeat("x", 1025)}, "1025 bytes"},
		{"groups", transport.Heartbeat{ClientID: "c", ProducerGroups: []string{"a", "b", "c"}}, "in 3 groups, at most 2"},
		{"subscriptions", transport.Heartbeat{ClientID: "c", Consumers: []transport.ConsumerData{consumer("g", sub("A", "*"), sub("B", "*"), sub("C", "*"))}}, "subscribes 3 topics"},
		{"expression", transport.Heartbeat{ClientID: "c", Consumers: []transport.ConsumerData{consumer("g", sub("A", "01234567890"))}}, "expression of 11 bytes"},
		{"producer name", transport.Heartbeat{ClientID: "c", ProducerGroups: []string{"a/b"}}, "illegal character"},
	} {
		if err := beat(w, s, &c.h); code(err) != message.SystemError || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	// Over several heartbeats the bound is the same, and what is inside it is taken.
	if err := beat(w, s, &transport.Heartbeat{ClientID: "c", ProducerGroups: []string{"p1", "p2"}}); err != nil {
		t.Fatal(err)
	}
	err := beat(w, s, &transport.Heartbeat{ClientID: "c", Consumers: []transport.ConsumerData{consumer("g", sub("A", "*"))}})
	if code(err) != message.SystemError || !strings.Contains(err.Error(), "more than 2 groups") {
		t.Errorf("a third group: %v", err)
	}
	if w.clients.Online("g") {
		t.Error("the group that was refused is online")
	}
}

func TestConnections(t *testing.T) {
	w := newWorld(t, nil)
	w.groups.set(plainGroup("g"))
	a, b := session(1), session(2)
	for s, id := range map[*fakeSession]string{a: "c1", b: "c2"} {
		err := beat(w, s, &transport.Heartbeat{ClientID: id, ProducerGroups: []string{"p"}, Consumers: []transport.ConsumerData{
			{Group: "g", Type: transport.ConsumePassively, Model: transport.Broadcasting, From: transport.ConsumeFromTimestamp,
				Subscriptions: []transport.Subscription{sub("U", "*"), sub("T", "A||B")}}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	info, err := w.clients.ConsumerGroup("g")
	want := fmt.Sprintf("{[{c1 10.0.0.1:1001 GO 317 %d} {c2 10.0.0.1:1002 GO 317 %[1]d}] 1 0 5 [{T {TAG A||B} 1 false} {U {TAG *} 1 false}]}", testStart.UnixMilli())
	if err != nil || fmt.Sprint(info) != want {
		t.Errorf("%v\ngot  %v\nwant %s", err, info, want)
	}
	if m, ok := w.clients.Consumer("g", "c2"); !ok || m.Session != transport.Session(b) {
		t.Errorf("found %v %v", m, ok)
	}
	if m, ok := w.clients.ProducerSession("c1"); !ok || m != transport.Session(a) {
		t.Errorf("found %v %v", m, ok)
	}
	if _, err := w.clients.ProducerConnections("nobody"); code(err) != message.SystemError {
		t.Errorf("no producers: %v", err)
	}
	if got := w.clients.AllProducers(); len(got["p"]) != 2 || len(got) != 1 {
		t.Errorf("producers %v", got)
	}
	if topics, ok := w.clients.Topics("g"); !ok || fmt.Sprint(topics) != "[T U]" {
		t.Errorf("topics %v", topics)
	}
	if got := fmt.Sprint(w.clients.Groups("T")); got != "[g]" {
		t.Errorf("groups %s", got)
	}
	w.clients.Unregister(a, "p", "g")
	w.clients.Unregister(a, "p", "g") // twice is fine
	if got, err := w.clients.ProducerConnections("p"); err != nil || len(got) != 1 {
		t.Errorf("%v %v", got, err)
	}
	w.clients.SessionClosed(b)
	if n := len(w.clients.sessions) + len(w.clients.producers) + len(w.clients.consumers); n != 0 {
		t.Errorf("%d things are left after everybody has gone", n)
	}
	if strings.Join(w.retried, " ") != "g g" {
		t.Errorf("retry topics asked for: %v", w.retried)
	}
}

// TestHammerClients lets clients come, change their minds and go, while others pull by the groups' subscriptions. No
// program may be used after it was closed (the test's programs panic then), and in the end nothing is left.
func TestHammerClients(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.ProgramsMax = 1 })
	w.topic("T", 1)
	w.groups.set(plainGroup("g"))
	for range 50 {
		w.log.send("T", 0, "A", "x")
	}
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			for i := range 500 {
				s := session(n*1000 + i)
				for v := range 4 {
					sub := transport.Subscription{Topic: "T", Expression: tags(fmt.Sprint("A||", i, "-", v)), Version: int64(i*10 + v)}
					if err := beat(w, s, &transport.Heartbeat{ClientID: fmt.Sprint("c", n), Consumers: []transport.ConsumerData{consumer("g", sub)}}); err != nil {
						t.Error(err)
					}
				}
				if i%2 == 0 {
					w.clients.Unregister(s, "", "g")
				}
				w.clients.SessionClosed(s)
			}
		})
		wg.Go(func() {
			p := &transport.Pull{Caller: transport.Caller{Session: session(9)}, Reply: discard{}, Group: "g", Topic: "T", MaxNum: 10}
			for range 3000 {
				w.pulls.Pull(context.Background(), p)
				if p.Code != message.Success && p.Code != message.SubscriptionNotExist {
					t.Errorf("code %v: %s", p.Code, p.Remark)
					return
				}
			}
		})
	}
	wg.Wait()
	if n := len(w.clients.sessions) + len(w.clients.consumers); n != 0 {
		t.Errorf("%d things are left after everybody has gone", n)
	}
}

// TestLongSubscriptionsAreBounded: of what a member subscribes little is kept, and members still are told apart.
func TestLongSubscriptionsAreBounded(t *testing.T) {
	long := func(end string) []transport.Subscription {
		return []transport.Subscription{sub("T", strings.Repeat("TagÄ||", 2000)+end)}
	}
	a, b := wantsOf("g", long("A")), wantsOf("g", long("B"))
	if len(a) > 2*wantsMax || a != wantsOf("g", long("A")) {
		t.Errorf("%d bytes are kept", len(a))
	}
	if short := wantsOf("g", []transport.Subscription{sub("T", "A")}); short != "T A" || len(oneLine(strings.Repeat("Ä", 500))) > shownMax+4 {
		t.Errorf("a short one is %q", short)
	}
	c, d := []transport.Subscription{{Topic: "T", Expression: filter.Expression{Type: "BODY", Text: strings.Repeat("x", 9000) + "1"}}},
		[]transport.Subscription{{Topic: "T", Expression: filter.Expression{Type: "BODY", Text: strings.Repeat("x", 9000) + "2"}}}
	if a == b || wantsOf("g", c) == wantsOf("g", d) {
		t.Error("different subscriptions look alike")
	}
}

// TestProducerSession finds who is to get replies: by each id only while it is in use, and among several connections the last that is alive.
func TestProducerSession(t *testing.T) {
	w := newWorld(t, nil)
	a, b := session(1), session(2)
	register := func(s *fakeSession, id string, groups ...string) {
		t.Helper()
		if err := beat(w, s, &transport.Heartbeat{ClientID: id, ProducerGroups: groups}); err != nil {
			t.Fatal(err)
		}
	}
	find := func(id string, want *fakeSession) {
		t.Helper()
		s, ok := w.clients.ProducerSession(id)
		if ok != (want != nil) || ok && s != transport.Session(want) {
			t.Errorf("%s is found at %v", id, s)
		}
	}
	register(a, "x", "p", "q")
	register(b, "x", "p")
	find("x", b)
	w.clients.Unregister(a, "p", "") // and is still a producer, of q
	b.dead.Store(true)
	find("x", a)
	w.clients.SessionClosed(b)
	find("x", a)
	for i := range 100 { // an id that changes leaves nothing behind
		register(a, fmt.Sprint("y", i), "q")
	}
	find("x", nil)
	find("y99", a)
	if n := len(w.clients.askers); n != 1 {
		t.Errorf("%d ids are kept", n)
	}
	w.clients.Unregister(a, "q", "")
	find("y99", nil)
	if n := len(w.clients.askers); n != 0 {
		t.Errorf("%d ids are kept", n)
	}
}
