package transport

import (
	"context"

	"github.com/weirmq/weir/core/message"
)

// DataVersion counts the changes of a table.
type DataVersion struct {
	Counter   int64
	Timestamp int64 // ms
}

// TopicConfig describes a topic on one broker.
type TopicConfig struct {
	Name        string
	ReadQueues  int32
	WriteQueues int32
	Perm        int32  // bits: 1 inherit, 2 write, 4 read, 8 priority
	FilterType  string // SINGLE_TAG or MULTI_TAG
	SysFlag     int32
	Order       bool
}

// The filter types of a topic. They are RocketMQ's and change nothing but a flag in the record.
const (
	SingleTag = "SINGLE_TAG"
	MultiTag  = "MULTI_TAG"
)

// GroupConfig describes a subscription group on one broker.
type GroupConfig struct {
	Name                         string
	ConsumeEnable                bool
	ConsumeFromMinEnable         bool
	ConsumeBroadcastEnable       bool
	RetryQueues                  int32
	RetryMaxTimes                int32
	BrokerID                     int64
	WhichBrokerWhenConsumeSlowly int64
	NotifyConsumerIDsChanged     bool
}

// TopicAdmin manages topics.
type TopicAdmin interface {
	// PutTopic creates or changes a topic; its route is known when it returns.
	PutTopic(ctx context.Context, c *Caller, t TopicConfig) error
	// DeleteTopic removes a topic and its queues. An unknown topic is fine.
	DeleteTopic(ctx context.Context, c *Caller, topic string) error
	// Topics returns all topics, sorted by name.
	Topics(ctx context.Context, c *Caller) ([]TopicConfig, DataVersion, error)
	// Topic returns one topic.
	Topic(ctx context.Context, c *Caller, topic string) (TopicConfig, error)
	// SystemTopics lists the topics that are the broker's own.
	SystemTopics(ctx context.Context, c *Caller) ([]string, error)
}

// GroupAdmin manages subscription groups and their offsets.
type GroupAdmin interface {
	// PutGroup creates or changes a group.
	PutGroup(ctx context.Context, c *Caller, g GroupConfig) error
	// DeleteGroup removes a group, and its offsets when asked. An unknown group is fine.
	DeleteGroup(ctx context.Context, c *Caller, group string, offsets bool) error
	// Groups returns all groups, sorted by name.
	Groups(ctx context.Context, c *Caller) ([]GroupConfig, DataVersion, error)
	// Group returns one group.
	Group(ctx context.Context, c *Caller, group string) (GroupConfig, error)
	// CloneOffsets copies the offsets of one group to another, of one topic or, when it is empty, of all.
	CloneOffsets(ctx context.Context, c *Caller, from, to, topic string, offline bool) error
	// AllOffsets returns every stored offset: by topic@group, then by queue.
	AllOffsets(ctx context.Context, c *Caller) (map[string]map[message.QueueID]message.Offset, error)
	// ResetOffsets makes the online members of a group go on from a time (ms; -1 for the end) and returns the offsets
	// they were told. listForm asks for the table in the form that C++ readers know.
	ResetOffsets(ctx context.Context, c *Caller, topic, group string, timestamp int64, force, listForm bool) ([]QueueOffset, error)
}

// Connection is a client as the broker sees it.
type Connection struct {
	ClientID   string
	Address    string // ip:port
	Language   string
	Version    int32
	LastUpdate int64 // ms
}

// ConsumerGroupInfo is an online consumer group.
type ConsumerGroupInfo struct {
	Connections   []Connection
	Type          ConsumeType
	Model         MessageModel
	From          ConsumeFrom
	Subscriptions []Subscription
}

// GroupConflict is a group whose members don't subscribe the same.
type GroupConflict struct {
	Group string
	Sides []ConflictSide // at least two
}

// ConflictSide is those clients of a group that agree.
type ConflictSide struct {
	Subscribes []string // "topic expression" each, sorted
	Clients    []string // the members, by client id
	Refused    []string // those that were refused lately because of what they subscribe
}

// ClientAdmin looks at connected clients.
type ClientAdmin interface {
	// ConsumerConnections describes an online group; ConsumerNotOnline when it has no member.
	ConsumerConnections(ctx context.Context, c *Caller, group string) (ConsumerGroupInfo, error)
	// Conflicts lists the groups whose members don't subscribe the same, by name; an empty name asks for all groups.
	Conflicts(ctx context.Context, c *Caller, group string) ([]GroupConflict, error)
	// ProducerConnections lists a producer group's members; none is an error.
	ProducerConnections(ctx context.Context, c *Caller, group string) ([]Connection, error)
	// AllProducers lists every producer group's members.
	AllProducers(ctx context.Context, c *Caller) (map[string][]Connection, error)
	// ConsumerRunningInfo relays to one client of a group.
	ConsumerRunningInfo(ctx context.Context, c *Caller, call RunningInfoCall) (ClientReply, error)
	// ConsumeDirectly makes one client of a group consume one message, named by its offset message id.
	ConsumeDirectly(ctx context.Context, c *Caller, call ConsumeDirectlyCall) (ClientReply, error)
	// ConsumerStatus asks the members of a group, or the one with clientID, for their offsets in a topic; by client id.
	ConsumerStatus(ctx context.Context, c *Caller, topic, group, clientID string) (map[string]ClientReply, error)
}

