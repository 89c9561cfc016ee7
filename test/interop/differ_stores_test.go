package interop

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weirmq/weir/test/internal/differ"
	"github.com/weirmq/weir/test/internal/sut"
)

// What the differential test leaves behind is opened by both sides: they must read the same out of it, whoever wrote it.
func differStores(t *testing.T, options sut.Options, brokers ...*sut.Broker) {
	for _, b := range brokers {
		b.Stop(t)
	}
	for _, writer := range brokers {
		t.Run("store of "+string(writer.Kind()), func(t *testing.T) {
			t.Parallel()
			script := readAll(t, writer.DataDir())
			side := func(kind sut.Kind) differ.Side {
				o := options
				o.Kind, o.Home = kind, t.TempDir()
				o.DataDir = filepath.Join(o.Home, "store")
				copyStore(t, writer.DataDir(), o.DataDir)
				b := sut.Start(t, o)
				return differ.Side{Name: string(kind), Broker: b.Addr(), Names: b.NameServer()}
			}
			result, err := differ.Run(script, side(sut.Java), side(sut.Weir))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range result.Findings {
				t.Errorf("%v", f)
			}
			for _, a := range result.Unused {
				t.Errorf("not needed any more: %s", a)
			}
			t.Logf("%d requests, %d of them answered differently as allowed", result.Requests, result.Allowed)
		})
	}
}

// ownTopics are of features that weir has not got yet, or does another way.
var ownTopics = []string{"SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "OFFSET_MOVED_EVENT"}

// dottedGroup goes on with a group that RocketMQ has let in, and that weir would not let in if it were new.
const dottedGroup = `broker 34 << {"clientID":"d","consumerDataSet":[{"groupName":"a.b","consumeType":"CONSUME_PASSIVELY","messageModel":"CLUSTERING","consumeFromWhere":"CONSUME_FROM_LAST_OFFSET","subscriptionDataSet":[{"topic":"Pull","subString":"*","subVersion":1}]}]}
broker 38 consumerGroup=a.b
pull consumerGroup=a.b topic=Pull queueId=0 queueOffset=0 sysFlag=1 commitOffset=2
broker 14 consumerGroup=a.b topic=Pull queueId=0
sleep 200ms
names 105 topic=%RETRY%a.b
`

// readAll writes the script that reads a whole store. Both sides have just started, so nobody has consumed anything.
func readAll(t *testing.T, dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, "config", "topics.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Topics map[string]struct {
			ReadQueueNums int `json:"readQueueNums"`
		} `json:"topicConfigTable"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatalf("topics.json: %v", err)
	}
	var script strings.Builder
	script.WriteString("let pull = broker 11 consumerGroup=Reader maxMsgNums=32 sysFlag=4 commitOffset=0 suspendTimeoutMillis=0 subscription=* subVersion=0\n" +
		"broker 21\nbroker 201\nbroker 43\nmay /broker 43.*:-1/ a negative offset is no offset\n")
	if groups, err := os.ReadFile(filepath.Join(dir, "config", "subscriptionGroup.json")); err == nil && strings.Contains(string(groups), `"a.b"`) {
		script.WriteString(dottedGroup)
	}
	for name, topic := range file.Topics {
		if slices.Contains(ownTopics, name) {
			continue
		}
		for queue := range topic.ReadQueueNums {
			if _, err := os.Stat(filepath.Join(dir, "consumequeue", name, fmt.Sprint(queue))); err != nil && queue > 0 {
				continue // empty; one of them is enough
			}
			fmt.Fprintf(&script, "pull topic=%q queueId=%d queueOffset={0,1,32,64}\n", name, queue)
			fmt.Fprintf(&script, "broker {30,31,32} topic=%q queueId=%d\n", name, queue)
			fmt.Fprintf(&script, "broker 29 topic=%q queueId=%d timestamp={0,1700000000000,9223372036854775807}\n", name, queue)
		}
		fmt.Fprintf(&script, "broker 202 topic=%q\n", name)
	}
	return script.String()
}

// copyStore copies a stopped broker's files with their times, by which Java looks up offsets.
func copyStore(t *testing.T, from, to string) {
	t.Helper()
	must(t, os.CopyFS(to, os.DirFS(from)))
	must(t, filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		return os.Chtimes(filepath.Join(to, rel), info.ModTime(), info.ModTime())
	}))
}
