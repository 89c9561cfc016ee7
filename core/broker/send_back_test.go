package broker

import (
	"errors"
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/schedule"
	"github.com/weirmq/weir/core/transport"
)

func TestReturnRefuses(t *testing.T) {
	longGroup := strings.Repeat("g", 121)
	for _, c := range []struct {
		name   string
		world  func(*world)
		before func(*node)
		ret    func(*transport.Return)
		code   message.Code
		remark string
	}{
		{"unknown group", func(w *world) { w.sec.Groups.AutoCreate = false }, nil, nil, 26, `group "g" does not exist`},
		{"illegal group", nil, nil, func(r *transport.Return) { r.Group = "../g" }, 1, "illegal character"},
		{"broker that may not be written to", nil, func(n *node) { n.setPermission("4") }, nil, 16, "this broker may not be written to (brokerPermission)"},
		{"retry topic that may not be written to", nil, func(n *node) { n.putTopicPerm("%RETRY%g", 1, 4) }, nil, 16, "topic %RETRY%g may not be written to"},
		{"no such position", nil, nil, func(r *transport.Return) { r.Position = 1 << 40 }, 1, "there is no message at position 1099511627776"},
		{"negative position", nil, nil, func(r *transport.Return) { r.Position = -1 }, 1, "there is no message at position -1"},
		{"position inside a record", nil, nil, func(r *transport.Return) { r.Position++ }, 1, "there is no message at position 1 "},
		{"group too long for a retry topic", nil, nil, func(r *transport.Return) { r.Group = longGroup }, 1, "has 128 characters, at most 127 are allowed"},
		{"message of a topic that the caller may not read", func(w *world) {
			w.auth.authorize = func(a auth.Action, r auth.Resource) error {
				if a == auth.Subscribe && r.Kind == auth.Topic && r.Name == "T" {
					return errors.New("not yours")
				}
				return nil
			}
		}, nil, nil, 16, "not yours"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld()
			if c.world != nil {
				c.world(w)
			}
			n := w.start(t)
			r := transport.Return{Position: n.mustSend("T", "body"), Group: "g"}
			if c.before != nil {
				c.before(n)
			}
			if c.ret != nil {
				c.ret(&r)
			}
			end := n.b.handler.store.End()
			if got := n.giveBack(r); got.Code != c.code || !strings.Contains(got.Remark, c.remark) {
				t.Errorf("answered %d %q, want %d %q", got.Code, got.Remark, c.code, c.remark)
			}
			if n.b.handler.store.End() != end {
				t.Error("something was stored")
			}
		})
	}
}

func (n *node) setPermission(perm string) {
	n.t.Helper()
	if err := n.h.Broker.UpdateConfig(n.t.Context(), caller(newSession("10.0.0.1:1")), map[string]string{"brokerPermission": perm}); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) putTopicPerm(name string, queues, perm int32) {
	n.t.Helper()
	err := n.h.Topics.PutTopic(n.t.Context(), caller(newSession("10.0.0.1:1")), transport.TopicConfig{
		Name: name, ReadQueues: queues, WriteQueues: queues, Perm: perm})
	if err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) putGroup(change func(*transport.GroupConfig)) {
	n.t.Helper()
	g := transport.GroupConfig{Name: "g", ConsumeEnable: true, ConsumeBroadcastEnable: true, RetryQueues: 1, RetryMaxTimes: 16,
		NotifyConsumerIDsChanged: true}
	change(&g)
	if err := n.h.GroupAd.PutGroup(n.t.Context(), caller(newSession("10.0.0.1:1")), g); err != nil {
		n.t.Fatal(err)
	}
}

