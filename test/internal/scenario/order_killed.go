package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weirmq/weir/test/internal/agent"
)

// succession is a group that consumes in order what flows into four queues. A second member joins and gets its share, then the process of
// the first is killed in the middle of its messages, and the second goes on with all queues: at once with its own, with the others when
// the dead member's locks expire, up to a minute later. In every queue nothing is lost, and nothing is passed over, not for a while either.
//
// The Go client never gives back a lock that it holds to a member that joins, so there the second has nothing until the kill.
type succession struct {
	dead, heir *agent.Consumer
	killed     int64 // when the kill began, in µs since 1970
	flow       *stream
	markers    []string
}

// startSuccession ends with the kill. The locks expire during the first part.
func startSuccession(t *testing.T, w *world) *succession {
	const topic, queues = "OrderKillTopic", 4
	w.topic(t, topic, queues)
	victim := agent.Start(t, w.kind, "victim")
	o := w.consumer("order-killed", topic)
	o.Orderly = true
	s := &succession{dead: victim.Push(t, o)}
	// About as many as four queues can take, so that there is nearly always one in somebody's hands.
	s.flow = w.streamOf(topic, queues, func(n int) agent.Outgoing {
		return agent.Outgoing{Body: fmt.Sprintf("ordered-%d", n), Properties: map[string]string{"take": "20"}}
	})
	s.dead.Await(t, "messages of all queues", func(all []agent.Message) bool { return len(queuesOf(all)) == queues })
	o.Name += "-heir"
	s.heir = w.first.Push(t, o)
	if w.kind.IsJava() {
		s.heir.Await(t, "messages of two queues", func(all []agent.Message) bool { return len(queuesOf(all)) == queues/2 })
	}
	before := len(s.dead.Messages())
	s.dead.Await(t, "messages beside the other", func(all []agent.Message) bool { return len(all) > before+10 })
	s.killed = time.Now().UnixMicro()
	victim.Kill()
	s.flow.await(t, 20)
	s.markers = s.flow.stop(t, w)
	return s
}

// end waits until the heir has all queues and is through with them.
func (s *succession) end(t *testing.T) {
	s.heir.AwaitWithin(t, 3*time.Minute, "all queues to their ends", func(all []agent.Message) bool {
		return len(agent.Lacking(all, s.markers)) == 0
	})
	checkOrder(t, s.dead.Messages())
	checkOrder(t, s.heir.Messages())
	all := slices.Concat(s.dead.Messages(), s.heir.Messages())
	slices.SortStableFunc(all, func(a, b agent.Message) int { return cmp.Compare(a.At, b.At) })
	checkNothingPassedOver(t, all)
	s.checkLeases(t)
	var sent []string
	for n := range int(s.flow.next.Load()) {
		sent = append(sent, fmt.Sprintf("ordered-%d", n))
	}
	if lacking := agent.Lacking(all, sent); len(lacking) > 0 {
		t.Errorf("never came: %q", lacking)
	}
	s.heir.Stop(t)
}

// checkLeases: a queue of the dead is left alone as long as somebody whose connection is gone, but who lives, would go on with it. That is
// 30 s after the client's last renewal for Java's, which the broker can't know; so it waits for 60 s after it, and clients renew every 20.
func (s *succession) checkLeases(t *testing.T) {
	t.Helper()
	const least = 30 * time.Second
	last, inherited := make(map[int]int64), make(map[int]bool)
	for _, m := range s.dead.Messages() {
		last[m.Queue] = m.At
	}
	for _, m := range slices.Backward(s.heir.Messages()) {
		inherited[m.Queue] = m.At > s.killed // in the end by its first message
	}
	for _, m := range s.heir.Messages() {
		if waited := time.Duration(m.At-last[m.Queue]) * time.Microsecond; inherited[m.Queue] && waited < least {
			t.Errorf("queue %d: offset %d came to the heir %v after the last of the dead, want %v or more", m.Queue, m.Offset, waited, least)
			inherited[m.Queue] = false // once is enough
		}
	}
	if w := len(inherited); w != len(last) {
		t.Errorf("the dead had %d queues, the heir got messages of %d", len(last), w)
	}
}

// checkNothingPassedOver: a queue's offsets begin at 0 and go up one by one. They may go back, after which all that follows comes again.
func checkNothingPassedOver(t *testing.T, all []agent.Message) {
	t.Helper()
	next := make(map[int]int64)
	for _, m := range all {
		if m.Offset > next[m.Queue] {
			t.Errorf("queue %d: offset %d came when %d had not", m.Queue, m.Offset, next[m.Queue])
		}
		next[m.Queue] = m.Offset + 1
	}
}
