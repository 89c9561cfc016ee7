// Package sealedtest makes certificates for tests of TLS.
package sealedtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority signs certificates, which are files of the test.
type Authority struct {
	// File has the authority's own certificate, in PEM.
	File string
	// Pool trusts the authority.
	Pool *x509.CertPool

	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	next int64
}

// New makes an authority that is trusted by nobody yet.
func New(t testing.TB, name string) *Authority {
	t.Helper()
	a := &Authority{dir: t.TempDir(), Pool: x509.NewCertPool()}
	a.File, _ = a.sign(t, name, &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	a.Pool.AddCert(a.cert)
	return a
}

// Sign makes a certificate for servers and clients at an address, and returns its file and that of its key (PKCS #8), in PEM.
func (a *Authority) Sign(t testing.TB, name, ip string) (cert, key string) {
	t.Helper()
	return a.sign(t, name, &x509.Certificate{KeyUsage: x509.KeyUsageDigitalSignature, IPAddresses: []net.IP{net.ParseIP(ip)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}})
}

func (a *Authority) sign(t testing.TB, name string, c *x509.Certificate) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a.next++
	c.SerialNumber, c.Subject = big.NewInt(a.next), pkix.Name{CommonName: name}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	parent, by := a.cert, a.key
	if parent == nil {
		parent, by = c, private
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &private.PublicKey, by)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert == nil {
		a.key = private
		if a.cert, err = x509.ParseCertificate(der); err != nil {
			t.Fatal(err)
		}
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(a.dir, name+".crt"), filepath.Join(a.dir, name+".key")
	err = errors.Join(os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600),
		os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}
