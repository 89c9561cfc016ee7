package message

import "strings"

// Topics with a meaning of their own (TopicValidator of 4.9.7).
const (
	TopicAutoCreate       = "TBW102"                      // whose route and permission stand for topics yet to be made
	TopicAutoCreateOld    = "AUTO_CREATE_TOPIC_KEY"       // what clients of 4.3 call TopicAutoCreate
	TopicSchedule         = "SCHEDULE_TOPIC_XXXX"         // delayed messages, a queue for each level
	TopicBenchmark        = "BenchmarkTest"               //
	TopicTransHalf        = "RMQ_SYS_TRANS_HALF_TOPIC"    // half messages
	TopicTransOp          = "RMQ_SYS_TRANS_OP_HALF_TOPIC" // marks of decided half messages
	TopicTransCheckMax    = "TRANS_CHECK_MAX_TIME_TOPIC"  // half messages given up
	TopicTrace            = "RMQ_SYS_TRACE_TOPIC"         // clients' trace
	TopicSelfTest         = "SELF_TEST_TOPIC"             //
	TopicOffsetMoved      = "OFFSET_MOVED_EVENT"          // notes of corrected offsets
	SystemTopicPrefix     = "rmq_sys_"                    //
	RetryPrefix           = "%RETRY%"                     // + group: messages to deliver again
	DLQPrefix             = "%DLQ%"                       // + group: dead letters
	LMQPrefix             = "%LMQ%"                       // light queues
	ReplySuffix           = "_REPLY_TOPIC"                // cluster + suffix: replies of request-reply
	SystemGroupPrefix     = "CID_RMQ_SYS_"                // groups that may always be created
	GroupTransaction      = "CID_RMQ_SYS_TRANS"           // whose offsets are the transaction service's cursor
	GroupInnerProducer    = "CLIENT_INNER_PRODUCER"       // every Java client's second producer
	GroupTools            = "TOOLS_CONSUMER"              //
	GroupFilterServer     = "FILTERSRV_CONSUMER"          //
	GroupSelfTest         = "SELF_TEST_C_GROUP"           //
	GroupHTTPProxy        = "CID_ONS-HTTP-PROXY"          //
	GroupONSAPIPull       = "CID_ONSAPI_PULL"             //
	GroupONSAPIPermission = "CID_ONSAPI_PERMISSION"       //
	GroupONSAPIOwner      = "CID_ONSAPI_OWNER"            //
)

// SystemTopics returns the topics that RocketMQ counts as its own whatever the broker's name; a fresh slice.
func SystemTopics() []string {
	return []string{TopicAutoCreate, TopicSchedule, TopicBenchmark, TopicTransHalf, TopicTrace, TopicTransOp,
		TopicTransCheckMax, TopicSelfTest, TopicOffsetMoved}
}

// BuiltinGroups returns the subscription groups that exist on every broker; a fresh slice.
func BuiltinGroups() []string {
	return []string{GroupTools, GroupFilterServer, GroupSelfTest, GroupHTTPProxy, GroupONSAPIPull, GroupONSAPIPermission,
		GroupONSAPIOwner}
}

// IsSystemTopic says whether topic is one of SystemTopics or starts with SystemTopicPrefix. A broker adds the names of
// its cluster, of itself and of the reply topic.
func IsSystemTopic(topic string) bool {
	switch topic {
	case TopicAutoCreate, TopicSchedule, TopicBenchmark, TopicTransHalf, TopicTrace, TopicTransOp,
		TopicTransCheckMax, TopicSelfTest, TopicOffsetMoved:
		return true
	}
	return strings.HasPrefix(topic, SystemTopicPrefix)
}

// IsClosedTopic says whether clients may not send to topic directly; Java answers NoPermission.
func IsClosedTopic(topic string) bool {
	switch topic {
	case TopicSchedule, TopicTransHalf, TopicTransOp, TopicTransCheckMax, TopicSelfTest, TopicOffsetMoved, TopicTimer:
		return true
	}
	return false
}

// RetryTopic returns the topic that holds group's messages to deliver again.
func RetryTopic(group string) string { return RetryPrefix + group }

// DLQTopic returns the topic that holds group's dead letters.
func DLQTopic(group string) string { return DLQPrefix + group }

// ReplyTopic returns the topic that request-reply answers of a cluster go to.
func ReplyTopic(cluster string) string { return cluster + ReplySuffix }

// IsRetryTopic says whether topic holds some group's messages to deliver again.
func IsRetryTopic(topic string) bool { return strings.HasPrefix(topic, RetryPrefix) }

// IsDLQTopic says whether topic holds some group's dead letters.
func IsDLQTopic(topic string) bool { return strings.HasPrefix(topic, DLQPrefix) }

// IsLMQ says whether name is that of a light queue or its group.
func IsLMQ(name string) bool { return strings.HasPrefix(name, LMQPrefix) }

// IsSystemGroup says whether group may be created even where groups aren't created on demand.
func IsSystemGroup(group string) bool { return strings.HasPrefix(group, SystemGroupPrefix) }

// RetryGroup returns the group whose retry topic this is.
func RetryGroup(topic string) (group string, ok bool) { return strings.CutPrefix(topic, RetryPrefix) }

// Bits of a topic's system flag.
const (
	TopicUnit    int32 = 0x1 // topic of a unit
	TopicUnitSub int32 = 0x2 // retry topic of a group that consumes in units
)
