package message

import (
	"encoding/binary"
	"net/netip"
)

// Message holds what a record is made of, before the store has given it a place. Its byte slices are only read.
type Message struct {
	Topic           string
	QueueID         QueueID
	Flag            int32 // the producer's own
	SysFlag         int32 // Flag… bits; those that tell the hosts' families are set by AppendRecord
	BornTimestamp   int64 // ms since 1970, from the producer
	BornHost        netip.AddrPort
	StoreHost       netip.AddrPort
	ReconsumeTimes  int32
	Prepared        Position // position of the half message, for a committed transaction message
	Body            []byte
	Properties      Properties
	ExtraProperties Properties // stored behind Properties, so that it wins; joined with 0x02 where needed
}

// Errors of Check, made once: refusing a flood of bad messages must not cost allocations.
var (
	errTopicEmpty = &Error{Code: MessageIllegal, Remark: "the message has no topic"}
	errTopicLong  = &Error{Code: MessageIllegal, Remark: "the topic is longer than 127 bytes"}
	errPropsLong  = &Error{Code: MessageIllegal, Remark: "the properties are longer than 32767 bytes"}
	errBodyLong   = &Error{Code: MessageIllegal, Remark: "the message body is longer than the maximum message size"}
)

// Check says whether m can be stored with bodies of up to maxBody bytes; the error is an *Error with MessageIllegal.
// It looks at sizes only. For names see CheckTopic.
func (m *Message) Check(maxBody int) error {
	switch {
	case len(m.Topic) == 0:
		return errTopicEmpty
	case len(m.Topic) > MaxTopicLength:
		return errTopicLong
	case m.propertiesLen() > MaxPropertiesLength:
		return errPropsLong
	case len(m.Body) > maxBody:
		return errBodyLong
	}
	return nil
}

func (m *Message) needsJoint() bool {
	n := len(m.Properties)
	return n > 0 && len(m.ExtraProperties) > 0 && m.Properties[n-1] != PropertyItemEnd
}

func (m *Message) propertiesLen() int {
	n := len(m.Properties) + len(m.ExtraProperties)
	if m.needsJoint() {
		n++
	}
	return n
}

// Size returns how many bytes AppendRecord will append.
func (m *Message) Size() int {
	return atBornHost + hostSize(isV6(m.BornHost)) + 8 + hostSize(isV6(m.StoreHost)) + fixedAfterHosts +
		len(m.Body) + 1 + len(m.Topic) + 2 + m.propertiesLen()
}

// AppendRecord appends m as a record to dst. Queue offset, physical offset and store time are zero until Place fills them in.
// It allocates only when dst is too small. m must have passed Check: a message that the layout can't hold
// is refused with an error of Check and leaves dst as it was.
func AppendRecord(dst []byte, m *Message) ([]byte, error) {
	if err := m.Check(MaxRecordSize - MaxRecordOverhead); err != nil {
		return dst, err
	}
	be := binary.BigEndian
	sysFlag := m.SysFlag &^ (FlagBornHostV6 | FlagStoreHostV6)
	if isV6(m.BornHost) {
		sysFlag |= FlagBornHostV6
	}
	if isV6(m.StoreHost) {
		sysFlag |= FlagStoreHostV6
	}
	dst = be.AppendUint32(dst, uint32(m.Size()))
	dst = be.AppendUint32(dst, magicBits)
	dst = be.AppendUint32(dst, uint32(BodyCRC(m.Body)))
	dst = be.AppendUint32(dst, uint32(m.QueueID))
	dst = be.AppendUint32(dst, uint32(m.Flag))
	dst = be.AppendUint64(dst, 0) // queue offset
	dst = be.AppendUint64(dst, 0) // physical offset
	dst = be.AppendUint32(dst, uint32(sysFlag))
	dst = be.AppendUint64(dst, uint64(m.BornTimestamp))
	dst = appendHost(dst, m.BornHost)
	dst = be.AppendUint64(dst, 0) // store timestamp
	dst = appendHost(dst, m.StoreHost)
	dst = be.AppendUint32(dst, uint32(m.ReconsumeTimes))
	dst = be.AppendUint64(dst, uint64(m.Prepared))
	dst = be.AppendUint32(dst, uint32(len(m.Body)))
	dst = append(dst, m.Body...)
	dst = append(dst, byte(len(m.Topic)))
	dst = append(dst, m.Topic...)
	dst = be.AppendUint16(dst, uint16(m.propertiesLen()))
	dst = append(dst, m.Properties...)
	if m.needsJoint() {
		dst = append(dst, PropertyItemEnd)
	}
	return append(dst, m.ExtraProperties...), nil
}

// Place writes the three fields that are only known under the store's append lock into r, in place.
// storeTimestamp is in ms since 1970.
func (r Record) Place(offset Offset, at Position, storeTimestamp int64) {
	binary.BigEndian.PutUint64(r[atQueueOffset:], uint64(offset))
	binary.BigEndian.PutUint64(r[atPhysicalOffset:], uint64(at))
	binary.BigEndian.PutUint64(r[r.atStoreTimestamp():], uint64(storeTimestamp))
}

// AppendBlank appends the header of a blank record that stands for size bytes, itself included.
func AppendBlank(dst []byte, size int) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(size))
	return binary.BigEndian.AppendUint32(dst, blankMagicBits)
}
