package scenario

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/weirmq/weir/test/internal/agent"
	"github.com/weirmq/weir/test/internal/raw"
	"github.com/weirmq/weir/test/internal/sut"
)

// receivedBodies are the distinct bodies, sorted.
func receivedBodies(all []agent.Message) []string {
	var got []string
	for _, m := range all {
		got = append(got, m.Body)
	}
	sort.Strings(got)
	return slices.Compact(got)
}

// expectExactly waits for the bodies, then for a last message sent behind them to each queue, so that nothing more can
// come before it, and compares.
func expectExactly(t *testing.T, c *agent.Consumer, markers, want []string) {
	t.Helper()
	all := c.Bodies(t, append(slices.Clone(want), markers...)...)
	got := receivedBodies(all)
	expected := append(slices.Clone(want), markers...)
	sort.Strings(expected)
	if !slices.Equal(got, expected) {
		t.Errorf("received %q, want %q", got, expected)
	}
}

// tags subscribes to two tags of three.
func tags(t *testing.T, w *world) {
	const topic = "TagTopic"
	w.topic(t, topic, 1)
	o := w.consumer("tags", topic)
	o.Expression = "TagA || TagB"
	c := w.first.Push(t, o)
	var messages []agent.Outgoing
	var want []string
	for i, tag := range []string{"TagA", "TagB", "TagC", "", "TagAB", "TagA", "taga", "TagC", "TagB"} {
		m := agent.Outgoing{Body: fmt.Sprintf("%d-%s", i, tag), Tags: tag}
		messages = append(messages, m)
		if tag == "TagA" || tag == "TagB" {
			want = append(want, m.Body)
		}
	}
	w.sender.Send(t, agent.Sync, topic, agent.Place{}, messages...)
	w.sender.Send(t, agent.Sync, topic, agent.Place{}, agent.Outgoing{Body: "marker", Tags: "TagA"})
	expectExactly(t, c, []string{"marker"}, want)
}

// collidingTags uses tags whose hash codes are equal. The broker may not tell them apart, the client does.
func collidingTags(t *testing.T, w *world) {
	const topic = "CollisionTopic"
	w.topic(t, topic, 1)
	o := w.consumer("collision", topic)
	o.Expression = "AaAa || AaBB"
	c := w.first.Push(t, o)
	var want []string
	for i, tag := range []string{"AaAa", "BBBB", "AaBB", "BBAa", "Other", "AaAa", "BBBB"} {
		body := fmt.Sprintf("%d-%s", i, tag)
		w.sender.Send(t, agent.Sync, topic, agent.Place{}, agent.Outgoing{Body: body, Tags: tag})
		if tag == "AaAa" || tag == "AaBB" {
			want = append(want, body)
		}
	}
	w.sender.Send(t, agent.Sync, topic, agent.Place{}, agent.Outgoing{Body: "marker", Tags: "AaBB"})
	expectExactly(t, c, []string{"marker"}, want)
	w.raw(t, func(ctx context.Context, conn *raw.Conn) error {
		pulled, err := conn.Pull(ctx, "collision-raw", topic, 0, 0, "AaAa")
		if err != nil {
			return err
		}
		if len(pulled.Records) != 7 { // all but "Other"
			t.Errorf("a pull by hash found %d messages, want 7", len(pulled.Records))
		}
		return nil
	})
}

// orderly consumes two queues in order. One message of each fails twice and must hold up its queue; then the consumer
// leaves, and one in the other process takes over, in order still. With the Java clients the two share the queues before.
// The Go client does not give back the lock of a queue that it loses to another consumer, which then waits a minute for
// it, whatever the broker; there the second consumer comes when the first has left.
func orderly(t *testing.T, w *world) {
	const topic, queues = "OrderTopic", 2
	w.topic(t, topic, queues)
	o := w.consumer("orderly", topic)
	o.Orderly = true
	consumers := []*agent.Consumer{w.first.Push(t, o)}
	o.Name = "orderly-two"
	if w.kind.IsJava() {
		consumers = append(consumers, w.second.Push(t, o))
		probe(t, w, topic, queues, "probe", 60*time.Second, func() bool {
			return len(queuesOf(consumers[0].Messages())) > 0 && len(queuesOf(consumers[1].Messages())) > 0
		})
	}
	for queue := range queues {
		messages := numbered(fmt.Sprintf("q%d", queue), 0, 20)
		messages[7].Properties = map[string]string{"fail": "2"}
		w.sender.Send(t, agent.Sync, topic, w.place(queue), messages...)
	}
	for queue := range queues {
		awaitUnion(t, bodies(numbered(fmt.Sprintf("q%d", queue), 0, 20)), consumers...)
	}
	consumers[0].Stop(t)
	if !w.kind.IsJava() {
		consumers = append(consumers, w.second.Push(t, o))
	}
	for queue := range queues {
		w.sender.Send(t, agent.Sync, topic, w.place(queue), numbered(fmt.Sprintf("q%d", queue), 20, 10)...)
	}
	for queue := range queues {
		consumers[1].Bodies(t, bodies(numbered(fmt.Sprintf("q%d", queue), 20, 10))...)
	}
	for _, c := range consumers {
		checkOrder(t, c.Messages())
	}
	for queue := range queues {
		body := fmt.Sprintf("q%d-7", queue)
		if n := countBody(consumers[0].Messages(), body) + countBody(consumers[1].Messages(), body); n != 3 {
			t.Errorf("%s failed twice and was delivered %d times, want 3", body, n)
		}
	}
}

