package remoting

import (
	"context"
	"fmt"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
)

// SEND_REPLY_MESSAGE (324), SEND_REPLY_MESSAGE_V2 (325): the answer of request-reply, sent like a message. The client that asked gets it by
// PUSH_REPLY_MESSAGE_TO_CLIENT (326), and the one that answers waits until it has.

func serveSendReply(ctx context.Context, r *request) ([]byte, error) {
	r.answer.SetTrace(r.c.e.cfg.Region, r.c.e.cfg.Trace)
	var f wire.SendHeader
	if err := f.Decode(&r.h); err != nil {
		return nil, err
	}
	if f.Batch {
		return nil, refuse(message.MessageIllegal, "a reply is one message, no batch")
	}
	m := transport.ReplyMessage{Session: r.c, Send: transport.Send{
		Credentials: r.caller.Credentials, Version: r.h.Version, OneWay: r.h.IsOneway(), ProducerGroup: f.ProducerGroup, Topic: f.Topic, DefaultTopic: f.DefaultTopic,
		DefaultTopicQueueNums: f.DefaultTopicQueueNums, QueueID: message.QueueID(f.QueueID), SysFlag: f.SysFlag, BornTimestamp: f.BornTimestamp, Flag: f.Flag,
		Properties: f.Properties, ReconsumeTimes: f.ReconsumeTimes, UnitMode: f.UnitMode, Body: r.body,
	}}
	r.c.e.h.Replier.Reply(ctx, &m)
	r.answer.Code = int32(m.Code)
	r.answer.SetRemark(m.Remark)
	reply := wire.SendReply{MsgID: []byte("0"), QueueID: int32(m.AnsweredQueueID)} // Java's clients read it even if nothing was stored
	if len(m.Positions) > 0 {
		reply.MsgID, reply.QueueOffset = message.AppendOffsetID(nil, m.StoreHost, m.Positions[0]), int64(m.QueueOffset)
	}
	if storedCode(m.Code) || len(m.Positions) > 0 {
		reply.Encode(&r.answer)
	}
	return nil, nil
}

// encodePushReply makes the request 326.
func encodePushReply(call transport.PushReplyCall) (*wire.Header, []byte) {
	m := call.Reply
	h := new(wire.Header)
	h.Request(wire.CodePushReplyMessageToClient, 0)
	h.Write(&wire.PushReplyHeader{
		ProducerGroup: string(m.ProducerGroup), Topic: string(m.Topic), DefaultTopic: string(m.DefaultTopic), DefaultTopicQueueNums: m.DefaultTopicQueueNums,
		QueueID: int32(m.QueueID), SysFlag: m.SysFlag, BornTimestamp: m.BornTimestamp, Flag: m.Flag, Properties: string(call.Properties), ReconsumeTimes: m.ReconsumeTimes,
		UnitMode: m.UnitMode, BornHost: fmt.Sprint(m.Session.Remote()), StoreHost: fmt.Sprint(m.StoreHost), StoreTimestamp: call.StoredAt,
	})
	return h, m.Body
}
