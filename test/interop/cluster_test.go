package interop

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirmq/weir/test/internal/agent"
	"github.com/weirmq/weir/test/internal/raw"
	"github.com/weirmq/weir/test/internal/repo"
	"github.com/weirmq/weir/test/internal/sut"
)

// A Java broker and a weir broker in one cluster, under either's name server.

func TestJavaBrokerUnderWeirNameServer(t *testing.T) { oneCluster(t, sut.Default(), sut.Java) }

func TestWeirBrokerUnderJavaNameServer(t *testing.T) { oneCluster(t, sut.Java, sut.Default()) }

// oneCluster: the broker of the host brings its name server, the guest joins it. A client sees a topic on both and
// uses both; when the guest stops, it leaves the route.
func oneCluster(t *testing.T, host, guest sut.Kind) {
	t.Parallel()
	repo.NeedJava(t)
	const topic = "ClusterTopic"
	a := sut.Start(t, sut.Options{Kind: host, Name: "broker-a"})
	b := sut.Start(t, sut.Options{Kind: guest, Name: "broker-b", NameServer: a.NameServer()})
	for _, broker := range []*sut.Broker{a, b} {
		use(t, broker, func(ctx context.Context, c *raw.Conn) { must(t, c.CreateTopic(ctx, topic, 2)) })
	}
	awaitRoute(t, a, topic, func(route string) bool {
		return strings.Contains(route, a.Addr()) && strings.Contains(route, b.Addr())
	})
	nameServer(t, a, func(ctx context.Context, c *raw.Conn) {
		info, err := c.ClusterInfo(ctx)
		must(t, err)
		for _, want := range []string{`"broker-a"`, `"broker-b"`, `"DefaultCluster"`, a.Addr(), b.Addr()} {
			if !strings.Contains(info, want) {
				t.Errorf("cluster info lacks %s: %s", want, info)
			}
		}
	})

	client := agent.Start(t, agent.Go, "client")
	producer := client.Producer(t, agent.ProducerOptions{Name: "producer", Group: "cluster-producer", NameServer: a.NameServer()})
	var messages []agent.Outgoing
	var want []string
	for i := range 40 {
		messages = append(messages, agent.Outgoing{Body: fmt.Sprintf("cluster-%d", i)})
		want = append(want, messages[i].Body)
	}
	producer.Send(t, agent.Sync, topic, agent.Place{}, messages...)
	consumer := client.Push(t, agent.ConsumerOptions{Name: "consumer", Group: "cluster-group", NameServer: a.NameServer(), Topic: topic})
	consumer.Bodies(t, want...)
	for _, broker := range []*sut.Broker{a, b} {
		use(t, broker, func(ctx context.Context, c *raw.Conn) {
			for queue := range 2 {
				if end, err := c.MaxOffset(ctx, topic, queue); err != nil || end == 0 {
					t.Errorf("%s queue %d holds %d messages, %v", broker.Name(), queue, end, err)
				}
			}
		})
	}

	b.Stop(t)
	awaitRoute(t, a, topic, func(route string) bool {
		return strings.Contains(route, a.Addr()) && !strings.Contains(route, b.Addr())
	})
}

func nameServer(t *testing.T, b *sut.Broker, do func(context.Context, *raw.Conn)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := raw.Dial(ctx, b.NameServer())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	do(ctx, c)
}

// awaitRoute asks for a route until it is as wanted. Registration is not waited for by who creates a topic.
func awaitRoute(t *testing.T, b *sut.Broker, topic string, met func(string) bool) {
	t.Helper()
	nameServer(t, b, func(ctx context.Context, c *raw.Conn) {
		for {
			route, err := c.Route(ctx, topic)
			if err == nil && met(route) {
				return
			}
			select {
			case <-ctx.Done():
				t.Fatalf("route of %s after a minute: %s, %v", topic, route, err)
			case <-time.After(50 * time.Millisecond):
			}
		}
	})
}
