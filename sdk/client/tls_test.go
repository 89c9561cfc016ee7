package client_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/weirmq/weir/sdk/brokertest"
	"github.com/weirmq/weir/sdk/client"
)

// certificate makes one for an address that signs itself, and returns its files and a pool that trusts it.
func certificate(t *testing.T) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key, pool = filepath.Join(dir, "crt"), filepath.Join(dir, "key"), x509.NewCertPool()
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	pool.AppendCertsFromPEM(public)
	if err := errors.Join(os.WriteFile(cert, public, 0o600), os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), 0o600)); err != nil {
		t.Fatal(err)
	}
	return cert, key, pool
}

// TestTLS sends, pulls and consumes over TLS alone, and says what is wrong where it can't.
func TestTLS(t *testing.T) {
	cert, key, pool := certificate(t)
	b := brokertest.Start(t, brokertest.Set("transports.remoting.tls.mode", "enforcing"),
		brokertest.Set("transports.remoting.tls.cert", cert), brokertest.Set("transports.remoting.tls.key", key))
	connect := func(cfg *tls.Config) *client.Client {
		c := client.New(client.Options{NameServers: []string{b.NameServer()}, Timeout: 5 * time.Second, RouteRefresh: 100 * time.Millisecond, TLS: cfg})
		t.Cleanup(func() { c.Close() })
		return c
	}
	c := connect(&tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12})
	topic, group := names(t)
	createTopic(t, c, topic, 2)
	p := c.Producer("P" + group)
	body := make([]byte, 100<<10)
	for range 20 {
		if _, err := p.Send(context10(t), &client.Message{Topic: topic, Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	consume(t, c, group, client.Subscription{Topic: topic}, func(*client.Received) error { return nil }).await(t, 20)

	_, err := connect(nil).Route(context10(t), topic)
	var silent *client.NoAnswerError
	if !errors.As(err, &silent) || silent.Addr != b.NameServer() {
		t.Errorf("a plain client: %v, want a NoAnswerError", err)
	}
	_, err = connect(&tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}).Route(context10(t), topic)
	var failed *client.TLSError
	var unknown x509.UnknownAuthorityError
	if !errors.As(err, &failed) || failed.Addr != b.NameServer() || !errors.As(err, &unknown) {
		t.Errorf("a client that trusts nobody: %v, want a TLSError", err)
	}
	_, err = connect(&tls.Config{RootCAs: pool, ServerName: "elsewhere", MinVersion: tls.VersionTLS12}).Route(context10(t), topic)
	var name x509.HostnameError
	if !errors.As(err, &name) {
		t.Errorf("a client of somebody else: %v", err)
	}
}