// checkOrder: in each queue a consumer's offsets never go down.
func checkOrder(t *testing.T, all []agent.Message) {
	t.Helper()
	last := make(map[int]int64)
	for _, m := range all {
		if m.Offset < last[m.Queue] {
			t.Errorf("queue %d: offset %d came after %d", m.Queue, m.Offset, last[m.Queue])
		}
		last[m.Queue] = m.Offset
	}
}

func countBody(all []agent.Message, body string) int {
	n := 0
	for _, m := range all {
		if m.Body == body {
			n++
		}
	}
	return n
}

// awaitUnion waits until every body has come to one of the consumers.
func awaitUnion(t *testing.T, want []string, consumers ...*agent.Consumer) {
	t.Helper()
	timeout := time.After(75 * time.Second)
	for {
		var all []agent.Message
		changed := consumers[0].Changed()
		other := consumers[len(consumers)-1].Changed()
		for _, c := range consumers {
			all = append(all, c.Messages()...)
		}
		lacking := agent.Lacking(all, want)
		if len(lacking) == 0 {
			return
		}
		select {
		case <-changed:
		case <-other:
		case <-timeout:
			t.Fatalf("never came: %q; came: %s", lacking, agent.Summary(all))
		}
	}
}

// broadcast gives every message to every consumer of the group.
func broadcast(t *testing.T, w *world) {
	const topic = "BroadcastTopic"
	w.topic(t, topic, 2)
	o := w.consumer("broadcast", topic)
	o.Broadcast = true
	one := w.first.Push(t, o)
	o.Name = "broadcast-two"
	two := w.second.Push(t, o)
	// A broadcasting consumer may begin at the end, so it must have begun before the messages are sent.
	probe(t, w, topic, 2, "hello", 60*time.Second, func() bool {
		return len(queuesOf(one.Messages())) == 2 && len(queuesOf(two.Messages())) == 2
	})
	messages := numbered("all", 0, 20)
	w.sender.Send(t, agent.Sync, topic, agent.Place{}, messages...)
	for _, c := range []*agent.Consumer{one, two} {
		all := c.Bodies(t, bodies(messages)...)
		for _, m := range messages {
			if n := countBody(all, m.Body); n != 1 {
				t.Errorf("%s came %d times to one consumer", m.Body, n)
			}
		}
	}
}

