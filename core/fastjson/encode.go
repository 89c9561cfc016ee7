package fastjson

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
)

// Append appends v to dst as Java's broker sends it: compact, members of structs in alphabetical order, keys of maps sorted, keys
// that are structs as bare objects, integer keys in quotes (which every reader takes), doubles as Java spells
// them. Nothing is escaped for HTML. Lists and maps that are nil are written empty; a member with omitempty is left out when
// it is empty, which is what Java does with null.
//
// Types with MarshalJSON or MarshalText write themselves. A channel, function or complex number is an error.
func Append(dst []byte, v any) ([]byte, error) {
	e := encoder{out: dst}
	if err := e.value(reflect.ValueOf(v)); err != nil {
		return dst, fmt.Errorf("write json: %w", err)
	}
	return e.out, nil
}

// Marshal is Append to a new slice.
func Marshal(v any) ([]byte, error) { return Append(nil, v) }

// AppendFile appends v in the form of RocketMQ's metadata files: as Append, but indented by tabs, and integer keys bare,
// with their entries on one line and the closing brace on its own. Java compares nothing, but people and scripts do.
func AppendFile(dst []byte, v any) ([]byte, error) {
	e := encoder{out: dst, file: true}
	if err := e.value(reflect.ValueOf(v)); err != nil {
		return dst, fmt.Errorf("write json: %w", err)
	}
	return e.out, nil
}

type encoder struct {
	out    []byte
	file   bool
	depth  int
	fields fieldCache
}

var (
	marshalerType     = reflect.TypeFor[json.Marshaler]()
	textMarshalerType = reflect.TypeFor[encoding.TextMarshaler]()
)

func (e *encoder) newline() {
	if e.file {
		e.out = append(e.out, '\n')
		for range e.depth {
			e.out = append(e.out, '\t')
		}
	}
}

func (e *encoder) value(v reflect.Value) error {
	if !v.IsValid() {
		e.out = append(e.out, "null"...)
		return nil
	}
	if k := v.Kind(); (k == reflect.Pointer || k == reflect.Interface) && v.IsNil() {
		e.out = append(e.out, "null"...)
		return nil
	}
	if done, err := e.own(v); done {
		return err
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return e.value(v.Elem())
	case reflect.Struct:
		return e.structure(v)
	case reflect.Map:
		return e.mapping(v)
	case reflect.Slice, reflect.Array:
		return e.list(v)
	case reflect.String:
		e.out = AppendString(e.out, v.String())
	case reflect.Bool:
		e.out = strconv.AppendBool(e.out, v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		e.out = strconv.AppendInt(e.out, v.Int(), 10)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		e.out = strconv.AppendUint(e.out, v.Uint(), 10)
	case reflect.Float32, reflect.Float64:
		e.out = AppendDouble(e.out, v.Float())
	default:
		return fmt.Errorf("can't write a %s", v.Type())
	}
	return nil
}

// own lets types write themselves.
func (e *encoder) own(v reflect.Value) (done bool, err error) {
	switch t := v.Type(); {
	case t == rawType:
		if v.Len() == 0 {
			e.out = append(e.out, "null"...)
		}
		e.out = append(e.out, v.Bytes()...)
		return true, nil
	case t.Implements(marshalerType):
		b, err := v.Interface().(json.Marshaler).MarshalJSON()
		if len(b) == 0 {
			b = []byte("null")
		}
		e.out = append(e.out, b...)
		return true, err
	case t.Implements(textMarshalerType):
		b, err := v.Interface().(encoding.TextMarshaler).MarshalText()
		e.out = AppendString(e.out, b)
		return true, err
	}
	return false, nil
}

func (e *encoder) structure(v reflect.Value) error {
	e.out = append(e.out, '{')
	e.depth++
	n := 0
	for _, f := range e.fields.of(v.Type()) {
		m := v.FieldByIndex(f.index)
		if f.omitEmpty && isEmpty(m) || m.Kind() == reflect.Pointer && m.IsNil() {
			continue
		}
		if n > 0 {
			e.out = append(e.out, ',')
		}
		n++
		e.newline()
		e.out = append(AppendString(e.out, f.name), ':')
		if err := e.value(m); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	e.depth--
	if n > 0 {
		e.newline()
	}
	e.out = append(e.out, '}')
	return nil
}

func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// mapping writes keys in order: Java's hash order means nothing, and a fixed one makes equal tables equal bytes.
func (e *encoder) mapping(v reflect.Value) error {
	type entry struct {
		key   string // as written
		order int64
		value reflect.Value
	}
	entries := make([]entry, 0, v.Len())
	kind := v.Type().Key().Kind()
	for it := v.MapRange(); it.Next(); {
		key, order, err := e.key(it.Key())
		if err != nil {
			return err
		}
		entries = append(entries, entry{key, order, it.Value()})
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.key, b.key))
	})
	e.out = append(e.out, '{')
	e.depth++
	for i, x := range entries {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		if kind == reflect.String {
			e.newline()
		}
		e.out = append(append(e.out, x.key...), ':')
		if err := e.value(x.value); err != nil {
			return fmt.Errorf("%s: %w", x.key, err)
		}
	}
	e.depth--
	if len(entries) > 0 {
		e.newline()
	}
	e.out = append(e.out, '}')
	return nil
}

// key returns a map's key as it is written, and for integers their order.
func (e *encoder) key(k reflect.Value) (string, int64, error) {
	switch {
	case k.Kind() == reflect.String:
		return string(AppendString(nil, k.String())), 0, nil
	case isInt(k.Kind()):
		s := strconv.FormatInt(k.Int(), 10)
		if !e.file {
			s = `"` + s + `"`
		}
		return s, k.Int(), nil
	case k.Kind() == reflect.Struct:
		inner := encoder{fields: e.fields}
		err := inner.value(k)
		e.fields = inner.fields
		return string(inner.out), 0, err
	}
	return "", 0, fmt.Errorf("can't write keys of type %s", k.Type())
}

func (e *encoder) list(v reflect.Value) error {
	e.out = append(e.out, '[')
	lines := e.file && !isInt(v.Type().Elem().Kind()) // Java keeps its int arrays on one line
	e.depth++
	for i := range v.Len() {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		if lines {
			e.newline()
		}
		if err := e.value(v.Index(i)); err != nil {
			return err
		}
	}
	e.depth--
	if lines && v.Len() > 0 {
		e.newline()
	}
	e.out = append(e.out, ']')
	return nil
}

// AppendDouble appends f as Java's Double.toString spells it (1.0, 1.5E7, 1.0E-4); NaN and infinities become null.
func AppendDouble(dst []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, "null"...)
	}
	if a := math.Abs(f); a != 0 && (a < 1e-3 || a >= 1e7) {
		return appendExponent(dst, f)
	}
	from := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	return wholePoint(dst, from)
}

// wholePoint adds ".0" to a number from dst[from:] that has no point.
func wholePoint(dst []byte, from int) []byte {
	if slices.Contains(dst[from:], '.') {
		return dst
	}
	return append(dst, '.', '0')
}

func appendExponent(dst []byte, f float64) []byte {
	s := strconv.FormatFloat(f, 'e', -1, 64)
	i := slices.Index([]byte(s), 'e')
	dst = wholePoint(append(dst, s[:i]...), len(dst))
	exp, _ := strconv.Atoi(s[i+1:])
	return strconv.AppendInt(append(dst, 'E'), int64(exp), 10)
}
