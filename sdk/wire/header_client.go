package wire

// GroupHeader names a consumer group: GET_CONSUMER_LIST_BY_GROUP, NOTIFY_CONSUMER_IDS_CHANGED, GET_CONSUMER_CONNECTION_LIST.
type GroupHeader struct{ ConsumerGroup string }

func (x *GroupHeader) fields(f *form) { f.text("consumerGroup", &x.ConsumerGroup) }

// UnregisterClientHeader is UNREGISTER_CLIENT. A group that is empty was not named.
type UnregisterClientHeader struct{ ClientID, ProducerGroup, ConsumerGroup string }

func (x *UnregisterClientHeader) fields(f *form) {
	f.optText("clientID", &x.ClientID) // required by Java's mark, but only informative
	f.optText("consumerGroup", &x.ConsumerGroup)
	f.optText("producerGroup", &x.ProducerGroup)
}

// QueueHeader names a queue: GET_MAX_OFFSET, GET_MIN_OFFSET, GET_EARLIEST_MSG_STORETIME.
type QueueHeader struct {
	Topic   string
	QueueID int32
}

func (x *QueueHeader) fields(f *form) {
	f.int32("queueId", &x.QueueID)
	f.text("topic", &x.Topic)
}

// SearchOffsetHeader is SEARCH_OFFSET_BY_TIMESTAMP.
type SearchOffsetHeader struct {
	Topic     string
	QueueID   int32
	Timestamp int64 // ms
	// Boundary is LOWER or UPPER for the rule of 5.x, empty for that of 4.9.7.
	Boundary string
}

func (x *SearchOffsetHeader) fields(f *form) {
	f.optText("boundaryType", &x.Boundary)
	f.int32("queueId", &x.QueueID)
	f.int64("timestamp", &x.Timestamp)
	f.text("topic", &x.Topic)
}

// OffsetReply answers with an offset: 14, 29, 30, 31.
type OffsetReply struct{ Offset int64 }

func (x *OffsetReply) fields(f *form) { f.int64("offset", &x.Offset) }

// TimestampReply answers GET_EARLIEST_MSG_STORETIME, in ms.
type TimestampReply struct{ Timestamp int64 }

func (x *TimestampReply) fields(f *form) { f.int64("timestamp", &x.Timestamp) }

// QueryOffsetHeader is QUERY_CONSUMER_OFFSET.
type QueryOffsetHeader struct {
	ConsumerGroup string
	Topic         string
	QueueID       int32
	// StrictlyStored is the "setZeroIfNotFound=false" of 5.x: no stored offset is QueryNotFound, whatever the queue holds.
	StrictlyStored bool
}

func (x *QueryOffsetHeader) fields(f *form) {
	f.text("consumerGroup", &x.ConsumerGroup)
	f.int32("queueId", &x.QueueID)
	if !f.write {
		x.StrictlyStored = !f.h.OptBool("setZeroIfNotFound", true)
	} else if x.StrictlyStored {
		f.h.SetBool("setZeroIfNotFound", false)
	}
	f.text("topic", &x.Topic)
}

// UpdateOffsetHeader is UPDATE_CONSUMER_OFFSET.
type UpdateOffsetHeader struct {
	ConsumerGroup string
	Topic         string
	QueueID       int32
	CommitOffset  int64
}

func (x *UpdateOffsetHeader) fields(f *form) {
	f.int64("commitOffset", &x.CommitOffset)
	f.text("consumerGroup", &x.ConsumerGroup)
	f.int32("queueId", &x.QueueID)
	f.text("topic", &x.Topic)
}

// SendBackHeader is CONSUMER_SEND_MSG_BACK.
type SendBackHeader struct {
	Offset               int64 // position of the record in the commit log
	Group                string
	DelayLevel           int32
	OriginMsgID          string
	OriginTopic          string
	UnitMode             bool
	MaxReconsumeTimes    int32 // only if HasMaxReconsumeTimes
	HasMaxReconsumeTimes bool
}

func (x *SendBackHeader) fields(f *form) {
	f.int32("delayLevel", &x.DelayLevel)
	f.text("group", &x.Group)
	f.optInt32("maxReconsumeTimes", &x.MaxReconsumeTimes, &x.HasMaxReconsumeTimes)
	f.int64("offset", &x.Offset)
	f.optText("originMsgId", &x.OriginMsgID)
	f.optText("originTopic", &x.OriginTopic)
	f.flag("unitMode", &x.UnitMode)
}

// QueryMessageHeader is QUERY_MESSAGE.
type QueryMessageHeader struct {
	Topic          string
	Key            string
	MaxNum         int32
	BeginTimestamp int64 // ms
	EndTimestamp   int64 // ms
	UniqueKey      bool  // the key is a producer's message id
}

func (x *QueryMessageHeader) fields(f *form) {
	f.flag("_UNIQUE_KEY_QUERY", &x.UniqueKey)
	f.int64("beginTimestamp", &x.BeginTimestamp)
	f.int64("endTimestamp", &x.EndTimestamp)
	f.text("key", &x.Key)
	f.int32("maxNum", &x.MaxNum)
	f.text("topic", &x.Topic)
}

