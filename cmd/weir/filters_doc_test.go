package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/weirmq/weir/sdk/brokertest"
	"github.com/weirmq/weir/sdk/client"
	"github.com/weirmq/weir/sdk/wire"
)

// TestFiltersDoc runs every command of docs/filters.md against a broker, one after the other in a shell.
func TestFiltersDoc(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		if os.Getenv("WEIR_REQUIRE_ALL") == "1" {
			t.Fatal("sh is needed to run what docs/filters.md says")
		}
		t.Skip("sh is needed to run what docs/filters.md says")
	}
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "weir"), ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	here, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile("testdata/filters.yaml")
	if err != nil {
		t.Fatal(err)
	}
	config = []byte(strings.ReplaceAll(string(config), "../../", here+"/"))
	if err := os.WriteFile(filepath.Join(dir, "broker.yaml"), config, 0o600); err != nil {
		t.Fatal(err)
	}
	b := brokertest.Start(t)
	fillOrders(t, b)
	var commands []string
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(readDoc(t, "filters.md"), -1) {
		commands = append(commands, strings.Split(strings.TrimSpace(block[1]), "\n")...)
	}
	if len(commands) < 12 {
		t.Fatalf("only %d commands in docs/filters.md", len(commands))
	}
	for _, line := range commands {
		c := exec.CommandContext(t.Context(), sh, "-c", line)
		c.Dir = dir
		c.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"), "WEIR_NAMESERVER_ADDRS="+b.NameServer())
		if out, err := c.CombinedOutput(); err != nil || len(out) == 0 && !strings.Contains(line, ">") {
			t.Errorf("%s\n%v: %s", line, err, out)
		} else {
			t.Logf("%s\n%s", line, out)
		}
	}
}

// fillOrders puts messages into the topic orders and lets the group billing consume some.
func fillOrders(t *testing.T, b *brokertest.Broker) {
	t.Helper()
	c := client.New(client.Options{NameServers: []string{b.NameServer()}})
	t.Cleanup(func() { _ = c.Close() })
	for i := range 200 {
		if _, err := c.Producer("p").Send(t.Context(), &client.Message{Topic: "orders", Tag: "paid", Body: []byte(`{"customer": {"vip": true}}`),
			Properties: map[string]string{"amount": fmt.Sprint(i), "lat": "52.5", "lon": "13.4", "state": "free"}}); err != nil {
			t.Fatal(err)
		}
	}
	came := make(chan struct{}, 1)
	k, err := c.Consume(t.Context(), client.ConsumerOptions{Group: "billing", From: wire.FromFirstOffset,
		Subscriptions: []client.Subscription{{Topic: "orders", Type: "SQL92", Expression: "amount > 100"}},
		Handle: func(context.Context, []*client.Received) error {
			select {
			case came <- struct{}{}:
			default:
			}
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.Close() })
	<-came
}
