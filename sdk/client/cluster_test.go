package client_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/sdk/brokertest"
	"github.com/weirmq/weir/sdk/client"
	"github.com/weirmq/weir/sdk/wire"
)

// cluster returns a client of a broker: one of our own or, with WEIR_TEST_NAMESERVER, of RocketMQ's that is running there.
func cluster(t *testing.T) func() *client.Client {
	t.Helper()
	addr := os.Getenv("WEIR_TEST_NAMESERVER")
	if addr == "" {
		addr = brokertest.Start(t).NameServer()
	}
	return func() *client.Client {
		c := client.New(client.Options{NameServers: []string{addr}, Timeout: 5 * time.Second, RouteRefresh: 100 * time.Millisecond})
		t.Cleanup(func() { c.Close() })
		return c
	}
}

// names makes topic and group names that no other run has used.
func names(t *testing.T) (topic, group string) {
	at := time.Now().UnixNano() % 1_000_000_000
	return fmt.Sprintf("T%d", at), fmt.Sprintf("G%d", at)
}

func context10(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func createTopic(t *testing.T, c *client.Client, topic string, queues int32) *client.Route {
	t.Helper()
	ctx := context10(t)
	masters, err := c.Masters(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, addr := range masters {
		err := c.CreateTopic(ctx, addr, wire.TopicConfig{TopicName: topic, ReadQueueNums: queues, WriteQueueNums: queues, Perm: 6})
		if err != nil {
			t.Fatal(err)
		}
	}
	for {
		r, err := c.FetchRoute(ctx, topic)
		if err == nil {
			return r
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

// asyncSends counts the results of asynchronous sends.
type asyncSends struct {
	wg  sync.WaitGroup
	mu  sync.Mutex
	ids map[uint64]string
	err error
}

func (s *asyncSends) Sent(token uint64, r client.SendResult, err error) {
	defer s.wg.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids[token] = r.ID
	s.err = errors.Join(s.err, err)
}

// TestSendAndPull sends in every way and reads all of it back from where it was said to be.
func TestSendAndPull(t *testing.T) {
	c := cluster(t)()
	ctx := context10(t)
	topic, group := names(t)
	route := createTopic(t, c, topic, 2)
	if len(route.Write) != 2 || len(route.Read) != 2 {
		t.Fatalf("route %+v, want two queues", route)
	}
	p := c.Producer("P" + group)

	first, err := p.Send(ctx, &client.Message{Topic: topic, Tag: "A", Keys: []string{"k1", "k2"}, Body: []byte("one"),
		Properties: map[string]string{"colour": "red"}})
	if err != nil {
		t.Fatal(err)
	}
	got := pullOne(t, c, first.Queue, group, first.Offset)
	if string(got.Body) != "one" || got.Tag != "A" || got.ID != first.ID || got.Properties[message.PropKeys] != "k1 k2" || got.Properties["colour"] != "red" {
		t.Errorf("pulled %+v, want what was sent as %+v", got, first)
	}

	batch, err := p.SendBatch(ctx, []*client.Message{{Topic: topic, Tag: "B", Body: []byte("b0")}, {Topic: topic, Tag: "C", Body: []byte("b1")}})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"b0", "b1"} {
		if got := pullOne(t, c, batch.Queue, group, batch.Offset+int64(i)); string(got.Body) != want {
			t.Errorf("batch item %d is %q, want %q", i, got.Body, want)
		}
	}

	a := &asyncSends{ids: map[uint64]string{}}
	const n = 500
	a.wg.Add(n)
	for i := range uint64(n) {
		if err := p.SendAsync(ctx, &client.Message{Topic: topic, Body: fmt.Appendf(nil, "a%d", i)}, a, i); err != nil {
			t.Fatal(err)
		}
	}
	a.wg.Wait()
	if a.err != nil || len(a.ids) != n {
		t.Fatalf("%d results, %v", len(a.ids), a.err)
	}
	if err := p.SendOneWay(ctx, &client.Message{Topic: topic, Body: []byte("w")}); err != nil {
		t.Fatal(err)
	}
	awaitTotal(t, c, route, 1+2+n+1)
}

func pullOne(t *testing.T, c *client.Client, q client.Queue, group string, offset int64) *client.Received {
	t.Helper()
	for {
		r, err := c.Pull(context10(t), client.PullRequest{Queue: q, Group: group, Offset: offset, Max: 1, Commit: -1, Hold: time.Second,
			Subscription: &client.Subscription{Topic: q.Topic}})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Messages) == 1 {
			return r.Messages[0]
		}
		if r.Code != message.PullNotFound && r.Code != message.PullOffsetMoved {
			t.Fatalf("pull %s at %d: %+v", q, offset, r)
		}
	}
}

// awaitTotal waits until the queues hold n messages.
func awaitTotal(t *testing.T, c *client.Client, route *client.Route, n int64) {
	t.Helper()
	ctx := context10(t)
	for {
		var sum int64
		for _, q := range route.Read {
			end, err := c.MaxOffset(ctx, q)
			if err != nil {
				t.Fatal(err)
			}
			sum += end
		}
		if sum == n {
			return
		}
		if sum > n {
			t.Fatalf("%d messages, want %d", sum, n)
		}
	}
}

// TestAutoCreate sends to a topic that isn't there.
func TestAutoCreate(t *testing.T) {
	c := cluster(t)()
	topic, _ := names(t)
	ctx := context10(t)
	var said *message.Error
	if _, err := c.Route(ctx, topic); !errors.As(err, &said) || said.Code != message.TopicNotExist {
		t.Fatalf("route of an unknown topic: %v, want TOPIC_NOT_EXIST", err)
	}
	r, err := c.Producer("P").Send(ctx, &client.Message{Topic: topic, Body: []byte("x")})
	if err != nil || r.Offset != 0 {
		t.Fatalf("send to a new topic: %+v, %v", r, err)
	}
}

// TestRefused sends what brokers refuse.
func TestRefused(t *testing.T) {
	c := cluster(t)()
	_, err := c.Producer("P").Send(context10(t), &client.Message{Topic: message.TopicSchedule, Body: []byte("x")})
	var said *message.Error
	if !errors.As(err, &said) {
		t.Errorf("send to %s: %v, want a refusal with a code", message.TopicSchedule, err)
	}
}

// member is a consumer of a test that notes what it gets.
type member struct {
	*client.Consumer
	mu     sync.Mutex
	bodies []string
	got    chan string
}

func consume(t *testing.T, c *client.Client, group string, sub client.Subscription, handle func(*client.Received) error) *member {
	t.Helper()
	m := &member{got: make(chan string, 10_000)}
	k, err := c.Consume(context10(t), client.ConsumerOptions{Group: group, Subscriptions: []client.Subscription{sub},
		From: wire.FromFirstOffset, Batch: 4, Handle: func(_ context.Context, ms []*client.Received) error {
			for _, r := range ms {
				if handle != nil {
					if err := handle(r); err != nil {
						return err
					}
				}
				m.mu.Lock()
				m.bodies = append(m.bodies, string(r.Body))
				m.mu.Unlock()
				m.got <- string(r.Body)
			}
			return nil
		}, Errors: func(err error) { t.Logf("consumer: %v", err) }})
	if err != nil {
		t.Fatal(err)
	}
	m.Consumer = k
	t.Cleanup(func() { k.Close() })
	return m
}

func (m *member) await(t *testing.T, n int) {
	t.Helper()
	timeout := time.After(50 * time.Second)
	for i := range n {
		select {
		case <-m.got:
		case <-timeout:
			t.Fatalf("got %d messages, want %d", i, n)
		}
	}
}

func awaitAssigned(t *testing.T, k *client.Consumer, n int) []client.Queue {
	t.Helper()
	ctx := context10(t)
	for {
		qs := k.Assigned()
		qs = slices.DeleteFunc(qs, func(q client.Queue) bool { return message.IsRetryTopic(q.Topic) })
		if len(qs) == n {
			return qs
		}
		if ctx.Err() != nil {
			t.Fatalf("%d queues are assigned, want %d", len(qs), n)
		}
		time.Sleep(10 * time.Millisecond) // polls a state that has no event; bounded by ctx
	}
}

// TestConsumersShare runs two members of a group: they share the queues, take over from each other, and miss nothing.
func TestConsumersShare(t *testing.T) {
	connect := cluster(t)
	c := connect()
	topic, group := names(t)
	createTopic(t, c, topic, 4)
	p := c.Producer("P" + group)
	ctx := context10(t)
	send := func(from, to int) {
		for i := from; i < to; i++ {
			if _, err := p.Send(ctx, &client.Message{Topic: topic, Tag: "A", Body: fmt.Appendf(nil, "%d", i)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	send(0, 20)
	one := consume(t, connect(), group, client.Subscription{Topic: topic, Expression: "A || B"}, nil)
	one.await(t, 20)
	two := consume(t, connect(), group, client.Subscription{Topic: topic, Expression: "A || B"}, nil)
	q1, q2 := awaitAssigned(t, one.Consumer, 2), awaitAssigned(t, two.Consumer, 2)
	for _, q := range q2 {
		if slices.Contains(q1, q) {
			t.Errorf("both members have %s", q)
		}
	}
	one.Close()
	awaitAssigned(t, two.Consumer, 4)
	send(20, 40)
	seen := map[string]bool{}
	for len(seen) < 20 {
		select {
		case b := <-two.got:
			if n := 0; len(b) > 0 {
				if _, err := fmt.Sscan(b, &n); err == nil && n >= 20 {
					seen[b] = true
				}
			}
		case <-ctx.Done():
			t.Fatalf("the member that is left got %d of 20", len(seen))
		}
	}
	two.Close()

	// What was committed counts for the next member: nothing comes again.
	three := consume(t, connect(), group, client.Subscription{Topic: topic, Expression: "A || B"}, nil)
	awaitAssigned(t, three.Consumer, 4)
	send(40, 41)
	select {
	case b := <-three.got:
		if b != "40" {
			t.Errorf("after a restart of the group message %s came, want 40", b)
		}
	case <-ctx.Done():
		t.Fatal("nothing came after a restart of the group")
	}
}

// TestFilterAndRetry consumes one tag of two whose hashes are equal, fails once, and gets the message again.
func TestFilterAndRetry(t *testing.T) {
	c := cluster(t)()
	topic, group := names(t)
	createTopic(t, c, topic, 1)
	p := c.Producer("P" + group)
	ctx := context10(t)
	for _, m := range []struct{ tag, body string }{{"BBBB", "no"}, {"AaBB", "fails once"}, {"other", "no"}, {"AaBB", "fine"}} {
		if _, err := p.Send(ctx, &client.Message{Topic: topic, Tag: m.tag, Body: []byte(m.body)}); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	failed := false
	again := make(chan *client.Received, 1)
	m := consume(t, c, group, client.Subscription{Topic: topic, Expression: "AaBB"}, func(r *client.Received) error {
		mu.Lock()
		defer mu.Unlock()
		if string(r.Body) == "fails once" && !failed {
			failed = true
			return errors.New("not now")
		}
		if r.ReconsumeTimes > 0 {
			select {
			case again <- r:
			default:
			}
		}
		return nil
	})
	m.await(t, 2)
	m.mu.Lock()
	defer m.mu.Unlock()
	bodies := map[string]bool{}
	for _, b := range m.bodies {
		bodies[b] = true
	}
	if !bodies["fails once"] || !bodies["fine"] || bodies["no"] {
		t.Errorf("consumed %q", m.bodies)
	}
	if r := <-again; r.Topic != topic || r.ReconsumeTimes != 1 {
		t.Errorf("the message came back with topic %s and %d reconsume times, want %s and 1", r.Topic, r.ReconsumeTimes, topic)
	}
}

// TestBroadcast gives every message to every member.
func TestBroadcast(t *testing.T) {
	connect := cluster(t)
	c := connect()
	topic, group := names(t)
	createTopic(t, c, topic, 2)
	start := func() chan string {
		got := make(chan string, 100)
		k, err := connect().Consume(context10(t), client.ConsumerOptions{Group: group, Broadcast: true, From: wire.FromFirstOffset,
			Subscriptions: []client.Subscription{{Topic: topic}},
			Handle: func(_ context.Context, ms []*client.Received) error {
				for _, m := range ms {
					got <- string(m.Body)
				}
				return nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { k.Close() })
		return got
	}
	one, two := start(), start()
	if _, err := c.Producer("P"+group).Send(context10(t), &client.Message{Topic: topic, Body: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	for i, got := range []chan string{one, two} {
		select {
		case <-got:
		case <-time.After(30 * time.Second):
			t.Fatalf("member %d got nothing", i)
		}
	}
}

// TestUnreachable names the addresses that were tried.
func TestUnreachable(t *testing.T) {
	c := client.New(client.Options{NameServers: []string{"127.0.0.1:1", "127.0.0.1:2"}, Timeout: time.Second})
	defer c.Close()
	_, err := c.Route(context10(t), "T")
	var gone *client.UnreachableError
	if !errors.As(err, &gone) || len(gone.NameServers) != 2 {
		t.Fatalf("%v, want an UnreachableError with two addresses", err)
	}
}
