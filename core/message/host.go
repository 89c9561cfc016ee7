package message

import (
	"encoding/binary"
	"net/netip"
)

// Unmap returns a with an IPv4-mapped IPv6 address turned into plain IPv4. Sockets that listen on both families report
// mapped addresses; a record that stored one would have 12 bytes too many and an id that IPv4 clients can't read.
func Unmap(a netip.AddrPort) netip.AddrPort {
	if a.Addr().Is4In6() {
		return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
	}
	return a
}

// A host in a record is the raw address followed by the port as i32.
const (
	hostSize4 = 4 + 4
	hostSize6 = 16 + 4
)

func isV6(a netip.AddrPort) bool { return a.Addr().Is6() && !a.Addr().Is4In6() }

func hostSize(v6 bool) int {
	if v6 {
		return hostSize6
	}
	return hostSize4
}

// appendHost appends a in 8 or 20 bytes; the zero AddrPort becomes 0.0.0.0:0.
func appendHost(dst []byte, a netip.AddrPort) []byte {
	switch ip := a.Addr(); {
	case isV6(a):
		b := ip.As16()
		dst = append(dst, b[:]...)
	case ip.IsValid():
		b := ip.Unmap().As4()
		dst = append(dst, b[:]...)
	default:
		dst = append(dst, 0, 0, 0, 0)
	}
	return binary.BigEndian.AppendUint32(dst, uint32(a.Port()))
}

// readHost reads what appendHost wrote; b has exactly 8 or 20 bytes.
func readHost(b []byte) netip.AddrPort {
	n := len(b) - 4
	port := uint16(binary.BigEndian.Uint32(b[n:]))
	if n == 16 {
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[:16])), port)
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[:4])), port)
}
