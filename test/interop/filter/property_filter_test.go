package filter

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/store/storetest"
	"github.com/weirmq/weir/sdk/brokertest"
	"github.com/weirmq/weir/sdk/client"
	"github.com/weirmq/weir/sdk/wire"
)

// manifestEntry is a message of a recorded store, and the groups to which Java delivered it.
type manifestEntry struct {
	MsgID      string
	Properties map[string]string
	Matches    []string
}

// recordedTopic is the topic of the recorded store, with two queues.
const recordedTopic = "GoldenFilter"

// recordedFilter is a filter of the store's consumerFilter.json.
type recordedFilter struct {
	ClientVersion int64
	Expression    string
}

// recorded is a store that a Java broker wrote for three groups with filters, its consume queue extension, bitmaps and
// consumerFilter.json included.
type recorded struct {
	messages []manifestEntry
	filters  map[string]recordedFilter // by group
	store    string
}

func unpackRecorded(t *testing.T) *recorded {
	dir := filepath.Join(storetest.Unpack(t, "../../../core/store/testdata/stores/property-filter.tar.gz"), "property-filter")
	r := &recorded{store: filepath.Join(dir, "store")}
	readJSON(t, filepath.Join(dir, "manifest.json"), &r.messages)
	var saved struct {
		FilterDataByTopic map[string]struct {
			GroupFilterData map[string]recordedFilter
		}
	}
	readJSON(t, filepath.Join(r.store, "config", "consumerFilter.json"), &saved)
	r.filters = saved.FilterDataByTopic[recordedTopic].GroupFilterData
	if len(r.filters) != 3 || len(r.messages) != 300 {
		t.Fatalf("%d filters and %d messages, want 3 and 300", len(r.filters), len(r.messages))
	}
	for group := range r.filters {
		if n := len(r.matches(group)); n == 0 || n == len(r.messages) {
			t.Fatalf("%s: %d matches of %d show nothing", group, n, len(r.messages))
		}
	}
	return r
}

// open starts a broker on the store.
func (r *recorded) open(t *testing.T) *brokertest.Broker {
	return brokertest.Start(t, brokertest.DataDir(r.store), brokertest.Set("store.segment_size", "1MiB"),
		brokertest.Set("store.max_message_size", "32KiB"), brokertest.Set("store.consume_queue_entries", "1000"),
		brokertest.Set("store.index.slots", "1000"), brokertest.Set("store.index.entries", "4000"))
}

// matches returns the ids of the messages that Java delivered to a group, sorted.
func (r *recorded) matches(group string) (ids []string) {
	for _, m := range r.messages {
		if slices.Contains(m.Matches, group) {
			ids = append(ids, m.MsgID)
		}
	}
	slices.Sort(ids)
	return ids
}

// TestPropertyFilterStore: every group gets exactly what Java delivered to it, by the filter of the file, which its members
// revive without sending its text, and by a text that comes with the pull.
func TestPropertyFilterStore(t *testing.T) {
	t.Parallel()
	recorded := unpackRecorded(t)
	b := recorded.open(t)
	c := client.New(client.Options{NameServers: []string{b.NameServer()}})
	defer c.Close()
	for group, f := range recorded.filters {
		want := recorded.matches(group)
		// The version of the file: the text here is ignored.
		heartbeat(t, c, b.Addr(), group, recordedTopic, "1 = 2", f.ClientVersion)
		for name, p := range map[string]client.PullRequest{
			"by the saved filter": {Version: f.ClientVersion},
			"by its own text":     {Subscription: &client.Subscription{Topic: recordedTopic, Type: message.ExpressionSQL92, Expression: f.Expression}},
		} {
			p.Group, p.Commit = group, -1
			if got := pullAll(t, c, b.Addr(), recordedTopic, p); !slices.Equal(got, want) {
				t.Errorf("%s %q %s: %d messages, want %d", group, f.Expression, name, len(got), len(want))
			}
		}
	}
}

func heartbeat(t *testing.T, c *client.Client, addr, group, topic, text string, version int64) {
	body, err := wire.AppendBody(nil, &wire.Heartbeat{ClientID: "c@" + group, ProducerDataSet: []wire.ProducerData{}, ConsumerDataSet: []wire.ConsumerData{{
		GroupName: group, ConsumeType: wire.ConsumePassively, MessageModel: wire.Clustering, ConsumeFromWhere: wire.FromFirstOffset,
		SubscriptionDataSet: []wire.SubscriptionData{{Topic: topic, ExpressionType: message.ExpressionSQL92, SubString: text, SubVersion: version}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Call(context.Background(), addr, wire.CodeHeartbeat, nil, body)
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		t.Fatalf("heartbeat of %s: %v", group, err)
	}
}

// pullAll reads both queues to their ends and returns the ids of the messages, sorted.
func pullAll(t *testing.T, c *client.Client, addr, topic string, p client.PullRequest) (ids []string) {
	for id := range int32(2) {
		p.Queue = client.Queue{Topic: topic, ID: id, Addr: addr}
		p.Offset = 0
		for pulls := 0; ; pulls++ {
			r, err := c.Pull(context.Background(), p)
			if err != nil || pulls > 1000 {
				t.Fatalf("pull %d of queue %d at %d: %v", pulls, id, p.Offset, err)
			}
			for _, m := range r.Messages {
				ids = append(ids, m.Properties[message.PropUniqKey])
			}
			if r.Code == message.PullNotFound || r.Code == message.PullOffsetMoved {
				break
			}
			p.Offset = r.Next
		}
	}
	slices.Sort(ids)
	return ids
}

func readJSON(t *testing.T, path string, v any) {
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}
