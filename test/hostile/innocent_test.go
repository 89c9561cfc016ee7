package hostile

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirmq/weir/sdk/client"
)

// innocent is a topic without a filter, to which messages are sent at a steady rate and from which they are pulled, with what
// each took from one to the other.
type innocent struct {
	phase atomic.Int32
	mu    sync.Mutex
	took  [phases][]time.Duration
	sent  atomic.Uint64
	got   atomic.Uint64
	warm  chan struct{} // closed when warmUp messages have come
}

// warmUp is how many messages come before anything is measured: about a second's.
const warmUp = 250

// The phases of the test.
const (
	alone = iota
	onlyPests
	withCorpus
	withGenerated
	unmeasured
	phases
)

func phaseNames() []string {
	return []string{"alone", "beside pests", "and the corpus", "and generated ones"}
}

const innocentEvery = 4 * time.Millisecond

// run sends until the context ends, and then pulls what is left.
func (x *innocent) run(ctx context.Context, t *testing.T, nameServer string) {
	c, p := newClient(t, nameServer), newClient(t, nameServer).Producer("innocent")
	first, err := p.Send(ctx, &client.Message{Topic: "Innocent", QueueKey: "one", Body: binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, 0), uint64(time.Now().UnixNano()))})
	if err != nil {
		t.Error(err)
		return
	}
	x.sent.Store(1)
	var both sync.WaitGroup
	both.Go(func() {
		tick := time.NewTicker(innocentEvery)
		defer tick.Stop()
		for ctx.Err() == nil {
			<-tick.C
			n := x.sent.Load()
			body := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, n), uint64(time.Now().UnixNano()))
			if _, err := p.Send(context.Background(), &client.Message{Topic: "Innocent", QueueKey: "one", Body: body}); err != nil {
				t.Errorf("send innocent message %d: %v", n, err)
				return
			}
			x.sent.Store(n + 1)
		}
	})
	both.Go(func() {
		for next := first.Offset; ctx.Err() == nil || x.got.Load() < x.sent.Load(); {
			r, err := c.Pull(context.Background(), client.PullRequest{Queue: first.Queue, Group: "innocent", Offset: next, Commit: -1, Hold: time.Second,
				Subscription: &client.Subscription{Topic: "Innocent"}})
			if err != nil {
				t.Errorf("pull innocent messages from %d: %v", next, err)
				return
			}
			x.take(t, r.Messages, &next)
		}
	})
	both.Wait()
}

func (x *innocent) take(t *testing.T, list []*client.Received, next *int64) {
	now, phase := time.Now(), x.phase.Load()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, m := range list {
		if n := binary.LittleEndian.Uint64(m.Body); n != x.got.Load() || m.Offset != *next {
			t.Errorf("innocent message %d came at offset %d, want message %d at %d", n, m.Offset, x.got.Load(), *next)
		}
		x.took[phase] = append(x.took[phase], now.Sub(time.Unix(0, int64(binary.LittleEndian.Uint64(m.Body[8:])))))
		if x.got.Add(1) == warmUp {
			close(x.warm)
		}
		*next++
	}
}

// quantiles returns the median, the 99th percentile and the maximum of a phase.
func (x *innocent) quantiles(phase int) (count int, p50, p99, most time.Duration) {
	x.mu.Lock()
	list := slices.Clone(x.took[phase])
	x.mu.Unlock()
	if len(list) == 0 {
		return 0, 0, 0, 0
	}
	slices.Sort(list)
	return len(list), list[len(list)/2], list[len(list)*99/100], list[len(list)-1]
}

func newClient(t *testing.T, nameServer string) *client.Client {
	c := client.New(client.Options{NameServers: []string{nameServer}, Timeout: 2 * time.Minute})
	t.Cleanup(func() { _ = c.Close() })
	return c
}
