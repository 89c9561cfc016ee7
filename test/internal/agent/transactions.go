package agent

import "testing"

// Transactions is a producer whose messages are sent in transactions. A message says by its property "local" what its local transaction
// decides, commit, rollback or unknown, and by "checks", separated by blanks, what the producer answers when the broker asks.
type Transactions struct {
	agent *Agent
	name  string

	// Checks records for which messages the broker asked.
	Checks *Consumer
}

// Transactions starts one; of the options Name, Group and NameServer count.
func (a *Agent) Transactions(t testing.TB, o ProducerOptions) *Transactions {
	t.Helper()
	checks := a.record(o.Name)
	a.must(t, "transactions", map[string]any{"name": o.Name, "group": o.Group, "nameServer": o.NameServer}, nil)
	return &Transactions{agent: a, name: o.Name, Checks: checks}
}

// Send sends each message in a transaction of its own. Every one has to be stored.
func (p *Transactions) Send(t testing.TB, topic string, messages ...Outgoing) {
	t.Helper()
	var reply struct {
		Results []Result `json:"results"`
	}
	p.agent.must(t, "transact", map[string]any{"name": p.name, "topic": topic, "messages": messages}, &reply)
	for i, r := range reply.Results {
		if !r.OK() {
			t.Fatalf("send in transactions to %s: message %d: %+v", topic, i, r)
		}
	}
}

// Stop shuts the producer down.
func (p *Transactions) Stop(t testing.TB) {
	t.Helper()
	p.agent.stop(t, p.name)
}
