package transaction

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/weirmq/weir/core/message"
)

// The queues of half and op messages, and the group by whose offsets RocketMQ remembers how far they are looked through.
var (
	HalfQueue = message.QueueKey{Topic: message.TopicTransHalf}
	OpQueue   = message.QueueKey{Topic: message.TopicTransOp}
)

// Group is the consumer group of the check.
const Group = "CID_RMQ_SYS_TRANS"

// Redirect appends to dst the properties that a half message is stored with: its own, and topic and queue to which it belongs. A place that the
// producer has written there doesn't count.
func Redirect(dst, p message.Properties, topic string, id message.QueueID) message.Properties {
	dst = message.AppendWithout(dst, p, message.PropRealTopic, message.PropRealQueueID)
	dst = message.AppendProperty(dst, message.PropRealTopic, topic)
	return message.AppendProperty(dst, message.PropRealQueueID, strconv.Itoa(int(id)))
}

// place returns where a half message belongs.
func place(half message.Record) (q message.QueueKey, ok bool) { return placeIn(half, "") }

// placeIn is place for a caller who has the topic's name at hand, and so saves making it.
func placeIn(half message.Record, name string) (q message.QueueKey, ok bool) {
	p := half.Properties()
	topic, ok := p.Get(message.PropRealTopic)
	id, _ := p.Get(message.PropRealQueueID)
	n, err := strconv.ParseInt(string(id), 10, 32)
	if string(topic) != name {
		name = string(topic)
	}
	return message.QueueKey{Topic: name, ID: message.QueueID(n)}, ok && err == nil
}

// copyOf returns the message that a half message's record holds.
func copyOf(half message.Record) message.Message {
	return message.Message{
		Topic: message.TopicTransHalf, QueueID: half.QueueID(), Flag: half.Flag(), SysFlag: half.SysFlag(), BornTimestamp: half.BornTimestamp(),
		BornHost: half.BornHost(), StoreHost: half.StoreHost(), ReconsumeTimes: half.ReconsumeTimes(), Body: half.Body(), Properties: half.Properties(),
	}
}

// committed returns the message that a half message becomes for consumers. Its properties stay as they are, but for our own: RocketMQ leaves
// TRAN_MSG, REAL_TOPIC and REAL_QID in them too.
func committed(half message.Record, q message.QueueKey) message.Message {
	m := copyOf(half)
	m.Topic, m.QueueID, m.Prepared = q.Topic, q.ID, half.Position()
	if _, ok := m.Properties.Get(propCopyOf); ok {
		m.Properties = message.AppendWithout(nil, m.Properties, propCopyOf)
	}
	m.SysFlag = m.SysFlag&^(message.FlagPrepared|message.FlagCommit|message.FlagRollback) | message.FlagCommit
	return m
}

// Properties of ours that RocketMQ passes over.
const (
	propCopyOf  = "WEIR_COPY_OF" // of a half message that was stored anew: the offsets of those before, the latest copiesMax, with commas
	propRenewed = "WEIR_RENEWED" // the half message is finished because it was stored anew
	propParked  = "WEIR_PARKED"  // … because it was put aside
)

const (
	opTag        = "d"
	opProperties = message.PropWait + "\x01true\x02" + message.PropTags + "\x01" + opTag
)

// op returns the op message that finishes the half message at an offset. why is one of the properties above or empty.
func op(half message.Offset, why string, host netip.AddrPort, now int64) message.Message {
	p := message.Properties(opProperties)
	if why != "" {
		p = message.AppendProperty(append(message.Properties(nil), p...), why, "true")
	}
	return message.Message{Topic: message.TopicTransOp, BornTimestamp: now, BornHost: host, StoreHost: host, Body: []byte(half.String()), Properties: p}
}

// copiesMax bounds how many copies of itself a half message remembers.
const copiesMax = 32

// copies returns the offsets of which a half message is a copy.
func copies(p message.Properties) (list []message.Offset) {
	text, _ := p.Get(propCopyOf)
	for word := range strings.SplitSeq(string(text), ",") {
		if n, err := strconv.ParseInt(word, 10, 64); err == nil && n >= 0 {
			list = append(list, message.Offset(n))
		}
	}
	return list
}

// copyList is the value of the property for a copy of the half message at o, which has properties p.
func copyList(p message.Properties, o message.Offset) string {
	list := append(copies(p), o)
	words := make([]string, 0, copiesMax)
	for _, o := range list[max(0, len(list)-copiesMax):] {
		words = append(words, o.String())
	}
	return strings.Join(words, ",")
}

// readOp returns which half message an op message finishes, and whether that was for another reason than the producer's decision.
func readOp(rec message.Record) (half message.Offset, moved bool, ok bool) {
	p := rec.Properties()
	tag, _ := p.Get(message.PropTags)
	n, err := strconv.ParseInt(string(rec.Body()), 10, 64)
	_, renewed := p.Get(propRenewed)
	_, parked := p.Get(propParked)
	return message.Offset(n), renewed || parked, err == nil && n >= 0 && string(tag) == opTag
}

// Resume returns the half message that has a transaction checked anew, as if its producer had never been asked: of one that was put aside, or of a
// half message. The latter is a second one then, and its producer's decision stands for one of the two.
func Resume(rec message.Record) (message.Message, error) {
	topic := string(rec.Topic())
	if _, ok := place(rec); !ok || topic != message.TopicTransHalf && topic != message.TopicTransCheckMax {
		return message.Message{}, &message.Error{Code: message.SystemError, Remark: "the message at position " + rec.Position().String() + " is no half message"}
	}
	m := copyOf(rec)
	m.QueueID = HalfQueue.ID
	p := message.AppendWithout(nil, rec.Properties(), message.PropCheckTimes, propCopyOf)
	m.Properties = message.AppendProperty(p, message.PropCheckTimes, "0")
	return m, nil
}
