package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/weirmq/weir/core/fastjson"
	"github.com/weirmq/weir/core/message"
)

// tree is a document of the dialect as maps and lists, without members that are null.
func tree(t testing.TB, doc []byte) any {
	t.Helper()
	strict, err := fastjson.AppendStrict(nil, doc)
	if err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	dec := json.NewDecoder(bytes.NewReader(strict))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return prune(v)
}

func prune(v any) any {
	switch x := v.(type) {
	case map[string]any:
		for k, e := range x {
			if x[k] = prune(e); e == nil {
				delete(x, k)
			}
		}
	case []any:
		for i := range x {
			x[i] = prune(x[i])
		}
	}
	return v
}

// bodyFor returns the struct for a body of the vectors; nil for those that are files or ext fields.
func bodyFor(name string) any {
	name, _, _ = strings.Cut(name, ",")
	switch f := strings.Fields(name); f[0] {
	case "TopicRouteData":
		return &TopicRoute{}
	case "ClusterInfo":
		return &ClusterInfo{}
	case "TopicList":
		return &TopicList{}
	case "KVTable":
		return &KVTable{}
	case "GroupList":
		return &GroupList{}
	case "ResetOffsetBody":
		return &OffsetTable{}
	case "ResetOffsetBodyForC":
		return &OffsetList{}
	case "GetConsumerStatusBody":
		return &ConsumerStatus{}
	case "LockBatchRequestBody", "UnlockBatchRequestBody":
		return &LockBatch{}
	case "LockBatchResponseBody":
		return &LockReply{}
	case "TopicStatsTable":
		return &TopicStats{}
	case "ConsumeStats":
		return &ConsumeStats{}
	case "ConsumeStatsList":
		return &ConsumeStatsList{}
	case "ConsumerConnection":
		return &ConsumerConnection{}
	case "ProducerConnection":
		return &ProducerConnection{}
	case "ProducerTableInfo":
		return &ProducerTable{}
	case "BrokerStatsData":
		return &BrokerStats{}
	case "QueryConsumeQueueResponseBody":
		return &ConsumeQueueReply{}
	case "QueryConsumeTimeSpanBody":
		return &TimeSpans{}
	case "QueryCorrectionOffsetBody":
		return &CorrectionOffsets{}
	case "CheckClientRequestBody":
		return &CheckClient{}
	case "ConsumeMessageDirectlyResult":
		return &ConsumeDirectlyResult{}
	case "ConsumerRunningInfo":
		return &RunningInfo{}
	case "HeartbeatData":
		return &Heartbeat{}
	case "TopicConfigSerializeWrapper":
		return &TopicTable{}
	case "RegisterBrokerBody":
		return &RegisterBroker{}
	case "DataVersion":
		return &DataVersion{}
	case "SubscriptionGroupWrapper":
		return &GroupTable{}
	case "SubscriptionGroupConfig":
		return &GroupConfig{}
	case "ConsumerOffsetSerializeWrapper":
		return &ConsumerOffsets{}
	case "DelayOffsetSerializeWrapper":
		return &DelayOffsets{}
	case "AclConfig":
		return &ACLConfig{}
	}
	return nil
}

