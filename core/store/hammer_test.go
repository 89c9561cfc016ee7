package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// Many appenders, readers, searches, flushes, and topics that come and go, at the same time. Afterwards every
// acknowledged message is at its place, also for the next process.
func TestHammer(t *testing.T) {
	for _, flush := range []string{FlushAsync, FlushSync} {
		t.Run(flush, func(t *testing.T) {
			cfg := testConfig()
			cfg.Flush = flush
			mem := vfs.NewMem(nil)
			a := newArrivals()
			s := openTest(t, mem, "/store", cfg, func(o *Options) { o.OnArrival = a.add })
			l := &ledger{}
			const appenders, each = 8, 150
			var appending, helping sync.WaitGroup
			stop := make(chan struct{})
			for i := range appenders {
				appending.Go(func() { hammerAppend(t, s, l, uint64(i), each) })
			}
			for i := range 3 {
				helping.Go(func() { hammerRead(t, s, stop, uint64(i)) })
			}
			helping.Go(func() {
				for range 20 {
					put(t, s, text("Passing", 0, "x"), text("Passing", 1, "y"))
					if err := s.DeleteTopic("Passing"); err != nil {
						t.Error(err)
					}
					if err := s.flushQueues(0); err != nil {
						t.Error(err)
					}
				}
			})
			appending.Wait()
			close(stop)
			helping.Wait()
			acked := l.snapshot()
			verifySurvivor(t, "kill", mem.KillClone(), cfg, acked)
			if err := s.Close(context.Background()); err != nil {
				t.Fatal(err)
			}
			verifySurvivor(t, "stop", mem, cfg, acked)
			if b := put(t, s, text("T", 0, "late")); b.Messages[0].Code != message.ServiceNotAvailable {
				t.Errorf("after Close: %+v", b.Messages[0])
			}
		})
	}
}

func hammerAppend(t *testing.T, s *Store, l *ledger, seed uint64, n int) {
	r := rand.New(rand.NewPCG(seed, 1))
	w := newWaiter()
	for i := range n {
		b := &Batch{Wait: r.IntN(2) == 0, Done: both{l, w}}
		for j := range 1 + r.IntN(5) {
			b.Messages = append(b.Messages, text(fmt.Sprintf("T%d", r.IntN(3)), r.IntN(4), fmt.Sprintf("%d-%d-%d", seed, i, j)))
		}
		if r.IntN(3) == 0 {
			b.Messages[0].Unit = int32(len(b.Messages))
		}
		s.Append(b)
		<-w.done
		for _, m := range b.Messages {
			if m.Code != message.Success {
				t.Errorf("%v %s", m.Code, m.Remark)
			}
		}
	}
}

func hammerRead(t *testing.T, s *Store, stop chan struct{}, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 2))
	for {
		select {
		case <-stop:
			return
		default:
		}
		key := message.QueueKey{Topic: fmt.Sprintf("T%d", r.IntN(3)), ID: message.QueueID(r.IntN(4))}
		first, end, ok := s.Bounds(key)
		if !ok || first == end {
			continue
		}
		at := first + message.Offset(r.Int64N(int64(end-first)))
		raw, ref, err := s.Entries(key, at, 1)
		if err != nil {
			t.Errorf("entries of %v at %d of %d: %v", key, at, end, err)
			return
		}
		e := message.DecodeEntry(raw)
		ref.Release()
		var records transport.Records
		if _, err := s.Lend([]message.Entry{e}, &records); err != nil {
			t.Errorf("lend %+v: %v", e, err)
			return
		}
		rec, _, err := message.ParseRecord(records.Chunks[0])
		if err != nil || rec.QueueOffset() != at {
			t.Errorf("record at %d: offset %d, want %d: %v", e.Position, rec.QueueOffset(), at, err)
		}
		ts := rec.StoreTimestamp()
		records.Release()
		if _, err := s.OffsetByTime(key, ts, transport.Nearest); err != nil {
			t.Error(err)
		}
		if err := s.Record(message.Position(r.Int64N(int64(s.End())+1000)), &records); err == nil {
			records.Release()
		} else if !errors.Is(err, ErrRecordGone) {
			t.Error(err)
		}
		_ = s.Stats()
	}
}
