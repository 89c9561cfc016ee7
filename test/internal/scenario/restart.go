package scenario

import (
	"testing"
	"time"

	"github.com/weirmq/weir/test/internal/agent"
)

// reconnecting is a consumer that lives on while its broker restarts, and a group that has left before.
type reconnecting struct {
	living *agent.Consumer
	left   agent.ConsumerOptions
	before []agent.Outgoing
}

const (
	livingTopic = "LivingTopic"
	leftTopic   = "LeftTopic"
)

func startReconnecting(t *testing.T, w *world) *reconnecting {
	w.topic(t, livingTopic, 2)
	w.topic(t, leftTopic, 2)
	return &reconnecting{
		living: w.first.Push(t, w.consumer("living", livingTopic)),
		left:   w.consumer("left", leftTopic),
		before: numbered("before", 0, 20),
	}
}

// restart: a group consumes and leaves; the broker restarts. The living producer and consumer find it again by
// themselves, and the group that left goes on where it was.
func (r *reconnecting) restart(t *testing.T, w *world) {
	w.sender.Send(t, agent.Sync, leftTopic, agent.Place{}, r.before...)
	c := w.first.Push(t, r.left)
	c.Bodies(t, bodies(r.before)...)
	w.leave(t, c, r.left, 2, 20)
	living := numbered("living", 0, 10)
	w.sender.Send(t, agent.Sync, livingTopic, agent.Place{}, living...)
	r.living.Bodies(t, bodies(living)...)

	w.broker.Restart(t)

	awaitSend(t, w, livingTopic, agent.Outgoing{Body: "reconnected"})
	again := numbered("living", 10, 10)
	w.sender.Send(t, agent.Sync, livingTopic, agent.Place{}, again...)
	r.living.Bodies(t, append(bodies(again), "reconnected")...)

	after := numbered("after", 0, 20)
	w.sender.Send(t, agent.Sync, leftTopic, agent.Place{}, after...)
	r.left.Name = "left-again"
	c = w.first.Push(t, r.left)
	all := c.Bodies(t, bodies(after)...)
	if n := countOf(all, r.before); n != 0 {
		t.Errorf("%d messages came again after the restart", n)
	}
	if records := w.awaitStored(t, leftTopic, 2, 40); len(records) != 40 {
		t.Errorf("%d messages in the topic after the restart, want 40", len(records))
	}
}

// awaitSend sends until it succeeds. A client may need a while to see that its connection is gone.
func awaitSend(t *testing.T, w *world, topic string, m agent.Outgoing) {
	t.Helper()
	end := time.Now().Add(60 * time.Second)
	for {
		results, err := w.sender.TrySend(agent.Sync, topic, agent.Place{}, m)
		if err == nil && results[0].OK() {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("no send succeeds within a minute after the restart: %v %+v", err, results)
		}
		<-time.After(200 * time.Millisecond)
	}
}
