// Package scenario is what a stock RocketMQ client must be able to do with weir, once for all clients.
//
// Run starts one broker and two processes of the client, of which the second writes binary headers if it can. The scenarios of the first part run side by side on them, each
// with topics and groups of its own; most of their time is spent waiting for a client's timers. Then the second process
// is killed, then the broker is restarted and killed under the living clients, and at last groups go on where they were.
// RunOld is the part of it that a client of 4.3.0 can do in one process.
package scenario

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/weirmq/weir/test/internal/agent"
	"github.com/weirmq/weir/test/internal/raw"
	"github.com/weirmq/weir/test/internal/sut"
)

// world is what the scenarios share.
type world struct {
	kind   agent.Kind
	broker *sut.Broker
	first  *agent.Agent
	second *agent.Agent
	sender *agent.Producer // in the first process
}

// part is a scenario. needsJava marks what the Go client cannot do, old what RunOld runs as well.
type part struct {
	name      string
	needsJava bool
	old       bool
	weirOnly  bool // RocketMQ 4 can't
	run       func(*testing.T, *world)
}

// options have producers of transactions asked, and verdicts saved, earlier than anybody wants.
var options = sut.Options{
	WeirSettings: map[string]string{
		"QUEUES__VERDICTS__SAVE_INTERVAL": "1s", "TRANSACTIONS__TIMEOUT": "1s", "TRANSACTIONS__CHECK_INTERVAL": "1s",
	},
	JavaProperties: map[string]string{"transactionTimeOut": "1000", "transactionCheckInterval": "1000"},
}

// Run runs all scenarios with one kind of client.
func Run(t *testing.T, kind agent.Kind) {
	kind.Need(t)
	w := &world{kind: kind, broker: sut.Start(t, options)}
	w.first = agent.Start(t, kind, "first")
	w.second = agent.Start(t, kind, "second", agent.BinaryHeaders)
	w.sender = w.first.Producer(t, agent.ProducerOptions{Name: "sender", Group: "sender-group", NameServer: w.broker.NameServer()})

	// These outlive the first part: what they watch happens in the later ones.
	pair := startPair(t, w)
	reconnecting := startReconnecting(t, w)
	filtered := startFilteredRestarts(t, w)
	// These wait longer for clients' timers than the first part takes.
	resets := startResets(t, w)
	succession := startSuccession(t, w)
	resets.sendBack(t, w)

	t.Run("steady", func(t *testing.T) {
		for _, p := range steady {
			if p.needsJava && !kind.IsJava() || p.weirOnly && sut.Default() != sut.Weir {
				continue // the Go client has no such call, or the broker can't
			}
			t.Run(p.name, func(t *testing.T) {
				t.Parallel()
				p.run(t, w)
			})
		}
		t.Run("rebalance to two", func(t *testing.T) {
			t.Parallel()
			pair.split(t, w)
		})
	})
	t.Run("offsets reset while consuming", func(t *testing.T) { resets.end(t, w) })
	t.Run("orderly, a member joins and the other is killed", func(t *testing.T) { succession.end(t) })
	t.Run("kill one of two", func(t *testing.T) { pair.kill(t, w) })
	t.Run("orders flow to filters", func(t *testing.T) { filtered.begin(t, w) })
	t.Run("restart the broker", func(t *testing.T) { reconnecting.restart(t, w) })
	t.Run("kill the broker, and another consumer", func(t *testing.T) { filtered.kill(t, w) })
	t.Run("every match came", func(t *testing.T) { filtered.end(t, w) })
}

// RunOld runs what a client does that is older than most of what Run asks for.
func RunOld(t *testing.T, kind agent.Kind) {
	kind.Need(t)
	w := &world{kind: kind, broker: sut.Start(t, options)}
	w.first = agent.Start(t, kind, "first")
	w.sender = w.first.Producer(t, agent.ProducerOptions{Name: "sender", Group: "sender-group", NameServer: w.broker.NameServer()})
	resets := startResets(t, w)
	resets.sendBack(t, w)
	t.Run("steady", func(t *testing.T) {
		t.Run("new topic through the fast port", func(t *testing.T) {
			t.Parallel()
			newTopicThroughFastPort(t, w)
		})
		for _, p := range steady {
			if p.old && !(p.weirOnly && sut.Default() != sut.Weir) {
				t.Run(p.name, func(t *testing.T) {
					t.Parallel()
					p.run(t, w)
				})
			}
		}
	})
	t.Run("offsets reset while consuming", func(t *testing.T) { resets.end(t, w) })
}

