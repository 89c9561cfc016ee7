package message

import (
	"bytes"
	"errors"
	"maps"
	"math"
	"net/netip"
	"strings"
	"testing"
)

type recordVectors struct {
	DamageBase string
	Roundtrip  []struct {
		Fields struct {
			QueueID        int32   `json:"queueId"`
			Flag           int32   `json:"flag"`
			QueueOffset    int64   `json:"queueOffset"`
			PhyOffset      int64   `json:"phyOffset"`
			SysFlag        int32   `json:"sysFlag"`
			BornTimestamp  int64   `json:"bornTimestamp"`
			BornHost       vecHost `json:"bornHost"`
			StoreTimestamp int64   `json:"storeTimestamp"`
			StoreHost      vecHost `json:"storeHost"`
			ReconsumeTimes int32   `json:"reconsumeTimes"`
			Prepared       int64   `json:"preparedTransactionOffset"`
			Body           *string `json:"body"`
			Topic          string  `json:"topic"`
			Properties     string  `json:"properties"`
			BodyCRC        int32   `json:"bodyCRC"`
			StoreSize      int     `json:"storeSize"`
		}
		Record string
		MsgID  string
	}
	Damaged []struct {
		XorAt   int
		With    byte
		Outcome any
	}
	Truncated []struct{ Length int }
	Concat    []struct {
		Bytes      string
		DecodedIDs []string `json:"decodedIds"`
	} `json:"concatenated"`
}

// TestRecordVectors encodes what Java encoded, byte for byte, and reads every field back.
func TestRecordVectors(t *testing.T) {
	vec := load[recordVectors](t, "record-codec.json")
	if len(vec.Roundtrip) < 50 {
		t.Fatalf("only %d vectors", len(vec.Roundtrip))
	}
	for i, v := range vec.Roundtrip {
		f := v.Fields
		var body []byte
		if f.Body != nil {
			body = unhex(t, *f.Body)
		}
		m := Message{
			Topic: f.Topic, QueueID: QueueID(f.QueueID), Flag: f.Flag, SysFlag: f.SysFlag, BornTimestamp: f.BornTimestamp,
			BornHost: f.BornHost.addr(t), StoreHost: f.StoreHost.addr(t), ReconsumeTimes: f.ReconsumeTimes,
			Prepared: Position(f.Prepared), Body: body, Properties: Properties(f.Properties),
		}
		got, err := AppendRecord(nil, &m)
		if err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		Record(got).Place(Offset(f.QueueOffset), Position(f.PhyOffset), f.StoreTimestamp)
		want := unhex(t, v.Record)
		if !bytes.Equal(got, want) {
			t.Errorf("%d: encoded\n%x, want\n%x", i, got, want)
		}
		if m.Size() != f.StoreSize {
			t.Errorf("%d: size %d, want %d", i, m.Size(), f.StoreSize)
		}
		r, n, err := ParseRecord(append(want, "more"...))
		if err != nil || n != f.StoreSize || r.Size() != n {
			t.Fatalf("%d: parse: %d bytes, %v", i, n, err)
		}
		checks := map[string]bool{
			"queue":     r.QueueID() == QueueID(f.QueueID),
			"flag":      r.Flag() == f.Flag,
			"offset":    r.QueueOffset() == Offset(f.QueueOffset),
			"position":  r.Position() == Position(f.PhyOffset),
			"sysFlag":   r.SysFlag() == f.SysFlag,
			"born":      r.BornTimestamp() == f.BornTimestamp,
			"bornHost":  r.BornHost() == f.BornHost.addr(t),
			"stored":    r.StoreTimestamp() == f.StoreTimestamp,
			"storeHost": r.StoreHost() == f.StoreHost.addr(t),
			"reconsume": r.ReconsumeTimes() == f.ReconsumeTimes,
			"prepared":  r.PreparedPosition() == Position(f.Prepared),
			"body":      bytes.Equal(r.Body(), body),
			"topic":     string(r.Topic()) == f.Topic,
			"props":     string(r.Properties()) == f.Properties,
			"crc":       r.CRC() == f.BodyCRC,
			"id":        string(AppendOffsetID(nil, r.StoreHost(), r.Position())) == v.MsgID,
		}
		for name, ok := range checks {
			if !ok {
				t.Errorf("%d: %s differs", i, name)
			}
		}
	}
}

