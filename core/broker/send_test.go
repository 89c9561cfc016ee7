package broker

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// props makes a property string of names and values.
func props(namesAndValues ...string) message.Properties {
	var p message.Properties
	for i := 0; i < len(namesAndValues); i += 2 {
		p = message.AppendProperty(p, namesAndValues[i], namesAndValues[i+1])
	}
	return p
}

// batchOf makes a batch body; the messages' flags are 1, 2, 3 and so on.
func batchOf(t testing.TB, bodies ...string) []byte {
	t.Helper()
	var b message.Batch
	for i, body := range bodies {
		var err error
		if b, err = message.AppendBatchItem(b, int32(i+1), []byte(body), props("N", body)); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

const longTopic = "a123456789b123456789c123456789d123456789e123456789f123456789g123456789h123456789i123456789j123456789k123456789l123456789m123456"

// TestSendRefuses has a line for each rule by which a send is refused: the code is RocketMQ's, the remark says what and
// why, nothing is stored and no topic comes into being.
func TestSendRefuses(t *testing.T) {
	change := func(f func(*transport.Send)) func(*transport.Send) { return f }
	topic := func(name string) func(*transport.Send) {
		return change(func(s *transport.Send) { s.Topic = []byte(name) })
	}
	properties := func(p message.Properties) func(*transport.Send) {
		return change(func(s *transport.Send) { s.Properties = p })
	}
	for _, c := range []struct {
		name   string
		world  func(*world)
		send   func(*transport.Send)
		code   message.Code
		remark string // a part of it
	}{
		{"empty topic", nil, topic(""), 1, "the topic name is empty"},
		{"blank topic", nil, topic("  "), 1, "the topic name is empty"},
		{"topic out of the store", nil, topic("../../etc"), 1, `illegal character '.' at position 0`},
		{"topic with a slash", nil, topic("a/b"), 1, `illegal character '/' at position 1`},
		{"topic with a zero byte", nil, topic("a\x00"), 1, `illegal character '\x00' at position 1`},
		{"topic beyond ASCII", nil, topic("größe"), 1, `illegal character 'ö' at position 2`},
		{"topic that isn't UTF-8", nil, topic("a\xff"), 1, `illegal character`},
		{"topic of 128 characters", nil, topic(longTopic + "7"), 1, "has 128 characters, at most 127 are allowed"},
		{"topic of delays", nil, topic("SCHEDULE_TOPIC_XXXX"), 16, "topic SCHEDULE_TOPIC_XXXX is the broker's own: nobody may send to it"},
		{"topic of half messages", nil, topic("RMQ_SYS_TRANS_HALF_TOPIC"), 16, "nobody may send to it"},
		{"topic of decided half messages", nil, topic("RMQ_SYS_TRANS_OP_HALF_TOPIC"), 16, "nobody may send to it"},
		{"topic of given up half messages", nil, topic("TRANS_CHECK_MAX_TIME_TOPIC"), 16, "nobody may send to it"},
		{"topic of self tests", nil, topic("SELF_TEST_TOPIC"), 16, "nobody may send to it"},
		{"topic of moved offsets", nil, topic("OFFSET_MOVED_EVENT"), 16, "nobody may send to it"},

		{"unknown topic without auto-create", func(w *world) { w.sec.Topics.AutoCreate = false }, topic("New"), 17,
			`topic "New" does not exist and topics.auto_create is off; create it with: weir topic create New`},
		{"unknown topic without a template", nil,
			change(func(s *transport.Send) { s.Topic, s.DefaultTopic = []byte("New"), nil }), 17, `names no topic to create it after`},
		{"unknown topic after an unknown one", nil,
			change(func(s *transport.Send) { s.Topic, s.DefaultTopic = []byte("New"), []byte("Nowhere") }), 17, `"Nowhere"`},
		{"unknown topic after one that may not be inherited from", nil,
			change(func(s *transport.Send) { s.Topic, s.DefaultTopic = []byte("New"), []byte("T") }), 17, "has no inherit permission"},

		{"queue id one too large", nil, change(func(s *transport.Send) { s.QueueID = 4 }), 1,
			"queue id 4 is out of range: topic T has 4 read and 4 write queues"},
		{"queue id far too large", nil, change(func(s *transport.Send) { s.QueueID = 1<<31 - 1 }), 1, "queue id 2147483647 is out of range"},
		{"any queue of a topic without", nil, change(func(s *transport.Send) {
			s.Topic, s.DefaultTopicQueueNums, s.QueueID = []byte("None"), 0, -1
		}), 1, "topic None has no queue to write to"},

		{"body over the limit", func(w *world) { w.sec.Store.MaxMessageSize = 100 },
			change(func(s *transport.Send) { s.Body = bytes.Repeat([]byte("x"), 101) }), 13, "body is longer than the maximum message size"},
		{"properties over the limit", nil, properties(props("K", strings.Repeat("v", 32767))), 13, "the properties are longer than 32767 bytes"},
		{"properties over the limit with CLUSTER", nil, properties(props("K", strings.Repeat("v", 32767-2-len("\x02CLUSTER\x01DefaultCluster")+1))), 13,
			"the properties are longer than 32767 bytes"},
		{"transaction, where none are taken", func(w *world) { w.sec.Transactions.Enabled = false }, properties(props("TRAN_MSG", "TRUE")), 16,
			"this broker takes no transactional messages (transactions.enabled)"},
		{"transaction by its flag alone", nil, change(func(s *transport.Send) { s.SysFlag = message.FlagPrepared }), 16, "its property TRAN_MSG doesn't"},
		{"rollback by its flag alone", nil, change(func(s *transport.Send) { s.SysFlag = message.FlagRollback }), 16, "its property TRAN_MSG doesn't"},
		{"delayed by something that is no number", nil, properties(props("DELAY", "soon")), 1, `property DELAY is "soon", which is not a number`},
		{"properties over the limit with a delay", nil, properties(props("K", strings.Repeat("v", 32730), "DELAY", "1")), 13,
			"the properties are longer than 32767 bytes"},
		{"retry of a group that may not exist", func(w *world) { w.sec.Groups.AutoCreate = false }, topic("%RETRY%nobody"), 26,
			`group "nobody" does not exist and groups.auto_create is off`},
		{"ordered topic on a broker that may not be written to", nil, topic("Ordered"), 16, "may not be written to (brokerPermission), and topic Ordered is ordered"},

		{"batch over the limit", func(w *world) { w.sec.Store.MaxMessageSize = 100 }, change(func(s *transport.Send) {
			s.Batch, s.Body = true, batchOf(t, strings.Repeat("x", 101))
		}), 13, "is over the limit of 100 (store.max_message_size)"},
		{"empty batch", nil, change(func(s *transport.Send) { s.Batch, s.Body = true, nil }), 13, "batch holds no message"},
		{"broken batch", nil, change(func(s *transport.Send) {
			b := batchOf(t, "one", "two")
			s.Batch, s.Body = true, b[:len(b)-1]
		}), 13, ""},
		{"transactional batch", nil, change(func(s *transport.Send) {
			s.Batch, s.Body, s.Properties = true, batchOf(t, "one"), props("TRAN_MSG", "true")
		}), 13, "a batch may be neither transactional nor delayed"},
		{"transactional batch by its flag", nil, change(func(s *transport.Send) {
			s.Batch, s.Body, s.SysFlag = true, batchOf(t, "one"), message.FlagPrepared
		}), 13, "a batch may be neither transactional nor delayed"},
		{"delayed batch", nil, change(func(s *transport.Send) {
			s.Batch, s.Body, s.Properties = true, batchOf(t, "one"), props("DELAY", "2")
		}), 13, "a batch may be neither transactional nor delayed"},
		{"batch with common properties over the limit", nil, change(func(s *transport.Send) {
			s.Batch, s.Body, s.Properties = true, batchOf(t, "one"), props("K", strings.Repeat("v", 32767))
		}), 13, "the properties are longer than 32767 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld()
			if c.world != nil {
				c.world(w)
			}
			n := w.start(t)
			n.putTopic("T", 4)
			n.putTopic("Ordered", 4)
			n.putTopic("None", 0)
			if err := n.b.handler.topics.SetOrder(map[string]string{"Ordered": "broker-a:4"}); err != nil {
				t.Fatal(err)
			}
			if err := n.h.Broker.UpdateConfig(t.Context(), caller(newSession("10.0.0.1:1")), map[string]string{"brokerPermission": "4"}); err != nil {
				t.Fatal(err)
			}
			before, end := n.topicNames(), n.b.handler.store.End()
			s := newSend("T", "body")
			c.send(&s)
			got := n.send(newSession("10.0.0.2:50000"), s).Sends[0]
			if got.Code != c.code || !strings.Contains(got.Remark, c.remark) || got.Remark == "" {
				t.Errorf("answered %d %q, want %d %q", got.Code, got.Remark, c.code, c.remark)
			}
			if n.b.handler.store.End() != end {
				t.Error("something was stored")
			}
			after := n.topicNames()
			after = slices.DeleteFunc(after, func(name string) bool { return name == "%RETRY%nobody" }) // created before the group is looked up, as in RocketMQ
			if !slices.Equal(after, before) {
				t.Errorf("topics are %v, were %v", after, before)
			}
		})
	}
}

func (n *node) putTopic(name string, queues int32) {
	n.t.Helper()
	err := n.h.Topics.PutTopic(n.t.Context(), caller(newSession("10.0.0.1:1")), transport.TopicConfig{
		Name: name, ReadQueues: queues, WriteQueues: queues, Perm: int32(message.PermRW)})
	if err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) topicNames() []string {
	n.t.Helper()
	all, _, err := n.h.Topics.Topics(n.t.Context(), caller(newSession("10.0.0.1:1")))
	if err != nil {
		n.t.Fatal(err)
	}
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	return names
}

const scheduled = message.TopicSchedule

// TestSendStores has a line for each rule about what becomes of a message that is taken.
func TestSendStores(t *testing.T) {
	for _, c := range []struct {
		name     string
		send     func(*transport.Send)
		topic    string // where it is stored
		queue    message.QueueID
		answered message.QueueID
		flags    int32
		props    map[string]string
	}{
		{"plain", func(*transport.Send) {}, "T", 2, 2, 0, nil},
		{"topic of 127 characters", func(s *transport.Send) { s.Topic = []byte(longTopic) }, longTopic, 2, 2, 0, nil},
		{"read queues count, too", func(s *transport.Send) { s.Topic, s.QueueID = []byte("MoreToRead"), 7 }, "MoreToRead", 7, 7, 0, nil},
		{"no write permission is for routes only", func(s *transport.Send) { s.Topic = []byte("ReadOnly") }, "ReadOnly", 2, 2, 0, nil},
		{"trace topic", func(s *transport.Send) { s.Topic, s.QueueID = []byte("RMQ_SYS_TRACE_TOPIC"), 0 }, "RMQ_SYS_TRACE_TOPIC", 0, 0, 0, nil},
		{"properties", func(s *transport.Send) { s.Properties = props("KEYS", "k1 k2", "TAGS", "blau") }, "T", 2, 2, 0,
			map[string]string{"KEYS": "k1 k2", "TAGS": "blau"}},
		{"separator at the end", func(s *transport.Send) { s.Properties = append(props("A", "1"), 2) }, "T", 2, 2, 0, map[string]string{"A": "1"}},
		{"WAIT true", func(s *transport.Send) { s.Properties = props("A", "1", "WAIT", "true", "B", "2") }, "T", 2, 2, 0,
			map[string]string{"A": "1", "B": "2"}},
		{"WAIT false", func(s *transport.Send) { s.Properties = props("WAIT", "false") }, "T", 2, 2, 0, nil},
		{"forged CLUSTER", func(s *transport.Send) { s.Properties = props("CLUSTER", "Other", "A", "1") }, "T", 2, 2, 0, map[string]string{"A": "1"}},
		{"CLUSTER forged twice", func(s *transport.Send) { s.Properties = props("CLUSTER", "Other", "A", "1", "CLUSTER", "Another") }, "T", 2, 2, 0,
			map[string]string{"A": "1"}},
		{"a delay of 0", func(s *transport.Send) { s.Properties = props("DELAY", "0") }, "T", 2, 2, 0, map[string]string{"DELAY": "0"}},
		{"a delay below 0", func(s *transport.Send) { s.Properties = props("DELAY", "-1") }, "T", 2, 2, 0, map[string]string{"DELAY": "-1"}},
		{"delayed", func(s *transport.Send) { s.Properties = props("DELAY", "1", "A", "1") }, scheduled, 0, 2, 0,
			map[string]string{"DELAY": "1", "A": "1", "REAL_TOPIC": "T", "REAL_QID": "2"}},
		{"delayed, WAIT stays", func(s *transport.Send) { s.Properties = props("DELAY", "18", "WAIT", "true") }, scheduled, 17, 2, 0,
			map[string]string{"DELAY": "18", "WAIT": "true", "REAL_TOPIC": "T", "REAL_QID": "2"}},
		{"delayed, named twice", func(s *transport.Send) { s.Properties = props("DELAY", "0", "DELAY", "3") }, scheduled, 2, 2, 0,
			map[string]string{"DELAY": "3", "REAL_TOPIC": "T", "REAL_QID": "2"}},
		{"delayed by more than there is", func(s *transport.Send) { s.Properties = props("DELAY", "99") }, scheduled, 17, 2, 0,
			map[string]string{"DELAY": "18", "REAL_TOPIC": "T", "REAL_QID": "2"}},
		{"delayed, with forged places", func(s *transport.Send) {
			s.Properties = props("REAL_TOPIC", "Other", "DELAY", "2", "REAL_QID", "9", "CLUSTER", "Mine")
		}, scheduled, 1, 2, 0, map[string]string{"DELAY": "2", "REAL_TOPIC": "T", "REAL_QID": "2"}},
		{"a transaction that isn't", func(s *transport.Send) { s.Properties = props("TRAN_MSG", "false") }, "T", 2, 2, 0,
			map[string]string{"TRAN_MSG": "false"}},
		{"half", func(s *transport.Send) {
			s.Properties, s.SysFlag = props("TRAN_MSG", "true", "PGROUP", "p", "WAIT", "true", "REAL_TOPIC", "Other"), message.FlagPrepared|message.FlagCompressed
		}, message.TopicTransHalf, 0, 2, message.FlagCompressed, map[string]string{"TRAN_MSG": "true", "PGROUP": "p", "WAIT": "true", "REAL_TOPIC": "T", "REAL_QID": "2"}},
		{"half with a delay", func(s *transport.Send) { s.Properties = props("TRAN_MSG", "TRUE", "DELAY", "3") }, message.TopicTransHalf, 0, 2, 0,
			map[string]string{"TRAN_MSG": "TRUE", "DELAY": "3", "REAL_TOPIC": "T", "REAL_QID": "2"}},
		{"compressed", func(s *transport.Send) { s.SysFlag = message.FlagCompressed | message.FlagZlib }, "T", 2, 2, 0x301, nil},
		{"flags of families that it hasn't", func(s *transport.Send) { s.SysFlag = 0x30 }, "T", 2, 2, 0, nil},
		{"multi-tag topic", func(s *transport.Send) { s.Topic = []byte("Multi") }, "Multi", 2, 2, message.FlagMultiTags, nil},

		{"retry", func(s *transport.Send) { s.Topic, s.QueueID, s.ReconsumeTimes = []byte("%RETRY%g"), 0, 15 }, "%RETRY%g", 0, 0, 0, nil},
		{"retry with a delay", func(s *transport.Send) {
			s.Topic, s.QueueID, s.ReconsumeTimes, s.Properties = []byte("%RETRY%g"), 0, 1, props("DELAY", "4", "A", "1")
		}, scheduled, 3, 0, 0, map[string]string{"DELAY": "4", "A": "1", "REAL_TOPIC": "%RETRY%g", "REAL_QID": "0"}},
		{"retry of an old client's transaction", func(s *transport.Send) {
			s.Topic, s.QueueID, s.ReconsumeTimes, s.Properties = []byte("%RETRY%g"), 0, 1, props("TRAN_MSG", "true", "DELAY", "4")
		}, scheduled, 3, 0, 0, map[string]string{"TRAN_MSG": "true", "DELAY": "4", "REAL_TOPIC": "%RETRY%g", "REAL_QID": "0"}},
		{"retried often enough", func(s *transport.Send) {
			s.Topic, s.QueueID, s.ReconsumeTimes, s.Properties = []byte("%RETRY%wide"), 3, 16, props("DELAY", "18", "A", "1")
		}, "%DLQ%wide", 0, 3, 0, map[string]string{"A": "1"}},
		{"retried as often as the client says", func(s *transport.Send) {
			s.Topic, s.QueueID, s.ReconsumeTimes, s.HasMaxReconsumeTimes, s.MaxReconsumeTimes = []byte("%RETRY%wide"), 1, 2, true, 2
		}, "%DLQ%wide", 0, 1, 0, nil},
		{"an old client has no say", func(s *transport.Send) {
			s.Topic, s.QueueID, s.ReconsumeTimes, s.HasMaxReconsumeTimes, s.MaxReconsumeTimes = []byte("%RETRY%g"), 0, 2, true, 2
			s.Version = 120
		}, "%RETRY%g", 0, 0, 0, nil},
		{"more often than the group's limit, as the client says", func(s *transport.Send) {
			s.Topic, s.QueueID, s.ReconsumeTimes, s.HasMaxReconsumeTimes, s.MaxReconsumeTimes = []byte("%RETRY%g"), 0, 20, true, 30
		}, "%RETRY%g", 0, 0, 0, nil},
		{"dead letter, sent as one", func(s *transport.Send) {
			s.Topic, s.QueueID, s.Properties = []byte("%DLQ%wide"), 0, props("A", "1")
		}, "%DLQ%wide", 0, 0, 0, map[string]string{"A": "1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newWorld().start(t)
			ctx, admin := t.Context(), caller(newSession("10.0.0.1:1"))
			for _, tc := range []transport.TopicConfig{
				{Name: "MoreToRead", ReadQueues: 8, WriteQueues: 4, Perm: 6}, {Name: "ReadOnly", ReadQueues: 4, WriteQueues: 4, Perm: 4},
				{Name: "Multi", ReadQueues: 4, WriteQueues: 4, Perm: 6, FilterType: transport.MultiTag}, {Name: "%RETRY%wide", ReadQueues: 4, WriteQueues: 4, Perm: 6},
			} {
				if err := n.h.Topics.PutTopic(ctx, admin, tc); err != nil {
					t.Fatal(err)
				}
			}
			s := newSend("T", "body")
			s.QueueID, s.Flag = 2, 77
			c.send(&s)
			b := n.send(newSession("10.0.0.2:50000"), s)
			got := &b.Sends[0]
			if got.Code != message.Success || got.AnsweredQueueID != c.answered || got.QueueOffset != 0 || len(got.Positions) != 1 || b.StoreHost != listenAddr {
				t.Fatalf("answered %v %q queue %d offset %d at %v of %v", got.Code, got.Remark, got.AnsweredQueueID, got.QueueOffset, got.Positions, b.StoreHost)
			}
			rec := n.record(got.Positions[0])
			want := map[string]string{"CLUSTER": "DefaultCluster"}
			maps.Copy(want, c.props)
			if p := rec.Properties().Map(); !maps.Equal(p, want) || strings.Count(string(rec.Properties()), "CLUSTER") != 1 {
				t.Errorf("properties %q, want %v", rec.Properties(), want)
			}
			if string(rec.Topic()) != c.topic || rec.QueueID() != c.queue || rec.SysFlag() != c.flags || rec.Flag() != 77 ||
				rec.ReconsumeTimes() != s.ReconsumeTimes || rec.BornTimestamp() != s.BornTimestamp || string(rec.Body()) != "body" || !rec.CRCMatches() {
				t.Errorf("stored %s queue %d flags %#x: %q", rec.Topic(), rec.QueueID(), rec.SysFlag(), []byte(rec))
			}
			n.eventuallyVisible(c.topic, c.queue, 1)
			if p := n.pull("g", c.topic, c.queue, 0); p.Code != message.Success || p.Records.Count != 1 {
				t.Errorf("pulled %v %q: %d records", p.Code, p.Remark, p.Records.Count)
			} else if !bytes.Equal(p.Records.Chunks[0], rec) {
				t.Error("the record that is pulled isn't the one that was stored")
			} else {
				p.Records.Release()
			}
		})
	}
}

// eventuallyVisible waits until a queue has so many messages for consumers: held pulls are answered then.
func (n *node) eventuallyVisible(topic string, id message.QueueID, end message.Offset) {
	n.t.Helper()
	for o := range end {
		done := make(pullDone, 1)
		p := &transport.Pull{
			Caller: *caller(newSession("10.0.0.4:50001")), Reply: done, Group: message.GroupTools, Topic: topic, QueueID: id, Offset: o,
			MaxNum: 1, Suspend: true, SuspendTimeout: waitTime, HasSubscription: true,
		}
		p.Expression.Type, p.Expression.Text = "TAG", "*"
		n.h.Puller.Pull(n.t.Context(), p)
		p = await(n.t, done)
		if p.Code != message.Success && p.Code != message.NoPermission {
			n.t.Fatalf("wait for offset %d of queue %d of %s: %v %s", o, id, topic, p.Code, p.Remark)
		}
		p.Records.Release()
	}
}

func TestATopicIsCreatedBeforeItsFirstMessageIsAnswered(t *testing.T) {
	for _, c := range []struct {
		name     string
		template string
		queues   int32
		unit     bool
		want     transport.TopicConfig
	}{
		{"as many queues as the producer asks for", "TBW102", 4, false, transport.TopicConfig{ReadQueues: 4, WriteQueues: 4, Perm: 6}},
		{"at most the template's", "TBW102", 100, false, transport.TopicConfig{ReadQueues: 8, WriteQueues: 8, Perm: 6}},
		{"in units", "TBW102", 1, true, transport.TopicConfig{ReadQueues: 1, WriteQueues: 1, Perm: 6, SysFlag: 1}},
		{"after the cluster", "DefaultCluster", 16, false, transport.TopicConfig{ReadQueues: 16, WriteQueues: 16, Perm: 6}},
		{"after a read-only template", "Template", 2, false, transport.TopicConfig{ReadQueues: 2, WriteQueues: 2, Perm: 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld()
			n := w.start(t)
			if err := n.h.Topics.PutTopic(t.Context(), caller(newSession("10.0.0.1:1")),
				transport.TopicConfig{Name: "Template", ReadQueues: 2, WriteQueues: 2, Perm: 5}); err != nil {
				t.Fatal(err)
			}
			s := newSend("New", "x")
			s.DefaultTopic, s.DefaultTopicQueueNums, s.UnitMode = []byte(c.template), c.queues, c.unit
			if got := n.send(newSession("10.0.0.2:50000"), s).Sends[0]; got.Code != message.Success {
				t.Fatal(got.Code, got.Remark)
			}
			c.want.Name, c.want.FilterType = "New", transport.SingleTag
			if got, err := n.h.Topics.Topic(t.Context(), caller(newSession("10.0.0.1:1")), "New"); err != nil || got != c.want {
				t.Errorf("created %+v, %v; want %+v", got, err, c.want)
			}
			route, err := w.names.h.Router.Route(t.Context(), caller(newSession("10.0.0.1:1")), "New")
			if err != nil || len(route.Queues) != 1 || route.Queues[0].WriteQueues != c.want.WriteQueues || route.Brokers[0].Addrs[0] != listenAddr.String() {
				t.Errorf("its route is %+v, %v", route, err)
			}
		})
	}
}

// TestABatchIsStoredAsConsecutiveMessages looks at a batch between single messages in one call: everything is answered in
// its own place.
func TestABatchIsStoredAsConsecutiveMessages(t *testing.T) {
	n := newWorld().start(t)
	first, batch, broken, last := newSend("T", "first"), newSend("T", ""), newSend("T", ""), newSend("T", "last")
	batch.Batch, batch.Body = true, batchOf(t, "a", "b", "c")
	batch.Properties = props("WAIT", "true", "CLUSTER", "Other", "BATCH", "yes")
	batch.ReconsumeTimes, batch.SysFlag = 2, message.FlagNeedUnwrap
	broken.Batch, broken.Body = true, batchOf(t, "x", "y")[:20]
	tooFar := newSend("T", "z")
	tooFar.QueueID = 99
	b := n.send(newSession("[2001:db8::7]:5000"), first, broken, batch, tooFar, last)

	for i, want := range []struct {
		code   message.Code
		offset message.Offset
		count  int
	}{{0, 0, 1}, {13, 0, 0}, {0, 1, 3}, {1, 0, 0}, {0, 4, 1}} {
		s := &b.Sends[i]
		if s.Code != want.code || s.Code == 0 && (s.QueueOffset != want.offset || len(s.Positions) != want.count) {
			t.Errorf("send %d: %v %q, offset %d, positions %v; want %+v", i, s.Code, s.Remark, s.QueueOffset, s.Positions, want)
		}
	}
	for i, body := range []string{"a", "b", "c"} {
		rec := n.record(b.Sends[2].Positions[i])
		if string(rec.Body()) != body || rec.Flag() != int32(i+1) || rec.QueueOffset() != message.Offset(1+i) || rec.QueueID() != 0 ||
			rec.ReconsumeTimes() != 2 || rec.SysFlag() != message.FlagNeedUnwrap|message.FlagBornHostV6 {
			t.Errorf("message %d of the batch is %q", i, []byte(rec))
		}
		want := "N\x01" + body + "\x02WAIT\x01true\x02BATCH\x01yes\x02CLUSTER\x01DefaultCluster"
		if string(rec.Properties()) != want {
			t.Errorf("message %d of the batch has properties %q, want %q", i, rec.Properties(), want)
		}
	}
}

func TestABatchForAnyQueueGoesToOne(t *testing.T) {
	n := newWorld().start(t)
	n.putTopic("T", 16)
	seen := map[message.QueueID]int{}
	for range 40 {
		s := newSend("T", "")
		s.Batch, s.Body, s.QueueID = true, batchOf(t, "a", "b"), -1
		got := &n.send(newSession("10.0.0.2:50000"), s).Sends[0]
		if got.Code != message.Success || got.AnsweredQueueID < 0 || got.AnsweredQueueID > 15 {
			t.Fatalf("%v %q: queue %d", got.Code, got.Remark, got.AnsweredQueueID)
		}
		for _, p := range got.Positions {
			if q := n.record(p).QueueID(); q != got.AnsweredQueueID {
				t.Errorf("a message lies in queue %d, the answer says %d", q, got.AnsweredQueueID)
			}
		}
		seen[got.AnsweredQueueID]++
	}
	if len(seen) < 4 {
		t.Errorf("40 batches went to queues %v", seen)
	}
}

func TestHostsAreStoredInTheirOwnFamily(t *testing.T) {
	for _, c := range []struct {
		name, listen, advertise, from, born, store string
		flags                                      int32
	}{
		{"both IPv4", "127.0.0.1:10911", "10.1.2.3:7000", "10.0.0.2:50000", "10.0.0.2:50000", "10.1.2.3:7000", 0},
		{"both IPv6", "[::1]:10911", "auto", "[2001:db8::7]:5000", "[2001:db8::7]:5000", "[::1]:10911", 0x30},
		{"client IPv6", "127.0.0.1:10911", "auto", "[2001:db8::7]:5000", "[2001:db8::7]:5000", "127.0.0.1:10911", 0x10},
		{"broker IPv6", "127.0.0.1:10911", "2001:db8::1", "10.0.0.2:50000", "10.0.0.2:50000", "[2001:db8::1]:10911", 0x20},
		{"listener mapped into IPv6", "[::ffff:127.0.0.1]:10911", "auto", "10.0.0.2:50000", "10.0.0.2:50000", "127.0.0.1:10911", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld()
			w.listen = textAddr(c.listen)
			w.cfg.Broker.Advertise = c.advertise
			n := w.start(t)
			b := n.send(newSession(c.from), newSend("T", "x"))
			rec := n.record(b.Sends[0].Positions[0])
			if rec.BornHost().String() != c.born || rec.StoreHost().String() != c.store || rec.SysFlag() != c.flags || b.StoreHost.String() != c.store {
				t.Errorf("born at %v, stored at %v (%v), flags %#x; want %s, %s, %#x", rec.BornHost(), rec.StoreHost(), b.StoreHost, rec.SysFlag(), c.born, c.store, c.flags)
			}
		})
	}
}

