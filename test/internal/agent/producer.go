package agent

import (
	"testing"
)

// Outgoing is a message to send.
type Outgoing struct {
	Body  string `json:"body,omitempty"`
	Size  int    `json:"size,omitempty"` // instead of Body: so many bytes that do not compress; Java only
	Tags  string `json:"tags,omitempty"`
	Keys  string `json:"keys,omitempty"` // separated by blanks
	Flag  int    `json:"flag,omitempty"`
	Delay int    `json:"delay,omitempty"` // level
	// DelayMillis delays by a time of its own; clients without a call for it set the property.
	DelayMillis int64             `json:"delayMillis,omitempty"`
	Properties  map[string]string `json:"properties,omitempty"`
}

// Result is what a producer learnt about a message. Either Status or Text is set.
type Result struct {
	Status      string `json:"status"`
	MsgID       string `json:"msgId"`
	OffsetMsgID string `json:"offsetMsgId"`
	Queue       int    `json:"queue"`
	Offset      int64  `json:"offset"`
	// RecallHandle is of a message that waits for a time of its own, if the client knows about it.
	RecallHandle string `json:"recallHandle"`
	Failure
}

// OK tells whether the message was stored as asked.
func (r Result) OK() bool { return r.Status == "SEND_OK" }

// Producer is a producer in an agent.
type Producer struct {
	agent *Agent
	name  string
}

// ProducerOptions of a producer; Name, Group and NameServer are required.
type ProducerOptions struct {
	Name, Group, NameServer string

	VIP bool // send through the fast port; Java only, and 4.3.0 does so without being told
}

// Producer starts a producer.
func (a *Agent) Producer(t testing.TB, o ProducerOptions) *Producer {
	t.Helper()
	args := map[string]any{"name": o.Name, "group": o.Group, "nameServer": o.NameServer}
	if a.Kind != JavaOld {
		args["vip"] = o.VIP
	}
	a.must(t, "producer", args, nil)
	return &Producer{agent: a, name: o.Name}
}

// Mode is a way to send.
type Mode string

// The ways to send.
const (
	Sync   Mode = "sync"
	Async  Mode = "async"
	OneWay Mode = "oneway" // without results
	Batch  Mode = "batch"  // with one result for all
)

// Place is a queue to send to, or any if Broker is empty.
type Place struct {
	Broker string
	Queue  int
}

// TrySend sends and gives each message its result, in order.
func (p *Producer) TrySend(mode Mode, topic string, place Place, messages ...Outgoing) ([]Result, error) {
	args := map[string]any{"name": p.name, "mode": mode, "topic": topic, "messages": messages}
	if place.Broker != "" {
		args["broker"], args["queue"] = place.Broker, place.Queue
	}
	var reply struct {
		Results []Result `json:"results"`
	}
	err := p.agent.order("send", args, &reply)
	return reply.Results, err
}

// Send is TrySend where every message has to be stored.
func (p *Producer) Send(t testing.TB, mode Mode, topic string, place Place, messages ...Outgoing) []Result {
	t.Helper()
	results, err := p.TrySend(mode, topic, place, messages...)
	if err != nil {
		t.Fatalf("send %s to %s: %v", mode, topic, err)
	}
	for i, r := range results {
		if !r.OK() {
			t.Fatalf("send %s to %s: message %d: %+v", mode, topic, i, r)
		}
	}
	return results
}

// View reads a message of a topic by the id that its broker gave it, or by its producer's. Java only.
func (p *Producer) View(t testing.TB, topic, msgID string) Message {
	t.Helper()
	var r struct {
		Message Message `json:"message"`
	}
	p.agent.must(t, "view", map[string]any{"name": p.name, "topic": topic, "msgId": msgID}, &r)
	return r.Message
}

// TryQuery finds the messages of a topic that have a key. Java only; its clients take it for an error that there is none.
func (p *Producer) TryQuery(topic, key string) ([]Message, error) {
	var r struct {
		Messages []Message `json:"messages"`
	}
	err := p.agent.order("query", map[string]any{"name": p.name, "topic": topic, "key": key}, &r)
	return r.Messages, err
}

// Recall takes a message back that waits for a time of its own, and returns its id. Java 5 only.
func (p *Producer) Recall(topic, handle string) (id string, err error) {
	var r struct {
		MsgID string `json:"msgId"`
	}
	err = p.agent.order("recall", map[string]any{"name": p.name, "topic": topic, "handle": handle}, &r)
	return r.MsgID, err
}

// Stop shuts the producer down.
func (p *Producer) Stop(t testing.TB) {
	t.Helper()
	p.agent.stop(t, p.name)
}
