package message

import (
	"bytes"
	"slices"
)

// The functions here build property strings. Their dst is the property string made so far, from its first byte on:
// pass scratch[:0] to start one. They allocate only when dst is too small. dst must not overlap p.

// AppendProperty appends one item to dst. Names and values that contain a separator can't be told apart when read again;
// see PropertyLegal.
func AppendProperty[V ~string | ~[]byte](dst Properties, name string, value V) Properties {
	dst = append(joint(dst), name...)
	dst = append(dst, PropertyNameEnd)
	return append(dst, value...)
}

// AppendProperties appends all of p to dst, joined with a separator where one is needed.
func AppendProperties(dst, p Properties) Properties {
	if len(p) == 0 {
		return dst
	}
	return append(joint(dst), p...)
}

// AppendWithout appends the items of p to dst, except those with one of the names.
func AppendWithout(dst, p Properties, names ...string) Properties {
	for len(p) > 0 {
		item := p
		if i := bytes.IndexByte(p, PropertyItemEnd); i >= 0 {
			item, p = p[:i], p[i+1:]
		} else {
			p = nil
		}
		name := item
		if i := bytes.IndexByte(item, PropertyNameEnd); i >= 0 {
			name = item[:i]
		}
		if len(item) > 0 && !matchesAny(name, names) {
			dst = append(joint(dst), item...)
		}
	}
	return dst
}

// AppendReplaced appends the items of p to dst, those called name replaced by a single one with value.
func AppendReplaced[V ~string | ~[]byte](dst, p Properties, name string, value V) Properties {
	return AppendProperty(AppendWithout(dst, p, name), name, value)
}

// PropertyLegal says whether name and value survive a property string: neither is empty, the name has no separator
// and the value no 0x02.
func PropertyLegal(name, value string) bool {
	for i := range len(name) {
		if name[i] == PropertyNameEnd || name[i] == PropertyItemEnd {
			return false
		}
	}
	for i := range len(value) {
		if value[i] == PropertyItemEnd {
			return false
		}
	}
	return name != "" && value != ""
}

func joint(dst Properties) Properties {
	if n := len(dst); n > 0 && dst[n-1] != PropertyItemEnd {
		return append(dst, PropertyItemEnd)
	}
	return dst
}

func matchesAny(name []byte, names []string) bool {
	return slices.ContainsFunc(names, func(s string) bool { return s == string(name) })
}
