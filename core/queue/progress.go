package queue

import (
	"math"
	"slices"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// ProgressSettings is what Progress needs. All fields are set.
type ProgressSettings struct {
	Clock    clock.Clock
	Log      Log
	Topics   TopicTable
	Offsets  *Offsets
	Clients  *Clients
	Filters  *Filters
	Counters *Counters
	// Broker is the broker's name, as clients know its queues.
	Broker string
}

// Progress answers operators' questions: how far topics and groups are. It keeps nothing.
type Progress struct{ set ProgressSettings }

// NewProgress returns a Progress over the given tables.
func NewProgress(set ProgressSettings) *Progress { return &Progress{set: set} }

func (p *Progress) brokerQueue(q message.QueueKey) transport.BrokerQueue {
	return transport.BrokerQueue{Topic: q.Topic, Broker: p.set.Broker, ID: q.ID}
}

// storeTime returns when the message at an offset was stored, in ms; ok is false when it isn't there.
func (p *Progress) storeTime(q message.QueueKey, o message.Offset) (ms int64, ok bool) {
	if o < 0 {
		return 0, false
	}
	e, ok, err := entryAt(p.set.Log, q, o)
	if err != nil || !ok {
		return 0, false
	}
	ms, err = p.set.Log.StoreTime(e)
	return ms, err == nil && ms >= 0
}

func unknownTopic(topic string) error {
	return &message.Error{Code: message.TopicNotExist, Remark: "topic[" + topic + "] not exist"}
}

// TopicStats describes a topic's queues, those that are written to.
func (p *Progress) TopicStats(topic string) ([]transport.QueueStats, error) {
	t, ok := p.set.Topics.Topic(topic)
	if !ok {
		return nil, unknownTopic(topic)
	}
	stats := make([]transport.QueueStats, 0, max(0, t.WriteQueues))
	for id := range t.WriteQueues {
		q := message.QueueKey{Topic: topic, ID: message.QueueID(id)}
		s := transport.QueueStats{Queue: p.brokerQueue(q)}
		s.Min, s.Max, _ = p.set.Log.Bounds(q)
		s.LastUpdate, _ = p.storeTime(q, s.Max-1)
		stats = append(stats, s)
	}
	return stats, nil
}

// ConsumeStats describes a group's progress in one topic or, when it is empty, in all in which it has offsets. Unknown
// topics are left out, and those that a group which is online doesn't subscribe.
func (p *Progress) ConsumeStats(group, topic string) transport.ConsumeStats {
	topics := []string{topic}
	if topic == "" {
		topics = p.set.Offsets.Topics(group)
	}
	var all transport.ConsumeStats
	for _, name := range topics {
		t, ok := p.set.Topics.Topic(name)
		if !ok || !p.consumes(group, name) {
			continue
		}
		s := p.topicConsumeStats(group, name, t.ReadQueues)
		all.Queues = append(all.Queues, s.Queues...)
		all.TPS += s.TPS
	}
	return all
}

// consumes says whether a topic counts as one that the group consumes: unless the group is online and doesn't subscribe
// it.
func (p *Progress) consumes(group, topic string) bool {
	subscribed, online := p.set.Clients.Topics(group)
	return !online || len(subscribed) == 0 || slices.Contains(subscribed, topic)
}

func (p *Progress) topicConsumeStats(group, topic string, queues int32) transport.ConsumeStats {
	s := transport.ConsumeStats{TPS: p.set.Counters.GroupTPS(topic, group)}
	for id := range queues {
		q := message.QueueKey{Topic: topic, ID: message.QueueID(id)}
		c := transport.ConsumeQueueStats{Queue: p.brokerQueue(q)}
		_, c.BrokerOffset, _ = p.set.Log.Bounds(q)
		if at, ok := p.set.Offsets.Committed(group, q); ok {
			c.ConsumerOffset = at
		}
		c.LastTimestamp, _ = p.storeTime(q, c.ConsumerOffset-1)
		s.Queues = append(s.Queues, c)
	}
	return s
}

// BrokerConsumeStats describes the progress of the given groups, each topic by itself.
func (p *Progress) BrokerConsumeStats(groups []string, orderOnly bool) []transport.GroupConsumeStats {
	all := make([]transport.GroupConsumeStats, 0, len(groups))
	for _, g := range groups {
		of := transport.GroupConsumeStats{Group: g}
		for _, name := range p.set.Offsets.Topics(g) {
			t, ok := p.set.Topics.Topic(name)
			if !ok || orderOnly && !t.Order || !p.consumes(g, name) {
				continue
			}
			of.Stats = append(of.Stats, p.topicConsumeStats(g, name, t.WriteQueues))
		}
		all = append(all, of)
	}
	return all
}

// TopicGroups lists the groups that consume a topic, online or with offsets, sorted.
func (p *Progress) TopicGroups(topic string) []string {
	all := append(p.set.Clients.Groups(topic), p.set.Offsets.Groups(topic)...)
	slices.Sort(all)
	return slices.Compact(all)
}

// ConsumeTimeSpans tells for each queue between which store times the group is. A time that isn't known is -1.
func (p *Progress) ConsumeTimeSpans(topic, group string) ([]transport.ConsumeTimeSpan, error) {
	t, ok := p.set.Topics.Topic(topic)
	if !ok {
		return nil, unknownTopic(topic)
	}
	spans := make([]transport.ConsumeTimeSpan, 0, max(0, t.WriteQueues))
	for id := range t.WriteQueues {
		spans = append(spans, p.timeSpan(message.QueueKey{Topic: topic, ID: message.QueueID(id)}, group))
	}
	return spans, nil
}

func (p *Progress) timeSpan(q message.QueueKey, group string) transport.ConsumeTimeSpan {
	known := func(o message.Offset) int64 {
		if ms, ok := p.storeTime(q, o); ok {
			return ms
		}
		return -1
	}
	low, high, _ := p.set.Log.Bounds(q)
	span := transport.ConsumeTimeSpan{Queue: p.brokerQueue(q), MinTime: p.set.Log.EarliestStoreTime(q), MaxTime: known(high - 1)}
	at, _ := p.set.Offsets.Committed(group, q)
	span.ConsumeTime = span.MinTime
	if at > 0 {
		span.ConsumeTime = known(at - 1)
	}
	if next := max(at, low); next < high {
		if ms := known(next); ms >= 0 {
			span.DelayMilli = clock.Millis(p.set.Clock.Now()) - ms
		}
	}
	return span
}

// CorrectionOffsets returns for each queue the least offset that a group has committed there, filterGroups left out;
// the largest offset there is where compareGroup is behind that.
func (p *Progress) CorrectionOffsets(topic, compareGroup string, filterGroups []string) map[message.QueueID]message.Offset {
	least := map[message.QueueID]message.Offset{}
	for _, g := range p.set.Offsets.Groups(topic) {
		if slices.Contains(filterGroups, g) {
			continue
		}
		for id, at := range p.set.Offsets.Progress(g, topic) {
			low, _, _ := p.set.Log.Bounds(message.QueueKey{Topic: topic, ID: id})
			if at < low {
				continue
			}
			if known, ok := least[id]; !ok || at < known {
				least[id] = at
			}
		}
	}
	for id, at := range p.set.Offsets.Progress(compareGroup, topic) {
		if known, ok := least[id]; ok && known > at {
			least[id] = math.MaxInt64
		}
	}
	return least
}
