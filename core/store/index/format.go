package index

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/weirmq/weir/core/message"
)

// A file. All numbers are big-endian. It is RocketMQ's (IndexFile, IndexHeader of 4.9.7) and must not change.
//
//	0          8          16         24         32          36      40                40+4·slots                40+4·slots+20·entries
//	+----------+----------+----------+----------+-----------+-------+-----------------+-------------------------+
//	|begin time|end time  |begin pos.|end pos.  |used slots |count  |slots            |entries                  |
//	|i64 ms    |i64 ms    |i64       |i64       |i32        |i32    |i32 each         |                         |
//	+----------+----------+----------+----------+-----------+-------+-----------------+-------------------------+
//
//	entry:  hash of topic#key i32 | position i64 | seconds since begin time i32 | previous entry i32
//
// A slot and previous hold the number of an entry, 0 for none. Entry 0 is never used, and count is the number that the next entry gets.
const (
	headerSize = 40
	slotSize   = 4
	entrySize  = 20
)

var be = binary.BigEndian

type header struct {
	beginTime, endTime int64 // ms, of the first and the last message
	beginPos, endPos   int64 // in the log
	used               int32
	count              int32
}

func (h *header) append(b []byte) []byte {
	for _, v := range [...]int64{h.beginTime, h.endTime, h.beginPos, h.endPos} {
		b = be.AppendUint64(b, uint64(v))
	}
	b = be.AppendUint32(b, uint32(h.used))
	return be.AppendUint32(b, uint32(h.count))
}

func parseHeader(b []byte) (h header) {
	for i, v := range [...]*int64{&h.beginTime, &h.endTime, &h.beginPos, &h.endPos} {
		*v = int64(be.Uint64(b[8*i:]))
	}
	h.used, h.count = int32(be.Uint32(b[32:])), int32(be.Uint32(b[36:]))
	return h
}

type entry struct {
	hash     int32
	position int64
	seconds  int32
	previous int32
}

func (e *entry) append(b []byte) []byte {
	b = be.AppendUint32(b, uint32(e.hash))
	b = be.AppendUint64(b, uint64(e.position))
	b = be.AppendUint32(b, uint32(e.seconds))
	return be.AppendUint32(b, uint32(e.previous))
}

func parseEntry(b []byte) entry {
	return entry{int32(be.Uint32(b)), int64(be.Uint64(b[4:])), int32(be.Uint32(b[12:])), int32(be.Uint32(b[16:]))}
}

// since returns what an entry says of a store time.
func (h *header) since(stored int64) int32 {
	if h.beginTime <= 0 {
		return 0
	}
	return int32(min(max((stored-h.beginTime)/1000, 0), math.MaxInt32))
}

// hashKey returns the hash that an entry keeps of topic#key, from the sum that topicSum returns.
func hashKey(topic uint32, key []byte) int32 {
	h := topic
	for i, c := range key {
		if c >= 0x80 {
			return positive(h*power(len16(key[i:])) + uint32(message.JavaHash(key[i:])))
		}
		h = 31*h + uint32(c)
	}
	return positive(h)
}

// topicSum is the hash of topic#, with which the hash of each of its keys begins.
func topicSum(topic []byte) uint32 { return 31*uint32(message.JavaHash(topic)) + '#' }

// positive makes the hash of a key of Java's hash code: its absolute value, 0 for the one number that has none.
func positive(h uint32) int32 {
	n := int32(h)
	if n < 0 {
		n = -n
	}
	return max(n, 0)
}

// power returns 31 to the n.
func power(n int) uint32 {
	p := uint32(1)
	for range n {
		p *= 31
	}
	return p
}

// len16 returns how many UTF-16 units text has in Java.
func len16(text []byte) (n int) {
	for _, r := range string(message.JavaText(text)) {
		if n++; r > 0xFFFF {
			n++
		}
	}
	return n
}

// nameLayout is the form of a file's name: the local time at which it was made, with milliseconds at the end.
const nameLayout = "20060102150405"

// fileName returns the name of a file that is made at t.
func fileName(t time.Time) string {
	b := t.AppendFormat(nil, nameLayout)
	ms := t.Nanosecond() / int(time.Millisecond)
	return string(append(b, byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10)))
}

const nameLen = len(nameLayout) + 3

// validName says whether RocketMQ would take name for that of an index file.
func validName(name string) bool {
	for i := range len(name) {
		if name[i] < '0' || name[i] > '9' {
			return false
		}
	}
	return len(name) == nameLen
}

// after returns the name of a file that is made at t and comes behind the file called last: the clock may have been set back, or an hour be there twice.
func after(t time.Time, last string) string {
	name := fileName(t)
	if name > last {
		return name
	}
	b := []byte(last)
	for i := len(b) - 1; i >= 0; i-- { // the next number
		if b[i]++; b[i] <= '9' {
			break
		}
		b[i] = '0'
	}
	return string(b)
}
