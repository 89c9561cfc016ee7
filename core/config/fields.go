package config

import (
	"encoding"
	"reflect"
	"strings"
	"time"

	"github.com/weirmq/weir/core/plugin"
)

// field is one key of a configuration struct.
type field struct {
	key     string
	doc     string
	choices []string
	secret  bool
	index   []int
	typ     reflect.Type
}

// fieldsOf lists the keys of struct type t in the order of its fields, those of inlined structs in their place.
func fieldsOf(t reflect.Type) []field {
	var out []field
	for i := range t.NumField() {
		f := t.Field(i)
		tag, opts, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if tag == "-" || !f.IsExported() {
			continue
		}
		if opts == "inline" || (f.Anonymous && tag == "" && f.Type.Kind() == reflect.Struct) {
			for _, inner := range fieldsOf(f.Type) {
				inner.index = append([]int{i}, inner.index...)
				out = append(out, inner)
			}
			continue
		}
		if tag == "" {
			tag = strings.ToLower(f.Name)
		}
		one := field{key: tag, doc: docOf(t, f), secret: f.Tag.Get("secret") == "true", index: []int{i}, typ: f.Type}
		if c := f.Tag.Get("choices"); c != "" {
			one.choices = strings.Split(c, ",")
		} else {
			one.choices = choicesOf(f.Type)
		}
		out = append(out, one)
	}
	return out
}

func keysOf(fields []field) []string {
	keys := make([]string, len(fields))
	for i, f := range fields {
		keys[i] = f.key
	}
	return keys
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	sizeType     = reflect.TypeFor[plugin.Size]()
	unmarshaler  = reflect.TypeFor[encoding.TextUnmarshaler]()
	chooser      = reflect.TypeFor[interface{ Choices() []string }]()
)

// choicesOf asks a type for the texts that it can be read from.
func choicesOf(t reflect.Type) []string {
	if t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Implements(chooser) {
		return reflect.Zero(t).Interface().(interface{ Choices() []string }).Choices()
	}
	return nil
}

// shape is how a type is written in the file.
type shape uint8

const (
	shapeText shape = iota
	shapeBool
	shapeInt
	shapeUint
	shapeFloat
	shapeDuration
	shapeSize
	shapeCustom // UnmarshalText
	shapeStruct
	shapeMap
	shapeList
	shapeUnknown
)

// shapeOf classifies t.
func shapeOf(t reflect.Type) shape {
	switch {
	case t == durationType:
		return shapeDuration
	case t == sizeType:
		return shapeSize
	case reflect.PointerTo(t).Implements(unmarshaler):
		return shapeCustom
	}
	switch t.Kind() {
	case reflect.String:
		return shapeText
	case reflect.Bool:
		return shapeBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return shapeInt
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return shapeUint
	case reflect.Float32, reflect.Float64:
		return shapeFloat
	case reflect.Struct:
		return shapeStruct
	case reflect.Map:
		if t.Key().Kind() == reflect.String {
			return shapeMap
		}
	case reflect.Slice:
		return shapeList
	}
	return shapeUnknown
}

// want says in an operator's words what a value of this shape looks like.
func (s shape) want() string {
	switch s {
	case shapeText, shapeCustom:
		return "text"
	case shapeBool:
		return "true or false"
	case shapeInt, shapeUint:
		return "a whole number"
	case shapeFloat:
		return "a number"
	case shapeDuration:
		return "a duration with its unit, such as 500ms, 30s or 72h"
	case shapeSize:
		return "a size, such as 64KiB, 1GiB or plain bytes"
	case shapeStruct, shapeMap:
		return "a section"
	case shapeList:
		return "a list"
	}
	return "something else"
}
