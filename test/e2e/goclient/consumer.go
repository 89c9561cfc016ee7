package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
)

func (o *order) selector() consumer.MessageSelector {
	expression := o.Expression
	if expression == "" {
		expression = "*"
	}
	if o.SQL {
		return consumer.MessageSelector{Type: consumer.SQL92, Expression: expression}
	}
	return consumer.MessageSelector{Type: consumer.TAG, Expression: expression}
}

func (o *order) consumerOptions() []consumer.Option {
	from := map[string]consumer.ConsumeFromWhere{"last": consumer.ConsumeFromLastOffset, "time": consumer.ConsumeFromTimestamp}
	where, ok := from[o.From]
	if !ok {
		where = consumer.ConsumeFromFirstOffset
	}
	options := []consumer.Option{
		consumer.WithNsResolver(primitive.NewPassthroughResolver([]string{o.NameServer})),
		consumer.WithGroupName(o.Group),
		consumer.WithInstance(o.Name),
		consumer.WithConsumeFromWhere(where),
		consumer.WithConsumerOrder(o.Orderly),
		consumer.WithConsumeMessageBatchMaxSize(1),
		consumer.WithTls(*useTLS),
		consumer.WithSuspendCurrentQueueTimeMillis(100 * time.Millisecond),
	}
	if o.Broadcast {
		options = append(options, consumer.WithConsumerModel(consumer.BroadCasting))
	}
	if o.MaxReconsume != nil {
		options = append(options, consumer.WithMaxReconsumeTimes(int32(*o.MaxReconsume)))
	}
	return options
}

// verdict counts how often each message has failed already: its property "fail" says how many deliveries do, "take" how many
// milliseconds each takes.
type verdict struct {
	mu       sync.Mutex
	failures map[string]int
}

func (v *verdict) take(m *primitive.MessageExt) bool {
	if ms, err := strconv.Atoi(m.GetProperty("take")); err == nil {
		<-time.After(time.Duration(ms) * time.Millisecond)
	}
	limit, err := strconv.Atoi(m.GetProperty("fail"))
	if err != nil {
		return true
	}
	id := m.GetProperty(primitive.PropertyUniqueClientMessageIdKeyIndex)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.failures[id]++
	return v.failures[id] > limit
}

func (a *agent) startPush(o order) error {
	c, err := rocketmq.NewPushConsumer(o.consumerOptions()...)
	if err != nil {
		return err
	}
	v := &verdict{failures: make(map[string]int)}
	failed := consumer.ConsumeRetryLater
	if o.Orderly {
		failed = consumer.SuspendCurrentQueueAMoment
	}
	p := pusher{c, func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		result := consumer.ConsumeSuccess
		for _, m := range messages {
			a.report(o.Name, m)
			if !v.take(m) {
				result = failed
			}
		}
		return result, nil
	}}
	if err := c.Subscribe(o.Topic, o.selector(), p.listen); err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	a.keep(o.Name, p)
	return nil
}

// subscribe gives a running consumer another expression. The client tells the broker with its next heartbeat.
func (a *agent) subscribe(o order) error {
	p, ok := a.client(o.Name).(pusher)
	if !ok {
		return fmt.Errorf("no push consumer named %q", o.Name)
	}
	return p.c.Subscribe(o.Topic, o.selector(), p.listen)
}

// pusher shuts down a moment later: the client takes a message for consumed a little after its listener has returned,
// and what it does not take for consumed would come again.
type pusher struct {
	c      rocketmq.PushConsumer
	listen func(context.Context, ...*primitive.MessageExt) (consumer.ConsumeResult, error)
}

func (p pusher) Shutdown() error {
	<-time.After(300 * time.Millisecond)
	return p.c.Shutdown()
}

func (a *agent) report(consumer string, m *primitive.MessageExt) {
	e := event(m)
	e["event"], e["consumer"], e["at"] = "message", consumer, time.Now().UnixMicro()
	a.emit(e)
}

// poller reads a topic through the pull consumer's own queue assignment.
type poller struct {
	c      rocketmq.PullConsumer
	cancel context.CancelFunc
	done   chan struct{}
}

func (p *poller) Shutdown() error {
	p.cancel()
	<-p.done
	return p.c.Shutdown()
}

