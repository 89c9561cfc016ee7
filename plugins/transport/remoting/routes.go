package remoting

import (
	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
)

// addClientRoutes adds what producers and consumers send, but for sends, ends of transactions and pulls, which have a path of their own.
func addClientRoutes(h *transport.Handlers, add addRoute) {
	add(h.Offsets != nil, inline, wire.CodeQueryConsumerOffset, serveQueryConsumerOffset)
	add(h.Offsets != nil, inline, wire.CodeUpdateConsumerOffset, serveUpdateConsumerOffset)
	add(h.Querier != nil, inline, wire.CodeSearchOffsetByTimestamp, serveSearchOffset)
	add(h.Querier != nil, inline, wire.CodeGetMaxOffset, serveMaxOffset)
	add(h.Querier != nil, inline, wire.CodeGetMinOffset, serveMinOffset)
	add(h.Querier != nil, apart, wire.CodeGetEarliestMsgStoreTime, serveEarliestStoreTime)
	add(h.Querier != nil, apart, wire.CodeQueryMessage, serveQueryMessage)
	add(h.Querier != nil, apart, wire.CodeViewMessageByID, serveViewMessage)
	add(h.Groups != nil, inline, wire.CodeHeartbeat, serveHeartbeat)
	add(h.Groups != nil, inline, wire.CodeUnregisterClient, serveUnregisterClient)
	add(h.Groups != nil, inline, wire.CodeGetConsumerListByGroup, serveConsumers)
	add(h.Groups != nil, apart, wire.CodeCheckClientConfig, serveCheckClient)
	add(h.Returner != nil, inline, wire.CodeConsumerSendMsgBack, serveSendBack)
	add(h.Replier != nil, apart, wire.CodeSendReplyMessage, serveSendReply)
	add(h.Replier != nil, apart, wire.CodeSendReplyMessageV2, serveSendReply)
	add(h.Recaller != nil, apart, wire.CodeRecallMessage, serveRecall)
	add(h.Locker != nil, inline, wire.CodeLockBatchMQ, serveLock)
	add(h.Locker != nil, inline, wire.CodeUnlockBatchMQ, serveUnlock)
}

// addAdminRoutes adds what tools send to a broker. None of it is so frequent that it needs the reader.
func addAdminRoutes(h *transport.Handlers, add addRoute) {
	add(h.Topics != nil, apart, wire.CodeUpdateAndCreateTopic, servePutTopic)
	add(h.Topics != nil, apart, wire.CodeGetAllTopicConfig, serveTopics)
	add(h.Topics != nil, apart, wire.CodeDeleteTopicInBroker, serveDeleteTopic)
	add(h.Topics != nil, apart, wire.CodeGetSystemTopicListFromBroker, serveSystemTopics)
	add(h.Topics != nil, apart, wire.CodeGetTopicConfig, serveTopic)

	add(h.GroupAd != nil, apart, wire.CodeUpdateAndCreateSubscriptionGroup, servePutGroup)
	add(h.GroupAd != nil, apart, wire.CodeGetAllSubscriptionGroupConfig, serveGroups)
	add(h.GroupAd != nil, apart, wire.CodeDeleteSubscriptionGroup, serveDeleteGroup)
	add(h.GroupAd != nil, apart, wire.CodeGetSubscriptionGroupConfig, serveGroup)
	add(h.GroupAd != nil, apart, wire.CodeGetAllConsumerOffset, serveAllOffsets)
	add(h.GroupAd != nil, apart, wire.CodeInvokeBrokerToResetOffset, serveResetOffset)
	add(h.GroupAd != nil, apart, wire.CodeCloneGroupOffset, serveCloneOffsets)

	add(h.Clients != nil, apart, wire.CodeGetConsumerConnectionList, serveConsumerConnections)
	add(h.Clients != nil, apart, wire.CodeGetProducerConnectionList, serveProducerConnections)
	add(h.Clients != nil, apart, wire.CodeGetAllProducerInfo, serveAllProducers)
	add(h.Clients != nil, apart, wire.CodeInvokeBrokerToGetConsumerStatus, serveConsumerStatus)
	add(h.Clients != nil, apart, wire.CodeGetConsumerRunningInfo, serveRunningInfo)
	add(h.Clients != nil, apart, wire.CodeConsumeMessageDirectly, serveConsumeDirectly)
	add(h.Clients != nil, apart, wire.CodeListConflicts, serveConflicts)

	add(h.Stats != nil, apart, wire.CodeGetTopicStatsInfo, serveTopicStats)
	add(h.Stats != nil, apart, wire.CodeGetConsumeStats, serveConsumeStats)
	add(h.Stats != nil, apart, wire.CodeGetBrokerConsumeStats, serveBrokerConsumeStats)
	add(h.Stats != nil, apart, wire.CodeQueryTopicConsumeByWho, serveTopicGroups)
	add(h.Stats != nil, apart, wire.CodeQueryTopicsByConsumer, serveGroupTopics)
	add(h.Stats != nil, apart, wire.CodeQueryConsumeTimeSpan, serveTimeSpans)
	add(h.Stats != nil, apart, wire.CodeQueryCorrectionOffset, serveCorrectionOffsets)
	add(h.Stats != nil, apart, wire.CodeQueryConsumeQueue, serveQueueEntries)
	add(h.Stats != nil, apart, wire.CodeViewBrokerStatsData, serveCounter)

	add(h.Broker != nil, apart, wire.CodeUpdateBrokerConfig, serveUpdateConfig)
	add(h.Broker != nil, apart, wire.CodeGetBrokerConfig, serveConfig)
	add(h.Broker != nil, apart, wire.CodeGetBrokerRuntimeInfo, serveRuntimeInfo)
	add(h.Trans != nil, apart, wire.CodeResumeCheckHalfMessage, serveResumeCheck)
	add(h.Broker != nil, apart, wire.CodeGetAllDelayOffset, serveDelayOffsets)
	add(h.Broker != nil, apart, wire.CodeCleanExpiredConsumeQueue, serveClean(transport.CleanExpiredQueues))
	add(h.Broker != nil, apart, wire.CodeCleanUnusedTopic, serveClean(transport.CleanUnusedTopics))
	add(h.Broker != nil, apart, wire.CodeDeleteExpiredCommitLog, serveClean(transport.CleanExpiredLog))
}