// textAddr is a listener's address by its text.
type textAddr string

func (textAddr) Network() string  { return "tcp" }
func (a textAddr) String() string { return string(a) }

// TestStoresWhatJavaStores sends again what Java clients sent to a RocketMQ 4.9.7, and compares the records with those that
// it wrote. Only the order of the properties may differ: RocketMQ's is that of a hash table.
func TestStoresWhatJavaStores(t *testing.T) {
	for _, group := range javaRecords(t) {
		t.Run(group.kind, func(t *testing.T) {
			java := group.records[0]
			w := newWorld()
			w.listen = textAddr(java.StoreHost().String())
			n := w.start(t)
			s := newSend(string(java.Topic()), string(java.Body()))
			s.QueueID, s.Flag, s.SysFlag, s.BornTimestamp = java.QueueID(), java.Flag(), java.SysFlag(), java.BornTimestamp()
			s.Properties = props("WAIT", "true")
			if strings.HasPrefix(group.kind, "batch") {
				s.Batch, s.Body = true, javaBatch(t, group.records)
			} else {
				s.Properties = message.AppendProperties(s.Properties, message.AppendWithout(nil, java.Properties(), "CLUSTER"))
			}
			got := &n.send(newSession(java.BornHost().String()), s).Sends[0]
			if got.Code != message.Success || len(got.Positions) != len(group.records) {
				t.Fatalf("%v %q, positions %v", got.Code, got.Remark, got.Positions)
			}
			for i, java := range group.records {
				rec := n.record(got.Positions[i])
				rec.Place(java.QueueOffset(), java.Position(), java.StoreTimestamp())
				if head := len(java) - len(java.Properties()); len(rec) != len(java) || !bytes.Equal(rec[:head], java[:head]) {
					t.Errorf("record %d is\n%q, RocketMQ's\n%q", i, []byte(rec), []byte(java))
				}
				if ours, theirs := rec.Properties().Map(), java.Properties().Map(); !maps.Equal(ours, theirs) {
					t.Errorf("record %d has properties %v, RocketMQ's %v", i, ours, theirs)
				}
			}
		})
	}
}

