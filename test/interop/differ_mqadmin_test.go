package interop

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weirmq/weir/test/internal/agent"
	"github.com/weirmq/weir/test/internal/repo"
	"github.com/weirmq/weir/test/internal/sut"
)

// toolCommands are commands of mqadmin 4.9.7, in which ADDR, NAMES, OFFSETID, UNIQID and CLIENT are replaced, in the order in
// which they run.
var toolCommands = []string{
	"updateTopic -c DefaultCluster -t Other -r 3 -w 2 -p 6",
	"updateTopic -b ADDR -t Ordered -r 4 -w 4 -o true",
	"updateTopic -b ADDR -t TBW102",
	"updateTopicPerm -b ADDR -t Other -p 4", "updateTopicPerm -c DefaultCluster -t Other -p 6", "updateTopicPerm -b ADDR -t Nowhere -p 4",
	"updateOrderConf -t Ordered -m get", "updateOrderConf -t Ordered -m put -v broker-a:3", "updateOrderConf -t Ordered -m delete",
	"topicRoute -t Tools", "topicRoute -t Tools -l", "topicRoute -t Nowhere",
	"topicStatus -t Tools", "topicStatus -t Nowhere", "topicClusterList -t Tools", "topicClusterList -t Nowhere", "topicList", "topicList -c DefaultCluster",
	"allocateMQ -t Tools -i 10.0.0.1,10.0.0.2", "statsAll", "statsAll -t Tools", "statsAll -a -t Tools",
	"updateSubGroup -b ADDR -g tools-other -r 3 -q 2", "updateSubGroup -c DefaultCluster -g tools-other -s false -m true -d false -i 1 -w 2 -a false",
	"getConsumerConfig -g tools-other", "getConsumerConfig -g nobody",
	"clusterList", "clusterList -m", "brokerStatus -b ADDR", "brokerStatus -c DefaultCluster",
	"getBrokerConfig -b ADDR", "getBrokerConfig -c DefaultCluster", "getNamesrvConfig",
	"updateBrokerConfig -b ADDR -k brokerPermission -v 6",
	"producerConnection -g tools-producer -t Tools", "producerConnection -g nobody -t Tools", "producer -b ADDR",
	"consumerConnection -g tools-group", "consumerConnection -g nobody",
	"consumerProgress", "consumerProgress -g tools-group", "consumerProgress -g tools-group -s true", "consumerProgress -g nobody",
	"consumerStatus -g tools-group", "consumerStatus -g tools-group -i CLIENT", "consumerStatus -g nobody",
	"brokerConsumeStats -b ADDR", "brokerConsumeStats -b ADDR -o true",
	"cloneGroupOffset -s tools-group -d tools-clone -t Tools -o true", "cloneGroupOffset -s tools-group -d tools-clone -t Nowhere",
	"queryMsgById -i OFFSETID", "queryMsgByOffset -t Tools -b broker-a -i 0 -o 0", "queryMsgByOffset -t Tools -b broker-a -i 0 -o 99",
	"queryMsgByKey -t Tools -k k0", "queryMsgByUniqueKey -t Tools -i UNIQID", "queryMsgTraceById -i OFFSETID",
	"printMsg -t Tools -d true", "printMsg -t Nowhere", "printMsgByQueue -t Tools -a broker-a -i 0 -p true -d true", "consumeMessage -t Tools -b broker-a -i 0 -o 0 -c 2",
	"sendMessage -t Tools -p hello -c TagA -k tool", "sendMessage -t Tools -p hello -b broker-a -i 1", "sendMsgStatus -b broker-a -c 2", "checkMsgSendRT -t Tools -a 2 -s 16",
	"queryCq -b ADDR -t Tools -q 0 -i 0 -c 2", "queryCq -b ADDR -t Tools -q 0 -i 0 -c 1 -g tools-group", "queryCq -b ADDR -t Nowhere -q 0 -i 0 -c 1",
	"resetOffsetByTime -g tools-group -t Tools -s -1", "resetOffsetByTime -g nobody -t Tools -s now", "resetOffsetByTime -g tools-group -t Tools -s 0 -f true",
	"skipAccumulatedMessage -g tools-group -t Tools",
	"wipeWritePerm -b broker-a -n NAMES", "topicRoute -t Tools", "addWritePerm -b broker-a -n NAMES", "topicRoute -t Tools",
	"updateKvConfig -s tools -k color -v red", "deleteKvConfig -s tools -k color", "deleteKvConfig -s tools -k color",
	"cleanExpiredCQ -b ADDR", "cleanUnusedTopic -b ADDR", "deleteExpiredCommitLog -b ADDR", "cleanExpiredCQ -c DefaultCluster",
	"updateAclConfig -b ADDR -a access-key -s secret-key",
	"deleteSubGroup -b ADDR -g tools-other", "deleteSubGroup -c DefaultCluster -g tools-other", "deleteSubGroup -b ADDR -g nobody -r true",
	"deleteTopic -c DefaultCluster -t Other", "deleteTopic -c DefaultCluster -t Nowhere", "deleteTopic -c DefaultCluster -t TBW102",
	"topicRoute -t Other",
	"exportMetadata -c DefaultCluster -f EXPORT", "exportConfigs -c DefaultCluster -f EXPORT", "exportMetrics -c DefaultCluster -f EXPORT",
}

