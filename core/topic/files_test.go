package topic

import (
	"reflect"
	"testing"

	"github.com/weirmq/weir/core/fastjson"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/transport"
)

// TestFilesLookLikeJavas compares byte by byte with what fastjson writes (recorded from the real classes).
func TestFilesLookLikeJavas(t *testing.T) {
	version := transport.DataVersion{Counter: 3, Timestamp: 1700000000000}
	topic := topicOf("T", 4, 6)
	got, err := encodeTopics(&state[transport.TopicConfig]{version: version, values: map[string]*transport.TopicConfig{"T": &topic}})
	want := "{\n\t\"dataVersion\":{\n\t\t\"counter\":3,\n\t\t\"timestamp\":1700000000000\n\t},\n\t\"topicConfigTable\":{\n\t\t\"T\":{\n\t\t\t\"order\":false,\n\t\t\t\"perm\":6,\n\t\t\t\"readQueueNums\":4,\n\t\t\t\"topicFilterType\":\"SINGLE_TAG\",\n\t\t\t\"topicName\":\"T\",\n\t\t\t\"topicSysFlag\":0,\n\t\t\t\"writeQueueNums\":4\n\t\t}\n\t}\n}"
	if err != nil || string(got) != want {
		t.Errorf("topics.json:\n%s\nwant\n%s", got, want)
	}
	version.Counter = 1
	group := DefaultGroup("g")
	got, err = encodeGroups(&state[transport.GroupConfig]{version: version, values: map[string]*transport.GroupConfig{"g": &group}})
	want = "{\n\t\"dataVersion\":{\n\t\t\"counter\":1,\n\t\t\"timestamp\":1700000000000\n\t},\n\t\"subscriptionGroupTable\":{\n\t\t\"g\":{\n\t\t\t\"brokerId\":0,\n\t\t\t\"consumeBroadcastEnable\":true,\n\t\t\t\"consumeEnable\":true,\n\t\t\t\"consumeFromMinEnable\":true,\n\t\t\t\"groupName\":\"g\",\n\t\t\t\"notifyConsumerIdsChangedEnable\":true,\n\t\t\t\"retryMaxTimes\":16,\n\t\t\t\"retryQueueNums\":1,\n\t\t\t\"whichBrokerWhenConsumeSlowly\":1\n\t\t}\n\t}\n}"
	if err != nil || string(got) != want {
		t.Errorf("subscriptionGroup.json:\n%s\nwant\n%s", got, want)
	}
}

func TestJavasFilesAreRead(t *testing.T) {
	fsys := vfs.NewMem(nil)
	writeFile(t, fsys, TopicsFile, readTestdata(t, "java-topics.json"))
	writeFile(t, fsys, GroupsFile, readTestdata(t, "java-subscriptionGroup.json"))
	topics := openTopics(t, fsys, nil)
	if got, want := topics.Version(), (transport.DataVersion{Counter: 4, Timestamp: 1796091491350}); got != want {
		t.Errorf("version %v, want %v", got, want)
	}
	list, _ := topics.All()
	if len(list) != 12 {
		t.Errorf("%d topics, want 12", len(list))
	}
	for name, queues := range map[string]int32{"%RETRY%golden-retry-group": 1, "%DLQ%golden-retry-group": 1, "GoldenRetry": 2,
		"SCHEDULE_TOPIC_XXXX": 18, "RMQ_SYS_TRANS_HALF_TOPIC": 1} {
		if got, _ := topics.Topic(name); got != topicOf(name, queues, 6) {
			t.Errorf("%s: got %+v, want %d queues", name, got, queues)
		}
	}
	groups := openGroups(t, fsys, nil)
	if got, want := groups.Version(), (transport.DataVersion{Counter: 1, Timestamp: 1796091488954}); got != want {
		t.Errorf("version %v, want %v", got, want)
	}
	if got, _ := groups.Group("golden-retry-group"); got != DefaultGroup("golden-retry-group") {
		t.Errorf("got %+v", got)
	}
	if all, _ := groups.All(); len(all) != 8 {
		t.Errorf("%d groups, want 8", len(all))
	}
}

