// Package agent is the test's side of a RocketMQ client that runs in a process of its own.
//
// The other sides are test/e2e/goclient, for the Go client, and test/interop/java/src/agent, for the Java clients. Both
// speak one protocol of JSON lines, so a scenario is written once and judges weir with every client. One process holds
// any number of producers and consumers, told apart by names.
//
//	test                         agent
//	{"id":1,"op":"push",...}  →
//	                          ←  {"id":1}
//	                          ←  {"event":"message","consumer":"c1","body":...}
package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/weirmq/weir/test/internal/proc"
)

// How long an order may take. Clients retry inside; this is for when they never answer.
const orderTime = 90 * time.Second

// Agent is a running process of clients.
type Agent struct {
	Kind    Kind
	home    string // with its logs
	process *proc.Process
	ready   chan struct{}

	mu        sync.Mutex // guards the fields below
	lastID    int64
	waiting   map[int64]chan json.RawMessage
	consumers map[string]*Consumer
}

// Start runs an agent that ends with the test. Its name names its directory and log. Flags are for the JVM, if it is one; TLS is for all.
func Start(t testing.TB, kind Kind, name string, jvm ...string) *Agent {
	t.Helper()
	return start(t, kind, name, func(t testing.TB, home string, lines func([]byte) bool) (*proc.Process, error) {
		return kind.launch(t, home, lines, jvm...)
	})
}

// launcher starts a process in a home directory that hands on its lines.
type launcher func(t testing.TB, home string, lines func([]byte) bool) (*proc.Process, error)

func start(t testing.TB, kind Kind, name string, launch launcher) *Agent {
	t.Helper()
	a := &Agent{
		Kind:      kind,
		home:      filepath.Join(t.TempDir(), name),
		ready:     make(chan struct{}),
		waiting:   make(map[int64]chan json.RawMessage),
		consumers: make(map[string]*Consumer),
	}
	process, err := launch(t, a.home, a.line)
	if err != nil {
		t.Fatalf("start %s agent: %v", kind, err)
	}
	a.process = process
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of agent %s ends:\n%s", name, process.Tail())
		}
		a.Kill()
	})
	select {
	case <-a.ready:
	case <-process.Done():
		t.Fatalf("start %s agent: it ended; its log ends:\n%s", kind, process.Tail())
	case <-time.After(orderTime):
		t.Fatalf("start %s agent: not ready within %v; its log ends:\n%s", kind, orderTime, process.Tail())
	}
	return a
}

// Kill ends the process as kill -9 does.
func (a *Agent) Kill() { a.process.Kill() }

// Logged tells whether the client's own log, or what it printed, has a text.
func (a *Agent) Logged(t testing.TB, text string) bool {
	t.Helper()
	found := false
	err := filepath.WalkDir(a.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		log, err := os.ReadFile(path)
		found = found || bytes.Contains(log, []byte(text))
		return err
	})
	if err != nil {
		t.Fatalf("read the logs of the %s agent: %v", a.Kind, err)
	}
	return found
}

// line takes one line of the agent's output. Only what is not of the protocol goes to the log.
func (a *Agent) line(line []byte) (log bool) {
	var head struct {
		ID       int64  `json:"id"`
		Event    string `json:"event"`
		Consumer string `json:"consumer"`
	}
	if json.Unmarshal(line, &head) != nil {
		return true
	}
	switch head.Event {
	case "ready":
		close(a.ready)
	case "message":
		var m Message
		if json.Unmarshal(line, &m) != nil {
			return true
		}
		a.mu.Lock()
		c := a.consumers[head.Consumer]
		a.mu.Unlock()
		if c != nil {
			c.add(m)
		}
	default:
		a.mu.Lock()
		reply := a.waiting[head.ID]
		delete(a.waiting, head.ID)
		a.mu.Unlock()
		if reply != nil {
			reply <- json.RawMessage(append([]byte(nil), line...))
		}
	}
	return false
}

// Failure is an order that the client could not do. Code and Remark are the broker's, if it was the broker that refused.
type Failure struct {
	Text   string `json:"error"`
	Code   int    `json:"code"`
	Remark string `json:"remark"`
}

func (f *Failure) Error() string { return f.Text }

// order sends one line and waits for its answer, which is decoded into reply if that is not nil.
func (a *Agent) order(op string, args map[string]any, reply any) error {
	answer := make(chan json.RawMessage, 1)
	a.mu.Lock()
	a.lastID++
	id := a.lastID
	a.waiting[id] = answer
	a.mu.Unlock()
	line := map[string]any{"id": id, "op": op}
	for name, value := range args {
		line[name] = value
	}
	text, err := json.Marshal(line)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	if err := a.process.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("%s: agent: %w", op, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), orderTime)
	defer cancel()
	select {
	case raw := <-answer:
		return decode(op, raw, reply)
	case <-a.process.Done():
		return fmt.Errorf("%s: the agent ended; its log ends:\n%s", op, a.process.Tail())
	case <-ctx.Done():
		return fmt.Errorf("%s: no answer within %v; the agent's log ends:\n%s", op, orderTime, a.process.Tail())
	}
}

func decode(op string, raw json.RawMessage, reply any) error {
	failure := &Failure{}
	if err := json.Unmarshal(raw, failure); err != nil {
		return fmt.Errorf("%s: answer %s: %w", op, raw, err)
	}
	if failure.Text != "" {
		return fmt.Errorf("%s: %w", op, failure)
	}
	if reply == nil {
		return nil
	}
	if err := json.Unmarshal(raw, reply); err != nil {
		return fmt.Errorf("%s: answer %s: %w", op, raw, err)
	}
	return nil
}

// must is order for those that have to succeed.
func (a *Agent) must(t testing.TB, op string, args map[string]any, reply any) {
	t.Helper()
	if err := a.order(op, args, reply); err != nil {
		t.Fatalf("%s client: %v", a.Kind, err)
	}
}

func (a *Agent) stop(t testing.TB, name string) {
	t.Helper()
	a.must(t, "stop", map[string]any{"name": name}, nil)
}