// TestRecordDamage flips bits. Our parser checks what Java's client decoder doesn't (size, magic, checksum), so it accepts less; never more.
func TestRecordDamage(t *testing.T) {
	vec := load[recordVectors](t, "record-codec.json")
	base := unhex(t, vec.DamageBase)
	crcFree := func(at int) bool { // header fields, topic and properties without any check
		return at >= 12 && at < 84 && at != 36 && at != 39 || at >= 94 && at != 103 && at != 104
	}
	for _, d := range vec.Damaged {
		b := bytes.Clone(base)
		b[d.XorAt] ^= d.With
		r, _, err := ParseRecord(b)
		_, javaReads := d.Outcome.(map[string]any)
		switch {
		case err == nil && !javaReads:
			t.Errorf("byte %d ^ %d: accepted, Java refuses", d.XorAt, d.With)
		case d.XorAt >= 88 && d.XorAt <= 92 && !errors.Is(err, ErrBadCRC):
			t.Errorf("body byte %d: %v, want ErrBadCRC", d.XorAt, err)
		case d.XorAt < 4 && !errors.Is(err, ErrShort) && !errors.Is(err, ErrBadLength):
			t.Errorf("size byte %d: %v", d.XorAt, err)
		case d.XorAt >= 4 && d.XorAt < 8 && !errors.Is(err, ErrBadMagic):
			t.Errorf("magic byte %d: %v", d.XorAt, err)
		case crcFree(d.XorAt) && err != nil:
			t.Errorf("byte %d: %v, want no error", d.XorAt, err)
		case err == nil:
			out := d.Outcome.(map[string]any)
			if want := strings.ToValidUTF8(out["topic"].(string), "\ufffd"); want != strings.ToValidUTF8(string(r.Topic()), "\ufffd") {
				t.Errorf("byte %d: topic %q, want %q", d.XorAt, r.Topic(), want)
			}
		}
	}
	for _, v := range vec.Truncated {
		if _, n, err := ParseRecord(base[:v.Length]); !errors.Is(err, ErrShort) || n != 8 && n != len(base) {
			t.Errorf("%d bytes: n %d, %v, want ErrShort", v.Length, n, err)
		}
	}
}

func TestRecordConcatenated(t *testing.T) {
	for i, v := range load[recordVectors](t, "record-codec.json").Concat {
		b := unhex(t, v.Bytes)
		var ids []string
		for len(b) > 0 {
			r, n, err := ParseRecord(b)
			if err != nil {
				t.Fatalf("%d: %v", i, err)
			}
			ids = append(ids, string(AppendOffsetID(nil, r.StoreHost(), r.Position())))
			b = b[n:]
		}
		if strings.Join(ids, ",") != strings.Join(v.DecodedIDs, ",") {
			t.Errorf("%d: ids %v, want %v", i, ids, v.DecodedIDs)
		}
	}
}

func sample(t testing.TB) []byte {
	m := Message{
		Topic: "T", QueueID: 3, BornTimestamp: 1690000000000, BornHost: netip.MustParseAddrPort("10.0.0.2:50000"),
		StoreHost: netip.MustParseAddrPort("[::ffff:10.0.0.1]:10911"), Body: []byte("hi"), Properties: Properties("TAGS\x01TagA"),
	}
	b, err := AppendRecord(nil, &m)
	if err != nil {
		t.Fatal(err)
	}
	Record(b).Place(5, 4096, 1690000000001)
	return b
}

// TestRecordWorkedExample is the example of the specification; the store host is given mapped and must come out as IPv4.
func TestRecordWorkedExample(t *testing.T) {
	want := unhex(t, strings.Join(strings.Fields(`00 00 00 67 da a3 20 a7 58 93 2a ac 00 00 00 03 00 00 00 00 00 00 00 00 00 00 00 05 00 00 00 00
		00 00 10 00 00 00 00 00 00 00 01 89 7b d9 84 00 0a 00 00 02 00 00 c3 50 00 00 01 89 7b d9 84 01
		0a 00 00 01 00 00 2a 9f 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 02 68 69 01 54 00 09 54 41
		47 53 01 54 61 67 41`), ""))
	if got := sample(t); !bytes.Equal(got, want) {
		t.Errorf("got\n%x, want\n%x", got, want)
	}
}

