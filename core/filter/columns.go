package filter

import (
	"encoding/binary"
	"math/bits"
	"strings"

	"github.com/weirmq/weir/core/message"
)

// ColumnsMax is the number of messages in one Columns: the bits of a word.
const ColumnsMax = 64

// Kind says how a column's text is read.
type Kind uint8

// The kinds of columns.
const (
	Text   Kind = iota // the property as it stands
	Int32              // see ParseInt32
	Int64              // see ParseInt64
	Double             // see ParseDouble; its numbers are what OrderDouble gives
)

// Column is a property, read in one way.
type Column struct {
	Property string
	Kind     Kind
}

// Layout says which columns a Columns has. It is immutable. Columns of one property share its place in a message.
type Layout struct {
	columns []Column
	slots   []int // of each column: its property's index in names
	names   []string

	// To find out whether an item of a property string is wanted, its first byte leads to the first of the names that
	// begin with it, and chain to the next. Both count from 1; 0 is none.
	first [256]uint16
	chain []uint16
}

// NewLayout makes a layout of the columns in their order, at most 65535. Columns may be equal.
func NewLayout(columns []Column) *Layout {
	l := &Layout{columns: columns, slots: make([]int, len(columns))}
	known := map[string]int{}
	for i, c := range columns {
		slot, ok := known[c.Property]
		if !ok {
			slot = l.add(c.Property)
			known[c.Property] = slot
		}
		l.slots[i] = slot
	}
	return l
}

func (l *Layout) add(name string) (slot int) {
	slot = len(l.names)
	l.names, l.chain = append(l.names, name), append(l.chain, 0)
	if name == "" || strings.ContainsRune(name, message.PropertyNameEnd) {
		return slot // no message can have it
	}
	l.chain[slot] = l.first[name[0]]
	l.first[name[0]] = uint16(slot + 1)
	return slot
}

// Properties lists the distinct property names of l.
func (l *Layout) Properties() []string { return l.names }

// Bind finds each of a program's columns in l. It returns false when one is missing.
func (l *Layout) Bind(columns []Column) (at []int, ok bool) {
	where := make(map[Column]int, len(l.columns))
	for i, c := range l.columns {
		where[c] = i
	}
	at = make([]int, len(columns))
	for i, c := range columns {
		if at[i], ok = where[c]; !ok {
			return nil, false
		}
	}
	return at, true
}

// Union lists the distinct columns of several programs, each once.
func Union(programs ...[]Column) (all []Column) {
	seen := map[Column]bool{}
	for _, columns := range programs {
		for _, c := range columns {
			if !seen[c] {
				seen[c] = true
				all = append(all, c)
			}
		}
	}
	return all
}

// Columns holds properties of up to 64 messages by column. One pass over a message's property string locates all that
// the layout names, and a text is read as a number when somebody asks for it, once, however many programs compare it.
//
// A Columns is reused: Load empties it. It borrows the records until the next Load or Clear, and is not safe for concurrent use.
type Columns struct {
	layout *Layout
	sound  uint64 // messages whose record could be read
	props  [ColumnsMax]message.Properties
	slots  []located
	lanes  []lane // of each column; text columns leave theirs empty

	touched byte // see Touch
}

// located is where one property is in each message.
type located struct {
	present uint64
	at      [ColumnsMax]span
}

// span is a part of a property string, which has at most 32767 bytes.
type span struct{ start, size uint16 }

// lane is one property of each message as a number.
type lane struct {
	read, ok uint64
	numbers  [ColumnsMax]int64
}

// NewColumns returns an empty Columns of a layout.
func NewColumns(l *Layout) *Columns {
	c := &Columns{layout: l, slots: make([]located, len(l.names))}
	for _, col := range l.columns {
		if col.Kind != Text {
			c.lanes = make([]lane, len(l.columns))
			break
		}
	}
	return c
}

// Load takes over up to 64 records, in message.Record's layout. Of a record that is nil or not sound nothing is known.
func (c *Columns) Load(records [][]byte) {
	c.Reset()
	records = records[:min(len(records), ColumnsMax)]
	c.touched = Touch(records)
	for i, b := range records {
		rec, _, err := message.ViewRecord(b)
		if err != nil {
			c.props[i] = nil
			continue
		}
		c.set(i, rec.Properties())
	}
}

// Touch reads a byte of each cache line that parsing records is going to need: where the lengths are, and the end, where the
// properties are. The records of a backlog aren't in the processor's caches, and parsing one waits for memory three or four times, each time
// to learn where to look next. These reads don't depend on each other, so the processor waits for many at once
// (BenchmarkLoadCold). The sum is returned so that the compiler keeps the reads.
func Touch(records [][]byte) (sum byte) {
	for _, b := range records {
		n := len(b)
		if n < message.MinRecordSize {
			continue
		}
		sum += b[message.MinRecordSize-1] + b[n-1]
		for at := n - 1 - cacheLine; at > max(message.MinRecordSize, n-touchBytes); at -= cacheLine {
			sum += b[at]
		}
	}
	return sum
}

// Bytes: what the processor fetches at a time, and how much of the end of a record Touch reads.
const (
	cacheLine  = 64
	touchBytes = 256
)

