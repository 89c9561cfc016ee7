package message

import (
	"encoding/hex"
	"encoding/json"
	"net/netip"
	"os"
	"testing"
)

// load reads one file of values that the classes of RocketMQ 4.9.7 computed.
func load[T any](t testing.TB, name string) T {
	t.Helper()
	var v T
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

type vecHost struct {
	IP   string `json:"ip"`
	Port uint16 `json:"port"`
}

func (h vecHost) addr(t testing.TB) netip.AddrPort {
	ip, ok := netip.AddrFromSlice(unhex(t, h.IP))
	if !ok {
		t.Fatalf("bad ip %q", h.IP)
	}
	return netip.AddrPortFrom(ip, h.Port)
}
