package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/queue"
	"github.com/weirmq/weir/core/transport"
)

// How long a client has to answer, as in RocketMQ.
const (
	callTimeout   = 10 * time.Second
	statusTimeout = 5 * time.Second
)

// versionWithRunningInfo is V3_1_8_SNAPSHOT, the first client that answers RunningInfoCall and ConsumeDirectlyCall.
const versionWithRunningInfo = 62

// ConsumerConnections implements transport.ClientAdmin.
func (h *handler) ConsumerConnections(ctx context.Context, c *transport.Caller, group string) (transport.ConsumerGroupInfo, error) {
	if err := h.gate.Allow(ctx, c, auth.Describe, groupOf(group)); err != nil {
		return transport.ConsumerGroupInfo{}, err
	}
	return h.clients.ConsumerGroup(group)
}

// Conflicts implements transport.ClientAdmin.
func (h *handler) Conflicts(ctx context.Context, c *transport.Caller, group string) ([]transport.GroupConflict, error) {
	resource := groupOf(group)
	if group == "" {
		resource = wholeBroker
	}
	if err := h.gate.Allow(ctx, c, auth.Describe, resource); err != nil {
		return nil, err
	}
	return h.clients.Conflicts(group), nil
}

// ProducerConnections implements transport.ClientAdmin.
func (h *handler) ProducerConnections(ctx context.Context, c *transport.Caller, group string) ([]transport.Connection, error) {
	if err := h.gate.Allow(ctx, c, auth.Describe, groupOf(group)); err != nil {
		return nil, err
	}
	return h.clients.ProducerConnections(group)
}

// AllProducers implements transport.ClientAdmin.
func (h *handler) AllProducers(ctx context.Context, c *transport.Caller) (map[string][]transport.Connection, error) {
	if err := h.gate.Allow(ctx, c, auth.Describe, wholeBroker); err != nil {
		return nil, err
	}
	return h.clients.AllProducers(), nil
}

// ConsumerRunningInfo implements transport.ClientAdmin.
func (h *handler) ConsumerRunningInfo(ctx context.Context, c *transport.Caller, call transport.RunningInfoCall) (transport.ClientReply, error) {
	if err := h.gate.Allow(ctx, c, auth.Describe, groupOf(call.Group)); err != nil {
		return transport.ClientReply{}, err
	}
	return h.callConsumer(ctx, call.Group, call.ClientID, call)
}

// ConsumeDirectly implements transport.ClientAdmin. The message is read from the log by its offset message id; whoever
// lets it be consumed must be allowed to look at it.
func (h *handler) ConsumeDirectly(ctx context.Context, c *transport.Caller, call transport.ConsumeDirectlyCall) (transport.ClientReply, error) {
	if err := h.gate.Allow(ctx, c, auth.Alter, groupOf(call.Group)); err != nil {
		return transport.ClientReply{}, err
	}
	_, position, err := message.ParseOffsetID(call.MessageID)
	if err != nil {
		return transport.ClientReply{}, &message.Error{Code: message.SystemError, Remark: fmt.Sprintf("%q is not an offset message id: %v", call.MessageID, err)}
	}
	var r transport.Records
	if err := h.record(position, &r); err != nil {
		return transport.ClientReply{}, err
	}
	defer r.Release()
	if err := h.gate.Allow(ctx, c, auth.Query, topicOf(string(message.Record(r.Chunks[0]).Topic()))); err != nil {
		return transport.ClientReply{}, err
	}
	call.Record, call.Broker = r.Chunks[0], h.identity.broker
	return h.callConsumer(ctx, call.Group, call.ClientID, call)
}

// callConsumer relays a call to one member of a group.
func (h *handler) callConsumer(ctx context.Context, group, clientID string, call transport.ClientCall) (transport.ClientReply, error) {
	m, ok := h.clients.Consumer(group, clientID)
	if !ok {
		return transport.ClientReply{}, &message.Error{Code: message.SystemError, Remark: fmt.Sprintf("the consumer %s of group %s is not online", clientID, group)}
	}
	if m.Version < versionWithRunningInfo {
		return transport.ClientReply{}, &message.Error{Code: message.SystemError, Remark: fmt.Sprintf(
			"the consumer %s of group %s runs a client of version %d, which can't be asked; upgrade it to 3.1.8 or newer", clientID, group, m.Version)}
	}
	return callClient(ctx, m, callTimeout, call)
}

// callClient asks a client and says in RocketMQ's codes when it doesn't answer.
func callClient(ctx context.Context, m queue.Member, timeout time.Duration, call transport.ClientCall) (transport.ClientReply, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	reply, err := m.Session.Call(ctx, call)
	switch {
	case err == nil:
		return reply, nil
	case errors.Is(err, context.DeadlineExceeded):
		return reply, &message.Error{Code: message.ConsumeMsgTimeout, Remark: fmt.Sprintf("the consumer %s did not answer within %s", m.ClientID, timeout)}
	}
	return reply, &message.Error{Code: message.SystemError, Remark: fmt.Sprintf("call the consumer %s: %v", m.ClientID, err)}
}

// statusCallsMax is how many members of a group are asked for their status at the same time.
const statusCallsMax = 16

// ConsumerStatus implements transport.ClientAdmin. Members that don't answer are left out; when none does, the error says
// why the first did not.
func (h *handler) ConsumerStatus(ctx context.Context, c *transport.Caller, topic, group, clientID string) (map[string]transport.ClientReply, error) {
	if err := h.gate.Allow(ctx, c, auth.Describe, groupOf(group)); err != nil {
		return nil, err
	}
	members := h.clients.Members(group)
	if len(members) == 0 {
		return nil, &message.Error{Code: message.ConsumerNotOnline, Remark: fmt.Sprintf("no member of group %s is online", group)}
	}
	if clientID != "" {
		members = slices.DeleteFunc(members, func(m queue.Member) bool { return m.ClientID != clientID })
	}
	call := transport.ConsumerStatusCall{Topic: topic, Group: group}
	replies, errs := make([]transport.ClientReply, len(members)), make([]error, len(members))
	var asked sync.WaitGroup
	free := make(chan struct{}, statusCallsMax)
	for i, m := range members {
		free <- struct{}{}
		asked.Go(func() {
			replies[i], errs[i] = callClient(ctx, m, statusTimeout, call)
			<-free
		})
	}
	asked.Wait()
	out := map[string]transport.ClientReply{}
	for i, m := range members {
		if errs[i] == nil && replies[i].Code == message.Success {
			out[m.ClientID] = replies[i]
		}
	}
	if len(out) > 0 {
		return out, nil
	}
	return out, cmp.Or(errs...)
}
