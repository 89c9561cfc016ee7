package interop

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirmq/weir/sdk/wire/sealed/sealedtest"
	"github.com/weirmq/weir/test/internal/agent"
	"github.com/weirmq/weir/test/internal/repo"
	"github.com/weirmq/weir/test/internal/sut"
)

// TestTLSClients has all clients send and consume with TLS: beside plain connections and where there are none, and mqadmin look at the outcome.
func TestTLSClients(t *testing.T) {
	t.Parallel()
	repo.NeedJava(t)
	for _, mode := range []string{"permissive", "enforcing"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			b := sut.Start(t, sut.Options{Kind: sut.Weir, WeirSettings: map[string]string{"TRANSPORTS__REMOTING__TLS__MODE": mode}})
			for _, kind := range []agent.Kind{agent.Java4, agent.Java5, agent.Go} {
				t.Run(string(kind), func(t *testing.T) { exchange(t, b, agent.Start(t, kind, "client", agent.TLS), string(kind)) })
			}
			tools := agent.StartTools(t, b.NameServer(), agent.TLS)
			if out := tools.Run(t, "topicStatus", "-t", tlsTopic(string(agent.Java4))); !strings.Contains(out, b.Name()) {
				t.Errorf("topicStatus: %s", out)
			}
			if out := tools.Run(t, "brokerStatus", "-b", b.Addr()); !strings.Contains(out, "brokerVersionDesc") {
				t.Errorf("brokerStatus: %s", out)
			}
			nc, err := net.Dial("tcp", b.Addr())
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			if mode == "enforcing" { // so it was TLS that the clients spoke
				_ = nc.SetDeadline(time.Now().Add(time.Minute))
				_, _ = nc.Write([]byte{0, 0, 0, 1})
				if n, err := nc.Read(make([]byte, 1)); n != 0 || os.IsTimeout(err) {
					t.Errorf("a plain connection is taken: %v", err)
				}
			}
		})
	}
}

func tlsTopic(client string) string { return "TLS-" + strings.ReplaceAll(client, ".", "-") }

// exchange sends messages, one of them larger than several records, and consumes them.
func exchange(t *testing.T, b *sut.Broker, a *agent.Agent, client string) {
	t.Helper()
	topic := tlsTopic(client)
	producer := a.Producer(t, agent.ProducerOptions{Name: "producer", Group: topic + "-producer", NameServer: b.NameServer()})
	var random [60_000]byte // Java compresses what can be compressed
	_, _ = rand.NewChaCha8([32]byte{}).Read(random[:])
	large := base64.StdEncoding.EncodeToString(random[:])
	messages := []agent.Outgoing{{Body: large}}
	var want []string
	for i := range 50 {
		want = append(want, fmt.Sprintf("secret-%d", i))
		messages = append(messages, agent.Outgoing{Body: want[i]})
	}
	producer.Send(t, agent.Sync, topic, agent.Place{}, messages[:10]...)
	producer.Send(t, agent.Async, topic, agent.Place{}, messages[10:]...)
	consumer := a.Push(t, agent.ConsumerOptions{Name: "consumer", Group: topic + "-group", NameServer: b.NameServer(), Topic: topic})
	consumer.Await(t, "small messages and a large one", func(all []agent.Message) bool { // whose body agents don't repeat
		return len(agent.Lacking(all, want)) == 0 && slices.ContainsFunc(all, func(m agent.Message) bool { return m.Size == len(large) || m.Body == large })
	})
	consumer.Stop(t)
}

// javaTLS are flags for a Java that checks certificates and has one to show.
func javaTLS(side, cert, key, ca string) []string {
	f := "-Dtls." + side + "."
	return []string{"-Dtls.test.mode.enable=false", f + "certPath=" + cert, f + "keyPath=" + key, f + "trustCertPath=" + ca}
}

