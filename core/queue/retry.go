package queue

import (
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// DLQQueues is how many queues a dead letter topic has.
const DLQQueues = 1

// A message that couldn't be consumed comes back in one of two ways: the consumer returns it by its position
// (CONSUMER_SEND_MSG_BACK), or its client sends it anew to the group's retry topic. Both count how often it was tried, and
// both end in the group's dead letter topic.

// headerLimitVersion is the first client version (V3_4_9) whose own limit of retries counts.
const headerLimitVersion = 121

func retryLimit(g *transport.GroupConfig, version int32, has bool, own int32) int32 {
	if has && version >= headerLimitVersion {
		return own
	}
	return g.RetryMaxTimes
}

// SendIsDead says whether a message that a client sends to g's retry topic has been tried often enough. It then goes to
// queue 0 of the dead letter topic, at once whatever its delay property says, and the answer names the queue that the
// client asked for.
func SendIsDead(g *transport.GroupConfig, s *transport.Send) bool {
	return s.ReconsumeTimes >= retryLimit(g, s.Version, s.HasMaxReconsumeTimes, s.MaxReconsumeTimes)
}

// Returned says what becomes of a returned message.
type Returned struct {
	// Message is to be stored. Its Body is the record's, its Properties were appended to the caller's scratch.
	Message message.Message
	// Dead says that the topic is the group's dead letter topic, and not its retry topic.
	Dead bool
	// Queues is how many queues the topic gets if it has to be made.
	Queues int32
	// DelayLevel is how long a retry has to wait, as a delay level; 0 for a dead letter.
	DelayLevel int32
	// Drop says that the group takes nothing back: the return succeeds and nothing is stored.
	Drop bool
}

// PlanReturn works out what becomes of rec, which a member of g returns by r. random chooses the queue. It appends the
// new property string to scratch, and touches nothing else.
//
// The message keeps body, flags, times and hosts; it counts one try more, and remembers where it was first and under
// which id. Delay properties of an earlier life are left out: what they asked for has happened.
func PlanReturn(rec message.Record, g *transport.GroupConfig, r *transport.Return, random uint32, scratch message.Properties) Returned {
	if g.RetryQueues <= 0 {
		return Returned{Drop: true}
	}
	tried := rec.ReconsumeTimes()
	plan := Returned{Queues: g.RetryQueues, DelayLevel: r.DelayLevel}
	limit := retryLimit(g, r.Caller.Version, r.HasMaxReconsumeTimes, r.MaxReconsumeTimes)
	plan.Dead = tried >= limit || r.DelayLevel < 0
	topic := message.RetryTopic(r.Group)
	switch {
	case plan.Dead:
		topic, plan.Queues, plan.DelayLevel = message.DLQTopic(r.Group), DLQQueues, 0
	case r.DelayLevel == 0:
		plan.DelayLevel = 3 + tried
	}
	plan.Message = message.Message{
		Topic: topic, QueueID: message.QueueID(random % uint32(plan.Queues)),
		Flag: rec.Flag(), SysFlag: rec.SysFlag(), BornTimestamp: rec.BornTimestamp(),
		BornHost: rec.BornHost(), StoreHost: rec.StoreHost(), ReconsumeTimes: tried + 1,
		Body: rec.Body(), Properties: returnedProperties(rec, scratch),
	}
	return plan
}

func returnedProperties(rec message.Record, scratch message.Properties) message.Properties {
	old := rec.Properties()
	p := message.AppendWithout(scratch[:0], old, message.PropWait, message.PropDelay, message.PropRealTopic, message.PropRealQueueID)
	p = message.AppendProperty(p, message.PropWait, "false")
	if _, ok := old.Get(message.PropRetryTopic); !ok {
		p = message.AppendProperty(p, message.PropRetryTopic, rec.Topic())
	}
	if _, ok := old.Get(message.PropOriginMessageID); !ok {
		var id [message.OffsetIDLen6]byte
		p = message.AppendProperty(p, message.PropOriginMessageID, message.AppendOffsetID(id[:0], rec.StoreHost(), rec.Position()))
	}
	return p
}
