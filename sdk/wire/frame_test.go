package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestFrameVectorsEncode(t *testing.T) {
	vec := load[struct {
		Encode []struct {
			Fields     plain
			Body       *string
			JSONHeader string
			Binary     string
		}
	}](t, "command-frame.json")
	for i, v := range vec.Encode {
		var body []byte
		if v.Body != nil {
			body = unhex(t, *v.Body)
		}
		// Java's bytes are read as meant, and what we write for the same fields has the same bytes but for the order of ext fields.
		for _, typ := range []Type{JSON, Binary} {
			want := unhex(t, v.Binary)
			if typ == JSON {
				want = rawFrame(JSON, []byte(v.JSONHeader), body)
			}
			var h Header
			gotBody, err := h.Decode(want)
			if err != nil {
				t.Errorf("%d %v: %v", i, typ, err)
				continue
			}
			if d := same(&h, &v.Fields); d != "" || !bytes.Equal(gotBody, body) {
				t.Errorf("%d %v: %s differs", i, typ, d)
			}
			ours, err := AppendFrame([]byte("before"), v.Fields.header(typ), body)
			if err != nil {
				t.Fatal(err)
			}
			ours = ours[len("before"):]
			if v.Fields.Ext != nil && len(v.Fields.Ext) == 0 {
				continue // we don't write an empty extFields
			}
			if len(v.Fields.Ext) <= 1 && !bytes.Equal(ours, want) {
				t.Errorf("%d %v:\n%q, want\n%q", i, typ, ours, want)
			}
			if len(ours) != len(want) {
				t.Errorf("%d %v: %d bytes, want %d\n%q\n%q", i, typ, len(ours), len(want), ours, want)
			}
		}
	}
}

func rawFrame(typ Type, header, body []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(4+len(header)+len(body)))
	b = binary.BigEndian.AppendUint32(b, uint32(typ)<<24|uint32(len(header)))
	return append(append(b, header...), body...)
}

func TestFrameVectorsDecode(t *testing.T) {
	type vector struct {
		Input, Frame string
		Result       json.RawMessage
		ReadBack     json.RawMessage
	}
	vec := load[struct {
		DecodeJSON   []vector `json:"decodeJson"`
		FastEncode   []vector
		DecodeBinary []vector
	}](t, "command-frame.json")
	for _, v := range vec.FastEncode {
		v.Input, v.Result = v.Frame, v.ReadBack
		vec.DecodeBinary = append(vec.DecodeBinary, v)
	}
	for _, v := range append(vec.DecodeJSON, vec.DecodeBinary...) {
		frame := unhex(t, v.Frame)
		var h Header
		var body []byte
		_, n, err := NextFrame(frame)
		if err == nil && n != len(frame) {
			err = fmt.Errorf("NextFrame wants %d of %d bytes", n, len(frame))
		}
		if err == nil {
			body, err = h.Decode(frame)
		}
		var want plain
		javaReads := json.Unmarshal(v.Result, &want) == nil
		if strings.Contains(v.Input, `"language":99`) { // we are milder with languages to come
			javaReads, want = true, plain{Code: 10}
		}
		if (err == nil) != javaReads {
			t.Errorf("%s: %v, want %s", v.Input, err, v.Result)
			continue
		}
		if err != nil {
			continue
		}
		if d := same(&h, &want); d != "" {
			t.Errorf("%s: %s differs: %+v, want %s", v.Input, d, h, v.Result)
		}
		if (want.Body == nil) != (body == nil) {
			t.Errorf("%s: body %q", v.Input, body)
		}
	}
}

