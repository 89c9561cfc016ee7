package interop

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/weirmq/weir/test/internal/agent"
	"github.com/weirmq/weir/test/internal/repo"
	"github.com/weirmq/weir/test/internal/sut"
)

// adminStep is one mqadmin command, in which ADDR, NAME, OFFSETID, UNIQID, KEY3 and CLIENT are replaced, and patterns that its output
// must have. Patterns take any blanks where they have one, and match anywhere.
type adminStep struct {
	command string
	want    []string
}

// The commands in the order in which they run, with a producer and a consumer of admin-group connected that has consumed
// the ten messages of AdminTopic, five in each of its two queues.
var adminSteps = []adminStep{
	{"clusterList", []string{`DefaultCluster NAME 0 ADDR V4_9_7 `}},
	{"clusterList -m", []string{`DefaultCluster NAME \d+ \d+ \d+ \d+`}},
	{"topicList", []string{`(?m)^AdminTopic$`, `(?m)^TBW102$`, `(?m)^%RETRY%admin-group$`}},
	{"topicList -c", []string{`DefaultCluster AdminTopic admin-group`}},
	{"topicRoute -t AdminTopic", []string{`0:"ADDR"`, `"brokerName":"NAME"`, `"readQueueNums":2`, `"perm":6`}},
	{"topicRoute -t Nowhere", []string{`CODE: 17`, `Nowhere`}},
	{"topicStatus -t AdminTopic", []string{`NAME 0 0 5 20\d\d-\d\d-\d\d`, `NAME 1 0 5 20\d\d-\d\d-\d\d`}},
	{"topicClusterList -t AdminTopic", []string{`(?m)^DefaultCluster$`}},
	{"brokerStatus -b ADDR", []string{
		`brokerVersionDesc : V4_9_7`, `bootTimestamp : \d{13}`, `commitLogMaxOffset : [1-9]\d+`, `commitLogMinOffset : 0`,
		`msgPutTotalTodayNow : 10`, `putMessageTimesTotal : 10`, `runtime : \[ 0 days`, `dispatchBehindBytes : 0`,
	}},
	{"getBrokerConfig -b ADDR", []string{`brokerName = NAME`, `brokerClusterName = DefaultCluster`, `maxMessageSize = 4194304`}},

	{"updateTopic -c DefaultCluster -t ClusterTopic -r 3 -w 3", []string{`create topic to ADDR success`, `readQueueNums=3`}},
	{"topicRoute -t ClusterTopic", []string{`"readQueueNums":3`, `"writeQueueNums":3`}},
	{"updateTopic -b ADDR -t bad!topic -r 3 -w 3", []string{`CODE: 1 `, `(?i)illegal|character|name`}},
	{"updateTopicPerm -b ADDR -t ClusterTopic -p 4", []string{`update topic perm from 6 to 4 in ADDR success`}},
	{"topicRoute -t ClusterTopic", []string{`"perm":4`}},
	{"deleteTopic -c DefaultCluster -t ClusterTopic", []string{`delete topic \[ClusterTopic\] from cluster \[DefaultCluster\] success`, `from NameServer success`}},
	{"topicRoute -t ClusterTopic", []string{`CODE: 17`}},

	{"updateSubGroup -b ADDR -g admin-other -r 3", []string{`create subscription group to ADDR success`, `retryMaxTimes=3`}},
	{"getConsumerConfig -g admin-other", []string{`groupName = admin-other`, `retryMaxTimes = 3`, `consumeEnable = true`}},
	{"deleteSubGroup -b ADDR -g admin-other", []string{`delete subscription group \[admin-other\] from broker \[ADDR\] success`}},

	{"queryMsgById -i OFFSETID", []string{`Topic: AdminTopic`, `Tags: \[TagA\]`, `Keys: \[k0\]`, `Queue Offset: 0`, `consumerGroup=admin-group, trackType=CONSUMED`}},
	{"queryMsgByKey -t AdminTopic -k k3", []string{`KEY3 1 1`}},
	{"queryMsgByKey -t AdminTopic -k nobodys", []string{`CODE: 208`}},
	{"queryMsgByUniqueKey -t AdminTopic -i UNIQID", []string{`Topic: AdminTopic`, `Tags: \[TagA\]`, `Keys: \[k0\]`, `Queue Offset: 0`}},
	{"queryMsgByOffset -t AdminTopic -b NAME -i 0 -o 4", []string{`Queue Offset: 4`}},
	{"printMsgByQueue -t AdminTopic -a NAME -i 0 -p true", []string{`(?s)(MSGID: .*){5}`}},
	{"printMsg -t AdminTopic -d true", []string{`(?s)(MSGID: .*){10}`}},
	{"consumeMessage -t AdminTopic -b NAME -i 0 -o 0 -c 2", []string{`(?s)(MSGID: .*){2}`}},

	{"producerConnection -g admin-producer -t AdminTopic", []string{`0001 \S+ 127\.0\.0\.1:\d+ JAVA V4_9_7`}},
	{"consumerConnection -g admin-group", []string{`CLIENT 127\.0\.0\.1:\d+ JAVA V4_9_7`, `AdminTopic \*`, `ConsumeType: CONSUME_PASSIVELY`, `MessageModel: CLUSTERING`}},
	{"consumerConnection -g nobody", []string{`CODE: 17`, `%RETRY%nobody`}},
	{"consumerProgress", []string{`admin-group 1 V4_9_7 PUSH CLUSTERING [\d.]+ 0`}},
	{"consumerProgress -g admin-group", []string{`AdminTopic NAME 0 5 5 0 20\d\d`, `AdminTopic NAME 1 5 5 0 20\d\d`, `Diff Total: 0`}},
	{"consumerStatus -g admin-group", []string{`1 CLIENT V4_9_7`, `Same subscription in the same group of consumer`, `Rebalance OK`}},
	{"cloneGroupOffset -s admin-group -d admin-clone -t AdminTopic -o true", []string{`clone group offset success`}},

	{"sendMessage -t AdminTopic -p hello -c TagA -k tool", []string{`NAME [01] SEND_OK`}},
	{"topicStatus -t AdminTopic", []string{`NAME [01] 0 6 20\d\d`}},
	{"resetOffsetByTime -g admin-group -t AdminTopic -s -1", []string{`NAME 0 [56]`, `NAME 1 [56]`}},
	{"resetOffsetByTime -g nobody -t AdminTopic -s now", []string{`CODE: 1 `}},

	{"updateKvConfig -s JUDGE -k color -v red", []string{`create or update kv config to namespace success`}},
	{"deleteKvConfig -s JUDGE -k color", []string{`delete kv config from namespace success`}},
}

