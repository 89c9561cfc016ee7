package schedule

import (
	"math"

	"github.com/weirmq/weir/core/message"
)

// CheckRecall says why a producer may not recall h's message: the handle is of another topic or broker, or its time has come or is over the limit. now
// is ms since 1970, limit ms. The error is a *message.Error with IllegalOperation and RocketMQ 5's remark.
func CheckRecall(h *message.RecallHandle, topic, broker string, now, limit int64) error {
	switch {
	case h.Topic != topic:
		return &message.Error{Code: message.IllegalOperation, Remark: "recall failed, topic not match"}
	case h.Broker != broker:
		return &message.Error{Code: message.IllegalOperation, Remark: "recall failed, broker service not available"}
	case h.Time <= now || h.Time-1 == now, h.Time-now > min(limit, math.MaxInt64-1)+1: // the message's time is one less
		return &message.Error{Code: message.IllegalOperation, Remark: "recall failed, timestamp invalid"}
	}
	return nil
}

// Tombstone appends to dst the properties of the record that recalls h's message when it lies in TimerQueue: it has the message's time, so that whoever
// reads the queue comes upon it not later.
func Tombstone(dst message.Properties, h *message.RecallHandle, group string) message.Properties {
	asked := h.AppendTombstone(nil)
	if message.PropertyLegal(message.PropProducerGroup, group) {
		asked = message.AppendProperty(asked, message.PropProducerGroup, group)
	}
	return RedirectTimer(dst, asked, h.Time-1, h.Topic, 0)
}
