package wire

import (
	"github.com/weirmq/weir/core/fastjson"
	"github.com/weirmq/weir/core/message"
)

// AppendBody appends v, one of the body structs of this package, to dst in the form that every known client reads.
func AppendBody(dst []byte, v any) ([]byte, error) { return fastjson.Append(dst, v) }

// ParseBody reads a body into v, a pointer to one of the body structs of this package, as tolerantly as Java does. What the
// body doesn't name gets the struct's defaults. An empty body is an error, as it is in Java. Errors are *message.Error with
// SystemError. Nothing in v is a view of data.
func ParseBody(data []byte, v any) error {
	if len(data) == 0 {
		return &message.Error{Code: message.SystemError, Remark: "the body is missing"}
	}
	if d, ok := v.(fastjson.Defaulter); ok {
		d.SetDefaults()
	}
	if err := fastjson.Unmarshal(data, v); err != nil {
		return &message.Error{Code: message.SystemError, Remark: "the body can't be read: " + err.Error()}
	}
	return nil
}

// MessageQueue names one queue of one broker. As a key of a map it is written as a bare object, which is not JSON but what
// Java and the Go client expect; its members must stay in alphabetical order, the Go client cuts the text.
type MessageQueue struct {
	BrokerName string `json:"brokerName"`
	QueueID    int32  `json:"queueId"`
	Topic      string `json:"topic"`
}

// DataVersion counts the changes of a table.
type DataVersion struct {
	Counter   int64 `json:"counter"`
	Timestamp int64 `json:"timestamp"` // ms
}
