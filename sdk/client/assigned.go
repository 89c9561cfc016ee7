package client

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/weirmq/weir/core/message"
)

// assigned is one queue that this member consumes. One goroutine pulls ahead, one hands over; between them is a bounded
// channel. The committed offset is behind the last message that was handed over and returned.
type assigned struct {
	consumer *Consumer
	queue    Queue
	sub      Subscription
	ctx      context.Context
	cancel   context.CancelFunc

	mu        sync.Mutex // guards what follows
	next      int64      // where consumption goes on; -1 while unknown
	committed int64
	known     bool
}

// commit returns the offset to be committed, if there is a new one.
func (a *assigned) commit() (int64, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.next < 0 || a.known && a.next == a.committed {
		return 0, false
	}
	a.committed, a.known = a.next, true
	return a.next, true
}

// advance notes that everything before offset is consumed.
func (a *assigned) advance(offset int64) {
	a.mu.Lock()
	a.next = max(a.next, offset)
	a.mu.Unlock()
}

// leave ends the queue and commits what was consumed of it.
func (a *assigned) leave() {
	a.cancel()
	if offset, ok := a.commit(); ok {
		a.consumer.commit(a.queue, offset)
	}
}

// pulled is what one pull brought: messages and where the next one begins.
type pulled struct {
	messages []*Received
	next     int64
}

func (a *assigned) run() {
	defer a.cancel()
	k := a.consumer
	offset, ok := a.begin()
	if !ok {
		return
	}
	ahead := make(chan pulled, max(1, k.opts.Prefetch/pullBatch))
	var wg sync.WaitGroup
	wg.Go(func() { a.deliver(ahead) })
	a.pullLoop(offset, ahead)
	close(ahead)
	wg.Wait()
}

const pullBatch = 32

// begin finds the first offset, trying until the queue is taken away.
func (a *assigned) begin() (int64, bool) {
	for {
		ctx, cancel := context.WithTimeout(a.ctx, a.consumer.client.opts.Timeout)
		offset, err := a.consumer.firstOffset(ctx, a.queue)
		cancel()
		if err == nil {
			return offset, true
		}
		a.consumer.report(err)
		if !a.pause() {
			return 0, false
		}
	}
}

// pause waits a moment; false when the queue has been taken away.
func (a *assigned) pause() bool {
	t := time.NewTimer(retryPause)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-a.ctx.Done():
		return false
	}
}

// pullLoop pulls as far ahead as the channel holds.
func (a *assigned) pullLoop(offset int64, ahead chan<- pulled) {
	k := a.consumer
	for a.ctx.Err() == nil {
		p := PullRequest{Queue: a.queue, Group: k.opts.Group, Offset: offset, Max: pullBatch, Hold: holdTime,
			Subscription: &a.sub, Version: k.version, Commit: -1}
		if !k.opts.Broadcast {
			p.Subscription = nil
		}
		r, err := k.client.Pull(a.ctx, p)
		if err != nil {
			k.report(err)
			var said *message.Error
			if errors.As(err, &said) && said.Code == message.SubscriptionNotExist {
				k.client.beat(a.ctx) // the broker has forgotten us
			}
			if !a.pause() {
				return
			}
			continue
		}
		if r.Next == offset && len(r.Messages) == 0 {
			continue
		}
		offset = r.Next
		select {
		case ahead <- pulled{a.wanted(r.Messages), r.Next}:
		case <-a.ctx.Done():
			return
		}
	}
}

// wanted drops messages whose tag only has the hash of a wanted one, and gives retried ones their topic back.
func (a *assigned) wanted(ms []*Received) []*Received {
	var names []string
	if a.sub.kind() == message.ExpressionTag {
		if tags, err := message.ParseTags(a.sub.expression()); err == nil && !tags.All {
			names = tags.Names
		}
	}
	out := ms[:0]
	for _, m := range ms {
		if names != nil && !slices.Contains(names, m.Tag) {
			continue
		}
		if t := m.Properties[message.PropRetryTopic]; t != "" && message.IsRetryTopic(m.Topic) {
			m.Topic = t
		}
		out = append(out, m)
	}
	return out
}

// deliver hands messages over, in order, until the channel is closed or the queue taken away.
func (a *assigned) deliver(ahead <-chan pulled) {
	size := a.consumer.opts.Batch
	for p := range ahead {
		for i := 0; i < len(p.messages); i += size {
			ms := p.messages[i:min(i+size, len(p.messages))]
			if !a.handle(ms) {
				return
			}
			a.advance(ms[len(ms)-1].Offset + 1)
		}
		a.advance(p.next)
	}
}

// handle gives messages to the user, and back to the broker when they could not be consumed. It returns false when that
// could not be done before the queue was taken away: somebody else will consume them then.
func (a *assigned) handle(ms []*Received) bool {
	if a.ctx.Err() != nil {
		return false
	}
	k := a.consumer
	if err := k.opts.Handle(a.ctx, ms); err == nil || k.opts.Broadcast {
		return true
	}
	for _, m := range ms {
		for {
			ctx, cancel := context.WithTimeout(a.ctx, k.client.opts.Timeout)
			err := k.sendBack(ctx, m)
			cancel()
			if err == nil {
				break
			}
			k.report(err)
			if !a.pause() {
				return false
			}
		}
	}
	return true
}
