package message

import (
	"encoding/json"
	"net/netip"
	"testing"
)

func TestOffsetIDVectors(t *testing.T) {
	vec := load[struct {
		OffsetID []struct {
			vecHost
			Offset int64
			ID     string
		}
		DecodeOffsetID []struct {
			ID     string
			Result json.RawMessage
		}
		UniqueID []struct {
			ID  string
			IP  string
			PID uint16
		}
	}](t, "message-ids.json")
	for _, v := range vec.OffsetID {
		if got := string(AppendOffsetID(nil, v.addr(t), Position(v.Offset))); got != v.ID {
			t.Errorf("%s, want %s", got, v.ID)
		}
		host, p, err := ParseOffsetID(v.ID)
		if err != nil || host != v.addr(t) || p != Position(v.Offset) {
			t.Errorf("%s: %v %d %v", v.ID, host, p, err)
		}
	}
	for _, v := range vec.DecodeOffsetID {
		var want struct {
			vecHost
			Offset int64
		}
		javaReads := json.Unmarshal(v.Result, &want) == nil
		host, p, err := ParseOffsetID(v.ID)
		switch {
		case err == nil && !javaReads:
			t.Errorf("%s: accepted, Java refuses", v.ID)
		case err == nil && (host != want.addr(t) || p != Position(want.Offset)):
			t.Errorf("%s: %v %d, want %v %d", v.ID, host, p, want.addr(t), want.Offset)
		case err != nil && javaReads && v.ID[0] != 'z' && v.ID[len(v.ID)-1] != 'G': // Java takes any letter for a digit
			t.Errorf("%s: %v", v.ID, err)
		}
	}
	for _, v := range vec.UniqueID {
		u, err := ParseUniqueID(v.ID)
		if err != nil || u.PID != v.PID || string(u.Append(nil)) != v.ID {
			t.Errorf("%s: %+v %v", v.ID, u, err)
		}
		if ip, _ := netip.AddrFromSlice(unhex(t, v.IP)); u.IP != ip {
			t.Errorf("%s: ip %v, want %v", v.ID, u.IP, ip)
		}
	}
}

func TestParseOffsetIDErrors(t *testing.T) {
	for id, want := range map[string]string{
		"":                                 `parse message id "": has 0 characters, want 32 or 56`,
		"zz00000100002A9F0000000000001000": `parse message id "zz00000100002A9F0000000000001000": encoding/hex: invalid byte: U+007A 'z'`,
		"0A000001000100000000000000001000": `parse message id "0A000001000100000000000000001000": port 65536 is out of range`,
	} {
		if _, _, err := ParseOffsetID(id); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
