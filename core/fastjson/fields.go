package fastjson

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
)

// field is a member of a struct.
type field struct {
	name      string
	index     []int
	omitEmpty bool
}

// fields are the members of a struct in alphabetical order.
type fields []field

// fieldCache remembers the fields of the types in one document, so that a table of ten thousand topics looks at their
// type once. It lives as long as one call: a global cache would be global state for little.
type fieldCache map[reflect.Type]fields

func (c *fieldCache) of(t reflect.Type) fields {
	if f, ok := (*c)[t]; ok {
		return f
	}
	f := fieldsOf(t, nil)
	slices.SortFunc(f, func(a, b field) int { return strings.Compare(a.name, b.name) })
	if *c == nil {
		*c = make(fieldCache)
	}
	(*c)[t] = f
	return f
}

func fieldsOf(t reflect.Type, prefix []int) fields {
	var out fields
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(slices.Clone(prefix), i)
		tag := f.Tag.Get("json")
		if tag == "-" || !f.IsExported() {
			continue
		}
		if f.Anonymous && tag == "" && f.Type.Kind() == reflect.Struct {
			out = append(out, fieldsOf(f.Type, index)...)
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if name == "" {
			name = f.Name
		}
		out = append(out, field{name, index, strings.Contains(options, "omitempty")})
	}
	return out
}

// find returns the place of the member called key: exactly, or else in another letter case; -1 if there is none.
func (fs fields) find(key []byte) int {
	folded := -1
	for i := range fs {
		if len(fs[i].name) != len(key) {
			continue
		}
		if fs[i].name == string(key) {
			return i
		}
		if folded < 0 && bytes.EqualFold([]byte(fs[i].name), key) {
			folded = i
		}
	}
	return folded
}
