package hostile

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/weirmq/weir/plugins/filter/wasm/wasmtest"
	"github.com/weirmq/weir/sdk/client"
)

// The pests' traffic: batches of pestBatch messages, and so many consumers by each pest.
const (
	pestEvery     = 40 * time.Millisecond
	pestBatch     = 64
	pestConsumers = 4
)

// pest is a module that is subscribed to all the time.
type pest struct {
	name   string
	bin    []byte
	judges bool
}

// pests are those of a run; WEIR_PESTS=none leaves them out, so that more generated modules can be tried in a time.
func pests() []pest {
	if os.Getenv("WEIR_PESTS") == "none" {
		return nil
	}
	return []pest{{"slow", wasmtest.Slow(false), true}, {"slow-pure", wasmtest.Slow(true), true},
		{"endless", wasmtest.Endless(false), false}, {"endless-pure", wasmtest.Endless(true), false}}
}

// releasePests has consumers wait for messages that modules judge which use all they may, or never end, and sends such
// messages. What it returns stops them, and looks whether those whose module judges have got what matches, in order.
func (w *world) releasePests() (stop func()) {
	queue := w.send("Pests", 1)
	for _, x := range pests() {
		if _, err := w.admin.PushModule(w.t.Context(), w.broker.Addr(), x.name, x.bin, false, nil); err != nil {
			w.t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	var sending, all sync.WaitGroup
	var end int64
	sending.Go(func() { end = w.feed(ctx) })
	ended := make(chan struct{})
	for _, x := range pests() {
		for k := range pestConsumers {
			all.Go(func() { w.pester(ctx, ended, &end, queue, x, fmt.Sprint(x.name, k)) })
		}
	}
	return func() {
		cancel()
		sending.Wait()
		close(ended)
		all.Wait()
		for _, x := range pests() {
			if err := w.admin.RemoveModule(w.t.Context(), w.broker.Addr(), x.name, 0, true); err != nil {
				w.t.Error(err)
			}
		}
	}
}

// feed sends until ctx ends, and returns where the queue ends.
func (w *world) feed(ctx context.Context) (end int64) {
	p := newClient(w.t, w.broker.NameServer()).Producer("pests")
	tick := time.NewTicker(pestEvery)
	defer tick.Stop()
	for end = 1; ctx.Err() == nil; <-tick.C {
		var batch []*client.Message
		for i := range pestBatch {
			batch = append(batch, &client.Message{Topic: "Pests", QueueKey: "one", Body: []byte("x"), Properties: map[string]string{"a": fmt.Sprint((end + int64(i)) % 10)}})
		}
		sent, err := p.SendBatch(context.Background(), batch)
		if err != nil {
			w.t.Errorf("send to the pests: %v", err)
			return end
		}
		if sent.Offset != end {
			w.t.Errorf("a batch was stored at %d, want %d", sent.Offset, end)
		}
		end += pestBatch
	}
	return end
}

// pester pulls until all that was sent has been judged or, with a module that doesn't judge, until ctx ends.
func (w *world) pester(ctx context.Context, ended chan struct{}, end *int64, queue client.Queue, x pest, group string) {
	c := newClient(w.t, w.broker.NameServer())
	var got []int64
	for next := int64(0); ; {
		select {
		case <-ended:
			if next >= *end {
				w.checkPest(x, got, *end)
				return
			}
		default:
		}
		if ctx.Err() != nil && !x.judges {
			if len(got) > 0 {
				w.t.Errorf("%s: %d messages came that nobody has judged", group, len(got))
			}
			return
		}
		r, err := c.Pull(context.Background(), client.PullRequest{Queue: queue, Group: group, Offset: next, Commit: -1, Hold: time.Second,
			Subscription: &client.Subscription{Topic: "Pests", Type: "WASM", Expression: x.name}})
		if err != nil {
			if x.judges {
				w.t.Errorf("%s at %d: %v", group, next, err)
				return
			}
			time.Sleep(50 * time.Millisecond) // a client would wait for three seconds
			continue
		}
		for _, m := range r.Messages {
			got = append(got, m.Offset)
		}
		next = r.Next
	}
}

func (w *world) checkPest(x pest, got []int64, end int64) {
	var want []int64
	for i := range end {
		if i%10 > wasmtest.Threshold {
			want = append(want, i)
		}
	}
	if !slices.Equal(got, want) {
		w.t.Errorf("%s: %d messages came, want %d, or not in order", x.name, len(got), len(want))
	}
}