func TestParseRecordKinds(t *testing.T) {
	good := sample(t)
	edit := func(f func(b []byte)) []byte { b := bytes.Clone(good); f(b); return b }
	tests := []struct {
		name string
		b    []byte
		n    int
		err  error
	}{
		{"whole", good, 103, nil},
		{"empty", nil, 8, ErrShort},
		{"seven bytes", good[:7], 8, ErrShort},
		{"cut", good[:102], 103, ErrShort},
		{"zeroes", make([]byte, 200), 0, ErrBadMagic},
		{"blank", AppendBlank(nil, 5000), 5000, ErrBlank},
		{"smallest blank", AppendBlank(nil, 8), 8, ErrBlank},
		{"blank too small", AppendBlank(nil, 7), 0, ErrBadLength},
		{"blank negative", AppendBlank(nil, -1), 0, ErrBadLength},
		{"size 90", edit(func(b []byte) { b[3] = 90 }), 0, ErrBadLength},
		{"size too small by one", edit(func(b []byte) { b[3] = 102 }), 102, ErrBadLength},
		{"size negative", edit(func(b []byte) { b[0] = 0x80 }), 0, ErrBadLength},
		{"body", edit(func(b []byte) { b[88] = 'H' }), 103, ErrBadCRC},
		{"body length max", edit(func(b []byte) { copy(b[84:], "\x7f\xff\xff\xff") }), 103, ErrBadLength},
		{"topic length negative", edit(func(b []byte) { b[90] = 0xff }), 103, ErrBadLength},
		{"topic length max", edit(func(b []byte) { b[90] = 0x7f }), 103, ErrBadLength},
		{"properties one longer", edit(func(b []byte) { b[93]++ }), 103, ErrBadLength},
		{"properties negative", edit(func(b []byte) { b[92] = 0x80 }), 103, ErrBadLength},
		{"born host claims IPv6", edit(func(b []byte) { b[39] |= 0x10 }), 103, ErrBadLength},
	}
	for _, tt := range tests {
		if _, n, err := ParseRecord(tt.b); n != tt.n || !errors.Is(err, tt.err) {
			t.Errorf("%s: n %d, %v, want %d, %v", tt.name, n, err, tt.n, tt.err)
		}
	}
	negative := edit(func(b []byte) { copy(b[84:], "\xff\xff\xff\xff") })
	negative = append(negative[:88], negative[90:]...)
	negative[3] -= 2
	if r, _, err := ParseRecord(negative); err != nil || len(r.Body()) != 0 || string(r.Topic()) != "T" {
		t.Errorf("negative body length counts as none in Java: %v", err)
	}
}

