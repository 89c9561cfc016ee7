package broker

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

func TestTopicAdministration(t *testing.T) {
	w := newWorld()
	n := w.start(t)
	ctx, c := t.Context(), caller(newSession("10.0.0.1:1"))
	tc := transport.TopicConfig{Name: "T", ReadQueues: 2, WriteQueues: 2, Perm: 6, Order: true}
	if err := n.h.Topics.PutTopic(ctx, c, tc); err != nil {
		t.Fatal(err)
	}
	tc.Order, tc.FilterType = false, transport.SingleTag // RocketMQ ignores the order flag here
	if got, err := n.h.Topics.Topic(ctx, c, "T"); got != tc || err != nil {
		t.Errorf("put %+v: %+v, %v", tc, got, err)
	}
	if r, err := w.names.h.Router.Route(ctx, c, "T"); err != nil || r.Queues[0].WriteQueues != 2 {
		t.Errorf("its route when the call returns: %+v, %v", r, err)
	}
	for _, name := range []string{"TBW102", "BenchmarkTest", "RMQ_SYS_TRACE_TOPIC", "DefaultCluster", "broker-a", "DefaultCluster_REPLY_TOPIC", "../T", ""} {
		if err := n.h.Topics.PutTopic(ctx, c, transport.TopicConfig{Name: name, ReadQueues: 1, WriteQueues: 1, Perm: 6}); codeOf(t, err) != message.SystemError {
			t.Errorf("put topic %q: %v", name, err)
		}
		if err := n.h.Topics.DeleteTopic(ctx, c, name); codeOf(t, err) != message.SystemError {
			t.Errorf("delete topic %q: %v", name, err)
		}
	}
	if err := n.h.Topics.DeleteTopic(ctx, c, "Nowhere"); err != nil {
		t.Errorf("delete an unknown topic: %v", err)
	}
	if _, err := n.h.Stats.TopicStats(ctx, c, "Nowhere"); codeOf(t, err) != message.TopicNotExist {
		t.Errorf("describe an unknown topic: %v", err)
	}
	system, err := n.h.Topics.SystemTopics(ctx, c)
	want := []string{"BenchmarkTest", "DefaultCluster", "DefaultCluster_REPLY_TOPIC", "OFFSET_MOVED_EVENT", "RMQ_SYS_TRACE_TOPIC",
		"RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "SCHEDULE_TOPIC_XXXX", "SELF_TEST_TOPIC", "TBW102",
		"TRANS_CHECK_MAX_TIME_TOPIC", "broker-a"}
	if err != nil || !slices.Equal(system, want) {
		t.Errorf("system topics %v, %v", system, err)
	}
}

// TestADeletedTopicBeginsAnew deletes a topic with messages and makes it again: its queues are empty, nothing of the old
// messages comes back with a restart, its route has gone and come, and the offsets of its groups are kept, as in RocketMQ.
func TestADeletedTopicBeginsAnew(t *testing.T) {
	w := newWorld()
	n := w.start(t)
	ctx, c := t.Context(), caller(newSession("10.0.0.1:1"))
	q := message.QueueKey{Topic: "T"}
	n.mustSend("T", "old 1")
	n.mustSend("T", "old 2")
	n.eventuallyVisible("T", 0, 2)
	if err := n.h.Offsets.CommitOffset(ctx, c, "g", q, 2); err != nil {
		t.Fatal(err)
	}
	if err := n.h.Topics.DeleteTopic(ctx, c, "T"); err != nil {
		t.Fatal(err)
	}
	if _, err := n.h.Topics.Topic(ctx, c, "T"); codeOf(t, err) != message.TopicNotExist {
		t.Errorf("after the deletion: %v", err)
	}
	if _, err := w.names.h.Router.Route(ctx, c, "T"); codeOf(t, err) != message.TopicNotExist {
		t.Errorf("its route after the deletion: %v", err)
	}
	if o, err := n.h.Querier.MaxOffset(ctx, c, q); o != 0 || err != nil {
		t.Errorf("its queue after the deletion ends at %d, %v", o, err)
	}
	n.mustSend("T", "new")
	n.eventuallyVisible("T", 0, 1)
	n = n.restart()
	p := n.pull("g", "T", 0, 0)
	if p.Code != message.Success || p.Records.Count != 1 || string(message.Record(p.Records.Chunks[0]).Body()) != "new" {
		t.Errorf("after a restart: %v, %d records", p.Code, p.Records.Count)
	}
	p.Records.Release()
	if at, err := n.h.Offsets.CommittedOffset(ctx, c, "g", q, true); codeOf(t, err) != message.QueryNotFound {
		t.Errorf("the group's offset: %d, %v", at, err)
	}
}

