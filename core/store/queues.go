package store

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/store/consumequeue"
)

// queue is one queue of a topic: its entries, and the offset that its next message gets.
type queue struct {
	*consumequeue.Queue
	key message.QueueKey

	next    message.Offset // guarded by appender.mu
	dropped atomic.Bool    // its topic was deleted and has not come back; changed under appender.mu
	touched bool           // has pending entries; the dispatcher's
}

// queueTable finds queues. Its maps only ever hold queues that are open.
type queueTable struct {
	mu     sync.RWMutex
	topics map[string]map[message.QueueID]*queue // guarded by mu
	count  int                                   // of queues; guarded by mu
}

// find returns the queue, nil if there is none. It doesn't allocate.
func (t *queueTable) find(topic string, id message.QueueID) *queue {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.topics[topic][id]
}

// findBytes is find for a topic that isn't a string yet.
func (t *queueTable) findBytes(topic []byte, id message.QueueID) *queue {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.topics[string(topic)][id]
}

// findOrOpen returns the queue, and opens it with open when it isn't there.
func (t *queueTable) findOrOpen(key message.QueueKey, open func(message.QueueKey) (*queue, error)) (*queue, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if q := t.topics[key.Topic][key.ID]; q != nil {
		return q, nil
	}
	q, err := open(key)
	if err != nil {
		return nil, err
	}
	t.putLocked(q)
	return q, nil
}

func (t *queueTable) putLocked(q *queue) {
	if t.topics == nil {
		t.topics = make(map[string]map[message.QueueID]*queue)
	}
	ids := t.topics[q.key.Topic]
	if ids == nil {
		ids = make(map[message.QueueID]*queue)
		t.topics[q.key.Topic] = ids
	}
	ids[q.key.ID] = q
	t.count++
}

// all returns every queue, by topic and id.
func (t *queueTable) all() []*queue {
	t.mu.RLock()
	defer t.mu.RUnlock()
	list := make([]*queue, 0, t.count)
	for _, ids := range t.topics {
		for _, q := range ids {
			list = append(list, q)
		}
	}
	slices.SortFunc(list, compareQueues)
	return list
}

// of returns the queues of a topic, by id.
func (t *queueTable) of(topic string) []*queue {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return sorted(t.topics[topic])
}

func sorted(ids map[message.QueueID]*queue) []*queue {
	list := make([]*queue, 0, len(ids))
	for _, q := range ids {
		list = append(list, q)
	}
	slices.SortFunc(list, compareQueues)
	return list
}

func compareQueues(a, b *queue) int {
	return cmp.Or(cmp.Compare(a.key.Topic, b.key.Topic), cmp.Compare(a.key.ID, b.key.ID))
}

// keys returns the names of those queues that are not dropped.
func keys(queues []*queue) []message.QueueKey {
	list := make([]message.QueueKey, 0, len(queues))
	for _, q := range queues {
		if !q.dropped.Load() {
			list = append(list, q.key)
		}
	}
	return list
}
