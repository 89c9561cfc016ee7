package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/sdk/wire"
)

// ConsumerOptions say what a member of a group consumes.
type ConsumerOptions struct {
	Group         string
	Subscriptions []Subscription
	// Broadcast gives every member all messages. Offsets are then not kept: it begins at From each time.
	Broadcast bool
	// From is where a group without a committed offset begins: wire.FromLastOffset, the default, or
	// wire.FromFirstOffset.
	From wire.ConsumeFromWhere
	// Handle consumes messages of one queue in their order. An error sends all of them back to be delivered again later.
	// It is called on several goroutines, one queue never on two.
	Handle func(ctx context.Context, ms []*Received) error
	// Batch is the most messages in one call of Handle. Default 1.
	Batch int
	// Prefetch is the most messages of one queue that wait for Handle. Default 1024.
	Prefetch int
	// Errors gets what went wrong in the background and is tried again. May be nil.
	Errors func(error)
}

// Times of a consumer, those of RocketMQ's.
const (
	rebalancePeriod = 20 * time.Second
	commitPeriod    = 5 * time.Second
	holdTime        = 15 * time.Second
	retryPause      = time.Second
)

// Consumer is one member of a group. It shares the queues of its topics with the other members.
type Consumer struct {
	client  *Client
	opts    ConsumerOptions
	version int64 // of the subscriptions

	ctx    context.Context
	cancel context.CancelFunc
	nudge  chan struct{}
	wg     sync.WaitGroup
	closed sync.Once

	mu     sync.Mutex // guards what follows
	queues map[wire.MessageQueue]*assigned
}

// Consume starts a member of a group.
func (c *Client) Consume(ctx context.Context, o ConsumerOptions) (*Consumer, error) {
	if o.Group == "" || o.Handle == nil || len(o.Subscriptions) == 0 {
		return nil, errors.New("consume: a group, a subscription and Handle are needed")
	}
	if o.Batch <= 0 {
		o.Batch = 1
	}
	if o.Prefetch <= 0 {
		o.Prefetch = 1024
	}
	if o.From == "" {
		o.From = wire.FromLastOffset
	}
	if !o.Broadcast {
		o.Subscriptions = append(slices.Clone(o.Subscriptions), Subscription{Topic: message.RetryTopic(o.Group)})
	}
	k := &Consumer{client: c, opts: o, version: time.Now().UnixMilli(), nudge: make(chan struct{}, 1),
		queues: map[wire.MessageQueue]*assigned{}}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	for _, s := range o.Subscriptions {
		// An unknown topic may come; a name server that can't be reached is an error now.
		var said *message.Error
		if _, err := c.Route(ctx, s.Topic); err != nil && !errors.As(err, &said) {
			k.cancel()
			return nil, err
		}
	}
	c.addConsumer(k)
	c.beat(ctx)
	k.wg.Go(k.balance)
	if !o.Broadcast {
		k.wg.Go(k.commitLoop)
	}
	return k, nil
}

// Close stops consuming, commits, and leaves the group.
func (k *Consumer) Close() error {
	k.closed.Do(func() {
		k.cancel()
		k.wg.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), k.client.opts.Timeout)
		defer cancel()
		for _, a := range k.takeAway(func(wire.MessageQueue) bool { return true }) {
			a.leave()
		}
		k.client.removeConsumer(k)
		k.client.unregister(ctx, k.opts.Group)
	})
	return nil
}

// Assigned lists the queues that this member has now.
func (k *Consumer) Assigned() []Queue {
	k.mu.Lock()
	defer k.mu.Unlock()
	var out []Queue
	for _, a := range k.queues {
		out = append(out, a.queue)
	}
	slices.SortFunc(out, func(a, b Queue) int { return strings.Compare(a.String(), b.String()) })
	return out
}

// poke asks for a rebalance soon.
func (k *Consumer) poke() {
	select {
	case k.nudge <- struct{}{}:
	default:
	}
}

func (k *Consumer) report(err error) {
	if err != nil && k.opts.Errors != nil && k.ctx.Err() == nil {
		k.opts.Errors(err)
	}
}

// data is the consumer's part of a heartbeat.
func (k *Consumer) data() wire.ConsumerData {
	d := wire.ConsumerData{GroupName: k.opts.Group, ConsumeType: wire.ConsumePassively, MessageModel: wire.Clustering,
		ConsumeFromWhere: k.opts.From}
	if k.opts.Broadcast {
		d.MessageModel = wire.Broadcasting
	}
	for _, s := range k.opts.Subscriptions {
		d.SubscriptionDataSet = append(d.SubscriptionDataSet, subscriptionData(s, k.version))
	}
	return d
}