func TestGroupAdministration(t *testing.T) {
	n := newWorld().start(t)
	ctx, c := t.Context(), caller(newSession("10.0.0.1:1"))
	g := transport.GroupConfig{Name: "g", RetryQueues: 2, RetryMaxTimes: 5, BrokerID: 0, WhichBrokerWhenConsumeSlowly: 1}
	if err := n.h.GroupAd.PutGroup(ctx, c, g); err != nil {
		t.Fatal(err)
	}
	if got, err := n.h.GroupAd.Group(ctx, c, "g"); got != g || err != nil {
		t.Errorf("put %+v: %+v, %v", g, got, err)
	}
	n.putTopic("T", 1)
	if p := n.pull("g", "T", 0, 0); p.Code != message.NoPermission {
		t.Errorf("pull for a group that may not consume: %v %s", p.Code, p.Remark)
	}
	if err := n.h.GroupAd.PutGroup(ctx, c, transport.GroupConfig{Name: "a b"}); codeOf(t, err) != message.SystemError {
		t.Errorf("put a group with an illegal name: %v", err)
	}
	for range 2 {
		if err := n.h.GroupAd.DeleteGroup(ctx, c, "g", false); err != nil {
			t.Error(err)
		}
	}
	if _, err := n.h.GroupAd.Group(ctx, c, "g"); codeOf(t, err) != message.GroupNotExist {
		t.Errorf("a deleted group: %v", err)
	}
	all, _, err := n.h.GroupAd.Groups(ctx, c)
	want := slices.Sorted(slices.Values(message.BuiltinGroups()))
	if err != nil || len(all) != len(want) || all[0].Name != want[0] {
		t.Errorf("groups %+v, %v", all, err)
	}
}

