package queue

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// counted answers count how often each pull was answered.
type counted struct {
	answers atomic.Int32
	done    chan struct{}
}

func (c *counted) PullDone(p *transport.Pull) {
	p.Records.Release()
	c.answers.Add(1)
	close(c.done) // panics when answered twice
}

// TestHammerHolders follows messages with many consumers that hold every pull, while the sweep runs and connections
// break. Every pull is answered exactly once, or never if its connection broke, and every consumer that lives sees
// every message.
func TestHammerHolders(t *testing.T) {
	w := newWorld(t, nil)
	w.topic("T", 2)
	w.groups.set(plainGroup("g"))
	w.heartbeat(t, session(0), "c", consumer("g", sub("T", "A||B")))
	w.pulls.Start()
	const messages, consumers = 400, 20
	var wg sync.WaitGroup
	for n := range consumers {
		wg.Go(func() {
			s := session(100 + n)
			q := message.QueueID(n % 2)
			for o := message.Offset(0); o < messages; {
				c := &counted{done: make(chan struct{})}
				p := &transport.Pull{Caller: transport.Caller{Session: s}, Reply: c, Group: "g", Topic: "T", QueueID: q, Offset: o,
					MaxNum: 8, Suspend: true, SuspendTimeout: time.Hour}
				w.pulls.Pull(context.Background(), p)
				if n >= consumers-4 && o > messages/2 { // these break off while they wait
					s.dead.Store(true)
					w.pulls.SessionClosed(s)
					return
				}
				<-c.done
				if p.NextBeginOffset < o || p.Code != message.Success && p.Code != message.PullNotFound {
					t.Errorf("consumer %d at %d: %v, next %d", n, o, p.Code, p.NextBeginOffset)
					return
				}
				o = p.NextBeginOffset
			}
		})
	}
	stop := make(chan struct{})
	var sweeps sync.WaitGroup
	sweeps.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				w.pulls.Sweep()
			}
		}
	})
	for i := range messages {
		var batch []message.Arrival
		for q := range 2 {
			batch = append(batch, w.log.send("T", message.QueueID(q), "A", fmt.Sprint(i)))
		}
		w.pulls.Arrived(batch)
	}
	wg.Wait()
	close(stop)
	sweeps.Wait()
	if n := w.pulls.Held(); n != 0 {
		t.Errorf("%d pulls are still held", n)
	}
	if err := w.pulls.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	if n := w.log.lent.Load(); n != 0 {
		t.Errorf("%d references to the store are left", n)
	}
}
