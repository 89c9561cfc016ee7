package remoting

import (
	"context"
	"strings"
	"testing"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire/sealed/sealedtest"
)

// nameServerWith starts a name server's endpoint with TLS of some kind.
func nameServerWith(t *testing.T, cfg TLSConfig) (addr string, roles *allRoles) {
	t.Helper()
	beside := defaultConfig()
	beside.TLS = cfg
	roles = &allRoles{}
	ns, err := Factory{}.NewNameServer(settings(t, clock.Real(), nil), "127.0.0.1:0", beside, roles.handlers())
	if err != nil {
		t.Fatal(err)
	}
	if err := ns.Start(t.Context(), noHost{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ns.Stop(context.Background()) })
	return ns.Addr().String(), roles
}

// TestRegistrarWithTLS registers at name servers of all kinds. What fails says what to change.
func TestRegistrarWithTLS(t *testing.T) {
	ours, others := sealedtest.New(t, "ours"), sealedtest.New(t, "others")
	cert, key := ours.Sign(t, "server", "127.0.0.1")
	clientCert, clientKey := ours.Sign(t, "client", "127.0.0.1")
	ca, otherCA := ours.File, others.File

	signed := TLSConfig{Mode: tlsEnforcing, ClientAuth: clientAuthNone, Cert: cert, Key: key}
	mutual := TLSConfig{Mode: tlsEnforcing, ClientAuth: clientAuthRequire, ClientCA: ca, Cert: cert, Key: key}
	own := TLSConfig{Mode: tlsEnforcing, ClientAuth: clientAuthNone}
	plain := TLSConfig{Mode: tlsDisabled, ClientAuth: clientAuthNone}
	for _, c := range []struct {
		name   string
		server TLSConfig
		client TLSClientConfig
		want   string // in the error; empty for none
	}{
		{"a certificate of ours", signed, TLSClientConfig{Enabled: true, CA: ca}, ""},
		{"any certificate", own, TLSClientConfig{Enabled: true, InsecureSkipVerify: true}, ""},
		{"both show one", mutual, TLSClientConfig{Enabled: true, CA: ca, Cert: clientCert, Key: clientKey}, ""},
		{"permissive", TLSConfig{Mode: tlsPermissive, ClientAuth: clientAuthNone}, TLSClientConfig{}, ""},
		{"signed by others", signed, TLSClientConfig{Enabled: true, CA: otherCA}, "name its authority in transports.remoting.tls.client.ca"},
		{"signed by nobody", own, TLSClientConfig{Enabled: true}, "name its authority in transports.remoting.tls.client.ca"},
		{"for somebody else", signed, TLSClientConfig{Enabled: true, CA: ca, ServerName: "ns.example"}, "name whom its certificate is for in transports.remoting.tls.client.server_name"},
		{"none to show", mutual, TLSClientConfig{Enabled: true, CA: ca}, "name server 127.0.0.1:"},
		{"plain, and TLS is wanted", signed, TLSClientConfig{}, "if it takes only connections with TLS, set transports.remoting.tls.client.enabled"},
		{"TLS, and plain is wanted", plain, TLSClientConfig{Enabled: true, CA: ca}, "if it takes only plain connections, unset transports.remoting.tls.client.enabled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			addr, roles := nameServerWith(t, c.server)
			beside := defaultConfig()
			beside.TLS.Client = c.client
			if err := beside.Validate(); err != nil {
				t.Fatal(err)
			}
			r, err := Factory{}.NewRegistrar(settings(t, clock.Real(), nil), addr, beside)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			for range 2 { // the second over the same connection
				res, err := r.Register(t.Context(), &transport.Registration{BrokerIdentity: someBroker, Topics: []transport.TopicConfig{someTopic}}, false)
				switch {
				case c.want == "" && (err != nil || res.OrderTopics["T"] != "broker-a:4"):
					t.Errorf("register: %+v, %v", res, err)
				case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
					t.Errorf("register: %v, want %q", err, c.want)
				}
			}
			if got := roles.take(); c.want == "" && len(got) != 2 || c.want != "" && len(got) != 0 {
				t.Errorf("asked %q", got)
			}
		})
	}
}

func TestTLSClientConfiguration(t *testing.T) {
	for _, c := range []struct {
		cfg  TLSClientConfig
		want string
	}{
		{TLSClientConfig{CA: "a"}, "tls.client.ca: is set, but connections to name servers are plain"},
		{TLSClientConfig{InsecureSkipVerify: true}, "tls.client.insecure_skip_verify: is set, but"},
		{TLSClientConfig{Enabled: true, InsecureSkipVerify: true, CA: "a"}, "takes any certificate"},
		{TLSClientConfig{Enabled: true, Cert: "a"}, "cert and key belong together"},
	} {
		cfg := defaultConfig()
		cfg.TLS.Client = c.cfg
		if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.cfg, err)
		}
	}
	for _, c := range []struct {
		cfg  TLSClientConfig
		want string
	}{
		{TLSClientConfig{Enabled: true, CA: "/nowhere.crt"}, "read tls.client.ca"},
		{TLSClientConfig{Enabled: true, Cert: "/nowhere.crt", Key: "/nowhere.key"}, "read tls.client.cert /nowhere.crt and key /nowhere.key"},
	} {
		beside := defaultConfig()
		beside.TLS.Client = c.cfg
		if _, err := (Factory{}).NewRegistrar(settings(t, clock.Real(), nil), "127.0.0.1:9876", beside); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.cfg, err)
		}
	}
}
