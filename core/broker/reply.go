package broker

import (
	"context"
	"fmt"
	"strconv"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/store"
	"github.com/weirmq/weir/core/transport"
)

// Reply implements transport.Replier. As in RocketMQ the answer is stored whether the client that asked took it or not, as it was sent.
func (h *handler) Reply(ctx context.Context, r *transport.ReplyMessage) {
	t, err := h.topicForSend(ctx, &r.Send)
	if err != nil {
		r.Answer(h.refused(err))
		return
	}
	id, err := chooseQueue(t, r.QueueID)
	if err != nil {
		r.Answer(h.refused(err))
		return
	}
	var ok bool
	if r.StoreHost, ok = h.storeHost(); !ok {
		r.Answer(h.refused(errStopping))
		return
	}
	r.Code, r.Remark, r.AnsweredQueueID = message.Success, "", id
	if err := h.pushReply(ctx, r); err != nil {
		r.Answer(h.refused(err))
	}
	a := newAgain(h)
	a.batch.Wait = scanProperties(r.Properties).wait
	a.batch.Messages = []store.Message{{Topic: t.Name, Queue: id, Flag: r.Flag, SysFlag: r.SysFlag &^ message.FlagTransactionMask, BornTimestamp: r.BornTimestamp,
		BornHost: r.Session.Remote(), StoreHost: r.StoreHost, ReconsumeTimes: r.ReconsumeTimes, Body: r.Body, Properties: r.Properties}}
	a.append()
	m := &a.batch.Messages[0]
	if m.Code != message.Success {
		if r.Code == message.Success {
			r.Remark = "the client took the answer, which was not stored: " + m.Remark
		}
		return
	}
	h.counters.Stored(h.identity.cluster, t.Name, 1, int64(len(r.Body)))
	r.QueueOffset, r.Positions = m.QueueOffset, []message.Position{m.Position}
}

// pushReply hands the answer to the client that asked.
func (h *handler) pushReply(ctx context.Context, r *transport.ReplyMessage) error {
	to, ok := message.Properties(r.Properties).Get(message.PropReplyToClient)
	if !ok || len(to) == 0 {
		return &message.Error{Code: message.SystemError, Remark: "reply message properties[" + message.PropReplyToClient + "] is null", Cause: message.CauseClient}
	}
	asker, ok := h.clients.ProducerSession(string(to))
	if !ok {
		return &message.Error{Code: message.SystemError, Remark: fmt.Sprintf("push reply message fail, channel of <%s> not found.", to), Cause: message.CauseClient}
	}
	now := clock.Millis(h.clock.Now())
	own := message.AppendReplaced(nil, r.Properties, message.PropPushReplyTime, strconv.FormatInt(now, 10))
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	reply, err := asker.Call(ctx, transport.PushReplyCall{Reply: r, Properties: own, StoredAt: now})
	if err == nil && reply.Code != message.Success {
		err = fmt.Errorf("it answered %d: %s", int(reply.Code), reply.Remark)
	}
	if err != nil {
		return &message.Error{Code: message.SystemError, Remark: fmt.Sprintf("push reply message to %s fail: %v", to, err), Cause: message.CauseClient}
	}
	return nil
}
