package topic

import (
	"encoding/json"

	"github.com/weirmq/weir/core/transport"
)

type topicJSON struct {
	DataVersion struct{ Counter, Timestamp int64 }
	Table       map[string]struct {
		Order           bool
		Perm            *int32
		ReadQueueNums   *int32
		WriteQueueNums  *int32
		TopicFilterType string
		TopicSysFlag    int32
	} `json:"topicConfigTable"`
}

func decodeTopics(data []byte, s *state[transport.TopicConfig]) error {
	var f topicJSON
	if err := json.Unmarshal(data, &f); err != nil {
		return err
	}
	for name, j := range f.Table {
		c := plain(name, 16, permRW)
		if j.Perm != nil {
			c.Perm = *j.Perm
		}
		if j.ReadQueueNums != nil {
			c.ReadQueues = *j.ReadQueueNums
		}
		if j.WriteQueueNums != nil {
			c.WriteQueues = *j.WriteQueueNums
		}
		if j.TopicFilterType != "" {
			c.FilterType = j.TopicFilterType
		}
		c.SysFlag, c.Order = j.TopicSysFlag, j.Order
		s.values[name] = c
	}
	s.version = transport.DataVersion(f.DataVersion)
	return nil
}

type groupJSON struct {
	DataVersion struct{ Counter, Timestamp int64 }
	Table       map[string]struct {
		BrokerID                       *int64
		ConsumeBroadcastEnable         *bool
		ConsumeEnable                  *bool
		ConsumeFromMinEnable           *bool
		NotifyConsumerIDsChangedEnable *bool
		RetryMaxTimes                  *int32
		RetryQueueNums                 *int32
		WhichBrokerWhenConsumeSlowly   *int64
	} `json:"subscriptionGroupTable"`
}

func decodeGroups(data []byte, s *state[transport.GroupConfig]) error {
	var f groupJSON
	if err := json.Unmarshal(data, &f); err != nil {
		return err
	}
	for name, j := range f.Table {
		c := DefaultGroup(name)
		set(&c.BrokerID, j.BrokerID)
		set(&c.ConsumeBroadcastEnable, j.ConsumeBroadcastEnable)
		set(&c.ConsumeEnable, j.ConsumeEnable)
		set(&c.ConsumeFromMinEnable, j.ConsumeFromMinEnable)
		set(&c.NotifyConsumerIDsChanged, j.NotifyConsumerIDsChangedEnable)
		set(&c.RetryMaxTimes, j.RetryMaxTimes)
		set(&c.RetryQueues, j.RetryQueueNums)
		set(&c.WhichBrokerWhenConsumeSlowly, j.WhichBrokerWhenConsumeSlowly)
		s.values[name] = &c
	}
	s.version = transport.DataVersion(f.DataVersion)
	return nil
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}
