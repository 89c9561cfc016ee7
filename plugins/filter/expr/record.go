package expr

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
)

// layout says which properties a program reads, and finds them in a property string.
type layout struct {
	names []string
	// first leads from a name's first byte to the first name that begins with it, chain to the next. Both count from 1.
	first [256]uint16
	chain []uint16
}

func newLayout(names []string) *layout {
	l := &layout{names: names, chain: make([]uint16, len(names))}
	for i, n := range names {
		l.chain[i] = l.first[n[0]]
		l.first[n[0]] = uint16(i + 1)
	}
	return l
}

func (l *layout) slot(name string) int {
	for i, n := range l.names {
		if n == name {
			return i
		}
	}
	panic("expr: a property without a slot: " + name)
}

// load fills slots with the properties of p, in one pass. Of properties with the same name the last counts.
func (l *layout) load(p message.Properties, slots []slot) {
	for i := range slots {
		slots[i].set(nil)
	}
	if len(slots) == 0 {
		return
	}
	for len(p) > 0 {
		item := p
		if i := bytes.IndexByte(p, message.PropertyItemEnd); i >= 0 {
			item, p = p[:i], p[i+1:]
		} else {
			p = nil
		}
		if len(item) == 0 {
			continue
		}
		for next := l.first[item[0]]; next != 0; next = l.chain[next-1] {
			name := l.names[next-1]
			if n := len(name); len(item) > n+1 && item[n] == message.PropertyNameEnd && string(item[:n]) == name {
				slots[next-1].raw = item[n+1:]
				break
			}
		}
	}
}

// reading says whether a text has been read as a number.
type reading uint8

const (
	unread reading = iota
	isNumber
	noNumber
)

// slot is one property of the message that is being judged, and what has been made of it. The boxes are kept from one
// message to the next, so that values that come again and again cost no memory.
type slot struct {
	raw   []byte // borrowed; nil when the message doesn't have it
	num   reading
	int   reading
	float float64
	whole int

	textBox  [textBoxes]any // by boxOf
	floatBox any
	wholeBox any
	listBox  any // for keys: the list of what listText is
	listText string
}

// set begins a message, which has the property raw or, with nil, doesn't.
func (s *slot) set(raw []byte) { s.raw, s.num, s.int = raw, unread, unread }

// text returns the property as a value of the language.
func (s *slot) text() any {
	if s.raw == nil {
		return nil
	}
	box := &s.textBox[boxOf(s.raw)]
	if old, ok := (*box).(string); !ok || old != string(s.raw) {
		*box = string(s.raw)
	}
	return *box
}

// textBoxes is how many texts of a property are kept, a power of two.
const textBoxes = 16

// boxOf chooses the box of a text.
func boxOf(text []byte) uint {
	n := len(text)
	return (uint(text[0]) ^ uint(text[n-1])*3 ^ uint(text[n/2])*5 ^ uint(n)*7) % textBoxes
}

// list returns the property, taken apart at blanks.
func (s *slot) list() any {
	if s.raw == nil {
		return nil
	}
	if s.listBox == nil || s.listText != string(s.raw) {
		s.listText = string(s.raw)
		s.listBox = strings.FieldsFunc(s.listText, func(r rune) bool { return r == ' ' })
	}
	return s.listBox
}

// readFloat reads the property, which is there, as a number; see num.
func (s *slot) readFloat() bool {
	if s.num == unread {
		s.num = noNumber
		if f, ok := filter.ParseDouble(s.raw); ok {
			s.float, s.num = f, isNumber
		}
	}
	return s.num == isNumber
}

// readInt reads the property, which is there, as a whole number; see int.
func (s *slot) readInt() bool {
	if s.int == unread {
		s.int = noNumber
		if n, ok := filter.ParseInt64(s.raw); ok {
			s.whole, s.int = int(n), isNumber
		}
	}
	return s.int == isNumber
}

func (s *slot) boxFloat() any {
	if old, ok := s.floatBox.(float64); !ok || old != s.float || s.float == 0 {
		s.floatBox = s.float
	}
	return s.floatBox
}

func (s *slot) boxInt() any {
	if old, ok := s.wholeBox.(int); !ok || old != s.whole {
		s.wholeBox = s.whole
	}
	return s.wholeBox
}

var (
	errCompressed = errors.New("the body can't be decompressed")
	errBodyKind   = errors.New("the body is compressed in a way that filters can't read")
)

// body is the body of the message that is being judged.
type body struct {
	max int

	read  bool
	bytes []byte
	cut   bool // the body goes on behind bytes
	err   error

	buffer []byte
	zip    io.ReadCloser
	source bytes.Reader
}

// load reads the body of rec, at most max bytes.
func (b *body) load(rec message.Record) {
	b.read = true
	raw := rec.Body()
	if rec.SysFlag()&message.FlagCompressed == 0 {
		b.cut = len(raw) > b.max
		b.bytes, b.err = raw[:min(len(raw), b.max)], nil
		return
	}
	b.bytes, b.cut = nil, false
	if kind := rec.SysFlag() & message.FlagCompressionMask; kind != 0 && kind != message.FlagZlib {
		b.err = errBodyKind
		return
	}
	b.bytes, b.cut, b.err = b.inflate(raw)
}

func (b *body) inflate(raw []byte) (text []byte, cut bool, err error) {
	b.source.Reset(raw)
	if b.zip == nil {
		b.zip, err = zlib.NewReader(&b.source)
	} else {
		err = b.zip.(zlib.Resetter).Reset(&b.source, nil)
	}
	if err != nil {
		b.zip = nil
		return nil, false, fmt.Errorf("%w: %w", errCompressed, err)
	}
	if b.buffer == nil {
		b.buffer = make([]byte, b.max+1)
	}
	n, err := io.ReadFull(b.zip, b.buffer)
	switch {
	case err == nil:
		return b.buffer[:b.max], true, nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF) && b.ended():
		return b.buffer[:n], false, nil
	}
	return nil, false, fmt.Errorf("%w: %w", errCompressed, err)
}

// ended says whether the compressed text came to its own end: ReadFull tells a short text and a cut stream alike.
func (b *body) ended() bool {
	var one [1]byte
	_, err := b.zip.Read(one[:])
	return errors.Is(err, io.EOF)
}

// compressedMax is how much of a compressed body is enough for max bytes of text: what can't be compressed is stored in
// blocks with a head of 5 bytes each, which are 4KiB or longer but for flushes.
func compressedMax(max int) int { return max + max/64 + 1024 }
