package queue

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

func newProgress(w *world) *Progress {
	return NewProgress(ProgressSettings{Clock: w.clock, Log: w.log, Topics: w.topics, Offsets: w.offsets, Clients: w.clients,
		Filters: w.filters, Counters: w.counters, Broker: "b"})
}

// progressWorld has topic T with 2 queues, 5 messages in the first, stored at 1000, 2000, ..., 5000 ms.
func progressWorld(t *testing.T) (*world, *Progress) {
	w := newWorld(t, nil)
	w.topic("T", 2)
	w.groups.set(plainGroup("g"))
	for i := range 5 {
		w.log.put(&message.Message{Topic: "T", Body: []byte("x"), BornHost: testHost, StoreHost: testHost}, int64(i+1)*1000)
	}
	return w, newProgress(w)
}

func code(err error) message.Code {
	var e *message.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return -1
}

func TestTopicStats(t *testing.T) {
	w, p := progressWorld(t)
	w.log.queues[message.QueueKey{Topic: "T"}].low = 2
	got, err := p.TopicStats("T")
	if want := "[{{T b 0} 2 5 5000} {{T b 1} 0 0 0}]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("%v %v, want %s", err, got, want)
	}
	if _, err := p.TopicStats("none"); code(err) != message.TopicNotExist {
		t.Errorf("unknown topic: %v", err)
	}
}

func TestConsumeStats(t *testing.T) {
	w, p := progressWorld(t)
	w.topic("U", 1)
	mustCommit(t, w.offsets, "g", message.QueueKey{Topic: "T"}, 3)
	mustCommit(t, w.offsets, "g", message.QueueKey{Topic: "U"}, 1)
	mustCommit(t, w.offsets, "g", message.QueueKey{Topic: "Deleted"}, 1)
	w.counters.Add(GroupGetNums, "T", "g", 120)
	w.clock.Advance(clientScanInterval)
	all := p.ConsumeStats("g", "")
	if got, want := fmt.Sprint(all.Queues), "[{{T b 0} 5 3 3000} {{T b 1} 0 0 0} {{U b 0} 0 1 0}]"; got != want || all.TPS != 12 {
		t.Errorf("all topics: %s at %v/s, want %s at 12/s", got, all.TPS, want)
	}
	one := p.ConsumeStats("g", "U")
	if got, want := fmt.Sprint(one), "{[{{U b 0} 0 1 0}] 0}"; got != want {
		t.Errorf("one topic: %s, want %s", got, want)
	}
	// While the group is online, what it doesn't subscribe isn't shown.
	w.heartbeat(t, session(1), "c", consumer("g", sub("U", "*")))
	if got := p.ConsumeStats("g", ""); len(got.Queues) != 1 || got.Queues[0].Queue.Topic != "U" {
		t.Errorf("online: %v", got)
	}
	w.topics.set(transport.TopicConfig{Name: "U", ReadQueues: 1, WriteQueues: 1, Perm: 6, Order: true})
	brokerWide := p.BrokerConsumeStats([]string{"g", "other"}, true)
	if got, want := fmt.Sprint(brokerWide), "[{g [{[{{U b 0} 0 1 0}] 0}]} {other []}]"; got != want {
		t.Errorf("broker: %s, want %s", got, want)
	}
	if got := fmt.Sprint(p.TopicGroups("U"), p.TopicGroups("T")); got != "[g] [g]" {
		t.Errorf("groups: %s", got)
	}
}

func TestConsumeTimeSpans(t *testing.T) {
	w, p := progressWorld(t)
	mustCommit(t, w.offsets, "g", message.QueueKey{Topic: "T"}, 2)
	now := w.clock.Now().UnixMilli()
	got, err := p.ConsumeTimeSpans("T", "g")
	want := fmt.Sprintf("[{{T b 0} 1000 5000 2000 %d} {{T b 1} -1 -1 -1 0}]", now-3000)
	if err != nil || fmt.Sprint(got) != want {
		t.Errorf("%v %v, want %s", err, got, want)
	}
	got, _ = p.ConsumeTimeSpans("T", "new")
	if want := fmt.Sprintf("{{T b 0} 1000 5000 1000 %d}", now-1000); fmt.Sprint(got[0]) != want {
		t.Errorf("a new group: %v, want %s", got[0], want)
	}
	mustCommit(t, w.offsets, "g", message.QueueKey{Topic: "T"}, 5)
	if got, _ = p.ConsumeTimeSpans("T", "g"); got[0].DelayMilli != 0 || got[0].ConsumeTime != 5000 {
		t.Errorf("caught up: %v", got[0])
	}
}

func TestCorrectionOffsets(t *testing.T) {
	w, p := progressWorld(t)
	for g, o := range map[string]message.Offset{"g": 3, "h": 2, "slow": 1} {
		mustCommit(t, w.offsets, g, message.QueueKey{Topic: "T"}, o)
	}
	for _, c := range []struct {
		compare string
		without []string
		want    string
	}{
		{"g", nil, "map[0:1]"},
		{"g", []string{"slow"}, "map[0:2]"},
		{"slow", []string{"slow"}, fmt.Sprintf("map[0:%d]", int64(math.MaxInt64))},
		{"none", []string{"slow", "h"}, "map[0:3]"},
	} {
		if got := fmt.Sprint(p.CorrectionOffsets("T", c.compare, c.without)); got != c.want {
			t.Errorf("against %s without %v: %s, want %s", c.compare, c.without, got, c.want)
		}
	}
}

