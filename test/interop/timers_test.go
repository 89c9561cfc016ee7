package interop

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weirmq/weir/sdk/client"
	"github.com/weirmq/weir/test/internal/repo"
	"github.com/weirmq/weir/test/internal/sut"
)

// TestTimersThroughJava: messages that wait for times of their own stay in a store that a Java broker opens in between. It delivers none of them, and works; weir delivers
// them afterwards, those whose time has come meanwhile at once, and not the recalled one.
func TestTimersThroughJava(t *testing.T) {
	t.Parallel()
	repo.NeedJava(t)
	dir := t.TempDir()
	options := func(kind sut.Kind) sut.Options {
		return sut.Options{Kind: kind, DataDir: dir, SegmentSize: handoverSegment, QueueEntries: handoverEntries}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()

	first := sut.Start(t, options(sut.Weir))
	c := client.New(client.Options{NameServers: []string{first.NameServer()}})
	defer c.Close()
	p := c.Producer("timers")
	var want []string
	var queue client.Queue
	began := time.Now()
	for i := range 20 {
		at := began.Add(2 * time.Second) // while Java has the store
		if i%2 == 1 {
			at = began.Add(time.Hour)
		}
		r, err := p.Send(ctx, &client.Message{Topic: "Timed", QueueKey: "one", DeliverAt: at, Body: fmt.Appendf(nil, "timed %d", i)})
		if err != nil {
			t.Fatal(err)
		}
		queue = r.Queue
		switch {
		case i == 4:
			if _, err := p.Recall(ctx, r.RecallHandle); err != nil {
				t.Fatal(err)
			}
		case i%2 == 0:
			want = append(want, string(fmt.Appendf(nil, "timed %d", i)))
		}
	}
	first.Stop(t)

	java := sut.Start(t, options(sut.Java))
	if got := drain(ctx, t, java, queue); len(got) != 0 {
		t.Errorf("the Java broker has %v", got)
	}
	jc := client.New(client.Options{NameServers: []string{java.NameServer()}})
	defer jc.Close()
	if _, err := jc.Producer("plain").Send(ctx, &client.Message{Topic: "Timed", QueueKey: "one", Body: []byte("by Java")}); err != nil {
		t.Fatal(err)
	}
	want = append(want, "by Java")
	if wait := time.Until(began.Add(2 * time.Second)); wait > 0 {
		time.Sleep(wait) // the messages' time has to come
	}
	java.Stop(t)

	first.Start(t)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		got := drain(ctx, t, first, queue)
		slices.Sort(got)
		slices.Sort(want)
		if slices.Equal(got, want) {
			break
		}
		if len(got) > len(want) || time.Now().After(deadline) {
			t.Fatalf("weir delivers %v, want %v", got, want)
		}
	}
}

// drain returns the bodies of a queue.
func drain(ctx context.Context, t *testing.T, b *sut.Broker, q client.Queue) (bodies []string) {
	t.Helper()
	c := client.New(client.Options{NameServers: []string{b.NameServer()}})
	defer c.Close()
	q.Addr = b.Addr()
	end, err := c.MaxOffset(ctx, q)
	if err != nil {
		t.Fatal(err)
	}
	for at := int64(0); at < end; {
		r, err := c.Pull(ctx, client.PullRequest{Queue: q, Group: "reader", Offset: at, Max: 32, Commit: -1, Subscription: &client.Subscription{Topic: q.Topic}})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range r.Messages {
			bodies = append(bodies, string(m.Body))
		}
		at = r.Next
	}
	return bodies
}
