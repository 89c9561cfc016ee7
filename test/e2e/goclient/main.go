// Command goclient runs RocketMQ's Go client for a test that tells it what to do. Each line of standard input is a JSON
// object with "id", "op" and arguments; each line of standard output answers one of them by its id, or reports a message
// that a consumer got. The agent for the Java clients speaks the same protocol, test/internal/agent is its other side.
//
// It is a module of its own, so that neither the client nor what it depends on gets near weir's own dependencies, and a
// process of its own for each use, because the client leaves goroutines behind.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// order is one line of input; which fields count depends on Op.
type order struct {
	ID         int64     `json:"id"`
	Op         string    `json:"op"`
	Name       string    `json:"name"`
	Group      string    `json:"group"`
	NameServer string    `json:"nameServer"`
	Topic      string    `json:"topic"`
	Expression string    `json:"expression"`
	Mode       string    `json:"mode"`
	Broker     string    `json:"broker"`
	Queue      *int      `json:"queue"`
	Messages   []message `json:"messages"`
	Queues     []int     `json:"queues"` // to be assigned
	Body       string    `json:"body"`

	SQL          bool   `json:"sql"`
	Orderly      bool   `json:"orderly"`
	Broadcast    bool   `json:"broadcast"`
	From         string `json:"from"`
	MaxReconsume *int   `json:"maxReconsume"`

	Offset int64 `json:"offset"`
	Max    int   `json:"max"`
	Time   int64 `json:"time"`

	Timeout int `json:"timeout"` // ms
}

// message is one to send.
type message struct {
	Body        string            `json:"body"`
	Tags        string            `json:"tags"`
	Keys        string            `json:"keys"`
	Flag        int32             `json:"flag"`
	Delay       int               `json:"delay"`
	DelayMillis int64             `json:"delayMillis"`
	Properties  map[string]string `json:"properties"`
}

type answer map[string]any

// agent holds what was started, by name.
type agent struct {
	out sync.Mutex

	mu      sync.Mutex
	clients map[string]any
}

// useTLS has all clients connect with TLS.
var useTLS = flag.Bool("tls", false, "connect with TLS")

func main() {
	flag.Parse()
	a := &agent{clients: make(map[string]any)}
	a.emit(answer{"event": "ready"})
	in := bufio.NewReaderSize(os.Stdin, 1<<16)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "read orders:", err)
			os.Exit(1)
		}
		var o order
		if err := json.Unmarshal(line, &o); err != nil {
			fmt.Fprintf(os.Stderr, "order %s: %v\n", line, err)
			os.Exit(1)
		}
		go a.serve(o)
	}
}

func (a *agent) serve(o order) {
	reply, err := a.run(o)
	if err != nil {
		reply = failure(err)
	}
	if reply == nil {
		reply = answer{}
	}
	reply["id"] = o.ID
	a.emit(reply)
}

func (a *agent) run(o order) (answer, error) {
	switch o.Op {
	case "producer":
		return nil, a.startProducer(o)
	case "send":
		return a.send(o)
	case "push":
		return nil, a.startPush(o)
	case "poll":
		return nil, a.startPoll(o)
	case "seek":
		return nil, a.seek(o)
	case "subscribe":
		return nil, a.subscribe(o)
	case "puller":
		return nil, a.startPuller(o)
	case "pull":
		return a.pull(o)
	case "queues":
		return a.queues(o)
	case "transactions":
		return nil, a.startTransactions(o)
	case "transact":
		return a.transact(o)
	case "requester":
		return nil, a.startRequester(o)
	case "request":
		return a.request(o)
	case "replier":
		return nil, a.startReplier(o)
	case "stop":
		return nil, a.stop(o)
	default:
		return nil, fmt.Errorf("unknown op %q", o.Op)
	}
}

func (a *agent) keep(name string, client any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.clients[name] = client
}

func (a *agent) client(name string) any {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.clients[name]
}

func (a *agent) stop(o order) error {
	a.mu.Lock()
	client, ok := a.clients[o.Name].(interface{ Shutdown() error })
	delete(a.clients, o.Name)
	a.mu.Unlock()
	if !ok {
		return fmt.Errorf("no client named %q", o.Name)
	}
	return client.Shutdown()
}

func (a *agent) emit(line answer) {
	b, err := json.Marshal(line)
	if err != nil {
		panic(err) // only plain values are put in
	}
	a.out.Lock()
	defer a.out.Unlock()
	os.Stdout.Write(append(b, '\n'))
}

func failure(err error) answer {
	f := answer{"error": err.Error()}
	var refused *primitive.MQBrokerErr
	if errors.As(err, &refused) {
		f["code"], f["remark"] = refused.ResponseCode, refused.ErrorMessage
	}
	var byValue primitive.MQBrokerErr
	if errors.As(err, &byValue) {
		f["code"], f["remark"] = byValue.ResponseCode, byValue.ErrorMessage
	}
	return f
}

// event describes a message that was received.
func event(m *primitive.MessageExt) answer {
	return answer{
		"topic": m.Topic, "queue": m.Queue.QueueId, "offset": m.QueueOffset, "msgId": m.MsgId, "offsetMsgId": m.OffsetMsgId,
		"flag": m.Flag, "reconsumeTimes": m.ReconsumeTimes, "storedAt": m.StoreTimestamp, "size": len(m.Body),
		"body": string(m.Body), "tags": m.GetTags(), "keys": m.GetKeys(), "properties": m.GetProperties(),
	}
}
