package wire

import "github.com/weirmq/weir/core/fastjson"

// RunningInfo is a client's reply to GET_CONSUMER_RUNNING_INFO. A broker passes it on byte for byte; the struct is for
// clients that answer and tools that ask.
type RunningInfo struct {
	Jstack          string                            `json:"jstack,omitempty"`
	MQTable         map[MessageQueue]ProcessQueueInfo `json:"mqTable"`
	Properties      map[string]string                 `json:"properties"`
	StatusTable     map[string]ConsumeStatus          `json:"statusTable"`
	SubscriptionSet []SubscriptionData                `json:"subscriptionSet"`
}

// ProcessQueueInfo is what a consumer holds of one queue.
type ProcessQueueInfo struct {
	CachedMsgCount          int32 `json:"cachedMsgCount"`
	CachedMsgMaxOffset      int64 `json:"cachedMsgMaxOffset"`
	CachedMsgMinOffset      int64 `json:"cachedMsgMinOffset"`
	CachedMsgSizeInMiB      int32 `json:"cachedMsgSizeInMiB"`
	CommitOffset            int64 `json:"commitOffset"`
	Dropped                 bool  `json:"droped"` // Java's spelling
	LastConsumeTimestamp    int64 `json:"lastConsumeTimestamp"`
	LastLockTimestamp       int64 `json:"lastLockTimestamp"`
	LastPullTimestamp       int64 `json:"lastPullTimestamp"`
	Locked                  bool  `json:"locked"`
	TransactionMsgCount     int32 `json:"transactionMsgCount"`
	TransactionMsgMaxOffset int64 `json:"transactionMsgMaxOffset"`
	TransactionMsgMinOffset int64 `json:"transactionMsgMinOffset"`
	TryUnlockTimes          int64 `json:"tryUnlockTimes"`
}

// ConsumeStatus is a consumer's rates for one topic.
type ConsumeStatus struct {
	ConsumeFailedMsgs int64   `json:"consumeFailedMsgs"`
	ConsumeFailedTPS  float64 `json:"consumeFailedTPS"`
	ConsumeOKTPS      float64 `json:"consumeOKTPS"`
	ConsumeRT         float64 `json:"consumeRT"`
	PullRT            float64 `json:"pullRT"`
	PullTPS           float64 `json:"pullTPS"`
}

// ConsumerStatus is a client's reply to GET_CONSUMER_STATUS_FROM_CLIENT, with only MessageQueueTable, and the broker's to
// INVOKE_BROKER_TO_GET_CONSUMER_STATUS, with only ConsumerTable, by client id.
type ConsumerStatus struct {
	ConsumerTable     map[string]map[MessageQueue]int64 `json:"consumerTable"`
	MessageQueueTable map[MessageQueue]int64            `json:"messageQueueTable"`
}

// ConsumerStatusRaw is a ConsumerStatus for a broker that relays: it splices what clients wrote, unread, into its reply.
type ConsumerStatusRaw struct {
	ConsumerTable     map[string]fastjson.Raw `json:"consumerTable"`
	MessageQueueTable fastjson.Raw            `json:"messageQueueTable"`
}

// SetDefaults makes the queue table an empty object.
func (c *ConsumerStatusRaw) SetDefaults() { c.MessageQueueTable = fastjson.Raw("{}") }
