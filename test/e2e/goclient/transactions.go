package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

// decisions takes what becomes of a message from its properties: "local" is what its local transaction decides, "checks" are the
// answers to the broker's questions, one after the other. Each question is reported, as if the producer consumed it.
type decisions struct {
	a    *agent
	name string

	mu    sync.Mutex
	asked map[string]int // by body
}

var states = map[string]primitive.LocalTransactionState{
	"commit": primitive.CommitMessageState, "rollback": primitive.RollbackMessageState, "unknown": primitive.UnkonwnState,
}

func (d *decisions) ExecuteLocalTransaction(m *primitive.Message) primitive.LocalTransactionState {
	return states[m.GetProperty("local")]
}

func (d *decisions) CheckLocalTransaction(m *primitive.MessageExt) primitive.LocalTransactionState {
	d.a.report(d.name, m)
	checks := strings.Fields(m.GetProperty("checks"))
	d.mu.Lock()
	defer d.mu.Unlock()
	before := d.asked[string(m.Body)]
	d.asked[string(m.Body)]++
	return states[checks[min(before, len(checks)-1)]]
}

func (a *agent) startTransactions(o order) error {
	p, err := rocketmq.NewTransactionProducer(
		&decisions{a: a, name: o.Name, asked: make(map[string]int)},
		producer.WithNsResolver(primitive.NewPassthroughResolver([]string{o.NameServer})),
		producer.WithGroupName(o.Group),
		producer.WithInstanceName(o.Name),
		producer.WithSendMsgTimeout(15*time.Second),
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

func (a *agent) transact(o order) (answer, error) {
	p, ok := a.client(o.Name).(rocketmq.TransactionProducer)
	if !ok {
		return nil, fmt.Errorf("no producer of transactions named %q", o.Name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	results := make([]answer, len(o.Messages))
	for i, m := range o.Messages {
		r, err := p.SendMessageInTransaction(ctx, m.build(o))
		if err != nil {
			results[i] = failure(err)
			continue
		}
		results[i] = result(r.SendResult, nil)
	}
	return answer{"results": results}, nil
}
