package scenario

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weirmq/weir/test/internal/agent"
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

// sqlFilter pushes by SQL92, and polls where the client can.
func sqlFilter(t *testing.T, w *world) {
	const topic = "SQLTopic"
	w.topic(t, topic, 1)
	o := w.consumer("sql", topic)
	o.SQL, o.Expression = true, "amount > 30 AND (region IN ('eu', 'ap') OR region IS NULL)"
	consumers := []*agent.Consumer{w.first.Push(t, o)}
	if w.kind.IsJava() { // the Go client's pull consumer doesn't filter by SQL92
		o.Name, o.Group = "sql-poll", "sql-poll-group"
		consumers = append(consumers, w.second.Poll(t, o))
	}
	messages, want := orders(0, 80, func(amount int, region string) bool {
		return amount > 30 && (region == "eu" || region == "ap" || region == "")
	})
	w.sender.Send(t, agent.Sync, topic, w.place(0), messages...)
	w.sender.Send(t, agent.Sync, topic, w.place(0), marker("marker"))
	for _, c := range consumers {
		expectExactly(t, c, []string{"marker"}, want)
	}
}

// twentyGroups has twenty groups on one topic, two with each of ten filters, some before the messages are sent and some after.
func twentyGroups(t *testing.T, w *world) {
	const topic = "ManyFiltersTopic"
	w.topic(t, topic, 2)
	const filters = 10
	groups := make([]*agent.Consumer, 2*filters)
	start := func(i int) {
		o := w.consumer(fmt.Sprint("many-", i), topic)
		o.SQL, o.Expression = true, fmt.Sprintf("amount BETWEEN %d AND %d OR marker = 'yes'", i%filters*5, i%filters*5+40)
		groups[i] = w.first.Push(t, o)
	}
	for i := range filters {
		start(i)
	}
	messages, _ := orders(0, 120, func(int, string) bool { return false })
	for i, m := range messages {
		w.sender.Send(t, agent.Sync, topic, w.place(i%2), m)
	}
	for i := filters; i < 2*filters; i++ {
		start(i)
	}
	markers := []string{"marker-0", "marker-1"}
	for queue, body := range markers {
		w.sender.Send(t, agent.Sync, topic, w.place(queue), marker(body))
	}
	for i, c := range groups {
		_, want := orders(0, 120, func(amount int, _ string) bool { return amount >= i%filters*5 && amount <= i%filters*5+40 })
		expectExactly(t, c, markers, want)
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
	err := w.first.TryPush(o)
	if err == nil || !strings.Contains(err.Error(), "23") || !strings.Contains(err.Error(), "parse the consumer's subscription failed") {
		t.Errorf("a consumer with a wrong filter: %v, want code 23 with its remark", err)
	}
}