func TestQueueEntries(t *testing.T) {
	w, p := progressWorld(t)
	w.log.perFile = 2
	q := message.QueueKey{Topic: "T"}
	got, err := p.QueueEntries(q, 1, 3, "g")
	if err != nil || got.Min != 0 || got.Max != 5 || len(got.Entries) != 3 || got.FilterData != "g@T is not online!" {
		t.Errorf("%v %+v", err, got)
	}
	if size := message.Position(got.Entries[0].Size); got.Entries[0].Position != size || got.Entries[2].Position != 3*size {
		t.Errorf("entries %v", got.Entries)
	}
	w.heartbeat(t, session(1), "c", consumer("g", sub("T", "A")))
	if got, _ = p.QueueEntries(q, 4, 10, "g"); len(got.Entries) != 1 || got.Subscription.Expression.Text != "A" {
		t.Errorf("online: %+v", got)
	}
	for _, from := range []message.Offset{-1, 5} {
		if _, err := p.QueueEntries(q, from, 1, ""); code(err) != message.SystemError || !strings.Contains(err.Error(), "0 to 5") {
			t.Errorf("from %d: %v", from, err)
		}
	}
	if _, err := p.QueueEntries(message.QueueKey{Topic: "T", ID: 9}, 0, 1, ""); code(err) != message.SystemError {
		t.Errorf("unknown queue: %v", err)
	}
}

// Entries with units in the extension file show them, and whether the group would look at the message.
func TestQueueEntriesWithUnits(t *testing.T) {
	w, _ := sqlWorld(t, nil)
	p := NewProgress(ProgressSettings{Clock: w.clock, Log: w.log, Topics: w.topics, Offsets: w.offsets, Clients: w.clients, Filters: w.filters,
		Counters: w.counters, Broker: "b"})
	w.heartbeat(t, session(1), "c", consumer("g", sqlSub("T", "x", 1), sub("U", "A")))
	all := make([]byte, defaultBloom.bits/8)
	setBits(all, defaultBloom.positions("g", "T"))
	later := testStart.UnixMilli() + 1
	for topic, want := range map[string]string{"T": "true true false - gone", "U": "true true true - gone"} {
		for _, x := range []struct {
			bitmap []byte
			stored int64
		}{{make([]byte, len(all)), later - 1}, {all, later}, {make([]byte, len(all)), later}} {
			a := w.log.send(topic, 0, "A", "")
			a.Bitmap, a.StoreTimestamp = x.bitmap, x.stored
			w.log.extend(&a)
		}
		w.log.send(topic, 0, "A", "")
		q := message.QueueKey{Topic: topic}
		lost := w.log.send(topic, 0, "A", "")
		lost.TagsCode = message.MaxExtAddress
		w.log.setEntry(q, lost.Offset, lost.Entry)
		got, err := p.QueueEntries(q, 0, 10, "g")
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, e := range got.Entries {
			switch {
			case e.Unit != nil && len(e.Unit.Bitmap) == len(all) && e.Unit.TagsCode == message.TagsCode("A"):
				list = append(list, fmt.Sprint(e.Eval))
			case e.Message == "Cq extend not exist!addr: -2147483649":
				list = append(list, "gone")
			default:
				list = append(list, "-"+e.Message)
			}
		}
		if s := strings.Join(list, " "); s != want {
			t.Errorf("%s: %s, want %s", topic, s, want)
		}
	}
}

func TestResetOffsets(t *testing.T) {
	w, p := progressWorld(t)
	_, err := p.ResetOffsets("none", "g", -1, true, false)
	if code(err) != message.SystemError {
		t.Errorf("unknown topic: %v", err)
	}
	mustCommit(t, w.offsets, "g", message.QueueKey{Topic: "T"}, 2)
	if _, err = p.ResetOffsets("T", "g", -1, true, false); code(err) != message.SystemError || !strings.Contains(err.Error(), "queue 1") {
		t.Errorf("a queue without offset: %v", err)
	}
	mustCommit(t, w.offsets, "g", message.QueueKey{Topic: "T", ID: 1}, 0)
	if _, err = p.ResetOffsets("T", "g", -1, true, false); code(err) != message.ConsumerNotOnline {
		t.Errorf("offline: %v", err)
	}
	s, other := session(1), session(2)
	w.heartbeat(t, s, "c1", consumer("g", sub("T", "*")))
	w.heartbeat(t, other, "c2", consumer("g", sub("T", "*")))
	s.noticed()
	for _, c := range []struct {
		name  string
		ts    int64
		force bool
		want  string
	}{
		{"to the end", -1, true, "[{{T b 0} 5} {{T b 1} 0}]"},
		{"to the end, without force", -1, false, "[{{T b 0} 2} {{T b 1} 0}]"},
		{"back", 1500, false, "[{{T b 0} 1} {{T b 1} 0}]"},
		{"later than all", 99_999, true, "[{{T b 0} 4} {{T b 1} 0}]"},
	} {
		got, err := p.ResetOffsets("T", "g", c.ts, c.force, true)
		if err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v %v, want %s", c.name, err, got, c.want)
		}
		for _, x := range []*fakeSession{s, other} {
			last := x.notices[len(x.notices)-1].(transport.ResetOffsets)
			if fmt.Sprint(last.Offsets) != c.want || last.Timestamp != c.ts || !last.ListForm || last.Topic != "T" || last.Group != "g" {
				t.Errorf("%s: told %+v", c.name, last)
			}
		}
	}
	if o, _ := w.offsets.Committed("g", message.QueueKey{Topic: "T"}); o != 2 {
		t.Errorf("the stored offset moved to %d", o)
	}
	for _, m := range w.clients.consumers["g"].members {
		m.version = 27
	}
	if _, err = p.ResetOffsets("T", "g", -1, true, false); code(err) != message.SystemError {
		t.Errorf("old client: %v", err)
	}
}
