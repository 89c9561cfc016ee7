package message

// Sizes that the record layout or RocketMQ's checks put on a message.
const (
	MaxTopicLength      = 127       // bytes; the record keeps the length in a signed byte
	MaxGroupLength      = 255       // bytes; the longest that RocketMQ's clients allow
	MaxPropertiesLength = 32767     // bytes; the record keeps the length in a signed 16-bit number
	MaxDelayLevel       = 18        // the number of RocketMQ's default delay levels
	MaxRecordOverhead   = 64 << 10  // a record may be at most this much longer than the largest body allowed
	DefaultMaxBodySize  = 4 << 20   // maxMessageSize of broker and clients, for the body alone
	MinRecordSize       = 91        // record with IPv4 hosts and nothing in it
	MaxRecordSize       = 1<<31 - 1 // TOTALSIZE is a signed 32-bit number
	BlankHeaderSize     = 8         // TOTALSIZE and magic, all that a blank record must have
)
