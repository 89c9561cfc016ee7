package message

import (
	"encoding/binary"
	"errors"
)

// What ParseRecord and ViewRecord find instead of a record.
var (
	// ErrBlank means the unused end of a segment: go to the next one.
	ErrBlank = errors.New("blank record: end of segment")
	// ErrBadMagic means that no record starts here; zeroed space gives this.
	ErrBadMagic = errors.New("bad record: unknown magic")
	// ErrBadCRC means that the body isn't what was stored.
	ErrBadCRC = errors.New("bad record: body checksum differs")
	// ErrBadLength means that the lengths contradict each other.
	ErrBadLength = errors.New("bad record: lengths don't add up")
	// ErrShort means that the bytes end before the record does.
	ErrShort = errors.New("short record: more bytes needed")
)

// ParseRecord reads the record at the beginning of b and verifies lengths and body checksum. Header, topic and
// properties have no checksum, so bit flips there go unnoticed. It doesn't allocate, and rec borrows from b.
//
// n tells how far to go on: the record's size; with ErrBlank the size of the blank, at least BlankHeaderSize and
// perhaps more than len(b); with ErrShort how many bytes are needed at least. With the other errors n is what the record
// claims to be long if that is possible at all, else 0; it can't be trusted.
//
// The position that the record names is not compared with anything: only the caller knows where b begins. A stale
// whole record behind the end of a recycled segment can only be told by that comparison.
func ParseRecord(b []byte) (rec Record, n int, err error) {
	if rec, n, err = ViewRecord(b); err != nil {
		return nil, n, err
	}
	if !rec.CRCMatches() {
		return nil, n, ErrBadCRC
	}
	return rec, n, nil
}

// ViewRecord is ParseRecord without the body's checksum, for bytes that were verified before.
func ViewRecord(b []byte) (rec Record, n int, err error) {
	if len(b) < BlankHeaderSize {
		return nil, BlankHeaderSize, ErrShort
	}
	size := int(int32(binary.BigEndian.Uint32(b)))
	switch int32(binary.BigEndian.Uint32(b[atMagic:])) {
	case BlankMagic:
		if size < BlankHeaderSize {
			return nil, 0, ErrBadLength
		}
		return nil, size, ErrBlank
	case Magic:
	default:
		return nil, 0, ErrBadMagic
	}
	if size < MinRecordSize {
		return nil, 0, ErrBadLength
	}
	if size > len(b) {
		return nil, size, ErrShort
	}
	if !lengthsAddUp(Record(b[:size:size])) {
		return nil, size, ErrBadLength
	}
	return Record(b[:size:size]), size, nil
}

// lengthsAddUp computes the size from the parts. A negative body or property length counts as 0, as in Java; a negative
// topic length is an error there.
func lengthsAddUp(r Record) bool {
	atBody := r.atBody()
	if atBody+4 > len(r) {
		return false
	}
	rest := len(r) - atBody - 4 // compare by subtracting: a sum of two lengths could overflow on 32 bits
	body := max(0, int(r.i32(atBody)))
	if body > rest-1 {
		return false
	}
	rest -= body + 1
	topic := int(int8(r[atBody+4+body]))
	if topic < 0 || topic > rest-2 {
		return false
	}
	rest -= topic + 2
	at := len(r) - rest - 2
	return max(0, int(int16(binary.BigEndian.Uint16(r[at:])))) == rest
}
