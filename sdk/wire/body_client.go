package wire

// Heartbeat is the body of HEART_BEAT.
type Heartbeat struct {
	ClientID        string         `json:"clientID"`
	ConsumerDataSet []ConsumerData `json:"consumerDataSet"`
	ProducerDataSet []ProducerData `json:"producerDataSet"`
}

// ProducerData is one producer group of a client.
type ProducerData struct {
	GroupName string `json:"groupName"`
}

// ConsumerData is one consumer group of a client.
type ConsumerData struct {
	ConsumeFromWhere    ConsumeFromWhere   `json:"consumeFromWhere,omitempty"`
	ConsumeType         ConsumeType        `json:"consumeType,omitempty"`
	GroupName           string             `json:"groupName"`
	MessageModel        MessageModel       `json:"messageModel,omitempty"`
	SubscriptionDataSet []SubscriptionData `json:"subscriptionDataSet"`
	UnitMode            bool               `json:"unitMode"`
}

// SubscriptionData is the subscription of one topic. What clients put into CodeSet and TagsSet can't be trusted, and may be missing:
// work the codes out from SubString, with message.ParseTags.
type SubscriptionData struct {
	ClassFilterMode bool     `json:"classFilterMode"`
	CodeSet         []int32  `json:"codeSet"`
	ExpressionType  string   `json:"expressionType,omitempty"` // "" is message.ExpressionTag
	SubString       string   `json:"subString"`
	SubVersion      int64    `json:"subVersion"` // ms of Java and C++, ns of Go
	TagsSet         []string `json:"tagsSet"`
	Topic           string   `json:"topic"`
}

// SetDefaults makes it a TAG subscription.
func (s *SubscriptionData) SetDefaults() { s.ExpressionType = "TAG" }

// ConsumerList is the reply to GET_CONSUMER_LIST_BY_GROUP.
type ConsumerList struct {
	ConsumerIDList []string `json:"consumerIdList"`
}

// LockBatch is the body of LOCK_BATCH_MQ and UNLOCK_BATCH_MQ.
type LockBatch struct {
	ClientID      string         `json:"clientId"`
	ConsumerGroup string         `json:"consumerGroup"`
	MQSet         []MessageQueue `json:"mqSet"`
}

// LockReply is the reply to LOCK_BATCH_MQ: the queues that the client holds now.
type LockReply struct {
	LockOKMQSet []MessageQueue `json:"lockOKMQSet"`
}

// CheckClient is the body of CHECK_CLIENT_CONFIG.
type CheckClient struct {
	ClientID         string            `json:"clientId"`
	Group            string            `json:"group"`
	SubscriptionData *SubscriptionData `json:"subscriptionData,omitempty"`
	Namespace        string            `json:"namespace,omitempty"`
}

// OffsetTable is offsets by queue: RESET_CONSUMER_CLIENT_OFFSET and the reply to INVOKE_BROKER_TO_RESET_OFFSET.
type OffsetTable struct {
	OffsetTable map[MessageQueue]int64 `json:"offsetTable"`
}

// OffsetList is an OffsetTable for C++ clients, as a list.
type OffsetList struct {
	OffsetTable []QueueOffset `json:"offsetTable"`
}

// QueueOffset is one entry of an OffsetList.
type QueueOffset struct {
	BrokerName string `json:"brokerName"`
	Offset     int64  `json:"offset"`
	QueueID    int32  `json:"queueId"`
	Topic      string `json:"topic"`
}

// List turns t into the form for C++ clients; the order is not fixed.
func (t *OffsetTable) List() OffsetList {
	l := OffsetList{OffsetTable: make([]QueueOffset, 0, len(t.OffsetTable))}
	for q, offset := range t.OffsetTable {
		l.OffsetTable = append(l.OffsetTable, QueueOffset{q.BrokerName, offset, q.QueueID, q.Topic})
	}
	return l
}

// ConsumeDirectlyResult is a client's reply to CONSUME_MESSAGE_DIRECTLY.
type ConsumeDirectlyResult struct {
	AutoCommit     bool          `json:"autoCommit"`
	ConsumeResult  ConsumeResult `json:"consumeResult,omitempty"`
	Order          bool          `json:"order"`
	Remark         string        `json:"remark,omitempty"`
	SpentTimeMills int64         `json:"spentTimeMills"`
}