func TestSettings(t *testing.T) {
	w := newWorld()
	n := w.start(t)
	ctx, c := t.Context(), caller(newSession("10.0.0.1:1"))
	get := func() (map[string]string, transport.DataVersion) {
		t.Helper()
		values, v, err := n.h.Broker.Config(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		return values, v
	}
	before, version := get()
	for k, want := range map[string]string{
		"brokerName": "broker-a", "brokerClusterName": "DefaultCluster", "brokerId": "0", "brokerRole": "ASYNC_MASTER",
		"brokerPermission": "6", "brokerIP1": "127.0.0.1", "listenPort": "10911", "namesrvAddr": "127.0.0.1:9876", "fileReservedTime": "72",
		"deleteWhen": "04", "flushDiskType": "ASYNC_FLUSH", "mappedFileSizeCommitLog": "1048576", "mappedFileSizeConsumeQueue": "20000",
		"maxMessageSize": "4194304", "storePathRootDir": "/data", "autoCreateTopicEnable": "true", "rejectTransactionMessage": "false",
	} {
		if got, ok := before[k]; !ok || got != want {
			t.Errorf("%s is %q, want %q", k, got, want)
		}
	}
	for _, c2 := range []struct {
		name   string
		values map[string]string
		code   message.Code
		remark string
	}{
		{"fixed", map[string]string{"brokerName": "x"}, 16, "brokerName can't be changed while the broker runs"},
		{"unknown", map[string]string{"nonsense": "x"}, 16, "nonsense can't be changed"},
		{"one of two is fixed", map[string]string{"brokerPermission": "4", "fileReservedTime": "1"}, 16, "fileReservedTime can't be changed"},
		{"not a number", map[string]string{"brokerPermission": "read"}, 1, `brokerPermission "read": want 6 for read and write`},
		{"too large", map[string]string{"brokerPermission": "15"}, 1, `brokerPermission "15"`},
		{"negative", map[string]string{"brokerPermission": "-2"}, 1, `brokerPermission "-2"`},
	} {
		err := n.h.Broker.UpdateConfig(ctx, c, c2.values)
		if codeOf(t, err) != c2.code || !strings.Contains(err.Error(), c2.remark) {
			t.Errorf("%s: %v", c2.name, err)
		}
	}
	if after, v := get(); !maps.Equal(after, before) || v != version {
		t.Errorf("refused changes have changed something: %v, %v", after, v)
	}
	n.setPermission(" 4 ")
	if after, v := get(); after["brokerPermission"] != "4" || v.Counter != version.Counter+1 {
		t.Errorf("after a change: %v, %v", after["brokerPermission"], v)
	}
}

// TestABrokerThatMayNotBeWrittenToSaysSoInRoutes looks at the routes in the embedded name server while the permission
// goes and comes back.
func TestABrokerThatMayNotBeWrittenToSaysSoInRoutes(t *testing.T) {
	w := newWorld()
	n := w.start(t)
	n.putTopic("T", 4)
	for _, perm := range []string{"4", "6", "2", "6"} {
		n.setPermission(perm)
		r, err := w.names.h.Router.Route(t.Context(), caller(newSession("10.0.0.1:1")), "T")
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Queues[0].Perm; string('0'+rune(got)) != perm {
			t.Errorf("brokerPermission %s: the route says %d", perm, got)
		}
	}
	n.setPermission("2")
	if p := n.pull("g", "T", 0, 0); p.Code != message.NoPermission {
		t.Errorf("pull from a broker that may not be read: %v %s", p.Code, p.Remark)
	}
}

func TestCallsAreRelayedToOneMember(t *testing.T) {
	n := newWorld().start(t)
	ctx, c := t.Context(), caller(newSession("10.0.0.1:1"))
	position := n.mustSend("T", "body")
	id := string(message.AppendOffsetID(nil, listenAddr, position))
	var asked transport.ClientCall
	var body []byte
	s := newSession("10.0.0.3:50001")
	answer, failure := transport.ClientReply{Code: 0, Body: []byte(`{"x":1}`)}, error(nil)
	s.call = func(_ context.Context, call transport.ClientCall) (transport.ClientReply, error) {
		asked = call
		if d, ok := call.(transport.ConsumeDirectlyCall); ok {
			body, d.Record = message.Record(slices.Clone(d.Record)).Body(), nil
			asked = d
		}
		return answer, failure
	}
	n.heartbeat(s, "a")

	info := transport.RunningInfoCall{Group: "g", ClientID: "a", Stacks: true}
	if got, err := n.h.Clients.ConsumerRunningInfo(ctx, c, info); err != nil || string(got.Body) != `{"x":1}` || asked != transport.ClientCall(info) {
		t.Errorf("running info: %+v, %v; the client was asked %+v", got, err, asked)
	}
	consume := transport.ConsumeDirectlyCall{Group: "g", ClientID: "a", MessageID: id}
	got, err := n.h.Clients.ConsumeDirectly(ctx, c, consume)
	consume.Broker = "broker-a"
	if err != nil || string(got.Body) != `{"x":1}` || !reflect.DeepEqual(asked, transport.ClientCall(consume)) || string(body) != "body" {
		t.Errorf("consume directly: %+v, %v; the client was asked %+v for %q", got, err, asked, body)
	}

	for _, f := range []struct {
		name string
		call func() error
		code message.Code
	}{
		{"another member", func() error {
			_, err := n.h.Clients.ConsumerRunningInfo(ctx, c, transport.RunningInfoCall{Group: "g", ClientID: "b"})
			return err
		}, message.SystemError},
		{"not an id", func() error {
			_, err := n.h.Clients.ConsumeDirectly(ctx, c, transport.ConsumeDirectlyCall{Group: "g", ClientID: "a", MessageID: "zz"})
			return err
		}, message.SystemError},
		{"no such message", func() error {
			_, err := n.h.Clients.ConsumeDirectly(ctx, c, transport.ConsumeDirectlyCall{Group: "g", ClientID: "a",
				MessageID: string(message.AppendOffsetID(nil, listenAddr, 1<<40))})
			return err
		}, message.SystemError},
		{"a client that says nothing", func() error {
			failure = context.DeadlineExceeded
			_, err := n.h.Clients.ConsumerRunningInfo(ctx, c, info)
			return err
		}, message.ConsumeMsgTimeout},
		{"a client that has gone", func() error {
			failure = transport.ErrSessionClosed
			_, err := n.h.Clients.ConsumerRunningInfo(ctx, c, info)
			return err
		}, message.SystemError},
		{"status of a group that is away", func() error {
			_, err := n.h.Clients.ConsumerStatus(ctx, c, "T", "nobody", "")
			return err
		}, message.ConsumerNotOnline},
	} {
		if err := f.call(); codeOf(t, err) != f.code {
			t.Errorf("%s: %v, want %v", f.name, err, f.code)
		}
	}
}

// TestStatusComesFromThoseWhoAnswer runs on a clock of its own: one of three members answers, one refuses, one is silent.
func TestStatusComesFromThoseWhoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newWorld().start(t)
		defer n.stop()
		c := caller(newSession("10.0.0.1:1"))
		silent := func(ctx context.Context, _ transport.ClientCall) (transport.ClientReply, error) {
			<-ctx.Done()
			return transport.ClientReply{}, ctx.Err()
		}
		says := func(r transport.ClientReply, err error) func(context.Context, transport.ClientCall) (transport.ClientReply, error) {
			return func(context.Context, transport.ClientCall) (transport.ClientReply, error) { return r, err }
		}
		good := transport.ClientReply{Body: []byte("{}")}
		for i, call := range []func(context.Context, transport.ClientCall) (transport.ClientReply, error){
			silent, says(good, nil), says(transport.ClientReply{Code: 1}, nil), silent,
		} {
			s := newSession("10.0.0.3:" + string('1'+rune(i)))
			s.call = call
			n.heartbeat(s, string('a'+rune(i)))
		}
		began := time.Now()
		got, err := n.h.Clients.ConsumerStatus(t.Context(), c, "T", "g", "")
		if err != nil || !reflect.DeepEqual(got, map[string]transport.ClientReply{"b": good}) {
			t.Errorf("status of all: %+v, %v", got, err)
		}
		if took := time.Since(began); took != statusTimeout {
			t.Errorf("it took %v: silent members are to be waited for together", took)
		}
		if got, err := n.h.Clients.ConsumerStatus(t.Context(), c, "T", "g", "b"); err != nil || len(got) != 1 {
			t.Errorf("status of one: %+v, %v", got, err)
		}
		if _, err := n.h.Clients.ConsumerStatus(t.Context(), c, "T", "g", "a"); codeOf(t, err) != message.ConsumeMsgTimeout {
			t.Errorf("status of a silent one: %v", err)
		}
	})
}

