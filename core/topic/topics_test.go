package topic

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/internal/vfs/errorfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

func TestBuiltinTopics(t *testing.T) {
	want := []transport.TopicConfig{
		topicOf("BenchmarkTest", 1024, 6),
		topicOf("DefaultCluster", 16, 7),
		topicOf("DefaultCluster_REPLY_TOPIC", 1, 6),
		topicOf("OFFSET_MOVED_EVENT", 1, 6),
		topicOf("SCHEDULE_TOPIC_XXXX", 18, 6),
		topicOf("SELF_TEST_TOPIC", 1, 6),
		topicOf("TBW102", 8, 7),
		topicOf("broker-a", 1, 7),
	}
	topics := openTopics(t, vfs.NewMem(nil), nil)
	got, v := topics.All()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if v != (transport.DataVersion{}) {
		t.Errorf("a fresh table has the version %v", v)
	}

	topics = openTopics(t, vfs.NewMem(nil), func(c *Config) { c.AutoCreate = false })
	got, _ = topics.All()
	want = slices.DeleteFunc(want, func(c transport.TopicConfig) bool { return c.Name == "TBW102" })
	if !reflect.DeepEqual(got, want) {
		t.Errorf("without auto_create: got %v\nwant %v", got, want)
	}
}

func TestEnsureForSend(t *testing.T) {
	const noInherit = "Plain"
	cases := []struct {
		name       string
		off        bool // topics.auto_create
		topic      string
		template   string
		queues     int32
		unit       bool
		want       transport.TopicConfig
		wantRemark string
		wantCode   message.Code
	}{
		{name: "producer asks for less", topic: "T", template: "TBW102", queues: 4, want: topicOf("T", 4, 6)},
		{name: "producer of 4.3", topic: "T", template: "AUTO_CREATE_TOPIC_KEY", queues: 4, want: topicOf("T", 4, 6)},
		{name: "producer of 4.3, off", off: true, topic: "T", template: "AUTO_CREATE_TOPIC_KEY", queues: 4, wantCode: 17,
			wantRemark: `topic "T" does not exist and topics.auto_create is off; create it with: weir topic create T`},
		{name: "producer asks for more", topic: "T", template: "TBW102", queues: 100, want: topicOf("T", 8, 6)},
		{name: "negative queues become none", topic: "T", template: "TBW102", queues: -1, want: topicOf("T", 0, 6)},
		{name: "template of the cluster", topic: "T", template: "DefaultCluster", queues: 100, want: topicOf("T", 16, 6)},
		{name: "template of the cluster without auto_create", off: true, topic: "T", template: "DefaultCluster", queues: 2,
			want: topicOf("T", 2, 6)},
		{name: "unit", topic: "T", template: "TBW102", queues: 4, unit: true,
			want: transport.TopicConfig{Name: "T", ReadQueues: 4, WriteQueues: 4, Perm: 6, FilterType: SingleTag, SysFlag: 1}},
		{name: "retry topic follows its template", topic: "%RETRY%g", template: "TBW102", queues: 4, unit: true,
			want: transport.TopicConfig{Name: "%RETRY%g", ReadQueues: 4, WriteQueues: 4, Perm: 6, FilterType: SingleTag, SysFlag: 2}},
		{name: "retry topic without template", off: true, topic: "%RETRY%g", template: "TBW102", queues: 4,
			want: topicOf("%RETRY%g", 1, 6)},
		{name: "multi tag template", topic: "T", template: "Multi", queues: 9,
			want: transport.TopicConfig{Name: "T", ReadQueues: 2, WriteQueues: 2, Perm: 4, FilterType: MultiTag}},
		{name: "off", off: true, topic: "T", template: "TBW102", queues: 4, wantCode: 17,
			wantRemark: `topic "T" does not exist and topics.auto_create is off; create it with: weir topic create T`},
		{name: "no template", topic: "T", template: "", queues: 4, wantCode: 17,
			wantRemark: `topic "T" does not exist and the producer names no topic to create it after; create it with: weir topic create T`},
		{name: "unknown template", topic: "T", template: "X", queues: 4, wantCode: 17,
			wantRemark: `topic "T" does not exist and the topic "X", after which it was to be created, doesn't either; create it with: weir topic create T`},
		{name: "template without inherit", topic: "T", template: noInherit, queues: 4, wantCode: 17,
			wantRemark: `topic "T" does not exist and the topic "Plain", after which it was to be created, has no inherit permission; create it with: weir topic create T`},
		{name: "illegal name", topic: "../T", template: "TBW102", queues: 4, wantCode: 1,
			wantRemark: `the topic name "../T" has the illegal character '.' at position 0, allowed are a-z A-Z 0-9 % | - _`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			topics := openTopics(t, vfs.NewMem(nil), func(cfg *Config) { cfg.AutoCreate = !c.off })
			for _, p := range []transport.TopicConfig{topicOf(noInherit, 4, 6),
				{Name: "Multi", ReadQueues: 9, WriteQueues: 2, Perm: 5, FilterType: MultiTag}} {
				if err := topics.Put(p); err != nil {
					t.Fatal(err)
				}
			}
			before := topics.Version()
			got, created, err := topics.EnsureForSend([]byte(c.topic), []byte(c.template), c.queues, c.unit)
			if c.wantRemark != "" {
				wantRefusal(t, err, c.wantCode, c.wantRemark)
				if topics.Version() != before {
					t.Error("a refusal changed the table")
				}
				return
			}
			if err != nil || !created || *got != c.want {
				t.Fatalf("got %+v, %v, %v\nwant %+v", got, created, err, c.want)
			}
			again, created, err := topics.EnsureForSend([]byte(c.topic), nil, 0, false)
			if again != got || created || err != nil {
				t.Errorf("second time: got %+v, %v, %v", again, created, err)
			}
		})
	}
}