// toolDifferences are the lines in which the outputs of a command may differ, and why.
var toolDifferences = []toolDifference{
	{regexp.MustCompile(`^statsAll`), regexp.MustCompile(`^Tools tools-group`), "Java's numbers of the last minute come only with the next one"},
	{regexp.MustCompile(`^brokerStatus`), regexp.MustCompile(`getTransferredTps|heldPulls`), "weir counts more"},
	{regexp.MustCompile(`^brokerStatus`), regexp.MustCompile(`scheduleMessageOffset_N`), "weir lists a level from its first message, Java from its first delivery"},
	{regexp.MustCompile(`^get(BrokerConfig|NamesrvConfig)`), regexp.MustCompile(` =`), "weir has other settings"},
	{regexp.MustCompile(`^consumerProgress`), regexp.MustCompile(`^%RETRY%`), "Java's clients find the retry topic some seconds later"},
	{regexp.MustCompile(`^consumerStatus`), regexp.MustCompile(`@\w+$`), "addresses of Java objects"},
	{regexp.MustCompile(`AccessConfig|AclConfig`), regexp.MustCompile(``), "no access control yet: weir says so, Java mostly says nothing"},
}

type toolDifference struct {
	command, lines *regexp.Regexp
	reason         string
}

// TestMqadminDiffers runs the commands of mqadmin 4.9.7 against RocketMQ and against weir and compares what they print, number
// by number replaced: a person who knows one should find the other.
func TestMqadminDiffers(t *testing.T) {
	t.Parallel()
	repo.NeedJava(t)
	if sut.Default() == sut.Java {
		t.Skip("Java is one side of this anyway")
	}
	sides := []*toolSide{newToolSide(t, sut.Java), newToolSide(t, sut.Weir)}
	for _, command := range toolCommands {
		t.Run(command, func(t *testing.T) {
			var out [2]string
			var wait sync.WaitGroup
			for i, s := range sides {
				wait.Go(func() { out[i] = s.run(t, command) })
			}
			wait.Wait()
			if java, weir := without(command, out[0], out[1]), without(command, out[1], out[0]); len(java)+len(weir) > 0 {
				t.Errorf("only java prints:\n%s\nonly weir prints:\n%s", strings.Join(java, "\n"), strings.Join(weir, "\n"))
			}
		})
	}
}

