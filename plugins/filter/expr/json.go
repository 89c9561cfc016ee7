package expr

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// jsonDepthMax bounds how deep objects and arrays may nest.
const jsonDepthMax = 64

var (
	errJSON      = errors.New("the body isn't JSON")
	errJSONCut   = errors.New("the JSON field isn't within the part of the body that is looked at")
	errJSONDeep  = fmt.Errorf("the body's JSON is nested deeper than %d levels", jsonDepthMax)
	errJSONPlace = errors.New("write names of fields and numbers of elements, joined by dots")
)

// jsonPath leads to a value inside a JSON text: names of fields and, for arrays, numbers of elements from 0.
type jsonPath []jsonStep

type jsonStep struct {
	name  string
	index int // -1 when name is no number
}

// parseJSONPath reads "a.b.0.c".
func parseJSONPath(text string) (jsonPath, error) {
	var p jsonPath
	for _, name := range strings.Split(text, ".") {
		if name == "" {
			return nil, errJSONPlace
		}
		s := jsonStep{name: name, index: -1}
		if n, err := strconv.Atoi(name); err == nil && n >= 0 && strconv.Itoa(n) == name {
			s.index = n
		}
		p = append(p, s)
	}
	if len(p) > jsonDepthMax {
		return nil, fmt.Errorf("at most %d steps are allowed", jsonDepthMax)
	}
	return p, nil
}

// jsonScanner walks a JSON text once, from the front, and makes nothing of what it passes by. It looks at no more of the
// text than it must: a fault behind the value that is asked for goes unseen.
type jsonScanner struct {
	b  []byte
	at int
	// cut says that the text goes on behind b.
	cut bool
}

func (s *jsonScanner) fault() error {
	if s.cut && s.at >= len(s.b) {
		return errJSONCut
	}
	return errJSON
}

// find returns the bytes of the value at p, nil when there is none. Of fields with the same name the first counts.
func (s *jsonScanner) find(p jsonPath) ([]byte, error) {
	for _, step := range p {
		found, err := s.enter(step)
		if !found || err != nil {
			return nil, err
		}
	}
	s.blank()
	from := s.at
	if err := s.skip(jsonDepthMax); err != nil {
		return nil, err
	}
	return s.b[from:s.at], nil
}

// enter moves in front of one field or element of the value that s stands in front of.
func (s *jsonScanner) enter(step jsonStep) (found bool, err error) {
	switch s.peek() {
	case '{':
		return s.enterField(step.name)
	case '[':
		if step.index < 0 {
			return false, s.skip(jsonDepthMax)
		}
		return s.enterElement(step.index)
	default:
		return false, s.skip(jsonDepthMax)
	}
}

func (s *jsonScanner) enterField(name string) (found bool, err error) {
	s.at++
	if s.peek() == '}' {
		return false, nil
	}
	for {
		same, err := s.key(name)
		if same || err != nil {
			return same, err
		}
		if err := s.skip(jsonDepthMax); err != nil {
			return false, err
		}
		if more, err := s.more('}'); !more {
			return false, err
		}
	}
}

func (s *jsonScanner) enterElement(index int) (found bool, err error) {
	s.at++
	if s.peek() == ']' {
		return false, nil
	}
	for ; ; index-- {
		if index == 0 {
			return true, nil
		}
		if err := s.skip(jsonDepthMax); err != nil {
			return false, err
		}
		if more, err := s.more(']'); !more {
			return false, err
		}
	}
}

// key reads the name of a field and its colon, and says whether it is name.
func (s *jsonScanner) key(name string) (same bool, err error) {
	s.blank()
	raw, plain, err := s.text()
	if err != nil {
		return false, err
	}
	if plain {
		same = string(raw[1:len(raw)-1]) == name
	} else {
		key, err := unquote(raw)
		if err != nil {
			return false, err
		}
		same = key == name
	}
	if s.peek() != ':' {
		return false, s.fault()
	}
	s.at++
	return same, nil
}

// more passes a comma, or the end of an object or array.
func (s *jsonScanner) more(end byte) (bool, error) {
	switch s.peek() {
	case ',':
		s.at++
		return true, nil
	case end:
		s.at++
		return false, nil
	}
	return false, s.fault()
}

