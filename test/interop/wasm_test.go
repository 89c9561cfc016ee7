package interop

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirmq/weir/test/internal/agent"
	"github.com/weirmq/weir/test/internal/repo"
	"github.com/weirmq/weir/test/internal/sut"
)

// TestJavaCallsModules has an unmodified Java client reach a WebAssembly module through bySql: it gets the messages that match and
// no other, and is told what is wrong with a name.
func TestJavaCallsModules(t *testing.T) {
	t.Parallel()
	if sut.Default() == sut.Java {
		t.Skip("Java's broker has no modules")
	}
	agent.Java4.Need(t)
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	broker := sut.Start(t, sut.Options{WeirConfig: fmt.Sprintf("filters:\n  wasm/big:\n    path: %q\n    config: {limit: \"100\"}\nservice:\n  filters: [tag, sql92, wasm/big]\n",
		filepath.Join(root, "sdk", "guest", "c", "examples", "threshold", "threshold.wasm"))})
	client := agent.Start(t, agent.Java4, "modules")
	sender := client.Producer(t, agent.ProducerOptions{Name: "sender", Group: "sender-group", NameServer: broker.NameServer()})
	sender.Send(t, agent.Sync, "Modules", agent.Place{}, agent.Outgoing{Body: "first", Properties: map[string]string{"amount": "1000", "region": "eu"}})

	consumer := func(name, expression string) agent.ConsumerOptions {
		return agent.ConsumerOptions{Name: name, Group: name, NameServer: broker.NameServer(), Topic: "Modules", SQL: true, Expression: expression}
	}
	c := client.Push(t, consumer("calls", "region = 'eu' AND wasm.filter('big', '{\"limit\": 15}')"))
	var want []string
	for i := range 40 {
		m := agent.Outgoing{Body: fmt.Sprint("message-", i), Properties: map[string]string{"amount": fmt.Sprint(i), "region": []string{"eu", "us"}[i%2]}}
		if i > 15 && i%2 == 0 {
			want = append(want, m.Body)
		}
		sender.Send(t, agent.Sync, "Modules", agent.Place{}, m)
	}
	want = append(want, "first")
	all := c.Bodies(t, want...)
	if len(all) != len(want) {
		t.Errorf("received %s, want %q", agent.Summary(all), want)
	}

	for expression, remark := range map[string]string{
		"wasm.filter('small')":  `there is no module "small"; there are big`,
		"a = 1 AND wasm.geo(a)": "at character 11: there is no function geo",
	} {
		err := client.TryPush(consumer(fmt.Sprint("wrong-", len(expression)), expression))
		if err == nil || !strings.Contains(err.Error(), remark) || !strings.Contains(err.Error(), "23") {
			t.Errorf("%s: %v, want code 23 and %q", expression, err, remark)
		}
	}
}
