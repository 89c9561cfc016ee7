package pending

import (
	"cmp"
	"encoding/binary"

	"github.com/weirmq/weir/core/message"
)

// Kind is what a record does when its time comes. Of records of one time those that recall come first. It is stored and must not change.
type Kind uint32

const (
	Recall Kind = iota // takes messages of the same time back
	Deliver
)

// Mark is a place in the order of entries.
type Mark struct {
	Due      int64            `json:"due"` // ms since 1970
	Kind     Kind             `json:"kind"`
	Position message.Position `json:"position"`
}

// Compare returns -1, 0 or 1 when m is before o, at o or behind it.
func (m Mark) Compare(o Mark) int {
	if c := cmp.Compare(m.Due, o.Due); c != 0 {
		return c
	}
	if c := cmp.Compare(m.Kind, o.Kind); c != 0 {
		return c
	}
	return cmp.Compare(m.Position, o.Position)
}

// after returns the first mark behind m.
func (m Mark) after() Mark { return Mark{m.Due, m.Kind, m.Position + 1} }

// Entry is a record that waits.
type Entry struct {
	Mark
	Size int32  // of the record, in bytes
	Key  uint64 // the same for a message and for a record that recalls it; others may have it too
}

// entrySize is the size in bytes of a stored entry.
//
//	0   due       8   ms since 1970
//	8   position  8   in the commit log
//	16  size      4   of the record
//	20  kind      4   0 recall, 1 deliver
//	24  key       8
//
// All numbers are big endian. It must not change.
const entrySize = 32

func appendEntry(b []byte, e *Entry) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(e.Due))
	b = binary.BigEndian.AppendUint64(b, uint64(e.Position))
	b = binary.BigEndian.AppendUint32(b, uint32(e.Size))
	b = binary.BigEndian.AppendUint32(b, uint32(e.Kind))
	return binary.BigEndian.AppendUint64(b, e.Key)
}

func decodeEntry(b []byte) (e Entry) {
	e.Due = int64(binary.BigEndian.Uint64(b))
	e.Position = message.Position(binary.BigEndian.Uint64(b[8:]))
	e.Size = int32(binary.BigEndian.Uint32(b[16:]))
	e.Kind = Kind(binary.BigEndian.Uint32(b[20:]))
	e.Key = binary.BigEndian.Uint64(b[24:])
	return e
}