// retry has messages fail: one of them succeeds at its second delivery, another never, so that it ends in the group's
// dead letter queue after the two retries that the consumer allows.
func retry(t *testing.T, w *world) {
	const topic = "RetryTopic"
	w.topic(t, topic, 1)
	o := w.consumer("retry", topic)
	o.MaxReconsume = 2
	// The group's retry topic comes into being with the first heartbeat, after the consumer asked for its route. The
	// second consumer finds it, the first would wait for its client's timers.
	w.first.Push(t, o).Stop(t)
	c := w.first.Push(t, o)
	w.sender.Send(t, agent.Sync, topic, agent.Place{},
		agent.Outgoing{Body: "good", Tags: "TagA", Keys: "key-good"},
		agent.Outgoing{Body: "once", Tags: "TagA", Keys: "key-once", Properties: map[string]string{"fail": "1"}},
		agent.Outgoing{Body: "dead", Tags: "TagA", Keys: "key-dead", Properties: map[string]string{"fail": "100", "mine": "yes"}},
	)
	times := func(all []agent.Message, body string) []int {
		got := []int{}
		for _, m := range all {
			if m.Body == body {
				got = append(got, m.ReconsumeTimes)
			}
		}
		return got
	}
	all := c.Await(t, "all deliveries", func(all []agent.Message) bool {
		return len(times(all, "good")) >= 1 && len(times(all, "once")) >= 2 && len(times(all, "dead")) >= 3
	})
	dead := w.awaitStored(t, "%DLQ%"+o.Group, 1, 1)
	for body, want := range map[string][]int{"good": {0}, "once": {0, 1}, "dead": {0, 1, 2}} {
		if got := times(all, body); !slices.Equal(got, want) {
			t.Errorf("%s was delivered with reconsume times %v, want %v", body, got, want)
		}
	}
	for _, m := range all {
		if m.Topic != topic {
			t.Errorf("%s was delivered as of topic %s", m.Body, m.Topic)
		}
	}
	if len(dead) != 1 || string(dead[0].Body) != "dead" {
		t.Fatalf("dead letter queue holds %d messages, first %+v", len(dead), dead[0])
	}
	want := map[string]string{"RETRY_TOPIC": topic, "KEYS": "key-dead", "TAGS": "TagA", "mine": "yes"}
	for name, value := range want {
		if dead[0].Properties[name] != value {
			t.Errorf("dead letter: property %s is %q, want %q", name, dead[0].Properties[name], value)
		}
	}
	if dead[0].Properties["ORIGIN_MESSAGE_ID"] == "" {
		t.Error("dead letter: no ORIGIN_MESSAGE_ID")
	}
}

// poll consumes with the polling consumer, stops it, and goes on where it was.
func poll(t *testing.T, w *world) {
	if w.kind == agent.Java5 && w.broker.Kind() == sut.Java {
		t.Skip("RocketMQ 4.9.7 does not serve the request with which 5.x clients poll; weir does")
	}
	const topic = "PollTopic"
	w.topic(t, topic, 2)
	before := numbered("poll", 0, 20)
	w.sender.Send(t, agent.Sync, topic, agent.Place{}, before...)
	o := w.consumer("poll", topic)
	c := w.first.Poll(t, o)
	c.Bodies(t, bodies(before)...)
	c.Stop(t)
	if committed := w.awaitCommitted(t, o.Group, topic, 2, 20); committed != 20 {
		t.Fatalf("%d of 20 committed", committed)
	}
	after := numbered("poll", 20, 20)
	w.sender.Send(t, agent.Sync, topic, agent.Place{}, after...)
	o.Name = "poll-again"
	c = w.first.Poll(t, o)
	all := c.Bodies(t, bodies(after)...)
	if again := countOf(all, before); again != 0 {
		t.Errorf("%d messages came again after their offsets were committed", again)
	}
	c.Stop(t)
}

func countOf(all []agent.Message, of []agent.Outgoing) int {
	n := 0
	for _, m := range of {
		n += countBody(all, m.Body)
	}
	return n
}

// pull asks for places: the beginning, the end, behind the end, a queue without a match.
func pull(t *testing.T, w *world) {
	const topic = "PullTopic"
	w.topic(t, topic, 2)
	messages := numbered("pull", 0, 10)
	for i := range messages {
		messages[i].Tags = "TagA"
	}
	w.sender.Send(t, agent.Sync, topic, w.place(0), messages...)
	w.awaitStored(t, topic, 2, 10)
	o := w.consumer("pull", topic)
	o.Expression = "TagA"
	p := w.first.Puller(t, w.broker.Name(), o)
	defer p.Stop(t)
	queues := p.Queues(t)
	sort.Strings(queues)
	if want := []string{w.broker.Name() + ":0", w.broker.Name() + ":1"}; !slices.Equal(queues, want) {
		t.Errorf("queues %v, want %v", queues, want)
	}
	all := p.Pull(t, 0, 0)
	if all.Status != "FOUND" || all.Next != 10 || all.Min != 0 || all.Max != 10 || len(all.Messages) != 10 {
		t.Errorf("pull from the beginning: %s, next %d of %d to %d, %d messages", all.Status, all.Next, all.Min, all.Max, len(all.Messages))
	}
	for i, m := range all.Messages {
		if m.Body != messages[i].Body || m.Offset != int64(i) || m.Tags != "TagA" {
			t.Errorf("message %d: %+v", i, m)
		}
	}
	if r := p.Pull(t, 0, 7); r.Status != "FOUND" || len(r.Messages) != 3 {
		t.Errorf("pull from 7: %+v", r)
	}
	if r := p.Pull(t, 0, 50); r.Status != "OFFSET_ILLEGAL" || r.Next != 10 {
		t.Errorf("pull behind the end: %+v", r)
	}
	w.sender.Send(t, agent.Sync, topic, w.place(1), agent.Outgoing{Body: "other", Tags: "TagB"})
	w.awaitStored(t, topic, 2, 11)
	if r := p.Pull(t, 1, 0); r.Status != "NO_MATCHED_MSG" || r.Next != 1 {
		t.Errorf("pull without match: %+v", r)
	}
	if w.kind.IsJava() {
		// Held at the end, then answered empty.
		if r := p.PullAndWait(t, 0, 10); r.Status != "NO_NEW_MSG" || r.Next != 10 {
			t.Errorf("pull at the end: %+v", r)
		}
	}
}

