package topic

import (
	"strings"

	"github.com/weirmq/weir/core/fastjson"
	"github.com/weirmq/weir/core/transport"
)

// The files are those of RocketMQ 4.9.7 in fastjson's dialect, with tabs and members in alphabetical order. Reading takes
// everything that Java takes and skips members that a newer version added. The names and defaults must not change.
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

type fileVersion struct {
	Counter   int64 `json:"counter"`
	Timestamp int64 `json:"timestamp"` // ms
}

type topicsFile struct {
	Version fileVersion          `json:"dataVersion"`
	Table   map[string]fileTopic `json:"topicConfigTable"`
}

type fileTopic struct {
	Order       bool   `json:"order"`
	Perm        int32  `json:"perm"`
	ReadQueues  int32  `json:"readQueueNums"`
	FilterType  string `json:"topicFilterType"`
	Name        string `json:"topicName"`
	SysFlag     int32  `json:"topicSysFlag"`
	WriteQueues int32  `json:"writeQueueNums"`
}

// SetDefaults sets what a new TopicConfig of Java's has.
func (f *fileTopic) SetDefaults() {
	*f = fileTopic{Perm: permRW, ReadQueues: 16, WriteQueues: 16, FilterType: SingleTag}
}

type groupsFile struct {
	Version fileVersion          `json:"dataVersion"`
	Table   map[string]fileGroup `json:"subscriptionGroupTable"`
}

type fileGroup struct {
	BrokerID                     int64  `json:"brokerId"`
	ConsumeBroadcastEnable       bool   `json:"consumeBroadcastEnable"`
	ConsumeEnable                bool   `json:"consumeEnable"`
	ConsumeFromMinEnable         bool   `json:"consumeFromMinEnable"`
	Name                         string `json:"groupName"`
	NotifyConsumerIDsChanged     bool   `json:"notifyConsumerIdsChangedEnable"`
	RetryMaxTimes                int32  `json:"retryMaxTimes"`
	RetryQueues                  int32  `json:"retryQueueNums"`
	WhichBrokerWhenConsumeSlowly int64  `json:"whichBrokerWhenConsumeSlowly"`
}

// SetDefaults sets what a new SubscriptionGroupConfig of Java's has.
func (f *fileGroup) SetDefaults() { *f = groupToFile(DefaultGroup("")) }

func encodeTopics(s *state[transport.TopicConfig]) ([]byte, error) {
	f := topicsFile{Version: fileVersion(s.version), Table: make(map[string]fileTopic, len(s.values))}
	for name, c := range s.values {
		f.Table[name] = fileTopic{
			Order: c.Order, Perm: c.Perm, ReadQueues: c.ReadQueues, FilterType: c.FilterType, Name: c.Name,
			SysFlag: c.SysFlag, WriteQueues: c.WriteQueues,
		}
	}
	return fastjson.AppendFile(nil, &f)
}

// decodeTopics adds what a file says to s; nothing if it can't be read.
func decodeTopics(data []byte, s *state[transport.TopicConfig]) error {
	var f topicsFile
	if err := fastjson.Unmarshal(data, &f); err != nil {
		return err
	}
	s.version = transport.DataVersion(f.Version)
	for name, t := range f.Table {
		s.values[name] = &transport.TopicConfig{
			Name: name, ReadQueues: t.ReadQueues, WriteQueues: t.WriteQueues, Perm: t.Perm,
			FilterType: filterType(t.FilterType), SysFlag: t.SysFlag, Order: t.Order,
		}
	}
	return nil
}

// filterType reads Java's enum: by name in any case, or by ordinal.
func filterType(s string) string {
	if strings.EqualFold(s, MultiTag) || s == "1" {
		return MultiTag
	}
	return SingleTag
}

func encodeGroups(s *state[transport.GroupConfig]) ([]byte, error) {
	f := groupsFile{Version: fileVersion(s.version), Table: make(map[string]fileGroup, len(s.values))}
	for name, c := range s.values {
		f.Table[name] = groupToFile(*c)
	}
	return fastjson.AppendFile(nil, &f)
}

func groupToFile(c transport.GroupConfig) fileGroup {
	return fileGroup{
		BrokerID:                     c.BrokerID,
		ConsumeBroadcastEnable:       c.ConsumeBroadcastEnable,
		ConsumeEnable:                c.ConsumeEnable,
		ConsumeFromMinEnable:         c.ConsumeFromMinEnable,
		Name:                         c.Name,
		NotifyConsumerIDsChanged:     c.NotifyConsumerIDsChanged,
		RetryMaxTimes:                c.RetryMaxTimes,
		RetryQueues:                  c.RetryQueues,
		WhichBrokerWhenConsumeSlowly: c.WhichBrokerWhenConsumeSlowly,
	}
}

// decodeGroups adds what a file says to s; nothing if it can't be read.
func decodeGroups(data []byte, s *state[transport.GroupConfig]) error {
	var f groupsFile
	if err := fastjson.Unmarshal(data, &f); err != nil {
		return err
	}
	s.version = transport.DataVersion(f.Version)
	for name, g := range f.Table {
		s.values[name] = &transport.GroupConfig{
			Name:                         name,
			ConsumeEnable:                g.ConsumeEnable,
			ConsumeFromMinEnable:         g.ConsumeFromMinEnable,
			ConsumeBroadcastEnable:       g.ConsumeBroadcastEnable,
			RetryQueues:                  g.RetryQueues,
			RetryMaxTimes:                g.RetryMaxTimes,
			BrokerID:                     g.BrokerID,
			WhichBrokerWhenConsumeSlowly: g.WhichBrokerWhenConsumeSlowly,
			NotifyConsumerIDsChanged:     g.NotifyConsumerIDsChanged,
		}
	}
	return nil
}
