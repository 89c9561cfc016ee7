package wire

import "strconv"

// Request codes of RocketMQ 4.9.7. The numbers are protocol and must not change.
const (
	CodeSendMessage                      int32 = 10
	CodePullMessage                      int32 = 11
	CodeQueryMessage                     int32 = 12
	CodeQueryBrokerOffset                int32 = 13
	CodeQueryConsumerOffset              int32 = 14
	CodeUpdateConsumerOffset             int32 = 15
	CodeUpdateAndCreateTopic             int32 = 17
	CodeGetAllTopicConfig                int32 = 21
	CodeGetTopicConfigList               int32 = 22
	CodeGetTopicNameList                 int32 = 23
	CodeUpdateBrokerConfig               int32 = 25
	CodeGetBrokerConfig                  int32 = 26
	CodeTriggerDeleteFiles               int32 = 27
	CodeGetBrokerRuntimeInfo             int32 = 28
	CodeSearchOffsetByTimestamp          int32 = 29
	CodeGetMaxOffset                     int32 = 30
	CodeGetMinOffset                     int32 = 31
	CodeGetEarliestMsgStoreTime          int32 = 32
	CodeViewMessageByID                  int32 = 33
	CodeHeartbeat                        int32 = 34
	CodeUnregisterClient                 int32 = 35
	CodeConsumerSendMsgBack              int32 = 36
	CodeEndTransaction                   int32 = 37
	CodeGetConsumerListByGroup           int32 = 38
	CodeCheckTransactionState            int32 = 39
	CodeNotifyConsumerIDsChanged         int32 = 40
	CodeLockBatchMQ                      int32 = 41
	CodeUnlockBatchMQ                    int32 = 42
	CodeGetAllConsumerOffset             int32 = 43
	CodeGetAllDelayOffset                int32 = 45
	CodeCheckClientConfig                int32 = 46
	CodeUpdateAndCreateACLConfig         int32 = 50
	CodeDeleteACLConfig                  int32 = 51
	CodeGetBrokerClusterACLInfo          int32 = 52
	CodeUpdateGlobalWhiteAddrsConfig     int32 = 53
	CodeGetBrokerClusterACLConfig        int32 = 54
	CodePutKVConfig                      int32 = 100
	CodeGetKVConfig                      int32 = 101
	CodeDeleteKVConfig                   int32 = 102
	CodeRegisterBroker                   int32 = 103
	CodeUnregisterBroker                 int32 = 104
	CodeGetRouteInfoByTopic              int32 = 105
	CodeGetBrokerClusterInfo             int32 = 106
	CodeUpdateAndCreateSubscriptionGroup int32 = 200
	CodeGetAllSubscriptionGroupConfig    int32 = 201
	CodeGetTopicStatsInfo                int32 = 202
	CodeGetConsumerConnectionList        int32 = 203
	CodeGetProducerConnectionList        int32 = 204
	CodeWipeWritePermOfBroker            int32 = 205
	CodeGetAllTopicListFromNameServer    int32 = 206
	CodeDeleteSubscriptionGroup          int32 = 207
	CodeGetConsumeStats                  int32 = 208
	CodeSuspendConsumer                  int32 = 209
	CodeResumeConsumer                   int32 = 210
	CodeResetConsumerOffsetInConsumer    int32 = 211
	CodeResetConsumerOffsetInBroker      int32 = 212
	CodeAdjustConsumerThreadPool         int32 = 213
	CodeWhoConsumeTheMessage             int32 = 214
	CodeDeleteTopicInBroker              int32 = 215
	CodeDeleteTopicInNameServer          int32 = 216
	CodeGetKVListByNamespace             int32 = 219
	CodeResetConsumerClientOffset        int32 = 220
	CodeGetConsumerStatusFromClient      int32 = 221
	CodeInvokeBrokerToResetOffset        int32 = 222
	CodeInvokeBrokerToGetConsumerStatus  int32 = 223
	CodeGetTopicsByCluster               int32 = 224
	CodeQueryTopicConsumeByWho           int32 = 300
	CodeRegisterFilterServer             int32 = 301
	CodeRegisterMessageFilterClass       int32 = 302
	CodeQueryConsumeTimeSpan             int32 = 303
	CodeGetSystemTopicListFromNS         int32 = 304
	CodeGetSystemTopicListFromBroker     int32 = 305
	CodeCleanExpiredConsumeQueue         int32 = 306
	CodeGetConsumerRunningInfo           int32 = 307
	CodeQueryCorrectionOffset            int32 = 308
	CodeConsumeMessageDirectly           int32 = 309
	CodeSendMessageV2                    int32 = 310
	CodeGetUnitTopicList                 int32 = 311
	CodeGetHasUnitSubTopicList           int32 = 312
	CodeGetHasUnitSubUnUnitTopicList     int32 = 313
	CodeCloneGroupOffset                 int32 = 314
	CodeViewBrokerStatsData              int32 = 315
	CodeCleanUnusedTopic                 int32 = 316
	CodeGetBrokerConsumeStats            int32 = 317
	CodeUpdateNameServerConfig           int32 = 318
	CodeGetNameServerConfig              int32 = 319
	CodeSendBatchMessage                 int32 = 320
	CodeQueryConsumeQueue                int32 = 321
	CodeQueryDataVersion                 int32 = 322
	CodeResumeCheckHalfMessage           int32 = 323
	CodeSendReplyMessage                 int32 = 324
	CodeSendReplyMessageV2               int32 = 325
	CodePushReplyMessageToClient         int32 = 326
	CodeAddWritePermOfBroker             int32 = 327
	CodeGetAllProducerInfo               int32 = 328
	CodeDeleteExpiredCommitLog           int32 = 329
)

