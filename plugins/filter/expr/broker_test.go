package expr_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/sdk/brokertest"
	"github.com/weirmq/weir/sdk/client"
	"github.com/weirmq/weir/sdk/wire"
)

const rich = `num("amount") > 100 and json("country") in ["DE", "FR"] or tags == "vip"`

func send(t *testing.T, c *client.Client, n int) (matching []string) {
	t.Helper()
	p := c.Producer("shop")
	for i := range n {
		m := &client.Message{Topic: "Orders", Properties: map[string]string{"amount": fmt.Sprint(i * 10)}}
		country := []string{"DE", "US", "FR", "IT"}[i%4]
		m.Body = fmt.Appendf(nil, `{"n": %d, "country": %q}`, i, country)
		if i%17 == 0 {
			m.Tag = "vip"
		}
		if i%5 == 0 {
			delete(m.Properties, "amount")
		}
		if m.Tag == "vip" || i%5 != 0 && i*10 > 100 && (country == "DE" || country == "FR") {
			matching = append(matching, string(m.Body))
		}
		if _, err := p.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	return matching
}

// TestConsumerGetsOnlyMatches consumes a backlog, then messages that arrive while the pulls are held.
func TestConsumerGetsOnlyMatches(t *testing.T) {
	b := brokertest.Start(t, brokertest.Set("service.filters", "tag,expr"), brokertest.Set("topics.default_queues", "2"))
	c := client.New(client.Options{NameServers: []string{b.NameServer()}})
	defer c.Close()
	want := send(t, c, 120)
	got := make(chan string, 1000)
	k, err := c.Consume(t.Context(), client.ConsumerOptions{
		Group: "rich", From: wire.FromFirstOffset,
		Subscriptions: []client.Subscription{{Topic: "Orders", Type: "EXPR", Expression: rich}},
		Errors:        func(err error) { t.Log(err) },
		Handle: func(_ context.Context, ms []*client.Received) error {
			for _, m := range ms {
				got <- string(m.Body)
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	receive := func(want []string) {
		t.Helper()
		var bodies []string
		for range want {
			select {
			case body := <-got:
				bodies = append(bodies, body)
			case <-t.Context().Done():
				t.Fatalf("%d of %d came", len(bodies), len(want))
			}
		}
		slices.Sort(bodies)
		slices.Sort(want)
		if !slices.Equal(bodies, want) {
			t.Errorf("got %q\nwant %q", bodies, want)
		}
	}
	receive(want)
	receive(send(t, c, 40))
	if len(got) > 0 {
		t.Errorf("%d more came", len(got))
	}
}

// TestBadExpressionIsTold wants the compiler's words where the client looks: in the remark of the answer.
func TestBadExpressionIsTold(t *testing.T) {
	b := brokertest.Start(t, brokertest.Set("service.filters", "tag,expr"))
	c := client.New(client.Options{NameServers: []string{b.NameServer()}})
	defer c.Close()
	sent, err := c.Producer("shop").Send(t.Context(), &client.Message{Topic: "Orders", Body: []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Pull(t.Context(), client.PullRequest{Queue: sent.Queue, Group: "g", Max: 1,
		Subscription: &client.Subscription{Type: "EXPR", Expression: "amount > 100"}})
	var said *message.Error
	if !errors.As(err, &said) || said.Code != message.SubscriptionParseFailed ||
		!strings.Contains(said.Remark, `line 1, column 1: unknown name amount; a property is read by str("amount") or num("amount")`) {
		t.Errorf("pulled with a bad expression: %v", err)
	}
}
