package schedule

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"

	"github.com/weirmq/weir/core/message"
)

// RecallHandle names a timed message that can be recalled while it waits. Producers get its text in the answer to a send.
type RecallHandle struct {
	Topic  string
	Broker string
	Time   int64  // ms since 1970: TIMER_OUT_MS + 1, as RocketMQ 5 has it; -1 when it is no number
	Key    string // UNIQ_KEY of the message
}

const (
	recallVersion = "v1"
	// recallMax bounds the text of a handle, in bytes.
	recallMax = 4 << 10
)

// String returns the handle's text: URL-safe base64 of its fields, separated by blanks.
func (h *RecallHandle) String() string {
	return base64.URLEncoding.EncodeToString([]byte(strings.Join([]string{recallVersion, h.Topic, h.Broker, strconv.FormatInt(h.Time, 10), h.Key}, " ")))
}

// ParseRecallHandle reads the text of a handle, with or without padding. The error is a *message.Error with IllegalOperation.
func ParseRecallHandle(text string) (h RecallHandle, err error) {
	invalid := &message.Error{Code: message.IllegalOperation, Remark: "recall handle is invalid"}
	if len(text) > recallMax || strings.ContainsAny(text, "\r\n") {
		return h, invalid
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil {
		return h, invalid
	}
	items := strings.SplitN(string(raw), " ", 5) // a key may have blanks; RocketMQ would lose what is behind the first
	if len(items) < 5 || items[0] != recallVersion || items[1] == "" || items[4] == "" {
		return h, invalid
	}
	h = RecallHandle{Topic: items[1], Broker: items[2], Time: -1, Key: items[4]}
	if n, err := strconv.ParseInt(items[3], 10, 64); err == nil {
		h.Time = n
	}
	if !message.PropertyLegal(message.PropTimerDelKey, h.tombstoneKey()) {
		return RecallHandle{}, invalid
	}
	return h, nil
}

// Check says why a producer may not recall h's message: the handle is of another topic or broker, or its time has come or is over the limit. now
// is ms since 1970, limit ms. The error is a *message.Error with IllegalOperation and RocketMQ 5's remark.
func (h *RecallHandle) Check(topic, broker string, now, limit int64) error {
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

func (h *RecallHandle) tombstoneKey() string { return h.Topic + "+" + h.Key }

// Tombstone appends to dst the properties of the record that recalls h's message when it lies in TimerQueue, as RocketMQ 5 stores it there: its time
// is the handle's, so a broker that reads the queue comes upon it not later than upon the message's time.
func (h *RecallHandle) Tombstone(dst message.Properties, group string) message.Properties {
	asked := message.AppendProperty(nil, message.PropTags, "_RECALL_TAG_")
	asked = message.AppendProperty(asked, message.PropTimerDelKey, h.tombstoneKey())
	asked = message.AppendProperty(asked, message.PropUniqKey, h.Key)
	asked = message.AppendProperty(asked, message.PropTimerDeliverMS, strconv.FormatInt(h.Time, 10))
	if message.PropertyLegal(message.PropProducerGroup, group) {
		asked = message.AppendProperty(asked, message.PropProducerGroup, group)
	}
	return RedirectTimer(dst, asked, h.Time-1, h.Topic, 0)
}