func (a *agent) startPoll(o order) error {
	newConsumer := newPullConsumer
	if o.Queues != nil {
		newConsumer = newAssignedConsumer
	}
	c, err := newConsumer(o)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &poller{c: c, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		for ctx.Err() == nil {
			request, err := c.Poll(ctx, 200*time.Millisecond)
			if err != nil {
				continue // nothing new
			}
			for _, m := range request.GetMsgList() {
				a.report(o.Name, m)
			}
			c.ACK(ctx, request, consumer.ConsumeSuccess)
		}
	}()
	a.keep(o.Name, p)
	return nil
}

func newPullConsumer(o order) (rocketmq.PullConsumer, error) {
	c, err := rocketmq.NewPullConsumer(o.consumerOptions()...)
	if err != nil {
		return nil, err
	}
	if err := c.Subscribe(o.Topic, o.selector()); err != nil {
		return nil, err
	}
	return c, c.Start()
}

// newAssignedConsumer polls queues of its choice, past its group.
func newAssignedConsumer(o order) (rocketmq.PullConsumer, error) {
	c, err := rocketmq.NewPullConsumer(o.consumerOptions()...)
	if err != nil {
		return nil, err
	}
	queues := make([]*primitive.MessageQueue, len(o.Queues))
	for i, id := range o.Queues {
		queues[i] = &primitive.MessageQueue{Topic: o.Topic, BrokerName: o.Broker, QueueId: id}
	}
	if err := c.Assign(o.Topic, queues); err != nil {
		return nil, err
	}
	return c, c.Start()
}

// seek has a poller go on from another offset, with its next pull.
func (a *agent) seek(o order) error {
	p, ok := a.client(o.Name).(*poller)
	if !ok || o.Queue == nil {
		return fmt.Errorf("no poller named %q, or no queue", o.Name)
	}
	p.c.SeekOffset(&primitive.MessageQueue{Topic: o.Topic, BrokerName: o.Broker, QueueId: *o.Queue}, o.Offset)
	return nil
}

func (a *agent) startPuller(o order) error {
	c, err := newPullConsumer(o)
	if err != nil {
		return err
	}
	a.keep(o.Name, &puller{c: c, topic: o.Topic})
	return nil
}

// puller asks for queues and offsets of its choice.
type puller struct {
	c     rocketmq.PullConsumer
	topic string
}

func (p *puller) Shutdown() error { return p.c.Shutdown() }

func (a *agent) puller(o order) (*puller, error) {
	p, ok := a.client(o.Name).(*puller)
	if !ok {
		return nil, fmt.Errorf("no puller named %q", o.Name)
	}
	return p, nil
}

var pullStatuses = map[primitive.PullStatus]string{
	primitive.PullFound: "FOUND", primitive.PullNoNewMsg: "NO_NEW_MSG", primitive.PullNoMsgMatched: "NO_MATCHED_MSG",
	primitive.PullOffsetIllegal: "OFFSET_ILLEGAL",
}

func (a *agent) pull(o order) (answer, error) {
	p, err := a.puller(o)
	if err != nil {
		return nil, err
	}
	if o.Queue == nil {
		return nil, errors.New("pull needs a queue")
	}
	count := o.Max
	if count == 0 {
		count = 32
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	queue := &primitive.MessageQueue{Topic: p.topic, BrokerName: o.Broker, QueueId: *o.Queue}
	r, err := p.c.PullFrom(ctx, queue, o.Offset, count)
	if err != nil {
		return nil, err
	}
	found := []answer{}
	for _, m := range r.GetMessageExts() {
		found = append(found, event(m))
	}
	return answer{
		"status": pullStatuses[r.Status], "next": r.NextBeginOffset, "min": r.MinOffset, "max": r.MaxOffset, "messages": found,
	}, nil
}

func (a *agent) queues(o order) (answer, error) {
	p, err := a.puller(o)
	if err != nil {
		return nil, err
	}
	queues, err := p.c.GetTopicRouteInfo(p.topic)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, q := range queues {
		names = append(names, fmt.Sprintf("%s:%d", q.BrokerName, q.QueueId))
	}
	return answer{"queues": names}, nil
}
