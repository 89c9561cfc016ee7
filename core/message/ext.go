package message

import (
	"encoding/binary"
	"math"
)

// ExtUnit is what a queue's extension file (RocketMQ's ConsumeQueueExt) holds of one message, more than its entry has room
// for. The entry then has the unit's address for a tags code; see MaxExtAddress. The format is RocketMQ's and must not change:
//
//	| size i16 | tags code i64 | store time i64 | bitmap size i16 | bitmap |      big-endian
//
// size counts the whole unit. A size below 1 says that no more units follow in the file.
type ExtUnit struct {
	TagsCode       int64 // as it would be in the entry
	StoreTimestamp int64 // ms
	// Bitmap is the Bloom bitmap of the filters that accept the message; empty when there is none.
	Bitmap []byte
}

// Sizes of units in bytes. They must not change.
const (
	MinExtUnitSize = 20
	MaxExtUnitSize = math.MaxInt16
)

// AppendExtUnit appends the bytes of u, whose bitmap has at most MaxExtUnitSize-MinExtUnitSize bytes, to dst.
func AppendExtUnit(dst []byte, u ExtUnit) []byte {
	be := binary.BigEndian
	dst = be.AppendUint16(dst, uint16(MinExtUnitSize+len(u.Bitmap)))
	dst = be.AppendUint64(dst, uint64(u.TagsCode))
	dst = be.AppendUint64(dst, uint64(u.StoreTimestamp))
	dst = be.AppendUint16(dst, uint16(len(u.Bitmap)))
	return append(dst, u.Bitmap...)
}

// DecodeExtUnit reads the unit at the beginning of b, and returns its size. The bitmap is part of b. ok is false when
// there is no unit, or a broken one.
func DecodeExtUnit(b []byte) (u ExtUnit, size int, ok bool) {
	if len(b) < MinExtUnitSize {
		return u, 0, false
	}
	be := binary.BigEndian
	size = int(int16(be.Uint16(b)))
	if size < MinExtUnitSize || size > len(b) || size != MinExtUnitSize+int(int16(be.Uint16(b[18:]))) {
		return u, 0, false
	}
	u.TagsCode, u.StoreTimestamp = int64(be.Uint64(b[2:])), int64(be.Uint64(b[10:]))
	if u.TagsCode <= MaxExtAddress {
		return u, 0, false
	}
	u.Bitmap = b[MinExtUnitSize:size:size]
	return u, size, true
}

// ExtAddress returns the address of a unit at byte offset of the extension file.
func ExtAddress(offset int64) int64 { return offset + math.MinInt64 }

// ExtOffset returns where the unit of an address is. ok is false for a tags code that is no address.
func ExtOffset(address int64) (offset int64, ok bool) {
	if address > MaxExtAddress {
		return 0, false
	}
	return address - math.MinInt64, true
}

// ExtVisitor is shown units.
type ExtVisitor interface {
	// Unit is called with a unit and the number of its address among those that were asked about. The bitmap is borrowed
	// until it returns.
	Unit(i int, u ExtUnit)
}