func TestPut(t *testing.T) {
	cases := []struct {
		name   string
		edit   func(*transport.TopicConfig)
		remark string // empty: accepted
	}{
		{"plain", func(*transport.TopicConfig) {}, ""},
		{"no filter type", func(c *transport.TopicConfig) { c.FilterType = "" }, ""},
		{"order is ignored", func(c *transport.TopicConfig) { c.Order = true }, ""},
		{"empty name", func(c *transport.TopicConfig) { c.Name = "" }, "the topic name is empty"},
		{"dots", func(c *transport.TopicConfig) { c.Name = "../x" },
			`the topic name "../x" has the illegal character '.' at position 0, allowed are a-z A-Z 0-9 % | - _`},
		{"system", func(c *transport.TopicConfig) { c.Name = "RMQ_SYS_TRACE_TOPIC" },
			`topic "RMQ_SYS_TRACE_TOPIC" is the broker's own and can't be changed`},
		{"broker", func(c *transport.TopicConfig) { c.Name = "broker-a" }, `topic "broker-a" is the broker's own and can't be changed`},
		{"queues", func(c *transport.TopicConfig) { c.WriteQueues = QueuesMax + 1 },
			`topic "T": 4 read and 16385 write queues are out of range, want 0 to 16384 of each`},
		{"perm", func(c *transport.TopicConfig) { c.Perm = 16 },
			`topic "T": permission 16 is unknown, want a sum of 4 (read), 2 (write) and 1 (inherit)`},
		{"filter type", func(c *transport.TopicConfig) { c.FilterType = "X" },
			`topic "T": filter type "X" is unknown, want SINGLE_TAG or MULTI_TAG`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			topics := openTopics(t, vfs.NewMem(nil), nil)
			in := topicOf("T", 4, 6)
			c.edit(&in)
			err := topics.Put(in)
			if c.remark != "" {
				wantRefusal(t, err, message.SystemError, c.remark)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, ok := topics.Topic("T")
			if want := topicOf("T", 4, 6); !ok || got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

func TestDelete(t *testing.T) {
	topics := openTopics(t, vfs.NewMem(nil), nil)
	if err := topics.Put(topicOf("T", 4, 6)); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false} {
		if existed, err := topics.Delete("T"); existed != want || err != nil {
			t.Errorf("delete %d: got %v, %v", i, existed, err)
		}
	}
	if v := topics.Version(); v.Counter != 2 {
		t.Errorf("version %v after one put and one deletion", v)
	}
	_, err := topics.Delete("TBW102")
	wantRefusal(t, err, message.SystemError, `topic "TBW102" is the broker's own and can't be deleted`)
}

func TestRetryAndDeadLetterTopics(t *testing.T) {
	topics := openTopics(t, vfs.NewMem(nil), func(c *Config) { c.AutoCreate = false })
	retry, err := topics.EnsureRetry("g", 3, true)
	want := transport.TopicConfig{Name: "%RETRY%g", ReadQueues: 3, WriteQueues: 3, Perm: 6, FilterType: SingleTag, SysFlag: 2}
	if err != nil || *retry != want {
		t.Errorf("got %+v, %v", retry, err)
	}
	again, err := topics.EnsureRetry("g", 5, false)
	if err != nil || again != retry {
		t.Errorf("again: got %+v, %v", again, err)
	}
	dlq, err := topics.EnsureDLQ("g")
	if err != nil || *dlq != topicOf("%DLQ%g", 1, 6) {
		t.Errorf("got %+v, %v", dlq, err)
	}
	if _, err := topics.EnsureRetry(strings.Repeat("g", 121), 1, false); err == nil {
		t.Error("a retry topic of 128 characters was created")
	}
}

func TestHookSeesSavedChangesBeforeTheCallerIsAnswered(t *testing.T) {
	fsys := vfs.NewMem(nil)
	topics := openTopics(t, fsys, nil)
	var seen []string
	topics.OnChange = func(changed []transport.TopicConfig, v transport.DataVersion) {
		saved := openTopics(t, fsys.CrashClone(vfs.Crash{}), nil)
		if got, want := saved.Version(), v; got != want {
			t.Errorf("a power cut in the hook would leave version %v, want %v", got, want)
		}
		for _, c := range changed {
			seen = append(seen, fmt.Sprint(c.Name, " ", v.Counter))
		}
		if len(changed) == 0 {
			seen = append(seen, fmt.Sprint("deleted ", v.Counter))
		}
	}
	topics.EnsureForSend([]byte("A"), []byte("TBW102"), 4, false)
	topics.Put(topicOf("B", 1, 6))
	topics.EnsureRetry("g", 1, false)
	topics.Delete("A")
	topics.SetOrder(map[string]string{"B": "broker-a:1", "unknown": "x"})
	topics.SetOrder(map[string]string{"B": "broker-a:1"})
	topics.SetOrder(nil)
	topics.SetOrder(map[string]string{})
	want := []string{"A 1", "B 2", "%RETRY%g 3", "deleted 4", "B 5", "B 6"}
	if !slices.Equal(seen, want) {
		t.Errorf("got %q, want %q", seen, want)
	}
}

func TestVersionCarriesTheTimeOfTheChange(t *testing.T) {
	set := testSettings(vfs.NewMem(nil))
	c := clock.NewManual(testStart)
	set.Clock = c
	topics, err := OpenTopics(set, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	c.Advance(1500 * time.Millisecond)
	topics.Put(topicOf("T", 4, 6))
	if got, want := topics.Version(), (transport.DataVersion{Counter: 1, Timestamp: 1_700_000_001_500}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestQuota(t *testing.T) {
	topics := openTopics(t, vfs.NewMem(nil), func(c *Config) { c.Max = 10 })
	for _, name := range []string{"A", "B"} {
		if _, _, err := topics.EnsureForSend([]byte(name), []byte("TBW102"), 4, false); err != nil {
			t.Fatal(err)
		}
	}
	const remark = `topic "C" was not created: there are 10 topics already and topics.max is 10; delete topics that nobody uses, or raise topics.max`
	_, _, err := topics.EnsureForSend([]byte("C"), []byte("TBW102"), 4, false)
	wantRefusal(t, err, message.TopicNotExist, remark)
	wantRefusal(t, topics.Put(topicOf("C", 4, 6)), message.SystemError, remark)
	if err := topics.Put(topicOf("A", 8, 6)); err != nil {
		t.Errorf("changing a topic of a full table: %v", err)
	}
}

func TestFullDiskRefusesAndKeepsTheTable(t *testing.T) {
	fsys := errorfs.Wrap(vfs.NewMem(nil), nil)
	topics := openTopics(t, fsys, nil)
	if err := topics.Put(topicOf("Old", 4, 6)); err != nil {
		t.Fatal(err)
	}
	before, v := topics.All()
	fsys.Set(errorfs.OnKind(errorfs.Write, syscall.ENOSPC))
	_, created, err := topics.EnsureForSend([]byte("T"), []byte("TBW102"), 4, false)
	if created {
		t.Error("created")
	}
	const why = `: save /data/config/topics.json: write /data/config/topics.json.tmp: no space left on device; free space on the disk of /data/config/topics.json, then try again`
	wantRefusal(t, err, message.ServiceNotAvailable, `topic "T" was not created`+why)
	wantRefusal(t, topics.Put(topicOf("T", 4, 6)), message.SystemError, `topic "T" was not saved`+why)
	_, err = topics.Delete("Old")
	wantRefusal(t, err, message.SystemError, `topic "Old" was not deleted`+why)
	if after, w := topics.All(); v != w || !reflect.DeepEqual(before, after) {
		t.Error("the table has changed")
	}
	fsys.Set(nil)
	if _, created, err := topics.EnsureForSend([]byte("T"), []byte("TBW102"), 4, false); !created || err != nil {
		t.Errorf("with room again: %v, %v", created, err)
	}
}

func TestTopicsSurviveARestart(t *testing.T) {
	fsys := vfs.NewMem(nil)
	topics := openTopics(t, fsys, nil)
	topics.Put(topicOf("T", 4, 6))
	topics.EnsureRetry("g", 1, true)
	want, v := topics.All()
	got, w := openTopics(t, fsys.CrashClone(vfs.Crash{}), nil).All()
	if v != w || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v %v\nwant %v %v", w, got, v, want)
	}
	// The backup is what the last write replaced.
	fsys.Remove(filepath.Join(testDir, TopicsFile))
	if v := openTopics(t, fsys, nil).Version(); v.Counter != 1 {
		t.Errorf("from the backup: version %v, want 1", v)
	}
}

func TestTemplateFollowsConfigurationNotFile(t *testing.T) {
	fsys := vfs.NewMem(nil)
	openTopics(t, fsys, nil).Put(topicOf("T", 4, 6))
	topics := openTopics(t, fsys, func(c *Config) { c.DefaultQueues = 2 })
	if c, _ := topics.Topic("TBW102"); c.WriteQueues != 2 {
		t.Errorf("got %+v, want 2 queues", c)
	}
	topics = openTopics(t, fsys, func(c *Config) { c.AutoCreate = false })
	if c, ok := topics.Topic("TBW102"); ok {
		t.Errorf("got %+v without auto_create", c)
	}
}

func TestDamagedFileWithoutBackupStopsTheStart(t *testing.T) {
	fsys := vfs.NewMem(nil)
	writeFile(t, fsys, TopicsFile, []byte("{"))
	_, err := OpenTopics(testSettings(fsys), DefaultConfig())
	if err == nil || !strings.Contains(err.Error(), "repair the file, or remove it to start with defaults") {
		t.Errorf("got %v", err)
	}
}

// TestTopicsHammer lets many goroutines create the same and different topics at once. Each topic must be created by
// exactly one of them, and the number of saves must be far below the number of changes, at most one each.
func TestTopicsHammer(t *testing.T) {
	const workers, perWorker = 16, 40
	fsys := vfs.NewMem(nil)
	topics := openTopics(t, fsys, nil)
	var hookMu sync.Mutex
	seen := map[string]int{}
	topics.OnChange = func(changed []transport.TopicConfig, _ transport.DataVersion) {
		hookMu.Lock()
		defer hookMu.Unlock()
		for _, c := range changed {
			seen[c.Name]++
		}
	}
	var wg sync.WaitGroup
	created := make([]int, workers)
	for w := range workers {
		wg.Go(func() {
			for i := range perWorker {
				name := []byte(fmt.Sprintf("T%d", (i+w)%perWorker))
				_, c, err := topics.EnsureForSend(name, []byte("TBW102"), 4, false)
				if err != nil {
					t.Error(err)
				}
				if c {
					created[w]++
				}
				if _, ok := topics.Lookup(name); !ok {
					t.Errorf("%s is not visible after it was answered", name)
				}
			}
		})
	}
	wg.Wait()
	sum := 0
	for _, n := range created {
		sum += n
	}
	if sum != perWorker || len(seen) != perWorker {
		t.Errorf("%d creations, %d topics in the hook, want %d", sum, len(seen), perWorker)
	}
	if v := topics.Version(); v.Counter > perWorker {
		t.Errorf("%d saves for %d topics", v.Counter, perWorker)
	}
}

func TestLookupDoesNotAllocate(t *testing.T) {
	topics := openTopics(t, vfs.NewMem(nil), nil)
	name, template := []byte("BenchmarkTest"), []byte("TBW102")
	if n := testing.AllocsPerRun(100, func() {
		if _, ok := topics.Lookup(name); !ok {
			t.Fatal("not found")
		}
		if _, _, err := topics.EnsureForSend(name, template, 4, false); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestSystemTopics(t *testing.T) {
	topics := openTopics(t, vfs.NewMem(nil), nil)
	want := []string{"BenchmarkTest", "DefaultCluster", "DefaultCluster_REPLY_TOPIC", "OFFSET_MOVED_EVENT",
		"RMQ_SYS_TRACE_TOPIC", "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "SCHEDULE_TOPIC_XXXX",
		"SELF_TEST_TOPIC", "TBW102", "TRANS_CHECK_MAX_TIME_TOPIC", "broker-a"}
	if got := topics.SystemNames(); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	for name, want := range map[string]bool{"broker-a": true, "DefaultCluster_REPLY_TOPIC": true, "rmq_sys_x": true, "T": false,
		"%RETRY%g": false} {
		if got := topics.System(name); got != want {
			t.Errorf("System(%q) = %v", name, got)
		}
	}
}

func BenchmarkLookup(b *testing.B) {
	set := testSettings(vfs.NewMem(nil))
	topics, err := OpenTopics(set, DefaultConfig())
	if err != nil {
		b.Fatal(err)
	}
	name := []byte("DefaultCluster_REPLY_TOPIC")
	for b.Loop() {
		topics.Lookup(name)
	}
}
