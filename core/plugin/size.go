package plugin

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes in a configuration. Operators write it with a unit (64KiB, 1GiB) or as plain bytes.
type Size int64

// Binary units, as in broker.yaml.
const (
	KiB Size = 1 << 10
	MiB Size = 1 << 20
	GiB Size = 1 << 30
	TiB Size = 1 << 40
)

var sizeUnits = []struct {
	name string
	size Size
}{{"TiB", TiB}, {"GiB", GiB}, {"MiB", MiB}, {"KiB", KiB}, {"B", 1}}

// ParseSize reads a size such as 512, 64KiB or 1.5GiB.
func ParseSize(s string) (Size, error) {
	text, unit := strings.TrimSpace(s), Size(1)
	for _, u := range sizeUnits {
		if strings.HasSuffix(text, u.name) {
			text, unit = strings.TrimSpace(strings.TrimSuffix(text, u.name)), u.size
			break
		}
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		if n < 0 || n > math.MaxInt64/int64(unit) {
			return 0, fmt.Errorf("size %q: out of range", s)
		}
		return Size(n) * unit, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f >= 0 && f*float64(unit) < math.MaxInt64) {
		return 0, fmt.Errorf("size %q: want bytes with a unit, such as 64KiB, 4MiB or 1GiB", s)
	}
	return Size(f * float64(unit)), nil
}

// String formats s with the largest unit that divides it.
func (s Size) String() string {
	for _, u := range sizeUnits {
		if s != 0 && s%u.size == 0 {
			return strconv.FormatInt(int64(s/u.size), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10) + "B"
}
