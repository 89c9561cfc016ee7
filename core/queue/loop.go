package queue

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/weirmq/weir/core/clock"
)

// loops owns the goroutines of one part of the package: it starts them and waits for their end.
type loops struct {
	once sync.Once
	done chan struct{}
	wg   sync.WaitGroup
}

func (l *loops) init() { l.once.Do(func() { l.done = make(chan struct{}) }) }

// every calls f at an interval until stop. Calls don't overlap.
func (l *loops) every(c clock.Clock, interval time.Duration, f func()) {
	l.init()
	l.wg.Go(func() {
		t := c.NewTimer(interval)
		defer t.Stop()
		for {
			select {
			case <-l.done:
				return
			case <-t.C():
				f()
				t.Reset(interval)
			}
		}
	})
}

// run runs f, which returns when stopped is closed.
func (l *loops) run(f func(stopped <-chan struct{})) {
	l.init()
	l.wg.Go(func() { f(l.done) })
}

// stop ends the goroutines and waits for them, at most until ctx is done. It works without a start, and twice.
func (l *loops) stop(ctx context.Context) error {
	l.init()
	select {
	case <-l.done:
	default:
		close(l.done)
	}
	ended := make(chan struct{})
	go func() {
		l.wg.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for background work to end: %w", ctx.Err())
	}
}
