package wire

// TopicConfig is the settings of one topic, as brokers exchange and keep them.
type TopicConfig struct {
	Order           bool            `json:"order"`
	Perm            int32           `json:"perm"` // message.Perm
	ReadQueueNums   int32           `json:"readQueueNums"`
	TopicFilterType TopicFilterType `json:"topicFilterType,omitempty"`
	TopicName       string          `json:"topicName"`
	TopicSysFlag    int32           `json:"topicSysFlag"`
	WriteQueueNums  int32           `json:"writeQueueNums"`
}

// SetDefaults sets what Java's class has where a body names nothing.
func (c *TopicConfig) SetDefaults() {
	*c = TopicConfig{Perm: 6, ReadQueueNums: 16, WriteQueueNums: 16, TopicFilterType: SingleTag}
}

// TopicTable is the reply to GET_ALL_TOPIC_CONFIG, and a part of RegisterBroker.
type TopicTable struct {
	DataVersion      DataVersion            `json:"dataVersion"`
	TopicConfigTable map[string]TopicConfig `json:"topicConfigTable"`
}

// RegisterBroker is the body of REGISTER_BROKER, when it isn't compressed.
type RegisterBroker struct {
	FilterServerList []string   `json:"filterServerList"`
	Topics           TopicTable `json:"topicConfigSerializeWrapper"`
}

// GroupConfig is the settings of one subscription group: UPDATE_AND_CREATE_SUBSCRIPTIONGROUP.
type GroupConfig struct {
	BrokerID                       int64  `json:"brokerId"`
	ConsumeBroadcastEnable         bool   `json:"consumeBroadcastEnable"`
	ConsumeEnable                  bool   `json:"consumeEnable"`
	ConsumeFromMinEnable           bool   `json:"consumeFromMinEnable"`
	GroupName                      string `json:"groupName"`
	NotifyConsumerIDsChangedEnable bool   `json:"notifyConsumerIdsChangedEnable"`
	RetryMaxTimes                  int32  `json:"retryMaxTimes"`
	RetryQueueNums                 int32  `json:"retryQueueNums"`
	WhichBrokerWhenConsumeSlowly   int64  `json:"whichBrokerWhenConsumeSlowly"`
}

// SetDefaults sets what Java's class has where a body names nothing.
func (c *GroupConfig) SetDefaults() {
	*c = GroupConfig{ConsumeBroadcastEnable: true, ConsumeEnable: true, ConsumeFromMinEnable: true,
		NotifyConsumerIDsChangedEnable: true, RetryMaxTimes: 16, RetryQueueNums: 1, WhichBrokerWhenConsumeSlowly: 1}
}

// GroupTable is the reply to GET_ALL_SUBSCRIPTIONGROUP_CONFIG.
type GroupTable struct {
	DataVersion            DataVersion            `json:"dataVersion"`
	SubscriptionGroupTable map[string]GroupConfig `json:"subscriptionGroupTable"`
}

// ConsumerOffsets is the reply to GET_ALL_CONSUMER_OFFSET: offsets by topic@group and queue.
type ConsumerOffsets struct {
	OffsetTable map[string]map[int32]int64 `json:"offsetTable"`
}

// DelayOffsets is the reply to GET_ALL_DELAY_OFFSET: offsets by delay level.
type DelayOffsets struct {
	OffsetTable map[int32]int64 `json:"offsetTable"`
}

// ACLConfig is the reply to GET_BROKER_CLUSTER_ACL_CONFIG.
type ACLConfig struct {
	GlobalWhiteAddrs   []string      `json:"globalWhiteAddrs"`
	PlainAccessConfigs []PlainAccess `json:"plainAccessConfigs"`
}

// PlainAccess is one account; members that the file doesn't set are left out.
type PlainAccess struct {
	AccessKey          string   `json:"accessKey,omitempty"`
	Admin              bool     `json:"admin"`
	DefaultGroupPerm   string   `json:"defaultGroupPerm,omitempty"`
	DefaultTopicPerm   string   `json:"defaultTopicPerm,omitempty"`
	GroupPerms         []string `json:"groupPerms,omitempty"`
	SecretKey          string   `json:"secretKey,omitempty"`
	TopicPerms         []string `json:"topicPerms,omitempty"`
	WhiteRemoteAddress string   `json:"whiteRemoteAddress,omitempty"`
}
