package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/weirmq/weir/sdk/client"
)

// tlsFlags say how connections are encrypted. What a flag leaves out, the environment may say.
type tlsFlags struct {
	on, insecure                given
	ca, cert, key, certifiedFor string
}

// given is a switch that knows whether anybody touched it.
type given struct{ set, on bool }

func (g *given) String() string { return strconv.FormatBool(g.on) }
func (g *given) Type() string   { return "bool" }

// Set makes given a pflag.Value.
func (g *given) Set(s string) (err error) {
	g.set = true
	g.on, err = strconv.ParseBool(s)
	return err
}

func (t *tlsFlags) flags(f *pflag.FlagSet) {
	f.Var(&t.on, "tls", "encrypt connections, to name servers and brokers alike; the other --tls flags imply it (default $WEIR_TLS)")
	f.Var(&t.insecure, "tls-insecure", "take any certificate: no protection from somebody who pretends to be the broker, only from those who listen (default $WEIR_TLS_INSECURE)")
	for _, name := range []string{"tls", "tls-insecure"} {
		f.Lookup(name).NoOptDefVal = "true"
	}
	f.StringVar(&t.ca, "tls-ca", "", "`FILE` with the certificates of the authorities to trust, in PEM, in place of the system's (default $WEIR_TLS_CA)")
	f.StringVar(&t.cert, "tls-cert", "", "`FILE` with the certificate to show to brokers that want one, in PEM (default $WEIR_TLS_CERT)")
	f.StringVar(&t.key, "tls-key", "", "`FILE` with the key of --tls-cert, in PEM (default $WEIR_TLS_KEY)")
	f.StringVar(&t.certifiedFor, "tls-server-name", "", "`NAME` that certificates have to be for, in place of the address that is connected to (default $WEIR_TLS_SERVER_NAME)")
}

// tlsConfig returns how to encrypt; nil for plain connections.
func (a *app) tlsConfig() (*tls.Config, error) {
	t := a.connect.tls
	if t.insecure.on && t.ca != "" {
		return nil, usage(errors.New("--tls-insecure takes any certificate, so that --tls-ca would be for nothing; choose one"))
	}
	for _, v := range []struct {
		to   *string
		name string
	}{{&t.ca, "WEIR_TLS_CA"}, {&t.cert, "WEIR_TLS_CERT"}, {&t.key, "WEIR_TLS_KEY"}, {&t.certifiedFor, "WEIR_TLS_SERVER_NAME"}} {
		if *v.to == "" {
			*v.to = a.getenv(v.name)
		}
	}
	for _, v := range []struct {
		to   *given
		name string
	}{{&t.on, "WEIR_TLS"}, {&t.insecure, "WEIR_TLS_INSECURE"}} {
		text := a.getenv(v.name)
		if v.to.set || text == "" {
			continue
		}
		if v.to.Set(text) != nil {
			return nil, usage(fmt.Errorf("%s=%q: want true or false", v.name, text))
		}
	}
	implied := t.insecure.on || t.ca != "" || t.cert != "" || t.key != "" || t.certifiedFor != ""
	if t.on.set && !t.on.on || !t.on.set && !implied {
		return nil, nil
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.certifiedFor, InsecureSkipVerify: t.insecure.on} //nolint:gosec // who asks for it is told what it means
	if t.ca != "" && !t.insecure.on {
		pem, err := os.ReadFile(t.ca)
		if err != nil {
			return nil, usage(fmt.Errorf("--tls-ca: %w", err))
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, usage(fmt.Errorf("--tls-ca: %s holds no certificate in PEM", t.ca))
		}
	}
	if (t.cert == "") != (t.key == "") {
		return nil, usage(errors.New("--tls-cert and --tls-key belong together"))
	}
	if t.cert != "" {
		pair, err := tls.LoadX509KeyPair(t.cert, t.key)
		if err != nil {
			return nil, usage(fmt.Errorf("--tls-cert and --tls-key: %w", err))
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg, nil
}

// explainTLS says what to do when the two sides don't agree about encryption; nil when it isn't about that.
func explainTLS(err error, encrypted bool) error {
	var why *client.TLSError
	var silent *client.NoAnswerError
	switch {
	case errors.As(err, &why):
		return &reason{err: err, code: exitUnreachable, text: tlsText(why)}
	case errors.As(err, &silent) && encrypted:
		return &reason{err: err, code: exitUnreachable, text: fmt.Sprintf(
			"%s ended the connection without a word\nIf it wants clients to show a certificate, name one with --tls-cert FILE and --tls-key FILE.", silent.Addr)}
	case errors.As(err, &silent):
		return &reason{err: err, code: exitUnreachable, text: fmt.Sprintf(
			"%s ended the connection without a word\nIf it takes only connections with TLS, say --tls.", silent.Addr)}
	}
	return nil
}

func tlsText(e *client.TLSError) string {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var record tls.RecordHeaderError
	var bad *tls.CertificateVerificationError
	switch {
	case errors.As(e.Err, &unknown):
		return fmt.Sprintf("nobody who is trusted here has signed the certificate of %s (%s)\n"+
			"Name its authority with --tls-ca FILE. A broker that was given no certificate makes one that nobody has signed; --tls-insecure takes any, which protects only from those who listen.", e.Addr, unknown)
	case errors.As(e.Err, &name):
		return fmt.Sprintf("the certificate of %s is for somebody else (%s)\n"+
			"If it is the right one, name whom it is for with --tls-server-name NAME; --tls-insecure takes any certificate.", e.Addr, name)
	case errors.As(e.Err, &bad):
		return fmt.Sprintf("the certificate of %s is no good (%s)", e.Addr, bad.Err)
	case errors.As(e.Err, &record), errors.Is(e.Err, io.EOF), errors.Is(e.Err, syscall.ECONNRESET):
		return fmt.Sprintf("%s doesn't answer with TLS (%s)\nIs it a broker or name server, and does it take TLS? If it takes only plain connections, leave out --tls.", e.Addr, e.Err)
	}
	var op *net.OpError
	if errors.As(e.Err, &op) && op.Op == "remote error" {
		return fmt.Sprintf("%s refuses this connection (%s)\nIf it wants clients to show a certificate, name one that it trusts with --tls-cert FILE and --tls-key FILE.", e.Addr, op.Err)
	}
	return e.Error()
}
