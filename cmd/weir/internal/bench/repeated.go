package bench

import (
	"fmt"
	"math"

	"github.com/weirmq/weir/sdk/client"
	"github.com/weirmq/weir/sdk/wire"
)

// Stored is a stored message that requests are about.
type Stored struct {
	Addr     string // of its broker
	Topic    string
	Position int64
	ID       string
}

// repeated makes a request for each of the messages of one broker. They are sent in turn, over and over.
func (p *Produce) repeated(addr string) (out []request, err error) {
	for _, list := range []struct {
		messages []Stored
		code     int32
		fields   func(*Stored) wire.Fields
	}{{p.Returned, wire.CodeConsumerSendMsgBack, p.sendBack}, {p.Queried, wire.CodeQueryMessage, queryByID}} {
		for i := range list.messages {
			m := &list.messages[i]
			if m.Addr != addr {
				continue
			}
			var h wire.Header
			h.Request(list.code, 0)
			h.Type = p.headerType()
			h.Write(list.fields(m))
			f, err := client.NewFrame(&h, nil)
			if err != nil {
				return nil, fmt.Errorf("make a request about a message: %w", err)
			}
			out = append(out, request{frame: f})
		}
	}
	return out, nil
}

func (p *Produce) sendBack(m *Stored) wire.Fields {
	return &wire.SendBackHeader{Offset: m.Position, Group: p.Group, DelayLevel: int32(p.DelayLevel), OriginMsgID: m.ID, OriginTopic: m.Topic,
		HasMaxReconsumeTimes: true, MaxReconsumeTimes: 16}
}

func queryByID(m *Stored) wire.Fields {
	return &wire.QueryMessageHeader{Topic: m.Topic, Key: m.ID, MaxNum: 32, EndTimestamp: math.MaxInt64, UniqueKey: true}
}
