package remoting

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
	"github.com/weirmq/weir/sdk/wire/sealed/sealedtest"
)

// secure dials e with TLS.
func secure(t *testing.T, e *endpoint, cfg *tls.Config) *peer {
	t.Helper()
	nc, err := net.Dial("tcp", e.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	return &peer{tb: t, nc: tls.Client(nc, cfg)}
}

// ask sends a message and says whether it was answered.
func ask(t *testing.T, p *peer) error {
	t.Helper()
	if _, err := p.nc.Write(frame(t, wire.JSON, wire.CodeSendMessageV2, 1, 0, sendExt("T"), []byte("body"))); err != nil {
		return err
	}
	a, err := p.tryRead()
	if err == nil && a.Opaque != 1 {
		return errors.New("the answer to another request")
	}
	return err
}

func TestTLSModes(t *testing.T) {
	for _, c := range []struct {
		mode       string
		plain, tls bool
		say        string
	}{
		{"permissive", true, true, ""},
		{"enforcing", false, true, "the connection is plain, and only those with TLS are taken (tls.mode: enforcing)"},
		{"disabled", true, false, "the connection begins with TLS, and that is switched off (tls.mode: disabled)"},
	} {
		t.Run(c.mode, func(t *testing.T) {
			var log logBuffer
			e := start(t, transport.Handlers{Sender: newFakeSender()}, func(cfg *Config) { cfg.TLS.Mode = c.mode }, withLog(&log))
			if err := ask(t, dial(t, e)); (err == nil) != c.plain {
				t.Errorf("plain: %v", err)
			}
			if err := ask(t, secure(t, e, &tls.Config{InsecureSkipVerify: true})); (err == nil) != c.tls { //nolint:gosec // nobody has signed it
				t.Errorf("TLS: %v", err)
			}
			if err := e.Stop(t.Context()); err != nil { // then everything is in the log
				t.Error(err)
			}
			if !strings.Contains(log.String(), c.say) {
				t.Errorf("the log says %s", log.String())
			}
		})
	}
}

// TestTLSCarries sends and receives more than fits into a record, in both directions, and many frames in one.
func TestTLSCarries(t *testing.T) {
	sender := newFakeSender()
	e := start(t, transport.Handlers{Sender: sender}, nil)
	p := secure(t, e, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // nobody has signed it
	var all []byte
	for i := range 500 {
		all = append(all, frame(t, wire.JSON, wire.CodeSendMessageV2, int32(i), 0, sendExt("T"), bytes.Repeat([]byte{byte(i)}, 2000))...)
	}
	go func() {
		if _, err := p.nc.Write(all); err != nil {
			t.Error(err)
		}
	}()
	for i := range 500 {
		a, err := p.tryRead()
		if err != nil || a.Opaque != int32(i) {
			t.Fatalf("answer %d: %v, %v", i, a, err)
		}
	}
	if n := len(sender.sent()); n != 500 {
		t.Errorf("%d messages came", n)
	}
}

// TestTLSClientCertificates has clients show who they are.
func TestTLSClientCertificates(t *testing.T) {
	ours, others := sealedtest.New(t, "ours"), sealedtest.New(t, "others")
	cert, key := ours.Sign(t, "server", "127.0.0.1")
	good, err := tls.LoadX509KeyPair(ours.Sign(t, "good", "127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	bad, err := tls.LoadX509KeyPair(others.Sign(t, "bad", "127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		auth            string
		none, good, bad bool
	}{{"none", true, true, true}, {"optional", true, true, false}, {"require", false, true, false}} {
		e := start(t, transport.Handlers{Sender: newFakeSender()}, func(cfg *Config) {
			cfg.TLS = TLSConfig{Mode: tlsEnforcing, Cert: cert, Key: key, ClientAuth: c.auth}
			if c.auth != "none" {
				cfg.TLS.ClientCA = ours.File
			}
		})
		for _, k := range []struct {
			name  string
			certs []tls.Certificate
			want  bool
		}{{"without", nil, c.none}, {"with ours", []tls.Certificate{good}, c.good}, {"with another's", []tls.Certificate{bad}, c.bad}} {
			cfg := &tls.Config{RootCAs: ours.Pool, ServerName: "127.0.0.1", GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				if len(k.certs) == 0 {
					return &tls.Certificate{}, nil
				}
				return &k.certs[0], nil
			}}
			if err := ask(t, secure(t, e, cfg)); (err == nil) != k.want {
				t.Errorf("client_auth %s, a client %s certificate: %v", c.auth, k.name, err)
			}
		}
	}
}

// TestTLSReload replaces the certificate of a running endpoint, first by one that is no good.
func TestTLSReload(t *testing.T) {
	a := sealedtest.New(t, "ours")
	cert, key := a.Sign(t, "server", "127.0.0.1")
	ck := clock.NewManual(time.Now())
	s, err := newTLSServer(&TLSConfig{Mode: tlsPermissive, Cert: cert, Key: key, ClientAuth: clientAuthNone}, ck, settings(t, ck, nil).Logger)
	if err != nil {
		t.Fatal(err)
	}
	serial := func() string {
		t.Helper()
		c, err := s.config()
		if err != nil {
			t.Fatal(err)
		}
		return c.Certificates[0].Leaf.SerialNumber.String()
	}
	first := serial()
	good, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cert, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	ck.Advance(reloadInterval)
	if got := serial(); got != first {
		t.Errorf("a certificate that is no good was taken: %s", got)
	}
	if err := os.WriteFile(cert, good, 0o600); err != nil {
		t.Fatal(err)
	}
	a.Sign(t, "server", "127.0.0.1")
	if got := serial(); got != first {
		t.Errorf("it was looked at too soon: %s", got)
	}
	ck.Advance(reloadInterval)
	if got := serial(); got == first {
		t.Error("the new certificate isn't used")
	}
}

func TestTLSConfiguration(t *testing.T) {
	for _, c := range []struct {
		cfg  TLSConfig
		want string
	}{
		{TLSConfig{Mode: "on", ClientAuth: "none"}, `"on" is unknown; choose permissive, enforcing or disabled`},
		{TLSConfig{Mode: "permissive", ClientAuth: "yes"}, `"yes" is unknown; choose none, optional or require`},
		{TLSConfig{Mode: "permissive", ClientAuth: "require"}, "client_auth require needs to know who signs"},
		{TLSConfig{Mode: "permissive", ClientAuth: "require", ClientCA: "a"}, "by plain connections while mode is permissive"},
		{TLSConfig{Mode: "permissive", ClientAuth: "none", ClientCA: "a"}, "client_auth none never looks at it"},
		{TLSConfig{Mode: "permissive", ClientAuth: "none", Cert: "c"}, "cert and key belong together"},
	} {
		cfg := defaultConfig()
		cfg.TLS = c.cfg
		if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.cfg, err)
		}
	}
	for _, c := range []struct {
		cfg  TLSConfig
		want string
	}{
		{TLSConfig{Mode: "permissive", ClientAuth: "none", Cert: "/nowhere.crt", Key: "/nowhere.key"}, "read certificate /nowhere.crt and key /nowhere.key"},
		{TLSConfig{Mode: "permissive", ClientAuth: "require", ClientCA: "/nowhere.crt"}, "read client_ca"},
	} {
		if _, err := newTLSServer(&c.cfg, clock.Real(), settings(t, clock.Real(), nil).Logger); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.cfg, err)
		}
	}
}

