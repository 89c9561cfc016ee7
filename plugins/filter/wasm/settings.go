package wasm

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/weirmq/weir/core/filter"
)

// canonicalNaN is the only NaN that guests see.
const canonicalNaN = 0x7ff8000000000000

// parse reads text as Java does and returns the 8 bytes of a typed column.
func parse(text []byte, t SlotType) (bits uint64, ok bool) {
	switch t {
	case SlotInt32:
		n, ok := filter.ParseInt32(text)
		return uint64(int64(n)), ok
	case SlotInt64:
		n, ok := filter.ParseInt64(text)
		return uint64(n), ok
	case SlotDouble:
		f, ok := filter.ParseDouble(text)
		if f != f {
			return canonicalNaN, ok
		}
		return math.Float64bits(f), ok
	case SlotBoolean: // what doesn't spell true is false
		if len(text) == 4 && bytes.EqualFold(text, []byte("true")) {
			return 1, true
		}
		return 0, true
	}
	return 0, true
}

func parses(text string, t SlotType) bool {
	_, ok := parse([]byte(text), t)
	return ok
}

// value is one setting of a program.
type value struct {
	text string
	set  bool
}

// settle brings values in the order of the manifest, with defaults, and refuses what doesn't fit. The layers are looked at
// in their order; the later ones count.
func settle(m *Manifest, layers ...map[string]string) ([]value, error) {
	values := make([]value, len(m.Config))
	names := make([]string, len(m.Config))
	for i, s := range m.Config {
		names[i] = s.Name
		if s.Default != nil {
			values[i] = value{*s.Default, true}
		}
	}
	for _, layer := range layers {
		for name, text := range layer {
			i := slices.Index(names, name)
			if i < 0 {
				if len(names) == 0 {
					return nil, fault(ErrConfig, "there is no setting %q; the module has none", name)
				}
				return nil, fault(ErrConfig, "there is no setting %q; the module has %s", name, strings.Join(names, ", "))
			}
			if t := m.Config[i].Type; !parses(text, t) {
				return nil, fault(ErrConfig, "%s is %q; want a value of type %s", name, text, t)
			}
			values[i] = value{text, true}
		}
	}
	for i, s := range m.Config {
		if s.Required && !values[i].set {
			return nil, fault(ErrConfig, "%s has no value and needs one of type %s", s.Name, s.Type)
		}
	}
	return values, nil
}

// appendCanonical appends values so that different ones differ.
func appendCanonical(dst []byte, values []value) []byte {
	for _, v := range values {
		if !v.set {
			dst = append(dst, 0)
			continue
		}
		dst = binary.AppendUvarint(append(dst, 1), uint64(len(v.text)))
		dst = append(dst, v.text...)
	}
	return dst
}
