package remoting

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// nameServer starts a name server's endpoint with all roles.
func nameServer(t *testing.T, addr string) (transport.Transport, *allRoles) {
	t.Helper()
	roles := &allRoles{}
	ns, err := Factory{}.NewNameServer(settings(t, clock.Real(), nil), addr, nil, roles.handlers())
	if err != nil {
		t.Fatal(err)
	}
	if err := ns.Start(t.Context(), noHost{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ns.Stop(context.Background()) })
	return ns, roles
}

var someBroker = transport.BrokerIdentity{Cluster: "C", Broker: "b", ID: 0, Addr: "10.0.0.1:10911"}

func TestRegistrar(t *testing.T) {
	ns, roles := nameServer(t, "127.0.0.1:0")
	addr := ns.Addr().String()
	r, err := Factory{}.NewRegistrar(settings(t, clock.Real(), nil), addr, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.Addr() != addr {
		t.Errorf("address %s", r.Addr())
	}
	reg := &transport.Registration{
		BrokerIdentity: someBroker, HAAddr: "10.0.0.1:10912",
		Topics: []transport.TopicConfig{someTopic}, Version: transport.DataVersion{Counter: 3, Timestamp: 4},
	}
	want := `Registry.Register {"Cluster":"C","Broker":"b","ID":0,"Addr":"10.0.0.1:10911"},"10.0.0.1:10912",[],{"Counter":3,"Timestamp":4},["T"]`
	res, err := r.Register(t.Context(), reg, false)
	if err != nil || res.OrderTopics["T"] != "broker-a:4" {
		t.Errorf("register: %+v, %v", res, err)
	}
	if got := roles.take(); len(got) != 1 || got[0] != want {
		t.Errorf("asked %q", got)
	}

	if _, err := r.Register(t.Context(), reg, true); err != nil {
		t.Errorf("register one-way: %v", err)
	}
	if err := r.Unregister(t.Context(), someBroker); err != nil {
		t.Errorf("unregister: %v", err)
	}
	if got := strings.Join(roles.take(), "\n"); !strings.Contains(got, `Registry.Unregister {"Cluster":"C","Broker":"b","ID":0,"Addr":"10.0.0.1:10911"}`) {
		t.Errorf("asked %s", got)
	}

	// The name server starts again; the connection that rested is of no use.
	if err := ns.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Register(t.Context(), reg, false); err == nil {
		t.Error("registered with nobody")
	}
	_, roles = nameServer(t, addr)
	if _, err := r.Register(t.Context(), reg, false); err != nil {
		t.Errorf("register after a restart: %v", err)
	}
	if got := roles.take(); len(got) != 1 || got[0] != want {
		t.Errorf("asked %q", got)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := r.Register(t.Context(), reg, false); !errors.Is(err, errRegistrarClosed) {
		t.Errorf("register after close: %v", err)
	}
}

func TestRegistrarIsRefused(t *testing.T) {
	e := start(t, transport.Handlers{}, nil)
	r, err := Factory{}.NewRegistrar(settings(t, clock.Real(), nil), e.Addr().String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var refused *message.Error
	if err := r.Unregister(t.Context(), someBroker); !errors.As(err, &refused) || refused.Code != message.CodeNotSupported {
		t.Errorf("unregister: %v", err)
	}
}

// TestRegistrarDoesNotWaitForEver asks somebody who accepts and says nothing.
func TestRegistrarDoesNotWaitForEver(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r, err := Factory{}.NewRegistrar(settings(t, clock.Real(), nil), l.Addr().String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		if nc, err := l.Accept(); err == nil {
			buf := make([]byte, 100)
			_, _ = nc.Read(buf)
			cancel()
		}
	}()
	if err := r.Unregister(ctx, someBroker); !errors.Is(err, context.Canceled) {
		t.Errorf("unregister: %v", err)
	}
	_ = r.Close()
}

func TestRegistrarAddresses(t *testing.T) {
	for _, bad := range []string{"", "host", ":9876", "host:0", "host:x", "host:70000"} {
		if _, err := (Factory{}).NewRegistrar(settings(t, clock.Real(), nil), bad, nil); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
