package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

// newProducer starts one that asks or answers, beside the consumer of the same name.
func newProducer(o order) (rocketmq.Producer, error) {
	p, err := rocketmq.NewProducer(
		producer.WithNsResolver(primitive.NewPassthroughResolver([]string{o.NameServer})),
		producer.WithGroupName(o.Group+"-producer"),
		producer.WithInstanceName(o.Name+"-producer"),
	)
	if err != nil {
		return nil, err
	}
	return p, p.Start()
}

func (a *agent) startRequester(o order) error {
	p, err := newProducer(o)
	if err != nil {
		return err
	}
	a.keep(o.Name, p)
	return nil
}

// request asks, and returns the body of the answer.
func (a *agent) request(o order) (answer, error) {
	p, ok := a.client(o.Name).(rocketmq.Producer)
	if !ok {
		return nil, fmt.Errorf("no producer named %q", o.Name)
	}
	within := time.Duration(o.Timeout) * time.Millisecond
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	m, err := p.Request(ctx, within, primitive.NewMessage(o.Topic, []byte(o.Body)))
	if err != nil {
		return nil, err
	}
	return answer{"body": string(m.Body)}, nil
}

// startReplier answers each message with its body backwards; one that says "silence" gets no answer.
func (a *agent) startReplier(o order) error {
	p, err := newProducer(o)
	if err != nil {
		return err
	}
	c, err := rocketmq.NewPushConsumer(o.consumerOptions()...)
	if err != nil {
		return err
	}
	reply := func(ctx context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		for _, m := range messages {
			if string(m.Body) == "silence" {
				continue
			}
			// The client takes the body that it is given for properties, so it gets none, and the answer its body afterwards.
			r, err := consumer.CreateReplyMessage(m, nil)
			if err != nil {
				return consumer.ConsumeRetryLater, err
			}
			r.Body = slices.Clone(m.Body)
			slices.Reverse(r.Body)
			if _, err := p.SendSync(ctx, r); err != nil {
				return consumer.ConsumeRetryLater, err
			}
		}
		return consumer.ConsumeSuccess, nil
	}
	if err := c.Subscribe(o.Topic, o.selector(), reply); err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	a.keep(o.Name, c)
	return nil
}
