package filter

import (
	"fmt"
	"slices"
	"testing"

	"github.com/weirmq/weir/test/internal/agent"
	"github.com/weirmq/weir/test/internal/sut"
)

// TestMandatoryFilters has stock clients consume a topic of which the operator lets each tenant's groups have the tenant's own messages only, whatever they subscribe.
func TestMandatoryFilters(t *testing.T) {
	t.Parallel()
	for _, kind := range []agent.Kind{agent.Java4, agent.Go} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			kind.Need(t)
			b := sut.Start(t, sut.Options{Kind: sut.Weir, WeirConfig: `
queues:
  bindings:
    - {topic: Tenants, group: a-*, expression: tenant = 'a'}
    - {topic: Tenants, group: b-*, expression: tenant = 'b'}
`})
			clients := agent.Start(t, kind, "clients")
			push := func(group, expression string, sql bool) *agent.Consumer {
				return clients.Push(t, agent.ConsumerOptions{Name: group, Group: group, NameServer: b.NameServer(), Topic: "Tenants", SQL: sql, Expression: expression})
			}
			producer := clients.Producer(t, agent.ProducerOptions{Name: "p", Group: "p", NameServer: b.NameServer()})
			want := map[string][]string{}
			send := func(from, to int) {
				for i := from; i < to; i++ {
					tenant, amount := string("abc"[i%3]), i%4
					body := fmt.Sprintf("%s %d %02d", tenant, amount, i)
					producer.Send(t, agent.Sync, "Tenants", agent.Place{Broker: b.Name(), Queue: i % 4},
						agent.Outgoing{Body: body, Tags: string("XY"[i%2]), Properties: map[string]string{"tenant": tenant, "amount": fmt.Sprint(amount)}})
					if tenant == "a" {
						want["a-all"] = append(want["a-all"], body)
					}
					if tenant == "b" && amount > 1 {
						want["b-sql"] = append(want["b-sql"], body)
					}
					if tenant == "b" && i%2 == 0 {
						want["b-tag"] = append(want["b-tag"], body)
					}
				}
			}
			send(0, 30)
			consumers := map[string]*agent.Consumer{"a-all": push("a-all", "*", false), "b-sql": push("b-sql", "amount > 1", true), "b-tag": push("b-tag", "X", false)}
			send(30, 60) // while pulls are held
			for group, c := range consumers {
				var got []string
				for _, m := range c.Bodies(t, want[group]...) {
					got = append(got, m.Body)
				}
				slices.Sort(got)
				slices.Sort(want[group])
				if !slices.Equal(got, want[group]) {
					t.Errorf("%s got %q, want %q", group, got, want[group])
				}
			}
		})
	}
}
