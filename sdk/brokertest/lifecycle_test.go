package brokertest

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/sdk/client"
	"github.com/weirmq/weir/sdk/wire"
)

// TestMain fails when a broker or a client has left a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startError starts a broker that can't start, and returns what its test would have said.
func startError(t *testing.T, options ...Option) string {
	t.Helper()
	f := &failing{TB: t}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		Start(f, options...)
	}()
	<-ended
	return f.said
}

// TestAPortInUseIsExplained takes a port for each listener in turn. The error names the port, who has it and the key that
// changes it; what was started is stopped, so that the directory can be used at once.
func TestAPortInUseIsExplained(t *testing.T) {
	for _, key := range []string{"transports.remoting.listen", "transports.remoting.fast_listen", "nameserver.listen"} {
		t.Run(key, func(t *testing.T) {
			l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			dir := t.TempDir()
			said := startError(t, DataDir(dir), Set(key, l.Addr().String()))
			for _, want := range []string{"listen on " + l.Addr().String(), "the port is in use", fmt.Sprint(os.Getpid()), "set " + key + " to another address"} {
				if !strings.Contains(said, want) {
					t.Errorf("start failed with %q, which doesn't say %q", said, want)
				}
			}
			Start(t, DataDir(dir))
		})
	}
}

func TestAStoreOfAnotherShapeIsExplained(t *testing.T) {
	for key, change := range map[string]string{"store.segment_size": "32MiB", "store.consume_queue_entries": "1000"} {
		t.Run(key, func(t *testing.T) {
			b := Start(t)
			c := client.New(client.Options{NameServers: []string{b.NameServer()}})
			defer c.Close()
			if _, err := c.Producer("p").Send(t.Context(), &client.Message{Topic: "T", Body: []byte("x")}); err != nil {
				t.Fatal(err)
			}
			b.Stop()
			if said := startError(t, DataDir(b.DataDir()), Set(key, change)); !strings.Contains(said, key) {
				t.Errorf("start failed with %q, which doesn't name %s", said, key)
			}
			b.Restart()
		})
	}
}

// TestAConsumerGoesOnAfterARestart restarts the broker under a running consumer and a producer, which find it again by
// themselves and lose nothing.
func TestAConsumerGoesOnAfterARestart(t *testing.T) {
	b := Start(t, Set("topics.default_queues", "1"))
	c := client.New(client.Options{NameServers: []string{b.NameServer()}})
	defer c.Close()
	p := c.Producer("p")
	got := make(chan string, 100)
	send := func(body string) {
		t.Helper()
		if _, err := p.Send(t.Context(), &client.Message{Topic: "T", Body: []byte(body)}); err != nil {
			t.Fatal(err)
		}
	}
	send("1")
	k, err := c.Consume(t.Context(), client.ConsumerOptions{
		Group: "g", From: wire.FromFirstOffset, Subscriptions: []client.Subscription{{Topic: "T"}},
		Handle: func(_ context.Context, ms []*client.Received) error {
			for _, m := range ms {
				got <- string(m.Body)
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	if first := <-got; first != "1" {
		t.Fatalf("got %q", first)
	}
	b.Restart()
	send("2")
	for {
		if next := <-got; next == "2" { // "1" may come again: its offset was perhaps not committed
			break
		} else if next != "1" {
			t.Fatalf("got %q", next)
		}
	}
}

// TestAFullLifeOverTheWire makes a topic, sends, commits, and looks at everything after a restart, by requests of a
// client.
func TestAFullLifeOverTheWire(t *testing.T) {
	b := Start(t)
	connect := func() *client.Client {
		c := client.New(client.Options{NameServers: []string{b.NameServer()}})
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	c, ctx := connect(), t.Context()
	if err := c.CreateTopic(ctx, b.Addr(), wire.TopicConfig{TopicName: "Made", ReadQueueNums: 2, WriteQueueNums: 2, Perm: 6, TopicFilterType: "SINGLE_TAG"}); err != nil {
		t.Fatal(err)
	}
	sent, err := c.Producer("p").Send(ctx, &client.Message{Topic: "Made", Body: []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.CommitOffset(ctx, sent.Queue, "g", 1); err != nil {
		t.Fatal(err)
	}
	b.Restart()
	c = connect()
	configs, err := c.TopicConfigs(ctx, b.Addr())
	if tc, ok := configs["Made"]; err != nil || !ok || tc.WriteQueueNums != 2 {
		t.Errorf("topic %+v, %v, %v", tc, ok, err)
	}
	if at, err := c.CommittedOffset(ctx, sent.Queue, "g"); at != 1 || err != nil {
		t.Errorf("offset %d, %v", at, err)
	}
	_, position, err := message.ParseOffsetID(sent.OffsetID)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := c.ViewMessage(ctx, b.Addr(), position)
	if err != nil || string(rec.Body()) != "x" {
		t.Errorf("message %q, %v", rec, err)
	}
	if err := c.DeleteTopic(ctx, b.Addr(), "Made"); err != nil {
		t.Error(err)
	}
	if end, err := c.MaxOffset(ctx, sent.Queue); end != 0 || err != nil {
		t.Errorf("a deleted topic's queue ends at %d, %v", end, err)
	}
}