// QueryMessageReply answers QUERY_MESSAGE.
type QueryMessageReply struct {
	IndexLastUpdateTimestamp int64 // ms
	IndexLastUpdatePosition  int64
}

func (x *QueryMessageReply) fields(f *form) {
	f.int64("indexLastUpdatePhyoffset", &x.IndexLastUpdatePosition)
	f.int64("indexLastUpdateTimestamp", &x.IndexLastUpdateTimestamp)
}

// ViewMessageHeader is VIEW_MESSAGE_BY_ID.
type ViewMessageHeader struct{ Offset int64 } // position in the commit log

func (x *ViewMessageHeader) fields(f *form) { f.int64("offset", &x.Offset) }

// EndTransactionHeader is END_TRANSACTION. Its texts are not copied by Decode.
type EndTransactionHeader struct {
	ProducerGroup        []byte
	TranStateTableOffset int64 // offset of the half message in its queue
	CommitLogOffset      int64 // position of the half message
	CommitOrRollback     int32 // 0 unknown, message.FlagCommit, message.FlagRollback
	FromTransactionCheck bool
	MsgID                []byte
	TransactionID        []byte
}

// Decode fills x from h's ext fields, with texts that live as long as h's. The errors are those of Header.Read.
func (x *EndTransactionHeader) Decode(h *Header) error {
	var errs [4]error
	x.CommitLogOffset, errs[0] = h.Int64("commitLogOffset")
	x.CommitOrRollback, errs[1] = h.Int32("commitOrRollback")
	x.ProducerGroup, errs[2] = h.Bytes("producerGroup")
	x.TranStateTableOffset, errs[3] = h.Int64("tranStateTableOffset")
	x.FromTransactionCheck = h.Bool("fromTransactionCheck")
	x.MsgID, _ = h.Get("msgId")
	x.TransactionID, _ = h.Get("transactionId")
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Encode adds the fields to h. The texts are copied.
func (x *EndTransactionHeader) Encode(h *Header) {
	h.SetInt("commitLogOffset", x.CommitLogOffset)
	h.SetInt("commitOrRollback", int64(x.CommitOrRollback))
	h.SetBool("fromTransactionCheck", x.FromTransactionCheck)
	if len(x.MsgID) > 0 {
		h.SetBytes("msgId", x.MsgID)
	}
	h.SetBytes("producerGroup", x.ProducerGroup)
	h.SetInt("tranStateTableOffset", x.TranStateTableOffset)
	if len(x.TransactionID) > 0 {
		h.SetBytes("transactionId", x.TransactionID)
	}
}

// CheckTransactionHeader is CHECK_TRANSACTION_STATE, from broker to client.
type CheckTransactionHeader struct {
	TranStateTableOffset int64
	CommitLogOffset      int64
	MsgID                string
	TransactionID        string
	OffsetMsgID          string
}

func (x *CheckTransactionHeader) fields(f *form) {
	f.int64("commitLogOffset", &x.CommitLogOffset)
	f.optText("msgId", &x.MsgID)
	f.optText("offsetMsgId", &x.OffsetMsgID)
	f.int64("tranStateTableOffset", &x.TranStateTableOffset)
	f.optText("transactionId", &x.TransactionID)
}

// PushReplyHeader is PUSH_REPLY_MESSAGE_TO_CLIENT, from broker to client.
type PushReplyHeader struct {
	ProducerGroup         string
	Topic                 string
	DefaultTopic          string
	DefaultTopicQueueNums int32
	QueueID               int32
	SysFlag               int32
	BornTimestamp         int64 // ms
	Flag                  int32
	Properties            string
	ReconsumeTimes        int32
	UnitMode              bool
	BornHost              string // ip:port
	StoreHost             string // ip:port
	StoreTimestamp        int64  // ms
}

func (x *PushReplyHeader) fields(f *form) {
	f.text("bornHost", &x.BornHost)
	f.int64("bornTimestamp", &x.BornTimestamp)
	f.text("defaultTopic", &x.DefaultTopic)
	f.int32("defaultTopicQueueNums", &x.DefaultTopicQueueNums)
	f.int32("flag", &x.Flag)
	f.text("producerGroup", &x.ProducerGroup)
	f.optText("properties", &x.Properties)
	f.int32("queueId", &x.QueueID)
	f.defInt32("reconsumeTimes", &x.ReconsumeTimes)
	f.text("storeHost", &x.StoreHost)
	f.int64("storeTimestamp", &x.StoreTimestamp)
	f.int32("sysFlag", &x.SysFlag)
	f.text("topic", &x.Topic)
	f.flag("unitMode", &x.UnitMode)
}

// RecallHeader is RECALL_MESSAGE, of RocketMQ 5.3 and later.
type RecallHeader struct {
	ProducerGroup string
	Topic         string
	RecallHandle  string // from the answer to the send
}

func (x *RecallHeader) fields(f *form) {
	f.optText("producerGroup", &x.ProducerGroup)
	f.text("recallHandle", &x.RecallHandle)
	f.text("topic", &x.Topic)
}

// RecallReply answers RECALL_MESSAGE.
type RecallReply struct{ MsgID string } // UNIQ_KEY of the message

func (x *RecallReply) fields(f *form) { f.text("msgId", &x.MsgID) }
