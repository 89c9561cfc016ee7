// Package loop owns goroutines that work in the background until they are stopped.
package loop

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/weirmq/weir/core/clock"
)

// Group owns the goroutines of one part: it starts them and waits for their end. The zero value is ready.
type Group struct {
	begun, ended sync.Once
	done         chan struct{}
	wg           sync.WaitGroup
}

func (g *Group) init() { g.begun.Do(func() { g.done = make(chan struct{}) }) }

// Every calls f at an interval until Stop. Calls don't overlap.
func (g *Group) Every(c clock.Clock, interval time.Duration, f func()) {
	g.Run(func(stopped <-chan struct{}) {
		t := c.NewTimer(interval)
		defer t.Stop()
		for {
			select {
			case <-stopped:
				return
			case <-t.C():
				f()
				t.Reset(interval)
			}
		}
	})
}

// Run runs f, which returns when stopped is closed.
func (g *Group) Run(f func(stopped <-chan struct{})) {
	g.init()
	g.wg.Go(func() { f(g.done) })
}

// Stopped reports whether Stop was called, for work that takes long.
func (g *Group) Stopped() bool {
	g.init()
	select {
	case <-g.done:
		return true
	default:
		return false
	}
}

// Stop ends the goroutines and waits for them, at most until ctx is done. It works without a start, and twice.
func (g *Group) Stop(ctx context.Context) error {
	g.init()
	g.ended.Do(func() { close(g.done) })
	idle := make(chan struct{})
	go func() {
		g.wg.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for background work to end: %w", ctx.Err())
	}
}
