package filtertest

import (
	"net/netip"
	"slices"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
)

// shape says how much of each message a batch holds.
type shape bool

const (
	whole      shape = false
	onlyNeeded shape = true // what the program's Needs don't name is cut away
)

// batch makes a batch of fresh memory.
func batch(messages []Message, needs filter.Needs, how shape) *filter.Batch {
	b := &filter.Batch{Topic: "T", TagsCodes: make([]int64, len(messages))}
	if needs.Record {
		b.Records = make([][]byte, len(messages))
	}
	for i, m := range messages {
		if m.Tag != "" {
			b.TagsCodes[i] = message.TagsCode(m.Tag)
		}
		if m.ExtAddress {
			b.TagsCodes[i] = message.MaxExtAddress - int64(i)
		}
		if needs.Record && !m.NoRecord {
			b.Records[i] = record(m, needs, how)
		}
	}
	return b
}

// record encodes m as it would lie in the commit log.
func record(m Message, needs filter.Needs, how shape) []byte {
	host := netip.MustParseAddrPort("127.0.0.1:10911")
	msg := message.Message{Topic: "T", BornHost: host, StoreHost: host, Body: m.Body}
	add := func(name, value string) {
		if how == onlyNeeded && needs.Properties != nil && !slices.Contains(needs.Properties, name) {
			return
		}
		msg.Properties = message.AppendProperty(msg.Properties, name, value)
	}
	for i := 0; i+1 < len(m.Properties); i += 2 {
		add(m.Properties[i], m.Properties[i+1])
	}
	if m.Tag != "" {
		add(message.PropTags, m.Tag)
	}
	if how == onlyNeeded {
		switch {
		case !needs.Body:
			msg.Body = nil
		case needs.BodyMax > 0 && len(msg.Body) > needs.BodyMax:
			msg.Body = msg.Body[:needs.BodyMax]
		}
	}
	b, err := message.AppendRecord(nil, &msg)
	if err != nil {
		panic("filtertest: a case's message can't be stored: " + err.Error())
	}
	return b
}
