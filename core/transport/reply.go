package transport

import (
	"context"
	"net/netip"

	"github.com/weirmq/weir/core/message"
)

// Replier takes the answers of request-reply.
type Replier interface {
	// Reply hands an answer to the client that asked, whom the property REPLY_TO_CLIENT names, waits for it at most ten seconds, and stores the
	// answer in its topic. It sets the answer in r.Send: the code says whether the client took it; positions are set if it was stored.
	Reply(ctx context.Context, r *ReplyMessage)
}

// ReplyMessage is an answer of request-reply (SEND_REPLY_MESSAGE), which is sent like a message, to the topic of replies of the cluster that the request was in.
type ReplyMessage struct {
	Session Session
	Send
	// StoreHost is set by the broker: the address that goes into the message id.
	StoreHost netip.AddrPort
}

// PushReplyCall hands an answer of request-reply to the client that asked.
type PushReplyCall struct {
	// Reply is the answer as it was sent, of which only Properties differ.
	Reply      *ReplyMessage
	Properties message.Properties
	StoredAt   int64 // ms
}

func (PushReplyCall) clientCall() {}
