package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weirmq/weir/test/internal/raw"
	"github.com/weirmq/weir/test/internal/sut"
)

func TestKillDeliverySync(t *testing.T) { killDelivery(t, "sync") }

func TestKillDeliveryAsync(t *testing.T) { killDelivery(t, "async") }

// killDelivery kills a broker while messages are delayed, committed, rolled back and given back. What was promised is delivered, at least
// once and never early; what was rolled back or never decided isn't.
func killDelivery(t *testing.T, flush string) {
	count := kills(t)
	broker := sut.Start(t, sut.Options{Flush: flush, Home: keptDir(t), SegmentSize: 1 << 20, QueueEntries: 1000, WeirSettings: map[string]string{
		"SCHEDULE__LEVELS": deliveryLevels, "SCHEDULE__SAVE_INTERVAL": "100ms", "TRANSACTIONS__TIMEOUT": "1s", "TRANSACTIONS__CHECK_INTERVAL": "1s"}})
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	withConn(ctx, t, broker, func(c *raw.Conn) error {
		if err := c.CreateTopic(ctx, topic, queues); err != nil {
			return err
		}
		return c.UpdateGroup(ctx, retriers, 16)
	})
	book := &fates{}
	seen := make([]int64, queues+1) // how far each queue, and then the retry topic, was read
	for round := range count {
		full, done := book.run(ctx, broker.Addr(), 1+rand.IntN(1000))
		select {
		case <-full:
		case err := <-done:
			t.Fatalf("the load ended before the broker was killed: %v", err)
		}
		broker.Kill()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if rand.IntN(8) == 0 {
			broker.KillWhileStarting(time.Duration(rand.IntN(60)+1) * time.Millisecond)
		}
		broker.Start(t)
		withConn(ctx, t, broker, func(c *raw.Conn) error {
			if err := readDelivered(ctx, c, book, seen); err != nil {
				return fmt.Errorf("after kill %d: %w", round+1, err)
			}
			return nil
		})
	}
	missing, duplicates := awaitDelivered(ctx, t, broker, book, seen)
	if len(missing) > 0 {
		t.Errorf("%d messages that were promised are missing, the first is %d (kind %d)", len(missing), missing[0], kindOf(missing[0]))
	}
	t.Logf("%s flush: %d kills; %d messages, %d yeses; 0 lost, 0 early, 0 uncommitted visible; %d duplicates", flush, count, len(book.all), book.acked, duplicates)
}

// readDelivered reads on in all queues, the retry topic's last.
func readDelivered(ctx context.Context, c *raw.Conn, book *fates, seen []int64) error {
	for i := range seen {
		from, queue := topic, i
		if i == queues {
			from, queue = "%RETRY%"+retriers, 0
		}
		end, err := c.MaxOffset(ctx, from, queue)
		if err != nil {
			return err
		}
		records, err := c.ReadRange(ctx, from, queue, seen[i], end)
		if err != nil {
			return fmt.Errorf("%s/%d: %w", from, queue, err)
		}
		for _, r := range records {
			if r.QueueOffset != seen[i] {
				return fmt.Errorf("%s/%d: after offset %d comes %d", from, queue, seen[i]-1, r.QueueOffset)
			}
			seen[i]++
			if err := book.see(r, i == queues); err != nil {
				return fmt.Errorf("%s/%d offset %d: %w", from, queue, r.QueueOffset, err)
			}
		}
	}
	return nil
}

// awaitDelivered reads until nothing is missing, for a minute, and then for as long as something may come that must not.
func awaitDelivered(ctx context.Context, t *testing.T, broker *sut.Broker, book *fates, seen []int64) (missing []uint64, duplicates int) {
	t.Helper()
	withConn(ctx, t, broker, func(c *raw.Conn) error {
		late := time.Now().Add(time.Minute)
		for last := false; ; {
			if err := readDelivered(ctx, c, book, seen); err != nil {
				return err
			}
			if missing, duplicates = book.tally(); last || time.Now().After(late) {
				return nil
			}
			pause := 100 * time.Millisecond
			if len(missing) == 0 {
				last, pause = true, 3*time.Second // longer than any delay
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(pause):
			}
		}
	})
	return missing, duplicates
}

// TestFatesFindsWhatIsWrong judges the judge.
func TestFatesFindsWhatIsWrong(t *testing.T) {
	begun := time.UnixMilli(1_000_000)
	record := func(seq uint64, after time.Duration, times int) *raw.Record {
		return &raw.Record{Body: body(seq), StoredAt: begun.Add(after).UnixMilli(), ReconsumeTimes: times, Properties: map[string]string{"seq": fmt.Sprint(seq), "TAGS": "Tag"}}
	}
	for _, c := range []struct {
		name    string
		r       *raw.Record
		retried bool
		good    bool
	}{
		{"due", record(uint64(delayedShort), time.Second, 0), false, true},
		{"early", record(uint64(delayedShort), time.Second-time.Millisecond, 0), false, false},
		{"committed", record(uint64(committed), 0, 0), false, true},
		{"rolled back", record(uint64(rolledBack), time.Hour, 0), false, false},
		{"undecided", record(uint64(undecided), time.Hour, 0), false, false},
		{"retried", record(uint64(givenBack), time.Second, 1), true, true},
		{"retried early", record(uint64(givenBack), 0, 1), true, false},
		{"retried twice", record(uint64(givenBack), time.Second, 2), true, false},
		{"never sent", record(100, time.Hour, 0), false, false},
	} {
		f := &fates{}
		for range kinds {
			f.all = append(f.all, &fate{begun: begun, again: begun, promised: true, back: true})
		}
		if err := f.see(c.r, c.retried); (err == nil) != c.good {
			t.Errorf("%s: %v", c.name, err)
		}
		if missing, _ := f.tally(); len(missing) < 4 {
			t.Errorf("%s: only %v are missing", c.name, missing)
		}
	}
}
