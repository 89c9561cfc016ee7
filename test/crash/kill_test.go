package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirmq/weir/test/internal/raw"
	"github.com/weirmq/weir/test/internal/sut"
)

func TestMain(m *testing.M) { sut.Main(m) }

func TestKillSync(t *testing.T) { killLoop(t, "sync") }

func TestKillAsync(t *testing.T) { killLoop(t, "async") }

// kills is how often each test kills the broker: WEIR_KILLS, or 50.
func kills(t *testing.T) int {
	text := os.Getenv("WEIR_KILLS")
	if text == "" {
		return 50
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("WEIR_KILLS=%s: want a number", text)
	}
	return n
}

// killLoop kills a broker under load and restarts it, many times over one store. Small files make sure that kills hit
// the moments when a new file begins. One restart in eight is killed as well, before it is ready.
func killLoop(t *testing.T, flush string) {
	count := kills(t)
	home := keptDir(t)
	broker := sut.Start(t, sut.Options{Flush: flush, Home: home, SegmentSize: 1 << 20, QueueEntries: 1000})
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	withConn(ctx, t, broker, func(c *raw.Conn) error { return c.CreateTopic(ctx, topic, queues) })

	var next atomic.Uint64
	book := newLedger()
	var recoveries []time.Duration
	acknowledged, interrupted := 0, 0
	for round := range count {
		acks := loadAndKill(ctx, t, broker, &next)
		acknowledged += len(acks)
		if rand.IntN(8) == 0 && !broker.KillWhileStarting(time.Duration(rand.IntN(60)+1)*time.Millisecond) {
			interrupted++
		}
		began := time.Now()
		broker.Start(t)
		recoveries = append(recoveries, time.Since(began))
		withConn(ctx, t, broker, func(c *raw.Conn) error {
			if err := book.verify(ctx, c, acks, next.Load()); err != nil {
				return fmt.Errorf("after kill %d: %w", round+1, err)
			}
			if err := book.verifyCommitted(ctx, c); err != nil {
				return fmt.Errorf("after kill %d: %w", round+1, err)
			}
			return book.commit(ctx, c)
		})
	}
	broker.Restart(t)
	withConn(ctx, t, broker, func(c *raw.Conn) error { return book.verifyAll(ctx, c, next.Load()) })
	report(t, flush, recoveries, broker)
	t.Logf("%s flush: %d kills, %d of them while starting; %d messages acknowledged, 0 lost; %d stored, dense",
		flush, count+interrupted, interrupted, acknowledged, book.size())
}

// loadAndKill lets the load get a random number of acknowledgements and kills the broker under it.
func loadAndKill(ctx context.Context, t *testing.T, broker *sut.Broker, next *atomic.Uint64) []ack {
	t.Helper()
	l := &load{next: next, want: 1 + rand.IntN(2000), full: make(chan struct{})}
	type result struct {
		acks []ack
		err  error
	}
	done := make(chan result, 1)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	go func() {
		acks, err := l.run(ctx, broker.Addr())
		done <- result{acks, err}
	}()
	select {
	case <-l.full:
	case r := <-done:
		t.Fatalf("the load ended before the broker was killed, after %d acknowledgements: %v", len(r.acks), r.err)
	}
	broker.Kill()
	r := <-done
	if r.err != nil {
		t.Fatal(r.err)
	}
	return r.acks
}

func withConn(ctx context.Context, t *testing.T, broker *sut.Broker, do func(*raw.Conn) error) {
	t.Helper()
	c, err := raw.Dial(ctx, broker.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := do(c); err != nil {
		t.Fatal(err)
	}
}

// keptDir is a directory that is removed only if the test passes, as evidence.
func keptDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "weir-crash-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the store is left in %s", filepath.Join(dir, "store"))
			return
		}
		_ = os.RemoveAll(dir)
	})
	return dir
}

// report prints how long the broker took from its start until it served.
func report(t *testing.T, flush string, recoveries []time.Duration, broker *sut.Broker) {
	slices.Sort(recoveries)
	at := func(share float64) time.Duration {
		return recoveries[int(share*float64(len(recoveries)-1))].Round(time.Millisecond)
	}
	files, err := filepath.Glob(filepath.Join(broker.DataDir(), "commitlog", "*"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s flush: recovery took p50 %v, p90 %v, p99 %v, at most %v; %d segments at the end",
		flush, at(0.5), at(0.9), at(0.99), at(1), len(files))
}

// TestLedgerFindsWhatIsMissing judges the judge: promises that the broker did not keep are found.
func TestLedgerFindsWhatIsMissing(t *testing.T) {
	broker := sut.Start(t, sut.Options{})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	withConn(ctx, t, broker, func(c *raw.Conn) error { return c.CreateTopic(ctx, topic, queues) })
	var next atomic.Uint64
	acks := loadAndKill(ctx, t, broker, &next)
	broker.Start(t)
	withConn(ctx, t, broker, func(c *raw.Conn) error {
		moved := acks[0]
		moved.seq++
		if err := newLedger().verify(ctx, c, append([]ack{moved}, acks[1:]...), next.Load()); err == nil {
			t.Error("a message in the wrong place was not found")
		}
		if err := newLedger().verify(ctx, c, acks, 1); err == nil {
			t.Error("messages that were never sent were not found")
		}
		book := newLedger()
		if err := book.verify(ctx, c, acks, next.Load()); err != nil {
			return err
		}
		book.queues[0] = book.queues[0][1:] // as if an older message had vanished
		if err := book.verifyAll(ctx, c, next.Load()); err == nil {
			t.Error("a gap was not found")
		}
		return nil
	})
}
