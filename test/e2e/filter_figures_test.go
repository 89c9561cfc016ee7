package e2e

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weirmq/weir/sdk/brokertest"
	"github.com/weirmq/weir/sdk/client"
	"github.com/weirmq/weir/sdk/wire"
	"github.com/weirmq/weir/test/internal/metrics"
	"github.com/weirmq/weir/test/internal/ports"
)

// Groups that filter by tag, SQL92 and EXPR consume a backlog and what arrives later; their figures, as metrics and as a list,
// are what the messages are.
func TestFilterFigures(t *testing.T) {
	listen := ports.Addr(ports.Must(t))
	br := brokertest.Start(t, brokertest.Set("service.filters", "tag,sql92,expr"), brokertest.Set("topics.default_queues", "1"),
		brokertest.Set("queues.verdicts.dispatch_share", "1"), brokertest.Set("telemetry.prometheus.listen", listen))
	c := client.New(client.Options{NameServers: []string{br.NameServer()}, Timeout: 30 * time.Second})
	defer c.Close()

	const n = 640 // in each half: every second paid, every fourth in eu, every tenth with an amount that is no number
	send := func(from int) {
		t.Helper()
		for first := from; first < from+n; first += 64 {
			var batch []*client.Message
			for i := first; i < first+64; i++ {
				m := &client.Message{Topic: "Orders", Tag: []string{"paid", "open"}[i%2], Body: fmt.Appendf(nil, `{"n": %d}`, i),
					Properties: map[string]string{"amount": strconv.Itoa(i), "region": []string{"eu", "us", "us", "us"}[i%4]}}
				if i%10 == 0 {
					m.Properties["amount"] = "much"
				}
				batch = append(batch, m)
			}
			if _, err := c.Producer("orders").SendBatch(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
		}
	}
	groups := []struct{ group, kind, text string }{
		{"by-tag", "TAG", "paid"},
		{"by-sql", "SQL92", "amount > 0 AND region = 'eu' AND TAGS = 'paid'"},
		{"by-sql-too", "SQL92", "amount > 0 AND region = 'eu' AND TAGS = 'paid'"},
		{"by-body", "EXPR", `json("n") >= 0 and num("amount") >= 0`},
	}
	await := func(what string, ok func(map[string]wire.Filter) bool) map[string]wire.Filter {
		t.Helper()
		for {
			list, err := c.Filters(t.Context(), br.Addr(), "")
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			by := map[string]wire.Filter{}
			for _, f := range list {
				if f.Topic == "Orders" {
					by[f.Group] = f
				}
			}
			if ok(by) {
				return by
			}
			select {
			case <-time.After(5 * time.Millisecond):
			case <-t.Context().Done():
				t.Fatalf("%s: still %+v", what, by)
			}
		}
	}
	send(0)
	var consumers []*client.Consumer
	for _, g := range groups {
		k, err := c.Consume(t.Context(), client.ConsumerOptions{Group: g.group, From: wire.FromFirstOffset,
			Subscriptions: []client.Subscription{{Topic: "Orders", Type: g.kind, Expression: g.text}},
			Handle:        func(context.Context, []*client.Received) error { return nil }, Errors: func(err error) { t.Log(err) }})
		if err != nil {
			t.Fatal(err)
		}
		consumers = append(consumers, k)
	}
	scanned := func(want int64) func(map[string]wire.Filter) bool {
		return func(by map[string]wire.Filter) bool {
			for _, g := range groups {
				if by[g.group].Scanned < want {
					return false
				}
			}
			return true
		}
	}
	await("the backlog", scanned(n))
	send(n)
	by := await("what arrived", func(by map[string]wire.Filter) bool {
		return scanned(2*n)(by) && by["by-sql"].Covered == 2*n && by["by-body"].Covered == 2*n
	})
	const eu, odd = 2 * n / 4, 2 * n / 10 // of eu every fifth has no amount
	for _, want := range []wire.Filter{
		{Group: "by-tag", Type: "TAG", Engine: "tag codes", Scanned: 2 * n, Matched: n, ByIndex: n},
		{Group: "by-sql", Type: "SQL92", Engine: "vector", Kept: true, Scanned: 2 * n, Matched: eu - eu/5, Covered: 2 * n, Entries: 2 * n},
		{Group: "by-sql-too", Type: "SQL92", Engine: "vector", Kept: true, Scanned: 2 * n, Matched: eu - eu/5, Covered: 2 * n, Entries: 2 * n},
		{Group: "by-body", Type: "EXPR", Engine: "direct calls", Kept: true, Scanned: 2 * n, Matched: 2*n - odd, Covered: 2 * n, Entries: 2 * n},
	} {
		f := by[want.Group]
		if f.Type != want.Type || f.Engine != want.Engine || f.Kept != want.Kept || f.Scanned != want.Scanned || f.Matched != want.Matched ||
			f.Covered != want.Covered || f.Entries != want.Entries || !f.Live || f.Errors != 0 || f.Unknown != 0 || f.Undecided != 0 || f.Fault != "" {
			t.Errorf("%+v\nwant %+v", f, want)
		}
		if want.Type == "TAG" && (f.ByIndex != want.ByIndex || f.JudgedArriving+f.JudgedPulling != 0) {
			t.Errorf("%+v\nwant %+v", f, want)
		}
	}
	// Both groups with one expression show what was judged for both as it arrived: those of the second half that were paid.
	if a, b := by["by-sql"], by["by-sql-too"]; a.JudgedArriving != n/2 || b.JudgedArriving != n/2 || a.JudgedPulling+b.JudgedPulling > n+64 || a.Nanos == 0 {
		t.Errorf("%+v\n%+v", a, b)
	}
	if f := by["by-body"]; f.JudgedArriving != n || f.JudgedPulling < n || f.Raised < odd || f.Raised > odd+7 {
		t.Errorf("%+v: %d messages have no amount", f, odd)
	}

	text := scrape(t, listen)
	for _, want := range []string{
		`weir_subscription_scanned_total{consumer_group="by-tag",topic="Orders"} 1280`,
		`weir_subscription_matched_total{consumer_group="by-tag",topic="Orders"} 640`,
		`weir_subscription_rejected_total{consumer_group="by-tag",topic="Orders"} 640`,
		`weir_subscription_ruled_out_total{by="index",consumer_group="by-tag",topic="Orders"} 640`,
		`weir_subscription_matched_total{consumer_group="by-sql",topic="Orders"} 256`,
		`weir_subscription_judged_total{at="arrival",consumer_group="by-sql",topic="Orders"} 320`,
		`weir_subscription_cover_ratio{consumer_group="by-sql",topic="Orders"} 1`,
		`weir_subscription_raised_total{consumer_group="by-body",topic="Orders"} ` + strconv.FormatInt(by["by-body"].Raised, 10),
		`weir_subscription_errors_total{consumer_group="by-body",topic="Orders"} 0`,
		`weir_subscription_judging_seconds_total{consumer_group="by-body",topic="Orders"} `,
		`weir_subscription_dropped_total 0`,
	} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if strings.Contains(text, `weir_subscription_cover_ratio{consumer_group="by-tag"`) {
		t.Error("a cover of tags, which have none")
	}
	for _, k := range consumers {
		k.Close()
	}
	await("the end", func(by map[string]wire.Filter) bool { return !by["by-sql"].Live && !by["by-tag"].Live })
}

var commonLabels = regexp.MustCompile(`(cluster|node_id|node_type|is_system|is_retry)="[^"]*",?`)

// scrape returns the metrics as lines without the labels that say nothing here.
func scrape(t *testing.T, addr string) string {
	t.Helper()
	return strings.NewReplacer(",}", "}", "{}", "").Replace(commonLabels.ReplaceAllString(metrics.Scrape(t, addr), ""))
}

// A module's figures go to the metrics, and only messages that pass the cheap conditions reach it, wherever those stand.
func TestModuleFigures(t *testing.T) {
	listen := ports.Addr(ports.Must(t))
	br := brokertest.Start(t, brokertest.Set("service.filters", "tag,sql92,wasm/big"), brokertest.Set("topics.default_queues", "1"),
		brokertest.Set("filters.wasm/big.path", guests+"/c/examples/threshold/threshold.wasm"), brokertest.Set("filters.wasm/big.config.limit", "90"),
		brokertest.Set("telemetry.prometheus.listen", listen))
	c := client.New(client.Options{NameServers: []string{br.NameServer()}})
	defer c.Close()
	var queue client.Queue
	for i := range 100 {
		r, err := c.Producer("p").Send(t.Context(), &client.Message{Topic: "T", Body: []byte("x"), Properties: map[string]string{"amount": strconv.Itoa(i)}})
		if err != nil {
			t.Fatal(err)
		}
		queue = r.Queue
	}
	pull := func(expression string) int {
		t.Helper()
		r, err := c.Pull(t.Context(), client.PullRequest{Queue: queue, Group: "g", Max: 200, Commit: -1,
			Subscription: &client.Subscription{Topic: "T", Type: "SQL92", Expression: expression}})
		if err != nil {
			t.Log(err)
			return -1
		}
		return len(r.Messages)
	}
	records := func() (n int) {
		t.Helper()
		m := regexp.MustCompile(`\nweir_filter_wasm_records_total{module="big"} (\d+)\n`).FindStringSubmatch(scrape(t, listen))
		if m != nil {
			n, _ = strconv.Atoi(m[1])
		}
		return n
	}
	for _, text := range []string{"wasm.filter('big') AND amount >= 95", "amount >= 95 AND wasm.filter('big')"} {
		before := records()
		if n := pull(text); n != 5 {
			t.Errorf("%s: %d messages", text, n)
		}
		if n := records() - before; n != 5 {
			t.Errorf("%s: the module was asked about %d messages", text, n)
		}
	}
	figures := scrape(t, listen)
	for _, want := range []string{`weir_module_breaker_open{module="big",number="0"} 0`, `weir_module_programs{module="big",number="0"} 2`,
		`weir_module_instances{module="big",number="0"} 2`, `weir_module_judging_seconds_total{module="big",number="0"} `} {
		if !strings.Contains(figures, "\n"+want) {
			t.Errorf("no %s in\n%s", want, figures)
		}
	}
}
