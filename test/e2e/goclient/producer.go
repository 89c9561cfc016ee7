package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

// chosen takes the queue that a message names, otherwise the next one.
type chosen struct{ next producer.QueueSelector }

func (c chosen) Select(m *primitive.Message, queues []*primitive.MessageQueue, last string) *primitive.MessageQueue {
	if m.Queue != nil {
		return m.Queue
	}
	return c.next.Select(m, queues, last)
}

func (a *agent) startProducer(o order) error {
	p, err := rocketmq.NewProducer(
		producer.WithNsResolver(primitive.NewPassthroughResolver([]string{o.NameServer})),
		producer.WithGroupName(o.Group),
		producer.WithInstanceName(o.Name),
		producer.WithSendMsgTimeout(15*time.Second),
		producer.WithRetry(2),
		producer.WithTls(*useTLS),
		producer.WithQueueSelector(chosen{next: producer.NewRoundRobinQueueSelector()}),
	)
	if err != nil {
		return err
	}
	if err := p.Start(); err != nil {
		return err
	}
	a.keep(o.Name, p)
	return nil
}

// send gives every message its result, in order; a batch gets one.
func (a *agent) send(o order) (answer, error) {
	p, ok := a.client(o.Name).(rocketmq.Producer)
	if !ok {
		return nil, fmt.Errorf("no producer named %q", o.Name)
	}
	messages := make([]*primitive.Message, len(o.Messages))
	for i, m := range o.Messages {
		messages[i] = m.build(o)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	switch o.Mode {
	case "sync":
		results := make([]answer, len(messages))
		for i, m := range messages {
			results[i] = result(p.SendSync(ctx, m))
		}
		return answer{"results": results}, nil
	case "async":
		return sendAsync(ctx, p, messages)
	case "oneway":
		for _, m := range messages {
			if err := p.SendOneWay(ctx, m); err != nil {
				return nil, err
			}
		}
		return nil, nil
	case "batch":
		return answer{"results": []answer{result(p.SendSync(ctx, messages...))}}, nil
	default:
		return nil, fmt.Errorf("unknown mode %q", o.Mode)
	}
}

func sendAsync(ctx context.Context, p rocketmq.Producer, messages []*primitive.Message) (answer, error) {
	results := make([]answer, len(messages))
	var open sync.WaitGroup
	for i, m := range messages {
		open.Add(1)
		err := p.SendAsync(ctx, func(_ context.Context, r *primitive.SendResult, err error) {
			results[i] = result(r, err)
			open.Done()
		}, m)
		if err != nil {
			return nil, err
		}
	}
	open.Wait()
	return answer{"results": results}, nil
}

func (m *message) build(o order) *primitive.Message {
	b := primitive.NewMessage(o.Topic, []byte(m.Body))
	b.Flag = m.Flag
	if m.Tags != "" {
		b.WithTag(m.Tags)
	}
	if m.Keys != "" {
		b.WithKeys(strings.Fields(m.Keys))
	}
	if m.Delay != 0 {
		b.WithDelayTimeLevel(m.Delay)
	}
	if m.DelayMillis != 0 {
		b.WithProperty("TIMER_DELAY_MS", strconv.FormatInt(m.DelayMillis, 10))
	}
	for name, value := range m.Properties {
		b.WithProperty(name, value)
	}
	if o.Queue != nil {
		b.Queue = &primitive.MessageQueue{Topic: o.Topic, BrokerName: o.Broker, QueueId: *o.Queue}
	}
	return b
}

// The client's numbers for the status of a send.
var statuses = map[primitive.SendStatus]string{
	primitive.SendOK:                "SEND_OK",
	primitive.SendFlushDiskTimeout:  "FLUSH_DISK_TIMEOUT",
	primitive.SendFlushSlaveTimeout: "FLUSH_SLAVE_TIMEOUT",
	primitive.SendSlaveNotAvailable: "SLAVE_NOT_AVAILABLE",
}

func result(r *primitive.SendResult, err error) answer {
	if err != nil {
		return failure(err)
	}
	a := answer{"status": statuses[r.Status], "msgId": r.MsgID, "offsetMsgId": r.OffsetMsgID, "offset": r.QueueOffset}
	if r.MessageQueue != nil {
		a["queue"] = r.MessageQueue.QueueId
	}
	return a
}