var steady = []part{
	{name: "send", run: send},
	{name: "send with binary headers", needsJava: true, run: sendWithBinaryHeaders},
	{name: "send to a new topic", run: sendToNewTopic},
	{name: "send through the fast port", needsJava: true, run: sendThroughFastPort},
	{name: "request and reply", run: requests},
	{name: "refusals", needsJava: true, old: true, run: refusals},
	{name: "delay levels", old: true, run: delays},
	{name: "times of their own", old: true, weirOnly: true, run: timers},
	{name: "transactions", old: true, run: transactions},
	{name: "tags", old: true, run: tags},
	{name: "tags of equal hash", run: collidingTags},
	{name: "SQL92", run: sqlFilter},
	{name: "many groups with filters", run: manyGroups},
	{name: "another filter", run: anotherFilter},
	{name: "another filter while consuming", run: changeWhileConsuming},
	{name: "away and back with another filter", needsJava: true, run: awayAndBack},
	{name: "wrong filter", needsJava: true, run: wrongFilter},
	{name: "orderly", run: orderly},
	{name: "orderly dead letter", old: true, run: orderlyDeadLetter},
	{name: "broadcast", run: broadcast},
	{name: "retry and dead letter", old: true, run: retry},
	{name: "poll", run: poll},
	{name: "poll queues of one's choice", run: pollAssigned},
	{name: "pull", run: pull},
	{name: "offsets of a queue", needsJava: true, run: queueOffsets},
	{name: "view by id and key", needsJava: true, old: true, run: view},
	{name: "start of a new group", run: newGroup},
}

// consumer fills in what all consumers have in common.
func (w *world) consumer(name, topic string) agent.ConsumerOptions {
	return agent.ConsumerOptions{Name: name, Group: name + "-group", NameServer: w.broker.NameServer(), Topic: topic}
}

// topic creates a topic through the judges' own client.
func (w *world) topic(t *testing.T, name string, queues int) {
	t.Helper()
	w.raw(t, func(ctx context.Context, c *raw.Conn) error { return c.CreateTopic(ctx, name, queues) })
}

// raw runs something with a fresh connection to the broker.
func (w *world) raw(t *testing.T, do func(context.Context, *raw.Conn) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := raw.Dial(ctx, w.broker.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := do(ctx, conn); err != nil {
		t.Fatal(err)
	}
}

// stored reads what a topic's queues hold, past all clients.
func (w *world) stored(t *testing.T, topic string, queues int) []*raw.Record {
	t.Helper()
	var all []*raw.Record
	w.raw(t, func(ctx context.Context, c *raw.Conn) error {
		for queue := range queues {
			records, err := c.ReadQueue(ctx, topic, queue)
			if err != nil {
				return err
			}
			all = append(all, records...)
		}
		return nil
	})
	return all
}

// awaitStored waits until a topic holds so many messages.
func (w *world) awaitStored(t *testing.T, topic string, queues, count int) []*raw.Record {
	t.Helper()
	limit := time.Now().Add(time.Minute)
	for {
		records := w.stored(t, topic, queues)
		if len(records) >= count {
			return records
		}
		if time.Now().After(limit) {
			t.Fatalf("%s holds %d messages after a minute, want %d", topic, len(records), count)
		}
		<-time.After(50 * time.Millisecond)
	}
}

// leave stops a consumer that got all of a topic and waits until its group has committed that. Clients commit without
// waiting for an answer, so what they sent may take effect a little later. Java's broker may even let the older offset
// that came with a pull win over it; there the consumer comes back for the rest.
func (w *world) leave(t *testing.T, c *agent.Consumer, o agent.ConsumerOptions, queues int, total int64) {
	t.Helper()
	for attempt := 1; ; attempt++ {
		c.Stop(t)
		committed := w.awaitCommitted(t, o.Group, o.Topic, queues, total)
		if committed == total {
			return
		}
		if w.broker.Kind() != sut.Java || attempt == 3 {
			t.Fatalf("group %s committed %d of %s, want %d", o.Group, committed, o.Topic, total)
		}
		o.Name += "-again"
		c = w.first.Push(t, o)
		c.Await(t, "the rest", func(all []agent.Message) bool { return int64(len(all)) >= total-committed })
	}
}

// awaitCommitted waits up to ten seconds until the offsets of a group add up to a total, and returns what they add up to.
func (w *world) awaitCommitted(t *testing.T, group, topic string, queues int, total int64) int64 {
	t.Helper()
	limit := time.Now().Add(10 * time.Second)
	for {
		var sum int64
		w.raw(t, func(ctx context.Context, c *raw.Conn) error {
			for queue := range queues {
				offset, err := c.QueryOffset(ctx, group, topic, queue)
				if err != nil {
					return err
				}
				sum += offset
			}
			return nil
		})
		if sum == total || time.Now().After(limit) {
			return sum
		}
		<-time.After(50 * time.Millisecond)
	}
}

func (w *world) place(queue int) agent.Place {
	return agent.Place{Broker: w.broker.Name(), Queue: queue}
}

// numbered makes messages whose bodies are a prefix and numbers from first on.
func numbered(prefix string, first, count int) []agent.Outgoing {
	all := make([]agent.Outgoing, count)
	for i := range all {
		all[i].Body = fmt.Sprintf("%s-%d", prefix, first+i)
	}
	return all
}

func bodies(messages []agent.Outgoing) []string {
	all := make([]string, len(messages))
	for i, m := range messages {
		all[i] = m.Body
	}
	return all
}
