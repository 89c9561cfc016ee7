package bench

import (
	"fmt"

	"github.com/weirmq/weir/sdk/client"
	"github.com/weirmq/weir/sdk/wire"
)

// Returned is a stored message that a consumer gives back.
type Returned struct {
	Addr     string // of its broker
	Topic    string
	Position int64
	ID       string
}

// returns makes a request for each of the messages of one broker. They are sent in turn, over and over.
func (p *Produce) returns(addr string) ([]request, error) {
	var out []request
	for i := range p.Returned {
		m := &p.Returned[i]
		if m.Addr != addr {
			continue
		}
		var h wire.Header
		h.Request(wire.CodeConsumerSendMsgBack, 0)
		h.Type = p.headerType()
		h.Write(&wire.SendBackHeader{Offset: m.Position, Group: p.Group, DelayLevel: int32(p.DelayLevel), OriginMsgID: m.ID, OriginTopic: m.Topic,
			HasMaxReconsumeTimes: true, MaxReconsumeTimes: 16})
		f, err := client.NewFrame(&h, nil)
		if err != nil {
			return nil, fmt.Errorf("make a send-back: %w", err)
		}
		out = append(out, request{frame: f})
	}
	return out, nil
}