// TestBodyVectorsEncode reads what Java wrote and expects to write the same bytes, but for what we do on purpose.
func TestBodyVectorsEncode(t *testing.T) {
	differs := map[string]bool{ // only the meaning is the same
		"TopicRouteData":                         true, // integer keys bare
		"TopicRouteData with slave and order":    true,
		"TopicRouteData, non-ASCII":              true,
		"TopicRouteData, non-ASCII, from 401 on": true, // escapes
		"ClusterInfo":                            true,
		"QueryCorrectionOffsetBody":              true,
		"ConsumerOffsetSerializeWrapper":         true,
		"DelayOffsetSerializeWrapper":            true,
		"ConsumerRunningInfo":                    true, // hash order
		"ClusterAclVersionInfo":                  true,
		"ConsumeStats NaN tps":                   true, // zero for NaN
		"BrokerStatsData, one item shared":       true, // a reference
		"TopicRouteData empty":                   true, // empty collections instead of none
		"HeartbeatData empty":                    true,
		"KVConfigSerializeWrapper":               true,
		"ConsumerFilterManager":                  true,
	}
	n := 0
	for _, v := range load[struct{ Encode []struct{ Body, Text string } }](t, "json-bodies.json").Encode {
		x := bodyFor(v.Body)
		if x == nil {
			continue
		}
		n++
		if err := ParseBody([]byte(v.Text), x); err != nil {
			t.Errorf("%s: %v", v.Body, err)
			continue
		}
		got, err := AppendBody(nil, x)
		if err != nil {
			t.Errorf("%s: %v", v.Body, err)
			continue
		}
		if string(got) == v.Text {
			continue
		}
		if !differs[v.Body] {
			t.Errorf("%s:\n%s, want\n%s", v.Body, got, v.Text)
		}
		if d := uncovered(tree(t, []byte(v.Text)), tree(t, got)); d != "" && !strings.HasPrefix(v.Body, "BrokerStats") {
			t.Errorf("%s: %s:\n%s, want\n%s", v.Body, d, got, v.Text)
		}
	}
	if n < 40 {
		t.Errorf("only %d bodies", n)
	}
}

// uncovered says which part of want is not in got, or "". got may have more members. A number and its text are the same.
func uncovered(want, got any) string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return "not an object"
		}
		for k, e := range w {
			if d := uncovered(e, g[k]); d != "" {
				return k + ": " + d
			}
		}
		return ""
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return "not the same list"
		}
		for i := range w {
			if d := uncovered(w[i], g[i]); d != "" {
				return d
			}
		}
		return ""
	case json.Number:
		if s, ok := got.(json.Number); ok && s == w {
			return ""
		}
	}
	if reflect.DeepEqual(want, got) {
		return ""
	}
	if s, ok := want.(string); ok && got == json.Number(s) {
		return ""
	}
	return "differs"
}

// TestBodyVectorsDecode reads what Java was given and expects to understand what Java understood.
func TestBodyVectorsDecode(t *testing.T) {
	for _, v := range load[struct {
		Decode []struct {
			Body, Input string
			Understood  *string
		}
	}](t, "json-bodies.json").Decode {
		x := bodyFor(v.Body)
		err := ParseBody([]byte(v.Input), x)
		if v.Understood == nil || *v.Understood == "error" {
			if err == nil {
				t.Errorf("%s %s: no error", v.Body, v.Input)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s %s: %v", v.Body, v.Input, err)
			continue
		}
		got, err := AppendBody(nil, x)
		if err != nil {
			t.Fatal(err)
		}
		want := *v.Understood
		if strings.Contains(v.Input, "CONSUME_POP") { // known to us
			want = strings.Replace(want, `"groupName"`, `"consumeType":"CONSUME_POP","groupName"`, 1)
		}
		if d := uncovered(tree(t, []byte(want)), tree(t, got)); d != "" {
			t.Errorf("%s %s: %s:\n%s, want\n%s", v.Body, v.Input, d, got, want)
		}
	}
}

func TestParseBodyErrors(t *testing.T) {
	var h Heartbeat
	for in, want := range map[string]string{
		"": "SYSTEM_ERROR: the body is missing",
		`{"consumerDataSet":[{"consumeType":7}]}`: "SYSTEM_ERROR: the body can't be read: read json: byte 35: 7 is none of the 3 values",
		"{": "SYSTEM_ERROR: the body can't be read: read json: byte 1: want a key",
	} {
		if err := ParseBody([]byte(in), &h); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", in, err, want)
		}
	}
}

func TestOffsetTableForms(t *testing.T) {
	table := OffsetTable{map[MessageQueue]int64{{"broker-a", 1, "T"}: 7, {"broker-a", 0, "T"}: 12}}
	got, err := AppendBody(nil, &table)
	if want := `{"offsetTable":{{"brokerName":"broker-a","queueId":0,"topic":"T"}:12,{"brokerName":"broker-a","queueId":1,"topic":"T"}:7}}`; err != nil || string(got) != want {
		t.Errorf("%s %v", got, err)
	}
	list := OffsetTable{map[MessageQueue]int64{{"b", 0, "T"}: 12}}
	l := list.List()
	if got, _ := AppendBody(nil, &l); string(got) != `{"offsetTable":[{"brokerName":"b","offset":12,"queueId":0,"topic":"T"}]}` {
		t.Errorf("%s", got)
	}
}

