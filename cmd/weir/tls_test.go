package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weirmq/weir/sdk/brokertest"
)

// signer makes certificates in files: its own, and those that it signs.
type signer struct {
	t   *testing.T
	dir string
	own *x509.Certificate
	by  *ecdsa.PrivateKey
	ca  string
}

func newSigner(t *testing.T, name string) *signer {
	s := &signer{t: t, dir: t.TempDir()}
	s.ca, _ = s.make(name, nil)
	return s
}

// make makes a certificate for an address; the first is the authority's.
func (s *signer) make(name string, ip net.IP) (cert, key string) {
	s.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, IPAddresses: []net.IP{ip}}
	c.Subject.CommonName = name
	if s.own == nil {
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage, c.IPAddresses = true, true, x509.KeyUsageCertSign, nil
		s.own, s.by = c, private
	}
	der, err := x509.CreateCertificate(rand.Reader, c, s.own, &private.PublicKey, s.by)
	if err != nil {
		s.t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		s.t.Fatal(err)
	}
	cert, key = filepath.Join(s.dir, name+".crt"), filepath.Join(s.dir, name+".key")
	if err := errors.Join(os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600),
		os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), 0o600)); err != nil {
		s.t.Fatal(err)
	}
	return cert, key
}

// TestTLS goes to brokers of all kinds, with flags and with the environment, and reads what it says where it fails.
func TestTLS(t *testing.T) {
	ours, others := newSigner(t, "ours"), newSigner(t, "others")
	cert, key := ours.make("server", net.IPv4(127, 0, 0, 1))
	mine, mineKey := ours.make("mine", net.IPv4(127, 0, 0, 1))
	wrongIP, wrongIPKey := ours.make("elsewhere", net.IPv4(192, 0, 2, 1))
	set := func(key, value string) brokertest.Option {
		return brokertest.Set("transports.remoting.tls."+key, value)
	}
	start := func(o ...brokertest.Option) string { return brokertest.Start(t, o...).NameServer() }
	signed := start(set("mode", "enforcing"), set("cert", cert), set("key", key))
	mutual := start(set("mode", "enforcing"), set("cert", cert), set("key", key), set("client_ca", ours.ca), set("client_auth", "require"))
	own := start()
	elsewhere := start(set("cert", wrongIP), set("key", wrongIPKey))
	plain := start(set("mode", "disabled"))

	for _, c := range []struct {
		name, at string
		env      []string
		args     []string
		code     int
		want     string // of the output
	}{
		{"our authority", signed, nil, []string{"--tls-ca", ours.ca}, 0, "stored in TLSTopic"},
		{"our authority, by environment", signed, []string{"WEIR_TLS_CA=" + ours.ca}, nil, 0, "stored in TLSTopic"},
		{"any", own, nil, []string{"--tls-insecure"}, 0, "stored in TLSTopic"},
		{"any, by environment", own, []string{"WEIR_TLS=1", "WEIR_TLS_INSECURE=true"}, nil, 0, "stored in TLSTopic"},
		{"a certificate of mine", mutual, nil, []string{"--tls-ca", ours.ca, "--tls-cert", mine, "--tls-key", mineKey}, 0, "stored in TLSTopic"},
		{"another name", elsewhere, nil, []string{"--tls-ca", ours.ca, "--tls-server-name", "192.0.2.1"}, 0, "stored in TLSTopic"},
		{"flags win", plain, []string{"WEIR_TLS_CA=" + ours.ca}, []string{"--tls=false"}, 0, "stored in TLSTopic"},
		{"plain at one that wants TLS", signed, nil, nil, exitUnreachable, "ended the connection without a word\nIf it takes only connections with TLS, say --tls."},
		{"TLS at one that doesn't", plain, nil, []string{"--tls"}, exitUnreachable, "leave out --tls"},
		{"signed by nobody", own, nil, []string{"--tls"}, exitUnreachable, "Name its authority with --tls-ca FILE."},
		{"signed by others", signed, nil, []string{"--tls-ca", others.ca}, exitUnreachable, "Name its authority with --tls-ca FILE."},
		{"for somebody else", elsewhere, nil, []string{"--tls-ca", ours.ca}, exitUnreachable, "--tls-server-name NAME"},
		{"nothing to show", mutual, nil, []string{"--tls-ca", ours.ca}, exitUnreachable, "--tls-cert FILE and --tls-key FILE"},
		{"half a pair", signed, nil, []string{"--tls-cert", mine}, exitUsage, "--tls-cert and --tls-key belong together"},
		{"no such file", signed, nil, []string{"--tls-ca", "/nowhere.crt"}, exitUsage, "--tls-ca: open /nowhere.crt"},
		{"no certificate", signed, nil, []string{"--tls-ca", key}, exitUsage, "holds no certificate"},
		{"any and some", signed, nil, []string{"--tls-ca", ours.ca, "--tls-insecure"}, exitUsage, "choose one"},
		{"neither yes nor no", signed, []string{"WEIR_TLS=perhaps"}, nil, exitUsage, `WEIR_TLS="perhaps": want true or false`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &out, env: c.env, version: "test"}
			code := a.run(append([]string{"send", "TLSTopic", "hello", "-n", c.at}, c.args...))
			if code != c.code || !strings.Contains(out.String(), c.want) {
				t.Errorf("exit code %d, want %d and %q in\n%s", code, c.code, c.want, out.String())
			}
		})
	}

	r := weir("", "bench", "both", "--count", "100", "-n", signed, "--tls-ca", ours.ca)
	if r.code != 0 {
		t.Errorf("bench with TLS: %d\n%s%s", r.code, r.out, r.err)
	}
}
