package store

import (
	"net/netip"
	"time"

	"github.com/weirmq/weir/core/message"
)

// Message is one message to be stored, and its answer. Its byte slices are only read, and not used after Append
// has returned; the caller may change everything again when the batch is completed.
type Message struct {
	Topic                     string
	Queue                     message.QueueID
	Flag                      int32 // the producer's own
	SysFlag                   int32 // message.Flag… bits; those of the hosts' families are set by the store
	BornTimestamp             int64 // ms, from the producer
	BornHost                  netip.AddrPort
	StoreHost                 netip.AddrPort
	ReconsumeTimes            int32
	PreparedTransactionOffset int64 // position of the half message, for a committed transaction message
	Body                      []byte
	Properties                []byte
	MoreProperties            []byte // stored behind Properties, joined with 0x02 if both are not empty

	// Unit, when positive, is on the first message of a producer's batch: it and the Unit-1 messages behind it lie in one
	// segment, one after another, and are stored or refused together.
	Unit int32

	// The answer. With Success the message is stored as the flush mode promises. With FlushDiskTimeout it may be stored.
	Code           message.Code
	Remark         string
	Cause          message.Cause // of a refusal
	Position       message.Position
	QueueOffset    message.Offset
	StoreTimestamp int64 // ms

	size  int32 // of the encoded record; 0 when it was refused before
	queue *queue
}

// Completer is told that a batch has its answers.
type Completer interface {
	// Appended is called exactly once for each Append, on any goroutine, maybe before Append returns. The batch is the
	// caller's again. It must not block, and it must not call Append: it runs on the goroutine that others wait for.
	Appended(b *Batch)
}

// Batch is messages that are appended and answered together. It is made and reused by the caller, and is the store's
// from Append until Done.Appended.
type Batch struct {
	Messages []Message
	// Wait asks to be answered when the messages are as safe as the flush mode promises. Without it the answer comes when
	// the system has them; a producer asks for that with WAIT=false.
	Wait bool
	Done Completer

	next  *Batch // in the tail buffer's list
	start time.Time
	units int // messages, those of a unit counted as one
}

// refuse answers every message from i to j with a refusal, unless it was refused before.
func (b *Batch) refuse(i, j int, code message.Code, remark string) {
	for ; i < j; i++ {
		if m := &b.Messages[i]; m.Code == message.Success {
			m.Code, m.Remark, m.size = code, remark, 0
		}
	}
}
