package scenario

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirmq/weir/test/internal/agent"
	"github.com/weirmq/weir/test/internal/sut"
)

// order makes a message with the properties amount, its number, and region, one of four or none.
func order(number int) agent.Outgoing {
	m := agent.Outgoing{Body: fmt.Sprintf("order-%d", number), Properties: map[string]string{"amount": fmt.Sprint(number)}}
	if number%7 != 0 {
		m.Properties["region"] = []string{"eu", "us", "ap", "sa"}[number%4]
	}
	return m
}

// orders makes count orders, and the bodies of those that match.
func orders(first, count int, match func(amount int, region string) bool) (messages []agent.Outgoing, want []string) {
	for i := first; i < first+count; i++ {
		m := order(i)
		messages = append(messages, m)
		if match(i, m.Properties["region"]) {
			want = append(want, m.Body)
		}
	}
	return messages, want
}

// marker matches every filter of these scenarios.
func marker(body string) agent.Outgoing {
	return agent.Outgoing{Body: body, Properties: map[string]string{"amount": "100000", "region": "eu", "marker": "yes"}}
}

// sqlFilter pushes, polls and pulls by SQL92.
func sqlFilter(t *testing.T, w *world) {
	const topic = "SQLTopic"
	w.topic(t, topic, 1)
	o := w.consumer("sql", topic)
	o.SQL, o.Expression = true, "amount > 30 AND (region IN ('eu', 'ap') OR region IS NULL)"
	consumers := []*agent.Consumer{w.first.Push(t, o)}
	o.Name, o.Group = "sql-poll", "sql-poll-group"
	if w.kind.IsJava() {
		consumers = append(consumers, w.second.Poll(t, o))
	} else {
		defer polledByTag(t, w, o)
	}
	messages, want := orders(0, 80, func(amount int, region string) bool {
		return amount > 30 && (region == "eu" || region == "ap" || region == "")
	})
	w.sender.Send(t, agent.Sync, topic, w.place(0), messages...)
	w.sender.Send(t, agent.Sync, topic, w.place(0), marker("marker"))
	for _, c := range consumers {
		expectExactly(t, c, []string{"marker"}, want)
	}

	o.Name, o.Group = "sql-pull", "sql-pull-group"
	p := w.first.Puller(t, w.broker.Name(), o)
	defer p.Stop(t)
	var pulled []agent.Message
	for next := int64(0); next < 81; {
		r := p.Pull(t, 0, next)
		if r.Next <= next {
			t.Fatalf("pull from %d: %+v", next, r)
		}
		pulled, next = append(pulled, r.Messages...), r.Next
	}
	if got := receivedBodies(pulled); !slices.Equal(got, slices.Sorted(slices.Values(append(want, "marker")))) {
		t.Errorf("pulled %q, want %q and the marker", got, want)
	}
}

// polledByTag shows why the Go client doesn't poll by SQL92, with whatever broker: its pull consumer's Poll sends the expression
// as one of type TAG (consumer/pull_consumer.go, pullMessage; Pull and PullFrom send its type). What comes is the message
// that has the expression for its tag.
func polledByTag(t *testing.T, w *world, o agent.ConsumerOptions) {
	o.Expression = "marker = 'yes'"
	c := w.second.Poll(t, o)
	m := marker("by its tag")
	m.Tags = o.Expression
	w.sender.Send(t, agent.Sync, o.Topic, w.place(0), marker("by SQL92"), m)
	if all := c.Bodies(t, m.Body); len(all) != 1 {
		t.Errorf("the Go client polls by SQL92 by now: %s", agent.Summary(all))
	}
}