// addNameServerRoutes adds what is sent to a name server.
func addNameServerRoutes(h *transport.Handlers, add addRoute) {
	add(h.KV != nil, apart, wire.CodePutKVConfig, servePutKV)
	add(h.KV != nil, apart, wire.CodeGetKVConfig, serveKV)
	add(h.KV != nil, apart, wire.CodeDeleteKVConfig, serveDeleteKV)
	add(h.KV != nil, apart, wire.CodeGetKVListByNamespace, serveKVList)

	add(h.Registry != nil, apart, wire.CodeRegisterBroker, serveRegisterBroker)
	add(h.Registry != nil, apart, wire.CodeUnregisterBroker, serveUnregisterBroker)
	add(h.Registry != nil, apart, wire.CodeQueryDataVersion, serveDataVersion)

	add(h.Router != nil, inline, wire.CodeGetRouteInfoByTopic, serveRoute)
	add(h.Router != nil, apart, wire.CodeGetBrokerClusterInfo, serveClusterInfo)
	add(h.Router != nil, apart, wire.CodeGetAllTopicListFromNameServer, serveTopicList(transport.AllTopics))
	add(h.Router != nil, apart, wire.CodeGetTopicsByCluster, serveTopicsOfCluster)
	add(h.Router != nil, apart, wire.CodeGetSystemTopicListFromNS, serveTopicList(transport.SystemTopics))
	add(h.Router != nil, apart, wire.CodeGetUnitTopicList, serveTopicList(transport.UnitTopics))
	add(h.Router != nil, apart, wire.CodeGetHasUnitSubTopicList, serveTopicList(transport.UnitSubTopics))
	add(h.Router != nil, apart, wire.CodeGetHasUnitSubUnUnitTopicList, serveTopicList(transport.UnitSubNotUnitTopics))
	add(h.Router != nil, apart, wire.CodeDeleteTopicInNameServer, serveDeleteRoute)
	add(h.Router != nil, apart, wire.CodeWipeWritePermOfBroker, serveWritePerm(false))
	add(h.Router != nil, apart, wire.CodeAddWritePermOfBroker, serveWritePerm(true))
	add(h.Router != nil, apart, wire.CodeUpdateNameServerConfig, serveUpdateServerConfig)
	add(h.Router != nil, apart, wire.CodeGetNameServerConfig, serveServerConfig)
}
