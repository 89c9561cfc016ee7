package broker

import (
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// heartbeat makes s a member of group g with a subscription of topic T.
func (n *node) heartbeat(s transport.Session, clientID string) {
	n.t.Helper()
	err := n.h.Groups.Heartbeat(n.t.Context(), caller(s), &transport.Heartbeat{
		ClientID: clientID, ProducerGroups: []string{message.GroupInnerProducer},
		Consumers: []transport.ConsumerData{{
			Group: "g", Type: transport.ConsumePassively, Model: transport.Clustering,
			Subscriptions: []transport.Subscription{{Topic: "T", Expression: filter.Expression{Type: filter.TypeTag, Text: "*"}, Version: 1}},
		}},
	})
	if err != nil {
		n.t.Fatal(err)
	}
}

func TestAHeartbeatMakesAMember(t *testing.T) {
	n := newWorld().start(t)
	ctx, admin := t.Context(), caller(newSession("10.0.0.1:1"))
	a, b := newSession("10.0.0.3:50001"), newSession("10.0.0.4:50002")
	changed := []transport.Notice{transport.ConsumersChanged{Group: "g"}}

	if _, err := n.h.Groups.Consumers(ctx, admin, "g"); codeOf(t, err) != message.SystemError {
		t.Errorf("a group without members: %v", err)
	}
	n.heartbeat(a, "a")
	if told := a.told(); !reflect.DeepEqual(told, changed) {
		t.Errorf("the first member is told %v", told)
	}
	if retry, err := n.h.Topics.Topic(ctx, admin, "%RETRY%g"); err != nil || retry.WriteQueues != 1 || retry.Perm != 6 {
		t.Errorf("retry topic %+v, %v", retry, err)
	}
	if _, err := n.w.names.h.Router.Route(ctx, admin, "%RETRY%g"); err != nil {
		t.Errorf("route of the retry topic: %v", err)
	}
	if g, err := n.h.GroupAd.Group(ctx, admin, "g"); err != nil || g.RetryMaxTimes != 16 || !g.ConsumeEnable {
		t.Errorf("group %+v, %v", g, err)
	}

	n.heartbeat(b, "b")
	if toldA, toldB := a.told(), b.told(); !reflect.DeepEqual(toldA, changed) || !reflect.DeepEqual(toldB, changed) {
		t.Errorf("with the second member a is told %v, b %v", toldA, toldB)
	}
	n.heartbeat(b, "b")
	if toldA, toldB := a.told(), b.told(); toldA != nil || toldB != nil {
		t.Errorf("with a heartbeat that changes nothing a is told %v, b %v", toldA, toldB)
	}
	if ids, err := n.h.Groups.Consumers(ctx, caller(a), "g"); err != nil || !slices.Equal(ids, []string{"a", "b"}) {
		t.Errorf("members %v, %v", ids, err)
	}
	if groups, err := n.h.Stats.TopicGroups(ctx, admin, "T"); err != nil || !slices.Equal(groups, []string{"g"}) {
		t.Errorf("groups of the topic %v, %v", groups, err)
	}
	if topics, err := n.h.Stats.GroupTopics(ctx, admin, "g"); err != nil || !slices.Equal(topics, []string{"T"}) {
		t.Errorf("topics of the group %v, %v", topics, err)
	}

	if err := n.h.Groups.Unregister(ctx, caller(b), "b", "", "g"); err != nil {
		t.Error(err)
	}
	if toldA, toldB := a.told(), b.told(); !reflect.DeepEqual(toldA, changed) || toldB != nil {
		t.Errorf("when b leaves a is told %v, b %v", toldA, toldB)
	}
	n.h.Sessions.SessionClosed(a)
	if _, err := n.h.Clients.ConsumerConnections(ctx, admin, "g"); codeOf(t, err) != message.ConsumerNotOnline {
		t.Errorf("when all have left: %v", err)
	}
	if list, err := n.h.Clients.ProducerConnections(ctx, admin, message.GroupInnerProducer); err != nil || len(list) != 1 || list[0].ClientID != "b" {
		t.Errorf("producers %+v, %v", list, err)
	}
}

func TestAGroupThatMayNotExistStillHasMembers(t *testing.T) {
	w := newWorld()
	w.sec.Groups.AutoCreate = false
	n := w.start(t)
	a := newSession("10.0.0.3:50001")
	n.heartbeat(a, "a")
	if ids, err := n.h.Groups.Consumers(t.Context(), caller(a), "g"); err != nil || len(ids) != 1 {
		t.Errorf("members %v, %v", ids, err)
	}
	if _, err := n.h.Topics.Topic(t.Context(), caller(a), "%RETRY%g"); codeOf(t, err) != message.TopicNotExist {
		t.Errorf("retry topic: %v", err)
	}
	if p := n.pull("g", "T", 0, 0); p.Code != message.GroupNotExist {
		t.Errorf("pull: %v %s", p.Code, p.Remark)
	}
}

// TestAHeldPullIsAnsweredByItsMessage lets a member wait and sends: the answer comes with the message, and a pull whose
// session ends never answers.
func TestAHeldPullIsAnsweredByItsMessage(t *testing.T) {
	n := newWorld().start(t)
	n.putTopic("T", 1)
	a, gone := newSession("10.0.0.3:50001"), newSession("10.0.0.4:50002")
	n.heartbeat(a, "a")
	n.heartbeat(gone, "gone")
	hold := func(s transport.Session) pullDone {
		done := make(pullDone, 1)
		n.h.Puller.Pull(t.Context(), &transport.Pull{Caller: *caller(s), Reply: done, Group: "g", Topic: "T", MaxNum: 32,
			Suspend: true, SuspendTimeout: time.Minute, SubVersion: 1, Commit: true, CommitOffset: 3})
		return done
	}
	waits, never := hold(a), hold(gone)
	if at, err := n.h.Offsets.CommittedOffset(t.Context(), caller(a), "g", message.QueueKey{Topic: "T"}, true); err != nil || at != 3 {
		t.Errorf("the offset that rides on a held pull: %d, %v", at, err)
	}
	n.h.Sessions.SessionClosed(gone)
	position := n.mustSend("T", "body")
	p := await(t, waits)
	if p.Code != message.Success || p.Records.Count != 1 || message.Record(p.Records.Chunks[0]).Position() != position || p.NextBeginOffset != 1 {
		t.Errorf("answered %v %q with %d records, next %d", p.Code, p.Remark, p.Records.Count, p.NextBeginOffset)
	}
	p.Records.Release()
	select {
	case p := <-never:
		t.Errorf("the pull of a closed session is answered: %v", p.Code)
	default:
	}
}

func TestOffsets(t *testing.T) {
	n := newWorld().start(t)
	ctx, c := t.Context(), caller(newSession("10.0.0.3:50001"))
	q := message.QueueKey{Topic: "T"}
	n.mustSend("T", "young")
	if at, err := n.h.Offsets.CommittedOffset(ctx, c, "g", q, false); at != 0 || err != nil {
		t.Errorf("a new group on a young queue: %d, %v", at, err)
	}
	if _, err := n.h.Offsets.CommittedOffset(ctx, c, "g", q, true); codeOf(t, err) != message.QueryNotFound {
		t.Errorf("a new group that asks strictly: %v", err)
	}
	if at, err := n.h.Offsets.CommittedOffset(ctx, c, "g", message.QueueKey{Topic: "Nowhere", ID: 7}, false); at != 0 || err != nil {
		t.Errorf("a new group on an unknown queue: %d, %v", at, err)
	}
	for _, at := range []message.Offset{5, 2} { // backwards, too
		if err := n.h.Offsets.CommitOffset(ctx, c, "g", q, at); err != nil {
			t.Error(err)
		}
		if got, err := n.h.Offsets.CommittedOffset(ctx, c, "g", q, false); got != at || err != nil {
			t.Errorf("committed %d: %d, %v", at, got, err)
		}
	}
	if err := n.h.Offsets.CommitOffset(ctx, c, "../g", q, 1); codeOf(t, err) != message.SystemError {
		t.Errorf("an illegal group: %v", err)
	}
	if err := n.h.GroupAd.CloneOffsets(ctx, c, "g", "copy", "", false); err != nil {
		t.Error(err)
	}
	all, err := n.h.GroupAd.AllOffsets(ctx, c)
	want := map[string]map[message.QueueID]message.Offset{"T@g": {0: 2}, "T@copy": {0: 2}}
	if err != nil || !reflect.DeepEqual(all, want) {
		t.Errorf("all offsets %v, %v", all, err)
	}
	if err := n.h.GroupAd.DeleteGroup(ctx, c, "g", true); err != nil {
		t.Error(err)
	}
	if _, err := n.h.Offsets.CommittedOffset(ctx, c, "g", q, true); codeOf(t, err) != message.QueryNotFound {
		t.Errorf("the offset of a deleted group: %v", err)
	}
}

func TestCloneOffsetsLeavesOutWhatAnOnlineGroupDoesNotSubscribe(t *testing.T) {
	n := newWorld().start(t)
	ctx, c := t.Context(), caller(newSession("10.0.0.3:50001"))
	n.heartbeat(c.Session, "a")
	for _, topic := range []string{"T", "Former"} {
		if err := n.h.Offsets.CommitOffset(ctx, c, "g", message.QueueKey{Topic: topic}, 4); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []struct {
		to      string
		offline bool
		want    int
	}{{"online", false, 1}, {"offline", true, 2}} {
		if err := n.h.GroupAd.CloneOffsets(ctx, c, "g", f.to, "", f.offline); err != nil {
			t.Error(err)
		}
		if got := n.b.handler.offsets.Topics(f.to); len(got) != f.want {
			t.Errorf("offline %v: copied %v", f.offline, got)
		}
	}
}

func TestQueueBounds(t *testing.T) {
	n := newWorld().start(t)
	ctx, c := t.Context(), caller(newSession("10.0.0.3:50001"))
	unknown := message.QueueKey{Topic: "Nowhere", ID: 3}
	for name, ask := range map[string]func(q message.QueueKey) (message.Offset, error){
		"max": func(q message.QueueKey) (message.Offset, error) { return n.h.Querier.MaxOffset(ctx, c, q) },
		"min": func(q message.QueueKey) (message.Offset, error) { return n.h.Querier.MinOffset(ctx, c, q) },
		"by time": func(q message.QueueKey) (message.Offset, error) {
			return n.h.Querier.SearchOffset(ctx, c, q, 1, transport.Nearest)
		},
	} {
		if o, err := ask(unknown); o != 0 || err != nil {
			t.Errorf("%s of an unknown queue: %d, %v", name, o, err)
		}
	}
	if ms, err := n.h.Querier.EarliestStoreTime(ctx, c, unknown); ms != -1 || err != nil {
		t.Errorf("earliest time of an unknown queue: %d, %v", ms, err)
	}
	first := n.mustSend("T", "1")
	n.mustSend("T", "2")
	n.eventuallyVisible("T", 0, 2)
	q := message.QueueKey{Topic: "T"}
	if o, err := n.h.Querier.MaxOffset(ctx, c, q); o != 2 || err != nil {
		t.Errorf("max %d, %v", o, err)
	}
	if o, err := n.h.Querier.SearchOffset(ctx, c, q, time.Now().Add(time.Hour).UnixMilli(), transport.Nearest); o != 1 || err != nil {
		t.Errorf("later than all: %d, %v", o, err)
	}
	if ms, err := n.h.Querier.EarliestStoreTime(ctx, c, q); ms != n.record(first).StoreTimestamp() || err != nil {
		t.Errorf("earliest time %d, %v", ms, err)
	}
	var r transport.Records
	if err := n.h.Querier.ViewMessage(ctx, c, first+1, &r); codeOf(t, err) != message.SystemError || r.Count != 0 {
		t.Errorf("a position inside a record: %v", err)
	}
	if _, err := n.h.Querier.QueryMessages(ctx, c, transport.KeyQuery{Topic: "T", Key: "k"}, &r); codeOf(t, err) != message.QueryNotFound {
		t.Errorf("query by key: %v", err)
	}
}

// TestALockIsAClientsForAMinute runs on a clock of its own.
func TestALockIsAClientsForAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newWorld().start(t)
		ctx, c := t.Context(), caller(newSession("10.0.0.3:50001"))
		queues := []transport.BrokerQueue{{Topic: "T", Broker: "broker-a", ID: 0}, {Topic: "T", Broker: "broker-a", ID: 1}}
		lock := func(clientID string, q ...transport.BrokerQueue) []transport.BrokerQueue {
			t.Helper()
			got, err := n.h.Locker.Lock(ctx, c, "g", clientID, q)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		if got := lock("a", queues[0]); !slices.Equal(got, queues[:1]) {
			t.Errorf("a is granted %v", got)
		}
		if got := lock("b", queues...); !slices.Equal(got, queues[1:]) {
			t.Errorf("b is granted %v", got)
		}
		time.Sleep(60 * time.Second)
		if got := lock("b", queues[0]); len(got) != 0 {
			t.Errorf("after 60 s b is granted %v", got)
		}
		time.Sleep(time.Millisecond)
		if got := lock("b", queues[0]); !slices.Equal(got, queues[:1]) {
			t.Errorf("after more than 60 s b is granted %v", got)
		}
		if err := n.h.Locker.Unlock(ctx, c, "g", "a", queues[:1]); err != nil { // not its own any more
			t.Error(err)
		}
		if got := lock("a", queues[0]); len(got) != 0 {
			t.Errorf("a is granted what b holds: %v", got)
		}
		if err := n.h.Locker.Unlock(ctx, c, "g", "b", queues[:1]); err != nil {
			t.Error(err)
		}
		if got := lock("a", queues[0]); len(got) != 1 {
			t.Error("an unlocked queue is not granted")
		}
		n.stop()
	})
}

// TestASilentClientIsForgotten runs on a clock of its own.
func TestASilentClientIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newWorld().start(t)
		s := newSession("10.0.0.3:50001")
		n.heartbeat(s, "a")
		time.Sleep(120 * time.Second)
		if !s.Alive() {
			t.Error("disconnected after 120 s")
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if s.Alive() {
			t.Error("still connected after 130 s")
		}
		if _, err := n.h.Clients.ConsumerConnections(t.Context(), caller(s), "g"); codeOf(t, err) != message.ConsumerNotOnline {
			t.Errorf("the group: %v", err)
		}
		n.stop()
	})
}
