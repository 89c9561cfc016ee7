package queue

import (
	"fmt"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// resetVersion is the first client version (V3_0_7_SNAPSHOT) that can be told to reset.
const resetVersion = 28

// ResetOffsets tells the members of a group to go on from a store time (ms; -1 for the end) and returns the offsets they
// were told. Without force nobody is sent forward. Stored offsets change when the members commit, not here. listForm asks
// for the form that C++ clients read.
//
// It fails with ConsumerNotOnline when nobody is there to be told, and with SystemError when the topic is unknown or the
// group has no offset in one of its queues.
func (p *Progress) ResetOffsets(topic, group string, timestamp int64, force, listForm bool) ([]transport.QueueOffset, error) {
	offsets, err := p.resetTable(topic, group, timestamp, force)
	if err != nil {
		return nil, err
	}
	members := p.set.Clients.Members(group)
	if len(members) == 0 {
		return nil, &message.Error{Code: message.ConsumerNotOnline, Remark: fmt.Sprintf(
			"Consumer not online, so can not reset offset! Group: %s Topic: %s Timestamp: %d", group, topic, timestamp)}
	}
	for _, m := range members {
		if m.Version < resetVersion {
			return nil, &message.Error{Code: message.SystemError, Remark: fmt.Sprintf(
				"the client %s does not support this feature: its version %d is older than %d", m.ClientID, m.Version, resetVersion)}
		}
	}
	notice := transport.ResetOffsets{Topic: topic, Group: group, Timestamp: timestamp, Offsets: offsets, ListForm: listForm}
	for _, m := range members {
		_ = m.Session.Notify(notice) // one that has gone will be told nothing; the operator sees the table
	}
	return offsets, nil
}

func (p *Progress) resetTable(topic, group string, timestamp int64, force bool) ([]transport.QueueOffset, error) {
	t, ok := p.set.Topics.Topic(topic)
	if !ok {
		return nil, &message.Error{Code: message.SystemError, Remark: "[reset-offset] reset offset failed, no topic in this broker. topic=" + topic}
	}
	offsets := make([]transport.QueueOffset, 0, max(0, t.WriteQueues))
	for id := range t.WriteQueues {
		q := message.QueueKey{Topic: topic, ID: message.QueueID(id)}
		committed, ok := p.set.Offsets.Committed(group, q)
		if !ok {
			return nil, &message.Error{Code: message.SystemError,
				Remark: fmt.Sprintf("THe consumer group <%s> not exist: it has no offset in queue %d of topic %s", group, id, topic)}
		}
		target, err := p.resetTarget(q, timestamp)
		if err != nil {
			return nil, err
		}
		if !force && target > committed {
			target = committed
		}
		offsets = append(offsets, transport.QueueOffset{Queue: p.brokerQueue(q), Offset: target})
	}
	return offsets, nil
}

func (p *Progress) resetTarget(q message.QueueKey, timestamp int64) (message.Offset, error) {
	if timestamp == -1 {
		_, high, _ := p.set.Log.Bounds(q)
		return high, nil
	}
	o, err := p.set.Log.OffsetByTime(q, timestamp, transport.Nearest)
	if err != nil {
		return 0, fmt.Errorf("find offset of queue %v at %d: %w", q, timestamp, err)
	}
	return max(o, 0), nil
}
