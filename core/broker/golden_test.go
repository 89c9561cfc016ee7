package broker

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/plugin"
	"github.com/weirmq/weir/core/store/storetest"
	"github.com/weirmq/weir/core/transport"
)

// recorded is a message of a recorded store's manifest.
type recorded struct {
	Topic      string
	QueueID    message.QueueID
	MsgID      string
	State      string
	Properties map[string]string
}

// openRecorded makes a world of a store that a real RocketMQ 4.9.7 broker has written, see core/store/testdata/stores, in which it is
// so much later than when the last message was stored.
func openRecorded(t *testing.T, kind string, later time.Duration) (*world, []recorded) {
	t.Helper()
	root := filepath.Join(storetest.Unpack(t, filepath.Join("..", "store", "testdata", "stores", kind+".tar.gz")), kind)
	var manifest []recorded
	readJSON(t, filepath.Join(root, "manifest.json"), &manifest)
	var drained []struct{ StoreTimestamp int64 }
	readJSON(t, filepath.Join(root, "drain.json"), &drained)
	var latest int64
	for _, m := range drained {
		latest = max(latest, m.StoreTimestamp)
	}
	w := newWorld()
	w.fs, w.clock = vfs.OS{}, clock.NewManual(time.UnixMilli(latest).Add(later))
	w.cfg.DataDir = filepath.Join(root, "store")
	w.sec.Store.ReservedTime = 100 * 365 * 24 * time.Hour
	conf, segment := storetest.ReadConf(t, filepath.Join(root, "broker.conf")), int(w.sec.Store.SegmentSize)
	conf.Set(&segment, "mappedFileSizeCommitLog", 1)
	w.sec.Store.SegmentSize = plugin.Size(segment)
	conf.Set(&w.sec.Store.ConsumeQueueEntries, "mappedFileSizeConsumeQueue", message.EntrySize)
	conf.Set(&w.sec.Store.Index.Slots, "maxHashSlotNum", 1)
	conf.Set(&w.sec.Store.Index.Entries, "maxIndexNum", 1)
	if levels, ok := conf["messageDelayLevel"]; ok {
		w.sec.Schedule.Levels = levels
	}
	return w, manifest
}

func readJSON(t *testing.T, path string, v any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err := errors.Join(err, json.Unmarshal(data, v)); err != nil {
		t.Fatal(err)
	}
}

// eachRecord calls f for every record of an answer.
func eachRecord(t testing.TB, r *transport.Records, f func(message.Record)) {
	t.Helper()
	for _, c := range r.Chunks {
		for len(c) > 0 {
			rec, n, err := message.ViewRecord(c)
			if err != nil {
				t.Fatal(err)
			}
			f(rec)
			c = c[n:]
		}
	}
}

// ids returns the unique keys of the messages in a queue.
func (n *node) ids(topic string, id message.QueueID) (list []string) {
	n.t.Helper()
	for from := message.Offset(0); ; {
		p := n.pull("reader", topic, id, from)
		if p.Code != message.Success {
			return list
		}
		eachRecord(n.t, &p.Records, func(rec message.Record) {
			key, _ := rec.Properties().Get(message.PropUniqKey)
			list = append(list, string(key))
		})
		from = p.NextBeginOffset
		p.Records.Release()
	}
}

// TestRecordedDelays opens a store in which RocketMQ has left delayed messages. Two hours later, those of level 17 are delivered, each once;
// those that it delivered aren't again, and those that wait for a hundred years still wait.
func TestRecordedDelays(t *testing.T) {
	w, manifest := openRecorded(t, "delayed", 2*time.Hour)
	n := w.start(t)
	n.eventuallyVisible("GoldenDelayed", 0, 25)
	n.eventuallyVisible("GoldenDelayed", 1, 25)
	for range 2 {
		times := map[string]int{}
		for q := range message.QueueID(2) {
			for _, id := range n.ids("GoldenDelayed", q) {
				times[id]++
			}
		}
		for _, m := range manifest {
			want := 1
			if m.State == "never" {
				want = 0
			}
			if times[m.MsgID] != want {
				t.Errorf("%s message %s of level %s is there %d times", m.State, m.MsgID, m.Properties["DELAY"], times[m.MsgID])
			}
		}
		n = n.restart()
	}
	if text, err := os.ReadFile(filepath.Join(w.cfg.DataDir, "config", "delayOffset.json")); err != nil ||
		string(text) != "{\n\t\"offsetTable\":{1:10,2:10,3:10,17:10,18:0\n\t}\n}" {
		t.Errorf("delayOffset.json is %q, %v", text, err)
	}
}