// javaBatch makes the batch body that Java's client sent: what each message has before the properties that are common to
// the batch, WAIT and CLUSTER, in whichever order RocketMQ put them.
func javaBatch(t *testing.T, records []message.Record) []byte {
	var b message.Batch
	for _, r := range records {
		own := bytes.TrimSuffix(r.Properties(), []byte("\x02CLUSTER\x01DefaultCluster\x02WAIT\x01true"))
		var err error
		if b, err = message.AppendBatchItem(b, r.Flag(), r.Body(), own); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

type javaGroup struct {
	kind    string
	records []message.Record
}

// javaRecords reads the recorded records. Those of a batch are one group, all others a group each.
func javaRecords(t *testing.T) (groups []javaGroup) {
	f, err := os.Open("testdata/java-records.list")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		kind, text, ok := strings.Cut(lines.Text(), " ")
		if !ok || kind == "#" {
			continue
		}
		rec, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		if last := len(groups) - 1; last >= 0 && groups[last].kind == kind && strings.HasPrefix(kind, "batch") {
			groups[last].records = append(groups[last].records, rec)
			continue
		}
		groups = append(groups, javaGroup{kind, []message.Record{rec}})
	}
	if len(groups) < 10 || lines.Err() != nil {
		t.Fatalf("read %d groups: %v", len(groups), lines.Err())
	}
	return groups
}
