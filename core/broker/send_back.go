package broker

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/queue"
	"github.com/weirmq/weir/core/store"
	"github.com/weirmq/weir/core/transport"
)

// Return implements transport.Returner.
func (h *handler) Return(ctx context.Context, r *transport.Return) {
	stored, err := h.giveBack(ctx, r)
	if err != nil {
		r.Code, r.Remark = h.refused(err)
	}
	if !stored {
		r.Reply.ReturnDone(r)
	}
}

// giveBack hands the message to the store, which will answer r, and says whether it did.
func (h *handler) giveBack(ctx context.Context, r *transport.Return) (stored bool, err error) {
	if err := h.gate.Allow(ctx, &r.Caller, auth.Subscribe, groupOf(r.Group)); err != nil {
		return false, err
	}
	g, err := h.groups.Ensure(r.Group)
	if err != nil {
		return false, err
	}
	if !h.settings.perm().CanWrite() {
		return false, &message.Error{Code: message.NoPermission, Remark: "this broker may not be written to (brokerPermission)"}
	}
	if g.RetryQueues <= 0 { // the group takes nothing back, and the consumer needn't know
		return false, nil
	}
	// The retry topic is made and looked at even when the message turns out to be dead, or gone: mqadmin finds a group's
	// consumers by the route of that topic.
	retry, err := h.topics.EnsureRetry(r.Group, g.RetryQueues, r.UnitMode)
	if err != nil {
		return false, err
	}
	if !message.Perm(retry.Perm).CanWrite() {
		return false, &message.Error{Code: message.NoPermission, Remark: fmt.Sprintf("topic %s may not be written to", retry.Name)}
	}
	var records transport.Records
	if err := h.record(r.Position, &records); err != nil {
		return false, err
	}
	defer records.Release()
	rec := message.Record(records.Chunks[0])
	if err := h.gate.Allow(ctx, &r.Caller, auth.Subscribe, topicOf(string(rec.Topic()))); err != nil {
		return false, err // a position is only a number: it must not be a way to read what one may not consume
	}
	plan := queue.PlanReturn(rec, g, r, rand.Uint32(), nil)
	if plan.Dead {
		if _, err := h.topics.EnsureDLQ(r.Group); err != nil {
			return false, err
		}
	}
	h.store.Append(newReturning(h, r, &plan))
	return true, nil
}

// returning is a returned message on its way into the log.
type returning struct {
	handler *handler
	request *transport.Return
	origin  string // the topic that it was first sent to
	batch   store.Batch
	one     [1]store.Message
}

func newReturning(h *handler, r *transport.Return, plan *queue.Returned) *store.Batch {
	m := &plan.Message
	origin, _ := m.Properties.Get(message.PropRetryTopic)
	w := &returning{handler: h, request: r, origin: string(origin)}
	w.one[0] = store.Message{
		Topic: m.Topic, Queue: m.QueueID, Flag: m.Flag, SysFlag: m.SysFlag, BornTimestamp: m.BornTimestamp,
		BornHost: m.BornHost, StoreHost: m.StoreHost, ReconsumeTimes: m.ReconsumeTimes, Body: m.Body, Properties: m.Properties,
	}
	if level := int(plan.DelayLevel); level > 0 {
		p := message.AppendReplaced(make(message.Properties, 0, len(m.Properties)+delayRoom), m.Properties, message.PropDelay, strconv.Itoa(level))
		w.one[0].Properties = h.delay(&w.one[0], make(message.Properties, 0, len(p)+delayRoom), p, level)
	}
	w.batch.Messages, w.batch.Done, w.batch.Wait = w.one[:], w, true
	return &w.batch
}

// Appended implements store.Completer. Only a message that is stored as promised counts as taken back; anything else
// makes the client try again in its own way.
func (w *returning) Appended(*store.Batch) {
	m, r := &w.one[0], w.request
	r.Code, r.Remark = m.Code, m.Remark
	if m.Code != message.Success {
		w.handler.refusals[m.Cause].Add(1)
		r.Code = message.SystemError
	} else {
		w.handler.counters.Stored(w.handler.identity.cluster, m.Topic, 1, int64(len(m.Body)))
		w.handler.counters.Add(queue.ReturnNums, w.origin, r.Group, 1)
	}
	r.Reply.ReturnDone(r)
}
