package wasm

import (
	"math/bits"
	"slices"

	"github.com/weirmq/weir/core/message"
)

// layout says which properties a batch has, and in which form. Slots of one property share its place in a message.
type layout struct {
	slots []slot
	names []string // distinct
	// To find out whether an item of a property string is wanted, its first byte leads to the first of the names that begin
	// with it, and chain to the next. Both count from 1; 0 is none.
	first [256]uint8
	chain []uint8
}

// slot is a property as text, as a number, or both.
type slot struct {
	name   int // in names
	text   bool
	number SlotType // SlotText is none
}

// newLayout makes the layout of a manifest's properties.
func newLayout(props []Slot) *layout {
	l := &layout{}
	for _, p := range props {
		l.add(p.Name, p.Type)
	}
	return l
}

func (l *layout) add(name string, t SlotType) int {
	i := slices.Index(l.names, name)
	if i < 0 {
		i = len(l.names)
		l.names = append(l.names, name)
		l.chain = append(l.chain, l.first[name[0]])
		l.first[name[0]] = uint8(i + 1)
	}
	l.slots = append(l.slots, slot{name: i, text: t == SlotText, number: t})
	return len(l.slots) - 1
}

// need returns the slot for a property: one that has it in that form already or can hold it, or a new one; -1 when there
// are too many.
func (l *layout) need(name string, t SlotType) int {
	if !propertyName(name) {
		return -1
	}
	for i := range l.slots {
		s := &l.slots[i]
		switch {
		case l.names[s.name] != name:
		case t == SlotText:
			s.text = true
			return i
		case s.number == t || s.number == SlotText:
			s.number = t
			return i
		}
	}
	if len(l.slots) == slotsMax {
		return -1
	}
	return l.add(name, t)
}

// equal says whether two instances asked for the same.
func (l *layout) equal(o *layout) bool {
	return slices.Equal(l.slots, o.slots) && slices.Equal(l.names, o.names)
}

// gather finds l's properties in p. values has a place for each name. It does what p.Next does, but looks for the ends of
// items in eight bytes at a time, and for the end of a name only where a wanted name may stand.
func (l *layout) gather(p message.Properties, values [][]byte) {
	clear(values)
	if len(l.names) == 0 {
		return
	}
	start, at := 0, 0
	for ; at+8 <= len(p); at += 8 {
		for ends := itemEnds(le.Uint64(p[at:])); ends != 0; ends &= ends - 1 {
			end := at + bits.TrailingZeros64(ends)/8
			if l.first[p[start]] != 0 {
				l.item(p[start:end], values)
			}
			start = end + 1
		}
	}
	for ; at < len(p); at++ {
		if p[at] == message.PropertyItemEnd {
			l.item(p[start:at], values)
			start = at + 1
		}
	}
	l.item(p[start:], values)
}

// itemEnds has the top bit of every byte of x that ends an item, and no other bit.
func itemEnds(x uint64) uint64 {
	const ones = 0x0101010101010101
	x ^= ones * message.PropertyItemEnd
	return ^((x&(ones*0x7f) + ones*0x7f) | x | ones*0x7f)
}

// item keeps the value of an item that is wanted. An item without a name or a value doesn't count.
func (l *layout) item(item []byte, values [][]byte) {
	if len(item) == 0 {
		return
	}
	for next := l.first[item[0]]; next != 0; next = l.chain[next-1] {
		name := l.names[next-1]
		if n := len(name); len(item) >= n+2 && item[n] == message.PropertyNameEnd && string(item[:n]) == name {
			values[next-1] = item[n+1 : len(item) : len(item)]
			return
		}
	}
}
