package wire

// CreateTopicHeader is UPDATE_AND_CREATE_TOPIC.
type CreateTopicHeader struct {
	Topic           string
	DefaultTopic    string
	ReadQueueNums   int32
	WriteQueueNums  int32
	Perm            int32  // message.Perm
	TopicFilterType string // SINGLE_TAG or MULTI_TAG
	TopicSysFlag    int32
	Order           bool
}

func (x *CreateTopicHeader) fields(f *form) {
	f.optText("defaultTopic", &x.DefaultTopic)
	f.flag("order", &x.Order)
	f.int32("perm", &x.Perm)
	f.int32("readQueueNums", &x.ReadQueueNums)
	f.text("topic", &x.Topic)
	f.text("topicFilterType", &x.TopicFilterType)
	f.defInt32("topicSysFlag", &x.TopicSysFlag)
	f.int32("writeQueueNums", &x.WriteQueueNums)
}

// DeleteGroupHeader is DELETE_SUBSCRIPTIONGROUP.
type DeleteGroupHeader struct {
	GroupName    string
	RemoveOffset bool
}

func (x *DeleteGroupHeader) fields(f *form) {
	f.text("groupName", &x.GroupName)
	f.flag("removeOffset", &x.RemoveOffset)
}

// TopicHeader names a topic: GET_TOPIC_STATS_INFO, QUERY_TOPIC_CONSUME_BY_WHO, GET_TOPIC_CONFIG.
type TopicHeader struct{ Topic string }

func (x *TopicHeader) fields(f *form) { f.text("topic", &x.Topic) }

// GroupConfigHeader is GET_SUBSCRIPTIONGROUP_CONFIG of 5.x, and names the group in its other queries.
type GroupConfigHeader struct{ Group string }

func (x *GroupConfigHeader) fields(f *form) { f.text("group", &x.Group) }

// ProducerGroupHeader is GET_PRODUCER_CONNECTION_LIST.
type ProducerGroupHeader struct{ ProducerGroup string }

func (x *ProducerGroupHeader) fields(f *form) { f.text("producerGroup", &x.ProducerGroup) }

// ConsumeStatsHeader is GET_CONSUME_STATS; no topic means all.
type ConsumeStatsHeader struct{ ConsumerGroup, Topic string }

func (x *ConsumeStatsHeader) fields(f *form) {
	f.text("consumerGroup", &x.ConsumerGroup)
	f.optText("topic", &x.Topic)
}

// BrokerConsumeStatsHeader is GET_BROKER_CONSUME_STATS.
type BrokerConsumeStatsHeader struct{ IsOrder bool }

func (x *BrokerConsumeStatsHeader) fields(f *form) { f.flag("isOrder", &x.IsOrder) }

// TimeSpanHeader is QUERY_CONSUME_TIME_SPAN.
type TimeSpanHeader struct{ Topic, Group string }

func (x *TimeSpanHeader) fields(f *form) {
	f.text("group", &x.Group)
	f.text("topic", &x.Topic)
}

// CorrectionOffsetHeader is QUERY_CORRECTION_OFFSET; FilterGroups is a list with commas.
type CorrectionOffsetHeader struct{ FilterGroups, CompareGroup, Topic string }

func (x *CorrectionOffsetHeader) fields(f *form) {
	f.text("compareGroup", &x.CompareGroup)
	f.optText("filterGroups", &x.FilterGroups)
	f.text("topic", &x.Topic)
}

// CloneOffsetHeader is CLONE_GROUP_OFFSET; no topic means all.
type CloneOffsetHeader struct {
	SrcGroup, DestGroup, Topic string
	Offline                    bool
}

func (x *CloneOffsetHeader) fields(f *form) {
	f.text("destGroup", &x.DestGroup)
	f.flag("offline", &x.Offline)
	f.text("srcGroup", &x.SrcGroup)
	f.optText("topic", &x.Topic)
}

// QueryConsumeQueueHeader is QUERY_CONSUME_QUEUE.
type QueryConsumeQueueHeader struct {
	Topic         string
	QueueID       int32
	Index         int64
	Count         int32
	ConsumerGroup string
}

func (x *QueryConsumeQueueHeader) fields(f *form) {
	f.optText("consumerGroup", &x.ConsumerGroup)
	f.defInt32("count", &x.Count)
	f.defInt64("index", &x.Index)
	f.defInt32("queueId", &x.QueueID)
	f.optText("topic", &x.Topic)
}

// BrokerStatsHeader is VIEW_BROKER_STATS_DATA.
type BrokerStatsHeader struct{ StatsName, StatsKey string }

func (x *BrokerStatsHeader) fields(f *form) {
	f.text("statsKey", &x.StatsKey)
	f.text("statsName", &x.StatsName)
}

// HalfMessageHeader is RESUME_CHECK_HALF_MESSAGE; the id is an offset message id.
type HalfMessageHeader struct{ MsgID string }

func (x *HalfMessageHeader) fields(f *form) { f.optText("msgId", &x.MsgID) }

// ResetOffsetHeader is INVOKE_BROKER_TO_RESET_OFFSET and RESET_CONSUMER_CLIENT_OFFSET.
type ResetOffsetHeader struct {
	Topic     string
	Group     string
	Timestamp int64 // ms; -1 for the end
	IsForce   bool
}

func (x *ResetOffsetHeader) fields(f *form) {
	f.text("group", &x.Group)
	f.flag("isForce", &x.IsForce)
	f.int64("timestamp", &x.Timestamp)
	f.text("topic", &x.Topic)
}

// ConsumerStatusHeader is INVOKE_BROKER_TO_GET_CONSUMER_STATUS and GET_CONSUMER_STATUS_FROM_CLIENT. ClientAddr is a client id.
type ConsumerStatusHeader struct{ Topic, Group, ClientAddr string }

func (x *ConsumerStatusHeader) fields(f *form) {
	f.optText("clientAddr", &x.ClientAddr)
	f.text("group", &x.Group)
	f.text("topic", &x.Topic)
}

// RunningInfoHeader is GET_CONSUMER_RUNNING_INFO.
type RunningInfoHeader struct {
	ConsumerGroup string
	ClientID      string
	JstackEnable  bool
}

func (x *RunningInfoHeader) fields(f *form) {
	f.text("clientId", &x.ClientID)
	f.text("consumerGroup", &x.ConsumerGroup)
	f.flag("jstackEnable", &x.JstackEnable)
}

// ConsumeDirectlyHeader is CONSUME_MESSAGE_DIRECTLY. The broker adds its own name before it passes the request on.
type ConsumeDirectlyHeader struct{ ConsumerGroup, ClientID, MsgID, BrokerName string }

func (x *ConsumeDirectlyHeader) fields(f *form) {
	f.optText("brokerName", &x.BrokerName)
	f.optText("clientId", &x.ClientID)
	f.text("consumerGroup", &x.ConsumerGroup)
	f.optText("msgId", &x.MsgID)
}

// VersionReply carries a data version as JSON: GET_BROKER_CONFIG.
type VersionReply struct{ Version string }

func (x *VersionReply) fields(f *form) { f.text("version", &x.Version) }