// QueueStats describes one queue of a topic.
type QueueStats struct {
	Queue      BrokerQueue
	Min, Max   message.Offset
	LastUpdate int64 // store time of the last message in ms, 0 for none
}

// ConsumeQueueStats describes how far a group is in one queue.
type ConsumeQueueStats struct {
	Queue          BrokerQueue
	BrokerOffset   message.Offset
	ConsumerOffset message.Offset
	LastTimestamp  int64 // store time of the last consumed message in ms, 0 for none
}

// ConsumeStats describes how far a group is.
type ConsumeStats struct {
	Queues []ConsumeQueueStats
	TPS    float64
}

// GroupConsumeStats is the progress of one group in several topics.
type GroupConsumeStats struct {
	Group string
	Stats []ConsumeStats
}

// ConsumeTimeSpan says between which store times a group is in one queue. All times in ms.
type ConsumeTimeSpan struct {
	Queue                   BrokerQueue
	MinTime, MaxTime        int64
	ConsumeTime, DelayMilli int64
}

// StatsItem is a counter's rates over one window.
type StatsItem struct {
	Sum   int64
	TPS   float64
	AvgPt float64
}

// StatsItems are a counter's rates over the last minute, hour and day.
type StatsItems struct{ Minute, Hour, Day StatsItem }

// QueueEntry is one index entry of a queue as a tool shows it.
type QueueEntry struct {
	Position message.Position
	Size     int32
	TagsCode int64
	Message  string
	// Unit is what the queue's extension file holds of the message; nil when TagsCode is no address in it.
	Unit *message.ExtUnit
	// Eval says, for an entry with a unit, whether the asked group's subscription would look at the message.
	Eval bool
}

// QueueEntries answers a question for a queue's index entries.
type QueueEntries struct {
	Min, Max     message.Offset
	Entries      []QueueEntry
	Subscription *Subscription // the asked group's, when it is online
	FilterData   string
}

// StatsAdmin tells how topics and groups are doing.
type StatsAdmin interface {
	// TopicStats describes a topic's queues.
	TopicStats(ctx context.Context, c *Caller, topic string) ([]QueueStats, error)
	// ConsumeStats describes a group's progress in one topic or, when it is empty, in all it consumes.
	ConsumeStats(ctx context.Context, c *Caller, group, topic string) (ConsumeStats, error)
	// BrokerConsumeStats describes the progress of all groups.
	BrokerConsumeStats(ctx context.Context, c *Caller, orderOnly bool) ([]GroupConsumeStats, error)
	// TopicGroups lists the groups that consume a topic, online or with offsets.
	TopicGroups(ctx context.Context, c *Caller, topic string) ([]string, error)
	// GroupTopics lists the topics that an online group subscribes.
	GroupTopics(ctx context.Context, c *Caller, group string) ([]string, error)
	// ConsumeTimeSpans tells how old the messages are that a group is at.
	ConsumeTimeSpans(ctx context.Context, c *Caller, topic, group string) ([]ConsumeTimeSpan, error)
	// CorrectionOffsets returns for each queue the least offset of the topic's other groups.
	CorrectionOffsets(ctx context.Context, c *Caller, topic, compareGroup string, filterGroups []string) (map[message.QueueID]message.Offset, error)
	// QueueEntries shows index entries of a queue from an offset on.
	QueueEntries(ctx context.Context, c *Caller, q message.QueueKey, from message.Offset, count int32, group string) (QueueEntries, error)
	// Counter returns a counter's rates by RocketMQ's statistics name and key.
	Counter(ctx context.Context, c *Caller, name, key string) (StatsItems, error)
}

// BrokerAdmin looks at and changes the broker as a whole.
type BrokerAdmin interface {
	// RuntimeInfo returns the table of GET_BROKER_RUNTIME_INFO: all values are text.
	RuntimeInfo(ctx context.Context, c *Caller) (map[string]string, error)
	// Config returns the effective settings under RocketMQ's property names.
	Config(ctx context.Context, c *Caller) (map[string]string, DataVersion, error)
	// UpdateConfig changes settings by RocketMQ's property names. Unknown or fixed ones are an error, and nothing changes.
	UpdateConfig(ctx context.Context, c *Caller, values map[string]string) error
	// DelayOffsets returns the progress of the delay levels, in the form of delayOffset.json on one line.
	DelayOffsets(ctx context.Context, c *Caller) ([]byte, error)
	// Clean does one of the maintenance jobs now.
	Clean(ctx context.Context, c *Caller, job CleanJob) error
}

// CleanJob is a maintenance job that operators may start.
type CleanJob uint8

// The jobs.
const (
	CleanExpiredQueues CleanJob = iota // queues whose messages are all gone from the log
	CleanUnusedTopics                  // queues of topics that don't exist
	CleanExpiredLog                    // expired commit log segments
)
