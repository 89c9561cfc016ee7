package client

import (
	"context"
	"slices"
	"time"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/sdk/wire"
)

// beatPeriod is how often brokers are told who we are. They forget a client after two minutes.
const beatPeriod = 30 * time.Second

// startHeartbeats begins telling the brokers of all known routes about this client's producers and consumers.
func (c *Client) startHeartbeats() {
	c.beats.Do(func() {
		c.wg.Go(func() {
			tick := time.NewTicker(beatPeriod)
			defer tick.Stop()
			for {
				select {
				case <-c.stop:
					return
				case <-tick.C:
					ctx, cancel := context.WithTimeout(context.Background(), c.opts.Timeout)
					c.beat(ctx)
					cancel()
				}
			}
		})
	})
}

// beat sends a heartbeat to every broker of the known routes. A broker that can't be reached gets the next one.
func (c *Client) beat(ctx context.Context) {
	body, addrs := c.heartbeat()
	for _, addr := range addrs {
		_, _ = c.Call(ctx, addr, wire.CodeHeartbeat, nil, body)
	}
}

// heartbeat makes the body, and lists where it goes.
func (c *Client) heartbeat() (body []byte, addrs []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := wire.Heartbeat{ClientID: c.id, ConsumerDataSet: []wire.ConsumerData{}, ProducerDataSet: []wire.ProducerData{}}
	for _, k := range c.consumers {
		b.ConsumerDataSet = append(b.ConsumerDataSet, k.data())
	}
	for _, g := range sortedKeys(c.producers) {
		b.ProducerDataSet = append(b.ProducerDataSet, wire.ProducerData{GroupName: g})
	}
	for _, r := range c.routes {
		for _, addr := range r.Brokers {
			if !slices.Contains(addrs, addr) {
				addrs = append(addrs, addr)
			}
		}
	}
	slices.Sort(addrs)
	body, err := wire.AppendBody(nil, &b)
	if err != nil {
		return nil, nil // nothing in it can't be written
	}
	return body, addrs
}

// Serve answers what brokers ask of their clients.
func (c *Client) Serve(_ *Conn, h *wire.Header, _ []byte) *Response {
	switch h.Code {
	case wire.CodeNotifyConsumerIDsChanged:
		group := h.OptText("consumerGroup")
		c.mu.Lock()
		for _, k := range c.consumers {
			if k.opts.Group == group {
				k.poke()
			}
		}
		c.mu.Unlock()
		return nil
	default:
		return &Response{Code: codeNotSupported, Remark: "this client doesn't serve " + wire.CodeName(h.Code)}
	}
}

func (c *Client) addConsumer(k *Consumer) {
	c.mu.Lock()
	c.consumers = append(c.consumers, k)
	c.mu.Unlock()
	c.startHeartbeats()
}

func (c *Client) removeConsumer(k *Consumer) {
	c.mu.Lock()
	c.consumers = slices.DeleteFunc(c.consumers, func(o *Consumer) bool { return o == k })
	c.mu.Unlock()
}

// unregister tells all brokers that a group's member is gone.
func (c *Client) unregister(ctx context.Context, group string) {
	_, addrs := c.heartbeat()
	for _, addr := range addrs {
		_, _ = c.Call(ctx, addr, wire.CodeUnregisterClient, &wire.UnregisterClientHeader{ClientID: c.id, ConsumerGroup: group}, nil)
	}
}

// members lists the ids of a group's members, as a broker of the topic knows them.
func (c *Client) members(ctx context.Context, addr, group string) ([]string, error) {
	var l wire.ConsumerList
	err := c.callInto(ctx, addr, wire.CodeGetConsumerListByGroup, &wire.GroupHeader{ConsumerGroup: group}, &l)
	return l.ConsumerIDList, err
}

// subscriptionData is a subscription as heartbeats carry it.
func subscriptionData(s Subscription, version int64) wire.SubscriptionData {
	d := wire.SubscriptionData{Topic: s.Topic, SubString: s.expression(), SubVersion: version, ExpressionType: s.kind(),
		TagsSet: []string{}, CodeSet: []int32{}}
	if d.ExpressionType == message.ExpressionTag {
		if tags, err := message.ParseTags(d.SubString); err == nil && !tags.All {
			d.TagsSet, d.CodeSet = tags.Names, tags.Codes
		}
	}
	return d
}
