package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/weirmq/weir/core/message"
)

// TopicStats is the reply to GET_TOPIC_STATS_INFO.
type TopicStats struct {
	OffsetTable map[MessageQueue]TopicOffset `json:"offsetTable"`
}

// TopicOffset is the range of one queue.
type TopicOffset struct {
	LastUpdateTimestamp int64 `json:"lastUpdateTimestamp"` // ms; store time of the last message, 0 if there is none
	MaxOffset           int64 `json:"maxOffset"`
	MinOffset           int64 `json:"minOffset"`
}

// ConsumeStats is the reply to GET_CONSUME_STATS.
type ConsumeStats struct {
	ConsumeTps  float64                        `json:"consumeTps"`
	OffsetTable map[MessageQueue]ConsumeOffset `json:"offsetTable"`
}

// ConsumeOffset is how far a group is with one queue.
type ConsumeOffset struct {
	BrokerOffset   int64 `json:"brokerOffset"`
	ConsumerOffset int64 `json:"consumerOffset"`
	LastTimestamp  int64 `json:"lastTimestamp"` // ms; store time of the last message consumed, 0 if there is none
}

// ConsumeStatsList is the reply to GET_BROKER_CONSUME_STATS: for each group a map of one, its stats by topic.
type ConsumeStatsList struct {
	BrokerAddr       string                      `json:"brokerAddr,omitempty"`
	ConsumeStatsList []map[string][]ConsumeStats `json:"consumeStatsList"`
	TotalDiff        int64                       `json:"totalDiff"`
}

// Connection is one client's connection.
type Connection struct {
	ClientAddr string `json:"clientAddr"` // ip:port
	ClientID   string `json:"clientId"`
	Language   string `json:"language,omitempty"`
	Version    int32  `json:"version"`
}

// ConsumerConnection is the reply to GET_CONSUMER_CONNECTION_LIST.
type ConsumerConnection struct {
	ConnectionSet     []Connection                `json:"connectionSet"`
	ConsumeFromWhere  ConsumeFromWhere            `json:"consumeFromWhere,omitempty"`
	ConsumeType       ConsumeType                 `json:"consumeType,omitempty"`
	MessageModel      MessageModel                `json:"messageModel,omitempty"`
	SubscriptionTable map[string]SubscriptionData `json:"subscriptionTable"` // by topic
}

// ProducerConnection is the reply to GET_PRODUCER_CONNECTION_LIST.
type ProducerConnection struct {
	ConnectionSet []Connection `json:"connectionSet"`
}

// ProducerTable is the reply to GET_ALL_PRODUCER_INFO, by group.
type ProducerTable struct {
	Data map[string][]ProducerInfo `json:"data"`
}

// ProducerInfo is one producer's connection.
type ProducerInfo struct {
	ClientID            string `json:"clientId"`
	Language            string `json:"language,omitempty"`
	LastUpdateTimestamp int64  `json:"lastUpdateTimestamp"` // ms
	RemoteIP            string `json:"remoteIP"`            // /ip:port
	Version             int32  `json:"version"`
}

// GroupList is the reply to QUERY_TOPIC_CONSUME_BY_WHO.
type GroupList struct {
	GroupList []string `json:"groupList"`
}

// CorrectionOffsets is the reply to QUERY_CORRECTION_OFFSET, by queue.
type CorrectionOffsets struct {
	CorrectionOffsets map[int32]int64 `json:"correctionOffsets"`
}

// BrokerStats is the reply to VIEW_BROKER_STATS_DATA.
type BrokerStats struct {
	StatsDay    StatsItem `json:"statsDay"`
	StatsHour   StatsItem `json:"statsHour"`
	StatsMinute StatsItem `json:"statsMinute"`
}

// StatsItem is one counter over one period.
type StatsItem struct {
	Avgpt float64 `json:"avgpt"` // average of one count
	Sum   int64   `json:"sum"`
	Tps   float64 `json:"tps"`
}

// TimeSpans is the reply to QUERY_CONSUME_TIME_SPAN.
type TimeSpans struct {
	ConsumeTimeSpanSet []TimeSpan `json:"consumeTimeSpanSet"`
}

// TimeSpan is the age of what one queue holds and of what a group consumed of it; times in ms. The texts say the same for people.
type TimeSpan struct {
	ConsumeTimeStamp    int64        `json:"consumeTimeStamp"`
	ConsumeTimeStampStr string       `json:"consumeTimeStampStr"`
	DelayTime           int64        `json:"delayTime"` // ms since the next unconsumed message was stored, 0 if there is none
	MaxTimeStamp        int64        `json:"maxTimeStamp"`
	MaxTimeStampStr     string       `json:"maxTimeStampStr"`
	MessageQueue        MessageQueue `json:"messageQueue"`
	MinTimeStamp        int64        `json:"minTimeStamp"`
	MinTimeStampStr     string       `json:"minTimeStampStr"`
}

// FillTexts sets the texts from the times, in the time zone of the broker.
func (t *TimeSpan) FillTexts(zone *time.Location) {
	text := func(ms int64) string {
		at := time.UnixMilli(ms).In(zone)
		return at.Format("2006-01-02#15:04:05:") + at.Format(".000")[1:]
	}
	t.ConsumeTimeStampStr, t.MaxTimeStampStr, t.MinTimeStampStr = text(t.ConsumeTimeStamp), text(t.MaxTimeStamp), text(t.MinTimeStamp)
}

// ConsumeQueueReply is the reply to QUERY_CONSUME_QUEUE.
type ConsumeQueueReply struct {
	FilterData       string              `json:"filterData,omitempty"`
	MaxQueueIndex    int64               `json:"maxQueueIndex"`
	MinQueueIndex    int64               `json:"minQueueIndex"`
	QueueData        []ConsumeQueueEntry `json:"queueData"`
	SubscriptionData *SubscriptionData   `json:"subscriptionData,omitempty"`
}

// ConsumeQueueEntry is one entry of a consume queue.
type ConsumeQueueEntry struct {
	BitMap         string `json:"bitMap,omitempty"`
	Eval           bool   `json:"eval"`
	ExtendDataJSON string `json:"extendDataJson,omitempty"`
	Msg            string `json:"msg,omitempty"`
	PhysicOffset   int64  `json:"physicOffset"`
	PhysicSize     int32  `json:"physicSize"`
	TagsCode       int64  `json:"tagsCode"`
}

// SetUnit sets what the broker shows of an entry's unit in the extension file: the unit as JSON, and the bits of its
// bitmap as text, the highest first, with a line's end behind every eighth byte and the last.
func (e *ConsumeQueueEntry) SetUnit(u message.ExtUnit) {
	shown := struct {
		FilterBitMap []byte `json:"filterBitMap,omitempty"`
		MsgStoreTime int64  `json:"msgStoreTime"`
		Size         int    `json:"size"`
		TagsCode     int64  `json:"tagsCode"`
	}{u.Bitmap, u.StoreTimestamp, message.MinExtUnitSize + len(u.Bitmap), u.TagsCode}
	text, err := json.Marshal(shown)
	if err != nil {
		panic(err) // there is nothing in it that can't be written
	}
	e.ExtendDataJSON = string(text)
	var bits strings.Builder
	for i := len(u.Bitmap) - 1; i >= 0; i-- {
		fmt.Fprintf(&bits, "%08b", u.Bitmap[i])
		if i%8 == 0 {
			bits.WriteByte('\n')
		}
	}
	e.BitMap = bits.String()
}
