package broker

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/weirmq/weir/core/config"
)

// Advertised is the address that clients are told, and how it came about. It stands in routes and in message ids, so
// clients must be able to reach it.
type Advertised struct {
	Addr netip.AddrPort
	// Why explains the choice in half a sentence.
	Why string
	// Problem says why the address may not be reachable; empty when a connection to it could be made.
	Problem string
}

// advertisement is broker.advertise, read and resolved before anything listens.
type advertisement struct {
	host netip.Addr // the zero Addr: to be worked out from the listener's
	port uint16     // 0: the listener's
}

// readAdvertise reads auto, HOST or HOST:PORT. Names are resolved now, because records hold addresses.
func readAdvertise(ctx context.Context, setting string) (advertisement, error) {
	if setting == "" || setting == config.AdvertiseAuto {
		return advertisement{}, nil
	}
	var port uint16
	host := strings.TrimSuffix(strings.TrimPrefix(setting, "["), "]")
	if h, p, err := net.SplitHostPort(setting); err == nil {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 {
			return advertisement{}, fmt.Errorf("broker.advertise %q: %q is not a port from 1 to 65535", setting, p)
		}
		host, port = h, uint16(n)
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		if addr, err = resolve(ctx, host); err != nil {
			return advertisement{}, fmt.Errorf("broker.advertise %q: %q is neither an address nor a name that resolves; set it to one that clients can connect to: %w", setting, host, err)
		}
	}
	addr = addr.Unmap().WithZone("")
	if addr.IsUnspecified() || addr.IsMulticast() {
		return advertisement{}, fmt.Errorf("broker.advertise %q: nobody can connect to %s; set it to the address of one interface", setting, addr)
	}
	return advertisement{host: addr, port: port}, nil
}

// resolveTimeout bounds the look-up of a name.
const resolveTimeout = 10 * time.Second

// resolve returns an address of a name, of IPv4 if it has one.
func resolve(ctx context.Context, host string) (netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return netip.Addr{}, err
	}
	for _, a := range found {
		if a.Unmap().Is4() {
			return a, nil
		}
	}
	return found[0], nil
}

// at returns what clients are told when the listener is at listen, which has its final port. The zero listen says that
// nothing listens on a network.
func (a advertisement) at(listen netip.AddrPort) Advertised {
	port := a.port
	if port == 0 {
		port = listen.Port()
	}
	host := listen.Addr()
	switch {
	case a.host.IsValid():
		return Advertised{Addr: netip.AddrPortFrom(a.host, port), Why: "broker.advertise says so"}
	case !listen.IsValid():
		return Advertised{Addr: netip.AddrPortFrom(loopback, port), Why: "no transport listens on a network"}
	case host.IsLoopback():
		return Advertised{Addr: listen, Why: "transports.remoting.listen is a loopback address, so only this machine can connect"}
	case !host.IsUnspecified():
		return Advertised{Addr: listen, Why: "transports.remoting.listen is that address"}
	}
	host, why := ownAddress()
	if inContainer() {
		why += "; this looks like a container, whose address may mean nothing outside: set broker.advertise to the host's"
	}
	return Advertised{Addr: netip.AddrPortFrom(host, port), Why: why}
}

var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// ownAddress returns the address of the interface that leads out, or the first that isn't loopback. Asking the routing
// table by connecting a datagram socket sends nothing.
func ownAddress() (netip.Addr, string) {
	if c, err := net.Dial("udp4", "192.0.2.1:9"); err == nil {
		defer c.Close()
		if a, ok := c.LocalAddr().(*net.UDPAddr); ok {
			if ip := a.AddrPort().Addr().Unmap(); !ip.IsLoopback() && !ip.IsUnspecified() {
				return ip, "the listener takes all interfaces, and this one leads out"
			}
		}
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return loopback, fmt.Sprintf("the interfaces can't be listed (%v), so only this machine can connect", err)
	}
	var v6 netip.Addr
	for _, a := range all {
		n, ok := a.(*net.IPNet)
		if !ok {
			continue
		}
		ip, _ := netip.AddrFromSlice(n.IP)
		ip = ip.Unmap()
		switch {
		case ip.IsLoopback() || ip.IsLinkLocalUnicast():
		case ip.Is4():
			return ip, "the listener takes all interfaces, and this is the first that isn't loopback"
		case !v6.IsValid():
			v6 = ip
		}
	}
	if v6.IsValid() {
		return v6, "the listener takes all interfaces, and this is the first that isn't loopback"
	}
	return loopback, "there is no interface but loopback, so only this machine can connect"
}

// checkReachable connects to the address as a client would.
func checkReachable(ctx context.Context, a netip.AddrPort) string {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", a.String())
	if err != nil {
		return fmt.Sprintf("a connection to it failed from this very machine (%v)", err)
	}
	c.Close()
	return ""
}

// inContainer guesses from the marks that container runtimes leave.
func inContainer() bool {
	for _, mark := range []string{"/.dockerenv", "/run/.containerenv", "/var/run/secrets/kubernetes.io"} {
		if _, err := os.Stat(mark); err == nil {
			return true
		}
	}
	return false
}