// TestTLSCertificates has Java check weir's certificate, and weir Java's. A Java client that trusts somebody else stays out, and so does one that has none to show.
func TestTLSCertificates(t *testing.T) {
	t.Parallel()
	repo.NeedJava(t)
	ours, others := sealedtest.New(t, "ours"), sealedtest.New(t, "others")
	cert, key := ours.Sign(t, "server", "127.0.0.1")
	mine, mineKey := ours.Sign(t, "client", "192.0.2.1") // Java doesn't look at the address
	b := sut.Start(t, sut.Options{Kind: sut.Weir, WeirSettings: map[string]string{
		"TRANSPORTS__REMOTING__TLS__MODE": "enforcing", "TRANSPORTS__REMOTING__TLS__CERT": cert, "TRANSPORTS__REMOTING__TLS__KEY": key,
		"TRANSPORTS__REMOTING__TLS__CLIENT_CA": ours.File, "TRANSPORTS__REMOTING__TLS__CLIENT_AUTH": "require",
	}})
	flags := func(ca string) []string {
		return append(javaTLS("client", mine, mineKey, ca), agent.TLS, "-Dtls.client.authServer=true")
	}
	for _, kind := range []agent.Kind{agent.Java4, agent.Java5} {
		exchange(t, b, agent.Start(t, kind, "client-"+string(kind), flags(ours.File)...), string(kind))
	}
	for name, wrong := range map[string][]string{"distrustful": flags(others.File), "unknown": {agent.TLS}} {
		a := agent.Start(t, agent.Java4, name, wrong...)
		p := a.Producer(t, agent.ProducerOptions{Name: "producer", Group: name, NameServer: b.NameServer()})
		results, err := p.TrySend(agent.Sync, tlsTopic(string(agent.Java4)), agent.Place{}, agent.Outgoing{Body: "x"})
		if err == nil && len(results) == 1 && results[0].OK() {
			t.Errorf("the %s client sends", name)
		}
	}
}

// TestTLSBetweenServers has weir join name servers that take TLS only, weir's and Java's, and weir's commands work with both brokers.
func TestTLSBetweenServers(t *testing.T) {
	t.Parallel()
	repo.NeedJava(t)
	ours := sealedtest.New(t, "ours")
	cert, key := ours.Sign(t, "server", "127.0.0.1")
	binary, err := sut.WeirBinary()
	if err != nil {
		t.Fatal(err)
	}
	serves := map[string]string{"TRANSPORTS__REMOTING__TLS__MODE": "enforcing", "TRANSPORTS__REMOTING__TLS__CERT": cert, "TRANSPORTS__REMOTING__TLS__KEY": key}
	joins := map[string]string{"TRANSPORTS__REMOTING__TLS__CLIENT__ENABLED": "true", "TRANSPORTS__REMOTING__TLS__CLIENT__CA": ours.File}
	for k, v := range serves {
		joins[k] = v
	}
	for _, host := range []sut.Kind{sut.Weir, sut.Java} {
		t.Run(string(host), func(t *testing.T) {
			t.Parallel()
			a := sut.Start(t, sut.Options{Kind: host, Name: "broker-a", WeirSettings: serves,
				JavaFlags: append(javaTLS("server", cert, key, ours.File), "-Dtls.server.mode=enforcing")})
			b := sut.Start(t, sut.Options{Kind: sut.Weir, Name: "broker-b", NameServer: a.NameServer(), WeirSettings: joins})
			weir := func(args ...string) string {
				t.Helper()
				cmd := exec.CommandContext(t.Context(), binary, append(args, "-n", a.NameServer())...)
				cmd.Env = append(os.Environ(), "WEIR_TLS_CA="+ours.File)
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("weir %v: %v\n%s", args, err, out)
				}
				return string(out)
			}
			// The name server knows the guest once it has registered, which the guest doesn't wait for.
			for end := time.Now().Add(time.Minute); !strings.Contains(weir("topic", "create", "Shared", "--queues", "2"), b.Name()); {
				if time.Now().After(end) {
					t.Fatalf("%s never joined", b.Name())
				}
			}
			weir("send", "Shared", "hello", "--count", "40")
			out := weir("tail", "Shared", "--from", "first", "--count", "40", "-o", "json")
			for _, broker := range []*sut.Broker{a, b} {
				if !strings.Contains(out, `"`+broker.Name()+`"`) {
					t.Errorf("nothing of %s in\n%s", broker.Name(), out)
				}
			}
		})
	}
}
