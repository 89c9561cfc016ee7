package broker

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirmq/weir/core/internal/scenariotest"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// TestScenarios plays the files testdata/*.txt to a whole broker, in a time of its own that moves when everybody waits. testdata/README.md
// explains the commands.
func TestScenarios(t *testing.T) {
	scenariotest.Run(t, "testdata/*.txt", func(t *testing.T, text string) (got string) {
		synctest.Test(t, func(t *testing.T) {
			s := newScenario(t)
			got = scenariotest.Play(t, text, func(command string, a scenariotest.Args) []string {
				synctest.Wait()
				defer synctest.Wait()
				return s.run(command, a)
			})
		})
		return got
	})
}

// scenario is a broker and what was seen of it.
type scenario struct {
	t         *testing.T
	w         *world
	n         *node
	began     time.Time
	read      map[message.QueueKey]message.Offset
	halves    map[string]halfMessage // by body
	producers map[string]*fakeSession
	groups    map[string]string           // of the producers
	seen      map[string]message.Position // by body, the latest record that was read
	handles   map[string]string           // by body, to recall it
}

func newScenario(t *testing.T) *scenario {
	s := &scenario{t: t, w: newWorld(), began: time.Now(), read: map[message.QueueKey]message.Offset{},
		halves: map[string]halfMessage{}, producers: map[string]*fakeSession{}, groups: map[string]string{}, seen: map[string]message.Position{}, handles: map[string]string{}}
	s.n = s.w.start(t)
	return s
}

func (s *scenario) run(command string, a scenariotest.Args) []string {
	switch command {
	case "group":
		s.n.putGroup(func(g *transport.GroupConfig) {
			g.Name, g.RetryMaxTimes = a.Words[0], int32(a.Int("tries", 16))
		})
	case "send":
		return s.send(a)
	case "return":
		return s.giveBack(a)
	case "read":
		return s.readQueue(message.QueueKey{Topic: a.Words[0], ID: message.QueueID(a.Int("queue", 0))})
	case "wait":
		d, err := time.ParseDuration(a.Words[0])
		if err != nil {
			s.t.Fatal(err)
		}
		s.wait(d)
	case "restart":
		return s.restart(a)
	case "producer":
		s.producer(a)
	case "half":
		return s.half(a)
	case "commit", "rollback":
		return s.end(command, a)
	case "asked":
		return s.asked(a.Words[0])
	case "recall":
		return s.recall(a)
	case "progress":
		text, err := s.n.h.Broker.DelayOffsets(s.t.Context(), caller(newSession("10.0.0.1:1")))
		if err != nil {
			s.t.Fatal(err)
		}
		return []string{string(text)}
	default:
		s.t.Fatalf("no command %q", command)
	}
	return nil
}

// send sends a message: TOPIC BODY, queue=, delay=, tries= and other words with an = as properties.
func (s *scenario) send(a scenariotest.Args) []string {
	m := newSend(a.Words[0], a.Words[1])
	m.QueueID, m.ReconsumeTimes, m.BornTimestamp = message.QueueID(a.Int("queue", 0)), int32(a.Int("tried", 0)), time.Now().UnixMilli()
	for _, k := range slices.Sorted(maps.Keys(a.Set)) {
		switch k {
		case "queue", "tried":
		case "delay":
			m.Properties = message.AppendProperty(m.Properties, message.PropDelay, a.Set[k])
		default:
			m.Properties = message.AppendProperty(m.Properties, k, a.Set[k])
		}
	}
	got := &s.n.send(newSession("10.0.0.2:50000"), m).Sends[0]
	if got.Code != message.Success {
		return []string{fmt.Sprintf("refused: %d %s", got.Code, got.Remark)}
	}
	s.handles[a.Words[1]] = got.RecallHandle
	return []string{fmt.Sprintf("stored, queue %d", got.AnsweredQueueID)}
}

// recall takes a timed message back: TOPIC BODY.
func (s *scenario) recall(a scenariotest.Args) []string {
	key, err := s.n.h.Recaller.Recall(s.t.Context(), caller(newSession("10.0.0.2:50000")), transport.Recall{Topic: a.Words[0], Handle: s.handles[a.Words[1]]})
	if refused, ok := errors.AsType[*message.Error](err); ok {
		return []string{fmt.Sprintf("refused: %d %s", refused.Code, refused.Remark)}
	} else if err != nil {
		s.t.Fatal(err)
	}
	return []string{"recalled " + key}
}

// giveBack returns a message that was read: GROUP BODY, delay=.
func (s *scenario) giveBack(a scenariotest.Args) []string {
	r := s.n.giveBack(transport.Return{Group: a.Words[0], Position: s.seen[a.Words[1]], DelayLevel: int32(a.Int("delay", 0))})
	if r.Code != message.Success {
		return []string{fmt.Sprintf("refused: %d %s", r.Code, r.Remark)}
	}
	return nil
}

// readQueue shows what has become readable in a queue since it was read last.
func (s *scenario) readQueue(q message.QueueKey) (lines []string) {
	for {
		p := s.n.pull("reader", q.Topic, q.ID, s.read[q])
		if p.Code != message.Success {
			break
		}
		eachRecord(s.t, &p.Records, func(rec message.Record) { lines = append(lines, s.show(rec)) })
		s.read[q] = p.NextBeginOffset
		p.Records.Release()
	}
	if lines == nil {
		return []string{"nothing"}
	}
	return lines
}

func (s *scenario) show(rec message.Record) string {
	s.seen[string(rec.Body())] = rec.Position()
	line := fmt.Sprintf("%s, stored after %v", rec.Body(), time.UnixMilli(rec.StoreTimestamp()).Sub(s.began))
	if n := rec.ReconsumeTimes(); n > 0 {
		line += fmt.Sprintf(", tried %d times", n)
	}
	p := rec.Properties().Map()
	for _, k := range slices.Sorted(maps.Keys(p)) {
		if k != message.PropCluster && k != message.PropOriginMessageID {
			line += fmt.Sprintf(", %s=%s", k, p[k])
		}
	}
	return line
}

// restart stops the broker, changes levels=, with _ for blanks, or removes the file without=, and starts it. With kill the disk is what
// a power cut leaves of it.
func (s *scenario) restart(a scenariotest.Args) []string {
	if v, ok := a.Set["levels"]; ok {
		s.w.sec.Schedule.Levels = strings.ReplaceAll(v, "_", " ")
	}
	for _, p := range s.producers {
		p.Close("the broker stops")
	}
	s.n.stop()
	if file, ok := a.Set["without"]; ok {
		path := "/data/config/" + file
		if err := errors.Join(s.w.fs.Remove(path), ignoreMissing(s.w.fs.Remove(path+".bak"))); err != nil {
			s.t.Fatal(err)
		}
	}
	s.w.cfg.Sections = nil
	s.n = s.w.start(s.t)
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
