package wire

// PullHeader is the ext fields of PULL_MESSAGE and LITE_PULL_MESSAGE. Its texts are views of the frame.
type PullHeader struct {
	ConsumerGroup        []byte
	Topic                []byte
	QueueID              int32
	QueueOffset          int64
	MaxMsgNums           int32
	SysFlag              int32 // message.Pull… bits
	CommitOffset         int64
	SuspendTimeoutMillis int64
	Subscription         []byte // only with message.PullSubscription
	SubVersion           int64
	ExpressionType       []byte // nil: TAG
}

const (
	pullGroup = 1 << iota
	pullTopic
	pullQueueID
	pullQueueOffset
	pullMaxMsgNums
	pullSysFlag
	pullCommitOffset
	pullSuspend
	pullSubVersion
	pullAll = 1<<iota - 1
)

func pullFieldName(bit int) string {
	return [...]string{"consumerGroup", "topic", "queueId", "queueOffset", "maxMsgNums", "sysFlag", "commitOffset",
		"suspendTimeoutMillis", "subVersion"}[bit]
}

// Decode reads the fields in one pass over h. It doesn't allocate but for an error, which is a *message.Error that names the field.
func (p *PullHeader) Decode(h *Header) error {
	*p = PullHeader{}
	seen := 0
	for i := range h.Ext {
		f := &h.Ext[i]
		if f.Value == nil {
			continue
		}
		ok := true
		switch string(f.Key) {
		case "consumerGroup":
			p.ConsumerGroup, seen = f.Value, seen|pullGroup
		case "topic":
			p.Topic, seen = f.Value, seen|pullTopic
		case "queueId":
			p.QueueID, ok = int32Of(f.Value)
			seen |= pullQueueID
		case "queueOffset":
			p.QueueOffset, ok = parseInt(f.Value, 64)
			seen |= pullQueueOffset
		case "maxMsgNums":
			p.MaxMsgNums, ok = int32Of(f.Value)
			seen |= pullMaxMsgNums
		case "sysFlag":
			p.SysFlag, ok = int32Of(f.Value)
			seen |= pullSysFlag
		case "commitOffset":
			p.CommitOffset, ok = parseInt(f.Value, 64)
			seen |= pullCommitOffset
		case "suspendTimeoutMillis":
			p.SuspendTimeoutMillis, ok = parseInt(f.Value, 64)
			seen |= pullSuspend
		case "subscription":
			p.Subscription = f.Value
		case "subVersion":
			p.SubVersion, ok = parseInt(f.Value, 64)
			seen |= pullSubVersion
		case "expressionType":
			p.ExpressionType = f.Value
		}
		if !ok {
			return unparsable(string(f.Key), f.Value, "an integer")
		}
	}
	for bit := 0; seen != pullAll; bit++ {
		if seen&(1<<bit) == 0 {
			return missing(pullFieldName(bit))
		}
	}
	return nil
}

// Encode adds the fields to h, copying the texts.
func (p *PullHeader) Encode(h *Header) {
	h.SetInt("commitOffset", p.CommitOffset)
	h.SetBytes("consumerGroup", p.ConsumerGroup)
	if p.ExpressionType != nil {
		h.SetBytes("expressionType", p.ExpressionType)
	}
	h.SetInt("maxMsgNums", int64(p.MaxMsgNums))
	h.SetInt("queueId", int64(p.QueueID))
	h.SetInt("queueOffset", p.QueueOffset)
	h.SetInt("subVersion", p.SubVersion)
	if p.Subscription != nil {
		h.SetBytes("subscription", p.Subscription)
	}
	h.SetInt("suspendTimeoutMillis", p.SuspendTimeoutMillis)
	h.SetInt("sysFlag", int64(p.SysFlag))
	h.SetBytes("topic", p.Topic)
}

// PullReply is the ext fields of the reply to a pull; clients need all of them on codes 0, 19, 20 and 21.
type PullReply struct {
	SuggestWhichBrokerID int64 // broker id to pull from next
	NextBeginOffset      int64
	MinOffset            int64
	MaxOffset            int64 // the next offset to be written
}

// Encode adds the fields to h.
func (p *PullReply) Encode(h *Header) {
	h.SetInt("maxOffset", p.MaxOffset)
	h.SetInt("minOffset", p.MinOffset)
	h.SetInt("nextBeginOffset", p.NextBeginOffset)
	h.SetInt("suggestWhichBrokerId", p.SuggestWhichBrokerID)
}

// Decode reads the fields.
func (p *PullReply) Decode(h *Header) (err error) {
	if p.SuggestWhichBrokerID, err = h.Int64("suggestWhichBrokerId"); err != nil {
		return err
	}
	if p.NextBeginOffset, err = h.Int64("nextBeginOffset"); err != nil {
		return err
	}
	if p.MinOffset, err = h.Int64("minOffset"); err != nil {
		return err
	}
	p.MaxOffset, err = h.Int64("maxOffset")
	return err
}
