package crash

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/weirmq/weir/test/internal/raw"
	"github.com/weirmq/weir/test/internal/sut"
)

// kind is what becomes of a message, by its number.
type kind int

const (
	delayedShort kind = iota // level 1
	committed
	rolledBack
	undecided
	delayedLong // level 2
	committedToo
	rolledBackToo
	givenBack // sent, and given back at once at level 1
	timed     // with a time of its own; at level 1 in RocketMQ 4, which has no such times
	kinds
)

// The levels of delivery tests, and the groups of their transactions and retries.
const (
	deliveryLevels = "1s 2s"
	payers         = "crash-payers"
	retriers       = "crash-retriers"
	timedDelay     = 1234 * time.Millisecond
)

func kindOf(seq uint64) kind { return kind(seq % uint64(kinds)) }

func (k kind) delay() time.Duration {
	switch k {
	case delayedShort, givenBack:
		return time.Second
	case timed:
		if sut.Default() == sut.Java {
			return time.Second
		}
		return timedDelay
	case delayedLong:
		return 2 * time.Second
	default:
		return 0
	}
}

// visible reports whether anybody may ever see the message.
func (k kind) visible() bool { return k != rolledBack && k != rolledBackToo && k != undecided }

// fate is what is known about a message that was sent.
type fate struct {
	begun    time.Time // when its sender began: with a delay, it isn't due before begun + delay
	promised bool      // the broker said yes to everything: it must be delivered, if it may be seen
	copies   int       // in the topic
	again    time.Time // givenBack: when its sender gave it back
	back     bool      // givenBack: the broker said yes to that
	retries  int       // givenBack: copies in the group's retry topic
}

// fates is the load of delivery tests and the ledger of what becomes of it.
type fates struct {
	mu    sync.Mutex
	all   []*fate // by number
	acked int
	want  int
	full  chan struct{}
}

// run sends to the broker until the connections end.
func (f *fates) run(ctx context.Context, addr string, want int) (full <-chan struct{}, done <-chan error) {
	f.mu.Lock()
	f.want, f.full = want, make(chan struct{})
	full = f.full
	f.mu.Unlock()
	ended := make(chan error, 1)
	go func() {
		var conns [connections]*raw.Conn
		for i := range conns {
			conn, err := raw.Dial(ctx, addr)
			if err != nil {
				ended <- err
				return
			}
			defer conn.Close()
			conns[i] = conn
		}
		var all sync.WaitGroup
		for _, conn := range conns {
			for range senders {
				all.Go(func() {
					for f.one(ctx, conn) == nil {
					}
				})
			}
		}
		all.Wait()
		ended <- nil
	}()
	return full, ended
}

// begin numbers a message.
func (f *fates) begin() (uint64, *fate) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one := &fate{begun: time.Now()}
	f.all = append(f.all, one)
	return uint64(len(f.all) - 1), one
}

// note changes what is known, and counts.
func (f *fates) note(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
	f.acked++
	f.want--
	if f.want == 0 {
		close(f.full)
	}
}

// one sends one message and does with it what its kind says.
func (f *fates) one(ctx context.Context, conn *raw.Conn) error {
	seq, one := f.begin()
	m := &raw.Message{Topic: topic, Queue: int(seq/uint64(kinds)) % queues, Body: body(seq)}
	properties := []string{"TAGS", "Tag", "seq", fmt.Sprint(seq)}
	k := kindOf(seq)
	switch k {
	case delayedShort:
		properties = append(properties, "DELAY", "1")
	case delayedLong:
		properties = append(properties, "DELAY", "2")
	case timed:
		if k.delay() == timedDelay {
			properties = append(properties, "TIMER_DELAY_MS", fmt.Sprint(timedDelay.Milliseconds()))
		} else {
			properties = append(properties, "DELAY", "1")
		}
	case givenBack:
	default:
		properties = append(properties, "TRAN_MSG", "true", "PGROUP", payers)
		m.SysFlag = raw.SysFlagHalf
	}
	m.Properties = raw.FormatProperties(properties...)
	sent, err := conn.Send(ctx, m)
	if err != nil {
		return err
	}
	switch k {
	case committed, committedToo, rolledBack, rolledBackToo:
		err = conn.EndTransaction(ctx, payers, sent, k.visible())
	case givenBack:
		f.note(func() { one.promised, one.again = true, time.Now() })
		if err = conn.SendBack(ctx, retriers, topic, sent, 1); err == nil {
			f.note(func() { one.back = true })
		}
		return err
	}
	if err == nil {
		f.note(func() { one.promised = true })
	}
	return err
}

// see takes a message that was delivered.
func (f *fates) see(r *raw.Record, retried bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	seq, err := sequence(r.Body)
	if err != nil {
		return err
	}
	if seq >= uint64(len(f.all)) {
		return fmt.Errorf("message %d was never sent", seq)
	}
	one, k := f.all[seq], kindOf(seq)
	if !k.visible() {
		return fmt.Errorf("message %d, which nobody committed, is delivered (rolled back %v)", seq, k != undecided)
	}
	if r.Properties["seq"] != fmt.Sprint(seq) || r.Properties["TAGS"] != "Tag" {
		return fmt.Errorf("message %d has properties %v", seq, r.Properties)
	}
	due := one.begun.Add(k.delay())
	if k == givenBack {
		due = one.begun
	}
	if retried {
		if k != givenBack || one.again.IsZero() || r.ReconsumeTimes != 1 {
			return fmt.Errorf("message %d is retried, for the time %d; given back at %v", seq, r.ReconsumeTimes, one.again)
		}
		due = one.again.Add(k.delay())
		one.retries++
	} else {
		one.copies++
	}
	if r.StoredAt < due.UnixMilli() {
		return fmt.Errorf("message %d was delivered %d ms early", seq, due.UnixMilli()-r.StoredAt)
	}
	return nil
}

// tally says what is still missing, and how many copies there are too many.
func (f *fates) tally() (missing []uint64, duplicates int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for seq, one := range f.all {
		if !kindOf(uint64(seq)).visible() {
			continue
		}
		if one.promised && one.copies == 0 || one.back && one.retries == 0 {
			missing = append(missing, uint64(seq))
		}
		duplicates += max(one.copies-1, 0) + max(one.retries-1, 0)
	}
	return missing, duplicates
}
