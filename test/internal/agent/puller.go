package agent

import "testing"

// Puller asks for places of its choice: Java's DefaultMQPullConsumer, Go's pull consumer.
type Puller struct {
	agent  *Agent
	name   string
	broker string
}

// Puller starts one for the queues of a broker.
func (a *Agent) Puller(t testing.TB, broker string, o ConsumerOptions) *Puller {
	t.Helper()
	a.must(t, "puller", o.args(), nil)
	return &Puller{agent: a, name: o.Name, broker: broker}
}

// Pulled is the answer to a pull.
type Pulled struct {
	Status   string    `json:"status"`
	Next     int64     `json:"next"`
	Min      int64     `json:"min"`
	Max      int64     `json:"max"`
	Messages []Message `json:"messages"`
}

// Pull asks for up to 32 messages from an offset on.
func (p *Puller) Pull(t testing.TB, queue int, offset int64) Pulled {
	t.Helper()
	var r Pulled
	p.agent.must(t, "pull", p.place(queue, "offset", offset), &r)
	return r
}

// PullAndWait is Pull that waits a while at the end of the queue, by tags. Java only.
func (p *Puller) PullAndWait(t testing.TB, queue int, offset int64) Pulled {
	t.Helper()
	var r Pulled
	p.agent.must(t, "pull", p.place(queue, "offset", offset, "wait", true), &r)
	return r
}

// Queues lists the topic's queues as BROKER:ID.
func (p *Puller) Queues(t testing.TB) []string {
	t.Helper()
	var r struct {
		Queues []string `json:"queues"`
	}
	p.agent.must(t, "queues", map[string]any{"name": p.name}, &r)
	return r.Queues
}

// Offsets are a queue's limits. Java only.
type Offsets struct {
	Min      int64 `json:"min"`
	Max      int64 `json:"max"`
	Earliest int64 `json:"earliest"` // store time of the first message
	Found    int64 `json:"found"`    // offset for the time asked for
}

// Offsets asks for a queue's limits and for the offset of a time in milliseconds.
func (p *Puller) Offsets(t testing.TB, queue int, time int64) Offsets {
	t.Helper()
	var r Offsets
	p.agent.must(t, "offsets", p.place(queue, "time", time), &r)
	return r
}

// Commit commits an offset and returns what the broker has then.
func (p *Puller) Commit(t testing.TB, queue int, offset int64) int64 {
	t.Helper()
	var r struct {
		Committed int64 `json:"committed"`
	}
	p.agent.must(t, "commit", p.place(queue, "offset", offset), &r)
	return r.Committed
}

// Stop shuts the puller down.
func (p *Puller) Stop(t testing.TB) {
	t.Helper()
	p.agent.stop(t, p.name)
}

func (p *Puller) place(queue int, pairs ...any) map[string]any {
	args := map[string]any{"name": p.name, "broker": p.broker, "queue": queue}
	for i := 0; i+1 < len(pairs); i += 2 {
		args[pairs[i].(string)] = pairs[i+1]
	}
	return args
}
