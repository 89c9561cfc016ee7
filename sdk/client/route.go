package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/sdk/wire"
)

// Queue is one queue of a topic, and where it is.
type Queue struct {
	Topic  string
	Broker string
	ID     int32
	Addr   string // of the broker's master, or of a replica when there is none
}

// MessageQueue is q as it is written in bodies.
func (q Queue) MessageQueue() wire.MessageQueue {
	return wire.MessageQueue{BrokerName: q.Broker, QueueID: q.ID, Topic: q.Topic}
}

// String formats q as topic@broker:id.
func (q Queue) String() string { return fmt.Sprintf("%s@%s:%d", q.Topic, q.Broker, q.ID) }

// Route says where a topic is.
type Route struct {
	Topic string
	// Write and Read are the queues that may be sent to and read from, by broker and number.
	Write, Read []Queue
	// Brokers are the masters' addresses by broker name.
	Brokers map[string]string
	// AutoCreated says that the topic doesn't exist and that these are the queues it would get.
	AutoCreated bool
	// Raw is what the name server said.
	Raw wire.TopicRoute

	fetched time.Time
}

// Route returns the route of a topic, from the cache when it is young enough. A topic that doesn't exist is a
// *message.Error with the code TopicNotExist.
func (c *Client) Route(ctx context.Context, topic string) (*Route, error) {
	c.mu.Lock()
	r := c.routes[topic]
	c.mu.Unlock()
	if r != nil && time.Since(r.fetched) < c.opts.RouteRefresh {
		return r, nil
	}
	fresh, err := c.FetchRoute(ctx, topic)
	if err != nil {
		var said *message.Error
		if r != nil && !errors.As(err, &said) {
			return r, nil // the name servers are away: what they said last still holds
		}
		return nil, err
	}
	return fresh, nil
}

// FetchRoute asks the name servers.
func (c *Client) FetchRoute(ctx context.Context, topic string) (*Route, error) {
	r, err := c.ask(ctx, wire.CodeGetRouteInfoByTopic, &wire.RouteHeader{Topic: topic, AcceptStandardJSONOnly: true}, nil)
	if err != nil {
		return nil, err
	}
	route := &Route{Topic: topic, fetched: time.Now()}
	if err := wire.ParseBody(r.Body, &route.Raw); err != nil {
		return nil, fmt.Errorf("route of %s: %w", topic, err)
	}
	route.fill()
	c.mu.Lock()
	c.routes[topic] = route
	c.mu.Unlock()
	return route, nil
}

// RouteToSend is Route for producers: a topic that doesn't exist gets the queues that it would be made with.
func (c *Client) RouteToSend(ctx context.Context, topic string) (*Route, error) {
	r, err := c.Route(ctx, topic)
	var said *message.Error
	if !errors.As(err, &said) || said.Code != message.TopicNotExist {
		return r, err
	}
	template, terr := c.Route(ctx, message.TopicAutoCreate)
	if terr != nil {
		return nil, err // what the user asked for, not the template
	}
	raw := template.Raw
	raw.QueueDatas = slices.Clone(raw.QueueDatas)
	for i := range raw.QueueDatas {
		raw.QueueDatas[i].WriteQueueNums = min(raw.QueueDatas[i].WriteQueueNums, 4)
		raw.QueueDatas[i].ReadQueueNums = min(raw.QueueDatas[i].ReadQueueNums, 4)
	}
	r = &Route{Topic: topic, Raw: raw, AutoCreated: true}
	r.fill()
	return r, nil
}

// forget drops a route that turned out to be wrong.
func (c *Client) forget(topic string) {
	c.mu.Lock()
	delete(c.routes, topic)
	c.mu.Unlock()
}

// fill lists the queues of what the name server said.
func (r *Route) fill() {
	r.Brokers = map[string]string{}
	nearest := map[string]string{}
	for _, b := range r.Raw.BrokerDatas {
		if master, ok := b.BrokerAddrs[0]; ok {
			r.Brokers[b.BrokerName], nearest[b.BrokerName] = master, master
			continue
		}
		least := int64(-1)
		for id, addr := range b.BrokerAddrs {
			if least < 0 || id < least {
				least, nearest[b.BrokerName] = id, addr
			}
		}
	}
	for _, q := range r.Raw.QueueDatas {
		if addr, ok := r.Brokers[q.BrokerName]; ok && q.Perm&permWrite != 0 {
			r.Write = appendQueues(r.Write, r.Topic, q.BrokerName, addr, q.WriteQueueNums)
		}
		if addr, ok := nearest[q.BrokerName]; ok && q.Perm&permRead != 0 {
			r.Read = appendQueues(r.Read, r.Topic, q.BrokerName, addr, q.ReadQueueNums)
		}
	}
	byName := func(a, b Queue) int {
		if d := strings.Compare(a.Broker, b.Broker); d != 0 {
			return d
		}
		return int(a.ID - b.ID)
	}
	slices.SortFunc(r.Write, byName)
	slices.SortFunc(r.Read, byName)
}

// Bits of a topic's permission in a route.
const (
	permWrite = 2
	permRead  = 4
)

func appendQueues(to []Queue, topic, broker, addr string, n int32) []Queue {
	for id := range n {
		to = append(to, Queue{Topic: topic, Broker: broker, ID: id, Addr: addr})
	}
	return to
}
