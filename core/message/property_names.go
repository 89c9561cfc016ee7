package message

// Names of the properties that brokers, clients and tools agree on (MessageConst of 4.9.7). They are stored and must not change.
const (
	PropKeys             = "KEYS"                           // index keys, separated by blanks
	PropTags             = "TAGS"                           // the tag
	PropWait             = "WAIT"                           // "false": the producer doesn't wait for flush and replica
	PropDelay            = "DELAY"                          // delay level
	PropRetryTopic       = "RETRY_TOPIC"                    // original topic of a message sent back
	PropRealTopic        = "REAL_TOPIC"                     // original topic of delayed and half messages
	PropRealQueueID      = "REAL_QID"                       // original queue of delayed and half messages
	PropTransaction      = "TRAN_MSG"                       // "true": half message
	PropProducerGroup    = "PGROUP"                         // producer group of a transaction message
	PropMinOffset        = "MIN_OFFSET"                     // set by clients from the pull reply
	PropMaxOffset        = "MAX_OFFSET"                     // set by clients from the pull reply
	PropBuyerID          = "BUYER_ID"                       // legacy, passed through
	PropOriginMessageID  = "ORIGIN_MESSAGE_ID"              // offset id of the first delivery
	PropTransferFlag     = "TRANSFER_FLAG"                  // legacy, passed through
	PropCorrectionFlag   = "CORRECTION_FLAG"                // legacy, passed through
	PropMQ2Flag          = "MQ2_FLAG"                       // legacy, passed through
	PropReconsumeTime    = "RECONSUME_TIME"                 // moved into the header by clients
	PropMsgRegion        = "MSG_REGION"                     // region of the broker
	PropTraceOn          = "TRACE_ON"                       // "false" switches client trace off
	PropUniqKey          = "UNIQ_KEY"                       // the producer's message id
	PropMaxReconsume     = "MAX_RECONSUME_TIMES"            // moved into the header by clients
	PropConsumeStart     = "CONSUME_START_TIME"             // set by clients on consumption
	PropPreparedOffset   = "TRAN_PREPARED_QUEUE_OFFSET"     // first queue offset of a half message stored again
	PropCheckTimes       = "TRANSACTION_CHECK_TIMES"        // how often a half message was checked
	PropCheckImmunity    = "CHECK_IMMUNITY_TIME_IN_SECONDS" // no check-back before this age
	PropInstanceID       = "INSTANCE_ID"                    // request-reply
	PropCorrelationID    = "CORRELATION_ID"                 // request-reply: matches the reply
	PropReplyToClient    = "REPLY_TO_CLIENT"                // request-reply: the requester's client id
	PropTTL              = "TTL"                            // request-reply: how long the requester waits, ms
	PropArriveTime       = "ARRIVE_TIME"                    // request-reply: set by the requester
	PropPushReplyTime    = "PUSH_REPLY_TIME"                // request-reply: set by the broker
	PropCluster          = "CLUSTER"                        // cluster of the storing broker
	PropMessageType      = "MSG_TYPE"                       // "reply" on a reply
	PropMultiDispatch    = "INNER_MULTI_DISPATCH"           // light queues to dispatch to
	PropMultiQueueOffset = "INNER_MULTI_QUEUE_OFFSET"       // their offsets
	PropTransactionID    = "__transactionId__"              // set by clients
	PropShardingKey      = "SHARDING_KEY"                   // set by the Go client
)

// ReservedProperty says whether clients refuse name as a name for a user's property.
func ReservedProperty(name string) bool {
	switch name {
	case PropArriveTime, PropBuyerID, PropCluster, PropConsumeStart, PropCorrectionFlag, PropCorrelationID, PropDelay,
		PropMultiQueueOffset, PropInstanceID, PropKeys, PropMaxOffset, PropMaxReconsume, PropMinOffset, PropMQ2Flag,
		PropMsgRegion, PropMessageType, PropOriginMessageID, PropProducerGroup, PropPushReplyTime, PropRealQueueID,
		PropRealTopic, PropReconsumeTime, PropReplyToClient, PropRetryTopic, PropTags, PropTraceOn, PropTransferFlag,
		PropTransaction, PropTTL, PropUniqKey, PropWait:
		return true
	}
	return false
}
