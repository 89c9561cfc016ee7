package message

import (
	"encoding/base64"
	"strconv"
	"strings"
)

// RecallHandle names a message that waits for a time of its own, so that it can be recalled. Producers get its text in the answer to a send. The format is
// RocketMQ 5.3's.
type RecallHandle struct {
	Topic  string
	Broker string
	Time   int64  // ms since 1970: TIMER_OUT_MS + 1, as RocketMQ has it; -1 when it is no number
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

// ParseRecallHandle reads the text of a handle, with or without padding. The error is an *Error with IllegalOperation.
func ParseRecallHandle(text string) (h RecallHandle, err error) {
	invalid := &Error{Code: IllegalOperation, Remark: "recall handle is invalid"}
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
	if !PropertyLegal(PropTimerDelKey, h.tombstoneKey()) {
		return RecallHandle{}, invalid
	}
	return h, nil
}

func (h *RecallHandle) tombstoneKey() string { return h.Topic + "+" + h.Key }

// AppendTombstone appends to dst the properties by which a record recalls h's message, as RocketMQ 5 has them.
func (h *RecallHandle) AppendTombstone(dst Properties) Properties {
	dst = AppendProperty(dst, PropTags, "_RECALL_TAG_")
	dst = AppendProperty(dst, PropTimerDelKey, h.tombstoneKey())
	dst = AppendProperty(dst, PropUniqKey, h.Key)
	return AppendProperty(dst, PropTimerDeliverMS, strconv.FormatInt(h.Time, 10))
}
