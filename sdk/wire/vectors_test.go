package wire

import (
	"encoding/hex"
	"encoding/json"
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

// plain is a header without views, for comparison.
type plain struct {
	Code     int32              `json:"code"`
	Language *string            `json:"language"`
	Version  int32              `json:"version"`
	Opaque   int32              `json:"opaque"`
	Flag     int32              `json:"flag"`
	Remark   *string            `json:"remark"`
	Ext      map[string]*string `json:"ext"`
	Body     *string            `json:"body"`
}

func (p *plain) header(typ Type) *Header {
	h := &Header{Type: typ, Code: p.Code, Version: p.Version, Opaque: p.Opaque, Flag: p.Flag, Language: LanguageOther}
	if p.Language != nil {
		h.Language = ParseLanguage(*p.Language)
	}
	if p.Remark != nil {
		h.Remark = []byte(*p.Remark)
	}
	for k, v := range p.Ext {
		if v != nil {
			h.SetString(k, *v)
		}
	}
	return h
}

func text(b []byte) string {
	if b == nil {
		return "null"
	}
	return string(b)
}

// same says in words how h differs from want, or "". Fields that are null or, in the binary header, empty don't count.
func same(h *Header, want *plain) string { return differs(h, want, h.Type == Binary) }

// differs is same with a choice whether an empty text and none are alike.
func differs(h *Header, want *plain, emptyIsNull bool) string {
	lang := "OTHER"
	if want.Language != nil {
		lang = *want.Language
	}
	empty := func(s string) bool { return emptyIsNull && s == "" }
	switch {
	case h.Code != want.Code:
		return "code"
	case h.Language.String() != lang:
		return "language"
	case h.Version != want.Version:
		return "version"
	case h.Opaque != want.Opaque:
		return "opaque"
	case h.Flag != want.Flag:
		return "flag"
	case want.Remark == nil && h.Remark != nil && !empty(text(h.Remark)):
		return "remark"
	case want.Remark != nil && !empty(*want.Remark) && text(h.Remark) != *want.Remark:
		return "remark"
	}
	n := 0
	for k, v := range want.Ext {
		if v == nil || empty(*v) {
			continue
		}
		n++
		if got, ok := h.Get(k); !ok || string(got) != *v {
			return "ext " + k
		}
	}
	h.Unique()
	for _, f := range h.Ext {
		if !empty(string(f.Value)) {
			n--
		}
	}
	if n != 0 {
		return "number of ext fields"
	}
	return ""
}
