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

// TestWASMFilterThatFails has a module that traps at one message of four. With on_poison: hold what stands before it is
// delivered, and at it the consumer waits, is told why, and loses nothing; by default it is dropped, and pass delivers it.
func TestWASMFilterThatFails(t *testing.T) {
	for policy, want := range map[string]string{"": "013", "drop": "013", "pass": "0123", "hold": "01"} {
		t.Run(policy, func(t *testing.T) {
			set := []brokertest.Option{brokertest.Set("service.filters", "tag,wasm/trap"), brokertest.Set("filters.wasm/trap.path", "testdata/trap.wasm")}
			if policy != "" {
				set = append(set, brokertest.Set("filters.wasm/trap.on_poison", policy))
			}
			b := brokertest.Start(t, set...)
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
			if err != nil || bodiesOf(r) != want {
				t.Fatalf("got %q, %v, want %q", bodiesOf(r), err, want)
			}
			if policy != "hold" {
				return
			}
			if _, err := pull(2); r.Next != 2 || err == nil || !strings.Contains(err.Error(), "couldn't judge the next message; try again: WASM module trap: the module trapped: unreachable") {
				t.Errorf("at the message that can't be judged, after %d: %v", r.Next, err)
			}
			if r, err := pull(3); err != nil || bodiesOf(r) != "3" {
				t.Errorf("behind it: %q, %v", bodiesOf(r), err)
			}
		})
	}
}

func bodiesOf(r *client.PullResult) string {
	var out strings.Builder
	if r != nil {
		for _, m := range r.Messages {
			out.Write(m.Body)
		}
	}
	return out.String()
}

// TestSQL92CallsModules reaches a whole module from SQL92, as a client does that knows no other expression type, and is told
// what is wrong with a call.
func TestSQL92CallsModules(t *testing.T) {
	b := brokertest.Start(t,
		brokertest.Set("service.filters", "tag,sql92,wasm/big,wasm/places"),
		brokertest.Set("filters.wasm/places.path", guests+"/c/examples/places/places.wasm"),
		brokertest.Set("filters.wasm/big.path", guests+"/c/examples/threshold/threshold.wasm"),
		brokertest.Set("filters.wasm/big.config.limit", "90"),
	)
	c := client.New(client.Options{NameServers: []string{b.NameServer()}})
	defer c.Close()
	var queue client.Queue
	for i := range 100 {
		sent, err := c.Producer("p").Send(t.Context(), &client.Message{Topic: "T", Body: fmt.Append(nil, i, " "), QueueKey: "one",
			Properties: map[string]string{"amount": fmt.Sprint(i), "odd": fmt.Sprint(i % 2), "lat": "52.5", "lon": fmt.Sprint("13.", i)}})
		if err != nil {
			t.Fatal(err)
		}
		queue = sent.Queue
	}
	pull := func(expression string) (string, error) {
		r, err := c.Pull(t.Context(), client.PullRequest{Queue: queue, Group: "g", Max: 200, Commit: -1,
			Subscription: &client.Subscription{Topic: "T", Type: "SQL92", Expression: expression}})
		return strings.TrimSpace(bodiesOf(r)), err
	}
	for expression, want := range map[string]string{
		"odd = 1 AND wasm.filter('big')":                         "91 93 95 97 99",
		"wasm.filter('big', '{\"limit\": 96}')":                  "97 98 99",
		"NOT wasm.filter('big?limit=3') AND odd = '0'":           "0 2",
		"amount < 10 AND wasm.places.within(lat, lon, 'berlin')": "0 1 2 3 4 5 6 7 8",
		"amount < 20 AND wasm.apart(lat, lon, 52.5, 13) < 0.125": "0 1 10 11 12",
		"wasm.places.share(amount, 1) = 0 AND amount > 97":       "98 99",
		"wasm.filter('big@1') AND wasm.filter('big?limit=97')":   "98 99",
	} {
		if got, err := pull(expression); err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", expression, got, err, want)
		}
	}
	for expression, want := range map[string]string{
		"wasm.filter('small')":                 `at character 1: there is no module "small"; there are big, places`,
		"wasm.geo.within(a)":                   "at character 1: there is no module geo; there are wasm.places.apart, wasm.places.share, wasm.places.within",
		"wasm.places.within(lat)":              "at character 1: wasm.places.within takes 3 arguments, not 1",
		"wasm.filter('big', '{\"edge\": 96}')": "the module's configuration is wrong: there is no setting \"edge\"",
		"a = 1 AND wasm.inside(a)":             "at character 11: there is no function inside",
	} {
		if _, err := pull(expression); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), message.SubscriptionParseFailed.String()) {
			t.Errorf("%s: %v, want %s", expression, err, want)
		}
	}
}
