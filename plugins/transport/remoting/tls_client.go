package remoting

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/weirmq/weir/core/plugin"
	"github.com/weirmq/weir/sdk/wire/sealed"
)

// TLSClientConfig is transports.remoting.tls.client.
type TLSClientConfig struct {
	// Enabled makes the broker's connections to name servers elsewhere TLS connections. Default false.
	Enabled bool `yaml:"enabled"`
	// CA is the file with the certificates of the authorities that sign those of name servers, in PEM. Without it those that the system trusts count. It, Cert and Key are
	// read again for each connection.
	CA string `yaml:"ca"`
	// Cert is the file with the certificate that is shown to name servers that want one, in PEM.
	Cert string `yaml:"cert"`
	// Key is the file with that certificate's key, in PEM, not encrypted.
	Key string `yaml:"key"`
	// ServerName is whom the certificates of name servers have to be for. Default the host in the address of each.
	ServerName string `yaml:"server_name"`
	// InsecureSkipVerify takes any certificate, as RocketMQ's clients do unless they are told otherwise: whoever can redirect the connection can pretend to be the name server.
	// Default false.
	InsecureSkipVerify bool `yaml:"insecure_skip_verify"`
}

func (c *TLSClientConfig) validate() (errs []error) {
	for _, f := range []struct{ key, value string }{{"ca", c.CA}, {"cert", c.Cert}, {"key", c.Key}, {"server_name", c.ServerName}} {
		if f.value != "" && !c.Enabled {
			errs = append(errs, plugin.Invalid("tls.client."+f.key, "is set, but connections to name servers are plain; set tls.client.enabled: true"))
		}
	}
	if c.InsecureSkipVerify && !c.Enabled {
		errs = append(errs, plugin.Invalid("tls.client.insecure_skip_verify", "is set, but connections to name servers are plain; set tls.client.enabled: true"))
	}
	if c.InsecureSkipVerify && (c.CA != "" || c.ServerName != "") {
		errs = append(errs, plugin.Invalid("tls.client.insecure_skip_verify", "takes any certificate, so that ca and server_name would be for nothing; choose"))
	}
	if (c.Cert == "") != (c.Key == "") {
		errs = append(errs, plugin.Invalid("tls.client.cert", "cert and key belong together: set both or neither"))
	}
	return errs
}

// load reads the files for a connection to addr.
func (c *TLSClientConfig) load(addr string) (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.ServerName, InsecureSkipVerify: c.InsecureSkipVerify} //nolint:gosec // the operator's decision
	if cfg.ServerName == "" {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		cfg.ServerName = host
	}
	if c.CA != "" {
		pem, err := os.ReadFile(c.CA)
		if err != nil {
			return nil, fmt.Errorf("read tls.client.ca: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("read tls.client.ca: %s holds no certificate in PEM", c.CA)
		}
	}
	if c.Cert != "" {
		pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
		if err != nil {
			return nil, fmt.Errorf("read tls.client.cert %s and key %s: %w", c.Cert, c.Key, err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg, nil
}

// secure makes a TLS connection of one that was just made, and closes it if that fails.
func (c *TLSClientConfig) secure(ctx context.Context, nc net.Conn, addr string) (net.Conn, error) {
	cfg, err := c.load(addr)
	if err == nil {
		var t *sealed.Conn
		if t, err = sealed.Client(ctx, nc, cfg); err == nil {
			return t, nil
		}
		err = fmt.Errorf("TLS handshake: %w%s", err, hintTLS(err))
	}
	_ = nc.Close()
	return nil, err
}

// hintTLS says what an operator may do about a handshake that failed.
func hintTLS(err error) string {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &unknown):
		return "; name its authority in transports.remoting.tls.client.ca"
	case errors.As(err, &name):
		return "; name whom its certificate is for in transports.remoting.tls.client.server_name"
	case errors.As(err, &record), hungUp(err):
		return "; if it takes only plain connections, unset transports.remoting.tls.client.enabled"
	}
	return ""
}

// hungUp says that the peer has ended the connection.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
