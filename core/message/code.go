package message

import "strconv"

// Code says how a request ended. The numbers are RocketMQ's response codes (ResponseCode and RemotingSysResponseCode
// of 4.9.7) because clients and tools branch on them; a transport with codes of its own maps from these.
type Code int32

// The response codes that this broker uses. Their numbers are protocol and must not change.
const (
	Success                 Code = 0   // done
	SystemError             Code = 1   // anything without a code of its own; producers retry on another broker
	SystemBusy              Code = 2   // refused for load; not retried by synchronous producers
	CodeNotSupported        Code = 3   // no such request code, or no rule for it
	FlushDiskTimeout        Code = 10  // stored, but not known to be on disk in time
	SlaveNotAvailable       Code = 11  // stored, but no replica was there
	FlushSlaveTimeout       Code = 12  // stored, but the replica was late
	MessageIllegal          Code = 13  // the message itself can't be stored; never retried
	ServiceNotAvailable     Code = 14  // not writable now (disk full, shutting down); producers go elsewhere
	NoPermission            Code = 16  // broker, topic or group permission
	TopicNotExist           Code = 17  // unknown topic, or no route
	PullNotFound            Code = 19  // nothing new; a held pull timed out
	PullRetryImmediately    Code = 20  // entries were scanned, none matched
	PullOffsetMoved         Code = 21  // the offset is outside the queue
	QueryNotFound           Code = 22  // no such offset, key or message
	SubscriptionParseFailed Code = 23  // the filter expression doesn't compile
	SubscriptionNotExist    Code = 24  // no heartbeat of this group, or it doesn't subscribe the topic
	SubscriptionNotLatest   Code = 25  // the pull knows a newer subscription than the broker
	GroupNotExist           Code = 26  // no such subscription group
	FilterDataNotExist      Code = 27  // no compiled filter of the group
	FilterDataNotLatest     Code = 28  // the compiled filter is older than the pull's
	ConsumerNotOnline       Code = 206 // no member of the group is connected
	ConsumeMsgTimeout       Code = 207 // the client didn't answer in time
)

// Response codes that other brokers may send, and those of access control administration.
const (
	TransactionFailed      Code = 4
	VersionNotSupported    Code = 15
	TopicExistAlready      Code = 18
	NoBuyerID              Code = 204 // producers retry on another broker
	NotInCurrentUnit       Code = 205 // producers retry on another broker
	NoMessage              Code = 208 // a client's own: a query found nothing usable
	UpdateACLFailed        Code = 209
	DeleteACLFailed        Code = 210
	UpdateWhiteAddrsFailed Code = 211
	FlowControl            Code = 215 // pulls are retried after 20 ms
	IllegalOperation       Code = 604 // RocketMQ 5: a recall that can't be
)

var codeNames = map[Code]string{
	Success: "SUCCESS", SystemError: "SYSTEM_ERROR", SystemBusy: "SYSTEM_BUSY",
	CodeNotSupported: "REQUEST_CODE_NOT_SUPPORTED", FlushDiskTimeout: "FLUSH_DISK_TIMEOUT",
	SlaveNotAvailable: "SLAVE_NOT_AVAILABLE", FlushSlaveTimeout: "FLUSH_SLAVE_TIMEOUT",
	MessageIllegal: "MESSAGE_ILLEGAL", ServiceNotAvailable: "SERVICE_NOT_AVAILABLE", NoPermission: "NO_PERMISSION",
	TopicNotExist: "TOPIC_NOT_EXIST", PullNotFound: "PULL_NOT_FOUND", PullRetryImmediately: "PULL_RETRY_IMMEDIATELY",
	PullOffsetMoved: "PULL_OFFSET_MOVED", QueryNotFound: "QUERY_NOT_FOUND",
	SubscriptionParseFailed: "SUBSCRIPTION_PARSE_FAILED", SubscriptionNotExist: "SUBSCRIPTION_NOT_EXIST",
	SubscriptionNotLatest: "SUBSCRIPTION_NOT_LATEST", GroupNotExist: "SUBSCRIPTION_GROUP_NOT_EXIST",
	TransactionFailed: "TRANSACTION_FAILED", VersionNotSupported: "VERSION_NOT_SUPPORTED",
	TopicExistAlready: "TOPIC_EXIST_ALREADY", NoBuyerID: "NO_BUYER_ID", NotInCurrentUnit: "NOT_IN_CURRENT_UNIT",
	NoMessage: "NO_MESSAGE", UpdateACLFailed: "UPDATE_AND_CREATE_ACL_CONFIG_FAILED",
	DeleteACLFailed:        "DELETE_ACL_CONFIG_FAILED",
	UpdateWhiteAddrsFailed: "UPDATE_GLOBAL_WHITE_ADDRS_CONFIG_FAILED", FlowControl: "FLOW_CONTROL", IllegalOperation: "ILLEGAL_OPERATION",
	FilterDataNotExist: "FILTER_DATA_NOT_EXIST", FilterDataNotLatest: "FILTER_DATA_NOT_LATEST",
	ConsumerNotOnline: "CONSUMER_NOT_ONLINE", ConsumeMsgTimeout: "CONSUME_MSG_TIMEOUT",
}

// String returns RocketMQ's name of c, or its number when it has none here.
func (c Code) String() string {
	if n, ok := codeNames[c]; ok {
		return n
	}
	return "CODE_" + strconv.Itoa(int(c))
}

// Error is an answer with a code and a remark for the person at the other end. Roles of a broker return it (possibly
// wrapped) when a request is refused; a transport sends any other error as SystemError with the error's text.
type Error struct {
	Code   Code
	Remark string
	// Cause is why, where the code alone doesn't say; see Why.
	Cause Cause
}

// Error returns the code's name and the remark.
func (e *Error) Error() string { return e.Code.String() + ": " + e.Remark }
