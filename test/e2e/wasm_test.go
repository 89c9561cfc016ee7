package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/sdk/brokertest"
	"github.com/weirmq/weir/sdk/client"
)

const guests = "../../sdk/guest"

// TestWASMFilters has two modules in one broker, in C and in Rust, and pulls through each, with settings of the broker's
// and of the subscription's. A text that names no module is refused with those there are.
func TestWASMFilters(t *testing.T) {
	b := brokertest.Start(t,
		brokertest.Set("service.filters", "tag,wasm/big,wasm/fence"),
		brokertest.Set("filters.wasm/big.path", guests+"/c/examples/threshold/threshold.wasm"),
		brokertest.Set("filters.wasm/big.config.limit", "90"),
		brokertest.Set("filters.wasm/fence.path", guests+"/rust/examples/geo/geo.wasm"),
	)
	c := client.New(client.Options{NameServers: []string{b.NameServer()}})
	defer c.Close()
	var queue client.Queue
	for i := range 100 {
		sent, err := c.Producer("p").Send(t.Context(), &client.Message{Topic: "T", Body: fmt.Append(nil, i), QueueKey: "one",
			Properties: map[string]string{"amount": fmt.Sprint(i), "lat": fmt.Sprint(i), "lon": "10"}})
		if err != nil {
			t.Fatal(err)
		}
		queue = sent.Queue
	}
	for expression, want := range map[string]string{
		"big":                                    "91 92 93 94 95 96 97 98 99",
		"big@1.0.0?limit=96":                     "97 98 99",
		"big?property=lon&limit=100":             "",
		"fence?south=3&west=9&north=5.5&east=11": "3 4 5",
	} {
		r, err := c.Pull(t.Context(), client.PullRequest{Queue: queue, Group: "g", Max: 200, Commit: -1,
			Subscription: &client.Subscription{Topic: "T", Type: "WASM", Expression: expression}})
		if err != nil {
			t.Errorf("%s: %v", expression, err)
			continue
		}
		var got []string
		for _, m := range r.Messages {
			got = append(got, string(m.Body))
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: got %s, want %s", expression, s, want)
		}
	}
	_, err := c.Pull(t.Context(), client.PullRequest{Queue: queue, Group: "g", Commit: -1,
		Subscription: &client.Subscription{Topic: "T", Type: "WASM", Expression: "small"}})
	if err == nil || !strings.Contains(err.Error(), `nothing is called "small"; there are big, fence`) ||
		!strings.Contains(err.Error(), message.SubscriptionParseFailed.String()) {
		t.Errorf("a module that isn't: %v", err)
	}
}

// TestWASMFilterThatFails has a module that traps at one message of four. What stands before it is delivered; at it the
// consumer waits, is told why, and loses nothing.
func TestWASMFilterThatFails(t *testing.T) {
	b := brokertest.Start(t, brokertest.Set("service.filters", "tag,wasm/trap"),
		brokertest.Set("filters.wasm/trap.path", "testdata/trap.wasm"))
	c := client.New(client.Options{NameServers: []string{b.NameServer()}})
	defer c.Close()
	var queue client.Queue
	for i := range 4 {
		m := &client.Message{Topic: "T", Body: fmt.Append(nil, i), QueueKey: "one"}
		if i == 2 {
			m.Properties = map[string]string{"bad": "yes"}
		}
		sent, err := c.Producer("p").Send(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		queue = sent.Queue
	}
	pull := func(offset int64) (*client.PullResult, error) {
		return c.Pull(t.Context(), client.PullRequest{Queue: queue, Group: "g", Offset: offset, Commit: -1,
			Subscription: &client.Subscription{Topic: "T", Type: "WASM", Expression: "trap"}})
	}
	r, err := pull(0)
	if err != nil || len(r.Messages) != 2 || r.Next != 2 {
		t.Fatalf("got %+v, %v, want the two messages before", r, err)
	}
	if _, err := pull(2); err == nil || !strings.Contains(err.Error(), "couldn't judge the next message; try again: WASM module trap: the module trapped: unreachable") {
		t.Errorf("at the message that can't be judged: %v", err)
	}
	if r, err := pull(3); err != nil || len(r.Messages) != 1 || string(r.Messages[0].Body) != "3" {
		t.Errorf("behind it: %+v, %v", r, err)
	}
}
