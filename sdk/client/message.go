package client

import (
	"math/rand/v2"
	"net/netip"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/weirmq/weir/core/message"
)

// Message is something to send.
type Message struct {
	Topic string
	Tag   string
	Keys  []string // index keys, without blanks
	// Properties are the user's own.
	Properties map[string]string
	Body       []byte
	Flag       int32
	// DelayLevel is RocketMQ's 1 to 18; 0 for at once.
	DelayLevel int
	// DeliverAt is when the message is to be delivered, to the millisecond; zero for at once. weir keeps it until then, for 40 days by default, also
	// RocketMQ 5 within its limits. RocketMQ 4 delivers at once.
	DeliverAt time.Time
	// QueueKey chooses the queue: messages with equal keys go to one queue as long as the number of queues stays. Empty
	// for any queue.
	QueueKey string
}

// Received is a message that came from a broker. It belongs to the receiver.
type Received struct {
	Topic          string
	Queue          Queue
	Offset         int64
	Position       int64 // in the broker's commit log
	ID             string
	Tag            string
	Body           []byte
	Properties     map[string]string
	BornTimestamp  int64 // ms
	StoreTimestamp int64 // ms
	ReconsumeTimes int32
	SysFlag        int32
	// Record is the message as it is stored, if PullRequest.Records asked for it.
	Record message.Record
}

// receive copies a record out of an answer.
func receive(r message.Record, q Queue) *Received {
	m := &Received{Topic: string(r.Topic()), Queue: q, Offset: int64(r.QueueOffset()), Position: int64(r.Position()),
		Body: append([]byte(nil), r.Body()...), Properties: r.Properties().Map(), BornTimestamp: r.BornTimestamp(),
		StoreTimestamp: r.StoreTimestamp(), ReconsumeTimes: r.ReconsumeTimes(), SysFlag: r.SysFlag()}
	m.Tag = m.Properties[message.PropTags]
	if m.ID = m.Properties[message.PropUniqKey]; m.ID == "" {
		m.ID = string(message.AppendOffsetID(nil, r.StoreHost(), r.Position()))
	}
	if m.SysFlag&message.FlagCompressed != 0 {
		if body, err := inflate(m.Body, m.SysFlag); err == nil {
			m.Body = body
		}
	}
	return m
}

// ids makes the ids that producers give to their messages.
type ids struct {
	id      message.UniqueID
	counter atomic.Uint32
	begun   time.Time
}

func newIDs(local netip.Addr) *ids {
	now := time.Now()
	month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, now.Location())
	if !local.IsValid() {
		local = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return &ids{id: message.UniqueID{IP: local.Unmap(), PID: uint16(os.Getpid()), Loader: rand.Uint32()}, begun: month}
}

// next appends an id to dst.
func (g *ids) next(dst []byte) []byte {
	id := g.id
	id.Millis = uint32(time.Since(g.begun).Milliseconds())
	id.Counter = uint16(g.counter.Add(1))
	return id.Append(dst)
}

// appendProperties writes the property string of m.
func appendProperties(dst message.Properties, m *Message, id []byte) message.Properties {
	if len(id) > 0 {
		dst = message.AppendProperty(dst, message.PropUniqKey, id)
	}
	dst = message.AppendProperty(dst, message.PropWait, "true")
	if m.Tag != "" {
		dst = message.AppendProperty(dst, message.PropTags, m.Tag)
	}
	if len(m.Keys) > 0 {
		keys := m.Keys[0]
		for _, k := range m.Keys[1:] {
			keys += " " + k
		}
		dst = message.AppendProperty(dst, message.PropKeys, keys)
	}
	if m.DelayLevel > 0 {
		dst = message.AppendProperty(dst, message.PropDelay, itoa(m.DelayLevel))
	}
	if !m.DeliverAt.IsZero() {
		dst = message.AppendProperty(dst, message.PropTimerDeliverMS, strconv.FormatInt(m.DeliverAt.UnixMilli(), 10))
	}
	for _, name := range sortedNames(m.Properties) {
		dst = message.AppendProperty(dst, name, m.Properties[name])
	}
	return dst
}

// hash spreads queue keys.
func hash(key string) uint32 {
	h := uint32(2166136261)
	for i := range len(key) {
		h = (h ^ uint32(key[i])) * 16777619
	}
	return h ^ h>>16
}
