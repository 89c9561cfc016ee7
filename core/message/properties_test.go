package message

import (
	"bytes"
	"maps"
	"strings"
	"testing"
)

func TestPropertiesVectors(t *testing.T) {
	vec := load[struct {
		Encode []struct {
			Pairs [][]*string
			Text  string
		}
		Decode []struct {
			Text string
			Map  map[string]string
		}
	}](t, "properties.json")
	for _, v := range vec.Encode {
		var p Properties
		for _, kv := range v.Pairs {
			if kv[1] != nil {
				p = AppendProperty(p, *kv[0], *kv[1])
			}
		}
		if string(p) != v.Text && !strings.Contains(v.Text, "\x02\x02") {
			t.Errorf("encode %q, want %q", p, v.Text)
		}
	}
	for _, v := range vec.Decode {
		p := Properties(v.Text)
		if got := p.Map(); !maps.Equal(got, v.Map) {
			t.Errorf("decode %q: %q, want %q", v.Text, got, v.Map)
		}
		for name, want := range v.Map {
			if got, ok := p.Get(name); !ok || string(got) != want {
				t.Errorf("%q: Get(%q) = %q %v, want %q", v.Text, name, got, ok, want)
			}
		}
	}
}

func TestPropertiesGet(t *testing.T) {
	tests := []struct {
		p, name, want string
		ok            bool
	}{
		{"a\x01b", "a", "b", true},
		{"a\x01b", "", "", false},
		{"\x01b", "", "", false},
		{"a\x01", "a", "", false},
		{"a\x01b\x02a\x01", "a", "b", true}, // an empty value doesn't count
		{"a\x01b\x02a\x01c", "a", "c", true},
		{"a\x01b\x01c", "a", "b\x01c", true},
		{"a\x01b\x01c", "a\x01b", "", false}, // cut at the first separator
		{"ab\x01c", "a", "", false},
		{"a\x01b\x02", "a", "b", true},
	}
	for _, tt := range tests {
		if got, ok := Properties(tt.p).Get(tt.name); string(got) != tt.want || ok != tt.ok {
			t.Errorf("%q: Get(%q) = %q %v, want %q %v", tt.p, tt.name, got, ok, tt.want, tt.ok)
		}
	}
}

func TestPropertyEdit(t *testing.T) {
	p := Properties("WAIT\x01true\x02a\x01b\x02\x02WAIT\x01false\x02c\x01\x02")
	for _, tt := range []struct{ got, want string }{
		{string(AppendWithout(nil, p, PropWait)), "a\x01b\x02c\x01"},
		{string(AppendWithout(Properties("x\x01y"), p, PropWait, "c")), "x\x01y\x02a\x01b"},
		{string(AppendWithout(nil, p)), "WAIT\x01true\x02a\x01b\x02WAIT\x01false\x02c\x01"},
		{string(AppendReplaced(nil, p, PropWait, "no")), "a\x01b\x02c\x01\x02WAIT\x01no"},
		{string(AppendReplaced(nil, nil, "n", []byte("v"))), "n\x01v"},
		{string(AppendProperties(Properties("a\x01b"), Properties("c\x01d"))), "a\x01b\x02c\x01d"},
		{string(AppendProperties(Properties("a\x01b\x02"), Properties("c\x01d"))), "a\x01b\x02c\x01d"},
		{string(AppendProperties(nil, nil)), ""},
	} {
		if tt.got != tt.want {
			t.Errorf("%q, want %q", tt.got, tt.want)
		}
	}
	if !PropertyLegal("a", "b\x01c") || PropertyLegal("a\x01", "b") || PropertyLegal("a", "b\x02") || PropertyLegal("", "b") || PropertyLegal("a", "") {
		t.Error("PropertyLegal")
	}
}

func TestPropertyAllocs(t *testing.T) {
	p := Properties("UNIQ_KEY\x017F0000010EA818B4AAC20B1A2C3D0000\x02WAIT\x01true\x02TAGS\x01TagA\x02")
	buf := make(Properties, 0, 256)
	n := testing.AllocsPerRun(100, func() {
		buf = AppendReplaced(buf[:0], p, PropWait, "false")
		for name, value := range p.All() {
			_, _ = name, value
		}
		_, _ = p.Get(PropTags)
	})
	if n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func TestReservedPropertyVectors(t *testing.T) {
	vec := load[struct{ ReservedProperties []string }](t, "validators.json")
	for _, name := range vec.ReservedProperties {
		if !ReservedProperty(name) {
			t.Errorf("%s is not reserved", name)
		}
	}
	for _, name := range []string{"a", PropPreparedOffset, PropCheckTimes, PropCheckImmunity, PropMultiDispatch, PropTransactionID} {
		if ReservedProperty(name) {
			t.Errorf("%s is reserved", name)
		}
	}
}

func FuzzProperties(f *testing.F) {
	f.Add("a\x01b\x02c\x01d\x02", "a")
	f.Add("\x01\x02\x01\x01", "")
	f.Fuzz(func(t *testing.T, text, name string) {
		p := Properties(text)
		m := p.Map()
		got, ok := p.Get(name)
		if want, has := m[name]; ok != has || string(got) != want {
			t.Fatalf("Get(%q) = %q %v, want %q %v", name, got, ok, want, has)
		}
		rest := AppendWithout(nil, p, name)
		delete(m, name)
		if !maps.Equal(rest.Map(), m) {
			t.Fatalf("without %q: %q, want %q", name, rest.Map(), m)
		}
		if PropertyLegal(name, "v") {
			if v, _ := AppendReplaced(nil, p, name, "v").Get(name); !bytes.Equal(v, []byte("v")) {
				t.Fatalf("replaced: %q", v)
			}
		}
	})
}
