package interop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weirmq/weir/sdk/guest"
	"github.com/weirmq/weir/test/internal/agent"
	"github.com/weirmq/weir/test/internal/repo"
	"github.com/weirmq/weir/test/internal/sut"
)

// dayMax is how long an author may take from an empty directory to the first matching message.
const dayMax = time.Minute

// author is somebody with nothing but the binary and a toolchain, in an empty directory.
type author struct {
	binary, dir string
	steps       []string
}

// run runs weir as the author does and returns what it wrote to standard output.
func (a *author) run(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*dayMax)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, a.binary, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = a.dir, &out, &errs
	began := time.Now()
	if err := cmd.Run(); err != nil {
		t.Fatalf("weir %s: %v\n%s%s", strings.Join(args, " "), err, out.Bytes(), errs.Bytes())
	}
	a.steps = append(a.steps, fmt.Sprintf("%s %.1f s", args[1], time.Since(began).Seconds()))
	return out.String()
}

// TestAuthorsDay makes, builds, tests and pushes a module of every language and kind that there is a kit for, as an author would
// who has the binary and the toolchain and nothing of the repository. An unmodified Java consumer then receives the messages
// that match, and no others. All messages of a topic are sent to one queue, and the last one matches: when it has arrived, the broker
// has judged those before it.
func TestAuthorsDay(t *testing.T) {
	t.Parallel()
	needModules(t)
	agent.Java4.Need(t)
	binary, err := sut.WeirBinary()
	if err != nil {
		t.Fatal(err)
	}
	broker := sut.Start(t, sut.Options{WeirConfig: "filters:\n  wasm:\n    push: {enabled: true}\nservice:\n  filters: [tag, sql92, wasm]\n"})
	client := agent.Start(t, agent.Java4, "authors")
	sender := client.Producer(t, agent.ProducerOptions{Name: "sender", Group: "sender-group", NameServer: broker.NameServer()})
	programs := map[string][]string{"rust": {"cargo", "rustc"}, "go": {"go"}, "c": {"clang", "wasm-ld"}, "assemblyscript": {"node", "npm"}}
	for _, lang := range guest.Languages() {
		for _, kind := range guest.Kinds(lang) {
			t.Run(lang+"/"+kind, func(t *testing.T) {
				repo.NeedTools(t, programs[lang]...)
				name, expression := "geo", "wasm.filter('geo') AND region = 'eu'"
				if kind == guest.Functions {
					name, expression = "places", "wasm.places.between(amount, 100.5, 1000.0) AND region = 'eu'"
				}
				a := &author{binary: binary, dir: t.TempDir()}
				began := time.Now()
				a.run(t, "plugin", "init", name, "--lang", lang, "--kind", kind)
				a.run(t, "plugin", "build", name)
				a.run(t, "plugin", "test", name)
				a.run(t, "plugin", "push", filepath.Join(name, name+".wasm"), "-n", broker.NameServer())

				topic := "Day-" + lang + "-" + kind
				all := receive(t, broker, client, sender, topic, expression)
				took := time.Since(began)
				t.Logf("%s; all %.1f s: %d messages", strings.Join(a.steps, ", "), took.Seconds(), len(all))
				if took > dayMax {
					t.Errorf("it took %s, more than %s: %s", took, dayMax, strings.Join(a.steps, ", "))
				}
			})
		}
	}
	t.Run("mistakes", func(t *testing.T) { mistakes(t, binary) })
}

// receive sends messages of which some match an expression, and wants a new group of Java's to receive those.
func receive(t *testing.T, broker *sut.Broker, client *agent.Agent, sender *agent.Producer, topic, expression string) []agent.Message {
	t.Helper()
	var want []string
	var messages []agent.Outgoing
	for i := range 200 {
		m := agent.Outgoing{Body: fmt.Sprint(topic, "-", i), Properties: map[string]string{"amount": fmt.Sprint(i), "region": []string{"us", "eu"}[i%2]}}
		switch {
		case i%10 == 3: // nothing can be said of these
			delete(m.Properties, "amount")
		case i%10 == 5:
			m.Properties["amount"] = "much"
		case i > 100 && i%2 == 1:
			want = append(want, m.Body)
		}
		messages = append(messages, m)
	}
	for _, m := range messages {
		sender.Send(t, agent.Sync, topic, agent.Place{Broker: "broker-a"}, m)
	}
	c := client.Push(t, agent.ConsumerOptions{Name: topic, Group: topic, NameServer: broker.NameServer(), Topic: topic, SQL: true, Expression: expression})
	defer c.Stop(t)
	all := c.Bodies(t, want...)
	if len(all) != len(want) {
		t.Errorf("%s: received %s, want %q", expression, agent.Summary(all), want)
	}
	return all
}

// mistakes wants a broken source and a wrong case to end a script: with the compiler's own words, and with what was expected.
func mistakes(t *testing.T, binary string) {
	repo.NeedTools(t, "clang", "wasm-ld")
	a := &author{binary: binary, dir: t.TempDir()}
	a.run(t, "plugin", "init", "geo", "--lang", "c")
	a.run(t, "plugin", "build", "geo")
	fails := func(command string, wants ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), binary, "plugin", command, "geo")
		cmd.Dir = a.dir
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 {
			t.Errorf("weir plugin %s: %v, want exit code 1\n%s", command, err, out)
		}
		for _, want := range wants {
			if !bytes.Contains(out, []byte(want)) {
				t.Errorf("weir plugin %s says\n%swithout %q", command, out, want)
			}
		}
	}
	edit(t, filepath.Join(a.dir, "geo", "cases.yaml"), `{amount: "100"}`+"\n    want: false", `{amount: "100"}`+"\n    want: true")
	fails("test", "FAIL  the limit itself  true  false\n", "8 cases, 1 failed")
	edit(t, filepath.Join(a.dir, "geo", "filter.c"), "amount > limit", "amount > limits")
	fails("build", "filter.c:", "error: use of undeclared identifier 'limits'", "clang failed: exit status 1")
}

// edit replaces a text in a file, which must have it.
func edit(t *testing.T, path, from, to string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(text, []byte(from)) {
		t.Fatalf("%s has no %q: %v", path, from, err)
	}
	if err := os.WriteFile(path, bytes.Replace(text, []byte(from), []byte(to), 1), 0o644); err != nil {
		t.Fatal(err)
	}
}
