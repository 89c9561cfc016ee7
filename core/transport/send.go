package transport

import (
	"context"
	"net/netip"

	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/core/message"
)

// Sender stores messages.
type Sender interface {
	// Send checks and stores the messages of b, answers each in its place, and then calls b.Reply.SendsDone once. The
	// byte slices in b's requests are not used after Send has returned.
	Send(ctx context.Context, b *SendBatch)
}

// SendReply takes back an answered batch.
type SendReply interface {
	// SendsDone is called exactly once when every send of b has its answer. It must not block.
	SendsDone(b *SendBatch)
}

// SendBatch is the sends that were found together in one connection's read buffer. The transport owns and reuses it; the
// broker has it from the call of Send until SendsDone.
type SendBatch struct {
	Session Session
	Sends   []Send
	Reply   SendReply

	// StoreHost is set by the broker: the address that goes into message ids, together with a position.
	StoreHost netip.AddrPort
	// Positions is the broker's arena for Send.Positions.
	Positions []message.Position
	// Work is the broker's own: what it keeps with a batch while it is under way, and reuses with the batch.
	Work any
}

// Send is one request to store a message, or a batch of messages of one producer, and its answer.
type Send struct {
	// Credentials, and all byte slices below, are borrowed until Sender.Send returns.
	Credentials auth.Credentials
	// Version is the client's RocketMQ version ordinal.
	Version int32
	// OneWay says that no answer is wanted; the broker answers all the same, for counting.
	OneWay bool

	ProducerGroup         []byte
	Topic                 []byte
	DefaultTopic          []byte // template for a topic that doesn't exist yet
	DefaultTopicQueueNums int32
	QueueID               message.QueueID // negative: the broker chooses
	SysFlag               int32
	BornTimestamp         int64 // ms
	Flag                  int32
	Properties            []byte // property string
	ReconsumeTimes        int32
	UnitMode              bool
	HasMaxReconsumeTimes  bool
	MaxReconsumeTimes     int32
	Batch                 bool // Body is a batch body of several messages
	Body                  []byte

	// The answer. On a code that stores (0, 10, 11, 12) all fields below are set.
	Code            message.Code
	Remark          string
	AnsweredQueueID message.QueueID
	QueueOffset     message.Offset // of the first message
	// RecallHandle is the text by which a message that waits for a time of its own can be recalled; empty for others. It counts if the message was stored.
	RecallHandle string
	// Positions of the stored records: one, or one for each message of a batch. They are a part of the batch's arena.
	Positions []message.Position

	// Token is the transport's own: which request this is.
	Token uint64
}

// Answer sets a refusal.
func (s *Send) Answer(code message.Code, remark string) {
	s.Code, s.Remark = code, remark
}

// Returner takes messages back that a consumer could not consume.
type Returner interface {
	// Return stores r's message again for its group, at once or in the dead letter topic, answers it, and then calls
	// r.Reply.ReturnDone once.
	Return(ctx context.Context, r *Return)
}

// ReturnReply takes back an answered Return.
type ReturnReply interface {
	// ReturnDone is called exactly once. It must not block.
	ReturnDone(r *Return)
}

// Transactor ends transactions.
type Transactor interface {
	// EndTransactions carries out the decisions of b, answers each in its place, and then calls b.Reply.EndsDone once, maybe before it returns. The
	// byte slices in b's decisions are not used after EndTransactions has returned.
	EndTransactions(ctx context.Context, b *EndBatch)
	// ResumeCheck has a half message checked anew, as if its producer had never been asked: that at a position, or one that was put aside.
	ResumeCheck(ctx context.Context, c *Caller, p message.Position) error
}

// EndReply takes back an answered batch.
type EndReply interface {
	// EndsDone is called exactly once when every decision of b has its answer. It must not block.
	EndsDone(b *EndBatch)
}

// EndBatch is the decisions that were found together in one connection's read buffer. The transport owns and reuses it; the broker has it from the
// call of EndTransactions until EndsDone.
type EndBatch struct {
	Ends  []EndTransaction
	Reply EndReply
	// Work is the broker's own: what it keeps with a batch while it is under way, and reuses with the batch.
	Work any
}

// EndTransaction is a producer's decision about a half message (END_TRANSACTION), and its answer.
type EndTransaction struct {
	// Credentials and ProducerGroup are borrowed until EndTransactions returns.
	Credentials   auth.Credentials
	ProducerGroup []byte
	Offset        message.Offset   // of the half message in its queue
	Position      message.Position // of the half message in the commit log
	Decision      int32            // 0 for unknown, message.FlagCommit or message.FlagRollback
	FromCheck     bool
	// OneWay says that no answer is wanted.
	OneWay bool

	Code   message.Code
	Remark string
	// Token is the transport's own: which request this is.
	Token uint64
}

// Return is a request to take a message back (CONSUMER_SEND_MSG_BACK), and its answer.
type Return struct {
	Caller               Caller
	Reply                ReturnReply
	Position             message.Position // of the record
	Group                string
	DelayLevel           int32
	OriginMessageID      string
	OriginTopic          string
	UnitMode             bool
	HasMaxReconsumeTimes bool
	MaxReconsumeTimes    int32

	Code   message.Code
	Remark string
	// Token is the transport's own: which request this is.
	Token uint64
}
