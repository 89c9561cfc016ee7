package queue

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

func brokerQueues(topic string, n int) []transport.BrokerQueue {
	all := make([]transport.BrokerQueue, n)
	for i := range all {
		all[i] = transport.BrokerQueue{Topic: topic, Broker: "b", ID: message.QueueID(i)}
	}
	return all
}

// TestLocksAreBounded shows that a full table grants nothing new but renews, makes room when leases expire, and keeps no
// names that can't be real.
func TestLocksAreBounded(t *testing.T) {
	m := clock.NewManual(testStart)
	l := NewLocks(Config{LocksMax: 3}, m)
	if got := l.Lock("g", "c", brokerQueues("T", 5)); len(got) != 3 {
		t.Errorf("granted %v", got)
	}
	m.Advance(30 * time.Second)
	if got := l.Lock("g", "c", brokerQueues("T", 2)); len(got) != 2 {
		t.Errorf("renewed %v", got)
	}
	if got := l.Lock("h", "c", brokerQueues("T", 1)); len(got) != 0 {
		t.Errorf("granted %v beyond the bound", got)
	}
	m.Advance(31 * time.Second) // queue 2 was locked 61 s ago
	if got := l.Lock("h", "c", brokerQueues("T", 2)); len(got) != 1 || l.Len() != 3 {
		t.Errorf("granted %v, %d held", got, l.Len())
	}
	m.Advance(2 * time.Minute)
	long := strings.Repeat("x", 5000)
	for _, got := range [][]transport.BrokerQueue{
		l.Lock(long, "c", brokerQueues("T", 1)), l.Lock("g", long, brokerQueues("T", 1)), l.Lock("g", "c", brokerQueues(long, 1)),
	} {
		if len(got) != 0 {
			t.Errorf("granted %v", got)
		}
	}
}

// TestHammerLocks lets clients fight for queues; nobody gets one that another holds.
func TestHammerLocks(t *testing.T) {
	l := NewLocks(DefaultConfig(), clock.NewManual(testStart))
	queues := brokerQueues("T", 8)
	var mu sync.Mutex // guards owner
	owner := map[transport.BrokerQueue]string{}
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			id := fmt.Sprint("c", n)
			for range 500 {
				got := l.Lock("g", id, queues)
				mu.Lock()
				for _, q := range got {
					if o := owner[q]; o != "" {
						t.Errorf("%v was granted to %s while %s held it", q, id, o)
					}
					owner[q] = id
				}
				for _, q := range got {
					delete(owner, q)
				}
				mu.Unlock()
				l.Unlock("g", id, got)
			}
		})
	}
	wg.Wait()
	if l.Len() != 0 {
		t.Errorf("%d locks are left", l.Len())
	}
}
