package wire

// SendHeader is the ext fields of a send: SEND_MESSAGE and SEND_REPLY_MESSAGE with long keys, SEND_MESSAGE_V2,
// SEND_BATCH_MESSAGE and SEND_REPLY_MESSAGE_V2 with keys of one letter. Its texts are views of the frame.
type SendHeader struct {
	ProducerGroup         []byte // producerGroup, a
	Topic                 []byte // topic, b
	DefaultTopic          []byte // defaultTopic, c: whose settings an unknown topic gets
	DefaultTopicQueueNums int32  // defaultTopicQueueNums, d
	QueueID               int32  // queueId, e; negative: the broker chooses
	SysFlag               int32  // sysFlag, f
	BornTimestamp         int64  // bornTimestamp, g; ms
	Flag                  int32  // flag, h: the user's
	Properties            []byte // properties, i
	ReconsumeTimes        int32  // reconsumeTimes, j
	UnitMode              bool   // unitMode, k
	MaxReconsumeTimes     int32  // maxReconsumeTimes, l; only if HasMaxReconsumeTimes
	HasMaxReconsumeTimes  bool
	Batch                 bool   // batch, m: the body is a batch, whatever the request code
	BrokerName            []byte // bname, n
}

// Places of the required fields in a set of those seen, and their names.
const (
	seenGroup = 1 << iota
	seenTopic
	seenDefaultTopic
	seenDefaultQueues
	seenQueueID
	seenSysFlag
	seenBorn
	seenFlag
	seenAllOfSend = 1<<iota - 1
)

func sendFieldName(bit int, v2 bool) string {
	names := [...]string{"producerGroup", "topic", "defaultTopic", "defaultTopicQueueNums", "queueId", "sysFlag", "bornTimestamp", "flag"}
	if v2 {
		return string(rune('a'+bit)) + " (" + names[bit] + ")"
	}
	return names[bit]
}

// SendCodeV2 says whether the fields of a request with this code have the one-letter keys.
func SendCodeV2(code int32) bool {
	return code == CodeSendMessageV2 || code == CodeSendBatchMessage || code == CodeSendReplyMessageV2
}

// Decode reads the fields in one pass over h. It takes long and short keys alike, the Go client mixes codes and keys. It doesn't
// allocate but for an error, which is a *message.Error that names the field.
func (s *SendHeader) Decode(h *Header) error {
	*s = SendHeader{}
	seen := 0
	for i := range h.Ext {
		f := &h.Ext[i]
		if f.Value == nil {
			continue
		}
		key := shortSendKey(f.Key)
		ok := true
		switch key {
		case 'a':
			s.ProducerGroup, seen = f.Value, seen|seenGroup
		case 'b':
			s.Topic, seen = f.Value, seen|seenTopic
		case 'c':
			s.DefaultTopic, seen = f.Value, seen|seenDefaultTopic
		case 'd':
			s.DefaultTopicQueueNums, ok = int32Of(f.Value)
			seen |= seenDefaultQueues
		case 'e':
			s.QueueID, ok = int32Of(f.Value)
			seen |= seenQueueID
		case 'f':
			s.SysFlag, ok = int32Of(f.Value)
			seen |= seenSysFlag
		case 'g':
			s.BornTimestamp, ok = parseInt(f.Value, 64)
			seen |= seenBorn
		case 'h':
			s.Flag, ok = int32Of(f.Value)
			seen |= seenFlag
		case 'i':
			s.Properties = f.Value
		case 'j':
			s.ReconsumeTimes, ok = optInt32Of(f.Value)
		case 'k':
			s.UnitMode = isTrue(f.Value)
		case 'l':
			s.MaxReconsumeTimes, ok = optInt32Of(f.Value)
			s.HasMaxReconsumeTimes = len(f.Value) > 0
		case 'm':
			s.Batch = isTrue(f.Value)
		case 'n':
			s.BrokerName = f.Value
		}
		if !ok {
			return unparsable(string(f.Key), f.Value, "an integer")
		}
	}
	for bit := 0; seen != seenAllOfSend; bit++ {
		if seen&(1<<bit) == 0 {
			return missing(sendFieldName(bit, SendCodeV2(h.Code)))
		}
	}
	return nil
}

func int32Of(b []byte) (int32, bool) {
	n, ok := parseInt(b, 32)
	return int32(n), ok
}

func optInt32Of(b []byte) (int32, bool) {
	if len(b) == 0 {
		return 0, true
	}
	return int32Of(b)
}

