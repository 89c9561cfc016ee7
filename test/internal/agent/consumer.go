package agent

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// Message is a message as a consumer got it.
type Message struct {
	Topic          string            `json:"topic"`
	Queue          int               `json:"queue"`
	Offset         int64             `json:"offset"`
	MsgID          string            `json:"msgId"`
	OffsetMsgID    string            `json:"offsetMsgId"`
	Flag           int               `json:"flag"`
	ReconsumeTimes int               `json:"reconsumeTimes"`
	StoredAt       int64             `json:"storedAt"`
	At             int64             `json:"at"` // when its consumer got it, in µs since 1970; one clock for all processes
	Size           int               `json:"size"`
	Body           string            `json:"body"`
	Tags           string            `json:"tags"`
	Keys           string            `json:"keys"`
	Properties     map[string]string `json:"properties"`
}

// Consumer records what a consumer in an agent gets.
type Consumer struct {
	agent *Agent
	name  string

	mu      sync.Mutex // guards the fields below
	all     []Message
	changed chan struct{} // closed and replaced at each message
}

// ConsumerOptions of a consumer; Name, Group, NameServer and Topic are required.
type ConsumerOptions struct {
	Name, Group, NameServer, Topic string

	Expression   string // "*" if empty
	SQL          bool   // the expression is SQL92, not tags
	From         string // "first" (if empty), "last" or "time"
	FromTime     string // yyyyMMddHHmmss, for "time"; Java only
	Orderly      bool
	Broadcast    bool
	MaxReconsume int // the client's default if 0

	Broker string // with Queues
	Queues []int  // of Broker, for Poll: to be assigned, so that the group has no say
}

func (o ConsumerOptions) args() map[string]any {
	args := map[string]any{
		"name": o.Name, "group": o.Group, "nameServer": o.NameServer, "topic": o.Topic,
		"orderly": o.Orderly, "broadcast": o.Broadcast, "sql": o.SQL,
	}
	for name, value := range map[string]string{"expression": o.Expression, "from": o.From, "fromTime": o.FromTime} {
		if value != "" {
			args[name] = value
		}
	}
	if o.MaxReconsume != 0 {
		args["maxReconsume"] = o.MaxReconsume
	}
	if o.Queues != nil {
		args["broker"], args["queues"] = o.Broker, o.Queues
	}
	return args
}

// Push starts a push consumer. A message with a property "fail" is consumed without success as often as that says, one with "take"
// takes so many milliseconds.
func (a *Agent) Push(t testing.TB, o ConsumerOptions) *Consumer {
	t.Helper()
	return a.consumer(t, "push", o)
}

// TryPush is Push that may be refused: with the client's own error.
func (a *Agent) TryPush(o ConsumerOptions) error { return a.order("push", o.args(), nil) }

// Poll starts a consumer that polls: the lite pull consumer of Java, the pull consumer of Go.
func (a *Agent) Poll(t testing.TB, o ConsumerOptions) *Consumer {
	t.Helper()
	return a.consumer(t, "poll", o)
}

func (a *Agent) consumer(t testing.TB, op string, o ConsumerOptions) *Consumer {
	t.Helper()
	c := a.record(o.Name)
	a.must(t, op, o.args(), nil)
	return c
}

// record keeps what the agent reports under a name.
func (a *Agent) record(name string) *Consumer {
	c := &Consumer{agent: a, name: name, changed: make(chan struct{})}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.consumers[name] = c
	return c
}

// Seek has an assigned poller go on from an offset.
func (c *Consumer) Seek(t testing.TB, o ConsumerOptions, queue int, offset int64) {
	t.Helper()
	c.agent.must(t, "seek", map[string]any{"name": c.name, "topic": o.Topic, "broker": o.Broker, "queue": queue, "offset": offset}, nil)
}

// SeekToBegin is Seek to the queue's first message, in the client's own words. Java only.
func (c *Consumer) SeekToBegin(t testing.TB, o ConsumerOptions, queue int) {
	t.Helper()
	c.agent.must(t, "seek", map[string]any{"name": c.name, "topic": o.Topic, "broker": o.Broker, "queue": queue, "begin": true}, nil)
}

// Subscribe gives a running push consumer another SQL92 expression. Java tells the broker before this returns, as a rule; the Go
// client with its next heartbeat, which it sends every half minute.
func (c *Consumer) Subscribe(t testing.TB, topic, expression string) {
	t.Helper()
	c.agent.must(t, "subscribe", map[string]any{"name": c.name, "topic": topic, "sql": true, "expression": expression}, nil)
}

// Unsubscribe takes a topic from a running push consumer. The broker learns it with the next heartbeat. Java only.
func (c *Consumer) Unsubscribe(t testing.TB, topic string) {
	t.Helper()
	c.agent.must(t, "unsubscribe", map[string]any{"name": c.name, "topic": topic}, nil)
}

// Stop shuts the consumer down, which commits its offsets.
func (c *Consumer) Stop(t testing.TB) {
	t.Helper()
	c.agent.stop(t, c.name)
}

func (c *Consumer) add(m Message) {
	c.mu.Lock()
	c.all = append(c.all, m)
	close(c.changed)
	c.changed = make(chan struct{})
	c.mu.Unlock()
}

// Messages returns what has come so far, in the order in which the agent reported it.
func (c *Consumer) Messages() []Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all[:len(c.all):len(c.all)]
}

// Changed is closed at the next message.
func (c *Consumer) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// Await waits until the condition holds for all that has come, and returns that. It fails the test after a time that
// covers a client's slowest routine, a rebalance and a route refresh of half a minute each.
func (c *Consumer) Await(t testing.TB, what string, met func([]Message) bool) []Message {
	t.Helper()
	return c.AwaitWithin(t, 75*time.Second, what, met)
}

// AwaitWithin is Await with a time of its own.
func (c *Consumer) AwaitWithin(t testing.TB, limit time.Duration, what string, met func([]Message) bool) []Message {
	t.Helper()
	timeout := time.After(limit)
	for {
		changed := c.Changed()
		all := c.Messages()
		if met(all) {
			return all
		}
		select {
		case <-changed:
		case <-c.agent.process.Done():
			t.Fatalf("consumer %s: await %s: the agent ended; its log ends:\n%s", c.name, what, c.agent.process.Tail())
		case <-timeout:
			t.Fatalf("consumer %s: no %s within %v; got %s", c.name, what, limit, Summary(all))
		}
	}
}

// Bodies waits until messages with all these bodies have come, in any order, and returns everything that came.
func (c *Consumer) Bodies(t testing.TB, bodies ...string) []Message {
	t.Helper()
	return c.Await(t, fmt.Sprintf("messages %.200q", bodies), func(all []Message) bool {
		return len(Lacking(all, bodies)) == 0
	})
}

// Lacking returns the bodies that no message has.
func Lacking(all []Message, bodies []string) []string {
	have := make(map[string]bool, len(all))
	for _, m := range all {
		have[m.Body] = true
	}
	var lacking []string
	for _, body := range bodies {
		if !have[body] {
			lacking = append(lacking, body)
		}
	}
	return lacking
}

// Summary lists the messages in short.
func Summary(all []Message) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%d messages:", len(all))
	for i, m := range all {
		if i == 100 {
			s.WriteString(" ...")
			break
		}
		fmt.Fprintf(&s, " %.20q@%d/%d", m.Body, m.Queue, m.Offset)
	}
	return s.String()
}