// TestMqadmin runs mqadmin 4.9.7 and reads what it prints.
func TestMqadmin(t *testing.T) {
	t.Parallel()
	repo.NeedJava(t)
	broker := sut.Start(t, sut.Options{})
	clients := agent.Start(t, agent.Java4, "clients")
	producer := clients.Producer(t, agent.ProducerOptions{Name: "producer", Group: "admin-producer", NameServer: broker.NameServer()})
	tools := agent.StartTools(t, broker.NameServer())

	if out := tools.Run(t, "updateTopic", "-b", broker.Addr(), "-t", "AdminTopic", "-r", "2", "-w", "2"); !strings.Contains(out, "success") {
		t.Fatalf("updateTopic: %s", out)
	}
	messages := make([]agent.Outgoing, 10)
	for i := range messages {
		messages[i] = agent.Outgoing{Body: fmt.Sprintf("message-%d", i), Tags: "TagA", Keys: fmt.Sprintf("k%d", i)}
	}
	var sent []agent.Result
	for i, m := range messages {
		sent = append(sent, producer.Send(t, agent.Sync, "AdminTopic", agent.Place{Broker: broker.Name(), Queue: i % 2}, m)...)
	}
	options := agent.ConsumerOptions{Name: "consumer", Group: "admin-group", NameServer: broker.NameServer(), Topic: "AdminTopic"}
	consumer := clients.Push(t, options)
	consumer.Await(t, "ten messages", func(all []agent.Message) bool { return len(all) == 10 })
	consumer.Stop(t) // commits at once what it would commit after ten seconds
	consumer = clients.Push(t, options)
	awaitOutput(t, tools, "Diff Total: 0", "consumerProgress", "-g", "admin-group")

	connection := tools.Run(t, "consumerConnection", "-g", "admin-group")
	client := regexp.MustCompile(`(?m)^(\S+@\S+)`).FindString(connection)
	if client == "" {
		t.Fatalf("no client in: %s", connection)
	}
	words := strings.NewReplacer("ADDR", broker.Addr(), "NAME", broker.Name(), "OFFSETID", sent[0].OffsetMsgID, "UNIQID", sent[0].MsgID, "CLIENT", client)
	patterns := strings.NewReplacer("KEY3", sent[3].MsgID, "ADDR", regexp.QuoteMeta(broker.Addr()), "NAME", regexp.QuoteMeta(broker.Name()), "CLIENT", regexp.QuoteMeta(client), " ", `\s+`)
	for _, step := range adminSteps {
		t.Run(step.command, func(t *testing.T) {
			out := tools.Run(t, strings.Fields(words.Replace(step.command))...)
			for _, want := range step.want {
				if !regexp.MustCompile(patterns.Replace(want)).MatchString(out) {
					t.Errorf("nothing like %s in:\n%s", want, out)
				}
			}
		})
	}
	t.Run("resetOffsetByTime to the begin", func(t *testing.T) {
		if out := tools.Run(t, "resetOffsetByTime", "-g", "admin-group", "-t", "AdminTopic", "-s", "0"); strings.Count(out, broker.Name()) != 2 {
			t.Errorf("not both queues are reset: %s", out)
		}
		want := []string{"hello"} // sent on the way
		for _, m := range messages {
			want = append(want, m.Body)
		}
		consumer.Bodies(t, want...)
	})
}

func awaitOutput(t *testing.T, tools *agent.Tools, want string, args ...string) {
	t.Helper()
	var out string
	// A client saves what it has consumed 10 s after its start for the first time.
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if out = tools.Run(t, args...); strings.Contains(out, want) {
			return
		}
	}
	t.Fatalf("%v never prints %q; it prints:\n%s", args, want, out)
}
