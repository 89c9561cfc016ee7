package schedule

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/schedule/pending"
	"github.com/weirmq/weir/core/transport"
)

// Census says which messages wait in a store for times of their own.
type Census struct {
	Waiting     int64            `json:"waiting"`
	Recalled    int64            `json:"recalled"` // of messages that were in the queue: they are never delivered
	First, Last int64            `json:"-"`        // when, in ms since 1970; 0 without any
	Topics      map[string]int64 `json:"topics,omitempty"`
	// Oldest is when the oldest record that is needed was stored, in ms since 1970; 0 without any.
	Oldest     int64 `json:"-"`
	Unreadable int64 `json:"unreadable,omitempty"`
}

// CensusLog is what TakeCensus reads.
type CensusLog interface {
	Bounds(q message.QueueKey) (low, high message.Offset, ok bool)
	Entries(q message.QueueKey, from message.Offset, n int) (raw []byte, ref transport.Ref, err error)
	Lend(entries []message.Entry, r *transport.Records) (n int, err error)
}

// TakeCensus reads the queue of the messages that wait, and the progress in dir. fs is nil for the real disk.
func TakeCensus(log CensusLog, fs vfs.FS, dir string) (*Census, error) {
	if fs == nil {
		fs = vfs.OS{}
	}
	progress, err := pending.ReadProgress(fs, dir)
	if err != nil {
		return nil, err
	}
	c := &Census{Topics: map[string]int64{}}
	type timeOf struct {
		topic, key string
		due        int64
	}
	recalled := map[timeOf]bool{}
	for _, kind := range []pending.Kind{pending.Recall, pending.Deliver} {
		err := c.each(log, &progress, kind, func(rec message.Record, due int64, w *waiting) {
			if kind == pending.Recall {
				key := strings.TrimPrefix(string(w.recalls), string(w.topic)+"+") // before RocketMQ 5.3 it is the key alone
				recalled[timeOf{string(w.topic), key, due}] = true
				return
			}
			if recalled[timeOf{string(w.topic), string(w.uniqKey), due}] {
				c.Recalled++
				return
			}
			if c.Waiting++; c.Waiting == 1 {
				c.First, c.Last, c.Oldest = due, due, rec.StoreTimestamp()
			}
			c.First, c.Last = min(c.First, due), max(c.Last, due)
			c.Topics[string(w.topic)]++
		})
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

// each calls f with each record of a kind that waits.
func (c *Census) each(log CensusLog, p *pending.Progress, kind pending.Kind, f func(rec message.Record, due int64, w *waiting)) error {
	low, high, ok := log.Bounds(TimerQueue())
	if !ok {
		return nil
	}
	c.Unreadable = 0
	for at := max(low, p.Rolled.Offset); at < high; at++ {
		raw, ref, err := log.Entries(TimerQueue(), at, 1)
		if err != nil || len(raw) < message.EntrySize {
			return fmt.Errorf("read entry %d of %v: %w", at, TimerQueue(), err)
		}
		e := message.DecodeEntry(raw)
		if ref != nil {
			ref.Release()
		}
		var records transport.Records
		if n, _ := log.Lend([]message.Entry{e}, &records); n == 0 {
			c.Unreadable++
			continue
		}
		rec := message.Record(records.Chunks[0])
		w := scanWaiting(rec.Properties())
		mark := pending.Mark{Kind: pending.Deliver, Position: e.Position}
		if w.recalls != nil {
			mark.Kind = pending.Recall
		}
		if mark.Due, err = strconv.ParseInt(string(w.out), 10, 64); err == nil && mark.Kind == kind && !p.Passed(at, mark) {
			f(rec, mark.Due, &w)
		}
		records.Release()
	}
	return nil
}
