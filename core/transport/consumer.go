package transport

import (
	"context"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
)

// OffsetStore keeps what groups have consumed.
type OffsetStore interface {
	// CommittedOffset returns the offset that the group is to go on from. A group without one gets 0 while the queue is
	// young (spec of QUERY_CONSUMER_OFFSET), else a QueryNotFound error; always the error when strict is set.
	CommittedOffset(ctx context.Context, c *Caller, group string, q message.QueueKey, strict bool) (message.Offset, error)
	// CommitOffset sets it, backwards too.
	CommitOffset(ctx context.Context, c *Caller, group string, q message.QueueKey, o message.Offset) error
}

// GroupKeeper knows the clients of producer and consumer groups.
type GroupKeeper interface {
	// Heartbeat registers the caller's session as a member of the groups it names, or refreshes it.
	Heartbeat(ctx context.Context, c *Caller, h *Heartbeat) error
	// Unregister ends the membership of the caller's session in the groups named; empty names are none.
	Unregister(ctx context.Context, c *Caller, clientID, producerGroup, consumerGroup string) error
	// Consumers lists the client ids of the group's members. No member is an error.
	Consumers(ctx context.Context, c *Caller, group string) ([]string, error)
	// CheckSubscription says whether a subscription would be accepted.
	CheckSubscription(ctx context.Context, c *Caller, clientID, group string, s Subscription) error
}

// SessionKeeper hears of connections that have ended.
type SessionKeeper interface {
	// SessionClosed ends all that the session took part in. It is called once for each session that made a call, after
	// its last call has returned.
	SessionClosed(s Session)
}

// ConsumeType says who drives consumption.
type ConsumeType int32

// MessageModel says whether a group shares messages or each member gets all.
type MessageModel int32

// ConsumeFrom says where a group without offsets begins.
type ConsumeFrom int32

// The values of RocketMQ's enums, by their ordinals.
const (
	ConsumeActively  ConsumeType = 0 // pull
	ConsumePassively ConsumeType = 1 // push

	Broadcasting MessageModel = 0
	Clustering   MessageModel = 1

	ConsumeFromLastOffset                   ConsumeFrom = 0
	ConsumeFromLastOffsetOrMinWhenBootFirst ConsumeFrom = 1
	ConsumeFromMinOffset                    ConsumeFrom = 2
	ConsumeFromMaxOffset                    ConsumeFrom = 3
	ConsumeFromFirstOffset                  ConsumeFrom = 4
	ConsumeFromTimestamp                    ConsumeFrom = 5
)

// Heartbeat is what a client says of itself, every 30 s and when something changes.
type Heartbeat struct {
	ClientID       string
	ProducerGroups []string
	Consumers      []ConsumerData
}

// ConsumerData is a client's membership in a consumer group.
type ConsumerData struct {
	Group         string
	Type          ConsumeType
	Model         MessageModel
	From          ConsumeFrom
	UnitMode      bool
	Subscriptions []Subscription
}

// Subscription is what a group wants of a topic.
type Subscription struct {
	Topic       string
	Expression  filter.Expression
	Version     int64 // ms or ns, the client's choice; only larger replaces
	ClassFilter bool
}

// Locker grants queues to single clients, for ordered consumption.
type Locker interface {
	// Lock returns those of the queues that the client now holds.
	Lock(ctx context.Context, c *Caller, group, clientID string, queues []BrokerQueue) ([]BrokerQueue, error)
	// Unlock gives back those of the queues that the client holds.
	Unlock(ctx context.Context, c *Caller, group, clientID string, queues []BrokerQueue) error
}

// Boundary says which neighbour a search by time returns.
type Boundary uint8

// The boundaries. Nearest is RocketMQ 4.9.7's rule, the other two are 5.x's.
const (
	Nearest Boundary = iota // the nearer of the two neighbours; later than all: the last message
	Lower                   // first message at or after the time
	Upper                   // last message at or before the time
)

// Querier answers questions about queues and single messages.
type Querier interface {
	// MaxOffset returns the offset that the next message will get; 0 for an unknown queue.
	MaxOffset(ctx context.Context, c *Caller, q message.QueueKey) (message.Offset, error)
	// MinOffset returns the first available offset; 0 for an unknown queue.
	MinOffset(ctx context.Context, c *Caller, q message.QueueKey) (message.Offset, error)
	// SearchOffset returns the offset that belongs to a store time in ms.
	SearchOffset(ctx context.Context, c *Caller, q message.QueueKey, timestamp int64, b Boundary) (message.Offset, error)
	// EarliestStoreTime returns the store time in ms of the first available message, -1 when there is none.
	EarliestStoreTime(ctx context.Context, c *Caller, q message.QueueKey) (int64, error)
	// ViewMessage lends the record at a position of the commit log in r, which the caller releases.
	ViewMessage(ctx context.Context, c *Caller, p message.Position, r *Records) error
	// QueryMessages lends in r the records of a topic that have a key, and maybe some that don't: clients compare. When there are more than asked for,
	// the latest stay. None is a QueryNotFound error.
	QueryMessages(ctx context.Context, c *Caller, q KeyQuery, r *Records) (IndexState, error)
}

// IndexState is how far the key index is.
type IndexState struct {
	StoreTime int64 // of its newest message, ms
	Position  message.Position
}

// KeyQuery asks for messages by key.
type KeyQuery struct {
	Topic, Key string
	MaxNum     int32
	Begin, End int64 // store time, ms
	UniqueKey  bool
}
