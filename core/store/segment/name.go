package segment

import (
	"math"
	"strconv"
)

// nameLength is the number of digits in a segment's file name. It must not change: it is RocketMQ's.
const nameLength = 20

// FileName returns the name of the segment whose first byte is at position start, which must not be negative.
func FileName(start int64) string {
	var b [nameLength]byte
	for i := nameLength - 1; i >= 0; i-- {
		b[i] = byte('0' + start%10)
		start /= 10
	}
	return string(b[:])
}

// parseName returns the start position in a segment's file name.
func parseName(name string) (start int64, ok bool) {
	if len(name) != nameLength {
		return 0, false
	}
	for i := range len(name) {
		if name[i] < '0' || name[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseUint(name, 10, 64)
	if err != nil || n > math.MaxInt64 {
		return 0, false
	}
	return int64(n), true
}
