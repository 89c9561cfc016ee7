package remoting

import (
	"errors"
	"time"

	"github.com/weirmq/weir/core/clock"
)

// sweepEvery is how often the time-outs of connections are looked at, and with it how exact they are. Deadlines on the
// sockets would cost a timer at each read.
const sweepEvery = time.Second

var (
	errIdle = errors.New("nothing was read or written for longer than idle_timeout")
	errSlow = errors.New("a frame wasn't finished within frame_timeout")
)

// sweep moves the coarse clock and ends connections that are past a time-out, until the endpoint stops.
func (e *endpoint) sweep() {
	defer e.wg.Done()
	t := e.set.Clock.NewTimer(sweepEvery)
	defer t.Stop()
	for {
		select {
		case <-e.ctx.Done():
			return
		case <-t.C():
		}
		now := clock.Millis(e.set.Clock.Now())
		e.now.Store(now)
		e.mu.Lock()
		list := make([]*conn, 0, len(e.conns))
		for c := range e.conns {
			list = append(list, c)
		}
		e.mu.Unlock()
		for _, c := range list {
			c.check(now)
		}
		t.Reset(sweepEvery)
	}
}

// check ends the connection when it is past a time-out, and takes its large read buffer away when it is quiet.
func (c *conn) check(now int64) {
	if !c.reading.Load() {
		return // the time is ours: a handler, or back-pressure
	}
	since := now - c.active.Load()
	if since >= c.e.cfg.IdleTimeout.Milliseconds() {
		c.shut(errIdle)
		return
	}
	if begun := c.frameBegun.Load(); begun > 0 && now-begun >= c.e.cfg.FrameTimeout.Milliseconds() {
		c.shut(errSlow)
		return
	}
	if c.large.Load() && since >= 2*sweepEvery.Milliseconds() {
		c.wakeReader()
	}
}
