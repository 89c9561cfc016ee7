package queue

import (
	"sync"
	"time"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// lockLease is how long a client holds a queue that it doesn't lock again. Clients do so every 20 s, and stop consuming a
// queue that they haven't locked for 30 s.
const lockLease = 60 * time.Second

// Locks grants queues to single clients of a group, for ordered consumption. Leases run on a monotonic clock, live in
// memory, and follow the client's id, not its connection. It is safe for concurrent use.
type Locks struct {
	clock clock.Clock
	max   int

	mu     sync.Mutex // guards all below
	groups map[string]map[transport.BrokerQueue]lease
	count  int
	purged time.Time // when expired leases were last thrown out
}

type lease struct {
	clientID string
	renewed  time.Time
}

// NewLocks returns a table without locks.
func NewLocks(cfg Config, c clock.Clock) *Locks {
	return &Locks{clock: c, max: cfg.LocksMax, groups: map[string]map[transport.BrokerQueue]lease{}}
}

// Lock grants or renews those of the queues that are free, expired or the client's own, and returns them. When the table
// is full, or a name longer than any real one, a free queue isn't granted.
func (l *Locks) Lock(group, clientID string, queues []transport.BrokerQueue) []transport.BrokerQueue {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	if l.count+len(queues) > l.max {
		l.purgeLocked(now)
	}
	if len(group) > message.MaxGroupLength || len(clientID) > clientIDMax {
		return nil
	}
	held := l.groups[group]
	if held == nil {
		held = map[transport.BrokerQueue]lease{}
		l.groups[group] = held
	}
	granted := make([]transport.BrokerQueue, 0, len(queues))
	for _, q := range queues {
		old, ok := held[q]
		if ok && old.clientID != clientID && now.Sub(old.renewed) <= lockLease {
			continue
		}
		if !ok {
			if l.count >= l.max || len(q.Topic) > message.MaxTopicLength || len(q.Broker) > clientIDMax {
				continue
			}
			l.count++
		}
		held[q] = lease{clientID, now}
		granted = append(granted, q)
	}
	l.tidyLocked(group)
	return granted
}

// Unlock gives back those of the queues that the client holds, expired or not.
func (l *Locks) Unlock(group, clientID string, queues []transport.BrokerQueue) {
	l.mu.Lock()
	defer l.mu.Unlock()
	held := l.groups[group]
	for _, q := range queues {
		if old, ok := held[q]; ok && old.clientID == clientID {
			delete(held, q)
			l.count--
		}
	}
	l.tidyLocked(group)
}

// Leave gives back everything that a client holds in a group.
func (l *Locks) Leave(group, clientID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	held := l.groups[group]
	for q, old := range held {
		if old.clientID == clientID {
			delete(held, q)
			l.count--
		}
	}
	l.tidyLocked(group)
}

// Len returns how many queues are locked, expired ones included.
func (l *Locks) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// purgeLocked throws out expired leases. It looks at all of them, so it does that at most once a second.
func (l *Locks) purgeLocked(now time.Time) {
	if now.Sub(l.purged) < time.Second {
		return
	}
	l.purged = now
	for group, held := range l.groups {
		for q, old := range held {
			if now.Sub(old.renewed) > lockLease {
				delete(held, q)
				l.count--
			}
		}
		l.tidyLocked(group)
	}
}

func (l *Locks) tidyLocked(group string) {
	if held, ok := l.groups[group]; ok && len(held) == 0 {
		delete(l.groups, group)
	}
}
