package broker

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"time"
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

// advertise works the address out from broker.advertise and the listener's own address, which has its final port.
func advertise(setting string, listen netip.AddrPort) (Advertised, error) {
	if setting != "" && setting != "auto" {
		return advertiseSetting(setting, listen.Port())
	}
	if host := listen.Addr(); !host.IsUnspecified() {
		why := "transports.remoting.listen is that address"
		if host.IsLoopback() {
			why = "transports.remoting.listen is a loopback address, so only this machine can connect"
		}
		return Advertised{Addr: listen, Why: why}, nil
	}
	host, from, err := ownAddress()
	if err != nil {
		return Advertised{}, fmt.Errorf("work out the address that clients are told: %w; set broker.advertise to HOST or HOST:PORT", err)
	}
	why := from
	if inContainer() {
		why += "; this looks like a container, whose address may mean nothing outside: set broker.advertise to the host's"
	}
	return Advertised{Addr: netip.AddrPortFrom(host, listen.Port()), Why: why}, nil
}

// advertiseSetting reads HOST or HOST:PORT. Names are resolved now, because records hold addresses.
func advertiseSetting(setting string, port uint16) (Advertised, error) {
	host := setting
	if h, p, err := net.SplitHostPort(setting); err == nil {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 {
			return Advertised{}, fmt.Errorf("broker.advertise %q: %q is not a port", setting, p)
		}
		host, port = h, uint16(n)
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		found, lookupErr := net.DefaultResolver.LookupNetIP(context.Background(), "ip", host)
		if lookupErr != nil || len(found) == 0 {
			return Advertised{}, fmt.Errorf("broker.advertise %q: %q is neither an address nor a name that resolves: %w", setting, host, lookupErr)
		}
		addr = found[0]
		for _, a := range found {
			if a.Unmap().Is4() {
				addr = a
				break
			}
		}
	}
	return Advertised{Addr: netip.AddrPortFrom(addr.Unmap().WithZone(""), port), Why: "broker.advertise says so"}, nil
}

// ownAddress returns the address of the interface that leads out, or the first that isn't loopback. Asking the routing
// table by connecting a datagram socket sends nothing.
func ownAddress() (netip.Addr, string, error) {
	if c, err := net.Dial("udp4", "192.0.2.1:9"); err == nil {
		defer c.Close()
		if a, ok := c.LocalAddr().(*net.UDPAddr); ok {
			if ip := a.AddrPort().Addr().Unmap(); !ip.IsLoopback() && !ip.IsUnspecified() {
				return ip, "the listener takes all interfaces, and this one leads out", nil
			}
		}
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return netip.Addr{}, "", err
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
			return ip, "the listener takes all interfaces, and this is the first that isn't loopback", nil
		case !v6.IsValid():
			v6 = ip
		}
	}
	if v6.IsValid() {
		return v6, "the listener takes all interfaces, and this is the first that isn't loopback", nil
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1}), "there is no interface but loopback, so only this machine can connect", nil
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
