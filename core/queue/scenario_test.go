package queue

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/internal/scenariotest"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// TestScenarios plays the files testdata/*.txt. The commands are explained in testdata/README.md.
func TestScenarios(t *testing.T) {
	scenariotest.Run(t, "testdata/*.txt", func(t *testing.T, text string) string {
		s := newScenario(t)
		return scenariotest.Play(t, text, func(command string, a scenariotest.Args) []string { return append(s.run(command, a), s.observed()...) })
	})
}

type scenario struct {
	t       *testing.T
	w       *world
	clients map[string]*fakeSession
	pulls   map[*transport.Pull]string
	order   int
	answers replies
	elapsed time.Duration
	// recreated are topics that were deleted and made again.
	recreated map[string]bool
	log       strings.Builder // warnings, and what takes them back
}

func newScenario(t *testing.T) *scenario {
	s := &scenario{t: t, w: newWorld(t, nil), clients: map[string]*fakeSession{}, pulls: map[*transport.Pull]string{}}
	log := slog.New(slog.NewTextHandler(&s.log, &slog.HandlerOptions{Level: slog.LevelInfo, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	s.recreated = map[string]bool{}
	isRecreated := func(topic string) bool { return s.recreated[topic] }
	s.w.offsets.set.Recreated, s.w.pulls.set.Recreated = isRecreated, isRecreated
	s.w.clients.set.Logger, s.w.offsets.set.Logger, s.w.pulls.set.Logger = log, log, log
	return s
}

// queueIn reads TOPIC QUEUE.
func queueIn(a scenariotest.Args) message.QueueKey {
	return message.QueueKey{Topic: a.Words[0], ID: message.QueueID(a.Number(1))}
}

func perm(word string) int32 {
	var p int32
	if strings.Contains(word, "R") {
		p |= 4
	}
	if strings.Contains(word, "W") {
		p |= 2
	}
	return p
}

func (s *scenario) client(name string) *fakeSession {
	if s.clients[name] == nil {
		s.clients[name] = session(len(s.clients))
	}
	return s.clients[name]
}

func (s *scenario) run(command string, a scenariotest.Args) []string {
	switch command {
	case "topic":
		n := int32(a.Int("queues", 4))
		s.w.topics.set(transport.TopicConfig{Name: a.Words[0], ReadQueues: int32(a.Int("read", int64(n))), WriteQueues: n,
			Perm: perm(cmp.Or(a.Set["perm"], "RW"))})
	case "broker":
		s.w.perm = message.Perm(perm(a.Set["perm"]))
	case "group":
		g := plainGroup(a.Words[0])
		g.ConsumeEnable = a.Set["consume"] != "off"
		g.ConsumeBroadcastEnable = a.Set["broadcast"] != "off"
		g.NotifyConsumerIDsChanged = a.Set["notify"] != "off"
		s.w.groups.set(g)
	case "heartbeat":
		return s.heartbeat(a)
	case "unregister":
		s.w.clients.Unregister(s.client(a.Words[0]), a.Set["producer"], a.Set["group"])
	case "disconnect":
		c := s.client(a.Words[0])
		c.dead.Store(true)
		s.w.pulls.SessionClosed(c)
		s.w.clients.SessionClosed(c)
		delete(s.clients, a.Words[0])
	case "on_conflict":
		s.w.clients.set.RefuseConflicts = a.Words[0] == "refuse"
	case "check":
		return s.check(a)
	case "members":
		ids, err := s.w.clients.Consumers(a.Set["group"])
		return result(err, strings.Join(ids, " "))
	case "subscriptions":
		info, err := s.w.clients.ConsumerGroup(a.Set["group"])
		var all []string
		for _, sub := range info.Subscriptions {
			all = append(all, fmt.Sprintf("%s:%s:%s:%d", sub.Topic, sub.Expression.Text, sub.Expression.Type, sub.Version))
		}
		return result(err, strings.Join(all, " "))
	case "send", "store":
		arrived := s.send(a)
		if command == "send" {
			s.w.pulls.Arrived(arrived)
		}
	case "expire":
		s.expire(a)
	case "recreate":
		s.recreated[a.Words[0]] = true
		s.w.log.forget(a.Words[0])
	case "cold":
		s.w.log.hotFrom = s.w.log.End()
	case "pull":
		return s.pull(a)
	case "held":
		return []string{strconv.Itoa(s.w.pulls.Held())}
	case "commit":
		return result(s.w.offsets.Commit(a.Set["group"], queueIn(a), message.Offset(a.Int("offset", 0))), "done")
	case "offset":
		o, err := s.w.offsets.Query(a.Set["group"], queueIn(a), a.Set["strict"] != "")
		return result(err, o.String())
	case "lock", "unlock":
		return s.lock(command, a)
	case "wait":
		return s.wait(a)
	default:
		s.t.Fatalf("unknown command %q", command)
	}
	return nil
}

// check shows the groups whose members don't subscribe the same.
func (s *scenario) check(a scenariotest.Args) (lines []string) {
	for _, c := range s.w.clients.Conflicts(a.Set["group"]) {
		lines = append(lines, "group "+c.Group)
		for _, side := range c.Sides {
			line := fmt.Sprintf("  %s: %s", strings.Join(side.Subscribes, "; "), strings.Join(side.Clients, " "))
			if len(side.Refused) > 0 {
				line += " (refused " + strings.Join(side.Refused, " ") + ")"
			}
			lines = append(lines, strings.TrimRight(line, " "))
		}
	}
	if lines == nil {
		return []string{"all agree"}
	}
	return lines
}

func result(err error, text string) []string {
	if err != nil {
		return []string{err.Error()}
	}
	return []string{text}
}

// heartbeat CLIENT group=G [model=broadcasting] [sub=TOPIC:TEXT[:TYPE[:VERSION]]]... [producer=G]
func (s *scenario) heartbeat(a scenariotest.Args) []string {
	h := &transport.Heartbeat{ClientID: cmp.Or(a.Set["id"], a.Words[0])}
	if g := a.Set["group"]; g != "" {
		d := transport.ConsumerData{Group: g, Type: transport.ConsumePassively, Model: transport.Clustering}
		if a.Set["model"] == "broadcasting" {
			d.Model = transport.Broadcasting
		}
		for _, text := range a.Every("sub") {
			f := append(strings.Split(text, ":"), "", "", "")
			v, _ := strconv.ParseInt(cmp.Or(f[3], "1"), 10, 64)
			d.Subscriptions = append(d.Subscriptions, transport.Subscription{
				Topic: f[0], Expression: filter.Expression{Type: cmp.Or(f[2], "TAG"), Text: f[1]}, Version: v})
		}
		h.Consumers = append(h.Consumers, d)
	}
	if g := a.Set["producer"]; g != "" {
		h.ProducerGroups = append(h.ProducerGroups, g)
	}
	c := &transport.Caller{Session: s.client(a.Words[0]), Language: "JAVA", Version: 407}
	err := s.w.clients.Heartbeat(context.Background(), c, h)
	if err != nil {
		return []string{err.Error()}
	}
	return nil
}

// send TOPIC QUEUE [tag=T] body=B[,B]...
func (s *scenario) send(a scenariotest.Args) (arrived []message.Arrival) {
	q := queueIn(a)
	for _, body := range strings.Split(a.Set["body"], ",") {
		arrived = append(arrived, s.w.log.send(q.Topic, q.ID, a.Set["tag"], body))
	}
	if a.Set["ext"] != "" {
		for i := range arrived {
			arrived[i].TagsCode = message.MaxExtAddress - 100
			s.w.log.setEntry(q, arrived[i].Offset, arrived[i].Entry)
		}
	}
	return arrived
}

// expire TOPIC QUEUE index=N log=N: the index begins at offset N, the log at the record of offset N.
func (s *scenario) expire(a scenariotest.Args) {
	q := queueIn(a)
	if at := a.Int("log", -1); at >= 0 {
		e, _, err := entryAt(s.w.log, q, message.Offset(at))
		if err != nil {
			s.t.Fatal(err)
		}
		s.w.log.oldest = e.Position
	}
	if at := a.Int("index", -1); at >= 0 {
		s.w.log.queues[q].low = message.Offset(at)
	}
	if a.Set["gap"] != "" {
		s.w.log.queues[q].missing = func(o message.Offset) bool { return o == message.Offset(a.Int("gap", 0)) }
	}
}

// pull TOPIC QUEUE client=C group=G offset=N [max=N] [bytes=N] [hold=15s] [commit=N] [expr=TEXT[:TYPE]] [version=N]
func (s *scenario) pull(a scenariotest.Args) []string {
	s.order++
	name := fmt.Sprintf("pull %d", s.order)
	q := queueIn(a)
	p := &transport.Pull{
		Caller: transport.Caller{Session: s.client(cmp.Or(a.Set["client"], "c1"))}, Reply: &s.answers,
		Group: cmp.Or(a.Set["group"], "g"), Topic: q.Topic, QueueID: q.ID, Offset: message.Offset(a.Int("offset", 0)),
		MaxNum: int32(a.Int("max", 32)), MaxBytes: int32(a.Int("bytes", 0)), SubVersion: a.Int("version", 0),
	}
	if _, ok := a.Set["commit"]; ok {
		p.Commit, p.CommitOffset = true, message.Offset(a.Int("commit", 0))
	}
	if h, ok := a.Set["hold"]; ok {
		d, err := time.ParseDuration(h)
		if err != nil {
			s.t.Fatal(err)
		}
		p.Suspend, p.SuspendTimeout = true, d
	}
	if e, ok := a.Set["expr"]; ok {
		text, typ, _ := strings.Cut(e, ":")
		p.HasSubscription, p.Expression = true, filter.Expression{Type: typ, Text: text}
	}
	s.pulls[p] = name
	before := s.w.pulls.Held()
	s.w.pulls.Pull(context.Background(), p)
	if s.w.pulls.Held() > before {
		return []string{name + " is held"}
	}
	return nil
}

func (s *scenario) lock(word string, a scenariotest.Args) []string {
	var queues []transport.BrokerQueue
	for _, n := range strings.Split(a.Set["queues"], ",") {
		id, _ := strconv.Atoi(n)
		queues = append(queues, transport.BrokerQueue{Topic: a.Words[1], Broker: "b", ID: message.QueueID(id)})
	}
	if word == "unlock" {
		s.w.locks.Unlock(a.Set["group"], a.Words[0], queues)
		return nil
	}
	var got []string
	for _, q := range s.w.locks.Lock(a.Set["group"], a.Words[0], queues) {
		got = append(got, q.ID.String())
	}
	return []string{"got " + cmp.Or(strings.Join(got, " "), "none")}
}

// wait DURATION: time passes, in steps of 5 s.
func (s *scenario) wait(a scenariotest.Args) []string {
	d, err := time.ParseDuration(a.Words[0])
	if err != nil {
		s.t.Fatal(err)
	}
	var out []string
	for d > 0 {
		step := min(d, sweepInterval-s.elapsed%sweepInterval)
		d -= step
		s.elapsed += step
		s.w.clock.Advance(step)
		if s.elapsed%sweepInterval == 0 {
			s.w.pulls.Sweep()
		}
		if s.elapsed%clientScanInterval == 0 {
			s.w.clients.Expire()
		}
		for _, l := range s.observed() {
			out = append(out, fmt.Sprintf("after %v: %s", s.elapsed, l))
		}
	}
	return out
}

// observed tells what clients have heard since the last time.
func (s *scenario) observed() []string {
	var out []string
	done := s.answers.take()
	slices.SortStableFunc(done, func(a, b *transport.Pull) int { return cmp.Compare(s.pulls[a], s.pulls[b]) })
	for _, p := range done {
		line := fmt.Sprintf("%s: %d %s", s.pulls[p], p.Code, p.Remark)
		switch p.Code {
		case message.Success, message.PullNotFound, message.PullRetryImmediately, message.PullOffsetMoved:
			line += fmt.Sprintf(", next %d, queue %d to %d", p.NextBeginOffset, p.MinOffset, p.MaxOffset)
		}
		if got := bodies(s.t, &p.Records); len(got) > 0 {
			line += ": " + strings.Join(got, " ")
		}
		if (p.Code == message.Success) != (p.Records.Count > 0) {
			s.t.Errorf("%s has %d records", line, p.Records.Count)
		}
		p.Records.Release()
		out = append(out, line)
	}
	names := make([]string, 0, len(s.clients))
	for n := range s.clients {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		for _, g := range s.clients[n].noticed() {
			out = append(out, fmt.Sprintf("%s hears that group %s has changed", n, g))
		}
		if c := s.clients[n]; c.closed != "" {
			out = append(out, fmt.Sprintf("%s is disconnected: %s", n, c.closed))
			c.closed = ""
		}
	}
	if text := strings.TrimSuffix(s.log.String(), "\n"); text != "" {
		for _, line := range strings.Split(text, "\n") {
			out = append(out, "log: "+line)
		}
		s.log.Reset()
	}
	if n := s.w.log.lent.Load(); n != 0 {
		s.t.Errorf("%d references to the store are left", n)
	}
	return out
}