func TestMessageCheck(t *testing.T) {
	ok := func() Message { return Message{Topic: "T", Body: []byte("12345")} }
	tests := []struct {
		name string
		edit func(m *Message)
		want string
	}{
		{"fine", func(*Message) {}, ""},
		{"no topic", func(m *Message) { m.Topic = "" }, "MESSAGE_ILLEGAL: the message has no topic"},
		{"topic", func(m *Message) { m.Topic = strings.Repeat("t", 128) }, "MESSAGE_ILLEGAL: the topic is longer than 127 bytes"},
		{"body", func(m *Message) { m.Body = []byte("123456") }, "MESSAGE_ILLEGAL: the message body is longer than the maximum message size"},
		{"properties", func(m *Message) { m.Properties = make(Properties, 32768) }, "MESSAGE_ILLEGAL: the properties are longer than 32767 bytes"},
		{"properties fit", func(m *Message) { m.Properties = make(Properties, 32767) }, ""},
		{"both properties and their joint", func(m *Message) {
			m.Properties, m.ExtraProperties = Properties("a\x01b"), make(Properties, 32764)
		}, "MESSAGE_ILLEGAL: the properties are longer than 32767 bytes"},
	}
	for _, tt := range tests {
		m := ok()
		tt.edit(&m)
		got := ""
		if err := m.Check(5); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	m := Message{Topic: strings.Repeat("t", 128)}
	if b, err := AppendRecord([]byte("before"), &m); err == nil || string(b) != "before" {
		t.Errorf("AppendRecord: %q, %v", b, err)
	}
}

func TestExtraPropertiesJoin(t *testing.T) {
	for _, tt := range []struct{ p, extra, want string }{
		{"", "", ""}, {"a\x01b", "", "a\x01b"}, {"", "c\x01d", "c\x01d"},
		{"a\x01b", "c\x01d", "a\x01b\x02c\x01d"}, {"a\x01b\x02", "c\x01d", "a\x01b\x02c\x01d"},
	} {
		m := Message{Topic: "T", Properties: Properties(tt.p), ExtraProperties: Properties(tt.extra)}
		b, _ := AppendRecord(nil, &m)
		r, _, err := ParseRecord(b)
		if err != nil || string(r.Properties()) != tt.want {
			t.Errorf("%q + %q: %q, %v, want %q", tt.p, tt.extra, r.Properties(), err, tt.want)
		}
	}
}

func TestSysFlagFollowsHosts(t *testing.T) {
	m := Message{Topic: "T", SysFlag: FlagCompressed | FlagBornHostV6 | FlagStoreHostV6}
	b, _ := AppendRecord(nil, &m)
	r, _, err := ParseRecord(b)
	if err != nil || r.SysFlag() != FlagCompressed || r.BornHost() != netip.MustParseAddrPort("0.0.0.0:0") {
		t.Errorf("sysFlag %x, born %v, %v", r.SysFlag(), r.BornHost(), err)
	}
}

func TestRecordAllocs(t *testing.T) {
	m := Message{Topic: "T", Body: make([]byte, 1024), Properties: Properties("TAGS\x01TagA"), BornHost: netip.MustParseAddrPort("[::1]:1")}
	buf := make([]byte, 0, 2048)
	var sink int64
	n := testing.AllocsPerRun(100, func() {
		b, _ := AppendRecord(buf[:0], &m)
		r, _, _ := ParseRecord(b)
		r.Place(1, 2, 3)
		v, _ := r.Properties().Get(PropTags)
		sink += TagsCode(v) + int64(r.BornHost().Port()) + int64(len(r.Body())+len(r.Topic()))
	})
	if n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func BenchmarkRecord(b *testing.B) {
	m := Message{Topic: "TopicTest", Body: make([]byte, 1024), Properties: Properties("TAGS\x01TagA\x02UNIQ_KEY\x017F0000010EA818B4AAC20B1A2C3D0000"),
		BornHost: netip.MustParseAddrPort("10.0.0.2:50000"), StoreHost: netip.MustParseAddrPort("10.0.0.1:10911")}
	buf := make([]byte, 0, 2048)
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = AppendRecord(buf, &m)
		}
	})
	rec, _ := AppendRecord(nil, &m)
	b.Run("parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _, _ = ParseRecord(rec)
		}
	})
	b.Run("view", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _, _ = ViewRecord(rec)
		}
	})
}

func FuzzParseRecord(f *testing.F) {
	f.Add(sample(f))
	f.Add(AppendBlank(nil, 64))
	f.Add(sample(f)[:60])
	for _, v := range load[recordVectors](f, "record-codec.json").Roundtrip {
		f.Add(unhex(f, v.Record))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, n, err := ParseRecord(b)
		if n < 0 || n > math.MaxInt32 {
			t.Fatalf("n %d", n)
		}
		if err != nil {
			return
		}
		if n < MinRecordSize || n > len(b) || len(r) != n {
			t.Fatalf("n %d of %d", n, len(b))
		}
		m := Message{Topic: string(r.Topic()), QueueID: r.QueueID(), Flag: r.Flag(), SysFlag: r.SysFlag(), BornTimestamp: r.BornTimestamp(),
			BornHost: r.BornHost(), StoreHost: r.StoreHost(), ReconsumeTimes: r.ReconsumeTimes(), Prepared: r.PreparedPosition(),
			Body: r.Body(), Properties: r.Properties()}
		again, err := AppendRecord(nil, &m)
		if err != nil {
			return // an empty topic is readable but can't be written
		}
		Record(again).Place(r.QueueOffset(), r.Position(), r.StoreTimestamp())
		r2, _, err := ParseRecord(again)
		if err != nil || !bytes.Equal(r2.Body(), r.Body()) || !maps.Equal(r2.Properties().Map(), r.Properties().Map()) {
			t.Fatalf("encoded again: %v", err)
		}
	})
}
