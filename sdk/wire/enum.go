package wire

import (
	"encoding/json"
	"fmt"
	"strings"
)

// The enums of bodies. They travel by name; C++ sends ordinals. An unknown name is read as "", as Java reads null; an ordinal out
// of range is an error. "" is left out when written.
type (
	// ConsumeType says who drives a consumer.
	ConsumeType string
	// MessageModel says how the members of a group share the messages.
	MessageModel string
	// ConsumeFromWhere says where a group begins that has no offset.
	ConsumeFromWhere string
	// TopicFilterType is a setting of topics that changes nothing.
	TopicFilterType string
	// ConsumeResult is what came of a message that was consumed on demand.
	ConsumeResult string
)

// The names of the enums.
const (
	ConsumeActively  ConsumeType = "CONSUME_ACTIVELY"  // pull
	ConsumePassively ConsumeType = "CONSUME_PASSIVELY" // push
	ConsumePop       ConsumeType = "CONSUME_POP"       // 5.x

	Broadcasting MessageModel = "BROADCASTING"
	Clustering   MessageModel = "CLUSTERING"

	FromLastOffset  ConsumeFromWhere = "CONSUME_FROM_LAST_OFFSET"
	FromLastOrMin   ConsumeFromWhere = "CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST"
	FromMinOffset   ConsumeFromWhere = "CONSUME_FROM_MIN_OFFSET"
	FromMaxOffset   ConsumeFromWhere = "CONSUME_FROM_MAX_OFFSET"
	FromFirstOffset ConsumeFromWhere = "CONSUME_FROM_FIRST_OFFSET"
	FromTimestamp   ConsumeFromWhere = "CONSUME_FROM_TIMESTAMP"

	SingleTag TopicFilterType = "SINGLE_TAG"
	MultiTag  TopicFilterType = "MULTI_TAG"

	ConsumeSuccess    ConsumeResult = "CR_SUCCESS"
	ConsumeLater      ConsumeResult = "CR_LATER"
	ConsumeRollback   ConsumeResult = "CR_ROLLBACK"
	ConsumeCommit     ConsumeResult = "CR_COMMIT"
	ConsumeThrows     ConsumeResult = "CR_THROW_EXCEPTION"
	ConsumeReturnNull ConsumeResult = "CR_RETURN_NULL"
)

// parseEnum reads strict JSON; names are in the order of the ordinals.
func parseEnum[E ~string](b []byte, p *E, names ...E) error {
	*p = ""
	var s string
	if json.Unmarshal(b, &s) == nil { // also null
		for _, n := range names {
			if strings.EqualFold(string(n), s) {
				*p = n
			}
		}
		return nil
	}
	var i int
	if err := json.Unmarshal(b, &i); err != nil || i < 0 || i >= len(names) {
		return fmt.Errorf("%.64s is none of the %d values", b, len(names))
	}
	*p = names[i]
	return nil
}

// UnmarshalJSON reads a name or an ordinal.
func (e *ConsumeType) UnmarshalJSON(b []byte) error {
	return parseEnum(b, e, ConsumeActively, ConsumePassively, ConsumePop)
}

// UnmarshalJSON reads a name or an ordinal.
func (e *MessageModel) UnmarshalJSON(b []byte) error {
	return parseEnum(b, e, Broadcasting, Clustering)
}

// UnmarshalJSON reads a name or an ordinal.
func (e *ConsumeFromWhere) UnmarshalJSON(b []byte) error {
	return parseEnum(b, e, FromLastOffset, FromLastOrMin, FromMinOffset, FromMaxOffset, FromFirstOffset, FromTimestamp)
}

// UnmarshalJSON reads a name or an ordinal.
func (e *TopicFilterType) UnmarshalJSON(b []byte) error { return parseEnum(b, e, SingleTag, MultiTag) }

// UnmarshalJSON reads a name or an ordinal.
func (e *ConsumeResult) UnmarshalJSON(b []byte) error {
	return parseEnum(b, e, ConsumeSuccess, ConsumeLater, ConsumeRollback, ConsumeCommit, ConsumeThrows, ConsumeReturnNull)
}