// without returns the lines of a that b has not and should have.
func without(command, a, b string) []string {
	other := strings.Split(b, "\n")
	return slices.DeleteFunc(strings.Split(a, "\n"), func(line string) bool {
		return slices.Contains(other, line) || slices.ContainsFunc(toolDifferences, func(d toolDifference) bool {
			return d.command.MatchString(command) && d.lines.MatchString(line)
		})
	})
}

type toolSide struct {
	tools  *agent.Tools
	words  *strings.Replacer
	hidden *strings.Replacer
}

func newToolSide(t *testing.T, kind sut.Kind) *toolSide {
	broker := sut.Start(t, sut.Options{Kind: kind})
	clients := agent.Start(t, agent.Java4, "clients-"+string(kind))
	producer := clients.Producer(t, agent.ProducerOptions{Name: "producer", Group: "tools-producer", NameServer: broker.NameServer()})
	s := &toolSide{tools: agent.StartTools(t, broker.NameServer())}
	s.tools.Run(t, "updateTopic", "-b", broker.Addr(), "-t", "Tools", "-r", "2", "-w", "2")
	var sent []agent.Result
	for i := range 6 {
		m := agent.Outgoing{Body: fmt.Sprintf("message-%d", i), Tags: "TagA", Keys: fmt.Sprintf("k%d", i)}
		sent = append(sent, producer.Send(t, agent.Sync, "Tools", agent.Place{Broker: broker.Name(), Queue: i % 2}, m)...)
	}
	options := agent.ConsumerOptions{Name: "consumer", Group: "tools-group", NameServer: broker.NameServer(), Topic: "Tools"}
	consumer := clients.Push(t, options)
	consumer.Await(t, "six messages", func(all []agent.Message) bool { return len(all) == 6 })
	consumer.Stop(t)
	clients.Push(t, options)
	awaitOutput(t, s.tools, "Diff Total: 0", "consumerProgress", "-g", "tools-group")
	client := regexp.MustCompile(`(?m)^(\S+@\S+)`).FindString(s.tools.Run(t, "consumerConnection", "-g", "tools-group"))
	export, err := os.MkdirTemp(t.TempDir(), "export")
	if err != nil {
		t.Fatal(err)
	}
	s.words = strings.NewReplacer("ADDR", broker.Addr(), "NAMES", broker.NameServer(), "OFFSETID", sent[0].OffsetMsgID,
		"UNIQID", sent[0].MsgID, "CLIENT", client, "EXPORT", export)
	s.hidden = strings.NewReplacer(export, "EXPORT", client, "CLIENT", broker.DataDir(), "STORE", broker.Home(), "HOME")
	return s
}

func (s *toolSide) run(t *testing.T, command string) string {
	return shape(s.hidden.Replace(s.tools.Run(t, strings.Fields(s.words.Replace(command))...)))
}

var (
	hexNumber = regexp.MustCompile(`\b[0-9A-F]{32,}\b`)
	code      = regexp.MustCompile(`(?s)CODE: (\d+) +DESC: .*`) // the words are each side's own
	number    = regexp.MustCompile(`-?\d[\d.]*(E-?\d+)?`)
	blanks    = regexp.MustCompile(` +`)
	trace     = regexp.MustCompile(`(?m)^\t(at|\.\.\.) .*\n`)
	rates     = regexp.MustCompile(`(?m)^(.*\w+Tps|.*putMessageDistributeTime|.*remainHowManyDataToFlush) *:.*`) // blank, or null, in a young Java
)

// shape is an output with all numbers replaced, and its lines sorted, as many of them stand in the order of a hash table.
func shape(out string) string {
	out = trace.ReplaceAllString(hexNumber.ReplaceAllString(out, "ID"), "")
	if c := code.FindStringSubmatch(out); c != nil {
		return "refused with " + c[1]
	}
	out = rates.ReplaceAllString(out, "$1")
	out = number.ReplaceAllString(out, "N")
	var lines []string
	for _, line := range strings.Split(blanks.ReplaceAllString(out, " "), "\n") {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
