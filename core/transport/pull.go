package transport

import (
	"context"
	"time"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
)

// Puller hands out messages.
type Puller interface {
	// Pull answers p, now or, when p allows it and there is nothing yet, later, by calling p.Reply.PullDone once.
	Pull(ctx context.Context, p *Pull)
}

// PullReply takes back an answered Pull.
type PullReply interface {
	// PullDone is called exactly once, unless the session has been closed while the pull was held. It must not block.
	// The receiver releases p.Records.
	PullDone(p *Pull)
}

// Pull is one request for messages of a queue, and its answer. The transport owns it; the broker has it from the call of
// Pull until PullDone. Strings are kept; the credentials are borrowed until Pull returns.
type Pull struct {
	Caller Caller
	Reply  PullReply

	Group           string
	Topic           string
	QueueID         message.QueueID
	Offset          message.Offset
	MaxNum          int32 // most messages wanted; 0 acts as 1, negative is an error
	MaxBytes        int32 // most bytes wanted, 0 for the broker's own limit
	Commit          bool  // CommitOffset is to be committed for the group
	Suspend         bool  // the pull may be held until there is a message
	CommitOffset    message.Offset
	SuspendTimeout  time.Duration
	HasSubscription bool // Expression is the pull's own; else the group's heartbeat says what is wanted
	Expression      filter.Expression
	SubVersion      int64

	// The answer. The offsets are set with codes 0, 19, 20 and 21.
	Code            message.Code
	Remark          string
	NextBeginOffset message.Offset
	MinOffset       message.Offset
	MaxOffset       message.Offset
	SuggestBrokerID int64
	// Records is not empty exactly with code 0.
	Records Records

	// Token is the transport's own: which request this is.
	Token uint64
}

// Ref is a reference that keeps lent bytes in place.
type Ref interface{ Release() }

// Records is a run of records lent by the store: chunks of bytes which, put together, are the body of an answer. The
// zero Records is empty. It is reused with the struct that holds it.
type Records struct {
	// Chunks are the bytes in order. A chunk holds one or more whole records.
	Chunks [][]byte
	// Size is the sum of the chunks' lengths in bytes.
	Size int
	// Count is the number of records.
	Count int
	refs  []Ref
}

// Add appends the bytes of one or more records. ref, which may be nil for bytes that are the caller's own, is released
// with the Records.
func (r *Records) Add(b []byte, count int, ref Ref) {
	r.Chunks = append(r.Chunks, b)
	r.Size += len(b)
	r.Count += count
	if ref != nil {
		r.refs = append(r.refs, ref)
	}
}

// Extend makes the last chunk longer in place by n bytes that directly follow it in memory, and count records more. The
// caller knows that they do: both lie in one mapping that the last chunk's reference keeps.
func (r *Records) Extend(n, count int) {
	last := len(r.Chunks) - 1
	c := r.Chunks[last]
	r.Chunks[last] = c[: len(c)+n : cap(c)]
	r.Size += n
	r.Count += count
}

// Release gives all bytes back to the store. r is empty afterwards and may be used again. A second call does nothing.
func (r *Records) Release() {
	for i, ref := range r.refs {
		ref.Release()
		r.refs[i] = nil
	}
	clear(r.Chunks)
	r.refs, r.Chunks, r.Size, r.Count = r.refs[:0], r.Chunks[:0], 0, 0
}
