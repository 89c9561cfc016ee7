package message

import "encoding/binary"

// EntrySize is the size in bytes of a ConsumeQueue entry on disk. It must not change.
const EntrySize = 20

// Entry is one entry of a ConsumeQueue: where a message's record is, and what its tag hashes to.
//
//	| position i64 | size i32 | tags code i64 |      big-endian
type Entry struct {
	Position Position
	Size     int32
	// TagsCode is the hash of the message's tag (0 for none). In the schedule topic it is the time of delivery in ms,
	// and at or below MaxExtAddress it is the address of a unit in the queue's extension file.
	TagsCode int64
}

// MaxExtAddress is the largest tags code that is an address in a ConsumeQueueExt file and not a hash.
const MaxExtAddress = -2147483649

// DecodeEntry reads the entry at the beginning of b, which holds at least EntrySize bytes.
func DecodeEntry(b []byte) Entry {
	_ = b[EntrySize-1]
	return Entry{
		Position: Position(binary.BigEndian.Uint64(b)),
		Size:     int32(binary.BigEndian.Uint32(b[8:])),
		TagsCode: int64(binary.BigEndian.Uint64(b[12:])),
	}
}

// AppendEntry appends the 20 bytes of e to dst.
func AppendEntry(dst []byte, e Entry) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(e.Position))
	dst = binary.BigEndian.AppendUint32(dst, uint32(e.Size))
	return binary.BigEndian.AppendUint64(dst, uint64(e.TagsCode))
}

// Arrival tells that a message has become readable in its queue.
type Arrival struct {
	Queue  QueueKey
	Offset Offset // of the message; Offset+1 is the queue's new end
	Entry
	StoreTimestamp int64 // ms
	// Record is the message's record, borrowed until the call that hands the arrival over returns.
	Record []byte
	// Bitmap is what the unit of the message in the queue's extension file gets, if it gets one.
	Bitmap []byte
}
