package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/weirmq/weir/sdk/brokertest"
	"github.com/weirmq/weir/sdk/wire/sealed/sealedtest"
)

// TestTLS goes to brokers of all kinds, with flags and with the environment, and reads what it says where it fails.
func TestTLS(t *testing.T) {
	ours, others := sealedtest.New(t, "ours"), sealedtest.New(t, "others")
	cert, key := ours.Sign(t, "server", "127.0.0.1")
	mine, mineKey := ours.Sign(t, "mine", "127.0.0.1")
	wrongIP, wrongIPKey := ours.Sign(t, "elsewhere", "192.0.2.1")
	set := func(key, value string) brokertest.Option {
		return brokertest.Set("transports.remoting.tls."+key, value)
	}
	start := func(o ...brokertest.Option) string { return brokertest.Start(t, o...).NameServer() }
	signed := start(set("mode", "enforcing"), set("cert", cert), set("key", key))
	mutual := start(set("mode", "enforcing"), set("cert", cert), set("key", key), set("client_ca", ours.File), set("client_auth", "require"))
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
		{"our authority", signed, nil, []string{"--tls-ca", ours.File}, 0, "stored in TLSTopic"},
		{"our authority, by environment", signed, []string{"WEIR_TLS_CA=" + ours.File}, nil, 0, "stored in TLSTopic"},
		{"any", own, nil, []string{"--tls-insecure"}, 0, "stored in TLSTopic"},
		{"any, by environment", own, []string{"WEIR_TLS=1", "WEIR_TLS_INSECURE=true"}, nil, 0, "stored in TLSTopic"},
		{"a certificate of mine", mutual, nil, []string{"--tls-ca", ours.File, "--tls-cert", mine, "--tls-key", mineKey}, 0, "stored in TLSTopic"},
		{"another name", elsewhere, nil, []string{"--tls-ca", ours.File, "--tls-server-name", "192.0.2.1"}, 0, "stored in TLSTopic"},
		{"flags win", plain, []string{"WEIR_TLS_CA=" + ours.File}, []string{"--tls=false"}, 0, "stored in TLSTopic"},
		{"plain at one that wants TLS", signed, nil, nil, exitUnreachable, "ended the connection without a word\nIf it takes only connections with TLS, say --tls."},
		{"TLS at one that doesn't", plain, nil, []string{"--tls"}, exitUnreachable, "leave out --tls"},
		{"signed by nobody", own, nil, []string{"--tls"}, exitUnreachable, "Name its authority with --tls-ca FILE."},
		{"signed by others", signed, nil, []string{"--tls-ca", others.File}, exitUnreachable, "Name its authority with --tls-ca FILE."},
		{"for somebody else", elsewhere, nil, []string{"--tls-ca", ours.File}, exitUnreachable, "--tls-server-name NAME"},
		{"nothing to show", mutual, nil, []string{"--tls-ca", ours.File}, exitUnreachable, "--tls-cert FILE and --tls-key FILE"},
		{"half a pair", signed, nil, []string{"--tls-cert", mine}, exitUsage, "--tls-cert and --tls-key belong together"},
		{"no such file", signed, nil, []string{"--tls-ca", "/nowhere.crt"}, exitUsage, "--tls-ca: open /nowhere.crt"},
		{"no certificate", signed, nil, []string{"--tls-ca", key}, exitUsage, "holds no certificate"},
		{"any and some", signed, nil, []string{"--tls-ca", ours.File, "--tls-insecure"}, exitUsage, "choose one"},
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

	r := weir("", "bench", "both", "--count", "100", "-n", signed, "--tls-ca", ours.File)
	if r.code != 0 {
		t.Errorf("bench with TLS: %d\n%s%s", r.code, r.out, r.err)
	}
}
