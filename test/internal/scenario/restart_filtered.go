package scenario

import (
	"context"
	"errors"
	"testing"

	"github.com/weirmq/weir/test/internal/agent"
	"github.com/weirmq/weir/test/internal/raw"
)

// filteredRestarts are two groups that consume by SQL92 while orders flow: of one the consumer lives on while the broker
// restarts and is killed, of the other it leaves and another comes. Both must get every order that is stored and
// matches, and no other.
type filteredRestarts struct {
	stream   *stream
	filter   regional
	living   *agent.Consumer
	changing agent.ConsumerOptions
	parts    []*agent.Consumer // of changing, one after the other
}

const (
	filteredTopic  = "FilteredRestartTopic"
	filteredQueues = 2
)

func startFilteredRestarts(t *testing.T, w *world) *filteredRestarts {
	w.topic(t, filteredTopic, filteredQueues)
	f := &filteredRestarts{filter: regions("amount >= 0 AND region IN ('ap', 'sa')", "ap", "sa")}
	o := w.consumer("filtered-living", filteredTopic)
	o.SQL, o.Expression = true, f.filter.text
	f.living = w.first.Push(t, o)
	f.changing = w.consumer("filtered-changing", filteredTopic)
	f.changing.SQL, f.changing.Expression = true, f.filter.text
	f.parts = []*agent.Consumer{w.first.Push(t, f.changing)}
	return f
}

// begin lets orders flow, which they do over all that comes next.
func (f *filteredRestarts) begin(t *testing.T, w *world) {
	f.stream = w.stream(filteredTopic, filteredQueues)
	f.stream.await(t, 20)
	awaitMore(t, f.living)
	awaitMore(t, f.parts[0])
}

// awaitMore waits until a consumer gets more.
func awaitMore(t *testing.T, c *agent.Consumer) {
	t.Helper()
	n := len(c.Messages())
	c.Await(t, "more orders", func(all []agent.Message) bool { return len(all) >= n+5 })
}

// kill ends the broker as a crash does, under the flow, and starts it again. Then the second group's consumer leaves, and another
// comes: with it nothing comes again that was committed before. The one that lives on needs half a minute, as clients wait
// that long for the answer to a pull whose connection is gone.
func (f *filteredRestarts) kill(t *testing.T, w *world) {
	awaitMore(t, f.living) // since the restart
	awaitMore(t, f.parts[0])
	w.broker.Kill()
	w.broker.Start(t)
	f.stream.await(t, 20)

	committed := f.committed(t, w)
	f.parts[0].Stop(t)
	f.stream.await(t, 20) // with nobody there
	f.changing.Name += "-again"
	f.parts = append(f.parts, w.first.Push(t, f.changing))
	awaitMore(t, f.parts[1])
	for _, m := range f.parts[1].Messages() {
		if m.Offset < committed[m.Queue] {
			t.Errorf("the message at %d/%d came again, %d was committed before", m.Queue, m.Offset, committed[m.Queue])
		}
	}
	awaitMore(t, f.living)
}

// committed returns what the second group has committed, by queue.
func (f *filteredRestarts) committed(t *testing.T, w *world) map[int]int64 {
	offsets := make(map[int]int64)
	w.raw(t, func(ctx context.Context, c *raw.Conn) error {
		for queue := range filteredQueues {
			offset, err := c.QueryOffset(ctx, f.changing.Group, filteredTopic, queue)
			var refused *raw.Error
			if errors.As(err, &refused) && refused.Code == raw.QueryNotFound {
				continue // nothing yet
			}
			if err != nil {
				return err
			}
			offsets[queue] = offset
		}
		return nil
	})
	return offsets
}

// end stops the orders and compares what has come with what the log holds.
func (f *filteredRestarts) end(t *testing.T, w *world) {
	markers := f.stream.stop(t, w)
	f.living.Bodies(t, markers...)
	f.parts[len(f.parts)-1].Bodies(t, markers...)
	stored := w.stored(t, filteredTopic, filteredQueues)
	if n := f.stream.stored.Load() + filteredQueues; int64(len(stored)) < n {
		t.Errorf("%d messages are stored, %d were acknowledged", len(stored), n)
	}
	var changing []agent.Message
	for _, c := range f.parts {
		changing = append(changing, c.Messages()...)
	}
	const living = "the living consumer"
	for name, all := range map[string][]agent.Message{living: f.living.Messages(), "the changing consumers": changing} {
		got, wanted, again := placesOf(all), 0, 0
		for _, r := range stored {
			at := place{r.Queue, r.QueueOffset}
			if f.filter.wants(r) {
				wanted++
				if got[at] == 0 {
					t.Errorf("%s: the message at %d/%d matches and never came", name, at.queue, at.offset)
				}
			} else if got[at] > 0 {
				t.Errorf("%s: the message at %d/%d came and doesn't match", name, at.queue, at.offset)
			}
			if got[at] > 1 {
				again += got[at] - 1
			}
		}
		if again > 0 && name == living {
			t.Errorf("%s: %d messages came again", name, again)
		}
		t.Logf("%s: %d of %d messages match, all of them came, and %d again", name, wanted, len(stored), again)
	}
}