// TestLenientFiles reads what fastjson would read: unquoted names, numbers as texts, unknown and missing members.
func TestLenientFiles(t *testing.T) {
	fsys := vfs.NewMem(nil)
	writeFile(t, fsys, TopicsFile, []byte(`{dataVersion:{"counter":"7",timestamp:5,stateVersion:0},'topicConfigTable':{
		"A":{topicName:"A",perm:"4",attributes:{"+x":"y"},}, B:{"readQueueNums":1,"writeQueueNums":2,"topicFilterType":"MULTI_TAG","order":true,"topicSysFlag":3}},"extra":[1,{"x":null}]}`))
	topics := openTopics(t, fsys, nil)
	if got, want := topics.Version(), (transport.DataVersion{Counter: 7, Timestamp: 5}); got != want {
		t.Errorf("version %v, want %v", got, want)
	}
	if got, _ := topics.Topic("A"); got != topicOf("A", 16, 4) {
		t.Errorf("A: got %+v", got)
	}
	b := transport.TopicConfig{Name: "B", ReadQueues: 1, WriteQueues: 2, Perm: 6, FilterType: MultiTag, SysFlag: 3, Order: true}
	if got, _ := topics.Topic("B"); got != b {
		t.Errorf("B: got %+v", got)
	}

	writeFile(t, fsys, GroupsFile, []byte(`{"subscriptionGroupTable":{"g":{"groupName":"g","retryMaxTimes":3,"consumeEnable":false,"groupRetryPolicy":{"type":"CUSTOMIZED"}}}}`))
	g := DefaultGroup("g")
	g.RetryMaxTimes, g.ConsumeEnable = 3, false
	if got, _ := openGroups(t, fsys, nil).Group("g"); got != g {
		t.Errorf("g: got %+v", got)
	}
}

func TestDecodeIsAllOrNothing(t *testing.T) {
	s := &state[transport.TopicConfig]{values: map[string]*transport.TopicConfig{}}
	if err := decodeTopics([]byte(`{"dataVersion":{"counter":7},"topicConfigTable":{"A":{},"B":`), s); err == nil {
		t.Fatal("no error")
	}
	if len(s.values) != 0 || s.version.Counter != 0 {
		t.Errorf("a refused text left %v, %v", s.values, s.version)
	}
}

// FuzzTopicsFile reads any text, and what it understood must read back equal from our own writing.
func FuzzTopicsFile(f *testing.F) {
	builtin, err := encodeTopics(&state[transport.TopicConfig]{values: builtinTopics("c", "b", DefaultConfig())})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(builtin)
	f.Add([]byte(`{topicConfigTable:{"T":{perm:"6"}}}`))
	f.Add([]byte(`{"dataVersion":{"counter":1e3},"topicConfigTable":{"\ud800":{}, 'x':null, 5:{topicFilterType:1}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s := &state[transport.TopicConfig]{values: map[string]*transport.TopicConfig{}}
		if decodeTopics(text, s) != nil {
			return
		}
		written, err := encodeTopics(s)
		if err != nil {
			t.Fatal(err)
		}
		again := &state[transport.TopicConfig]{values: map[string]*transport.TopicConfig{}}
		if err := decodeTopics(written, again); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(s.values, again.values) || s.version != again.version {
			t.Errorf("got %v, want %v", again.values, s.values)
		}
	})
}

// FuzzGroupsFile does the same with groups.
func FuzzGroupsFile(f *testing.F) {
	f.Add([]byte(`{"dataVersion":{},"subscriptionGroupTable":{"g":{"retryMaxTimes":"3","consumeEnable":"false",groupName:null}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s := &state[transport.GroupConfig]{values: map[string]*transport.GroupConfig{}}
		if decodeGroups(text, s) != nil {
			return
		}
		written, err := encodeGroups(s)
		if err != nil {
			t.Fatal(err)
		}
		again := &state[transport.GroupConfig]{values: map[string]*transport.GroupConfig{}}
		if err := decodeGroups(written, again); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(s.values, again.values) || s.version != again.version {
			t.Errorf("got %v, want %v", again.values, s.values)
		}
	})
}

// TestDefaultsAreJavas compares with the defaults of the real 4.9.7 configuration classes.
func TestDefaultsAreJavas(t *testing.T) {
	var topicDefaults fileTopic
	if err := fastjson.Unmarshal([]byte(`{"readQueueNums":16,"writeQueueNums":16,"perm":6,"topicFilterType":"SINGLE_TAG",
		"topicSysFlag":0,"order":false}`), &topicDefaults); err != nil {
		t.Fatal(err)
	}
	var ours fileTopic
	ours.SetDefaults()
	if ours != topicDefaults {
		t.Errorf("topic: got %+v, want %+v", ours, topicDefaults)
	}
	var group, oursGroup fileGroup
	if err := fastjson.Unmarshal([]byte(`{"consumeEnable":true,"consumeFromMinEnable":true,"consumeBroadcastEnable":true,
		"retryQueueNums":1,"retryMaxTimes":16,"brokerId":0,"whichBrokerWhenConsumeSlowly":1,
		"notifyConsumerIdsChangedEnable":true}`), &group); err != nil {
		t.Fatal(err)
	}
	oursGroup.SetDefaults()
	if oursGroup != group {
		t.Errorf("group: got %+v, want %+v", oursGroup, group)
	}
	if c := DefaultConfig(); !c.AutoCreate || c.DefaultQueues != 8 || !DefaultGroupsConfig().AutoCreate {
		t.Errorf("got %+v %+v", c, DefaultGroupsConfig())
	}
}
