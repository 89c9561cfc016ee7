package timers

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirmq/weir/sdk/client"
	"github.com/weirmq/weir/test/internal/sut"
)

const (
	probes = 2000
	// probeTime is how far apart the times of all probes are.
	probeTime = 8 * time.Second
	// precise is how late one in a hundred may be. Tests run beside others; WEIR_TIMERS=alone says that this one doesn't.
	precise = 100 * time.Millisecond
	crowded = 2 * time.Second
	// memoryMax is what a million messages that wait may cost.
	memoryMax = 200 << 20
)

// TestPrecision sends messages with random times while none, 10,000 and a million others wait, and prints how late they came, at the broker and at a
// consumer. None may be early. The figures are of this machine, with whatever else it does.
func TestPrecision(t *testing.T) {
	if sut.Default() != sut.Weir {
		t.Skip("RocketMQ 4 delivers such messages at once")
	}
	most := 1_000_000
	if testing.Short() {
		most = 10_000
	}
	broker := sut.Start(t, sut.Options{})
	c := client.New(client.Options{NameServers: []string{broker.NameServer()}, Timeout: 30 * time.Second})
	defer c.Close()
	x := &prober{t: t, client: c, producer: c.Producer("timers"), broker: broker}
	idle := anonymous(t, broker.Pid())
	allowed := crowded
	if os.Getenv("WEIR_TIMERS") == "alone" {
		allowed = precise
	}
	waiting := 0
	for _, n := range []int{0, 10_000, most} {
		began := time.Now()
		x.fill(n - waiting)
		took := time.Since(began)
		waiting = max(waiting, n)
		stored, arrived := x.probe()
		memory := anonymous(t, broker.Pid())
		t.Logf("%8d wait (sent in %6v): at the broker %s; at the consumer %s; memory %d MiB, %d more than without", waiting, took.Round(time.Millisecond),
			quantiles(stored), quantiles(arrived), memory>>20, (memory-idle)>>20)
		if p99 := stored[len(stored)*99/100]; p99 > allowed {
			t.Errorf("with %d waiting one message in a hundred is late by %v, more than %v", waiting, p99, allowed)
		}
		if stored[0] < 0 {
			t.Errorf("with %d waiting a message was early by %v", waiting, -stored[0])
		}
		if memory > memoryMax {
			t.Errorf("with %d waiting the broker takes %d MiB of memory, more than %d", waiting, memory>>20, memoryMax>>20)
		}
	}
}

func quantiles(late []time.Duration) string {
	at := func(q int) time.Duration { return late[min(len(late)*q/100, len(late)-1)].Round(10 * time.Microsecond) }
	return fmt.Sprintf("p50 %v, p99 %v, max %v", at(50), at(99), at(100))
}

// anonymous returns the memory of a process that is not a mapped file, in bytes.
func anonymous(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`RssAnon:\s+(\d+) kB`).FindSubmatch(text)
	if m == nil {
		t.Fatal("no RssAnon in the status of the process")
	}
	n, _ := strconv.ParseInt(string(m[1]), 10, 64)
	return n << 10
}

type prober struct {
	t        *testing.T
	client   *client.Client
	producer *client.Producer
	broker   *sut.Broker
	failed   atomic.Int64
	sends    sync.WaitGroup // those without an answer
	from     int64          // offset of the next probe
}

// Sent implements client.SendHandler.
func (x *prober) Sent(_ uint64, _ client.SendResult, err error) {
	if err != nil && x.failed.Add(1) == 1 {
		x.t.Errorf("send: %v", err)
	}
	x.sends.Done()
}

// fill has n messages wait whose times are hours away.
func (x *prober) fill(n int) {
	for range max(n, 0) {
		at := time.Now().Add(10*time.Hour + rand.N(24*time.Hour))
		x.send(&client.Message{Topic: "Far", Body: make([]byte, 100), DeliverAt: at})
	}
	x.sends.Wait()
}

func (x *prober) send(m *client.Message) {
	x.sends.Add(1)
	if err := x.producer.SendAsync(context.Background(), m, x, 0); err != nil {
		x.t.Fatal(err)
	}
}

// probe sends messages whose times are spread over probeTime, and returns how late each was stored in its topic, and how late it was with a consumer, both sorted.
func (x *prober) probe() (stored, arrived []time.Duration) {
	began := time.Now().Add(500 * time.Millisecond)
	for range probes {
		at := began.Add(rand.N(probeTime))
		x.send(&client.Message{Topic: "Probe", QueueKey: "one", DeliverAt: at, Body: []byte(strconv.FormatInt(at.UnixMilli(), 10))})
	}
	x.sends.Wait()
	first, err := x.producer.Send(context.Background(), &client.Message{Topic: "Probe", QueueKey: "one", Body: []byte("0")}) // says which queue it is
	if err != nil {
		x.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for len(stored) < probes {
		r, err := x.client.Pull(ctx, client.PullRequest{Queue: first.Queue, Group: "timers", Offset: x.from, Max: 1024, Commit: -1, Hold: 5 * time.Second,
			Subscription: &client.Subscription{Topic: "Probe"}})
		if err != nil {
			x.t.Fatalf("%d of %d came: %v", len(stored), probes, err)
		}
		now := time.Now()
		for _, m := range r.Messages {
			if due, _ := strconv.ParseInt(string(m.Body), 10, 64); due > 0 {
				stored = append(stored, time.Duration(m.StoreTimestamp-due)*time.Millisecond)
				arrived = append(arrived, now.Sub(time.UnixMilli(due)))
			}
		}
		x.from = r.Next
	}
	slices.Sort(stored)
	slices.Sort(arrived)
	return stored, arrived
}