func TestNextFrame(t *testing.T) {
	good := rawFrame(JSON, []byte("{}"), []byte("body"))
	limit := func(size int32, word uint32) []byte {
		b := binary.BigEndian.AppendUint32(nil, uint32(size))
		return binary.BigEndian.AppendUint32(b, word)
	}
	tests := []struct {
		name string
		buf  []byte
		n    int
		err  string
	}{
		{"whole", good, 14, ""},
		{"two", append(bytes.Clone(good), good...), 14, ""},
		{"nothing", nil, 8, ""},
		{"three bytes", good[:3], 8, ""},
		{"length only", good[:4], 8, ""},
		{"prefix only", good[:8], 14, ""},
		{"all but one", good[:13], 14, ""},
		{"length 3", limit(3, 0), 0, "malformed frame: length 3, want 4 to 16777212"},
		{"length 0", limit(0, 0)[:4], 0, "malformed frame: length 0, want 4 to 16777212"},
		{"negative", limit(-1, 0), 0, "malformed frame: length -1, want 4 to 16777212"},
		{"longest", limit(16777212, 0), 16777216, ""},
		{"too long", limit(16777213, 0)[:4], 0, "malformed frame: length 16777213, want 4 to 16777212"},
		{"TLS", []byte{0x16, 3, 1, 0}, 0, "malformed frame: length 369295616, want 4 to 16777212"},
		{"type 2", limit(4, 2<<24), 0, "malformed frame: header type 2, want 0 or 1"},
		{"header too long for frame", limit(4, 1), 0, "malformed frame: header of 1 bytes in a frame of 8"},
		{"header too long", limit(16777212, 262145), 0, "malformed frame: header of 262145 bytes, at most 262144 are read"},
	}
	for _, tt := range tests {
		frame, n, err := NextFrame(tt.buf)
		got := ""
		if err != nil {
			got = err.Error()
			if !errors.Is(err, ErrMalformed) {
				t.Errorf("%s: %v doesn't match ErrMalformed", tt.name, err)
			}
		}
		if n != tt.n || got != tt.err || (frame != nil) != (err == nil && len(tt.buf) >= tt.n) {
			t.Errorf("%s: frame %q, n %d, %q, want %d, %q", tt.name, frame, n, got, tt.n, tt.err)
		}
	}
}

