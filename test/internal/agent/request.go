package agent

import "testing"

// Requester asks and waits for answers. 4.3.0 has none.
type Requester struct {
	agent *Agent
	name  string
}

// Requester starts a producer that asks; of the options Name, Group and NameServer count.
func (a *Agent) Requester(t testing.TB, o ProducerOptions) *Requester {
	t.Helper()
	a.must(t, "requester", map[string]any{"name": o.Name, "group": o.Group, "nameServer": o.NameServer}, nil)
	return &Requester{agent: a, name: o.Name}
}

// Request asks and returns the body of the answer, within timeout ms.
func (r *Requester) Request(topic, body string, timeout int) (string, error) {
	var answer struct {
		Body string `json:"body"`
	}
	err := r.agent.order("request", map[string]any{"name": r.name, "topic": topic, "body": body, "timeout": timeout}, &answer)
	return answer.Body, err
}

// Stop shuts the requester down.
func (r *Requester) Stop(t testing.TB) {
	t.Helper()
	r.agent.stop(t, r.name)
}

// Replier starts a consumer that answers each message of the topic with its body backwards, except for "silence". It ends with the agent.
func (a *Agent) Replier(t testing.TB, o ConsumerOptions) {
	t.Helper()
	a.must(t, "replier", map[string]any{"name": o.Name, "group": o.Group, "nameServer": o.NameServer, "topic": o.Topic}, nil)
}
