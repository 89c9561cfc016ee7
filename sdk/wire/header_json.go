package wire

import (
	"bytes"
	"strconv"

	"github.com/weirmq/weir/core/fastjson"
)

// The JSON header is an object with the keys code, extFields, flag, language, opaque, remark, serializeTypeCurrentRPC and
// version. Reading is as tolerant as Java's fastjson: keys in any order and letter case, unknown ones skipped, single or
// no quotes, numbers in quotes, numbers and booleans and nested values as ext values (they become their text), extra commas.

func (h *Header) decodeJSON(b []byte) error {
	s := scanner{b: b, h: h}
	if s.space() != '{' {
		return s.bad("not an object")
	}
	s.at++
	for {
		c := s.comma()
		if c == '}' {
			s.at++
			break
		}
		key, err := s.key()
		if err != nil {
			return err
		}
		if err := s.member(key); err != nil {
			return err
		}
	}
	if s.space(); s.at != len(s.b) {
		return s.bad("text behind the object")
	}
	return nil
}

// member reads the value of a top-level key.
func (s *scanner) member(key []byte) (err error) {
	h := s.h
	switch headerKey(key) {
	case "code":
		err = s.int32(&h.Code)
	case "flag":
		err = s.int32(&h.Flag)
	case "opaque":
		err = s.int32(&h.Opaque)
	case "version":
		err = s.int32(&h.Version)
	case "language":
		err = s.language()
	case "remark":
		h.Remark, err = s.text()
	case "extFields":
		err = s.extFields()
	default:
		_, err = s.value()
	}
	return err
}

// headerKey returns the known key that key is in some letter case, or "".
func headerKey(key []byte) string {
	switch string(key) {
	case "code":
		return "code"
	case "extFields":
		return "extFields"
	case "flag":
		return "flag"
	case "language":
		return "language"
	case "opaque":
		return "opaque"
	case "version":
		return "version"
	case "remark":
		return "remark"
	}
	for _, known := range [...]string{"code", "extFields", "flag", "language", "opaque", "version", "remark"} {
		if len(key) == len(known) && bytes.EqualFold(key, []byte(known)) {
			return known
		}
	}
	return ""
}

func (s *scanner) extFields() error {
	s.h.Ext = s.h.Ext[:0]
	c := s.space()
	if c != '{' {
		v, err := s.value()
		if err == nil && v.kind != kindNull {
			err = s.bad("extFields is not an object")
		}
		return err
	}
	s.at++
	for {
		if c = s.comma(); c == '}' {
			s.at++
			return nil
		}
		key, err := s.key()
		if err != nil {
			return err
		}
		if len(s.h.Ext) == MaxExtFields {
			return malformed("more than %d ext fields", MaxExtFields)
		}
		value, err := s.text()
		if err != nil {
			return err
		}
		s.h.Ext = append(s.h.Ext, Field{key, value})
	}
}

// language takes a name, an ordinal, or null. Java refuses an unknown bare ordinal; a newer client is more likely than
// garbage, so it is "other" here.
func (s *scanner) language() error {
	v, err := s.value()
	if err != nil {
		return err
	}
	switch v.kind {
	case kindString:
		s.h.Language = languageOf(v.text)
	case kindNumber:
		n, ok := decimalInt32(v.text)
		if !ok {
			return s.bad("language is no number")
		}
		s.h.Language = knownLanguage(n)
	default:
		s.h.Language = LanguageOther
	}
	return nil
}

// int32 reads a number, bare or in quotes. Null leaves *p alone.
func (s *scanner) int32(p *int32) error {
	v, err := s.value()
	if err != nil || v.kind == kindNull {
		return err
	}
	n, ok := decimalInt32(v.text)
	if !ok || v.kind != kindNumber && v.kind != kindString {
		return s.bad("no 32-bit number")
	}
	*p = n
	return nil
}

// decimalInt32 also takes a number like 1.0, as Java does.
func decimalInt32(b []byte) (int32, bool) {
	if n, ok := parseInt(b, 32); ok {
		return int32(n), true
	}
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil || f != float64(int32(f)) {
		return 0, false
	}
	return int32(f), true
}

// text reads a value as text: nil for null, what is between the quotes, or the value as it is written.
func (s *scanner) text() ([]byte, error) {
	v, err := s.value()
	if err != nil || v.kind == kindNull {
		return nil, err
	}
	return v.text, nil
}

// appendJSON writes the header as Java does: compact, keys in alphabetical order, null members left out, every ext value a string.
func (h *Header) appendJSON(dst []byte) []byte {
	dst = append(dst, `{"code":`...)
	dst = strconv.AppendInt(dst, int64(h.Code), 10)
	if len(h.Ext) > 0 {
		h.sortExt()
		dst = append(dst, `,"extFields":{`...)
		first := true
		for _, f := range h.Ext {
			if f.Value == nil {
				continue
			}
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = fastjson.AppendString(dst, f.Key)
			dst = append(dst, ':')
			dst = fastjson.AppendString(dst, f.Value)
		}
		dst = append(dst, '}')
	}
	dst = append(dst, `,"flag":`...)
	dst = strconv.AppendInt(dst, int64(h.Flag), 10)
	dst = append(dst, `,"language":"`...)
	dst = append(dst, languageName(h.Language)...)
	dst = append(dst, `","opaque":`...)
	dst = strconv.AppendInt(dst, int64(h.Opaque), 10)
	if h.Remark != nil {
		dst = append(dst, `,"remark":`...)
		dst = fastjson.AppendString(dst, h.Remark)
	}
	dst = append(dst, `,"serializeTypeCurrentRPC":"JSON","version":`...)
	dst = strconv.AppendInt(dst, int64(h.Version), 10)
	return append(dst, '}')
}
