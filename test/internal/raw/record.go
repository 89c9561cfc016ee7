package raw

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
)

// Record is a stored message as a pull returns it.
//
//	4 size | 4 magic | 4 body CRC | 4 queue | 4 flag | 8 queue offset | 8 log offset | 4 sysFlag | 8 born at |
//	8 or 20 born host | 8 stored at | 8 or 20 store host | 4 reconsumed | 8 prepared offset |
//	4+n body | 1+n topic | 2+n properties
type Record struct {
	Size           int
	Queue          int
	Flag           int
	QueueOffset    int64
	LogOffset      int64
	SysFlag        int
	BornAt         int64
	StoredAt       int64
	ReconsumeTimes int
	Prepared       int64
	Body           []byte
	Topic          string
	Properties     map[string]string
}

const recordMagic = 0xDAA320A7

var errShort = errors.New("record is cut off")

// reader takes fields off the front of a record.
type reader struct {
	b   []byte
	err error
}

func (r *reader) next(n int) []byte {
	if r.err != nil || n < 0 || n > len(r.b) {
		r.err = errShort
		return make([]byte, max(n, 8))
	}
	field := r.b[:n]
	r.b = r.b[n:]
	return field
}

func (r *reader) i32() int   { return int(int32(binary.BigEndian.Uint32(r.next(4)))) }
func (r *reader) i64() int64 { return int64(binary.BigEndian.Uint64(r.next(8))) }

// decodeRecord reads the record at the front of b and checks its lengths and checksum.
func decodeRecord(b []byte) (*Record, error) {
	r := &reader{b: b}
	rec := &Record{Size: r.i32()}
	if rec.Size > len(b) || rec.Size < 4 {
		return nil, fmt.Errorf("record of %d bytes in %d: %w", rec.Size, len(b), errShort)
	}
	r.b = r.b[:rec.Size-4]
	magic := uint32(r.i32())
	crc := uint32(r.i32())
	rec.Queue, rec.Flag = r.i32(), r.i32()
	rec.QueueOffset, rec.LogOffset = r.i64(), r.i64()
	rec.SysFlag, rec.BornAt = r.i32(), r.i64()
	r.next(host(rec.SysFlag & 0x10))
	rec.StoredAt = r.i64()
	r.next(host(rec.SysFlag & 0x20))
	rec.ReconsumeTimes, rec.Prepared = r.i32(), r.i64()
	rec.Body = r.next(r.i32())
	rec.Topic = string(r.next(int(r.next(1)[0])))
	rec.Properties = parseProperties(string(r.next(int(binary.BigEndian.Uint16(r.next(2))))))
	switch {
	case r.err != nil:
		return nil, r.err
	case magic != recordMagic:
		return nil, fmt.Errorf("record at log offset %d: magic %#x", rec.LogOffset, magic)
	case len(r.b) != 0:
		return nil, fmt.Errorf("record at log offset %d: %d bytes left over", rec.LogOffset, len(r.b))
	case crc32.ChecksumIEEE(rec.Body)&0x7fffffff != crc:
		return nil, fmt.Errorf("record at log offset %d: body does not match its checksum", rec.LogOffset)
	}
	return rec, nil
}

func host(ipv6 int) int {
	if ipv6 != 0 {
		return 20
	}
	return 8
}

// DecodeRecords reads records that follow each other.
func DecodeRecords(b []byte) ([]*Record, error) {
	var all []*Record
	for len(b) > 0 {
		rec, err := decodeRecord(b)
		if err != nil {
			return all, err
		}
		all = append(all, rec)
		b = b[rec.Size:]
	}
	return all, nil
}

func parseProperties(text string) map[string]string {
	all := make(map[string]string)
	for _, pair := range strings.Split(text, "\x02") {
		if name, value, ok := strings.Cut(pair, "\x01"); ok {
			all[name] = value
		}
	}
	return all
}

// FormatProperties is the property string of a message.
func FormatProperties(pairs ...string) string {
	var b strings.Builder
	for i := 0; i+1 < len(pairs); i += 2 {
		if i > 0 {
			b.WriteByte(2)
		}
		b.WriteString(pairs[i] + "\x01" + pairs[i+1])
	}
	return b.String()
}
