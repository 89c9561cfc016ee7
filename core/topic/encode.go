package topic

import (
	"encoding/json"
	"strconv"

	"github.com/weirmq/weir/core/transport"
)

// The files as RocketMQ 4.9.7 writes them (fastjson, pretty): tabs, members in alphabetical order, no blanks after
// colons, no newline at the end. Here the entries are sorted, there they come in hash order.
//
//	{
//		"dataVersion":{
//			"counter":3,
//			"timestamp":1700000000000
//		},
//		"topicConfigTable":{
//			"T":{
//				"order":false,
//				...

func encodeTopics(s *state[transport.TopicConfig]) []byte {
	return encode(s, "topicConfigTable", func(b []byte, c *transport.TopicConfig) []byte {
		b = appendBool(b, "order", c.Order)
		b = appendInt(b, "perm", int64(c.Perm))
		b = appendInt(b, "readQueueNums", int64(c.ReadQueues))
		b = appendText(b, "topicFilterType", c.FilterType)
		b = appendText(b, "topicName", c.Name)
		b = appendInt(b, "topicSysFlag", int64(c.SysFlag))
		return appendInt(b, "writeQueueNums", int64(c.WriteQueues))
	})
}

func encodeGroups(s *state[transport.GroupConfig]) []byte {
	return encode(s, "subscriptionGroupTable", func(b []byte, c *transport.GroupConfig) []byte {
		b = appendInt(b, "brokerId", c.BrokerID)
		b = appendBool(b, "consumeBroadcastEnable", c.ConsumeBroadcastEnable)
		b = appendBool(b, "consumeEnable", c.ConsumeEnable)
		b = appendBool(b, "consumeFromMinEnable", c.ConsumeFromMinEnable)
		b = appendText(b, "groupName", c.Name)
		b = appendBool(b, "notifyConsumerIdsChangedEnable", c.NotifyConsumerIDsChanged)
		b = appendInt(b, "retryMaxTimes", int64(c.RetryMaxTimes))
		b = appendInt(b, "retryQueueNums", int64(c.RetryQueues))
		return appendInt(b, "whichBrokerWhenConsumeSlowly", c.WhichBrokerWhenConsumeSlowly)
	})
}

// encode writes a table; members appends the members of one entry, each with a comma behind it.
func encode[V any](s *state[V], name string, members func([]byte, *V) []byte) []byte {
	b := make([]byte, 0, 128+256*len(s.values))
	b = append(b, "{\n\t\"dataVersion\":{\n\t\t\"counter\":"...)
	b = strconv.AppendInt(b, s.version.Counter, 10)
	b = append(b, ",\n\t\t\"timestamp\":"...)
	b = strconv.AppendInt(b, s.version.Timestamp, 10)
	b = append(b, "\n\t},\n\t"...)
	b = appendQuoted(b, name)
	b = append(b, ":{"...)
	for i, key := range sortedNames(s.values) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, "\n\t\t"...)
		b = appendQuoted(b, key)
		b = append(b, ":{"...)
		b = members(b, s.values[key])
		b = append(b[:len(b)-1], "\n\t\t}"...)
	}
	return append(b, "\n\t}\n}"...)
}

func appendInt(b []byte, key string, v int64) []byte {
	return append(strconv.AppendInt(appendKey(b, key), v, 10), ',')
}

func appendBool(b []byte, key string, v bool) []byte {
	return append(strconv.AppendBool(appendKey(b, key), v), ',')
}

func appendText(b []byte, key, v string) []byte {
	return append(appendQuoted(appendKey(b, key), v), ',')
}

func appendKey(b []byte, key string) []byte {
	b = append(b, "\n\t\t\t\""...)
	b = append(b, key...)
	return append(b, "\":"...)
}

func appendQuoted(b []byte, s string) []byte {
	q, _ := json.Marshal(s)
	return append(b, q...)
}
