package brokertest_test

import (
	"context"
	"testing"

	"github.com/weirmq/weir/sdk/brokertest"
	"github.com/weirmq/weir/sdk/client"
)

// A test of a program that talks to RocketMQ: start a broker, hand its name server to the program, look at what happens.
// The client here is sdk/client; any other does as well.
func TestAnOrderReachesTheWarehouse(t *testing.T) {
	b := brokertest.Start(t, brokertest.Set("topics.default_queues", "1"))
	c := client.New(client.Options{NameServers: []string{b.NameServer()}})
	defer c.Close()

	shop := c.Producer("shop")
	if _, err := shop.Send(t.Context(), &client.Message{Topic: "orders", Tag: "paid", Body: []byte("one kettle")}); err != nil {
		t.Fatal(err)
	}

	shipped := make(chan string, 1)
	warehouse, err := c.Consume(t.Context(), client.ConsumerOptions{
		Group:         "warehouse",
		Subscriptions: []client.Subscription{{Topic: "orders", Expression: "paid"}},
		Handle: func(_ context.Context, ms []*client.Received) error {
			shipped <- string(ms[0].Body)
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer warehouse.Close()
	select {
	case order := <-shipped:
		if order != "one kettle" {
			t.Errorf("the warehouse got %q", order)
		}
	case <-t.Context().Done():
		t.Fatal("no order came")
	}
}