// Request codes of 5.x that its clients and tools send to brokers like ours.
const (
	CodeUpdateAndCreateTopicList             int32 = 18
	CodeGetClientConfig                      int32 = 47
	CodeRegisterTopicInNameServer            int32 = 217
	CodeUpdateAndCreateSubscriptionGroupList int32 = 225
	CodeQueryTopicsByConsumer                int32 = 343
	CodeQuerySubscriptionByConsumer          int32 = 345
	CodeGetTopicConfig                       int32 = 351
	CodeGetSubscriptionGroupConfig           int32 = 352
	CodeLitePullMessage                      int32 = 361
	CodeRecallMessage                        int32 = 370
	CodeQueryAssignment                      int32 = 400
	CodeSetMessageRequestMode                int32 = 401
	CodePopMessage                           int32 = 200050
	CodeAckMessage                           int32 = 200051
	CodeChangeMessageInvisibleTime           int32 = 200053
)

// CodeName returns Java's name of a request code, ours of one of ours, or CODE_ and the number.
func CodeName(code int32) string {
	if name := requestCodeName(code); name != "" {
		return name
	}
	if name := ownCodeName(code); name != "" {
		return name
	}
	return "CODE_" + strconv.Itoa(int(code))
}

func requestCodeName(code int32) string {
	switch code {
	case CodeSendMessage:
		return "SEND_MESSAGE"
	case CodePullMessage:
		return "PULL_MESSAGE"
	case CodeQueryMessage:
		return "QUERY_MESSAGE"
	case CodeQueryBrokerOffset:
		return "QUERY_BROKER_OFFSET"
	case CodeQueryConsumerOffset:
		return "QUERY_CONSUMER_OFFSET"
	case CodeUpdateConsumerOffset:
		return "UPDATE_CONSUMER_OFFSET"
	case CodeUpdateAndCreateTopic:
		return "UPDATE_AND_CREATE_TOPIC"
	case CodeUpdateAndCreateTopicList:
		return "UPDATE_AND_CREATE_TOPIC_LIST"
	case CodeGetAllTopicConfig:
		return "GET_ALL_TOPIC_CONFIG"
	case CodeGetTopicConfigList:
		return "GET_TOPIC_CONFIG_LIST"
	case CodeGetTopicNameList:
		return "GET_TOPIC_NAME_LIST"
	case CodeUpdateBrokerConfig:
		return "UPDATE_BROKER_CONFIG"
	case CodeGetBrokerConfig:
		return "GET_BROKER_CONFIG"
	case CodeTriggerDeleteFiles:
		return "TRIGGER_DELETE_FILES"
	case CodeGetBrokerRuntimeInfo:
		return "GET_BROKER_RUNTIME_INFO"
	case CodeSearchOffsetByTimestamp:
		return "SEARCH_OFFSET_BY_TIMESTAMP"
	case CodeGetMaxOffset:
		return "GET_MAX_OFFSET"
	case CodeGetMinOffset:
		return "GET_MIN_OFFSET"
	case CodeGetEarliestMsgStoreTime:
		return "GET_EARLIEST_MSG_STORETIME"
	case CodeViewMessageByID:
		return "VIEW_MESSAGE_BY_ID"
	case CodeHeartbeat:
		return "HEART_BEAT"
	case CodeUnregisterClient:
		return "UNREGISTER_CLIENT"
	case CodeConsumerSendMsgBack:
		return "CONSUMER_SEND_MSG_BACK"
	case CodeEndTransaction:
		return "END_TRANSACTION"
	case CodeGetConsumerListByGroup:
		return "GET_CONSUMER_LIST_BY_GROUP"
	case CodeCheckTransactionState:
		return "CHECK_TRANSACTION_STATE"
	case CodeNotifyConsumerIDsChanged:
		return "NOTIFY_CONSUMER_IDS_CHANGED"
	case CodeLockBatchMQ:
		return "LOCK_BATCH_MQ"
	case CodeUnlockBatchMQ:
		return "UNLOCK_BATCH_MQ"
	case CodeGetAllConsumerOffset:
		return "GET_ALL_CONSUMER_OFFSET"
	case CodeGetAllDelayOffset:
		return "GET_ALL_DELAY_OFFSET"
	case CodeCheckClientConfig:
		return "CHECK_CLIENT_CONFIG"
	case CodeGetClientConfig:
		return "GET_CLIENT_CONFIG"
	case CodeUpdateAndCreateACLConfig:
		return "UPDATE_AND_CREATE_ACL_CONFIG"
	case CodeDeleteACLConfig:
		return "DELETE_ACL_CONFIG"
	case CodeGetBrokerClusterACLInfo:
		return "GET_BROKER_CLUSTER_ACL_INFO"
	case CodeUpdateGlobalWhiteAddrsConfig:
		return "UPDATE_GLOBAL_WHITE_ADDRS_CONFIG"
	case CodeGetBrokerClusterACLConfig:
		return "GET_BROKER_CLUSTER_ACL_CONFIG"
	case CodePutKVConfig:
		return "PUT_KV_CONFIG"
	case CodeGetKVConfig:
		return "GET_KV_CONFIG"
	case CodeDeleteKVConfig:
		return "DELETE_KV_CONFIG"
	case CodeRegisterBroker:
		return "REGISTER_BROKER"
	case CodeUnregisterBroker:
		return "UNREGISTER_BROKER"
	case CodeGetRouteInfoByTopic:
		return "GET_ROUTEINFO_BY_TOPIC"
	case CodeGetBrokerClusterInfo:
		return "GET_BROKER_CLUSTER_INFO"
	case CodeUpdateAndCreateSubscriptionGroup:
		return "UPDATE_AND_CREATE_SUBSCRIPTIONGROUP"
	case CodeGetAllSubscriptionGroupConfig:
		return "GET_ALL_SUBSCRIPTIONGROUP_CONFIG"
	case CodeGetTopicStatsInfo:
		return "GET_TOPIC_STATS_INFO"
	case CodeGetConsumerConnectionList:
		return "GET_CONSUMER_CONNECTION_LIST"
	case CodeGetProducerConnectionList:
		return "GET_PRODUCER_CONNECTION_LIST"
	case CodeWipeWritePermOfBroker:
		return "WIPE_WRITE_PERM_OF_BROKER"
	case CodeGetAllTopicListFromNameServer:
		return "GET_ALL_TOPIC_LIST_FROM_NAMESERVER"
	case CodeDeleteSubscriptionGroup:
		return "DELETE_SUBSCRIPTIONGROUP"
	case CodeGetConsumeStats:
		return "GET_CONSUME_STATS"
	case CodeSuspendConsumer:
		return "SUSPEND_CONSUMER"
	case CodeResumeConsumer:
		return "RESUME_CONSUMER"
	case CodeResetConsumerOffsetInConsumer:
		return "RESET_CONSUMER_OFFSET_IN_CONSUMER"
	case CodeResetConsumerOffsetInBroker:
		return "RESET_CONSUMER_OFFSET_IN_BROKER"
	case CodeAdjustConsumerThreadPool:
		return "ADJUST_CONSUMER_THREAD_POOL"
	case CodeWhoConsumeTheMessage:
		return "WHO_CONSUME_THE_MESSAGE"
	case CodeDeleteTopicInBroker:
		return "DELETE_TOPIC_IN_BROKER"
	case CodeDeleteTopicInNameServer:
		return "DELETE_TOPIC_IN_NAMESRV"
	case CodeRegisterTopicInNameServer:
		return "REGISTER_TOPIC_IN_NAMESRV"
	case CodeGetKVListByNamespace:
		return "GET_KVLIST_BY_NAMESPACE"
	case CodeResetConsumerClientOffset:
		return "RESET_CONSUMER_CLIENT_OFFSET"
	case CodeGetConsumerStatusFromClient:
		return "GET_CONSUMER_STATUS_FROM_CLIENT"
	case CodeInvokeBrokerToResetOffset:
		return "INVOKE_BROKER_TO_RESET_OFFSET"
	case CodeInvokeBrokerToGetConsumerStatus:
		return "INVOKE_BROKER_TO_GET_CONSUMER_STATUS"
	case CodeGetTopicsByCluster:
		return "GET_TOPICS_BY_CLUSTER"
	case CodeUpdateAndCreateSubscriptionGroupList:
		return "UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST"
	case CodeQueryTopicConsumeByWho:
		return "QUERY_TOPIC_CONSUME_BY_WHO"
	case CodeRegisterFilterServer:
		return "REGISTER_FILTER_SERVER"
	case CodeRegisterMessageFilterClass:
		return "REGISTER_MESSAGE_FILTER_CLASS"
	case CodeQueryConsumeTimeSpan:
		return "QUERY_CONSUME_TIME_SPAN"
	case CodeGetSystemTopicListFromNS:
		return "GET_SYSTEM_TOPIC_LIST_FROM_NS"
	case CodeGetSystemTopicListFromBroker:
		return "GET_SYSTEM_TOPIC_LIST_FROM_BROKER"
	case CodeCleanExpiredConsumeQueue:
		return "CLEAN_EXPIRED_CONSUMEQUEUE"
	case CodeGetConsumerRunningInfo:
		return "GET_CONSUMER_RUNNING_INFO"
	case CodeQueryCorrectionOffset:
		return "QUERY_CORRECTION_OFFSET"
	case CodeConsumeMessageDirectly:
		return "CONSUME_MESSAGE_DIRECTLY"
	case CodeSendMessageV2:
		return "SEND_MESSAGE_V2"
	case CodeGetUnitTopicList:
		return "GET_UNIT_TOPIC_LIST"
	case CodeGetHasUnitSubTopicList:
		return "GET_HAS_UNIT_SUB_TOPIC_LIST"
	case CodeGetHasUnitSubUnUnitTopicList:
		return "GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST"
	case CodeCloneGroupOffset:
		return "CLONE_GROUP_OFFSET"
	case CodeViewBrokerStatsData:
		return "VIEW_BROKER_STATS_DATA"
	case CodeCleanUnusedTopic:
		return "CLEAN_UNUSED_TOPIC"
	case CodeGetBrokerConsumeStats:
		return "GET_BROKER_CONSUME_STATS"
	case CodeUpdateNameServerConfig:
		return "UPDATE_NAMESRV_CONFIG"
	case CodeGetNameServerConfig:
		return "GET_NAMESRV_CONFIG"
	case CodeSendBatchMessage:
		return "SEND_BATCH_MESSAGE"
	case CodeQueryConsumeQueue:
		return "QUERY_CONSUME_QUEUE"
	case CodeQueryDataVersion:
		return "QUERY_DATA_VERSION"
	case CodeResumeCheckHalfMessage:
		return "RESUME_CHECK_HALF_MESSAGE"
	case CodeSendReplyMessage:
		return "SEND_REPLY_MESSAGE"
	case CodeSendReplyMessageV2:
		return "SEND_REPLY_MESSAGE_V2"
	case CodePushReplyMessageToClient:
		return "PUSH_REPLY_MESSAGE_TO_CLIENT"
	case CodeAddWritePermOfBroker:
		return "ADD_WRITE_PERM_OF_BROKER"
	case CodeGetAllProducerInfo:
		return "GET_ALL_PRODUCER_INFO"
	case CodeDeleteExpiredCommitLog:
		return "DELETE_EXPIRED_COMMITLOG"
	case CodeQueryTopicsByConsumer:
		return "QUERY_TOPICS_BY_CONSUMER"
	case CodeQuerySubscriptionByConsumer:
		return "QUERY_SUBSCRIPTION_BY_CONSUMER"
	case CodeGetTopicConfig:
		return "GET_TOPIC_CONFIG"
	case CodeGetSubscriptionGroupConfig:
		return "GET_SUBSCRIPTIONGROUP_CONFIG"
	case CodeLitePullMessage:
		return "LITE_PULL_MESSAGE"
	case CodeRecallMessage:
		return "RECALL_MESSAGE"
	case CodeQueryAssignment:
		return "QUERY_ASSIGNMENT"
	case CodeSetMessageRequestMode:
		return "SET_MESSAGE_REQUEST_MODE"
	case CodePopMessage:
		return "POP_MESSAGE"
	case CodeAckMessage:
		return "ACK_MESSAGE"
	case CodeChangeMessageInvisibleTime:
		return "CHANGE_MESSAGE_INVISIBLETIME"
	}
	return ""
}