// manyGroups has forty groups on one topic, twenty with the same filter, written in two ways, and twenty with one of their own;
// every other one comes when the messages are there already. weir judges each message once for each of the 21 filters. Of
// the 5.x client, whose consumers take three times the processor's time to start, there are half as many.
func manyGroups(t *testing.T, w *world) {
	const topic, queues, count = "ManyFiltersTopic", 2, 400
	each := 20
	if w.kind == agent.Java5 {
		each = 10
	}
	w.topic(t, topic, queues)
	type group struct {
		*agent.Consumer
		low, high int
	}
	groups := make([]group, 2*each)
	start := func(i int) {
		g := group{low: i * 5, high: i*5 + 40}
		text := "amount BETWEEN %d AND %d OR marker = 'yes'"
		if i >= each {
			g.low, g.high = 250, 330 // of no other
			text = []string{text, "(amount between %d and %d) or ((marker='yes')) -- the same\n"}[i/2%2]
		}
		o := w.consumer(fmt.Sprint("many-", i), topic)
		o.SQL, o.Expression = true, fmt.Sprintf(text, g.low, g.high)
		g.Consumer = w.first.Push(t, o)
		groups[i] = g
	}
	for i := 0; i < len(groups); i += 2 {
		start(i)
	}
	var messages [queues][]agent.Outgoing
	for i := range count {
		messages[i%queues] = append(messages[i%queues], order(i))
	}
	for queue := range queues {
		w.sender.Send(t, agent.Async, topic, w.place(queue), messages[queue]...)
	}
	for i := 1; i < len(groups); i += 2 {
		start(i)
	}
	markers := []string{"marker-0", "marker-1"}
	for queue, body := range markers {
		w.sender.Send(t, agent.Sync, topic, w.place(queue), marker(body))
	}
	for _, g := range groups {
		_, want := orders(0, count, func(amount int, _ string) bool { return amount >= g.low && amount <= g.high })
		expectExactly(t, g.Consumer, markers, want)
	}
	if w.broker.Kind() == sut.Weir {
		awaitKept(t, w, topic, queues, each+1)
	}
}

// awaitKept waits until verdicts of so many filters are on the disk for each queue. More must not be.
func awaitKept(t *testing.T, w *world, topic string, queues, filters int) {
	t.Helper()
	limit := time.Now().Add(20 * time.Second)
	for queue := 0; queue < queues; {
		kept, _ := filepath.Glob(filepath.Join(w.broker.DataDir(), "weir", "verdicts", topic, fmt.Sprint(queue), "*"))
		if len(kept) == filters {
			queue++
			continue
		}
		if len(kept) > filters || time.Now().After(limit) {
			t.Fatalf("queue %d: verdicts of %d filters are kept, want %d", queue, len(kept), filters)
		}
		<-time.After(50 * time.Millisecond)
	}
}

// anotherFilter has a group go on with another filter where it was.
func anotherFilter(t *testing.T, w *world) {
	const topic = "ChangedFilterTopic"
	w.topic(t, topic, 1)
	o := w.consumer("changed", topic)
	o.SQL, o.Expression = true, "amount < 10 OR marker = 'yes'"
	c := w.first.Push(t, o)
	messages, want := orders(0, 20, func(amount int, _ string) bool { return amount < 10 })
	w.sender.Send(t, agent.Sync, topic, w.place(0), messages...)
	w.sender.Send(t, agent.Sync, topic, w.place(0), marker("first marker"))
	expectExactly(t, c, []string{"first marker"}, want)
	w.leave(t, c, o, 1, 21)

	o.Name, o.Expression = "changed-again", "region = 'us' AND amount > 5 OR marker = 'yes'"
	c = w.second.Push(t, o)
	messages, want = orders(20, 40, func(_ int, region string) bool { return region == "us" })
	w.sender.Send(t, agent.Sync, topic, w.place(0), messages...)
	w.sender.Send(t, agent.Sync, topic, w.place(0), marker("second marker"))
	expectExactly(t, c, []string{"second marker"}, want)
}

// wrongFilter is refused when the consumer starts, with the broker's remark.
func wrongFilter(t *testing.T, w *world) {
	const topic = "WrongFilterTopic"
	w.topic(t, topic, 1)
	o := w.consumer("wrong", topic)
	o.SQL, o.Expression = true, "amount > AND"
	remark := map[sut.Kind]string{sut.Weir: "parse the consumer's subscription failed", sut.Java: "at line 1, column 10"}[w.broker.Kind()]
	err := w.first.TryPush(o)
	if err == nil || !strings.Contains(err.Error(), "23") || !strings.Contains(err.Error(), remark) {
		t.Errorf("a consumer with a wrong filter: %v, want code 23 with its remark", err)
	}
}
