package message

import "strconv"

// QueueID numbers one queue of a topic on one broker, from 0.
type QueueID int32

// Offset is the place of a message in its queue: the first message has 0, the next 1. Clients commit offsets.
type Offset int64

// Position is the place of a record in the commit log: a count of bytes from the beginning of the log.
// It must not be mixed up with an Offset. RocketMQ calls it the physical offset.
type Position int64

// String formats o in decimal.
func (o Offset) String() string { return strconv.FormatInt(int64(o), 10) }

// String formats p in decimal.
func (p Position) String() string { return strconv.FormatInt(int64(p), 10) }

// String formats q in decimal.
func (q QueueID) String() string { return strconv.FormatInt(int64(q), 10) }

// QueueKey names one queue of this broker.
type QueueKey struct {
	Topic string
	ID    QueueID
}

// String formats k as topic@id.
func (k QueueKey) String() string { return k.Topic + "@" + k.ID.String() }