// shortSendKey returns the one-letter key for either form, 0 for a key that isn't known.
func shortSendKey(key []byte) byte {
	if len(key) == 1 {
		return key[0]
	}
	switch string(key) {
	case "producerGroup":
		return 'a'
	case "topic":
		return 'b'
	case "defaultTopic":
		return 'c'
	case "defaultTopicQueueNums":
		return 'd'
	case "queueId":
		return 'e'
	case "sysFlag":
		return 'f'
	case "bornTimestamp":
		return 'g'
	case "flag":
		return 'h'
	case "properties":
		return 'i'
	case "reconsumeTimes":
		return 'j'
	case "unitMode":
		return 'k'
	case "maxReconsumeTimes":
		return 'l'
	case "batch":
		return 'm'
	case "bname":
		return 'n'
	}
	return 0
}

// Encode adds the fields to h, with the keys that h.Code calls for. The texts are copied.
func (s *SendHeader) Encode(h *Header) {
	if !SendCodeV2(h.Code) {
		s.encodeLong(h)
		return
	}
	h.SetBytes("a", s.ProducerGroup)
	h.SetBytes("b", s.Topic)
	h.SetBytes("c", s.DefaultTopic)
	h.SetInt("d", int64(s.DefaultTopicQueueNums))
	h.SetInt("e", int64(s.QueueID))
	h.SetInt("f", int64(s.SysFlag))
	h.SetInt("g", s.BornTimestamp)
	h.SetInt("h", int64(s.Flag))
	h.SetBytes("i", s.Properties)
	h.SetInt("j", int64(s.ReconsumeTimes))
	h.SetBool("k", s.UnitMode)
	if s.HasMaxReconsumeTimes {
		h.SetInt("l", int64(s.MaxReconsumeTimes))
	}
	h.SetBool("m", s.Batch)
	if len(s.BrokerName) > 0 {
		h.SetBytes("n", s.BrokerName)
	}
}

func (s *SendHeader) encodeLong(h *Header) {
	h.SetBool("batch", s.Batch)
	if len(s.BrokerName) > 0 {
		h.SetBytes("bname", s.BrokerName)
	}
	h.SetInt("bornTimestamp", s.BornTimestamp)
	h.SetBytes("defaultTopic", s.DefaultTopic)
	h.SetInt("defaultTopicQueueNums", int64(s.DefaultTopicQueueNums))
	h.SetInt("flag", int64(s.Flag))
	if s.HasMaxReconsumeTimes {
		h.SetInt("maxReconsumeTimes", int64(s.MaxReconsumeTimes))
	}
	h.SetBytes("producerGroup", s.ProducerGroup)
	h.SetBytes("properties", s.Properties)
	h.SetInt("queueId", int64(s.QueueID))
	h.SetInt("reconsumeTimes", int64(s.ReconsumeTimes))
	h.SetInt("sysFlag", int64(s.SysFlag))
	h.SetBytes("topic", s.Topic)
	h.SetBool("unitMode", s.UnitMode)
}

// SendReply is the ext fields of the reply to a send; Java and C++ clients need the first three on codes 0, 10, 11 and 12.
type SendReply struct {
	MsgID         []byte // offset message id; of a batch all of them, joined by commas
	QueueID       int32
	QueueOffset   int64
	TransactionID []byte // never set by 4.9.7
	RecallHandle  []byte // of RocketMQ 5.3 and later: of a message that waits for a time of its own
}

// Encode adds the fields to h.
func (s *SendReply) Encode(h *Header) {
	h.SetBytes("msgId", s.MsgID)
	h.SetInt("queueId", int64(s.QueueID))
	h.SetInt("queueOffset", s.QueueOffset)
	if len(s.TransactionID) > 0 {
		h.SetBytes("transactionId", s.TransactionID)
	}
	if len(s.RecallHandle) > 0 {
		h.SetBytes("recallHandle", s.RecallHandle)
	}
}

// SetTrace adds the two fields that every reply to a send carries, also of one that failed: the broker's region and
// whether clients shall trace.
func (h *Header) SetTrace(region string, on bool) {
	h.SetString("MSG_REGION", region)
	h.SetBool("TRACE_ON", on)
}

// Decode reads the fields; MsgID is a view of the frame.
func (s *SendReply) Decode(h *Header) (err error) {
	if s.MsgID, err = h.Bytes("msgId"); err != nil {
		return err
	}
	if s.QueueID, err = h.Int32("queueId"); err != nil {
		return err
	}
	s.QueueOffset, err = h.Int64("queueOffset")
	s.TransactionID, _ = h.Get("transactionId")
	s.RecallHandle, _ = h.Get("recallHandle")
	return err
}
