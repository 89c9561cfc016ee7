package message

import (
	"bytes"
	"iter"
)

// Separators of a property string.
const (
	// PropertyNameEnd stands between name and value.
	PropertyNameEnd = 0x01
	// PropertyItemEnd stands between items. Some writers put one behind the last item too.
	PropertyItemEnd = 0x02
)

// Properties is a property string: name 0x01 value, items joined by 0x02, UTF-8, no escaping.
// An item is cut at its first 0x01 and doesn't count when its name or its value is empty. Of items with the same name
// the last one counts. The zero value has no properties.
type Properties []byte

// Get returns the value of name, as a view into p. It doesn't allocate and takes one pass over p; who needs many
// names of one message should walk with Next once.
func (p Properties) Get(name string) (value []byte, ok bool) {
	for len(p) > 0 {
		item := []byte(p)
		if i := bytes.IndexByte(p, PropertyItemEnd); i >= 0 {
			item, p = p[:i:i], p[i+1:]
		} else {
			p = nil
		}
		n := len(name)
		if len(item) >= n+2 && item[n] == PropertyNameEnd && string(item[:n]) == name &&
			n > 0 && bytes.IndexByte(item[:n], PropertyNameEnd) < 0 {
			value, ok = item[n+1:], true
		}
	}
	return value, ok
}

// Next returns the first item of p that counts and what follows it; ok is false when there is none left.
// Names may come again: the later one counts.
func (p Properties) Next() (name, value []byte, rest Properties, ok bool) {
	for len(p) > 0 {
		item := []byte(p)
		if i := bytes.IndexByte(p, PropertyItemEnd); i >= 0 {
			item, p = p[:i:i], p[i+1:]
		} else {
			p = nil
		}
		if i := bytes.IndexByte(item, PropertyNameEnd); i > 0 && i+1 < len(item) {
			return item[:i:i], item[i+1:], p, true
		}
	}
	return nil, nil, nil, false
}

// All walks the items that count, in their order; see Next.
func (p Properties) All() iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		for {
			name, value, rest, ok := p.Next()
			if !ok || !yield(name, value) {
				return
			}
			p = rest
		}
	}
}

// Map copies p into a map. It is for tests, tools and cold paths.
func (p Properties) Map() map[string]string {
	m := make(map[string]string)
	for name, value := range p.All() {
		m[string(name)] = string(value)
	}
	return m
}