func TestDecodeBounds(t *testing.T) {
	many := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"k%d":"v",`, i)
		}
		return `{"extFields":{` + b.String() + `}}`
	}
	var binaryMany []byte
	for range 257 {
		binaryMany = append(binaryMany, 0, 1, 'k', 0, 0, 0, 1, 'v')
	}
	head := make([]byte, 17, 4000)
	head = binary.BigEndian.AppendUint32(head, uint32(len(binaryMany)))
	tests := []struct {
		name  string
		frame []byte
		err   string
	}{
		{"256 fields", rawFrame(JSON, []byte(many(256)), nil), ""},
		{"257 fields", rawFrame(JSON, []byte(many(257)), nil), "malformed frame: more than 256 ext fields"},
		{"257 binary fields", rawFrame(Binary, append(head, binaryMany...), nil), "malformed frame: more than 256 ext fields"},
		{"nested 64", rawFrame(JSON, []byte(`{"x":`+strings.Repeat("[", 64)+strings.Repeat("]", 64)+"}"), nil), ""},
		{"nested 65", rawFrame(JSON, []byte(`{"x":`+strings.Repeat("[", 65)+strings.Repeat("]", 65)+"}"), nil), "malformed frame: JSON header at byte 69: nested too deeply"},
		{"unbalanced", rawFrame(JSON, []byte(`{"x":[}}`), nil), "malformed frame: JSON header at byte 6: unbalanced brackets"},
		{"open string", rawFrame(JSON, []byte(`{"x":"\"`), nil), "malformed frame: JSON header at byte 8: string is cut off"},
		{"bad escape", rawFrame(JSON, []byte(`{"x":"\q"}`), nil), "malformed frame: JSON header at byte 8: unknown escape"},
		{"tail", rawFrame(JSON, []byte(`{} x`), nil), "malformed frame: JSON header at byte 3: text behind the object"},
		{"length field", rawFrame(JSON, []byte(`{}`), nil)[:9], "malformed frame: length field says 10 bytes, the frame has 9"},
		{"short", []byte{0, 0, 0}, "malformed frame: 3 bytes"},
		{"extFields a list", rawFrame(JSON, []byte(`{"extFields":[]}`), nil), "malformed frame: JSON header at byte 15: extFields is not an object"},
	}
	for _, tt := range tests {
		var h Header
		_, err := h.Decode(tt.frame)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != tt.err {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.err)
		}
	}
}

func TestAppendFrameErrors(t *testing.T) {
	dst := []byte("before")
	h := Header{Type: Binary, Code: 200050}
	if b, err := AppendFrame(dst, &h, nil); err == nil || string(b) != "before" ||
		err.Error() != "encode frame: code 200050 or version 0 doesn't fit the binary header, use JSON" {
		t.Errorf("%q, %v", b, err)
	}
	h.Type = JSON
	if b, err := AppendFrame(dst, &h, make([]byte, MaxFrameSize-60)); !errors.Is(err, ErrTooLong) || string(b) != "before" {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if b, err := AppendHead(nil, &h, 100); err != nil || binary.BigEndian.Uint32(b) != uint32(len(b)-4+100) {
		t.Errorf("%q, %v", b, err)
	}
}

// TestWorkedExamples are the bytes of the specification's appendix.
func TestWorkedExamples(t *testing.T) {
	h := Header{Type: Binary, Code: 105, Language: LanguageGo, Version: 317, Opaque: 1}
	h.SetString("topic", "T")
	b, _ := AppendFrame(nil, &h, nil)
	if want := unhex(t, "0000002501000021006909013d0000000100000000000000000000000c0005746f7069630000000154"); !bytes.Equal(b, want) {
		t.Errorf("binary %x", b)
	}
	h.Type = JSON
	b, _ = AppendFrame(nil, &h, nil)
	if want := "\x00\x00\x00\x7d\x00\x00\x00\x79" + `{"code":105,"extFields":{"topic":"T"},"flag":0,"language":"GO","opaque":1,"serializeTypeCurrentRPC":"JSON","version":317}`; string(b) != want {
		t.Errorf("JSON %q", b)
	}
}

func TestHeaderFields(t *testing.T) {
	var h Header
	_, err := h.Decode(rawFrame(JSON, []byte(`{"extFields":{"n":"12","big":"2147483648","x":"1x","e":"","T":"TRUE","one":"1","nil":null,"d":"1","d":"2"}}`), nil))
	if err != nil {
		t.Fatal(err)
	}
	str := func(v any, err error) string {
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(v)
	}
	for _, tt := range []struct{ got, want string }{
		{str(h.Int32("n")), "12"},
		{str(h.Int32("d")), "2"},
		{str(h.Int32("big")), `SYSTEM_ERROR: the request's field big is "2147483648", want a 32-bit integer`},
		{str(h.Int64("big")), "2147483648"},
		{str(h.Int64("x")), `SYSTEM_ERROR: the request's field x is "1x", want a 64-bit integer`},
		{str(h.Int32("none")), "SYSTEM_ERROR: the request has no field none"},
		{str(h.Int32("nil")), "SYSTEM_ERROR: the request has no field nil"},
		{str(h.OptInt32("e", 7)), "7"},
		{str(h.OptInt32("none", 7)), "7"},
		{str(h.OptInt32("n", 7)), "12"},
		{str(h.OptInt64("x", 7)), `SYSTEM_ERROR: the request's field x is "1x", want a 64-bit integer`},
		{str(h.Text("e")), ""},
		{str(h.Text("none")), "SYSTEM_ERROR: the request has no field none"},
		{h.OptText("none") + h.OptText("n"), "12"},
		{fmt.Sprint(h.Bool("T"), h.Bool("one"), h.Bool("none"), h.OptBool("none", true), h.OptBool("one", true)), "true false false true false"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s, want %s", tt.got, tt.want)
		}
	}
}

func TestParseInt(t *testing.T) {
	for s, want := range map[string]string{
		"9223372036854775807": "9223372036854775807 true", "-9223372036854775808": "-9223372036854775808 true",
		"9223372036854775808": "0 false", "-9223372036854775809": "0 false", "99999999999999999999": "0 false",
		"+5": "5 true", "-0": "0 true", "": "0 false", "-": "0 false", " 1": "0 false", "1.0": "0 false",
		"00000000000000000000000000012": "12 true",
	} {
		n, ok := parseInt([]byte(s), 64)
		if got := fmt.Sprint(n, ok); got != want {
			t.Errorf("%q: %s, want %s", s, got, want)
		}
	}
}

func TestReply(t *testing.T) {
	h := Header{Type: Binary, Code: 11, Opaque: 42, Remark: []byte("x")}
	h.SetString("a", "b")
	h.Reply(&h, 19)
	h.SetRemark("NO_MESSAGE")
	b, _ := AppendFrame(nil, &h, nil)
	var got Header
	if _, err := got.Decode(b); err != nil {
		t.Fatal(err)
	}
	if got.Type != Binary || got.Code != 19 || got.Opaque != 42 || !got.IsResponse() || got.IsOneway() || got.Version != 407 ||
		string(got.Remark) != "NO_MESSAGE" || len(got.Ext) != 0 {
		t.Errorf("%+v", got)
	}
}
