package broker

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/weirmq/weir/core/transport"
)

func TestAdvertise(t *testing.T) {
	for _, c := range []struct {
		setting, listen string
		want            string // "" where it depends on the machine
		why             string
	}{
		{"auto", "127.0.0.1:10911", "127.0.0.1:10911", "transports.remoting.listen is a loopback address, so only this machine can connect"},
		{"auto", "[::1]:10911", "[::1]:10911", "loopback address"},
		{"auto", "10.1.2.3:7000", "10.1.2.3:7000", "transports.remoting.listen is that address"},
		{"auto", "[2001:db8::1]:7000", "[2001:db8::1]:7000", "transports.remoting.listen is that address"},
		{"", "10.1.2.3:7000", "10.1.2.3:7000", "transports.remoting.listen is that address"},
		{"auto", "0.0.0.0:7000", "", ""},
		{"auto", "[::]:7000", "", ""},
		{"192.0.2.7", "0.0.0.0:7000", "192.0.2.7:7000", "broker.advertise says so"},
		{"192.0.2.7:8000", "0.0.0.0:7000", "192.0.2.7:8000", "broker.advertise says so"},
		{"2001:db8::7", "[::]:7000", "[2001:db8::7]:7000", "broker.advertise says so"},
		{"[2001:db8::7]", "[::]:7000", "[2001:db8::7]:7000", "broker.advertise says so"},
		{"[2001:db8::7]:8000", "[::]:7000", "[2001:db8::7]:8000", "broker.advertise says so"},
		{"::ffff:192.0.2.7", "0.0.0.0:7000", "192.0.2.7:7000", "broker.advertise says so"},
		{"fe80::1%eth0", "0.0.0.0:7000", "[fe80::1]:7000", "broker.advertise says so"},
		{"localhost", "0.0.0.0:7000", "127.0.0.1:7000", "broker.advertise says so"},
		{"localhost:8000", "0.0.0.0:7000", "127.0.0.1:8000", "broker.advertise says so"},
		{"auto", "", "127.0.0.1:0", "no transport listens on a network"},
		{"192.0.2.7:8000", "", "192.0.2.7:8000", "broker.advertise says so"},
	} {
		t.Run(c.setting+" at "+c.listen, func(t *testing.T) {
			a, err := readAdvertise(t.Context(), c.setting)
			if err != nil {
				t.Fatal(err)
			}
			var listen netip.AddrPort
			if c.listen != "" {
				listen = netip.MustParseAddrPort(c.listen)
			}
			got := a.at(listen)
			if c.want != "" && got.Addr.String() != c.want || !strings.Contains(got.Why, c.why) || got.Why == "" {
				t.Errorf("clients are told %v because %s", got.Addr, got.Why)
			}
			if host := got.Addr.Addr(); host.IsUnspecified() || host.Zone() != "" || host.Is4In6() {
				t.Errorf("nobody could connect to %v", got.Addr)
			}
			if c.want == "" && got.Addr.Port() != 7000 {
				t.Errorf("clients are told %v", got.Addr)
			}
		})
	}
}

func TestAdvertiseRefuses(t *testing.T) {
	for setting, want := range map[string]string{
		"192.0.2.7:0":        `broker.advertise "192.0.2.7:0": "0" is not a port from 1 to 65535`,
		"192.0.2.7:70000":    `"70000" is not a port from 1 to 65535`,
		"192.0.2.7:http":     `"http" is not a port from 1 to 65535`,
		"0.0.0.0":            `broker.advertise "0.0.0.0": nobody can connect to 0.0.0.0; set it to the address of one interface`,
		"[::]:10911":         `nobody can connect to ::`,
		"224.0.0.1":          `nobody can connect to 224.0.0.1`,
		"no such.invalid":    `"no such.invalid" is neither an address nor a name that resolves`,
		"nowhere.invalid:80": `"nowhere.invalid" is neither an address nor a name that resolves`,
	} {
		if _, err := readAdvertise(t.Context(), setting); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", setting, err, want)
		}
	}
}

// TestAnAdvertisedNameThatDoesNotResolveTouchesNothing starts a broker whose setting is wrong: nothing is made on the disk.
func TestAnAdvertisedNameThatDoesNotResolveTouchesNothing(t *testing.T) {
	w := newWorld()
	w.cfg.Broker.Advertise = "nowhere.invalid"
	b := w.build(t)
	if err := b.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "nowhere.invalid") {
		t.Errorf("started: %v", err)
	}
	if _, err := w.fs.Stat("/data"); err == nil {
		t.Error("the data directory was made")
	}
}

// TestAnAddressThatCannotBeReachedIsReported advertises an address of this machine at which nobody listens.
func TestAnAddressThatCannotBeReachedIsReported(t *testing.T) {
	w := newWorld()
	w.cfg.Broker.Advertise = "127.0.0.1:1"
	n := w.start(t)
	a := n.b.Addresses()
	if a.Advertised.Addr.String() != "127.0.0.1:1" || !strings.Contains(a.Advertised.Problem, "a connection to it failed from this very machine") {
		t.Errorf("%+v", a.Advertised)
	}
	if a.Listen != listenAddr.String() || a.NameServer != "127.0.0.1:9876" {
		t.Errorf("%+v", a)
	}
}

// TestATransportWithoutANetwork runs a broker that nobody can connect to.
func TestATransportWithoutANetwork(t *testing.T) {
	w := newWorld()
	w.listen = textAddr("loopback")
	n := w.start(t)
	p := n.mustSend("T", "x")
	if host := n.record(p).StoreHost(); host.String() != "127.0.0.1:0" {
		t.Errorf("stored by %v", host)
	}
	if a := n.b.Addresses(); a.Listen != "" {
		t.Errorf("%+v", a)
	}
}

// TestASendThatComesBeforeTheAddressIsKnown waits for it, and is refused when the broker ends first.
func TestASendThatComesBeforeTheAddressIsKnown(t *testing.T) {
	for _, known := range []bool{true, false} {
		w := newWorld()
		n := w.start(t)
		h := n.b.handler
		h.host.Store(nil) // as it is while the first transport starts
		h.hostDone = make(chan struct{})
		done := make(sendDone, 1)
		go n.h.Sender.Send(t.Context(), &transport.SendBatch{
			Session: newSession("10.0.0.2:50000"), Sends: []transport.Send{newSend("T", "x")}, Reply: done,
		})
		select {
		case <-done:
			t.Error("answered before the address is known")
		default:
		}
		if known {
			h.host.Store(&listenAddr)
		}
		close(h.hostDone)
		if got := await(t, done).Sends[0]; known != (got.Code == 0) || !known && (got.Code != 14 || got.Remark != "the broker is stopping") {
			t.Errorf("known %v: %v %s", known, got.Code, got.Remark)
		}
	}
}