// SetProperties gives message i its properties, after a Reset: for those who have no records.
func (c *Columns) SetProperties(i int, p message.Properties) { c.set(i, p) }

// Reset empties c.
func (c *Columns) Reset() {
	c.sound = 0
	for i := range c.slots {
		c.slots[i].present = 0
	}
	for i := range c.lanes {
		c.lanes[i].read, c.lanes[i].ok = 0, 0
	}
}

// Clear empties c and lets go of the records.
func (c *Columns) Clear() {
	c.Reset()
	clear(c.props[:])
}

const propertiesMax = 1<<16 - 1

func (c *Columns) set(i int, p message.Properties) {
	if len(p) > propertiesMax {
		return
	}
	c.sound |= 1 << i
	c.props[i] = p
	first := &c.layout.first
	start, at := 0, 0
	for ; at+8 <= len(p); at += 8 {
		for ends := itemEnds(binary.LittleEndian.Uint64(p[at:])); ends != 0; ends &= ends - 1 {
			end := at + bits.TrailingZeros64(ends)/8
			if first[p[start]] != 0 {
				c.item(i, p, start, end)
			}
			start = end + 1
		}
	}
	for ; at < len(p); at++ {
		if p[at] == message.PropertyItemEnd {
			c.item(i, p, start, at)
			start = at + 1
		}
	}
	c.item(i, p, start, len(p))
}

// itemEnds marks in their top bits the bytes of x that end an item. Looking at eight bytes at a time, without a call, is
// faster than bytes.IndexByte for items as short as these.
func itemEnds(x uint64) uint64 {
	const low7 = 0x7f7f7f7f7f7f7f7f
	x ^= message.PropertyItemEnd * 0x0101010101010101
	return ^((x&low7 + low7) | x | low7)
}

// item looks whether the item p[start:end] of message i is one of those that are wanted.
func (c *Columns) item(i int, p message.Properties, start, end int) {
	if start >= end {
		return
	}
	l := c.layout
	for next := l.first[p[start]]; next != 0; next = l.chain[next-1] {
		name := l.names[next-1]
		at := start + len(name)
		if at+1 < end && p[at] == message.PropertyNameEnd && string(p[start:at]) == name {
			s := &c.slots[next-1]
			s.present |= 1 << i
			s.at[i] = span{uint16(at + 1), uint16(end - at - 1)}
			return
		}
	}
}

// Sound has the bit of each message whose record could be read.
func (c *Columns) Sound() uint64 { return c.sound }

// Present has the bit of each message that has the column's property. A message whose record couldn't be read has none.
func (c *Columns) Present(column int) uint64 { return c.slots[c.layout.slots[column]].present }

// Value returns a property of message i, which must be present. It is a view.
func (c *Columns) Value(column, i int) []byte {
	s := c.slots[c.layout.slots[column]].at[i]
	return c.props[i][s.start : int(s.start)+int(s.size)]
}

// EqualText returns which messages in need have the column's property with this value.
func (c *Columns) EqualText(column int, need uint64, text string) (equal uint64) {
	s := &c.slots[c.layout.slots[column]]
	head, tail := ends([]byte(text))
	for todo := need & s.present; todo != 0; todo &= todo - 1 {
		i := bits.TrailingZeros64(todo) & (ColumnsMax - 1)
		at := s.at[i]
		if int(at.size) != len(text) {
			continue
		}
		v := c.props[i][at.start : int(at.start)+int(at.size)]
		if h, t := ends(v); h == head && t == tail && (len(text) <= 16 || string(v) == text) {
			equal |= 1 << i
		}
	}
	return equal
}

// In returns which messages in need have the column's property with a value that is in set.
func (c *Columns) In(column int, need uint64, set *TextSet) (in uint64) {
	s := &c.slots[c.layout.slots[column]]
	for todo := need & s.present; todo != 0; todo &= todo - 1 {
		i := bits.TrailingZeros64(todo) & (ColumnsMax - 1)
		at := s.at[i]
		if set.Has(c.props[i][at.start : int(at.start)+int(at.size)]) {
			in |= 1 << i
		}
	}
	return in
}

// Numbers reads the property of the messages in need as numbers of the column's kind, and returns them and which of all
// messages have one. A message in need that has the property but no bit in ok has a text that is no such number.
func (c *Columns) Numbers(column int, need uint64) (ok uint64, numbers *[ColumnsMax]int64) {
	s := &c.slots[c.layout.slots[column]]
	l := &c.lanes[column]
	todo := need & s.present &^ l.read
	if todo == 0 {
		return l.ok, &l.numbers
	}
	l.read |= todo
	kind := c.layout.columns[column].Kind
	for ; todo != 0; todo &= todo - 1 {
		i := bits.TrailingZeros64(todo) & (ColumnsMax - 1)
		at := s.at[i]
		if n, ok := number(kind, c.props[i][at.start:int(at.start)+int(at.size)]); ok {
			l.numbers[i] = n
			l.ok |= 1 << i
		}
	}
	return l.ok, &l.numbers
}

func number(kind Kind, text []byte) (int64, bool) {
	switch kind {
	case Int32:
		n, ok := ParseInt32(text)
		return int64(n), ok
	case Int64:
		return ParseInt64(text)
	default:
		f, ok := ParseDouble(text)
		return OrderDouble(f), ok
	}
}
