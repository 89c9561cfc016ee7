package client_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"testing"
	"time"

	"github.com/weirmq/weir/sdk/brokertest"
	"github.com/weirmq/weir/sdk/client"
	"github.com/weirmq/weir/sdk/wire/sealed/sealedtest"
)

// TestTLS sends, pulls and consumes over TLS alone, and says what is wrong where it can't.
func TestTLS(t *testing.T) {
	ours := sealedtest.New(t, "ours")
	cert, key := ours.Sign(t, "server", "127.0.0.1")
	b := brokertest.Start(t, brokertest.Set("transports.remoting.tls.mode", "enforcing"),
		brokertest.Set("transports.remoting.tls.cert", cert), brokertest.Set("transports.remoting.tls.key", key))
	connect := func(cfg *tls.Config) *client.Client {
		c := client.New(client.Options{NameServers: []string{b.NameServer()}, Timeout: 5 * time.Second, RouteRefresh: 100 * time.Millisecond, TLS: cfg})
		t.Cleanup(func() { c.Close() })
		return c
	}
	c := connect(&tls.Config{RootCAs: ours.Pool, MinVersion: tls.VersionTLS12})
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
	_, err = connect(&tls.Config{RootCAs: ours.Pool, ServerName: "elsewhere", MinVersion: tls.VersionTLS12}).Route(context10(t), topic)
	var name x509.HostnameError
	if !errors.As(err, &name) {
		t.Errorf("a client of somebody else: %v", err)
	}
}
