package crash

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirmq/weir/test/internal/raw"
)

// ledger knows what was read from the queues so far, and therefore has to stay there.
type ledger struct {
	queues    [queues][]uint64 // the number of the message at each offset
	found     map[uint64]bool
	committed []int64 // offsets that the consumer group committed for queue 0, one for each round
}

const group = "crash-group"

func newLedger() *ledger { return &ledger{found: make(map[uint64]bool)} }

// size is the number of messages in all queues.
func (l *ledger) size() int {
	n := 0
	for _, q := range l.queues {
		n += len(q)
	}
	return n
}

// verify reads what is new in the queues and checks the promises of the last round.
func (l *ledger) verify(ctx context.Context, c *raw.Conn, acks []ack, sent uint64) error {
	for queue := range l.queues {
		if err := l.readNew(ctx, c, queue, acks, sent); err != nil {
			return fmt.Errorf("queue %d: %w", queue, err)
		}
	}
	lost := 0
	var first error
	for _, a := range acks {
		if at := l.queues[a.queue]; a.offset >= int64(len(at)) || at[a.offset] != a.seq {
			lost++
			if first == nil {
				first = fmt.Errorf("message %d was acknowledged at %d/%d and is not there; the queue ends at %d", a.seq, a.queue, a.offset, len(at))
			}
		}
	}
	if lost > 0 {
		return fmt.Errorf("%d of %d acknowledged messages lost: %w", lost, len(acks), first)
	}
	return nil
}

func (l *ledger) readNew(ctx context.Context, c *raw.Conn, queue int, acks []ack, sent uint64) error {
	known := int64(len(l.queues[queue]))
	promised := known
	for _, a := range acks {
		if a.queue == queue {
			promised = max(promised, a.offset+1)
		}
	}
	end, err := awaitEnd(ctx, c, queue, promised)
	if err != nil {
		return err
	}
	records, err := c.ReadRange(ctx, topic, queue, known, end)
	if err != nil {
		return err
	}
	for i, r := range records {
		seq, err := l.check(r, known+int64(i), sent)
		if err != nil {
			return err
		}
		if l.found[seq] {
			return fmt.Errorf("message %d is there twice, again at %d", seq, r.QueueOffset)
		}
		l.found[seq] = true
		l.queues[queue] = append(l.queues[queue], seq)
	}
	if got := int64(len(l.queues[queue])); got != end {
		return fmt.Errorf("%d messages could be read, the queue ends at %d", got, end)
	}
	return nil
}

func (l *ledger) check(r *raw.Record, offset int64, sent uint64) (uint64, error) {
	seq, err := sequence(r.Body)
	switch {
	case err != nil:
		return 0, fmt.Errorf("offset %d: %w", offset, err)
	case r.QueueOffset != offset:
		return 0, fmt.Errorf("after offset %d comes %d", offset-1, r.QueueOffset)
	case seq >= sent:
		return 0, fmt.Errorf("offset %d: message %d was never sent", offset, seq)
	case r.Properties["seq"] != fmt.Sprint(seq) || r.Properties["TAGS"] != "Tag":
		return 0, fmt.Errorf("offset %d: message %d has properties %v", offset, seq, r.Properties)
	}
	return seq, nil
}

// awaitEnd asks for a queue's end until it covers what was promised, for ten seconds: messages may become visible a
// moment after the broker says that it is ready.
func awaitEnd(ctx context.Context, c *raw.Conn, queue int, promised int64) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		end, err := c.MaxOffset(ctx, topic, queue)
		if err != nil {
			return 0, fmt.Errorf("%d promised: %w", promised, err)
		}
		if end >= promised {
			return end, nil
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("it ends at %d, but %d were acknowledged or read before", end, promised)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// verifyAll reads every queue from its beginning and compares it with what was read before.
func (l *ledger) verifyAll(ctx context.Context, c *raw.Conn, sent uint64) error {
	for queue, known := range l.queues {
		records, err := c.ReadQueue(ctx, topic, queue)
		if err != nil {
			return err
		}
		if len(records) != len(known) {
			return fmt.Errorf("queue %d: %d messages, %d before", queue, len(records), len(known))
		}
		for i, r := range records {
			seq, err := l.check(r, int64(i), sent)
			if err != nil {
				return fmt.Errorf("queue %d: %w", queue, err)
			}
			if seq != known[i] {
				return fmt.Errorf("queue %d offset %d: message %d, before it was %d", queue, i, seq, known[i])
			}
		}
	}
	return nil
}

// commit commits an offset that says how much of queue 0 there is. It may be lost with a few seconds of others, but
// what is there after a kill must have been committed once.
func (l *ledger) commit(ctx context.Context, c *raw.Conn) error {
	offset := int64(len(l.queues[0]))
	l.committed = append(l.committed, offset)
	return c.UpdateOffset(ctx, group, topic, 0, offset)
}

func (l *ledger) verifyCommitted(ctx context.Context, c *raw.Conn) error {
	offset, err := c.QueryOffset(ctx, group, topic, 0)
	var refused *raw.Error
	if errors.As(err, &refused) && refused.Code == raw.QueryNotFound || err == nil && offset == 0 {
		return nil // lost, or answered like that of a new group
	}
	if err != nil {
		return err
	}
	for _, committed := range l.committed {
		if offset == committed {
			return nil
		}
	}
	return fmt.Errorf("the group's offset is %d, which was never committed", offset)
}