// TestReturnStores gives a message back that was stored with the given number of tries before.
func TestReturnStores(t *testing.T) {
	for _, c := range []struct {
		name  string
		group func(*transport.GroupConfig)
		tried int32
		ret   func(*transport.Return)
		topic string // empty: dropped
		level int    // at which it waits
	}{
		{"first retry", nil, 0, nil, "%RETRY%g", 3},
		{"last retry", nil, 15, nil, "%RETRY%g", 18},
		{"retry as late as the client says", nil, 0, func(r *transport.Return) { r.DelayLevel = 5 }, "%RETRY%g", 5},
		{"retry later than there is a level", nil, 17, func(r *transport.Return) {
			r.HasMaxReconsumeTimes, r.MaxReconsumeTimes = true, 100
		}, "%RETRY%g", 18},
		{"dead", nil, 16, nil, "%DLQ%g", 0},
		{"dead by the group's limit", func(g *transport.GroupConfig) { g.RetryMaxTimes = 3 }, 3, nil, "%DLQ%g", 0},
		{"dead by the client's limit", nil, 2, func(r *transport.Return) { r.HasMaxReconsumeTimes, r.MaxReconsumeTimes = true, 2 }, "%DLQ%g", 0},
		{"the limit of an old client doesn't count", nil, 2, func(r *transport.Return) {
			r.HasMaxReconsumeTimes, r.MaxReconsumeTimes, r.Caller.Version = true, 2, 120
		}, "%RETRY%g", 5},
		{"dead by wish", nil, 0, func(r *transport.Return) { r.DelayLevel = -1 }, "%DLQ%g", 0},
		{"a group that takes nothing back", func(g *transport.GroupConfig) { g.RetryQueues = 0 }, 0, nil, "", 0},
		{"nothing, to a group that takes nothing back", func(g *transport.GroupConfig) { g.RetryQueues = 0 }, 0,
			func(r *transport.Return) { r.Position = 1 << 40 }, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newWorld().start(t)
			if c.group != nil {
				n.putGroup(c.group)
			}
			s := newSend("T", "body")
			s.Flag, s.ReconsumeTimes, s.Properties = 9, c.tried, props("KEYS", "k", "WAIT", "true", "DELAY", "0")
			sent := n.send(newSession("10.0.0.2:50000"), s)
			position := sent.Sends[0].Positions[0]
			original := n.record(position)
			end := n.b.handler.store.End()
			r := transport.Return{Position: position, Group: "g", Caller: *caller(newSession("10.0.0.3:50001"))}
			if c.ret != nil {
				c.ret(&r)
			}
			if got := n.giveBack(r); got.Code != message.Success {
				t.Fatal(got.Code, got.Remark)
			}
			if c.topic == "" {
				if n.b.handler.store.End() != end {
					t.Error("it was stored")
				}
				return
			}
			rec := n.record(end)
			place := message.QueueKey{Topic: c.topic}
			if c.level > 0 {
				place = schedule.Queue(c.level)
			}
			if string(rec.Topic()) != place.Topic || rec.QueueID() != place.ID || rec.ReconsumeTimes() != c.tried+1 || rec.Flag() != 9 ||
				string(rec.Body()) != "body" || rec.BornHost() != original.BornHost() || rec.BornTimestamp() != original.BornTimestamp() ||
				rec.StoreHost() != original.StoreHost() {
				t.Errorf("stored %q", []byte(rec))
			}
			id := string(message.AppendOffsetID(nil, listenAddr, position))
			want := map[string]string{"KEYS": "k", "CLUSTER": "DefaultCluster", "WAIT": "false", "RETRY_TOPIC": "T", "ORIGIN_MESSAGE_ID": id}
			if c.level > 0 {
				want["DELAY"], want["REAL_TOPIC"], want["REAL_QID"] = strconv.Itoa(c.level), c.topic, "0"
			}
			if got := rec.Properties().Map(); !maps.Equal(got, want) {
				t.Errorf("properties %v, want %v", got, want)
			}
			n.eventuallyVisible(place.Topic, place.ID, 1)
			items, err := n.h.Stats.Counter(t.Context(), caller(newSession("10.0.0.1:1")), "SNDBCK_PUT_NUMS", "T@g")
			if err != nil {
				t.Errorf("it is not counted: %+v, %v", items, err)
			}
		})
	}
}
