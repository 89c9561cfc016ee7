package bench

import (
	"context"
	"sync"
	"time"
)

// drainTimeout is how long consuming may go on after producing has ended.
const drainTimeout = 15 * time.Second

// RunBoth produces and consumes at the same time, and measures how long messages take from one to the other.
func RunBoth(ctx context.Context, p *Produce, c *Consume) (produced, consumed *Result, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	k := clock{time.Now()}
	p.clock, c.clock, p.stamped = k, k, true
	c.endToEnd, c.Follow = true, true
	if p.Count > 0 {
		c.Count, p.Warmup = p.Count, 0
	} else {
		c.Duration = p.Warmup + p.Duration
	}
	c.warm = k.now() + int64(p.Warmup)
	var wg sync.WaitGroup
	var consumeErr error
	wg.Go(func() {
		if consumed, consumeErr = c.Run(ctx); consumeErr != nil {
			cancel()
		}
	})
	produced, err = p.Run(ctx)
	if err != nil {
		cancel()
	} else {
		// What was lost never comes: don't wait for it for ever.
		defer time.AfterFunc(drainTimeout, cancel).Stop()
	}
	wg.Wait()
	if err == nil {
		err = consumeErr
	}
	return produced, consumed, err
}
