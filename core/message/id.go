package message

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
)

// An offset message id is the upper-case hex of the storing broker's address and the record's position. Clients take it
// apart and connect to the address in it.
//
//	ip 4 or 16 | port i32 | position i64       32 or 56 digits
const (
	OffsetIDLen4 = 2 * (4 + 4 + 8)
	OffsetIDLen6 = 2 * (16 + 4 + 8)
)

const upperHex = "0123456789ABCDEF"

// appendHex appends b in upper-case hex.
func appendHex(dst, b []byte) []byte {
	for _, c := range b {
		dst = append(dst, upperHex[c>>4], upperHex[c&15])
	}
	return dst
}

// AppendOffsetID appends the offset message id of the record at p on host.
func AppendOffsetID(dst []byte, host netip.AddrPort, p Position) []byte {
	var raw [28]byte
	b := appendHost(raw[:0], host)
	return appendHex(dst, binary.BigEndian.AppendUint64(b, uint64(p)))
}

// ParseOffsetID takes an offset message id apart. Digits may have either case; anything but 32 or 56 hex digits and a
// port up to 65535 is refused. A producer's own id (UNIQ_KEY) has the same length and mostly parses too,
// to a meaningless host: only looking the record up tells.
func ParseOffsetID(id string) (host netip.AddrPort, p Position, err error) {
	var raw [28]byte
	if len(id) != OffsetIDLen4 && len(id) != OffsetIDLen6 {
		return host, 0, fmt.Errorf("parse message id %.64q: has %d characters, want 32 or 56", id, len(id))
	}
	n, err := hex.Decode(raw[:], []byte(id))
	if err != nil {
		return host, 0, fmt.Errorf("parse message id %q: %w", id, err)
	}
	b := raw[:n]
	if port := binary.BigEndian.Uint32(b[n-12:]); port > 65535 {
		return host, 0, fmt.Errorf("parse message id %q: port %d is out of range", id, port)
	}
	return readHost(b[:n-8]), Position(binary.BigEndian.Uint64(b[n-8:])), nil
}

// UniqueID is what a producer's own message id (property UNIQ_KEY) is made of: unique by the host, process and class
// loader that made it, the time since the beginning of the month, and a counter.
//
//	ip 4 or 16 | pid u16 | loader i32 | ms since month began i32 | counter u16       32 or 56 digits
type UniqueID struct {
	IP      netip.Addr
	PID     uint16
	Loader  uint32 // Java: hash of the class loader; any number that differs between producers of one process
	Millis  uint32
	Counter uint16
}

// Append appends u in upper-case hex.
func (u UniqueID) Append(dst []byte) []byte {
	var raw [28]byte
	b := appendHost(raw[:0], netip.AddrPortFrom(u.IP, 0))
	b = binary.BigEndian.AppendUint16(b[:len(b)-4], u.PID)
	b = binary.BigEndian.AppendUint32(b, u.Loader)
	b = binary.BigEndian.AppendUint32(b, u.Millis)
	return appendHex(dst, binary.BigEndian.AppendUint16(b, u.Counter))
}

// ParseUniqueID takes a producer's message id apart.
func ParseUniqueID(id string) (UniqueID, error) {
	var u UniqueID
	if len(id) != OffsetIDLen4 && len(id) != OffsetIDLen6 {
		return u, fmt.Errorf("parse unique message id %.64q: has %d characters, want 32 or 56", id, len(id))
	}
	b, err := hex.DecodeString(id)
	if err != nil {
		return u, fmt.Errorf("parse unique message id %q: %w", id, err)
	}
	n := len(b) - 12
	u.IP, _ = netip.AddrFromSlice(b[:n])
	u.PID = binary.BigEndian.Uint16(b[n:])
	u.Loader = binary.BigEndian.Uint32(b[n+2:])
	u.Millis = binary.BigEndian.Uint32(b[n+6:])
	u.Counter = binary.BigEndian.Uint16(b[n+10:])
	return u, nil
}