// balance shares the queues whenever the group may have changed.
func (k *Consumer) balance() {
	tick := time.NewTicker(rebalancePeriod)
	defer tick.Stop()
	for {
		missing := false
		for _, s := range k.opts.Subscriptions {
			ctx, cancel := context.WithTimeout(k.ctx, k.client.opts.Timeout)
			err := k.balanceTopic(ctx, s)
			cancel()
			var said *message.Error
			if errors.As(err, &said) && said.Code == message.TopicNotExist {
				missing = true
				continue
			}
			k.report(err)
		}
		var soon <-chan time.Time
		if missing {
			soon = time.After(retryPause) // the topic may be made by its first message
		}
		select {
		case <-k.ctx.Done():
			return
		case <-tick.C:
		case <-k.nudge:
		case <-soon:
		}
	}
}

// balanceTopic takes up the queues that are this member's now, and drops those that aren't any more.
func (k *Consumer) balanceTopic(ctx context.Context, s Subscription) error {
	route, err := k.client.Route(ctx, s.Topic)
	if err != nil {
		return err
	}
	mine := route.Read
	if !k.opts.Broadcast {
		if len(route.Read) == 0 {
			return nil
		}
		addr := route.Read[0].Addr
		members, err := k.client.members(ctx, addr, k.opts.Group)
		if err != nil || !slices.Contains(members, k.client.id) {
			// A broker that doesn't know us: it is new, or has started again.
			k.client.beat(ctx)
			if members, err = k.client.members(ctx, addr, k.opts.Group); err != nil {
				return err
			}
		}
		mine = allocate(route.Read, members, k.client.id)
	}
	for _, a := range k.takeAway(func(key wire.MessageQueue) bool {
		return key.Topic == s.Topic && !slices.ContainsFunc(mine, func(q Queue) bool { return q.MessageQueue() == key })
	}) {
		a.leave()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, q := range mine {
		if a := k.queues[q.MessageQueue()]; a != nil {
			continue
		}
		a := &assigned{consumer: k, queue: q, sub: s, next: -1}
		a.ctx, a.cancel = context.WithCancel(k.ctx)
		k.queues[q.MessageQueue()] = a
		k.wg.Go(a.run)
	}
	return nil
}

// takeAway gives up the queues that match, and returns them.
func (k *Consumer) takeAway(match func(wire.MessageQueue) bool) []*assigned {
	k.mu.Lock()
	defer k.mu.Unlock()
	var out []*assigned
	for key, a := range k.queues {
		if match(key) {
			delete(k.queues, key)
			out = append(out, a)
		}
	}
	return out
}

// commit tells the broker an offset without waiting.
func (k *Consumer) commit(q Queue, offset int64) {
	if k.opts.Broadcast {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), k.client.opts.Timeout)
	defer cancel()
	conn, err := k.client.Conn(ctx, q.Addr)
	if err == nil {
		err = conn.OneWay(request(wire.CodeUpdateConsumerOffset, &wire.UpdateOffsetHeader{ConsumerGroup: k.opts.Group,
			Topic: q.Topic, QueueID: q.ID, CommitOffset: offset}), nil)
	}
	k.report(err)
}

func (k *Consumer) commitLoop() {
	tick := time.NewTicker(commitPeriod)
	defer tick.Stop()
	for {
		select {
		case <-k.ctx.Done():
			return
		case <-tick.C:
		}
		k.mu.Lock()
		all := make([]*assigned, 0, len(k.queues))
		for _, a := range k.queues {
			all = append(all, a)
		}
		k.mu.Unlock()
		for _, a := range all {
			if offset, ok := a.commit(); ok {
				k.commit(a.queue, offset)
			}
		}
	}
}

// firstOffset finds where to begin in a queue that has just become ours.
func (k *Consumer) firstOffset(ctx context.Context, q Queue) (int64, error) {
	if !k.opts.Broadcast {
		offset, err := k.client.CommittedOffset(ctx, q, k.opts.Group)
		var said *message.Error
		if err == nil || !errors.As(err, &said) || said.Code != message.QueryNotFound {
			return offset, err
		}
	}
	if k.opts.From == wire.FromFirstOffset || message.IsRetryTopic(q.Topic) {
		return k.client.MinOffset(ctx, q)
	}
	return k.client.MaxOffset(ctx, q)
}

// sendBack returns a message that could not be consumed to its broker.
func (k *Consumer) sendBack(ctx context.Context, m *Received) error {
	_, err := k.client.Call(ctx, m.Queue.Addr, wire.CodeConsumerSendMsgBack, &wire.SendBackHeader{Offset: m.Position,
		Group: k.opts.Group, OriginMsgID: m.ID, OriginTopic: m.Topic}, nil)
	if err != nil {
		return fmt.Errorf("send back %s at offset %d: %w", m.Queue, m.Offset, err)
	}
	return nil
}