func TestCleanUnusedTopics(t *testing.T) {
	w := newWorld()
	n := w.start(t)
	n.mustSend("Kept", "x")
	n.mustSend("Lost", "x")
	n.eventuallyVisible("Lost", 0, 1)
	n.stop()
	if err := errors.Join(w.fs.Remove("/data/config/topics.json"), removeIfThere(w, "/data/config/topics.json.bak")); err != nil {
		t.Fatal(err)
	}
	w.cfg.Sections = nil
	n = w.start(t)
	n.putTopic("Kept", 4)
	ctx, c := t.Context(), caller(newSession("10.0.0.1:1"))
	for _, job := range []transport.CleanJob{transport.CleanUnusedTopics, transport.CleanExpiredQueues, transport.CleanExpiredLog} {
		if err := n.h.Broker.Clean(ctx, c, job); err != nil {
			t.Error(err)
		}
	}
	for topic, want := range map[string]message.Offset{"Kept": 1, "Lost": 0} {
		if o, err := n.h.Querier.MaxOffset(ctx, c, message.QueueKey{Topic: topic}); o != want || err != nil {
			t.Errorf("%s ends at %d, %v; want %d", topic, o, err, want)
		}
	}
}

func removeIfThere(w *world, path string) error {
	if _, err := w.fs.Stat(path); err != nil {
		return nil
	}
	return w.fs.Remove(path)
}
