package queue

import (
	"time"

	"github.com/weirmq/weir/core/message"
)

// Count is a counter's total since it was first counted.
type Count struct {
	Stat  Stat
	Topic string // or the cluster
	Group string // empty for the counters of topics
	Total int64
}

// Each calls f with every counter's total, in no order.
func (c *Counters) Each(f func(Count)) {
	var all []Count
	for i := range c.shards {
		s := &c.shards[i]
		all = all[:0]
		s.mu.RLock()
		for k, it := range s.items {
			all = append(all, Count{k.stat, k.a, k.b, it.value.Load()})
		}
		s.mu.RUnlock()
		for _, one := range all {
			f(one)
		}
	}
}

// Connections counts the members of consumer or producer groups that are alike.
type Connections struct {
	Group    string // of consumers; producers aren't told apart by it
	Consumer bool
	Language string
	Version  int32
}

// Connections counts the members of all groups. A client that is in several groups counts in each group of consumers, and
// once as a producer.
func (c *Clients) Connections() map[Connections]int {
	n := map[Connections]int{}
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, g := range c.consumers {
		for _, m := range g.members {
			n[Connections{Group: name, Consumer: true, Language: m.language, Version: m.version}]++
		}
	}
	for session, of := range c.sessions {
		for name := range of.producers {
			m := c.producers[name].members[session]
			n[Connections{Language: m.language, Version: m.version}]++
			break
		}
	}
	return n
}

// Lag is how far a group is behind in a topic.
type Lag struct {
	Topic, Group string
	Messages     int64
	// Latency is how long the oldest message that isn't consumed has been stored, 0 when there is none.
	Latency time.Duration
}

// EachLag calls f for every group and topic in which it has offsets, in no order. It looks at one record of each queue in
// which the group is behind.
func (p *Progress) EachLag(f func(Lag)) {
	now := p.set.Clock.Now()
	p.set.Offsets.each(func(k progressKey, of *progress) {
		lag := Lag{Topic: k.topic, Group: k.group}
		for id, at := range of.values() {
			q := message.QueueKey{Topic: k.topic, ID: id}
			low, high, ok := p.set.Log.Bounds(q)
			if at = max(at, low); !ok || at >= high {
				continue
			}
			lag.Messages += int64(high - at)
			if ms, ok := p.storeTime(q, at); ok {
				lag.Latency = max(lag.Latency, now.Sub(time.UnixMilli(ms)))
			}
		}
		f(lag)
	})
}
