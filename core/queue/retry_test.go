package queue

import (
	"maps"
	"testing"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

func record(t *testing.T, m message.Message) message.Record {
	t.Helper()
	b, err := message.AppendRecord(nil, &m)
	if err != nil {
		t.Fatal(err)
	}
	message.Record(b).Place(5, 4096, 1_700_000_000_000)
	return b
}

func properties(pairs ...string) message.Properties {
	var p message.Properties
	for i := 0; i < len(pairs); i += 2 {
		p = message.AppendProperty(p, pairs[i], pairs[i+1])
	}
	return p
}

const originID = "7F00000100002A9F0000000000001000" // of testHost at 4096

func TestPlanReturn(t *testing.T) {
	for _, c := range []struct {
		name       string
		tried      int32
		topic      string
		props      message.Properties
		group      func(*transport.GroupConfig)
		ret        transport.Return
		random     uint32
		wantTopic  string
		wantQueue  message.QueueID
		wantLevel  int32
		wantDead   bool
		wantQueues int32
		wantProps  map[string]string
	}{
		{
			name: "first time", topic: "T", props: properties("TAGS", "A", "UNIQ_KEY", "u", "WAIT", "true"),
			wantTopic: "%RETRY%g", wantLevel: 3, wantQueues: 1,
			wantProps: map[string]string{"TAGS": "A", "UNIQ_KEY": "u", "WAIT": "false", "RETRY_TOPIC": "T", "ORIGIN_MESSAGE_ID": originID},
		},
		{
			name: "again", tried: 4, topic: "%RETRY%g", props: properties("RETRY_TOPIC", "T", "ORIGIN_MESSAGE_ID", "first", "DELAY", "6", "REAL_TOPIC", "%RETRY%g", "REAL_QID", "0"),
			wantTopic: "%RETRY%g", wantLevel: 7, wantQueues: 1,
			wantProps: map[string]string{"WAIT": "false", "RETRY_TOPIC": "T", "ORIGIN_MESSAGE_ID": "first"},
		},
		{
			name: "level of the consumer's choice, several queues", tried: 2, topic: "T", ret: transport.Return{DelayLevel: 9}, random: 14,
			group:     func(g *transport.GroupConfig) { g.RetryQueues = 8 },
			wantTopic: "%RETRY%g", wantQueue: 6, wantLevel: 9, wantQueues: 8,
			wantProps: map[string]string{"WAIT": "false", "RETRY_TOPIC": "T", "ORIGIN_MESSAGE_ID": originID},
		},
		{
			name: "tried often enough", tried: 16, topic: "T", random: 14, group: func(g *transport.GroupConfig) { g.RetryQueues = 8 },
			wantTopic: "%DLQ%g", wantDead: true, wantQueues: 1,
			wantProps: map[string]string{"WAIT": "false", "RETRY_TOPIC": "T", "ORIGIN_MESSAGE_ID": originID},
		},
		{
			name: "given up", topic: "T", ret: transport.Return{DelayLevel: -1},
			wantTopic: "%DLQ%g", wantDead: true, wantQueues: 1,
			wantProps: map[string]string{"WAIT": "false", "RETRY_TOPIC": "T", "ORIGIN_MESSAGE_ID": originID},
		},
		{
			name: "limit of the client", tried: 3, topic: "T", ret: transport.Return{HasMaxReconsumeTimes: true, MaxReconsumeTimes: 3, Caller: transport.Caller{Version: 121}},
			wantTopic: "%DLQ%g", wantDead: true, wantQueues: 1,
			wantProps: map[string]string{"WAIT": "false", "RETRY_TOPIC": "T", "ORIGIN_MESSAGE_ID": originID},
		},
		{
			name: "limit of a client too old to have one", tried: 3, topic: "T", ret: transport.Return{HasMaxReconsumeTimes: true, MaxReconsumeTimes: 3, Caller: transport.Caller{Version: 120}},
			wantTopic: "%RETRY%g", wantLevel: 6, wantQueues: 1,
			wantProps: map[string]string{"WAIT": "false", "RETRY_TOPIC": "T", "ORIGIN_MESSAGE_ID": originID},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := record(t, message.Message{Topic: c.topic, QueueID: 3, Flag: 7, SysFlag: message.FlagCompressed | message.FlagZlib,
				BornTimestamp: 123, BornHost: testHost, StoreHost: testHost, ReconsumeTimes: c.tried, Body: []byte("body"), Properties: c.props})
			g := plainGroup("g")
			if c.group != nil {
				c.group(&g)
			}
			c.ret.Group = "g"
			plan := PlanReturn(rec, &g, &c.ret, c.random, nil)
			m := &plan.Message
			if m.Topic != c.wantTopic || m.QueueID != c.wantQueue || plan.DelayLevel != c.wantLevel || plan.Dead != c.wantDead ||
				plan.Queues != c.wantQueues || plan.Drop {
				t.Errorf("planned %+v", plan)
			}
			if m.ReconsumeTimes != c.tried+1 || m.Flag != 7 || m.SysFlag != message.FlagCompressed|message.FlagZlib ||
				m.BornTimestamp != 123 || m.BornHost != testHost || m.StoreHost != testHost || string(m.Body) != "body" {
				t.Errorf("message %+v", m)
			}
			if got := m.Properties.Map(); !maps.Equal(got, c.wantProps) {
				t.Errorf("properties %v, want %v", got, c.wantProps)
			}
		})
	}
	g := plainGroup("g")
	g.RetryQueues = 0
	if plan := PlanReturn(record(t, message.Message{Topic: "T"}), &g, &transport.Return{Group: "g"}, 0, nil); !plan.Drop {
		t.Errorf("without retry queues: %+v", plan)
	}
}

func TestSendIsDead(t *testing.T) {
	g := plainGroup("g")
	for _, c := range []struct {
		name string
		send transport.Send
		want bool
	}{
		{"below the group's limit", transport.Send{ReconsumeTimes: 15}, false},
		{"at the group's limit", transport.Send{ReconsumeTimes: 16}, true},
		{"client allows more", transport.Send{ReconsumeTimes: 16, HasMaxReconsumeTimes: true, MaxReconsumeTimes: 20, Version: 407}, false},
		{"client allows less", transport.Send{ReconsumeTimes: 2, HasMaxReconsumeTimes: true, MaxReconsumeTimes: 2, Version: 407}, true},
		{"old client", transport.Send{ReconsumeTimes: 2, HasMaxReconsumeTimes: true, MaxReconsumeTimes: 2, Version: 100}, false},
	} {
		if got := SendIsDead(&g, &c.send); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
