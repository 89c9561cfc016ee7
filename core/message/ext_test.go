package message

import (
	"bytes"
	"encoding/hex"
	"testing"
)

// Units are byte for byte those of RocketMQ's classes.
func TestExtUnit(t *testing.T) {
	for _, c := range []struct {
		unit ExtUnit
		want string
	}{
		{ExtUnit{2598919, 1700000000123, make([]byte, 14)}, "0022000000000027a8070000018bcfe5687b000e0000000000000000000000000000"},
		{ExtUnit{-5, 1700000000002, []byte{0x0f, 0x7b}}, "0016fffffffffffffffb0000018bcfe5680200020f7b"},
		{ExtUnit{2598922, 1700000000003, nil}, "0014000000000027a80a0000018bcfe568030000"},
	} {
		b := AppendExtUnit(nil, c.unit)
		if hex.EncodeToString(b) != c.want {
			t.Errorf("%+v is %x, want %s", c.unit, b, c.want)
		}
		u, size, ok := DecodeExtUnit(append(b, 1, 2, 3))
		if !ok || size != len(b) || u.TagsCode != c.unit.TagsCode || u.StoreTimestamp != c.unit.StoreTimestamp || !bytes.Equal(u.Bitmap, c.unit.Bitmap) {
			t.Errorf("%x is %+v, %d bytes, %v", b, u, size, ok)
		}
		for n := range b {
			if _, _, ok := DecodeExtUnit(b[:n]); ok {
				t.Errorf("%d bytes of %d are a unit", n, len(b))
			}
		}
	}
}

func TestDecodeExtUnitRefuses(t *testing.T) {
	good := AppendExtUnit(nil, ExtUnit{7, 8, []byte{9}})
	for what, change := range map[string]func([]byte){
		"size 0":                  func(b []byte) { b[0], b[1] = 0, 0 },
		"the end of the file":     func(b []byte) { b[0], b[1] = 0xff, 0xff },
		"less than a unit":        func(b []byte) { b[1] = 19 },
		"a bitmap of other size":  func(b []byte) { b[19] = 2 },
		"a bitmap of size -1":     func(b []byte) { b[1], b[18], b[19] = 19, 0xff, 0xff },
		"an address for its code": func(b []byte) { b[2] = 0x80 },
	} {
		b := bytes.Clone(good)
		change(b)
		if u, _, ok := DecodeExtUnit(b); ok {
			t.Errorf("%s: %+v", what, u)
		}
	}
}

func TestExtAddress(t *testing.T) {
	if a := ExtAddress(34); a != -0x7FFFFFFFFFFFFFDE {
		t.Errorf("address of offset 34: %x", a)
	}
	for code, want := range map[int64]int64{-1 << 63: 0, -1<<63 + 34: 34, MaxExtAddress: 9223372034707292159} {
		if at, ok := ExtOffset(code); !ok || at != want {
			t.Errorf("%d: offset %d, %v, want %d", code, at, ok, want)
		}
	}
	for _, code := range []int64{0, 1, -1, -2147483648, 1<<63 - 1} {
		if at, ok := ExtOffset(code); ok {
			t.Errorf("%d is the address of offset %d", code, at)
		}
	}
}

func FuzzDecodeExtUnit(f *testing.F) {
	f.Add(AppendExtUnit(nil, ExtUnit{2598919, 1700000000123, make([]byte, 14)}))
	f.Add([]byte{0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		u, size, ok := DecodeExtUnit(b)
		if !ok {
			return
		}
		if again := AppendExtUnit(nil, u); !bytes.Equal(again, b[:size]) {
			t.Fatalf("%x came back as %x", b[:size], again)
		}
	})
}
