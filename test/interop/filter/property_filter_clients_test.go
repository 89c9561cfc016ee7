package filter

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/weirmq/weir/test/internal/agent"
)

// TestPropertyFilterStoreByClients: stock clients get the same, from the beginning as nothing is committed any more.
func TestPropertyFilterStoreByClients(t *testing.T) {
	t.Parallel()
	for _, kind := range []agent.Kind{agent.Java4, agent.Go} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			kind.Need(t)
			recorded := unpackRecorded(t)
			for _, name := range []string{"consumerOffset.json", "consumerOffset.json.bak"} {
				if err := os.Remove(filepath.Join(recorded.store, "config", name)); err != nil {
					t.Fatal(err)
				}
			}
			b := recorded.open(t)
			clients := agent.Start(t, kind, "clients")
			consumers := make(map[string]*agent.Consumer)
			for group, f := range recorded.filters {
				consumers[group] = clients.Push(t, agent.ConsumerOptions{Name: group, Group: group, NameServer: b.NameServer(),
					Topic: recordedTopic, SQL: true, Expression: f.Expression})
			}
			for group, consumer := range consumers {
				want := recorded.matches(group)
				consumer.Await(t, "what Java delivered", func(all []agent.Message) bool { return len(all) >= len(want) })
			}
			// What is sent now comes behind all that might be wrong.
			ends := recorded.sendAgain(t, clients.Producer(t, agent.ProducerOptions{Name: "again", Group: "again", NameServer: b.NameServer()}))
			for group, consumer := range consumers {
				var got []string
				for _, m := range consumer.Bodies(t, ends[group]...) {
					if !slices.Contains(ends[group], m.Body) {
						got = append(got, m.MsgID)
					}
				}
				slices.Sort(got)
				if want := recorded.matches(group); !slices.Equal(got, want) {
					t.Errorf("%s: %d messages, want %d", group, len(got), len(want))
				}
			}
		})
	}
}

// sendAgain sends, for each group and to each queue, a message with the properties of one that the group got, and returns the bodies
// of all those that each group gets.
func (r *recorded) sendAgain(t *testing.T, p *agent.Producer) (bodies map[string][]string) {
	bodies = make(map[string][]string)
	for group := range r.filters {
		like := r.messages[slices.IndexFunc(r.messages, func(m manifestEntry) bool { return slices.Contains(m.Matches, group) })]
		for queue := range 2 {
			m := agent.Outgoing{Body: fmt.Sprint(group, " ", queue), Properties: map[string]string{}}
			for _, name := range []string{"a", "color", "price"} {
				if value, ok := like.Properties[name]; ok {
					m.Properties[name] = value
				}
			}
			p.Send(t, agent.Sync, recordedTopic, agent.Place{Broker: "broker-a", Queue: queue}, m)
			for _, g := range like.Matches {
				bodies[g] = append(bodies[g], m.Body)
			}
		}
	}
	return bodies
}