func TestConsumerStatusSplice(t *testing.T) {
	var from ConsumerStatusRaw
	table := `{{"brokerName":"b","queueId":0,"topic":"T"}:5}`
	if err := ParseBody([]byte(`{"consumerTable":{},"messageQueueTable":`+table+`}`), &from); err != nil {
		t.Fatal(err)
	}
	reply := ConsumerStatusRaw{ConsumerTable: map[string]fastjson.Raw{"c1": from.MessageQueueTable}}
	reply.SetDefaults()
	if got, err := AppendBody(nil, &reply); err != nil || string(got) != `{"consumerTable":{"c1":`+table+`},"messageQueueTable":{}}` {
		t.Errorf("%s %v", got, err)
	}
}

func TestTimeSpanTexts(t *testing.T) {
	s := TimeSpan{ConsumeTimeStamp: 3, MaxTimeStamp: 1796090591353, MinTimeStamp: 1}
	s.FillTexts(time.UTC)
	if s.ConsumeTimeStampStr != "1970-01-01#00:00:00:003" || s.MaxTimeStampStr != "2026-12-01#02:03:11:353" {
		t.Errorf("%+v", s)
	}
}

func TestRegisterCompressed(t *testing.T) {
	vec := load[struct {
		RegisterCompressed []struct{ Topics, Bytes string }
	}](t, "json-bodies.json").RegisterCompressed
	for _, v := range vec {
		var want TopicTable
		if err := ParseBody([]byte(v.Topics), &want); err != nil {
			t.Fatal(err)
		}
		var got RegisterBroker
		if err := got.ParseCompressed(unhex(t, v.Bytes)); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got.Topics, want) || len(got.FilterServerList) != 0 {
			t.Errorf("%+v, want %+v", got, want)
		}
		b, err := got.AppendCompressed(nil)
		if err != nil {
			t.Fatal(err)
		}
		var again RegisterBroker
		if err := again.ParseCompressed(b); err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("%+v, %v", again, err)
		}
		for i := range b {
			_ = again.ParseCompressed(b[:i]) // must not panic
		}
	}
	var r RegisterBroker
	if err := r.ParseCompressed([]byte("x")); err == nil || err.Error() != "SYSTEM_ERROR: the compressed registration can't be read: unexpected EOF" {
		t.Error(err)
	}
}

func FuzzHeartbeat(f *testing.F) {
	for _, v := range load[struct{ Decode []struct{ Input string } }](f, "json-bodies.json").Decode {
		f.Add([]byte(v.Input))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var h Heartbeat
		if ParseBody(in, &h) != nil {
			return
		}
		b, err := AppendBody(nil, &h)
		if err != nil {
			t.Fatal(err)
		}
		var again Heartbeat
		if err := ParseBody(b, &again); err != nil || len(again.ConsumerDataSet) != len(h.ConsumerDataSet) {
			t.Fatalf("%s: %v", b, err)
		}
	})
}

// What RocketMQ 4.9.7 shows of a unit: fastjson's text, and BitsArray's.
func TestConsumeQueueEntryUnit(t *testing.T) {
	var e ConsumeQueueEntry
	e.SetUnit(message.ExtUnit{TagsCode: 2598919, StoreTimestamp: 1700000000123, Bitmap: []byte{1, 0, 0, 0, 0, 0, 0, 0x80, 3}})
	const unit = `{"filterBitMap":"AQAAAAAAAIAD","msgStoreTime":1700000000123,"size":29,"tagsCode":2598919}`
	bits := "00000011\n10000000" + strings.Repeat("0", 48) + "00000001\n"
	if e.ExtendDataJSON != unit || e.BitMap != bits {
		t.Errorf("%s\n%s\nwant %s\n%s", e.ExtendDataJSON, e.BitMap, unit, bits)
	}
	e = ConsumeQueueEntry{}
	if e.SetUnit(message.ExtUnit{TagsCode: 7}); e.ExtendDataJSON != `{"msgStoreTime":0,"size":20,"tagsCode":7}` || e.BitMap != "" {
		t.Errorf("without a bitmap: %+v", e)
	}
}