// blank passes white space.
func (s *jsonScanner) blank() {
	for s.at < len(s.b) {
		switch s.b[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

// peek passes white space and returns the byte behind it, 0 at the end.
func (s *jsonScanner) peek() byte {
	s.blank()
	if s.at >= len(s.b) {
		return 0
	}
	return s.b[s.at]
}

// skip passes one value.
func (s *jsonScanner) skip(depth int) error {
	switch c := s.peek(); c {
	case '{', '[':
		return s.skipNested(c+2, depth-1) // } and ] are two behind { and [
	case '"':
		_, _, err := s.text()
		return err
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	}
	_, err := s.number()
	return err
}

func (s *jsonScanner) skipNested(end byte, depth int) error {
	if depth < 0 {
		return errJSONDeep
	}
	s.at++
	if s.peek() == end {
		s.at++
		return nil
	}
	for {
		if end == '}' {
			if _, _, err := s.text(); err != nil {
				return err
			}
			if s.peek() != ':' {
				return s.fault()
			}
			s.at++
		}
		if err := s.skip(depth); err != nil {
			return err
		}
		if more, err := s.more(end); !more {
			return err
		}
		s.blank()
	}
}

func (s *jsonScanner) word(w string) error {
	if !bytes.HasPrefix(s.b[s.at:], []byte(w)) {
		if len(s.b)-s.at < len(w) {
			s.at = len(s.b)
		}
		return s.fault()
	}
	s.at += len(w)
	return nil
}

// text passes a text and returns it with its quotes; plain says that it has no escapes.
func (s *jsonScanner) text() (raw []byte, plain bool, err error) {
	if s.at >= len(s.b) || s.b[s.at] != '"' {
		return nil, false, s.fault()
	}
	from := s.at
	plain = true
	for s.at++; s.at < len(s.b); s.at++ {
		switch c := s.b[s.at]; {
		case c == '"':
			s.at++
			return s.b[from:s.at], plain, nil
		case c == '\\':
			plain = false
			s.at++
		case c < ' ':
			return nil, false, errJSON
		}
	}
	s.at = len(s.b)
	return nil, false, s.fault()
}

// number passes a number.
func (s *jsonScanner) number() ([]byte, error) {
	from := s.at
	s.is('-', '-')
	if !s.is('0', '0') && !s.digits() {
		return nil, s.fault()
	}
	if s.is('.', '.') && !s.digits() {
		return nil, s.fault()
	}
	if s.is('e', 'E') {
		s.is('+', '-')
		if !s.digits() {
			return nil, s.fault()
		}
	}
	if s.cut && s.at == len(s.b) {
		return nil, errJSONCut // it may go on
	}
	return s.b[from:s.at], nil
}

// is passes one of two bytes.
func (s *jsonScanner) is(a, b byte) bool {
	if s.at < len(s.b) && (s.b[s.at] == a || s.b[s.at] == b) {
		s.at++
		return true
	}
	return false
}

// digits passes digits.
func (s *jsonScanner) digits() bool {
	first := s.at
	for s.at < len(s.b) && s.b[s.at]-'0' <= 9 {
		s.at++
	}
	return s.at > first
}

// plainText says whether a text with its quotes stands for just the bytes between them.
func plainText(raw []byte) bool { return bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) }

// textOf reads a text with its quotes; plain says that it has no escapes.
func textOf(raw []byte, plain bool) (string, error) {
	if plain && utf8.Valid(raw) {
		return string(raw[1 : len(raw)-1]), nil
	}
	return unquote(raw)
}

// unquote reads a text with its quotes and escapes.
func unquote(raw []byte) (string, error) {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return "", errJSON
	}
	return text, nil
}

// decodeJSON makes values of the language of a value that find has found: nil, bool, int, float64, string, []any and
// map[string]any. charge is told of the memory that each takes, in bytes, and how much of it is text.
func decodeJSON(raw []byte, charge charger) (any, error) {
	s := &jsonScanner{b: raw}
	return s.decode(charge)
}

type charger func(bytes, text int) error

// Bytes that a value takes, about: an interface, and an entry of a map.
const (
	valueSize = 16
	entrySize = 64
)

func (s *jsonScanner) decode(charge charger) (any, error) {
	if err := charge(valueSize, 0); err != nil {
		return nil, err
	}
	switch s.peek() {
	case '{':
		return s.decodeObject(charge)
	case '[':
		return s.decodeArray(charge)
	case '"':
		raw, plain, err := s.text()
		if err != nil {
			return nil, err
		}
		if err := charge(len(raw), len(raw)); err != nil {
			return nil, err
		}
		return textOf(raw, plain)
	case 't':
		return true, s.word("true")
	case 'f':
		return false, s.word("false")
	case 'n':
		return nil, s.word("null")
	}
	raw, err := s.number()
	if err != nil {
		return nil, err
	}
	return jsonNumber(raw), nil
}

// jsonNumber returns an int for a whole number without exponent that fits, else a float64.
func jsonNumber(raw []byte) any {
	if n, err := strconv.Atoi(string(raw)); err == nil {
		return n
	}
	f, _ := strconv.ParseFloat(string(raw), 64) // what is too large is infinite
	return f
}

func (s *jsonScanner) decodeObject(charge charger) (any, error) {
	m := map[string]any{}
	s.at++
	if s.peek() == '}' {
		s.at++
		return m, nil
	}
	for {
		s.blank()
		raw, plain, err := s.text()
		if err != nil {
			return nil, err
		}
		if err := charge(entrySize+len(raw), 0); err != nil {
			return nil, err
		}
		key, err := textOf(raw, plain)
		if err != nil {
			return nil, err
		}
		if s.peek() != ':' {
			return nil, s.fault()
		}
		s.at++
		value, err := s.decode(charge)
		if err != nil {
			return nil, err
		}
		if _, twice := m[key]; !twice {
			m[key] = value
		}
		if more, err := s.more('}'); !more {
			return m, err
		}
	}
}

func (s *jsonScanner) decodeArray(charge charger) (any, error) {
	list := []any{}
	s.at++
	if s.peek() == ']' {
		s.at++
		return list, nil
	}
	for {
		value, err := s.decode(charge)
		if err != nil {
			return nil, err
		}
		list = append(list, value)
		if more, err := s.more(']'); !more {
			return list, err
		}
	}
}