// queueOffsets asks for limits and for offsets by time, and commits.
func queueOffsets(t *testing.T, w *world) {
	const topic = "OffsetTopic"
	w.topic(t, topic, 1)
	for _, m := range numbered("offset", 0, 10) {
		w.sender.Send(t, agent.Sync, topic, agent.Place{}, m)
		nextMillisecond()
	}
	records := w.awaitStored(t, topic, 1, 10)
	p := w.first.Puller(t, w.broker.Name(), w.consumer("offsets", topic))
	defer p.Stop(t)
	first, last := records[0].StoredAt, records[9].StoredAt
	// At a time: the message of that time. Before all: the first. After all: the last, not the end; only 5.x clients
	// say which boundary they mean, and mean the first at or after the time.
	for _, c := range []struct{ at, want int64 }{{records[4].StoredAt, 4}, {first, 0}, {last, 9}, {first - 1000, 0}} {
		if o := p.Offsets(t, 0, c.at); o.Found != c.want || o.Min != 0 || o.Max != 10 || o.Earliest != first {
			t.Errorf("offsets at %d: %+v, want %d, first stored at %d", c.at, o, c.want, first)
		}
	}
	if got := p.Commit(t, 0, 6); got != 6 {
		t.Errorf("committed 6, the broker has %d", got)
	}
}

// nextMillisecond lets the clock move on, so that no two messages are stored in the same millisecond.
func nextMillisecond() {
	start := time.Now().UnixMilli()
	for time.Now().UnixMilli() <= start+1 {
		<-time.After(time.Millisecond)
	}
}

// view reads a message by the id that the broker gave it and by its producer's, and finds messages by their keys. The broker enters
// keys into its index a little after the message is stored.
func view(t *testing.T, w *world) {
	const topic = "ViewTopic"
	w.topic(t, topic, 1)
	sent := w.sender.Send(t, agent.Sync, topic, agent.Place{},
		agent.Outgoing{Body: "look", Tags: "TagV", Keys: "key-v common"}, agent.Outgoing{Body: "look again", Keys: "common"})
	awaitQuery(t, w, topic, "key-v", "look")
	awaitQuery(t, w, topic, "common", "look", "look again")
	for _, id := range []string{sent[0].OffsetMsgID, sent[0].MsgID} {
		m := w.sender.View(t, topic, id)
		if m.Body != "look" || m.Tags != "TagV" || m.Keys != "key-v common" || m.MsgID != sent[0].MsgID || m.Offset != sent[0].Offset {
			t.Errorf("view %s: %+v", id, m)
		}
	}
	if all, err := w.sender.TryQuery(topic, "nobody's"); err == nil || !strings.Contains(err.Error(), "no message") {
		t.Errorf("a key that no message has found %v, %v", all, err)
	}
}

// awaitQuery asks until a key finds so many messages, which have to be these.
func awaitQuery(t *testing.T, w *world, topic, key string, want ...string) {
	t.Helper()
	limit := time.Now().Add(30 * time.Second)
	for {
		all, err := w.sender.TryQuery(topic, key)
		if got := receivedBodies(all); len(got) >= len(want) {
			if !slices.Equal(got, want) {
				t.Errorf("key %s finds %q, want %q", key, got, want)
			}
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("key %s finds %s after 30 s, %v; want %q", key, agent.Summary(all), err, want)
		}
	}
}

// newGroup: a group that never committed anything begins at the first message of a young topic, even if it asked for
// the last. Applications rely on it.
func newGroup(t *testing.T, w *world) {
	const topic = "NewGroupTopic"
	w.topic(t, topic, 1)
	messages := numbered("old", 0, 5)
	w.sender.Send(t, agent.Sync, topic, agent.Place{}, messages...)
	for _, from := range []string{"last", "first"} {
		o := w.consumer("new-group-"+from, topic)
		o.From = from
		c := w.first.Push(t, o)
		c.Bodies(t, bodies(messages)...)
		w.leave(t, c, o, 1, 5)
	}
}
