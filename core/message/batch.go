package message

import (
	"encoding/binary"
	"errors"
)

// Batch is the body of a batch send: items one after another, without count or end mark.
//
//	size i32 | magic i32 = 0 | crc i32 = 0 | flag i32 | body: i32 + n | property string: i16 + n
//
// Like Java's broker a reader goes by the two inner lengths and looks at neither size nor magic nor crc.
type Batch []byte

// BatchItem is one message of a batch, as views into it. Topic, queue, born time and sysFlag come from the request.
type BatchItem struct {
	Flag       int32
	Body       []byte
	Properties Properties
}

const batchItemFixed = 4 + 4 + 4 + 4 + 4 + 2

// ErrBadBatch means that a batch ends within an item or has a negative length.
var ErrBadBatch = errors.New("bad batch: an item's lengths exceed the body")

// Next returns the first item and the rest of the batch. At the end, that is of an empty batch, it returns ok false
// without an error. It doesn't allocate.
func (b Batch) Next() (item BatchItem, rest Batch, ok bool, err error) {
	if len(b) == 0 {
		return item, nil, false, nil
	}
	if len(b) < batchItemFixed {
		return item, nil, false, ErrBadBatch
	}
	be := binary.BigEndian
	item.Flag = int32(be.Uint32(b[12:]))
	n := int(int32(be.Uint32(b[16:])))
	if n < 0 || n > len(b)-batchItemFixed {
		return item, nil, false, ErrBadBatch
	}
	item.Body, rest = b[20:20+n:20+n], b[20+n:]
	n = int(int16(be.Uint16(rest)))
	if n < 0 || n > len(rest)-2 {
		return item, nil, false, ErrBadBatch
	}
	item.Properties, rest = Properties(rest[2:2+n:2+n]), rest[2+n:]
	return item, rest, true, nil
}

// Count walks the batch and returns how many items it has, or ErrBadBatch.
func (b Batch) Count() (int, error) {
	for n := 0; ; n++ {
		_, rest, ok, err := b.Next()
		if err != nil {
			return n, err
		}
		if !ok {
			return n, nil
		}
		b = rest
	}
}

// AppendBatchItem appends one message to the batch dst. Properties longer than MaxPropertiesLength can't be told
// and are refused with an *Error of MessageIllegal.
func AppendBatchItem(dst Batch, flag int32, body []byte, props Properties) (Batch, error) {
	if len(props) > MaxPropertiesLength {
		return dst, errPropsLong
	}
	be := binary.BigEndian
	dst = be.AppendUint32(dst, uint32(batchItemFixed+len(body)+len(props)))
	dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0)
	dst = be.AppendUint32(dst, uint32(flag))
	dst = be.AppendUint32(dst, uint32(len(body)))
	dst = append(dst, body...)
	dst = be.AppendUint16(dst, uint16(len(props)))
	return append(dst, props...), nil
}
