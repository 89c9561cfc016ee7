package broker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing/synctest"
	"time"

	"github.com/weirmq/weir/core/internal/scenariotest"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// halfMessage is what a producer knows of its half message.
type halfMessage struct {
	group    string
	offset   message.Offset
	position message.Position
}

// wait lets time pass. Connected producers send their heartbeats.
func (s *scenario) wait(d time.Duration) {
	const interval = 30 * time.Second
	for ; d > 0; d -= interval {
		time.Sleep(min(d, interval))
		for name, p := range s.producers {
			if p.Alive() {
				s.beat(name)
			}
		}
		synctest.Wait()
	}
}

func (s *scenario) beat(name string) {
	err := s.n.h.Groups.Heartbeat(s.t.Context(), caller(s.producers[name]), &transport.Heartbeat{ClientID: name, ProducerGroups: []string{s.groups[name]}})
	if err != nil {
		s.t.Fatal(err)
	}
}

// producer connects or, with off, disconnects a producer: NAME group=.
func (s *scenario) producer(a scenariotest.Args) {
	name := a.Words[0]
	if len(a.Words) > 1 {
		s.producers[name].Close("gone")
		s.n.h.Sessions.SessionClosed(s.producers[name])
		return
	}
	p := newSession(fmt.Sprintf("10.0.0.7:%d", 1000+len(s.producers)))
	s.producers[name], s.groups[name] = p, a.Set["group"]
	s.beat(name)
}

// half sends a half message: TOPIC BODY group=, queue= and other words with an = as properties.
func (s *scenario) half(a scenariotest.Args) []string {
	m := newSend(a.Words[0], a.Words[1])
	m.QueueID, m.BornTimestamp, m.SysFlag = message.QueueID(a.Int("queue", 0)), time.Now().UnixMilli(), message.FlagPrepared
	m.Properties = props("TRAN_MSG", "true", "PGROUP", a.Set["group"], "UNIQ_KEY", "key-of-"+a.Words[1])
	for _, k := range slices.Sorted(maps.Keys(a.Set)) {
		if k != "group" && k != "queue" {
			m.Properties = message.AppendProperty(m.Properties, k, a.Set[k])
		}
	}
	got := &s.n.send(newSession("10.0.0.2:50000"), m).Sends[0]
	if got.Code != message.Success {
		return []string{fmt.Sprintf("refused: %d %s", got.Code, got.Remark)}
	}
	s.halves[a.Words[1]] = halfMessage{a.Set["group"], got.QueueOffset, got.Positions[0]}
	return []string{fmt.Sprintf("half message %d", got.QueueOffset)}
}

type endDone chan *transport.EndBatch

func (d endDone) EndsDone(b *transport.EndBatch) { d <- b }

// end has one decision carried out and returns it with its answer.
func (n *node) end(e transport.EndTransaction) transport.EndTransaction {
	n.t.Helper()
	done := make(endDone, 1)
	n.h.Trans.EndTransactions(context.Background(), &transport.EndBatch{Reply: done, Ends: []transport.EndTransaction{e}})
	return await(n.t, done).Ends[0]
}

// end decides: BODY, group= to be another's, offset= for another half message.
func (s *scenario) end(decision string, a scenariotest.Args) []string {
	h := s.halves[a.Words[0]]
	e := transport.EndTransaction{Credentials: caller(newSession("10.0.0.2:50000")).Credentials, ProducerGroup: []byte(h.group), Offset: h.offset,
		Position: h.position, Decision: message.FlagCommit}
	if decision == "rollback" {
		e.Decision = message.FlagRollback
	}
	if g, ok := a.Set["group"]; ok {
		e.ProducerGroup = []byte(g)
	}
	e.Offset += message.Offset(a.Int("beside", 0))
	if e = s.n.end(e); e.Code != message.Success {
		return []string{fmt.Sprintf("refused: %d %s", e.Code, e.Remark)}
	}
	return nil
}

// asked shows what a producer was asked since last time. It decides about that from then on.
func (s *scenario) asked(name string) (lines []string) {
	for _, n := range s.producers[name].told() {
		c, ok := n.(transport.CheckTransaction)
		if !ok {
			continue
		}
		rec, _, err := message.ViewRecord(c.Record)
		if err != nil || rec.QueueOffset() != c.Offset || rec.Position() != c.Position {
			s.t.Fatalf("asked about a broken record: %v", err)
		}
		p := rec.Properties().Map()
		lines = append(lines, fmt.Sprintf("about %s of %s queue %d, half message %d, check %s, key %s", rec.Body(), rec.Topic(), rec.QueueID(), c.Offset,
			p[message.PropCheckTimes], c.UniqueKey))
		s.halves[string(rec.Body())] = halfMessage{p[message.PropProducerGroup], c.Offset, c.Position}
	}
	if lines == nil {
		return []string{"nothing"}
	}
	return lines
}