// TestTLSGarbage begins like TLS and goes on like nothing: the connection ends with a reason, and others don't notice.
func TestTLSGarbage(t *testing.T) {
	var log logBuffer
	e := start(t, transport.Handlers{Sender: newFakeSender()}, nil, withLog(&log))
	p := dial(t, e)
	p.write(append([]byte{tlsRecord}, bytes.Repeat([]byte("garbage"), 100)...))
	if _, err := io.ReadAll(p.nc); err != nil && !errors.Is(err, io.EOF) && !strings.Contains(err.Error(), "reset") {
		t.Error(err)
	}
	if err := ask(t, dial(t, e)); err != nil {
		t.Error(err)
	}
	if err := e.Stop(t.Context()); err != nil { // then everything is in the log
		t.Error(err)
	}
	if !strings.Contains(log.String(), "TLS handshake") {
		t.Errorf("the log says %q", log.String())
	}
}

// TestTLSSilentHandshakes has more clients begin a handshake and say no more than may compute at a time: another gets through.
func TestTLSSilentHandshakes(t *testing.T) {
	e := start(t, transport.Handlers{Sender: newFakeSender()}, nil)
	for range 2 * handshakesMax {
		dial(t, e).write([]byte{tlsRecord})
	}
	begun := time.Now()
	if err := ask(t, secure(t, e, &tls.Config{InsecureSkipVerify: true})); err != nil { //nolint:gosec // nobody has signed it
		t.Error(err)
	}
	if d := time.Since(begun); d > handshakeTime/2 {
		t.Errorf("it took %v", d)
	}
}
