package interop

import (
	"fmt"
	"hash/fnv"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirmq/weir/test/internal/agent"
	"github.com/weirmq/weir/test/internal/repo"
	"github.com/weirmq/weir/test/internal/sut"
)

// needModules skips a test whose broker, by a person's wish (WEIR_SUT=java), is Java's.
func needModules(t *testing.T) {
	t.Helper()
	if sut.Default() == sut.Java {
		t.Skip("Java's broker has no modules")
	}
}

// TestJavaCallsModules has an unmodified Java client reach a WebAssembly module through bySql: it gets the messages that match and
// no other, and is told what is wrong with a name.
func TestJavaCallsModules(t *testing.T) {
	t.Parallel()
	needModules(t)
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

// TestJavaCallsFunctions has an unmodified Java client call a function written in Rust, through bySql: of positions in and around
// Berlin, with ones missing and ones that are no numbers among them, it gets exactly those that are inside and cost enough.
func TestJavaCallsFunctions(t *testing.T) {
	t.Parallel()
	needModules(t)
	agent.Java4.Need(t)
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	broker := sut.Start(t, sut.Options{WeirConfig: fmt.Sprintf("filters:\n  wasm/geo:\n    path: %q\nservice:\n  filters: [tag, sql92, wasm/geo]\n",
		filepath.Join(root, "sdk", "guest", "rust", "examples", "places", "places.wasm"))})
	client := agent.Start(t, agent.Java4, "functions")
	sender := client.Producer(t, agent.ProducerOptions{Name: "sender", Group: "sender-group", NameServer: broker.NameServer()})
	sender.Send(t, agent.Sync, "Functions", agent.Place{}, agent.Outgoing{Body: "first", Properties: map[string]string{"amount": "101", "lat": "52.5", "lon": "13.4"}})
	consumer := func(name, expression string) agent.ConsumerOptions {
		return agent.ConsumerOptions{Name: name, Group: name, NameServer: broker.NameServer(), Topic: "Functions", SQL: true, Expression: expression}
	}
	inside := client.Push(t, consumer("inside", "amount > 100 AND wasm.geo.within(lat, lon, 'berlin')"))
	near := client.Push(t, consumer("near", "wasm.geo.apart(lat, lon, 52.5, 13.4) < 0.25 AND wasm.geo.share(customer, 2) = 0"))
	wantInside, wantNear := []string{"first"}, []string{"first"}
	for i := range 100 {
		m := agent.Outgoing{Body: fmt.Sprint("message-", i), Properties: map[string]string{"amount": fmt.Sprint(90 + i%20)}}
		lat, lon := 52+float64(i%10)/10, 12.5+float64(i/10)/5
		if i%7 != 0 {
			m.Properties["lat"] = fmt.Sprint(lat)
		}
		m.Properties["lon"] = fmt.Sprint(lon)
		if i%11 == 3 {
			m.Properties["lon"] = "east"
		}
		customer := []string{"", "ada", "grace", "zoë"}[i%4]
		if customer != "" {
			m.Properties["customer"] = customer
		}
		if position := i%7 != 0 && i%11 != 3; position {
			if i%20 > 10 && lat >= 52.3 && lat <= 52.7 && lon >= 13 && lon <= 13.8 {
				wantInside = append(wantInside, m.Body)
			}
			hash := fnv.New32a()
			hash.Write([]byte(customer))
			if math.Hypot(lat-52.5, lon-13.4) < 0.25 && (customer == "" || hash.Sum32()%2 == 0) {
				wantNear = append(wantNear, m.Body)
			}
		}
		sender.Send(t, agent.Sync, "Functions", agent.Place{}, m)
	}
	sender.Send(t, agent.Sync, "Functions", agent.Place{}, agent.Outgoing{Body: "last", // the end for both
		Properties: map[string]string{"amount": "1000", "lat": "52.4", "lon": "13.3"}})
	wantInside, wantNear = append(wantInside, "last"), append(wantNear, "last")
	if len(wantInside) < 8 || len(wantNear) < 5 {
		t.Fatalf("the test expects too little: %q, %q", wantInside, wantNear)
	}
	if all := inside.Bodies(t, wantInside...); len(all) != len(wantInside) {
		t.Errorf("inside: received %s, want %q", agent.Summary(all), wantInside)
	}
	if all := near.Bodies(t, wantNear...); len(all) != len(wantNear) {
		t.Errorf("near: received %s, want %q", agent.Summary(all), wantNear)
	}
	for expression, remark := range map[string]string{
		"wasm.geo.within(lat, lon)":            "wasm.geo.within takes 3 arguments, not 2",
		"wasm.geo.within(lat, 'east', 'rome')": "argument 2 of wasm.geo.within is of type double: the literal doesn't fit",
		"wasm.geo.inside(lat)":                 `"inside"; the module geo has within, apart, share`,
	} {
		err := client.TryPush(consumer(fmt.Sprint("wrong-", len(expression)), expression))
		if err == nil || !strings.Contains(err.Error(), remark) || !strings.Contains(err.Error(), "23") {
			t.Errorf("%s: %v, want code 23 and %q", expression, err, remark)
		}
	}
}