// TestRecordedTransactions opens a store in which RocketMQ has ended transactions, and left ten undecided. What was committed is there once, what was
// rolled back isn't, and the producer is asked about the ten. Their decision is carried out.
func TestRecordedTransactions(t *testing.T) {
	w, manifest := openRecorded(t, "transaction", 10*time.Minute)
	n := w.start(t)
	producer := newSession("10.0.0.7:1000")
	ck := w.clock.(*clock.Manual)
	var asked []transport.CheckTransaction
	for len(asked) < 10 { // the check's timer may not be set yet when the clock is moved
		if err := n.h.Groups.Heartbeat(t.Context(), caller(producer), &transport.Heartbeat{ClientID: "p", ProducerGroups: []string{"golden-transaction"}}); err != nil {
			t.Fatal(err) // without it the producer would be gone after two minutes, and nobody asked any more
		}
		ck.BlockUntil(1)
		ck.Advance(10 * time.Second)
		for _, notice := range producer.told() {
			if c, ok := notice.(transport.CheckTransaction); ok {
				asked = append(asked, c)
			}
		}
	}
	want := map[string]int{}
	for _, m := range manifest {
		if m.State == "delivered" {
			want[m.MsgID] = 1
		}
	}
	for i, c := range asked {
		e := transport.EndTransaction{Credentials: caller(producer).Credentials, ProducerGroup: []byte("golden-transaction"), Offset: c.Offset,
			Position: c.Position, Decision: message.FlagCommit}
		if i%2 == 1 {
			e.Decision = message.FlagRollback
		} else {
			want[c.UniqueKey]++
		}
		if e = n.end(e); e.Code != message.Success {
			t.Errorf("decide about %s: %v %s", c.UniqueKey, e.Code, e.Remark)
		}
	}
	n = n.restart()
	got := map[string]int{}
	for q := range message.QueueID(2) {
		for _, id := range n.ids("GoldenTransaction", q) {
			got[id]++
		}
	}
	if len(asked) != 10 || len(want) != 25 || !maps.Equal(got, want) {
		t.Errorf("asked about %d messages; there are\n%v, want\n%v", len(asked), got, want)
	}
}

// TestRecordedKeys asks each recorded store by key what RocketMQ's broker was asked there.
func TestRecordedKeys(t *testing.T) {
	asked := 0
	for _, kind := range []string{"batch", "compressed", "delayed", "ipv6", "multi-segment", "plain", "property-filter", "retry-dlq", "tagged-keyed", "transaction"} {
		t.Run(kind, func(t *testing.T) {
			w, _ := openRecorded(t, kind, time.Minute)
			n := w.start(t)
			var queries []struct {
				Ask, Topic, Key string
				OffsetMsgIDs    []string `json:"offsetMsgIds"`
			}
			readJSON(t, filepath.Join(filepath.Dir(w.cfg.DataDir), "queries.json"), &queries)
			for _, q := range queries {
				if q.Ask != "key" {
					continue
				}
				asked++
				var got []string
				var r transport.Records
				_, err := n.h.Querier.QueryMessages(t.Context(), caller(newSession("10.0.0.1:1")),
					transport.KeyQuery{Topic: q.Topic, Key: q.Key, MaxNum: 64, Begin: 0, End: 1 << 60}, &r)
				if err != nil && codeOf(t, err) != message.QueryNotFound {
					t.Fatal(err)
				}
				eachRecord(t, &r, func(rec message.Record) {
					got = append(got, string(message.AppendOffsetID(nil, rec.StoreHost(), rec.Position())))
				})
				r.Release()
				if !slices.Equal(got, q.OffsetMsgIDs) {
					t.Errorf("%s of %s: %v, want %v", q.Key, q.Topic, got, q.OffsetMsgIDs)
				}
			}
		})
	}
	if asked < 100 {
		t.Errorf("only %d questions were asked", asked)
	}
}
