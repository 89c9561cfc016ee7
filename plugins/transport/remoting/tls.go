package remoting

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"os"
	"sync"
	"time"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/plugin"
)

// TLS comes over the ordinary ports, as with RocketMQ: the first byte of a connection tells. A TLS record begins with 0x16, and a frame of RocketMQ's that did would be longer
// than any frame may be.
const tlsRecord = 0x16

// The modes of TLS, RocketMQ's.
const (
	tlsPermissive = "permissive" // plain connections and those with TLS
	tlsEnforcing  = "enforcing"  // only with TLS
	tlsDisabled   = "disabled"   // only plain
)

// What is asked of a client's certificate.
const (
	clientAuthNone     = "none"
	clientAuthOptional = "optional" // one that is shown has to be good
	clientAuthRequire  = "require"
)

// TLSConfig is transports.remoting.tls.
type TLSConfig struct {
	// Mode says which connections are taken: permissive takes plain ones and those with TLS, told apart by their first byte; enforcing only those with TLS; disabled only plain
	// ones. The embedded name server does the same. Default permissive.
	Mode string `yaml:"mode"`
	// Cert is the file with the certificate and those that lead to its authority, in PEM. It and the key are read again when they change; a pair that is no good leaves the last
	// one in place. Without them a certificate is made that nobody has signed, which keeps secrets from those who only listen, and from nobody else.
	Cert string `yaml:"cert"`
	// Key is the file with the certificate's key, in PEM, not encrypted.
	Key string `yaml:"key"`
	// ClientCA is the file with the certificates of the authorities that sign those of clients, in PEM.
	ClientCA string `yaml:"client_ca"`
	// ClientAuth says whether clients have to show a certificate: none, optional (one that is shown has to be good), or require. Default none.
	ClientAuth string `yaml:"client_auth"`
	// Client is encryption of the connections that the broker makes: to the name servers in cluster.nameservers.
	Client TLSClientConfig `yaml:"client"`
}

func (c *TLSConfig) validate() (errs []error) {
	switch c.Mode {
	case tlsPermissive, tlsEnforcing, tlsDisabled:
	default:
		errs = append(errs, plugin.Invalid("tls.mode", "%q is unknown; choose permissive, enforcing or disabled", c.Mode))
	}
	switch c.ClientAuth {
	case clientAuthNone:
		if c.ClientCA != "" {
			errs = append(errs, plugin.Invalid("tls.client_ca", "is set, but client_auth none never looks at it; set client_auth: optional or require"))
		}
	case clientAuthOptional, clientAuthRequire:
		if c.ClientCA == "" {
			errs = append(errs, plugin.Invalid("tls.client_ca", "is missing: client_auth %s needs to know who signs", c.ClientAuth))
		}
		if c.ClientAuth == clientAuthRequire && c.Mode == tlsPermissive {
			errs = append(errs, plugin.Invalid("tls.client_auth", "require lets clients without a certificate in by plain connections while mode is permissive; set mode: enforcing, or client_auth: optional"))
		}
	default:
		errs = append(errs, plugin.Invalid("tls.client_auth", "%q is unknown; choose none, optional or require", c.ClientAuth))
	}
	if (c.Cert == "") != (c.Key == "") {
		errs = append(errs, plugin.Invalid("tls.cert", "cert and key belong together: set both, or neither for a certificate that nobody has signed"))
	}
	return append(errs, c.Client.validate()...)
}

const (
	// handshakeTime bounds a handshake, the wait for its turn included.
	handshakeTime = 10 * time.Second
	// handshakesMax is how many handshakes compute at a time: each takes about a millisecond of a processor. Those that wait for their clients don't count.
	handshakesMax = 64
	// reloadInterval is how often at most files are looked at for changes, by handshakes.
	reloadInterval = 10 * time.Second
)

// tlsServer makes TLS connections of accepted ones. It is safe for concurrent use.
type tlsServer struct {
	cfg   *TLSConfig
	clock clock.Clock
	log   *slog.Logger
	turns chan struct{}

	mu      sync.Mutex // guards all below
	current *tls.Config
	looked  time.Time
	seen    [3]fileState // of cert, key and client_ca
}

// fileState tells whether a file has changed.
type fileState struct {
	size int64
	mod  time.Time
}

// newTLSServer reads the files. Without any it reads nothing and makes a certificate when the first client asks.
func newTLSServer(cfg *TLSConfig, c clock.Clock, log *slog.Logger) (*tlsServer, error) {
	s := &tlsServer{cfg: cfg, clock: c, log: log, turns: make(chan struct{}, handshakesMax)}
	if cfg.Mode == tlsDisabled || cfg.Cert == "" && cfg.ClientCA == "" {
		return s, nil
	}
	s.seen = s.states()
	var err error
	if s.current, err = s.load(); err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	return s, nil
}

// load makes a configuration of the files.
func (s *tlsServer) load() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, DynamicRecordSizingDisabled: true} // answers are large, or one record anyway
	pair, err := s.pair()
	if err != nil {
		return nil, err
	}
	c.Certificates = []tls.Certificate{pair}
	switch s.cfg.ClientAuth {
	case clientAuthOptional:
		c.ClientAuth = tls.VerifyClientCertIfGiven
	case clientAuthRequire:
		c.ClientAuth = tls.RequireAndVerifyClientCert
	default:
		return c, nil
	}
	pem, err := os.ReadFile(s.cfg.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("read client_ca: %w", err)
	}
	c.ClientCAs = x509.NewCertPool()
	if !c.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("read client_ca: %s holds no certificate in PEM", s.cfg.ClientCA)
	}
	return c, nil
}

func (s *tlsServer) pair() (tls.Certificate, error) {
	if s.cfg.Cert == "" {
		return selfSigned(s.clock.Now())
	}
	pair, err := tls.LoadX509KeyPair(s.cfg.Cert, s.cfg.Key)
	if err != nil {
		return pair, fmt.Errorf("read certificate %s and key %s: %w", s.cfg.Cert, s.cfg.Key, err)
	}
	if leaf := pair.Leaf; leaf != nil && s.clock.Now().After(leaf.NotAfter) {
		s.log.Warn("the TLS certificate has expired; clients that look will refuse it", "cert", s.cfg.Cert, "expired", leaf.NotAfter)
	}
	return pair, nil
}

// selfSigned makes a certificate for a year.
func selfSigned(now time.Time) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "weir " + host, Organization: []string{"self-signed"}},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, DNSNames: []string{host, "localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

func (s *tlsServer) states() (states [3]fileState) {
	for i, name := range []string{s.cfg.Cert, s.cfg.Key, s.cfg.ClientCA} {
		if name == "" {
			continue
		}
		if info, err := os.Stat(name); err == nil {
			states[i] = fileState{info.Size(), info.ModTime()}
		}
	}
	return states
}

// config returns the configuration for a handshake: that of the files as they are, if they are any good.
func (s *tlsServer) config() (*tls.Config, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	if s.current == nil {
		c, err := s.load()
		s.current, s.looked = c, now
		return c, err
	}
	if now.Sub(s.looked) < reloadInterval {
		return s.current, nil
	}
	s.looked = now
	states := s.states()
	if states == s.seen {
		return s.current, nil
	}
	c, err := s.load()
	if err != nil {
		s.log.Error("the changed TLS certificate is no good; the last one goes on", "error", err)
		return s.current, nil
	}
	s.seen, s.current = states, c
	s.log.Info("the TLS certificate was read again", "cert", s.cfg.Cert)
	return c, nil
}
